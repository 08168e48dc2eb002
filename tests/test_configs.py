"""Every shipped configuration is one that its command takes, and its plan can be made where nothing must be fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from debate.config import parse, read_tree
from debate.models.load import kind_of
from tests.runs import ROOT, swiss
from tournaments.config import SwissConfig

COMMANDS = {"swiss": SwissConfig}
FILES = sorted(path for path in (ROOT / "configs").rglob("*") if path.is_file())


def name(path: Path) -> str:
    return str(path.relative_to(ROOT / "configs"))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_file_is_a_configuration_of_the_command_of_its_folder(path: Path) -> None:
    assert path.suffix == ".yaml"
    parse(COMMANDS[path.parent.name], read_tree(path), where=name(path))


def test_the_configurations_that_the_documentation_names_are_there() -> None:
    assert {"swiss/smoke.yaml", "swiss/openai.yaml", "swiss/quality.yaml"} <= {name(path) for path in FILES}


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name == "swiss"], ids=name)
def test_every_plan_can_be_made_where_nothing_must_be_fetched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)  # a plan asks nobody, so it needs no key
    config = parse(SwissConfig, read_tree(path), where=name(path))
    if not config.source.startswith("shipped:"):
        pytest.skip(f"{config.source} does not ship")
    models = [config.judge.model, *(player.model for player in config.players if player.model is not None)]
    if any(kind_of(model.name) in {"embedded", "local"} for model in models):
        pytest.skip("its models must be fetched; tests/e2e/test_swiss_embedded.py makes this plan")
    plan = swiss("--config", path, "--dry-run")
    assert plan.code == 0, plan.err
    assert plan.out.startswith("Plan: ")
    assert "Cost: " in plan.out
