"""Registries: built-in rows, entry points of other packages, and `module_or_file:Name`."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import zlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from .errors import MissingDependencyError, UnknownNameError, UsageError


class Registry:
    """Names of one kind of thing.

    A name resolves, in this order, to a built-in row, an entry point of an installed package, or
    an object given as ``package.module:Name`` or ``path/to/file.py:Name``.
    """

    def __init__(self, what: str, group: str, rows: Mapping[str, str], hint: str = "") -> None:
        """Build a registry.

        Args:
            what: The kind in words, e.g. ``"searcher"``.
            group: Entry-point group, e.g. ``"vlmfail.searchers"``.
            rows: Built-in names with ``"package.module:Name"``.
            hint: The command that lists the names.
        """
        self.what = what
        self.group = group
        self.rows = dict(rows)
        self.hint = hint

    def names(self) -> list[str]:
        """Return all registered names, built-in ones first."""
        plugged = sorted(point.name for point in entry_points(group=self.group))
        return [*self.rows, *(name for name in plugged if name not in self.rows)]

    def describe(self, name: str) -> str:
        """Return what `name` stands for in one line: the first of its docstring.

        Raises:
            VLMFailError: As `load`.
        """
        return (inspect.getdoc(self.load(name)) or "").partition("\n")[0]

    def load(self, name: str) -> Any:
        """Return the object that `name` stands for.

        Raises:
            UnknownNameError: When nothing is registered under it.
            UsageError: When a `module_or_file:Name` cannot be loaded.
        """
        if name in self.rows:
            return load_object(self.rows[name])
        for point in entry_points(group=self.group):
            if point.name == name:
                try:
                    return point.load()
                except Exception as error:
                    raise UsageError(
                        f"{self.what} {name!r}, plugged in as {point.value!r}, cannot be loaded: "
                        f"{error!r}"
                    ) from error
        if ":" in name:
            return load_object(name)
        if name.endswith(".py"):
            raise UsageError(f"{name} is a file: name what in it is the {self.what}: {name}:NAME")
        raise UnknownNameError(self.what, name, self.names(), self.hint)


def load_object(spec: str) -> Any:
    """Return the object of ``package.module:Name`` or ``path/to/file.py:Name``.

    Raises:
        UsageError: With what is missing: the file, the module or the name in it.
    """
    place, _, name = spec.rpartition(":")
    if not place or not name:
        raise UsageError(f"{spec!r} is no module_or_file:Name")
    if place.endswith(".py"):
        module = _load_file(Path(place).expanduser().resolve())
    elif place.startswith("."):
        raise UsageError(f"{spec!r}: a module is named from its top, without a leading dot")
    else:
        try:
            module = importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is not None and not place.startswith(error.name):
                raise MissingDependencyError(error.name, error.name, spec) from error
            raise UsageError(
                f"{spec!r}: there is no module {place!r} "
                "(for a file, write its path: path/to/file.py:Name)"
            ) from error
        except (Exception, SystemExit) as error:
            raise UsageError(f"{place} failed while loading: {error!r}") from error
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            public = sorted(n for n in vars(module) if not n.startswith("_"))
            raise UnknownNameError(f"name in {place}", name, public)
        value = getattr(value, part)
    return value


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    # One module object a file, so that classes from it compare and pickle alike.
    name = f"vlmfail_plugin_{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UsageError(f"{path} failed while loading: {error!r}") from error
    return module


def source_digest(thing: Any) -> str | None:
    """Return a digest of the file in which a class, a function or an object's class is written.

    None for what is part of vlmfail, whose version tells, and where there is no file.
    """
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    name = getattr(kind, "__module__", None) or ""
    path = getattr(sys.modules.get(name), "__file__", None)
    if name.partition(".")[0] == "vlmfail" or path is None:
        return None
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError:
        return None
