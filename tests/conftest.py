"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A shell that starts tests in the background has them ignore Ctrl-C, and so would the commands that they interrupt.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def check_data() -> Path:
    """The folder of published check data, or a skip that says how to get it."""
    folder = Path(os.environ.get("DISSOI_CHECK_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no published check data in {folder}; set DISSOI_CHECK_DATA to its folder")
    return folder
