"""The domain contract as a test class that any plugged-in domain can subclass."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ..core import CandidateSpace, Domain, Outcome, SceneError, UnknownNameError
from ..envs.trials import run_trial
from ..models.registry import FunctionVLM
from .space_suite import SpaceContractSuite, global_draws, strict
from .toy import guess


class DomainContractSuite(SpaceContractSuite):
    """What env, evaluator and agents rely on; needs pytest to run, nothing to import.

    ```python
    from vlmfail.testing.domain_suite import DomainContractSuite

    class TestMyDomain(DomainContractSuite):
        def make_domain(self):
            return MyDomain()
    ```

    Attributes:
        renderer: Name of the renderer whose pictures are tested.
        candidates: Candidates that the tests of the space draw.
        scenes: Scenes that the tests of question and truth draw.
        pictures: Scenes that are rendered, twice each.
        weight: Most bytes of a pickled domain: it travels to every worker.
    """

    renderer: ClassVar[str] = "embree"
    scenes: ClassVar[int] = 20
    pictures: ClassVar[int] = 3
    weight: ClassVar[int] = 100_000

    def make_domain(self) -> Domain[Any]:
        """Return a fresh domain."""
        raise NotImplementedError("override make_domain() and return a fresh domain")

    def sampled(self, domain: Domain[Any], count: int) -> Iterator[tuple[Any, int, Any]]:
        """Yield `count` (candidate, seed, scene); a candidate may fail by `SceneError` alone."""
        rng = np.random.default_rng(1)
        found = 0
        for seed in range(20 * count):
            candidate = domain.space.sample(rng)
            try:
                scene = domain.sample_scene(candidate, np.random.default_rng(seed))
            except SceneError:
                continue
            yield candidate, seed, scene
            found += 1
            if found == count:
                return
        raise AssertionError(f"of {20 * count} draws only {found} gave a scene")

    # -- the space ----------------------------------------------------------------------------

    def test_it_is_a_domain(self) -> None:
        """It has a name, a space and at least one attempt a trial."""
        domain = self.make_domain()
        assert isinstance(domain.name, str)
        assert domain.name
        assert domain.attempts >= 1
        assert isinstance(domain.space, CandidateSpace)
        assert domain.space.kind in ("concept_set", "vector", "tuple")

    # -- scenes, questions, truth -------------------------------------------------------------

    def test_it_is_light_and_its_copy_does_the_same(self) -> None:
        """A pickled copy gives the same scenes, questions and answers."""
        domain = self.make_domain()
        for _ in self.sampled(domain, 1):  # what a domain keeps for later must not travel
            pass
        packed = pickle.dumps(domain)
        assert len(packed) < self.weight
        copy = pickle.loads(packed)  # noqa: S301 - the domain is the user's own
        for candidate, seed, scene in self.sampled(domain, self.scenes):
            twin = copy.sample_scene(candidate, np.random.default_rng(seed))
            assert twin.record() == scene.record()
            assert copy.question(twin) == domain.question(scene)
            assert copy.truth(twin) == domain.truth(scene)

    def test_scenes_follow_the_generator(self) -> None:
        """The same generator gives the same scene, whatever was drawn before; others differ."""
        domain = self.make_domain()
        before = global_draws()
        records = []
        for candidate, seed, scene in self.sampled(domain, self.scenes):
            again = self.make_domain().sample_scene(candidate, np.random.default_rng(seed))
            assert again.record() == scene.record()
            records.append(json.dumps(scene.record()))
        assert global_draws() == before, "the sampler draws from its argument alone"
        assert len(set(records)) > 1

    def test_records_are_strict_json(self) -> None:
        """What the run keeps of a scene: no NaN, no numpy value, no tuple key."""
        domain = self.make_domain()
        for _, _, scene in self.sampled(domain, self.scenes):
            assert isinstance(strict(scene.record()), dict)

    def test_the_right_answer_is_one_of_the_options(self) -> None:
        """Accepted answers are options, the expected one is accepted, a rule decided."""
        domain = self.make_domain()
        for _, _, scene in self.sampled(domain, self.scenes):
            question, truth = domain.question(scene), domain.truth(scene)
            ids = [option.id for option in question.options]
            assert 2 <= len(ids) <= 26
            assert len(set(ids)) == len(ids)
            assert len({option.text for option in question.options}) == len(ids)
            assert question.version
            assert truth.expected in truth.accepted
            assert set(truth.accepted) <= set(ids)
            assert truth.accepted != set(ids), "a question that cannot be failed"
            assert truth.rule
            assert truth.reason

    def test_wrong_answers_have_a_direction_and_right_ones_none(self) -> None:
        """Every error is named, nothing else is."""
        domain = self.make_domain()
        for _, _, scene in self.sampled(domain, self.scenes):
            truth = domain.truth(scene)
            for option in domain.question(scene).options:
                direction = domain.direction(truth, option.id)
                assert bool(direction) == (option.id not in truth.accepted), option.id

    # -- pictures -----------------------------------------------------------------------------

    def test_the_same_scene_gives_the_same_picture(self) -> None:
        """Byte for byte, from a renderer of its own and after other pictures."""
        domain = self.make_domain()
        renderer = domain.make_renderer(self.renderer)
        drawn = list(self.sampled(domain, self.pictures))
        first = [renderer.render(scene).picture for _, _, scene in drawn]
        other = self.make_domain()
        fresh = other.make_renderer(self.renderer)
        for (candidate, seed, _), picture in zip(reversed(drawn), reversed(first), strict=True):
            scene = other.sample_scene(candidate, np.random.default_rng(seed))
            assert fresh.render(scene).picture.sha256 == picture.sha256

    def test_what_is_measured_in_a_picture_fits(self) -> None:
        """Deciding objects are measured, nothing shows more than it covers, verdicts are text."""
        domain = self.make_domain()
        renderer = domain.make_renderer(self.renderer)
        for _, _, scene in self.sampled(domain, self.pictures):
            rendering, truth = renderer.render(scene), domain.truth(scene)
            width, height = rendering.picture.size
            if rendering.visible is not None:
                assert set(truth.deciding) <= set(rendering.visible)
                assert all(0 <= n <= width * height for n in rendering.visible.values())
                for name, most in (rendering.extent or {}).items():
                    assert rendering.visible.get(name, 0) <= most, name
            if rendering.index is not None:
                assert rendering.index.shape == (height, width)
            verdict = domain.unseen(scene, truth, rendering)
            assert verdict is None or (isinstance(verdict, str) and verdict)

    def test_trials_come_to_an_outcome(self) -> None:
        """From candidate to record; an impossible scene says why, and not all are impossible."""
        domain, model = self.make_domain(), FunctionVLM(guess)
        renderer = domain.make_renderer(self.renderer)
        outcomes = set()
        for index, (candidate, _, _) in enumerate(self.sampled(domain, self.pictures)):
            record, picture = run_trial(domain, renderer, model, candidate, index, run_seed=2)
            trial = record.trial
            outcomes.add(trial.outcome)
            assert (picture is None) == (trial.outcome is Outcome.INVALID_SCENE)
            assert trial.note if picture is None else trial.answer in record.options
        assert outcomes & {Outcome.PASS, Outcome.FAIL}

    def test_an_unknown_renderer_is_told(self) -> None:
        """By an error that names what exists."""
        domain = self.make_domain()
        told = ""
        try:
            domain.make_renderer("no-such-renderer")
        except UnknownNameError as error:
            told = str(error)
        assert "no-such-renderer" in told, "expected an UnknownNameError with the name"
