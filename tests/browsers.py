"""A headless browser for tests of pages, or a skip that says what is missing."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Open Chromium, and close it in the end."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((found for found in map(shutil.which, names) if found), None)
    if program is None:
        pytest.skip(f"no Chromium on PATH (looked for {', '.join(names)})")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()
