"""What draws pictures from words: one protocol, a registry of prefixes, errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...core import Picture, Registry, SceneError, UnknownNameError
from .specs import PictureSpec, parse_picture_spec

RENDERERS = Registry(
    "renderer prefix",
    "vlmfail.renderers",
    {
        "google-image": "vlmfail.models.pictures.factories:google_image",
        "openai-image": "vlmfail.models.pictures.factories:openai_image",
        "diffusers": "vlmfail.models.pictures.factories:diffusers",
        "folder": "vlmfail.models.pictures.factories:folder",
    },
    "See `vlmfail list`.",
)
"""Prefixes of renderers ``prefix:MODEL``, each with a function from (`PictureSpec`, catalogue) to
a `PictureSource`; other packages add theirs by an entry point in ``vlmfail.renderers``."""


class Described(Protocol):
    """A concept with its words."""

    @property
    def id(self) -> str:
        """Its bare id."""
        ...

    @property
    def description(self) -> str:
        """What it shows, in the paper's words."""
        ...


class DescribedCatalogue(Protocol):
    """A domain's concepts in canonical order."""

    @property
    def concepts(self) -> Sequence[Described]:
        """The concepts."""
        ...


def implied_by(catalogue: DescribedCatalogue) -> frozenset[str]:
    """Return the ids that every picture shows and no set holds; a catalogue need not name any."""
    return frozenset(getattr(catalogue, "implied", ()))


@dataclass(frozen=True, slots=True)
class PictureRequest:
    """What one picture is to show.

    Attributes:
        candidate: Ids in catalogue order, without the implied ones.
        prompt: The whole text for a picture model.
        seed: The picture's own seed, 32 bits: of the candidate, the run's seed, the trial and the
            try.
        run_seed: The run's seed.
        trial: The trial's index for this candidate, from 0.
    """

    candidate: tuple[str, ...]
    prompt: str
    seed: int
    run_seed: int = 0
    trial: int = 0

    @property
    def key(self) -> str:
        """The ids joined by ``+``."""
        return "+".join(self.candidate)


@dataclass(frozen=True, slots=True)
class DrawnPicture:
    """A picture and how it came about.

    Attributes:
        picture: The picture.
        record: How it was made as JSON values: model, what was sent, whether it was kept.
    """

    picture: Picture
    record: Mapping[str, Any] = field(default_factory=dict)


class UndrawnPictureError(SceneError):
    """A picture that could not be had: the scene is invalid, the model under test did nothing.

    Attributes:
        again: Whether another seed may bring one.
        used_up: Whether all pictures of the set have been shown: no later trial will have one.
        record: What was tried, as JSON values.
    """

    def __init__(
        self,
        text: str,
        *,
        again: bool = False,
        used_up: bool = False,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep the parts."""
        super().__init__(text)
        self.again = again
        self.used_up = used_up
        self.record = dict(record or {})

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by text."""
        return (UndrawnPictureError, (str(self),))


class PictureSource(Protocol):
    """Draws pictures. Thread-safe.

    It may have ``prompted = False`` when it does not read the prompt; records then keep none. One
    that cannot draw any set at will has ``supply``, a mapping from the ids of each set that it has
    to the number of its different pictures: a search then proposes no other sets, and `draw` says
    `UndrawnPictureError` with ``used_up`` for a trial beyond them.

    Attributes:
        metered: Whether it sends requests, which count on the ledger of `spending.metering`.
        priced: Whether what it costs is known; what runs here costs nothing.
        varies: Whether another seed brings another picture; of one that does not vary, records
            keep no seed.
    """

    metered: bool
    varies: bool

    @property
    def priced(self) -> bool:
        """Whether what it costs is known."""
        ...

    def identity(self) -> Mapping[str, Any]:
        """Return what a run's config keeps of it, as JSON values."""
        ...

    def draw(self, request: PictureRequest) -> DrawnPicture:
        """Return the picture of a request, the same for the same request as long as it is kept.

        Raises:
            UndrawnPictureError: There is none.
            ModelFault: No picture at all can be drawn.
            CapReachedError: A cap forbids the request.
        """
        ...


def is_picture_spec(name: str) -> bool:
    """Whether a renderer's name begins with a registered prefix: ``folder:...``."""
    prefix, colon, _ = name.partition(":")
    return bool(colon) and prefix in RENDERERS.names()


def make_source(spec: str | PictureSpec, catalogue: DescribedCatalogue) -> PictureSource:
    """Return what draws the pictures of a spec.

    Raises:
        UnknownNameError: For a prefix that is not registered.
        UsageError: For a spec, a file or a folder that cannot be.
        MissingDependencyError: For a package that is not installed.
    """
    parsed = parse_picture_spec(spec) if isinstance(spec, str) else spec
    if parsed.prefix not in RENDERERS.names():
        raise UnknownNameError(
            "renderer prefix", parsed.prefix[:60], RENDERERS.names(), RENDERERS.hint
        )
    made: PictureSource = RENDERERS.load(parsed.prefix)(parsed, catalogue)
    return made


def in_order(candidate: Iterable[str], catalogue: DescribedCatalogue) -> tuple[str, ...]:
    """Return the ids of a candidate in catalogue order.

    Raises:
        UnknownNameError: For an id outside the catalogue.
    """
    wanted = set(candidate)
    known = [concept.id for concept in catalogue.concepts]
    for name in sorted(wanted - set(known)):
        raise UnknownNameError("concept", name, known, "See `vlmfail list --concepts`.")
    return tuple(name for name in known if name in wanted)
