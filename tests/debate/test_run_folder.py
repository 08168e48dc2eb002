from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from debate.config import Config, Tree
from debate.errors import ConfigError, StoreError
from debate.run_folder import RunFolder, default_path


class RunConfig(Config):
    seed: int = 0


def origin(**changes: object) -> Tree:
    return {"revision": "abc", "data": {"cross": "1"}, "prompts": {"judge": "2", "debater": "3"}} | changes


def create(path: Path) -> None:
    with RunFolder.create(path, RunConfig(), origin()) as run:
        run.keep_models({"a/b": {"digest": "w1:cpu", "device": "cpu"}})


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
        run.keep_models({"c/d": {"digest": "w2"}})
        run.keep_models({"a/b": {"digest": "w1:cpu", "device": "cpu"}})
        with pytest.raises(ConfigError, match=r"'a/b'.*weights, device, number type.*engine.*w1:cpu -> w1:cuda"):
            run.keep_models({"a/b": {"digest": "w1:cuda", "device": "cuda:0"}})
    assert json.loads((tmp_path / "run" / "models.json").read_text()) == {
        "a/b": {"digest": "w1:cpu", "device": "cpu"},
        "c/d": {"digest": "w2"},
    }
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


@pytest.mark.parametrize("made", [False, True], ids=["absent", "empty"])
def test_of_runs_started_at_once_in_one_folder_one_has_it(tmp_path: Path, *, made: bool) -> None:
    """Whoever is told that the folder is its own finds its own configuration in it."""
    for number in range(20):
        path = tmp_path / f"run{number}"
        if made:
            path.mkdir()
        together = threading.Barrier(3)

        def start(seed: int, path: Path = path, together: threading.Barrier = together) -> RunFolder | StoreError:
            together.wait()
            try:
                return RunFolder.create(path, RunConfig(seed=seed), origin())
            except StoreError as error:
                return error

        with ThreadPoolExecutor(3) as pool:
            started = list(pool.map(start, range(3)))
        kept = yaml.safe_load((path / "config.yaml").read_text())["seed"]
        assert [seed for seed, run in enumerate(started) if isinstance(run, RunFolder)] == [kept]
        for run in started:
            if isinstance(run, RunFolder):
                run.close()
            else:
                assert "exists already" in str(run) or "is in use by" in str(run)


def test_a_lock_alone_is_not_in_the_way_but_what_it_locks_is(tmp_path: Path) -> None:
    (tmp_path / "run.sqlite.lock").write_text("123")
    create(tmp_path)
    (tmp_path / "config.yaml").unlink()
    with pytest.raises(StoreError, match="exists already"):
        create(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="exists already"):
        create(tmp_path / "file")


def test_default_names_are_each_taken_once(tmp_path: Path) -> None:
    environment = {"DISSOI_RUNS": str(tmp_path / "runs")}
    paths = [default_path("swiss", environment) for _ in range(5)]
    assert len(set(paths)) == 5
    stamp = r"swiss-\d{8}-\d{6}"
    assert all(re.fullmatch(rf"{stamp}(-[2-5])?", path.name) for path in paths)
    for path in paths:
        create(path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file is no folder"):
        default_path("swiss", {"DISSOI_RUNS": str(tmp_path / "file")})
