"""Freed memory goes back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from pathlib import Path

import pytest

from debate.models.memory import give_back

MIB = 1 << 20


class Ring:
    """Something that refers to itself, as trainers do."""

    def __init__(self) -> None:
        self.own = self


def resident() -> int:
    """Resident memory of this process, in bytes; see proc(5)."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def test_what_nothing_refers_to_goes() -> None:
    gc.disable()
    try:
        ring = weakref.ref(Ring())
        assert ring() is not None
        give_back()
        assert ring() is None
    finally:
        gc.enable()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_freed_memory_leaves_the_process_though_something_small_lies_above_it() -> None:
    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_trim"):
        pytest.skip("not glibc, which alone keeps it")
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    size = MIB // 16  # smaller blocks than those that are given back when they are freed
    blocks = [library.malloc(size) for _ in range(200 * 16)]
    for block in blocks:
        ctypes.memset(block, 1, size)
    above = library.malloc(size)
    for block in blocks:
        library.free(block)
    kept = resident()
    give_back()
    assert kept - resident() > 150 * MIB
    library.free(above)
