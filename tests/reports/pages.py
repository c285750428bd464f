"""A report as a browser reads it, and runs that try to break it."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from vlmfail.runs.run import RunData
from vlmfail.testing.made_runs import make_run

HOSTILE = '</script><img src=x onerror=alert(1)>" onmouseover="x \' & {{ 8117*9001 }} <b>$a$'


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.urls: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.urls += [v for k, v in attrs if k in ("src", "href", "xlink:href", "srcset") and v]

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def run_with(path: Path, text: str) -> RunData:
    """A run with `text` in everything that somebody else can write."""
    return make_run(
        path,
        [([f"fog{text}", "night"], "fffff"), (["sun"], "u")],
        pictures=True,
        trial={
            "reply": f"A{text} reply\nANSWER: A",
            "answer": f"go{text}",
            "expected": f"stop{text}",
            "rule": f"A1{text}",
            "direction": f"over{text}",
            "note": f"note{text}",
        },
        record={"scene": {"truth_reason": f"rule{text}: reason{text}"}},
        config={
            "env": f"Env{text}",
            "searcher": {"name": "s", "spec": f"s{text}", "fixed_trials": True},
            "model": {"spec": f"m{text}", f"key{text}": f"value{text}"},
            "command": f"vlmfail{text}",
        },
        status=f"interrupted{text}",
    )
