"""Stages: done once, gone on with, done anew where what decides them has changed, and nothing else."""

from __future__ import annotations

import contextlib
import gc
import json
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import Field

from debate.command import Command, Invocation
from debate.config import NOT_IN_DIGEST, Config
from debate.errors import DissoiError, SourceError, StoreError
from debate.models.limits import Budget
from tournaments.config import SessionConfig
from training.stages import Stage, Stages


class Small(Config):
    """A command's configuration."""

    text: str = "a"
    reads: str | None = None
    shown: int = Field(0, json_schema_extra=NOT_IN_DIGEST)


class Asking(SessionConfig):
    """One that has a budget."""

    reads: str | None = None


class Ran:
    """A command that takes note of how it was run, and does what it is told."""

    def __init__(self, does: Callable[[], int] = lambda: 0) -> None:
        self.calls: list[tuple[str, Config]] = []
        self.does = does

    def command(self, config: type[Any] = Small) -> Command[Any]:
        def run(given: Any, invocation: Invocation) -> int:
            folder = invocation.resume or invocation.output
            assert folder is not None
            self.calls.append(("resume" if invocation.resume else "new", given))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "config.yaml").write_text(yaml.safe_dump(given.model_dump(mode="json")), encoding="utf-8")
            print("said", given)  # noqa: T201 - it is captured
            return self.does()

        return Command("tests.small", "Small.", config, run)


def first(ran: Ran, **keys: Any) -> Stage:
    return Stage("one", ran.command(), Small(**keys))


def test_a_stage_is_done_once_and_what_it_says_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran()
    for _ in range(2):
        assert Stages(tmp_path).run(first(ran)) == tmp_path / "one"
    assert [how for how, _ in ran.calls] == ["new"]
    assert "said" in (tmp_path / "logs" / "one.txt").read_text()
    out = capsys.readouterr().out
    assert "said" not in out
    assert out.startswith("one: tests.small\none: done, ")


def test_one_that_was_stopped_is_gone_on_with(tmp_path: Path) -> None:
    def stop() -> int:
        raise KeyboardInterrupt

    ran = Ran(stop)
    with pytest.raises(KeyboardInterrupt):
        Stages(tmp_path).run(first(ran))
    ran.does = lambda: 0
    Stages(tmp_path).run(first(ran))
    assert [how for how, _ in ran.calls] == ["new", "resume"]
    Stages(tmp_path).run(first(ran))
    assert len(ran.calls) == 2


def test_one_that_had_not_yet_begun_its_folder_begins_anew(tmp_path: Path) -> None:
    ran = Ran()
    stages = Stages(tmp_path)
    key = stages.key(first(ran))
    (tmp_path / "stages.json").write_text(json.dumps({"stages": {"one": {"key": key, "state": "begun"}}}))
    Stages(tmp_path).run(first(ran))
    assert [how for how, _ in ran.calls] == ["new"]


def test_a_change_does_anew_what_depends_on_it_and_nothing_else(tmp_path: Path) -> None:
    one, two, other = Ran(), Ran(), Ran()

    def run(**keys: Any) -> None:
        stages = Stages(tmp_path)
        folder = stages.run(Stage("deep/one", one.command(), Small(**keys)))
        stages.run(Stage("two", two.command(), Small(reads=f"run:{folder}")))
        stages.run(Stage("other", other.command(), Small(text="c")))

    run()
    run(shown=3)
    assert (len(one.calls), len(two.calls), len(other.calls)) == (1, 1, 1)
    run(text="b")
    assert (len(one.calls), len(two.calls), len(other.calls)) == (2, 2, 1)
    assert [how for how, _ in two.calls] == ["new", "new"]
    kept = yaml.safe_load((tmp_path / "replaced" / "deep-one-1" / "config.yaml").read_text())
    assert kept["text"] == "a"
    run(text="b")
    assert (len(one.calls), len(two.calls), len(other.calls)) == (2, 2, 1)


