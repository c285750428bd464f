"""Shares, confusions and tables of a naming test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from naming_tables import Row

from vlmfail.core.statistics import wilson_interval

PASS = 0.95


def tally(marks: Iterable[bool]) -> dict[str, Any]:
    """Return right, n, share and the Wilson 95 % interval."""
    values = list(marks)
    right, n = sum(values), len(values)
    low, high = wilson_interval(right, n)
    share = right / n if n else None
    return {"right": right, "n": n, "share": share, "interval": [round(low, 4), round(high, 4)]}


def score(key: Sequence[Row], readers: dict[str, dict[int, str]]) -> dict[str, Any]:
    """Return all shares, the confusions and the concepts under `PASS`."""
    marks = [
        (row, reader, answers[row.number])
        for reader, answers in readers.items()
        for row in key
        if row.number in answers
    ]

    def by(value: Any, of: Sequence[Any] = marks) -> dict[str, Any]:
        names = dict.fromkeys(value(mark) for mark in of)
        return {
            name: tally(mark[2] == mark[0].truth for mark in of if value(mark) == name)
            for name in sorted(names)
        }

    concepts = by(lambda mark: mark[0].truth)
    for name, entry in concepts.items():
        own = [mark for mark in marks if mark[0].truth == name]
        entry["groups"] = by(lambda mark: mark[0].group, own)
    confusions = Counter(
        (row.truth, answer) for row, _, answer in marks if answer != row.truth
    ).most_common()
    objects = [mark for mark in marks if mark[0].question == "object"]
    return {
        "overall": tally(answer == row.truth for row, _, answer in marks),
        "readers": by(lambda mark: mark[1]),
        "questions": by(lambda mark: mark[0].question),
        "groups": by(lambda mark: mark[0].group),
        "object_weathers": by(lambda mark: getattr(mark[0], "weather", ""), objects),
        "concepts": concepts,
        "confusions": [
            {
                "truth": truth,
                "answer": answer,
                "count": count,
                "pictures": sorted(
                    {row.number for row, _, a in marks if (row.truth, a) == (truth, answer)}
                ),
            }
            for (truth, answer), count in confusions
        ],
        "pass": PASS,
        "below": [name for name, entry in concepts.items() if entry["share"] < PASS],
    }


def table_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of the printed table: what, right of n, share, interval."""
    sections = [
        ("all", {"all": result["overall"]}),
        ("concept", result["concepts"]),
        ("range", result["groups"]),
        ("objects in", result["object_weathers"]),
        ("reader", result["readers"]),
    ]
    rows = []
    for section, entries in sections:
        for name, entry in entries.items():
            rows.append((section, name, *_cells(entry)))
            inner = entry.get("groups", {})
            if len(inner) > 1:
                rows.extend(("", f"  {name} {g}", *_cells(e)) for g, e in inner.items())
    return rows


def _cells(entry: dict[str, Any]) -> tuple[str, str, str]:
    low, high = entry["interval"]
    return (
        f"{entry['right']} of {entry['n']}",
        f"{100 * entry['share']:.0f} %",
        f"{100 * low:.0f}–{100 * high:.0f} %",
    )


HEAD = ("", "", "right", "share", "95 % interval")


def show(result: dict[str, Any]) -> None:
    """Print the result as tables."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*HEAD, box=None)
    for row in table_rows(result):
        table.add_row(*map(escape, row))
    console = Console()
    console.print(table)
    if result["confusions"]:
        wrong = Table("was", "named", "times", "pictures", box=None, title="Mistaken")
        for entry in result["confusions"]:
            pictures = ", ".join(map(str, entry["pictures"]))
            wrong.add_row(entry["truth"], entry["answer"], str(entry["count"]), pictures)
        console.print(wrong)
    below = ", ".join(result["below"])
    console.print(
        f"under {100 * PASS:.0f} %: {below}" if below else f"each concept: ≥ {100 * PASS:.0f} %"
    )


def markdown(result: dict[str, Any]) -> str:
    """Return the table for the documentation."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    for row in table_rows(result):
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
