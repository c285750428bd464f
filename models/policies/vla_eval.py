"""A policy behind a vla-eval model server: OpenVLA, pi0, GR00T, X-VLA, CogACT and the like."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ...core import ModelFault
from ...core.text import tamed
from .vla_eval_conventions import F32, Conventions, UnknownConventionError, conventions
from .vla_eval_link import LONGEST_TEXT, Link, LinkError, RefusedError, require_package
from .vla_eval_spec import VlaEvalSpec, parse_vla_eval

HOPELESS = 10
"""Episodes in a row that a server refuses, before any went well: then it is not the episodes."""

LONGEST_ANNOUNCEMENT = 4000
"""Characters of what a server announces, as kept in a run's config."""

_ANNOUNCED = ("action_spec", "observation_spec", "observation_params")


class LostServerError(RuntimeError):
    """The server went away in the middle of an episode, or sends what nobody can read."""


class VlaEvalPolicy:
    """A served policy (core.Policy); the package's own client speaks to the server.

    A connection is made on first use and kept; each worker process has its own, and a server that
    batches does so over all of them. One that is lost ends its episode as an error and is made
    anew for the next.

    Args:
        spec: Where it is and how it is understood.

    Attributes:
        name: The spec as the user wrote it.
    """

    def __init__(self, spec: VlaEvalSpec) -> None:
        """Set it up; nothing is sent.

        Raises:
            MissingDependencyError: Without the package ``vla-eval``.
        """
        require_package("a policy behind a vla-eval server")
        self.spec = spec
        self.name = spec.text
        self._link = Link(spec.url, spec.timeout)
        self._conventions: Conventions | None = None
        self._reached = self._went_well = False
        self._refused = 0
        self._seed: int | None = None

    def identity(self) -> dict[str, Any]:
        """Return what the server says of itself: its class, versions and conventions.

        Raises:
            ModelFault: There is no server, or none that can be understood.
        """
        self._connect()
        said = self._link.hello
        kept = {key: said.get(key) for key in _ANNOUNCED}
        try:
            text = json.dumps(kept, sort_keys=True, default=str)
        except (TypeError, ValueError, RecursionError) as error:
            raise self._fault("what the server announces cannot be written down") from error
        if len(text) > LONGEST_ANNOUNCEMENT:
            text = hashlib.sha256(text.encode()).hexdigest()
        return {
            "server": _word(said.get("model_server")),
            "server_version": _word(said.get("harness_version")),
            "announced": text,
        }

    def seed(self, seed: int) -> None:
        """Keep the next episode's seed; it is sent along, for servers that draw by it."""
        self._seed = seed

    def reset(self, instruction: str) -> None:
        """Begin an episode.

        Raises:
            ModelFault: There is no server, or none that can be understood.
            LostServerError: It went away just now.
            TimeoutError: It takes nothing.
        """
        self._link.end()
        self._connect()
        task: dict[str, Any] = {"name": instruction}
        if self._seed is not None:
            task["seed"] = self._seed
        try:
            self._link.start(task)
        except LinkError as error:
            raise LostServerError(str(error)) from error

    def act(self, observation: Mapping[str, Any]) -> F32:
        """Return the server's actions, `k x 7`, as ours.

        Raises:
            TimeoutError: It does not answer in time.
            LostServerError: It went away, or its messages are none.
            RefusedError: It answers with an error.
            ValueError: Its actions are none.
            ModelFault: It has refused `HOPELESS` episodes and none went well.
        """
        if self._conventions is None:
            raise LostServerError("act() was called before reset()")
        try:
            reply = self._link.act(self._conventions.observation(observation))
            actions = self._conventions.actions(reply)
        except LinkError as error:
            raise LostServerError(str(error)) from error
        except (RefusedError, ValueError) as error:
            self._refused += 1
            if self._refused >= HOPELESS and not self._went_well:
                raise self._fault(
                    f"the first {HOPELESS} episodes were all refused ({error})"
                ) from error
            raise
        self._went_well = True
        return actions

    def close(self) -> None:
        """Close the connection; the next episode makes another."""
        self._link.stop()

    def _connect(self) -> None:
        if self._link.is_open:
            return
        try:
            # Who was there may come back; who never was is told at once.
            self._link.open(self.spec.attempts if self._reached else 1)
        except LinkError as error:
            if self._reached:
                raise self._fault(
                    f"the server has gone ({error}); start it again, then resume the run"
                ) from error
            raise self._fault(
                f"no model server answers ({error}); start it, or check the address"
            ) from error
        try:
            self._understand(self._link.hello)
        except UnknownConventionError as error:
            self._link.close()
            raise self._fault(str(error)) from error
        self._reached = True

    def _understand(self, hello: Mapping[str, Any]) -> None:
        from vla_eval.protocol.messages import PROTOCOL_VERSION

        version = hello.get("protocol_version")
        if not isinstance(version, int) or version != PROTOCOL_VERSION:
            theirs = f"{version:d}" if isinstance(version, int) else "none"
            raise UnknownConventionError(
                f"the server speaks version {theirs} of the protocol and this client "
                f"{PROTOCOL_VERSION}: install the same version of vla-eval on both sides"
            )
        found = conventions(hello, self.spec)
        if self._conventions not in (None, found):
            raise UnknownConventionError("the server is another than before: it announces others")
        self._conventions = found

    def _fault(self, text: str) -> ModelFault:
        return ModelFault(f"vla-eval at {self.spec.url}: {text}"[: 4 * LONGEST_TEXT])


def _word(said: Any) -> str:
    return tamed(said, 100) if isinstance(said, str) else "unknown"


def vla_eval(rest: str) -> VlaEvalPolicy:
    """A policy behind a model server of vla-eval: vla-eval:ws://HOST:PORT."""
    return VlaEvalPolicy(parse_vla_eval(rest))
