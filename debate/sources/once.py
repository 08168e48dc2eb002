"""Files that a process reads once, as long as they do not change."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def read_once(most: int) -> Callable[[Callable[Concatenate[Path, P], T]], Callable[Concatenate[Path, P], T]]:
    """Keep what a function makes of a file until the file changes, by its time and size.

    Args:
        most: How many files' results are kept.

    Returns:
        A decorator. What the function returns is shared between its callers, so it must be immutable. What is no file,
        such as a folder, is read each time.
    """

    def keep(read: Callable[Concatenate[Path, P], T]) -> Callable[Concatenate[Path, P], T]:
        @functools.lru_cache(maxsize=most)
        def known(path: Path, _state: tuple[int, int], *args: P.args, **more: P.kwargs) -> T:
            return read(path, *args, **more)

        @functools.wraps(read)
        def reading(path: Path, /, *args: P.args, **more: P.kwargs) -> T:
            if not path.is_file():
                return read(path, *args, **more)
            state = path.stat()
            return known(path, (state.st_mtime_ns, state.st_size), *args, **more)  # type: ignore[arg-type]  # hashed

        return reading

    return keep
