"""What a run will cost, before it is paid: from sample scenes, or from a few real calls."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..core import VLM, Domain, EnvironmentFault, TrialRecord
from ..models.spending import Ledger, metering

CHARACTERS_A_TOKEN = 4.0
"""Characters of English prose a token, as providers' own guides put it."""

WORDS_OF_AN_ANSWER = 120
"""Output tokens assumed of a short reason and an answer, when no call was made."""


UNCACHED = "replies that are in the reply cache already cost nothing and are not deducted"
"""What an estimate does not know, in words."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will cost.

    Attributes:
        requests: Requests, failed ones and their repetitions left out.
        input_tokens: Mean input tokens a request; None when the picture's are not known.
        output_tokens: Mean output tokens a request.
        spread: Sample sd of a request's tokens over the calls; None without two of them.
        dollars: Price of the run; None for an unpriced model or unknown tokens.
        seconds: Time in the model at the asked concurrency; None without calls.
        measured: Calls that were made for this estimate.
        spent: Dollars that those cost.
        basis: How the tokens were found, in words.
        price: Where the price comes from, in words.
    """

    requests: int
    input_tokens: float | None
    output_tokens: float | None
    spread: float | None
    dollars: float | None
    seconds: float | None
    measured: int
    spent: float | None
    basis: str
    price: str

    @property
    def tokens(self) -> int | None:
        """Tokens of the whole run."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return math.ceil(self.requests * (self.input_tokens + self.output_tokens))

    def to_json(self) -> dict[str, Any]:
        """Return the values for ``--json``."""
        return {**asdict(self), "tokens": self.tokens}


def estimate_run(
    domain: Domain[Any],
    model: VLM,
    *,
    renderer: str,
    budget: int,
    calls: int = 0,
    samples: int = 3,
    concurrency: int = 1,
    seed: int = 0,
) -> Estimate:
    """Estimate the cost of `budget` trials, none of which is in the reply cache.

    Which trials of a search are in the cache is known only once it proposes them, and those cost
    nothing: the search costs this or less. Calls are made for it whether or not their replies are
    in the cache, and are paid; replies that come from a cache all the same measure nothing.

    Args:
        domain: The domain.
        model: The model under test.
        renderer: Renderer name.
        budget: Trials.
        calls: Trials that are really put to the model; 0 pays nothing and assumes the reply's
            length.
        samples: Scenes that are drawn when no call is made.
        concurrency: Requests in flight, for the time.
        seed: Seed of the scenes.

    Raises:
        EnvironmentFault: When no call brought a reply, or all came from a cache.
    """
    from ..envs.pictured_sets import PicturedSets, candidate_space
    from ..envs.trials import ask_on_ledger, make_renderer, prepare_trial

    # Replies from the cache would say nothing of what new ones cost.
    model = model.uncached() if hasattr(model, "uncached") else model
    drawn = make_renderer(domain, renderer)
    space = candidate_space(domain.space, drawn)
    pictured = isinstance(space, PicturedSets)
    limit = ""
    if isinstance(space, PicturedSets):
        # Each is shown once, however much budget there is.
        limit = f"; {len(space)} sets have {space.pictures} pictures, each of which is one trial"
        budget = min(budget, space.pictures)
    shown: Counter[str] = Counter()
    rng = np.random.default_rng(seed)
    ledger = Ledger()
    records: list[TrialRecord] = []
    prompts: list[tuple[str, tuple[int, int]]] = []
    wanted, index = max(calls, samples if not calls else 0), 0
    while len(prompts) < wanted and index < 5 * wanted:
        with metering(ledger):
            candidate = space.sample(rng)
            key = domain.space.key(candidate)
            trial = shown[key] if pictured else index
            prepared = prepare_trial(domain, drawn, candidate, trial, seed)
        shown[key] += 1
        index += 1
        if prepared.picture is None or prepared.question is None:
            continue
        prompts.append((prepared.question.prompt, prepared.picture.size))
        if calls:
            records.append(ask_on_ledger(domain, model, prepared, seed, ledger))
    local = bool(getattr(model, "priced", False)) and not getattr(model, "metered", False)
    price = getattr(model, "price", None)
    source = "local: nothing is billed" if local else "no price is known"
    if price is not None:
        source = f"price table: {price.source}, {price.date or 'of an unknown day'}"
    if calls:
        found = _measured(records, budget, concurrency, ledger, source)
        return replace(found, basis=found.basis + limit)
    tokens_in = _input_tokens(model, prompts)
    tokens_out = _assumed_output(model)
    dollars = 0.0 if local else None
    if price is not None and tokens_in is not None and tokens_out is not None:
        one = price.dollars(round(tokens_in), 0, 0, round(tokens_out))
        dollars = None if one is None else budget * one
    output = "how much it thinks is not known"
    if tokens_out is not None:
        output = f"{tokens_out:g} output tokens assumed, none for thinking"
    basis = (
        f"{len(prompts)} sample scenes; {CHARACTERS_A_TOKEN:g} characters of text a token, the "
        f"provider's rule for pictures, {output}; {UNCACHED}; --calls 5 measures{limit}"
    )
    return Estimate(
        0 if local else budget, tokens_in, tokens_out, None, dollars, None, 0, None, basis, source
    )


def _measured(
    records: list[TrialRecord], budget: int, concurrency: int, ledger: Ledger, source: str
) -> Estimate:
    good = [r for r in records if r.trial.outcome not in ("error", "timeout")]
    if not good:
        said = records[0].trial.note if records else "no scene could be drawn"
        raise EnvironmentFault(f"none of {len(records)} calls brought a reply: {said}")
    good = [r for r in good if r.raw.get("cached") is not True]
    if not good:
        raise EnvironmentFault(
            f"all of {len(records)} replies came from a reply cache, which says nothing of what "
            "new ones cost: VLMFAIL_REPLIES=off turns vlmfail's own off"
        )
    inputs = [r.input_tokens for r in good if r.input_tokens is not None]
    outputs = [r.output_tokens for r in good if r.output_tokens is not None]
    costs = [r.dollars for r in good if r.dollars is not None]
    both = [
        r.input_tokens + r.output_tokens
        for r in good
        if r.input_tokens is not None and r.output_tokens is not None
    ]
    seconds = sum(r.seconds_model for r in good) / len(good)
    return Estimate(
        requests=budget if any(r.requests for r in good) else 0,
        input_tokens=float(np.mean(inputs)) if inputs else None,
        output_tokens=float(np.mean(outputs)) if outputs else None,
        spread=float(np.std(both, ddof=1)) if len(both) > 1 else None,
        dollars=budget * float(np.mean(costs)) if costs else None,
        seconds=budget * seconds / concurrency,
        measured=len(good),
        spent=ledger.spent["dollars"] if costs else None,
        basis=f"{len(good)} calls that were made for it; {UNCACHED}",
        price=source,
    )


def _input_tokens(model: VLM, prompts: list[tuple[str, tuple[int, int]]]) -> float | None:
    from ..models.picture_tokens import picture_tokens

    provider = getattr(getattr(model, "adapter", None), "provider", None)
    if provider is None or not prompts:
        return None
    spec = model.spec  # type: ignore[attr-defined]
    counts = []
    for prompt, (width, height) in prompts:
        picture = picture_tokens(provider, width, height, model=spec.model, detail=spec.detail)
        if picture is None:
            return None
        counts.append(len(prompt) / CHARACTERS_A_TOKEN + picture)
    return float(np.mean(counts))


def _assumed_output(model: VLM) -> float | None:
    """Return the output tokens assumed; None for a model that is told how much to think."""
    spec = getattr(model, "spec", None)
    if getattr(spec, "thinking", None) not in (None, "none"):
        return None
    limit = getattr(spec, "max_tokens", None)
    return float(WORDS_OF_AN_ANSWER if limit is None else min(WORDS_OF_AN_ANSWER, limit))
