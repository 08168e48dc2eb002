"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def check_data() -> Path:
    """The folder of published check data, or a skip that says how to get it."""
    folder = Path(os.environ.get("DISSOI_CHECK_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no published check data in {folder}; set DISSOI_CHECK_DATA to its folder")
    return folder
