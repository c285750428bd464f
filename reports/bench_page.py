"""The page of a bench: what a template shows of searchers side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

STYLES = ("report.css", "bench.css")


def render_bench(view: Mapping[str, Any]) -> str:
    """Return the page as text.

    Everything that is not `Markup` is escaped by the template engine; the page loads nothing from
    anywhere and runs no script.

    Args:
        view: What ``bench.html.jinja`` names.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["place"] = _place
    # Our own files, the only markup that is not escaped beside the plots.
    css = Markup("\n".join((HERE / name).read_text(encoding="utf-8") for name in STYLES))
    page = environment.get_template("bench.html.jinja").render(css=css, **view)
    return page.encode("utf-8", "replace").decode("utf-8")


def _place(share: float) -> str:
    """Return a share in [0, 1] as a CSS percentage."""
    return f"{100 * min(1.0, max(0.0, share)):.2f}%"
