"""Whether a provider's SDK is installed, without the seconds that importing it takes."""

from __future__ import annotations

import importlib.util

from ...core import MissingDependencyError
from ..specs import ModelSpec


def need_package(module: str, package: str, extra: str, spec: ModelSpec) -> None:
    """Check that `module` can be imported.

    Args:
        module: E.g. ``"google.genai"``.
        package: What to install, e.g. ``"google-genai"``.
        extra: Our extra that installs it.
        spec: The model that needs it.

    Raises:
        MissingDependencyError: When it cannot.
    """
    try:
        found = importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # no parent package; a module without a spec
        found = False
    if not found:
        raise MissingDependencyError(package, extra, f"the model {spec.shown}")
