"""The agent contract as a test class that any plugged-in agent can subclass."""

from __future__ import annotations

import json
import random
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..agents.agent import SearchAgent
from ..core import CandidateSpace, Evaluation, Outcome
from ..envs.concept_sets import ConceptSetSpace
from ..envs.set_rules import AtMostOne, NeedsAny
from .simulated import Drive, SimulatedTrials, repeats, with_trials
from .toy import toy_space


class AgentContractSuite:
    """Tests of ask/tell that every agent passes; needs pytest to run, nothing to import.

    ```python
    from vlmfail.testing.agent_suite import AgentContractSuite

    class TestMyAgent(AgentContractSuite):
        def make_agent(self):
            return MyAgent()
    ```

    Agents for other candidates than concept sets override `make_space` and `make_tiny_space`
    (at most `tiny_size` candidates, fewer than 100). A slow agent may lower `candidates`, the
    number of candidates that most searches evaluate (at least 17: two batches and one more).
    """

    tiny_size = 4
    trials = 5
    candidates = 40

    def make_agent(self) -> SearchAgent[Any]:
        """Return a fresh agent."""
        raise NotImplementedError("override make_agent() and return a fresh agent")

    def make_space(self) -> CandidateSpace[Any]:
        """Return the space that most tests search."""
        return toy_space()

    def make_tiny_space(self) -> CandidateSpace[Any]:
        """Return a space with `tiny_size` candidates: 2 factors of 2 levels."""
        factors = (("a0", "a1"), ("b0", "b1"))
        rules = [AtMostOne("ONE", "one level a factor", factor) for factor in factors]
        needs = [
            NeedsAny("ALL", "each factor has a level", tuple((level,) for level in factor))
            for factor in factors
        ]
        return ConceptSetSpace(["a0", "a1", "b0", "b1"], [*rules, *needs], 2)

    def rate(self, candidate: Any) -> float:
        """Return the true failure rate of a candidate in most tests."""
        features = self._space.featurise(candidate)
        slopes = np.cos(np.arange(len(features)) * 1.7)
        return float(1.0 / (1.0 + np.exp(0.5 - 2.0 * (features @ slopes))))

    def drive(
        self, agent: SearchAgent[Any] | None = None, *, outcome: Any = None, **settings: Any
    ) -> Drive:
        """Search `make_space()` with a fresh agent; whatever happens, no proposal is invalid."""
        self._space = self.make_space()
        settings = {"trials": self.trials, "budget": self.candidates * self.trials, **settings}
        run = Drive(agent or self.make_agent(), self._space, self._trials(outcome), **settings)
        self._check_valid(run)
        return run

    def _trials(self, outcome: Any = None) -> SimulatedTrials:
        return SimulatedTrials(self._space, None if outcome else self.rate, outcome=outcome, seed=7)

    def _check_valid(self, run: Drive) -> None:
        for asked in run.batches:
            for candidate, _ in asked:
                assert self._space.validate(candidate) is None, self._space.key(candidate)

    # -- proposals ----------------------------------------------------------------------------

    def test_batches_hold_valid_distinct_candidates(self) -> None:
        """At most n, all valid, none twice in a batch, at least one trial each."""
        for batch in (1, 3, 8):
            run = self.drive(batch=batch)
            assert run.evaluations, "the agent proposed nothing"
            for asked in run.batches:
                assert len(asked) <= batch
                keys = [self._space.key(candidate) for candidate, _ in asked]
                assert repeats(keys) == []
                assert all(trials >= 1 for _, trials in asked)

    def test_batches_of_any_size(self) -> None:
        """The n of `ask(n)` may change from call to call; what comes back is a sequence."""
        agent = self.make_agent()
        space = self._space = self.make_space()
        evaluate = self._trials()
        agent.bind(space, seed=0, trials=self.trials, budget=self.candidates * self.trials)
        for n in (1, 5, 2, 8, 1):
            asked = agent.ask(n)
            assert isinstance(asked, Sequence)
            assert len(asked) <= n
            pairs = with_trials(asked, self.trials)
            for candidate, _ in pairs:
                assert space.validate(candidate) is None, space.key(candidate)
            assert repeats([space.key(candidate) for candidate, _ in pairs]) == []
            agent.tell([evaluate(candidate, trials) for candidate, trials in pairs])

    def test_fixed_trials_never_repeats_a_candidate(self) -> None:
        """An agent that claims a fixed m pays each candidate once, with m trials."""
        if not self.make_agent().fixed_trials:
            return
        run = self.drive()
        assert repeats(run.keys) == []
        assert {trials for asked in run.batches for _, trials in asked} <= {self.trials}

    def test_stops_when_nothing_is_left(self) -> None:
        """A tiny space is exhausted: [] and not a repeat, and [] again when asked again.

        Also when every candidate passed, or none has data. An agent that adds trials to
        candidates may go on for as long as the budget lasts.
        """
        for outcome in (None, Outcome.PASS, Outcome.ERROR):
            agent = self.make_agent()
            space = self._space = self.make_tiny_space()
            judge = None if outcome is None else (lambda key, index, o=outcome: o)
            run = Drive(agent, space, self._trials(judge), trials=1, budget=100)
            self._check_valid(run)
            if agent.fixed_trials:
                assert run.exhausted
                assert repeats(run.keys) == []
                assert len(run.evaluations) <= self.tiny_size
                assert list(agent.ask(3)) == []

    def test_budget_that_ends_inside_a_batch(self) -> None:
        """Told candidates may have got fewer trials than asked for, or none; it can go on."""
        agent = self.make_agent()
        run = self.drive(agent, budget=9 * self.trials + self.trials // 2, batch=8)
        for candidate, trials in with_trials(agent.ask(3), self.trials):
            assert trials >= 1
            assert self._space.validate(candidate) is None
        assert run.evaluations

    # -- determinism --------------------------------------------------------------------------

    def test_same_seed_and_outcomes_give_the_same_search(self) -> None:
        """Whatever the global generators did before."""
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        first = self.drive(seed=3)
        random.seed(2)
        np.random.seed(2)  # noqa: NPY002
        assert self.drive(seed=3).keys == first.keys

    def test_leaves_global_generators_alone(self) -> None:
        """The agent draws from its own generator."""
        self.drive(budget=self.trials)  # what it imports may draw while it loads
        before = _global_draws()
        self.drive()
        assert _global_draws() == before

    def test_replaying_a_log_restores_the_agent(self) -> None:
        """A fresh agent that is told the log proposes what the first one did, and goes on so."""
        whole = self.drive()
        agent, space = self.make_agent(), self.make_space()
        agent.bind(space, seed=0, trials=self.trials, budget=self.candidates * self.trials)
        told = iter(whole.evaluations)
        for asked in whole.batches:
            again = with_trials(agent.ask(8), self.trials)
            assert [space.key(c) for c, _ in again] == [space.key(c) for c, _ in asked]
            assert [t for _, t in again] == [t for _, t in asked]
            # Logged candidates come back from JSON: equal, not the same objects.
            agent.tell([_reread(space, next(told)) for _ in again])

    def test_searches_in_turns_are_as_if_alone(self) -> None:
        """Two agents of one kind share nothing: neither a generator nor what they learnt."""
        alone = self.drive(seed=3)
        one, other = self.make_agent(), self.make_agent()
        space = self._space = self.make_space()
        for agent, seed in ((one, 3), (other, 4)):
            agent.bind(space, seed=seed, trials=self.trials, budget=self.candidates * self.trials)
        told, evaluate = iter(alone.evaluations), self._trials()
        for asked in alone.batches:
            again = with_trials(one.ask(8), self.trials)
            others = with_trials(other.ask(8), self.trials)
            assert [space.key(c) for c, _ in again] == [space.key(c) for c, _ in asked]
            one.tell([next(told) for _ in again])
            if others:
                other.tell([evaluate(candidate, trials) for candidate, trials in others])

    def test_binding_again_starts_afresh(self) -> None:
        """`bind` clears what an earlier search left."""
        agent = self.make_agent()
        first = self.drive(agent)
        assert self.drive(agent).keys == first.keys

    # -- outcomes -----------------------------------------------------------------------------

    def test_constant_outcomes(self) -> None:
        """All pass, or all fail: no crash, no warning, no repeat."""
        for outcome in (Outcome.PASS, Outcome.FAIL):
            self._quietly(lambda key, index, o=outcome: o)

    def test_candidates_without_data(self) -> None:
        """Errors, refusals and impossible scenes give no rate and do not stop the search."""
        kinds = (Outcome.ERROR, Outcome.REFUSED, Outcome.UNPARSED, Outcome.TIMEOUT)
        self._quietly(lambda key, index: kinds[index % len(kinds)])
        self._quietly(lambda key, index: Outcome.INVALID_SCENE)

    def test_contradictory_outcomes(self) -> None:
        """Every other trial fails, whatever the candidate."""
        self._quietly(lambda key, index: (Outcome.PASS, Outcome.FAIL)[index % 2])

    def test_one_trial_of_budget(self) -> None:
        """The smallest search: one candidate, one trial."""
        run = self.drive(trials=1, budget=1, batch=1)
        assert len(run.evaluations) == 1

    def _quietly(self, outcome: Any) -> None:
        with warnings.catch_warnings():
            for kind in (RuntimeWarning, UserWarning):
                warnings.simplefilter("error", kind)
            run = self.drive(outcome=outcome)
        assert run.evaluations

    # -- record -------------------------------------------------------------------------------

    def test_config_is_json(self) -> None:
        """The run's record holds the settings."""
        config = self.make_agent().config()
        assert json.loads(json.dumps(config, allow_nan=False)) == config


def _global_draws() -> tuple[object, str, str]:
    # torch only where something has loaded it: the suite needs none of it.
    torch: Any = sys.modules.get("torch")
    drawn = "" if torch is None else repr(torch.get_rng_state().tolist())
    return random.getstate(), repr(np.random.get_state()), drawn  # noqa: NPY002


def _reread(space: CandidateSpace[Any], evaluation: Evaluation[Any]) -> Evaluation[Any]:
    value = json.loads(json.dumps(space.to_json(evaluation.candidate)))
    return Evaluation(space.from_json(value), evaluation.key, evaluation.new, evaluation.total)
