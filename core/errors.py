"""Errors. Every text says what happened, what exists, and the command to type."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class VLMFailError(Exception):
    """Base of all errors that vlmfail raises on purpose.

    Attributes:
        exit_code: What the command line exits with when this error reaches it.
    """

    exit_code: int = 2


class UsageError(VLMFailError):
    """The caller asked for something that cannot be: a wrong option, value or combination."""


_LONGEST_NAME = 200  # characters of a name that is told


class UnknownNameError(UsageError):
    """A name that nothing is registered under; the text names close matches."""

    def __init__(self, what: str, name: str, known: Iterable[str], hint: str = "") -> None:
        """Build the text.

        Args:
            what: The kind of thing, e.g. ``"searcher"``.
            name: What was asked for.
            known: The names that exist.
            hint: The command that lists them.
        """
        names = sorted(known)
        shown = str(name)[:_LONGEST_NAME]
        close = difflib.get_close_matches(shown, names, n=3, cutoff=0.5)
        if close:
            exists = "did you mean " + ", ".join(close) + "?"
        elif len(names) <= 12:
            exists = "there is " + ", ".join(names) + "." if names else "there is none."
        else:
            exists = "there are " + ", ".join(names[:8]) + f" and {len(names) - 8} more."
        super().__init__(f"unknown {what} {shown!r}: {exists}" + (f" {hint}" if hint else ""))
        self.name = name
        self.close = close

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by text: the constructor's arguments are not kept."""
        return (UsageError, (str(self),))


class InvalidCandidateError(UsageError):
    """A candidate that breaks a validity rule of its domain.

    Attributes:
        rule: The rule's id, e.g. ``"D3"``.
        text: The rule in words.
    """

    def __init__(self, candidate: str, rule: str, text: str) -> None:
        """Build the text from the candidate's key and the broken rule."""
        super().__init__(f"{{{candidate}}} is not a valid candidate, rule {rule}: {text}")
        self.candidate = candidate
        self.rule = rule
        self.text = text

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the constructor's arguments."""
        return (InvalidCandidateError, (self.candidate, self.rule, self.text))


class AgentError(UsageError):
    """An agent broke the ask/tell contract."""


class RunFolderError(UsageError):
    """A run folder that is foreign, locked, unwritable or belongs to another configuration."""


class SceneError(VLMFailError):
    """A scene that cannot be sampled: objects cannot be placed or the deciding one is unseen."""


class EnvironmentFault(VLMFailError):
    """The machine lacks something or gave up: a package, a device, disk space, a worker."""

    exit_code = 3


class ModelFault(EnvironmentFault):
    """The model cannot be asked at all: no key, no such model, quota used up, no server.

    Unlike a failed request, which is one trial's ``error``, it ends the run; what is stored stays.
    """


class UnaskedError(VLMFailError):
    """A trial that was not put to the model to the end: it is neither recorded nor charged."""


class CapReachedError(UnaskedError):
    """A cap forbids the next request."""


class CancelledRequestError(UnaskedError):
    """The request was cancelled because the run is stopping."""


class MissingDependencyError(EnvironmentFault):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        """Build the text: which package, what for, and the command that installs it."""
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed: "
            f"pip install 'vlmfail[{extra}]'"
        )
        self.args_ = (package, extra, purpose)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the constructor's arguments."""
        return (MissingDependencyError, self.args_)
