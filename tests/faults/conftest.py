"""Fixtures of the fault tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB, or a skip where none can be mounted."""
    folder, mount = tmp_path / "disk", shutil.which("mount")
    folder.mkdir()
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)]
    if mount is None or os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk needs root and the right to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
