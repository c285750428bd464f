"""Renderers that draw no scene of their own: pictures of a picture model, or the user's.

The picture shows the candidate's concepts; where things stand in it is the picture model's
affair. It depends on the candidate, the run's seed and the trial alone, so that a trial's picture
is its own and a replay finds the same bytes where generated pictures are kept.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from ..core import (
    CandidateSpace,
    ModelFault,
    Renderer,
    Rendering,
    Scene,
    UsageError,
    derive_seed,
)
from ..models.pictures.ledger import picture_metering
from ..models.pictures.prompts import picture_prompt, wording
from ..models.pictures.shelf import PICTURE, PictureReplies, Shelf, generated_folder
from ..models.pictures.sources import (
    DescribedCatalogue,
    DrawnPicture,
    PictureRequest,
    PictureSource,
    UndrawnPictureError,
    implied_by,
    in_order,
    is_picture_spec,
    make_source,
)
from ..models.pictures.specs import PictureSpec, parse_picture_spec

if TYPE_CHECKING:
    from ..models.pictures.checks import PictureCheck

__all__ = [
    "DescribesScenes",
    "GeneratedRenderer",
    "GeneratedRendering",
    "UndrawnPictureError",
    "draw",
    "generated_renderer",
    "is_generated",
    "renderer_identity",
]

is_generated = is_picture_spec

MOST_UNDRAWN = 20
"""Trials in a row that were paid for and brought no picture, after which none is drawn (ours)."""

SOME = 3
"""Sets that a warning names."""

C_contra = TypeVar("C_contra", contravariant=True)


@runtime_checkable
class DescribesScenes(Protocol[C_contra]):
    """A domain whose question and right answer hang on the candidate alone.

    Its trials with generated pictures sample no scene: nothing that is placed nowhere can stand
    in the way of a picture that exists.
    """

    def describe_scene(self, candidate: C_contra) -> Scene:
        """Return a candidate's scene without places, for the domain's `question` and `truth`.

        Its `record` says what is known of the candidate alone. It may have ``absent``: ids of
        concepts that would change the right answer if a picture showed them, which a check looks
        for.
        """
        ...


@dataclass(frozen=True, slots=True)
class GeneratedRendering(Rendering):
    """A `Rendering` with how its picture came about. ``visible`` is None: nobody can tell.

    Attributes:
        record: Source, check and cost as JSON values, for the trial's record, and the prompt and
            the seed where the source uses them.
    """

    record: Mapping[str, Any] = field(default_factory=dict, compare=False)


class GeneratedRenderer:
    """Pictures by concept set (core.Renderer). Thread-safe.

    Attributes:
        name: The spec as the user wrote it.
    """

    def __init__(
        self,
        spec: PictureSpec,
        source: PictureSource,
        catalogue: DescribedCatalogue,
        *,
        domain: str = "",
        check: PictureCheck | None = None,
    ) -> None:
        """Draw by `source`; use `generated_renderer`, which makes all parts.

        Args:
            spec: The parsed spec.
            source: What draws.
            catalogue: The concepts and their descriptions.
            domain: The domain's name, which chooses the style of the prompt.
            check: What says whether a picture shows its concepts.
        """
        self.name = spec.text
        self.spec = spec
        self.source = source
        self.catalogue = catalogue
        self.domain = domain
        self.check = check
        self._shelf = Shelf(generated_folder())
        self._trials = PictureReplies(self._shelf)
        self._in_vain: deque[str] = deque(maxlen=MOST_UNDRAWN)

    @property
    def metered(self) -> bool:
        """Whether it sends requests, which count on the ledger of `spending.metering`."""
        return self.source.metered or (self.check is not None and self.check.metered)

    @property
    def priced(self) -> bool:
        """Whether what it costs is known."""
        return self.source.priced and (self.check is None or self.check.priced)

    def identity(self) -> dict[str, Any]:
        """Return what decides the pictures, as JSON values, for a run's record."""
        words: dict[str, Any] = {}
        if self._prompted:
            words = {"prompt": wording().version, "style": wording().style(self.domain).style}
        return {
            "name": self.name,
            "source": {"prefix": self.spec.prefix, **self.source.identity()},
            **words,
            "tries": self.spec.tries,
            "check": None if self.check is None else self.check.identity(),
        }

    @property
    def _prompted(self) -> bool:
        return bool(getattr(self.source, "prompted", True))

    def cancel(self) -> None:
        """End the requests in flight."""
        for part in (self.source, None if self.check is None else self.check.model):
            cancel = getattr(part, "cancel", None)
            if callable(cancel):
                cancel()

    def render(self, scene: Any) -> Rendering:
        """Return a picture of a scene that was sampled outside a search.

        Its seed is a digest of the scene: the same scene has the same picture.

        Raises:
            UndrawnPictureError: There is no picture.
            UsageError: The scene does not say which concepts it shows.
        """
        candidate = getattr(scene, "candidate", None)
        if candidate is None:
            known = {concept.id for concept in self.catalogue.concepts}
            candidate = [name for name in getattr(scene, "names", ()) if name in known]
        if not candidate:
            raise UsageError(
                f"{type(scene).__name__} says neither `candidate` nor `names`: "
                f"{self.spec.shown} cannot tell what to draw"
            )
        text = json.dumps(scene.record(), sort_keys=True, default=str)
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
        absent = getattr(scene, "absent", ())
        return self.render_trial(candidate, run_seed=seed, trial=0, absent=absent)

    def render_trial(
        self,
        candidate: Iterable[str],
        *,
        run_seed: int,
        trial: int,
        absent: Iterable[str] = (),
    ) -> GeneratedRendering:
        """Return the picture of one trial.

        Args:
            candidate: Ids of its concepts.
            run_seed: The run's seed.
            trial: The trial's index for this candidate, from 0.
            absent: Ids of concepts that would change the right answer: with a check, a picture
                that shows one does not pass.

        Raises:
            UndrawnPictureError: There is none, after all tries; its ``record`` says what was
                tried. The trial is an invalid scene, never a failure.
            ModelFault: No picture at all can be drawn, or `MOST_UNDRAWN` trials in a row cost
                requests and brought none.
            CapReachedError: A cap forbids the request.
        """
        ids = in_order(set(candidate) - implied_by(self.catalogue), self.catalogue)
        unwanted = () if self.check is None else in_order(absent, self.catalogue)
        prompt = picture_prompt(frozenset(ids), self.catalogue, self.domain)
        key = "+".join(ids)
        place = self._place(key, prompt, run_seed, trial, unwanted)
        found = self._kept(place)
        if found is not None:
            self._in_vain.clear()
            return found
        failed: list[dict[str, Any]] = []
        record: dict[str, Any] = {"renderer": self.name}
        if self._prompted:
            record |= {"prompt": prompt, "prompt_version": wording().version}
        with picture_metering() as ledger:
            tries = self.spec.tries if self.source.varies else 1
            for attempt in range(tries):
                seed = derive_seed(run_seed, f"picture/{key}/{trial}/{attempt}")
                sown = {"seed": seed} if self.source.varies else {}
                request = PictureRequest(ids, prompt, seed, run_seed, trial)
                try:
                    drawn, checked = self._one(request, unwanted)
                except UndrawnPictureError as error:
                    failed.append({**sown, "problem": str(error), **error.record})
                    if error.again and attempt + 1 < tries:
                        continue
                    record = {**record, "failed": failed, "spent": ledger.record()}
                    if error.used_up:
                        record["used_up"] = True
                    if record["spent"]["requests"]:
                        self._count(str(error))
                    raise UndrawnPictureError(
                        str(error), used_up=error.used_up, record=record
                    ) from error
                record = {
                    **record,
                    **sown,
                    "source": dict(drawn.record),
                    **({"check": checked} if checked is not None else {}),
                    **({"failed": failed} if failed else {}),
                    "spent": ledger.record(),
                }
                self._in_vain.clear()
                return self._keep(place, GeneratedRendering(drawn.picture, record=record))
        raise AssertionError("a picture has at least one try")

    def _count(self, problem: str) -> None:
        """Note a trial that was paid for in vain; raise `ModelFault` when they are many."""
        self._in_vain.append(problem)
        if len(self._in_vain) >= MOST_UNDRAWN:
            self._in_vain.clear()  # whoever goes on in this process has mended something
            raise ModelFault(
                f"renderer {self.spec.shown}: {MOST_UNDRAWN} trials in a row were paid for and "
                f"brought no picture, the last because {problem}"
            )

    # A refusal may not come twice: only the trial itself tells which of its tries was shown.

    def _place(
        self, key: str, prompt: str, run_seed: int, trial: int, unwanted: tuple[str, ...]
    ) -> str:
        parts = ["trial", self.identity(), key, prompt, run_seed, trial]
        if unwanted:
            parts.append(unwanted)
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()

    def _kept(self, place: str) -> GeneratedRendering | None:
        hit = self._trials.get(place) if self.source.varies else None
        if hit is None:
            return None
        named, record = hit.raw.get(PICTURE), hit.raw.get("record")
        picture = self._shelf.get(named.get("sha256")) if isinstance(named, dict) else None
        if picture is None or not isinstance(record, dict):
            return None
        nothing = {"requests": 0, "tokens": 0, "dollars": 0.0}
        return GeneratedRendering(picture, record={**record, "cached": True, "spent": nothing})

    def _keep(self, place: str, rendering: GeneratedRendering) -> GeneratedRendering:
        if self.source.varies:
            self._shelf.put(rendering.picture)
            named = {"sha256": rendering.picture.sha256}
            self._trials.put(place, {PICTURE: named, "record": dict(rendering.record)})
        return rendering

    def _one(
        self, request: PictureRequest, unwanted: tuple[str, ...]
    ) -> tuple[DrawnPicture, dict[str, Any] | None]:
        drawn = self.source.draw(request)
        if self.check is None:
            return drawn, None
        verdict = self.check.verdict(drawn.picture, request.candidate, unwanted)
        if verdict.problem is not None:
            raise UndrawnPictureError(
                verdict.problem,
                again=True,
                record={
                    "source": dict(drawn.record),
                    "check": verdict.record(),
                    "picture": drawn.picture.sha256,
                },
            )
        return drawn, verdict.record()


