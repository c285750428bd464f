"""The contract of a candidate space as a test class: part of what a domain must keep."""

from __future__ import annotations

import json
import random
from typing import Any, ClassVar

import numpy as np

from ..core import CandidateSpace


class SpaceContractSuite:
    """What env, evaluator and agents rely on in the space of a domain of any kind.

    Attributes:
        candidates: Candidates that the tests draw.
    """

    candidates: ClassVar[int] = 50

    def make_domain(self) -> Any:
        """Return a fresh domain."""
        raise NotImplementedError("override make_domain() and return a fresh domain")

    def drawn(self, space: CandidateSpace[Any], seed: int = 0) -> list[Any]:
        """Return `candidates` valid candidates."""
        rng = np.random.default_rng(seed)
        return [space.sample(rng) for _ in range(self.candidates)]

    def test_sampled_candidates_are_valid_and_follow_the_generator(self) -> None:
        """The same generator draws the same candidates, in a fresh domain too; they differ."""
        space = self.make_domain().space
        before = global_draws()
        drawn = self.drawn(space)
        assert global_draws() == before, "the space draws from its argument alone"
        assert [space.validate(candidate) for candidate in drawn] == [None] * len(drawn)
        keys = [space.key(candidate) for candidate in drawn]
        again = self.make_domain().space
        assert [again.key(candidate) for candidate in self.drawn(again)] == keys
        assert len(set(keys)) > 1

    def test_candidates_survive_json(self) -> None:
        """A candidate comes back from strict JSON with the same key."""
        space = self.make_domain().space
        for candidate in self.drawn(space):
            again = space.from_json(strict(space.to_json(candidate)))
            assert space.key(again) == space.key(candidate)

    def test_actions_stand_for_candidates(self) -> None:
        """`encode` and `decode` undo each other, within a one-dimensional action space."""
        space = self.make_domain().space
        actions = space.action_space()
        assert len(actions.shape or ()) == 1
        for candidate in self.drawn(space):
            action = space.encode(candidate)
            assert actions.contains(action)
            assert space.key(space.decode(action)) == space.key(candidate)

    def test_action_spaces_sample_valid_candidates(self) -> None:
        """Singly and batched, and the same ones for the same seed."""
        space = self.make_domain().space
        for count in (None, 3):
            first, second = space.action_space(count), space.action_space(count)
            first.seed(4)
            second.seed(4)
            for _ in range(10):
                action = first.sample()
                assert np.array_equal(action, second.sample())
                rows = [action] if count is None else list(action)
                assert len(rows) == (count or 1)
                assert all(space.validate(space.decode(row)) is None for row in rows)

    def test_invalid_sets_can_be_encoded_and_name_their_rule(self) -> None:
        """Agents may propose anything: the answer is a rule, never an exception."""
        space: Any = self.make_domain().space
        if space.kind != "concept_set":
            return
        everything: frozenset[str] = frozenset(space.concepts)
        nothing: frozenset[str] = frozenset()
        for candidate in (everything, nothing):
            # By key: what every scene implies is dropped.
            assert space.key(space.decode(space.encode(candidate))) == space.key(candidate)
            violation = space.validate(candidate)
            assert violation is None or (violation.rule and violation.text)
        assert space.validate(nothing) is not None

    def test_features_are_named_and_lie_in_the_unit_interval(self) -> None:
        """One finite float32 in [0, 1] a feature name."""
        space = self.make_domain().space
        assert len(set(space.features)) == len(space.features) > 0
        for candidate in self.drawn(space):
            features = space.featurise(candidate)
            assert features.shape == (len(space.features),)
            assert features.dtype == np.float32
            assert ((features >= 0.0) & (features <= 1.0)).all()


def strict(value: Any) -> Any:
    """Return what strict JSON makes of a value."""
    text = json.dumps(value, allow_nan=False)
    again = json.loads(text)
    assert json.dumps(again, allow_nan=False) == text
    return again


def global_draws() -> tuple[object, str]:
    """Return the state of the global generators, which nothing may draw from."""
    return random.getstate(), repr(np.random.get_state())  # noqa: NPY002
