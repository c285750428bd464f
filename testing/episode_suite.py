"""The contract of an episode domain as a test class that any plugged-in one can subclass."""

from __future__ import annotations

import json
import pickle
from typing import Any, ClassVar

from ..core import CandidateSpace, EpisodeDomain, Outcome, SceneError
from ..envs.episodes import DIGEST
from .space_suite import SpaceContractSuite, global_draws, strict


class EpisodeDomainContractSuite(SpaceContractSuite):
    """What env, evaluator and agents rely on; needs pytest to run, nothing to import.

    ```python
    class TestMyDomain(EpisodeDomainContractSuite):
        def make_domain(self):
            return MyDomain()

        def make_policy(self):
            return MyPolicy()
    ```

    Attributes:
        episodes: Episodes that are played.
        weight: Most bytes of a pickled domain: it travels to every worker.
    """

    episodes: ClassVar[int] = 3
    weight: ClassVar[int] = 100_000

    def make_domain(self) -> EpisodeDomain[Any]:
        """Return a fresh domain whose engine is installed."""
        raise NotImplementedError("override make_domain() and return a fresh domain")

    def make_policy(self) -> Any:
        """Return a fresh policy that can play in it."""
        raise NotImplementedError("override make_policy() and return a fresh policy")

    def played(self, domain: EpisodeDomain[Any], policy: Any, index: int = 0) -> list[Any]:
        """Return the record and the picture of an episode of each of a few candidates."""
        world = domain.make_world(policy)
        try:
            return [
                domain.run_episode(world, policy, candidate, index, run_seed=7)
                for candidate in self.drawn(domain.space)[: self.episodes]
            ]
        finally:
            world.close()

    def test_it_is_an_episode_domain(self) -> None:
        """It has a name, a space, what forbids it is told, and it is light."""
        domain = self.make_domain()
        assert isinstance(domain.name, str)
        assert domain.name
        assert isinstance(domain.space, CandidateSpace)
        domain.check()
        assert len(pickle.dumps(domain)) < self.weight

    def test_episodes_come_to_an_outcome(self) -> None:
        """The record is strict JSON; an impossible scene says why; a failure has a reason."""
        domain = self.make_domain()
        before = global_draws()
        for record, picture in self.played(domain, self.make_policy()):
            trial = record.trial
            strict(dict(record.scene))
            assert trial.picture == (None if picture is None else picture.sha256)
            if trial.outcome in (Outcome.PASS, Outcome.FAIL):
                assert isinstance(record.scene[DIGEST], str)
                assert bool(trial.direction) == (trial.outcome is Outcome.FAIL)
            else:
                assert trial.note
        assert global_draws() == before, "episodes draw from their trial's seed alone"

    def test_a_trial_is_the_same_wherever_it_is_played(self) -> None:
        """In a copy of the domain, in a world of its own, after other episodes."""
        domain = self.make_domain()
        world = domain.make_world(self.make_policy())
        world_is_sure = getattr(world, "deterministic", False)
        world.close()
        if not world_is_sure:
            return
        copy = pickle.loads(pickle.dumps(domain))  # noqa: S301 - the domain is the user's own
        first = [record.trial for record, _ in self.played(domain, self.make_policy())]
        second = [record.trial for record, _ in self.played(copy, self.make_policy())]
        assert first == second

    def test_a_policy_that_breaks_is_an_error(self) -> None:
        """And never a crash, nor a failure."""

        class Broken:
            name = "broken"

            def reset(self, instruction: str) -> None:
                pass

            def act(self, observation: Any) -> Any:
                raise RuntimeError("the policy broke")

        for record, _ in self.played(self.make_domain(), Broken()):
            assert record.trial.outcome in (Outcome.ERROR, Outcome.INVALID_SCENE)

    def test_scenes_can_be_looked_at(self) -> None:
        """Before any policy acts."""
        domain = self.make_domain()
        world = domain.make_world()
        shown = 0
        try:
            for candidate in self.drawn(domain.space):
                try:
                    scene, picture = domain.preview(world, candidate)
                except SceneError:
                    continue
                json.dumps(scene, allow_nan=False)
                assert picture.size
                shown += 1
                if shown == self.episodes:
                    break
        finally:
            world.close()
        assert shown
