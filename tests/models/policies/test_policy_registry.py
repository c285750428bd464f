"""Policies of somebody's: classes that cannot be made, and names that are none."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from vlmfail.core import MissingDependencyError, UsageError
from vlmfail.models.policies.registry import make_policy


class Base:
    def reset(self, instruction: str) -> None: ...

    def act(self, observation: Any) -> Any: ...


class Exits(Base):
    def __init__(self) -> None:
        sys.exit(3)


class Ends(Base):
    def __init__(self) -> None:
        raise GeneratorExit


class Escapes(Base):
    def __init__(self) -> None:
        raise ValueError("\x1b[31mred\n" * 1000)


class NoName(Base):
    @property
    def name(self) -> str:
        raise RuntimeError("no name")


class Frozen(Base):
    def __setattr__(self, name: str, value: object) -> None:
        raise TypeError("frozen")


class Needs(Base):
    def __init__(self, weights: str) -> None: ...


class Lacks(Base):
    def __init__(self) -> None:
        raise MissingDependencyError("torch", "torch", "this policy")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Exits, "making it failed: SystemExit: 3"),
        (Ends, "making it failed: GeneratorExit"),
        (Escapes, "making it failed: ValueError: .*red"),
        (NoName, "making it failed: RuntimeError: no name"),
        (Frozen, "none can be set"),
        (Needs, "cannot be called without arguments"),
    ],
)
def test_a_policy_that_cannot_be_made_is_one_line(kind: type, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        make_policy(kind)  # type: ignore[arg-type]
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


def test_what_a_policy_says_on_purpose_stays_as_it_is() -> None:
    with pytest.raises(MissingDependencyError):
        make_policy(Lacks)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "two\nlines", "\x1b[31mred", "n" * 10**6, 5, None])
def test_a_name_that_is_none_is_replaced(name: object) -> None:
    one: Any = Base()
    one.name = name
    assert make_policy(one).name == "Base"


def test_a_good_name_stays() -> None:
    one: Any = Base()
    one.name = "політика 7"
    assert make_policy(one).name == "політика 7"
