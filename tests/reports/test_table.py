from __future__ import annotations

import io

from rich.console import Console

from vlmfail.analysis import failure_modes
from vlmfail.reports.table import modes_table
from vlmfail.testing.made_runs import make_run


def test_table_shows_interval_and_reads_no_markup(tmp_path):
    run = make_run(tmp_path / "run", [(["[red]fog[/red]", "night"], "fff"), (["sun"], "ppp")])
    console = Console(file=io.StringIO(), width=120)
    console.print(modes_table(failure_modes(run)))
    text = console.file.getvalue()
    assert "[red]fog[/red] + night" in text
    assert "3/3 (0.44–1.00)" in text
    assert "not re-run" in text
    assert "sun" not in text
