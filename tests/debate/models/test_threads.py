"""How many threads a model gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from debate.models.threads import usable_cores


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000", 64), ("100000 100000", 1), ("150000 100000", 2), ("50000 100000", 1), ("odd", 64), (None, 64)],
)
def test_no_more_threads_than_cores(tmp_path: Path, quota: str | None, cores: int) -> None:
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(f"{quota}\n", encoding="ascii")
    here = len(os.sched_getaffinity(0))
    assert usable_cores(64, file) == min(cores, here)
    assert usable_cores(1, file) == 1


def test_no_more_threads_than_this_process_may_use(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cores(64, tmp_path / "none") == 1
    finally:
        os.sched_setaffinity(0, before)
