"""Extensions: debaters, judges and protocols of one's own, named by import path (``module:function``) as a ``kind``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from debate.errors import ConfigError


def is_extension(kind: str) -> bool:
    """Whether a ``kind`` names an extension rather than something that ships."""
    return ":" in kind


def check_kind(kind: str, known: Collection[str]) -> str:
    """Hold that a ``kind`` is known or is an import path.

    Args:
        kind: What a configuration says.
        known: What ships.

    Returns:
        The kind.

    Raises:
        ValueError: It is neither; the message names what is known and the nearest.
    """
    if kind in known:
        return kind
    module, colon, name = kind.partition(":")
    if colon and name.isidentifier() and all(part.isidentifier() for part in module.split(".")):
        return kind
    from rapidfuzz import fuzz, process

    near = process.extractOne(kind, sorted(known), scorer=fuzz.ratio, score_cutoff=60)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"kind is one of {', '.join(known)}, or MODULE:FUNCTION for one of your own{hint}")


def load_extension(path: str) -> Callable[..., Any]:
    """Import what an extension's path names; modules are looked for in the current folder first.

    Args:
        path: ``module:function``.

    Returns:
        The function or class.

    Raises:
        ConfigError: There is no such module or name, it cannot be imported, or it cannot be called.
    """
    module, _, name = path.partition(":")
    _look_here()
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{path!r} cannot be imported: {error}; write MODULE:FUNCTION, from {Path.cwd()}") from error
    except Exception as error:  # the module is the user's own: whatever is wrong in it, this is where it shows
        raise ConfigError(f"{path!r} cannot be imported: {type(error).__name__}: {error}; mend {module}") from error
    if not callable(found):
        raise ConfigError(f"{path!r} is of type {type(found).__name__}; a function or class that makes one is needed")
    return found  # type: ignore[no-any-return]  # checked to be callable


def extension_digests(kinds: Iterable[str]) -> dict[str, str]:
    """Hash the file of each extension among some kinds, so that a resumed run can tell that one was changed.

    Args:
        kinds: ``kind`` of players, judges and protocols.

    Returns:
        sha256 of the file of its module, by path. What the module imports is not part of it.

    Raises:
        ConfigError: One cannot be imported.
    """
    from debate.models.weights import file_digest

    found = {}
    for path in sorted({kind for kind in kinds if is_extension(kind)}):
        load_extension(path)  # one that is not there is told of before there is a run folder
        file = getattr(sys.modules[path.partition(":")[0]], "__file__", None)  # what is built in has none
        if file is not None:
            found[path] = file_digest(Path(file))
    return found


def _look_here() -> None:
    here = str(Path.cwd())
    if "" not in sys.path and here not in sys.path:
        sys.path.insert(0, here)
