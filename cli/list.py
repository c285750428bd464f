"""`vlmfail list`: what there is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import emit, reserved_stdout, say

if TYPE_CHECKING:
    from ..core.plugins import Registry

MIN_COLUMN = 21
"""Characters that names take at least."""


def list_names(
    env: Annotated[
        str | None, typer.Argument(help="With --concepts: the env (default: all).")
    ] = None,
    concepts: Annotated[bool, typer.Option("--concepts", help="List an env's concepts.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """List environments, models, policies, searchers and renderers, or an env's concepts."""
    if concepts or env is not None:
        return _concepts(env, as_json)
    from ..envs.registry import DOMAINS, ENVS
    from ..models.pictures.sources import RENDERERS
    from ..models.policies.registry import POLICIES, POLICY_PREFIXES
    from ..models.registry import MODELS, PREFIXES
    from ..searchers.auto import GOALS, MODES
    from ..searchers.registry import AUTO, SEARCHERS

    envs = {row.id: f"{row.title} ({row.source})" for row in ENVS} | dict.fromkeys(
        DOMAINS.names(), "plug-in"
    )
    searchers = {
        AUTO if goal == MODES else f"{AUTO}:{goal}": f"The one that we recommend for {words}."
        for goal, words in GOALS.items()
    }
    searchers |= {name: _description(SEARCHERS, name) for name in SEARCHERS.names()}
    models = {name: _description(MODELS, name) for name in MODELS.names()}
    models |= dict(_usage(PREFIXES, name, "MODEL") for name in PREFIXES.names())
    policies = {name: _description(POLICIES, name) for name in POLICIES.names()}
    policies |= dict(_usage(POLICY_PREFIXES, name, "...") for name in POLICY_PREFIXES.names())
    renderers = {name: ", ".join(ids) for name, ids in sorted(_renderers().items())}
    renderers |= dict(_usage(RENDERERS, name, "NAME") for name in RENDERERS.names())
    sections = {
        "envs": envs,
        "models": models,
        "policies": policies,
        "searchers": searchers,
        "renderers": renderers,
    }
    if as_json:
        names = {title: list(rows) for title, rows in sections.items()}
        emit({**names, "descriptions": sections})
        return 0
    for title, rows in sections.items():
        say(title)
        width = max([MIN_COLUMN, *map(len, rows)])
        for name, text in rows.items():
            say(f"  {name:<{width}}  {text}")
        say("" if rows else "  none\n")
    say("Your own: give path/to/file.py:Name or module:Name in place of any name.")
    return 0


def _description(registry: Registry, name: str) -> str:
    """Return what a plug-in says of itself; one that cannot be loaded says why."""
    from ..core.errors import VLMFailError

    try:
        return registry.describe(name)
    except (VLMFailError, ImportError) as error:
        return f"cannot be loaded: {error}"


def _usage(registry: Registry, name: str, rest: str) -> tuple[str, str]:
    """Return what to type for a prefix, and what it stands for.

    A description that ends with the form (``...: folder:PATH.``) says it itself.
    """
    text = _description(registry, name)
    found = re.search(rf":? {re.escape(name)}:(\S+?)\.?$", text)
    if found is None:
        return f"{name}:{rest}", text
    return f"{name}:{found[1]}", text[: found.start()] + "."


def _renderers() -> dict[str, list[str]]:
    """Return the renderers with the envs whose scenes they draw."""
    import importlib

    from ..envs.registry import ENVS

    found: dict[str, list[str]] = {}
    for row in ENVS:
        module = importlib.import_module(row.domain.partition(":")[0])
        for name in getattr(module, "RENDERERS", ()):
            found.setdefault(name, []).append(row.id)
    return found


def _concepts(env: str | None, as_json: bool) -> int:
    from ..core.errors import UsageError
    from ..envs.registry import ENVS, make_domain

    value: dict[str, list[dict[str, Any]]] = {}
    implied: dict[str, frozenset[str]] = {}
    for name in [env] if env is not None else [row.id for row in ENVS]:
        with reserved_stdout():
            domain: Any = make_domain(name)
        if domain.space.kind != "concept_set":
            if env is not None:
                raise UsageError(f"{name} has no concepts: its candidates are {domain.space.kind}s")
            continue
        implied[name] = frozenset(getattr(domain.space, "implied", ()))
        described = getattr(getattr(domain, "catalogue", None), "concepts", None)
        value[name] = [
            {"id": c.id, "category": c.category, "description": c.description} for c in described
        ] if described else [
            {"id": c, "category": "", "description": ""} for c in domain.space.concepts
        ]  # fmt: skip
    if as_json:
        emit({"concepts": value})
        return 0
    for name, rows in value.items():
        always = [row["id"] for row in rows if row["id"] in implied[name]]
        beside = f", and {' and '.join(always)}, in every scene" if always else ""
        say(f"{name}: {len(rows) - len(always)} concepts{beside}")
        category = None
        for row in rows:
            if row["category"] != category:
                category = row["category"]
                say(f"\n{category}")
            say(f"  {row['id']:<24} {row['description']}")
    return 0
