"""Another library's loop in a thread that runs only while its caller waits for it."""

from __future__ import annotations

import random
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import Any

import numpy as np

_STOP = object()


class _Stopped(BaseException):
    """Unwinds the loop; no `except Exception` of the library catches it."""


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


class LockStep:
    """Runs `work(exchange)` in a thread, turn by turn: never while the caller runs.

    `exchange(question)`, called by the work, hands a question to the caller and returns the
    caller's answer. The thread ends with this object.
    """

    def __init__(self, work: Callable[[Callable[[Any], Any]], None]) -> None:
        """Prepare; the work begins with the first `next`. It must not hold this object."""
        self._questions: SimpleQueue[Any] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._thread = threading.Thread(
            target=_run, args=(work, self._questions, self._answers), daemon=True
        )
        self._thread.start()
        self._finalizer = weakref.finalize(self, _stop, self._answers, self._thread)

    def next(self, answer: Any = None) -> Any:
        """Hand over an answer (at first: to begin) and return the next question.

        Raises:
            BaseException: What the work raised.
            RuntimeError: The work returned.
        """
        self._answers.put(answer)
        question = self._questions.get()
        if isinstance(question, _Raised):
            raise question.error
        return question

    def stop(self) -> None:
        """End the thread."""
        self._finalizer()


def _run(
    work: Callable[[Callable[[Any], Any]], None],
    questions: SimpleQueue[Any],
    answers: SimpleQueue[Any],
) -> None:
    def wait() -> Any:
        answer = answers.get()
        if answer is _STOP:
            raise _Stopped
        return answer

    def exchange(question: Any) -> Any:
        questions.put(question)
        return wait()

    try:
        wait()
        work(exchange)
        questions.put(_Raised(RuntimeError("the library's loop came to an end")))
    except _Stopped:
        pass
    except BaseException as error:
        questions.put(_Raised(error))


def _stop(answers: SimpleQueue[Any], thread: threading.Thread) -> None:
    answers.put(_STOP)
    # The collector may run in that very thread.
    if thread is not threading.current_thread():
        thread.join(timeout=5.0)


class OwnRandom:
    """The process's generators (random, numpy, torch) as a library's own, inside a `with`.

    Inside, they go on where the last `with` left them, and torch works in one thread; outside,
    they are as if nothing had drawn from them.
    """

    def __init__(self, seed: int) -> None:
        """Set what the first `with` begins with."""
        self.seed = seed
        self._mine: Any = None

    def __enter__(self) -> OwnRandom:
        """Swap the states in."""
        import torch

        self._theirs = _states()
        self._threads = torch.get_num_threads()
        if self._mine is None:
            random.seed(self.seed)
            np.random.seed(self.seed)  # noqa: NPY002 - the library draws from it
            torch.manual_seed(self.seed)
        else:
            _restore(self._mine)
        torch.set_num_threads(1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Swap them out."""
        import torch

        self._mine = _states()
        _restore(self._theirs)
        torch.set_num_threads(self._threads)


def _states() -> tuple[Any, Any, Any]:
    import torch

    return random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002


def _restore(states: tuple[Any, Any, Any]) -> None:
    import torch

    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    torch.set_rng_state(states[2])