def test_what_a_stage_reads_outside_the_run_decides_it_by_its_contents(tmp_path: Path) -> None:
    outside = tmp_path / "own.jsonl"
    outside.write_text("one")
    ran = Ran()

    def run(root: Path) -> int:
        Stages(root).run(first(ran, reads=f"questions:{outside}?x=1"))
        return len(ran.calls)

    root = tmp_path / "run"
    root.mkdir()
    assert run(root) == run(root) == 1
    outside.write_text("two")
    assert run(root) == 2
    moved = root.rename(tmp_path / "elsewhere")
    assert run(moved) == 2  # where the run lies decides nothing


def test_what_ships_may_be_no_adapter(tmp_path: Path) -> None:
    ran = Ran()
    for text in ("shipped:stories", "shipped:claims", "shipped:judge"):
        Stages(tmp_path).run(first(ran, reads=text))
    assert len(ran.calls) == 3


def test_a_stage_that_fails_is_named_and_not_done(tmp_path: Path) -> None:
    ran = Ran(lambda: 1)
    with pytest.raises(DissoiError, match=r"stage one: it ended with exit code 1; .*logs/one\.txt"):
        Stages(tmp_path).run(first(ran))

    def refuse() -> int:
        raise SourceError("there is nothing; give more")

    ran.does = refuse
    with pytest.raises(SourceError, match="stage one: there is nothing; give more"):
        Stages(tmp_path).run(first(ran))
    ran.does = lambda: 0
    Stages(tmp_path).run(first(ran))
    assert len(ran.calls) == 3


@pytest.mark.parametrize("code", [0, 1])
def test_what_a_stage_leaves_behind_does_not_outlive_it(tmp_path: Path, code: int) -> None:
    """Trainers refer to themselves, so they stay until somebody looks for such rings."""
    left: list[weakref.ref[Any]] = []

    def leave() -> int:
        ring = Stages(tmp_path)
        ring.own = ring  # type: ignore[attr-defined]
        left.append(weakref.ref(ring))
        return code

    gc.disable()
    try:
        with contextlib.suppress(DissoiError):
            Stages(tmp_path).run(first(Ran(leave)))
        assert left[0]() is None
    finally:
        gc.enable()


def test_a_stage_gets_what_the_others_have_left_of_the_budget(tmp_path: Path) -> None:
    import asyncio

    from debate.models.base import Usage
    from debate.store import CallRow, Store

    ran = Ran()
    stages = Stages(tmp_path, budget=Budget(max_calls=10, max_tokens=100))
    folder = stages.run(Stage("one", ran.command(Asking), Asking()))

    async def spend() -> None:
        store = Store(folder / "run.sqlite")
        rows = [CallRow(f"{at:064x}", "sample", "scripted/x", "{}", Usage(5, 2)) for at in range(3)]
        await store.add_calls(rows)
        store.close()

    asyncio.run(spend())
    stages.run(Stage("two", ran.command(Asking), Asking()))
    given = ran.calls[-1][1]
    assert isinstance(given, Asking)
    assert given.budget.model_dump() == {"max_calls": 7, "max_tokens": 79, "max_cost": None}


def test_a_launcher_starts_trainings_in_processes_of_their_own(tmp_path: Path) -> None:
    """The words of the launcher, then the command's script, its configuration and its folder."""
    from training.finetune_judge import COMMAND, JudgeTrainingConfig

    config = JudgeTrainingConfig.model_validate({"data": [{"debates": "dossiers:9"}]})
    shown = tmp_path / "shown"
    launcher = ("sh", "-c", f'printf "%s\\n" "$@" > {shown}', "x")
    stages = Stages(tmp_path / "run", launcher=launcher)
    (tmp_path / "run").mkdir()
    stages.run(Stage("judge-1", COMMAND, config, launch=True))
    words = shown.read_text().splitlines()
    assert words[0].endswith("training/finetune_judge.py")
    assert words[1::2] == ["--config", "--output"]
    assert yaml.safe_load(Path(words[2]).read_text()) == config.model_dump(mode="json")
    assert words[4] == str(tmp_path / "run" / "judge-1")


def test_a_broken_book_is_named(tmp_path: Path) -> None:
    (tmp_path / "stages.json").write_text("{")
    with pytest.raises(StoreError, match=r"stages\.json"):
        Stages(tmp_path)
