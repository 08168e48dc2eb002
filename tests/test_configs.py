"""Every shipped configuration is one that its command takes, and its plan can be made where nothing must be fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from debate.command import Command
from debate.config import parse, read_tree
from debate.models.load import kind_of
from debate.run import COMMAND as RUN
from tests.commands import call
from tests.runs import ROOT
from tournaments.ablate import COMMAND as ABLATE
from tournaments.ablate_config import AblateConfig
from tournaments.compare_optimizers import COMMAND as COMPARE
from tournaments.config import CompareConfig, FieldConfig
from tournaments.consensus import COMMAND as CONSENSUS
from tournaments.consultancy import COMMAND as CONSULTANCY
from tournaments.ford_config import FordConfig
from tournaments.judge_room import COMMAND as JUDGE_ROOM
from tournaments.mad_config import MadConfig
from tournaments.persuasion import COMMAND as PERSUASION
from tournaments.rejudge import COMMAND as REJUDGE
from tournaments.swiss import COMMAND as SWISS
from training.finetune_debater import COMMAND as FINETUNE_DEBATER
from training.finetune_judge import COMMAND as FINETUNE_JUDGE
from training.finetune_preference import COMMAND as FINETUNE_PREFERENCE
from training.loop import COMMAND as LOOP
from training.robustness import COMMAND as ROBUSTNESS
from training.rows_command import COMMAND as ROWS

COMMANDS: dict[str, Command[Any]] = {
    "swiss": SWISS,
    "consultancy": CONSULTANCY,
    "run": RUN,
    "rejudge": REJUDGE,
    "judge_room": JUDGE_ROOM,
    "compare_optimizers": COMPARE,
    "consensus": CONSENSUS,
    "ablate": ABLATE,
    "persuasion": PERSUASION,
    "rows": ROWS,
    "finetune_debater": FINETUNE_DEBATER,
    "finetune_judge": FINETUNE_JUDGE,
    "finetune_preference": FINETUNE_PREFERENCE,
    "loop": LOOP,
    "robustness": ROBUSTNESS,
}
# Those of accelerate's launcher are not ours to parse.
FILES = sorted(path for path in (ROOT / "configs").rglob("*") if path.is_file() and path.parent.name != "accelerate")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT / "configs"))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_file_is_a_configuration_of_the_command_of_its_folder(path: Path) -> None:
    assert path.suffix == ".yaml"
    parse(COMMANDS[path.parent.name].config, read_tree(path), where=name(path))


def test_the_configurations_that_the_documentation_names_are_there() -> None:
    named = {f"swiss/{stem}.yaml" for stem in ("smoke", "openai", "quality", "paper")}
    named |= {f"{command}/openai.yaml" for command in ("run", "consultancy")}
    named |= {
        "compare_optimizers/smoke.yaml",
        "compare_optimizers/dossiers.yaml",
        "finetune_judge/smollm2.yaml",
        "finetune_judge/question_only.yaml",
    }
    assert named <= {name(path) for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_plan_can_be_made_where_nothing_must_be_fetched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)  # a plan asks nobody, so it needs no key
    command = COMMANDS[path.parent.name]
    config = parse(command.config, read_tree(path), where=name(path))
    if not isinstance(config, (FieldConfig, CompareConfig, AblateConfig, FordConfig, MadConfig)):
        pytest.skip("it plans debates that some other run has held")
    if not config.source.startswith(("shipped:", "dossiers:")):
        pytest.skip(f"{config.source} does not ship")
    if any(kind_of(model.name) in {"embedded", "local"} for model in config.models):
        pytest.skip("its models must be fetched")
    plan = call(command, "--config", path, "--dry-run")
    assert plan.code == 0, plan.err
    assert plan.out.startswith("Plan: ")
    assert "Cost: " in plan.out