def generated_renderer(
    spec: str,
    catalogue: DescribedCatalogue,
    *,
    domain: str = "",
    space: CandidateSpace[frozenset[str]] | None = None,
) -> GeneratedRenderer:
    """Return the renderer of ``prefix:MODEL_OR_PATH[?check=SPEC&tries=N&...]``.

    Args:
        spec: The spec; its prefix is one of ``models.pictures.sources.RENDERERS``.
        catalogue: A concept-set domain's catalogue: ``concepts`` in canonical order, each with
            ``id`` and ``description``.
        domain: The domain's name, which chooses the style of the prompt.
        space: The domain's candidates: of pictures whose sets are none of them one line warns.

    Raises:
        UnknownNameError: For an unknown prefix or option.
        UsageError: For a folder, a file or a value that cannot be, and for a folder none of whose
            sets a search may propose.
        MissingDependencyError: For a package that is not installed.
    """
    parsed = parse_picture_spec(spec)
    source = make_source(parsed, catalogue)
    if space is not None:
        _warn_of_unreachable(parsed, source, space)
    check = None
    if parsed.check is not None:
        from ..models.pictures.checks import PictureCheck
        from ..models.registry import make_model

        replies = PictureReplies(Shelf(generated_folder()))
        check = PictureCheck(make_model(parsed.check), catalogue, replies)
    return GeneratedRenderer(parsed, source, catalogue, domain=domain, check=check)


