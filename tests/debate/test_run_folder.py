from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from debate.config import Config, Tree
from debate.errors import ConfigError, StoreError
from debate.run_folder import RunFolder


class RunConfig(Config):
    seed: int = 0


def origin(**changes: object) -> Tree:
    return {"revision": "abc", "data": {"cross": "1"}, "prompts": {"judge": "2", "debater": "3"}} | changes


def create(path: Path) -> None:
    with RunFolder.create(path, RunConfig(), origin()) as run:
        run.keep_models({"a/b": "w1:cpu"})


def test_another_template_is_named(tmp_path: Path) -> None:
    create(tmp_path / "run")
    with pytest.raises(ConfigError, match=r'prompts\.judge: "2" -> "9"'):
        RunFolder.resume(tmp_path / "run", RunConfig(), origin(prompts={"judge": "9", "debater": "3"}))
    with pytest.raises(ConfigError, match=r'prompts\.debater: "3" -> null'):
        RunFolder.resume(tmp_path / "run", RunConfig(), origin(prompts={"judge": "2"}))
    # One that the run cannot have used is no difference.
    more = origin(prompts={"judge": "2", "debater": "3", "critic": "4"})
    RunFolder.resume(tmp_path / "run", RunConfig(), more).close()


def test_another_model_is_named_and_a_new_one_is_added(tmp_path: Path) -> None:
    create(tmp_path / "run")
    with RunFolder.resume(tmp_path / "run", RunConfig(), origin()) as run:
        run.keep_models({"c/d": "w2"})
        run.keep_models({"a/b": "w1:cpu"})
        with pytest.raises(ConfigError, match=r"'a/b'.*weights, device, number type.*engine.*w1:cpu -> w1:cuda"):
            run.keep_models({"a/b": "w1:cuda"})
    assert json.loads((tmp_path / "run" / "models.json").read_text()) == {"a/b": "w1:cpu", "c/d": "w2"}
    (tmp_path / "run" / "models.json").write_text("[1")
    with (
        RunFolder.resume(tmp_path / "run", RunConfig(), origin()) as run,
        pytest.raises(StoreError, match=r"cannot read .*models\.json"),
    ):
        run.keep_models({})


@pytest.mark.parametrize(("now", "count"), [("abc", 0), ("abd", 1), ("abc+changes", 1), (None, 0)])
def test_another_revision_is_a_warning(tmp_path: Path, now: str | None, count: int) -> None:
    create(tmp_path / "run")
    with RunFolder.resume(tmp_path / "run", RunConfig(), origin(revision=now)) as run:
        assert len(run.warnings) == count
        assert all(f"abc -> {now}" in warning for warning in run.warnings)


def test_half_a_configuration_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / ".config.yaml.part").write_text("seed: ")
    create(tmp_path)
    assert yaml.safe_load((tmp_path / "config.yaml").read_text())["seed"] == 0
    with pytest.raises(StoreError, match="exists already"):
        create(tmp_path)


def test_a_new_run_whose_models_do_not_open_is_removed_and_an_old_one_is_not(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RunFolder.create(tmp_path / "run", RunConfig(), origin()):
        _ = 1 / 0
    assert not (tmp_path / "run").exists()
    create(tmp_path / "run")
    with pytest.raises(ZeroDivisionError), RunFolder.resume(tmp_path / "run", RunConfig(), origin()):
        _ = 1 / 0
    assert (tmp_path / "run" / "run.sqlite").exists()


def test_what_is_no_run_is_not_resumed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no run folder"):
        RunFolder.resume(tmp_path, RunConfig(), origin())
