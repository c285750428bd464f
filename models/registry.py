"""Models by name: built-in ones, plug-ins, and a user's ``module_or_file:Name``."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import (
    VLM,
    Picture,
    Policy,
    Registry,
    Reply,
    UnknownNameError,
    UsageError,
    VLMFailError,
    source_digest,
)
from .specs import parse_spec

MODELS = Registry(
    "model",
    "vlmfail.models",
    {
        "tiny-vlm": "vlmfail.models.tiny_vlm:TinyVLM",
        "tiny-vlm-s": "vlmfail.models.tiny_vlm:TinyVLMSmall",
    },
    "See `vlmfail list`.",
)
"""The models under test; other packages add theirs by an entry point in ``vlmfail.models``."""

PREFIXES = Registry(
    "model prefix",
    "vlmfail.model_prefixes",
    {
        "openai": "vlmfail.models.providers.factories:openai",
        "anthropic": "vlmfail.models.providers.factories:anthropic",
        "google": "vlmfail.models.providers.factories:google",
        "bedrock": "vlmfail.models.providers.factories:bedrock",
        "hf": "vlmfail.models.providers.factories:hugging_face",
    },
    "See `vlmfail list`.",
)
"""Prefixes of spec strings ``prefix:MODEL``, each with a function from `ModelSpec` to a model;
other packages add theirs by an entry point in ``vlmfail.model_prefixes``."""

EXPECTED = (
    "expected a class (called without arguments) or an object with "
    "answer(images, prompt, *, seed) -> Reply, or a function "
    "answer(images, prompt, *, seed) that returns text or a Reply"
)


class FunctionVLM:
    """A plain function ``answer(images, prompt, *, seed)`` as a model (core.VLM)."""

    def __init__(self, function: Callable[..., str | Reply], name: str = "") -> None:
        """Wrap `function`, which returns text or a `Reply`; `name` is what runs record.

        Raises:
            UsageError: When it does not take ``(images, prompt, *, seed)``.
        """
        self.function = function
        self.name = name or getattr(function, "__name__", type(function).__name__)
        _check_signature(function, self.name)

    def answer(self, images: Sequence[Picture], prompt: str, *, seed: int) -> Reply:
        """Ask the function.

        Raises:
            TypeError: When it returns neither text nor a `Reply`.
        """
        said = self.function(images, prompt, seed=seed)
        if isinstance(said, str):
            return Reply(said)
        if isinstance(said, Reply):
            return said
        raise TypeError(f"{self.name} returned {type(said).__name__}, expected text or a Reply")


def make_model(spec: str | VLM) -> VLM:
    """Return the model that `spec` stands for.

    Args:
        spec: A registered name, ``prefix:MODEL[@URL][?options]`` with a registered prefix,
            ``module_or_file:Name`` of a class, an instance or a function, or such a thing itself.

    Raises:
        UnknownNameError: For a name that nothing is registered under.
        UsageError: For an object that is no model; the text says what is expected.
    """
    if not isinstance(spec, str):
        return _as_model(spec, getattr(spec, "__name__", type(spec).__name__))
    prefix, colon, _ = spec.partition(":")
    if colon and spec not in MODELS.names():
        if prefix in PREFIXES.names():
            return _as_model(PREFIXES.load(prefix)(parse_spec(spec)), spec)
        close = difflib.get_close_matches(prefix.lower(), PREFIXES.names(), n=1, cutoff=0.7)
        if close and not prefix.endswith(".py") and importlib.util.find_spec(prefix) is None:
            raise UnknownNameError("model prefix", prefix, PREFIXES.names(), PREFIXES.hint)
    return _as_model(MODELS.load(spec), spec)


def identity(model: VLM | Policy) -> dict[str, Any]:
    """Return what a run's config keeps of `model`, as JSON values.

    ``name`` and ``class``; ``source``, a digest of its file, for a model that is not ours, since
    trials of two versions of a function must not be mixed in one run; and whatever the model's
    own ``identity()`` adds, e.g. the digest of its weights.
    """
    kind: Any = model.function if isinstance(model, FunctionVLM) else type(model)
    out: dict[str, Any] = {
        "name": model.name,
        "class": f"{getattr(kind, '__module__', '?')}:{getattr(kind, '__qualname__', '?')}",
    }
    source = source_digest(kind)
    if source is not None:
        out["source"] = source
    own = getattr(model, "identity", None)
    if callable(own):
        said = _said_of_itself(model.name, own)
        out.update({key: value for key, value in said.items() if key not in out})
    return out


def _said_of_itself(name: str, own: Callable[[], object]) -> Mapping[str, Any]:
    from .replies import fault

    try:
        said = own()
    except VLMFailError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{name}.identity() failed: {fault(error)}") from error
    expected = f"{name}.identity(): expected a mapping of JSON values, got"
    if not isinstance(said, Mapping):
        raise UsageError(f"{expected} {type(said).__name__}")
    try:
        json.dumps(dict(said), default=str, skipkeys=True)
    except (ValueError, RecursionError) as error:  # it holds itself
        raise UsageError(f"{expected} what is none ({fault(error)})") from error
    return said


def _as_model(found: Any, spec: str) -> VLM:
    from .policies.registry import is_policy

    if not isinstance(found, str) and is_policy(found):
        raise UsageError(f"{spec!r} is a policy, which acts and answers no questions; {EXPECTED}")
    if inspect.isclass(found):
        if not callable(getattr(found, "answer", None)):
            raise UsageError(f"model {spec!r}: the class has no method `answer`; {EXPECTED}")
        try:
            inspect.signature(found).bind()
        except TypeError as error:
            raise UsageError(
                f"model {spec!r}: the class cannot be called without arguments ({error}). "
                "Make an instance at module level and name that instead."
            ) from error
        except ValueError:
            pass  # a class whose signature Python does not know: calling it will tell
        try:
            found = found()
        except VLMFailError:
            raise
        except (Exception, SystemExit) as error:
            from .replies import fault

            raise UsageError(f"model {spec!r}: making it failed: {fault(error)}") from error
    if callable(getattr(found, "answer", None)):
        if not isinstance(getattr(found, "name", None), str):
            try:
                found.name = spec
            except AttributeError as error:
                raise UsageError(f"model {spec!r}: it has no `name` and none can be set") from error
        _check_signature(found.answer, spec)
        model: VLM = found
        return model
    if callable(found):
        return FunctionVLM(found, spec)
    raise UsageError(f"model {spec!r} is a {type(found).__name__}; {EXPECTED}")


def _check_signature(function: Callable[..., Any], spec: str) -> None:
    try:
        inspect.signature(function).bind((), "", seed=0)
    except TypeError as error:
        raise UsageError(f"model {spec!r}: answer(): {error}; {EXPECTED}") from error
    except ValueError:
        return