def _warn_of_unreachable(
    spec: PictureSpec, source: PictureSource, space: CandidateSpace[frozenset[str]]
) -> None:
    sets: tuple[tuple[str, ...], ...] = getattr(source, "sets", ())
    broken = [
        f"{'+'.join(ids)} ({violation.rule}: {violation.text})"
        for ids in sets
        if (violation := space.validate(frozenset(ids))) is not None
    ]
    if sets and len(broken) == len(sets):
        which = f"all of its {len(sets)} sets, e.g." if len(sets) > 1 else "its only set,"
        raise UsageError(
            f"renderer {spec.shown}: no search could propose anything, since rules of the domain "
            f"forbid {which} {broken[0]}; `vlmfail list --concepts` names the concepts"
        )
    if broken:
        more = f" and {len(broken) - SOME} more" if len(broken) > SOME else ""
        warnings.warn(
            f"renderer {spec.shown}: no search proposes {len(broken)} of its {len(sets)} sets, "
            f"since rules of the domain forbid them: {'; '.join(broken[:SOME])}{more}",
            # Where the domain asks, which is one place: it is told once.
            stacklevel=3,
        )


def draw(
    renderer: Renderer, scene: Any, candidate: Any, *, run_seed: int, trial: int
) -> tuple[Rendering, Mapping[str, Any] | None]:
    """Return a trial's rendering, and how its picture was generated if it was.

    Renderers of scenes get the scene, those of concept sets the set, the run's seed and the trial,
    and the scene's ``absent`` concepts if it names any.

    Raises:
        UndrawnPictureError: A picture model drew none: the trial is an invalid scene, and no
            other scene is sampled for it, since its tries are used up.
    """
    if not isinstance(renderer, GeneratedRenderer):
        return renderer.render(scene), None
    rendering = renderer.render_trial(
        candidate, run_seed=run_seed, trial=trial, absent=getattr(scene, "absent", ())
    )
    return rendering, rendering.record


def renderer_identity(renderer: Renderer) -> Mapping[str, Any] | None:
    """Return what a run's config keeps of a renderer beside its name, if it says so."""
    own = getattr(renderer, "identity", None)
    found = own() if callable(own) else None
    return found if isinstance(found, Mapping) else None
