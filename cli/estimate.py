"""`vlmfail estimate`: what a search will cost, before it is paid."""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..models.prices import BUILT_IN
from ..models.specs import ModelSpec
from .console import emit, facts, pairs, reserved_stdout

if TYPE_CHECKING:
    from ..analysis.estimate import Estimate

UNPRICED = "no price is known"


def estimate(
    env: Annotated[str, typer.Argument(help="Env id, or a domain as module_or_file:Name.")],
    model: Annotated[
        str, typer.Option("--model", "-m", help="Model under test, or module_or_file:Name.")
    ] = "tiny-vlm",
    budget: Annotated[int, typer.Option(min=1, help="Trials of the search.")] = 1000,
    calls: Annotated[
        int,
        typer.Option(min=0, max=100, help="Trials really put to the model, to measure; 0: none."),
    ] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests in flight.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the sample scenes.")] = 0,
    renderer: Annotated[str, typer.Option(help="Renderer of the scenes.")] = "embree",
    env_arg: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Option of the env.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Estimate requests, tokens and money of a search; with --calls, its time in the model.

    Drawing the scenes comes on top: nothing is said of it.
    """
    from ..analysis.estimate import estimate_run
    from ..core import UsageError, check_seed, plays_episodes
    from ..envs.registry import make_domain
    from ..models.registry import make_model

    check_seed(seed)
    with reserved_stdout():
        domain: Any = make_domain(env, **pairs("--env-arg", env_arg or []))
        if plays_episodes(domain):
            raise UsageError(
                f"a trial of {env} sends no requests and costs time alone: a search of a few "
                f"tells how long, vlmfail search {env} --budget 10"
            )
        made = make_model(model)
        found = estimate_run(
            domain,
            made,
            renderer=renderer,
            budget=budget,
            calls=calls,
            concurrency=concurrency,
            seed=seed,
        )
        trials = _possible(domain, renderer, budget)
    close = _priced_like(made) if found.price == UNPRICED else []
    if close:
        found = replace(found, price=f"{UNPRICED}: did you mean {', '.join(close)}?")
    if as_json:
        sizes = {"budget": budget, "trials": trials}
        emit({"env": env, "model": model, **sizes, **found.to_json()})
    else:
        shown = f"{trials:,}"
        if trials < budget:
            shown += f" of {budget:,}: there are no more pictures, and each is one trial"
        facts({"env": env, "model": model, "trials": shown, **_rows(found)})
    return 0


def _possible(domain: Any, renderer: str, budget: int) -> int:
    """Return how many trials a search can have: a folder's pictures are shown once each."""
    from ..envs.pictured_sets import PicturedSets, candidate_space
    from ..envs.trials import make_renderer

    space = candidate_space(domain.space, make_renderer(domain, renderer))
    return min(budget, space.pictures) if isinstance(space, PicturedSets) else budget


def _priced_like(model: Any) -> list[str]:
    """Return priced names of the same service that are like the model's, the most like first.

    Another server's models may be called anything.
    """
    spec = getattr(model, "spec", None)
    if not isinstance(spec, ModelSpec) or spec.base_url is not None:
        return []
    rows = json.loads(BUILT_IN.read_text(encoding="utf-8"))["prices"]
    names = sorted({row["model"] for row in rows if row["provider"] == spec.prefix})
    return difflib.get_close_matches(spec.model, names, n=3, cutoff=0.6)


def _rows(found: Estimate) -> dict[str, str]:
    def number(value: float | None, form: str = ",.0f") -> str:
        return "unknown" if value is None else format(value, form)

    rows = {
        "requests": number(found.requests),
        "input tokens a request": number(found.input_tokens),
        "output tokens a request": number(found.output_tokens),
    }
    if found.spread is not None:
        rows["sd of a request's tokens"] = number(found.spread)
    rows["tokens"] = number(found.tokens)
    rows["dollars"] = number(found.dollars, ",.2f")
    rows["time in the model"] = "unknown; --calls 5 measures it"
    if found.seconds is not None:
        rows["time in the model"] = f"{found.seconds:,.0f} s, drawing not counted"
    if found.measured:
        rows["paid for this estimate"] = number(found.spent, ",.4f") + " $"
    rows["price"] = found.price
    rows["basis"] = found.basis
    return rows
