"""Fixtures of the tournament tests."""

from __future__ import annotations

import pytest

from tests.runs import Run, swiss, tournament, write


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The small scripted tournament, held once; who changes its folder works on a copy."""
    folder = tmp_path_factory.mktemp("swiss")
    config = write(folder / "config.yaml", tournament())
    return Run(folder / "run", config, swiss("--config", config, "--output", folder / "run"))
