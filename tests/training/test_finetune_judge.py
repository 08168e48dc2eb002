"""The command that trains judges, on a tiny random model: its folder, its adapter, several processes, bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from debate.card import read_card
from tests.commands import assert_refuses, call
from tests.launching import assert_two_train_as_one
from tests.runs import ROOT, Ended, write
from tests.tiny import save_model
from training.finetune_judge import COMMAND
from training.progress import read_metrics


def config(base: Path, **changes: Any) -> dict[str, Any]:
    made = {"kinds": {"forged": 1.0}}
    tree: dict[str, Any] = {
        "base": f"hf/{base}",
        "data": [{"debates": "dossiers:40?seed=1", "fold": "judge", "limit": 10, "made": made}],
        "measure": {"held out": {"debates": "dossiers:40?seed=1", "fold": "validation", "limit": 4}},
        "fit": {"dtype": "float32", "batch": 4, "log_steps": 1, "save_steps": 2},
        "seed": 1,
    }
    return tree | changes


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"), context=2048)


class Trained(NamedTuple):
    folder: Path
    config: Path
    ended: Ended


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("run")
    held = [{"debates": "dossiers:40?seed=1", "fold": "validation", "limit": 4}]
    path = write(folder / "config.yaml", config(base, merge=True, validation=held, wandb={"mode": "offline"}))
    return Trained(folder / "out", path, call(COMMAND, "--config", path, "--output", folder / "out"))


@pytest.mark.model
def test_the_folder_holds_what_was_trained_and_what_came_of_it(trained: Trained, base: Path) -> None:
    assert trained.ended.code == 0, trained.ended.err
    lines = read_metrics(trained.folder / "metrics.jsonl")
    assert [line["step"] for line in lines if "loss" in line] == [1, 2, 3, 4, 5]
    assert {"loss", "learning_rate", "right", "mass", "tokens"} <= set(lines[0])
    metrics = json.loads((trained.folder / "metrics.json").read_text(encoding="utf-8"))
    training = metrics["training"]
    assert (training["rows"], training["seen"], training["times"], training["processes"]) == (20, 20, 20, 1)
    assert set(metrics["measures"]["held out"]) == {"before", "after"}
    card = read_card(trained.folder / "adapter")
    assert card is not None
    assert (card.kind, card.base, len(card.stories)) == ("judge", f"hf/{base}", 10)
    assert {story.fold for story in card.stories} == {"judge"}
    assert card.facts["measures"] == metrics["measures"]
    assert (trained.folder / "rows" / "train.parquet").is_file()
    origin = yaml.safe_load((trained.folder / "config.yaml").read_text(encoding="utf-8"))["provenance"]
    assert set(origin["data"]) == {"rows"}
    assert "held out" in trained.ended.out
    assert "wandb: kept in" in trained.ended.out
    assert "report.html" in trained.ended.out


@pytest.mark.model
def test_the_merged_model_judges_as_the_adapter_does(trained: Trained, base: Path) -> None:
    import asyncio

    from debate.models.base import Message
    from debate.models.load import ModelConfig, open_model

    async def ask(name: str, adapter: str | None) -> float:
        model = open_model(ModelConfig(name=name, adapter=adapter, dtype="float32"))
        try:
            return (await model.choose([Message("user", "who lit the lamp A or B")], ("A", "B"))).probabilities[0]
        finally:
            await model.close()

    beside = asyncio.run(ask(f"hf/{base}", str(trained.folder / "adapter")))
    merged = asyncio.run(ask(f"hf/{trained.folder / 'merged'}", None))
    assert merged == pytest.approx(beside, abs=0.01)  # the merged weights are rounded to bfloat16
    assert read_card(trained.folder / "merged") == read_card(trained.folder / "adapter")


@pytest.mark.model
def test_a_finished_training_is_resumed_without_a_call_or_a_step(trained: Trained) -> None:
    before = (trained.folder / "metrics.jsonl").read_bytes()
    ended = call(COMMAND, "--resume", trained.folder)
    assert ended.code == 0, ended.err
    assert (trained.folder / "metrics.jsonl").read_bytes() == before
    other = call(COMMAND, "--resume", trained.folder, "--fit.learning_rate", "0.5")
    assert_refuses(COMMAND, Ended(other.code, "", other.err), "fit.learning_rate: 0.002 -> 0.5")


@pytest.mark.model
def test_a_training_goes_on_from_another_and_answers_for_its_stories(
    trained: Trained, base: Path, tmp_path: Path
) -> None:
    start = str(trained.folder / "adapter")
    more = [{"debates": "dossiers:40?seed=5", "fold": "judge", "limit": 4, "made": {"kinds": {"forged": 1.0}}}]
    ended = call(
        COMMAND,
        *("--config", write(tmp_path / "config.yaml", config(base, start=start, data=more))),
        *("--output", tmp_path / "out"),
    )
    assert ended.code == 0, ended.err
    before, after = read_card(trained.folder / "adapter"), read_card(tmp_path / "out" / "adapter")
    assert before is not None
    assert after is not None
    assert after.facts["start"] == start
    assert {story.id for story in before.stories} < {story.id for story in after.stories}
    assert len(after.stories) == len(before.stories) + 4
    measures = json.loads((tmp_path / "out" / "metrics.json").read_text(encoding="utf-8"))["measures"]
    known = json.loads((trained.folder / "metrics.json").read_text(encoding="utf-8"))["measures"]
    assert measures["held out"]["before"]["brier"] == known["held out"]["after"]["brier"]
    measured = {"again": {"debates": "dossiers:40?seed=1", "fold": "judge", "limit": 4}}
    path = write(tmp_path / "seen.yaml", config(base, start=start, data=more, measure=measured))
    assert_refuses(COMMAND, call(COMMAND, "--config", path, "--dry-run"), "the judge that this configuration trains")


@pytest.mark.model
def test_the_adapter_is_refused_on_its_stories_and_on_another_base(trained: Trained, tmp_path: Path) -> None:
    from debate.card import check_judge_unseen
    from debate.errors import ConfigError, FoldError
    from debate.models.adapter import find_adapter
    from debate.models.load import ModelConfig
    from debate.sources import load

    adapter = str(trained.folder / "adapter")
    base = yaml.safe_load(trained.config.read_text(encoding="utf-8"))["base"]
    with pytest.raises(FoldError, match="was trained on 10 of these"):
        check_judge_unseen(ModelConfig(name=base, adapter=adapter), load("dossiers:40?seed=1"))
    other = save_model(tmp_path / "other", hidden=16)
    with pytest.raises(ConfigError, match="was trained on"):
        find_adapter(adapter, f"hf/{other}")


def test_the_plan_names_rows_tokens_and_steps(base: Path, tmp_path: Path) -> None:
    ended = call(COMMAND, "--config", write(tmp_path / "c.yaml", config(base)), "--dry-run")
    assert ended.code == 0, ended.err
    assert "training rows                                  20" in ended.out
    assert "steps                                           5" in ended.out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["finetune_judge", "finetune_debater", "finetune_preference", "rows_command"])
def test_a_command_imports_no_heavy_library_before_it_needs_it(command: str) -> None:
    # torch must not be there before debate.models.local.import_torch has said how its threads wait.
    look = f"import sys, training.{command}; print(*{{'torch', 'transformers', 'trl', 'datasets'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, cwd=ROOT, check=True)
    assert not done.stdout.split()


DOSSIERS = "dossiers:40?seed=1"
HELD_OUT = "dossiers:40?seed=3&templates=heldout"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": [{"debates": HELD_OUT, "fold": "test"}]}, ("fold test", "must be of fold judge")),
        ({"data": [{"debates": DOSSIERS}]}, ("must be of fold judge",)),
        ({"validation": [{"debates": HELD_OUT, "fold": "test"}]}, ("must be of fold validation",)),
        ({"measure": {"same": {"debates": DOSSIERS, "fold": "judge"}}}, ("was trained on", "choose another fold")),
        ({"fit": {"batch": 64}}, ("fewer than a batch of 64",)),
        ({"fit": {"max_length": 100}}, ("have more than 100 tokens", "max_cut")),
        ({"judge": "reason"}, ("no judge row is left", "no verdict")),
    ],
)
def test_bad_input_gets_one_clear_line(base: Path, tmp_path: Path, changes: Any, words: tuple[str, ...]) -> None:
    path = write(tmp_path / "c.yaml", config(base, **changes))
    assert_refuses(COMMAND, call(COMMAND, "--config", path, "--output", tmp_path / "out"), *words)
    assert not (tmp_path / "out").exists()


@pytest.mark.e2e
def test_two_processes_train_as_one_does(base: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "c.yaml", config(base, measure={}))
    assert_two_train_as_one("finetune_judge.py", path, tmp_path, rows=20, steps=5)


@pytest.mark.parametrize("path", sorted((ROOT / "configs" / "accelerate").glob("*.yaml")), ids=lambda path: path.stem)
def test_accelerate_takes_the_configurations_that_ship(path: Path) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    loaded = load_config_from_file(str(path))
    assert loaded.num_processes == (2 if path.stem in {"cpu2", "ddp", "fsdp"} else 1)
    assert loaded.mixed_precision == "no"
