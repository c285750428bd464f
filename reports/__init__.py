"""What people read of a run: the HTML report, tables, figures, wording.

Start at `html.write_report`; `figures` draws, `table` prints to the terminal, `wording` has the
sentences that both use.
"""
