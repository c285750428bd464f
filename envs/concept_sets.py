"""The space of concept sets under validity rules."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from ..core import InvalidCandidateError, UnknownNameError, UsageError, Violation
from ..core.text import tamed
from .set_rules import Rows, Rule

INDEX_SUFFIX = re.compile(r"_\d+$")

_NO_ID = re.compile(r"[\s,+{}]|^$")


def misread_id(ids: Collection[str]) -> str:
    """Return why an id would be read as something else in keys and sets as written, or ''."""
    for name in ids:
        if _NO_ID.search(name) or not name.isprintable():
            return (
                f"{tamed(repr(name), 80)} is no concept id: keys join ids by '+', and sets are "
                "written with commas and blanks"
            )
        bare = INDEX_SUFFIX.sub("", name)
        if bare != name and bare in ids:
            return f"concept id {name} could be read as {bare} with an index"
    return ""


class ConceptSetSpace:
    """Concept sets of size 1 to `max_size` over a catalogue (core.SetSpace).

    A candidate is a frozenset of bare ids. {rain, night} and {night, rain} are one candidate: its
    key joins the ids in catalogue order. An action is a multi-hot vector.

    An *implied* concept is part of every scene: it has its bit, but no set holds it. {kitchen, X}
    is {X}, kitchen alone is the empty set, which is invalid.
    """

    kind = "concept_set"
    enumeration_limit = 2_000_000

    def __init__(
        self,
        concepts: Sequence[str],
        rules: Sequence[Rule],
        max_size: int = 5,
        implied: Collection[str] = (),
    ) -> None:
        """Build a space.

        Args:
            concepts: Ids in catalogue order.
            rules: Validity rules; the first broken one is reported.
            max_size: Largest set size D.
            implied: Ids that every scene shows and no set holds.

        Raises:
            UsageError: For ids that are duplicate or would be misread in a key, unknown ids in
                rules or a size out of range.
        """
        self.concepts = tuple(concepts)
        self.features = self.concepts
        self.rules = tuple(rules)
        if len(set(self.concepts)) != len(self.concepts):
            raise UsageError("concepts: ids must differ")
        finding = misread_id(self.concepts)
        if finding:
            raise UsageError(f"concepts: {finding}")
        if isinstance(max_size, bool) or not isinstance(max_size, (int, np.integer)):
            raise UsageError(f"max_size: expected a whole number, got {max_size!r}")
        self._column = {concept: i for i, concept in enumerate(self.concepts)}
        for concept in sorted(set(implied) - set(self.concepts)):
            raise UnknownNameError("implied concept", concept, self.concepts)
        self.implied = frozenset(implied)
        self._free = np.array([concept not in self.implied for concept in self.concepts])
        most = int(self._free.sum())
        if not 1 <= max_size <= most:
            raise UsageError(f"max_size: expected 1 to {most} concepts, got {max_size}")
        self.max_size = int(max_size)
        for rule in self.rules:
            for concept in sorted(rule.concepts_named() - set(self.concepts)):
                raise UnknownNameError(f"concept in rule {rule.id}", concept, self.concepts)

    # -- candidates ---------------------------------------------------------------------------

    def parse(self, text: str | Iterable[str]) -> frozenset[str]:
        """Return the set that a user wrote: ids separated by commas, plus signs or spaces.

        Index suffixes as in ``far_0`` are accepted. The set may be invalid.

        Raises:
            UnknownNameError: For an id outside the catalogue.
        """
        words = re.split(r"[\s,+]+", text.strip(" {}")) if isinstance(text, str) else list(text)
        return frozenset(self._bare(word) for word in words if word) - self.implied

    def _bare(self, word: str) -> str:
        if word in self._column:
            return word
        bare = INDEX_SUFFIX.sub("", word)
        if bare in self._column:
            return bare
        raise UnknownNameError("concept", word, self.concepts, "See `vlmfail list --concepts`.")

    def validate(self, candidate: frozenset[str]) -> Violation | None:
        """Return the broken rule of a set of known concepts, or None."""
        candidate = candidate - self.implied
        if not candidate:
            beside = "".join(f" besides {name}" for name in sorted(self.implied))
            return Violation("SIZE", f"a set needs at least one concept{beside}")
        if len(candidate) > self.max_size:
            return Violation("SIZE", f"a set has at most {self.max_size} concepts")
        row = self.encode(candidate).astype(bool)[None]
        for rule in self.rules:
            if rule.broken(row, self._column)[0]:
                return Violation(rule.id, rule.text)
        return None

    def conflict(self, candidate: frozenset[str]) -> Violation | None:
        """Return a broken rule that no further concept can mend, or None."""
        row = self.encode(candidate).astype(bool)[None]
        for rule in self.rules:
            if rule.prunes and rule.broken(row, self._column)[0]:
                return Violation(rule.id, rule.text)
        return None

    def check(self, candidate: frozenset[str]) -> frozenset[str]:
        """Return `candidate`, or raise `InvalidCandidateError` with the broken rule's text."""
        violation = self.validate(candidate)
        if violation is not None:
            raise InvalidCandidateError(self.key(candidate), violation.rule, violation.text)
        return candidate - self.implied

    def key(self, candidate: frozenset[str]) -> str:
        """Return the ids in catalogue order, joined by ``+``."""
        return "+".join(self.to_json(candidate))

    def to_json(self, candidate: frozenset[str]) -> list[str]:
        """Return the ids in catalogue order."""
        columns = {self._column[self._bare(concept)] for concept in candidate}
        return [self.concepts[i] for i in sorted(columns) if self._free[i]]

    def from_json(self, value: Any) -> frozenset[str]:
        """Return the set of a list of ids."""
        return self.parse([str(item) for item in value])

    def featurise(self, candidate: frozenset[str]) -> npt.NDArray[np.float32]:
        """Return the multi-hot vector, `n`."""
        return self.encode(candidate).astype(np.float32)

    def encode(self, candidate: frozenset[str]) -> npt.NDArray[np.int8]:
        """Return the multi-hot action, `n`; works for invalid sets too."""
        action = np.zeros(len(self.concepts), dtype=np.int8)
        for concept in candidate:
            action[self._column[self._bare(concept)]] = 1
        action[~self._free] = 0
        return action

    def decode(self, action: npt.NDArray[Any]) -> frozenset[str]:
        """Return the set of a multi-hot action, valid or not.

        Raises:
            UsageError: When the shape or the values are wrong.
        """
        n = len(self.concepts)
        expected = f"action: expected {n} zeros and ones (one per concept)"
        try:
            values = np.asarray(action)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{expected}, got what is no array of numbers") from error
        if values.dtype.kind not in "biuf":
            raise UsageError(f"{expected}, got an array of {values.dtype}")
        if values.shape != (n,) or not np.isin(values, (0, 1)).all():
            raise UsageError(f"{expected}, got shape {values.shape}")
        return self.from_multi_hot(values)

    def from_multi_hot(self, row: npt.NDArray[Any]) -> frozenset[str]:
        """Return the set of a multi-hot row, unchecked."""
        return frozenset(self.concepts[i] for i in np.flatnonzero(row)) - self.implied

    def extensions(self, candidate: frozenset[str]) -> list[frozenset[str]]:
        """Return the valid sets with exactly one concept more, in catalogue order."""
        candidate = candidate - self.implied
        if len(candidate) >= self.max_size:
            return []
        row = self.encode(candidate).astype(bool)
        absent = np.flatnonzero(~row & self._free)
        rows = np.repeat(row[None], len(absent), axis=0)
        rows[np.arange(len(absent)), absent] = True
        valid = ~self._broken(rows, self.rules)
        return [candidate | {self.concepts[i]} for i in absent[valid]]

    # -- drawing ------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator) -> frozenset[str]:
        """Draw a valid set: size uniform over the sizes that exist, then uniform within it."""
        by_size = self._rows_by_size
        if by_size is not None:
            size = int(rng.integers(len(by_size)))
            rows = by_size[size]
            return self.from_multi_hot(rows[int(rng.integers(len(rows)))])
        return self._sample_by_rejection(rng)

    def _sample_by_rejection(self, rng: np.random.Generator) -> frozenset[str]:
        n = len(self.concepts)
        for _ in range(10_000):
            size = int(rng.integers(1, self.max_size + 1))
            order = rng.permuted(np.tile(np.flatnonzero(self._free), (64, 1)), axis=1)[:, :size]
            rows = np.zeros((64, n), dtype=bool)
            np.put_along_axis(rows, order, True, axis=1)
            valid = np.flatnonzero(~self._broken(rows, self.rules))
            if len(valid):
                return self.from_multi_hot(rows[valid[0]])
        raise UsageError("no valid concept set was found: the rules leave next to none")

    def valid_sets(self) -> Rows | None:
        """All valid sets as multi-hot rows `N x n`, by size, then lexicographically.

        None when there are more than `enumeration_limit` of them.
        """
        by_size = self._rows_by_size
        return None if by_size is None else np.concatenate(by_size)

    @cached_property
    def _rows_by_size(self) -> list[Rows] | None:
        pruning = [rule for rule in self.rules if rule.prunes]
        n = len(self.concepts)
        level = np.zeros((1, n), dtype=bool)
        last = np.full(1, -1)
        valid: list[Rows] = []
        total = 0
        for _ in range(self.max_size):
            grown, tips = [], []
            # Children in order of their parent, then of the added concept: lexicographic.
            counts = n - 1 - last
            parents = np.repeat(np.arange(len(level)), counts)
            if len(parents) > self.enumeration_limit * 2:
                return None
            starts = np.repeat(np.cumsum(counts) - counts, counts)
            added = last[parents] + 1 + (np.arange(len(parents)) - starts)
            for begin in range(0, len(parents), 200_000):
                part = slice(begin, begin + 200_000)
                rows = level[parents[part]]
                rows[np.arange(len(rows)), added[part]] = True
                keep = ~self._broken(rows, pruning) & self._free[added[part]]
                grown.append(rows[keep])
                tips.append(added[part][keep])
            if not grown:
                break
            level, last = np.concatenate(grown), np.concatenate(tips)
            rows = level[~self._broken(level, [r for r in self.rules if not r.prunes])]
            total += len(rows)
            if total > self.enumeration_limit:
                return None
            if len(rows):
                valid.append(rows)
        if not valid:
            raise UsageError("the rules leave no valid concept set")
        return valid

    def _broken(self, rows: Rows, rules: Iterable[Rule]) -> Rows:
        broken = np.zeros(len(rows), dtype=bool)
        for rule in rules:
            broken |= rule.broken(rows, self._column)
        return broken

    # -- spaces -------------------------------------------------------------------------------

    def action_space(self, num_envs: int | None = None) -> gym.Space[Any]:
        """Return the flat (or batched) MultiBinary space whose `sample` draws valid sets."""
        return ConceptSetActions(self, num_envs)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the enumeration, which is cheap to redo and large to send."""
        state = dict(self.__dict__)
        state.pop("_rows_by_size", None)
        return state


class ConceptSetActions(gym.spaces.MultiBinary):
    """Multi-hot actions, `n` or `num_envs x n`; samples are valid sets of size 1 to D.

    Uniform bits would be invalid nearly always.
    """

    def __init__(
        self,
        candidates: ConceptSetSpace,
        num_envs: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Build the space over `candidates`."""
        self.candidates = candidates
        n = len(candidates.concepts)
        super().__init__(n if num_envs is None else (num_envs, n), seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> npt.NDArray[np.int8]:
        """Draw valid sets; masks are not supported, since validity already is one."""
        if mask is not None or probability is not None:
            raise UsageError("the concept-set space draws valid sets and takes no mask")
        one = self.candidates
        if len(self.shape) == 1:
            return one.encode(one.sample(self.np_random))
        return np.stack([one.encode(one.sample(self.np_random)) for _ in range(self.shape[0])])
