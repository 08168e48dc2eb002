"""A tournament that is stopped in every way goes on with ``--resume`` and ends as one that was never stopped."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from tests.runs import SCRIPTS, Ended, assert_refused, finish, found, start, swiss, tournament, write
from tests.scripts import ASKED

pytestmark = pytest.mark.faults

KILLS = 10  # of each of five runs, so 50 moments in all


def slow(folder: Path) -> Path:
    """Write the configuration of a tournament whose models take their time."""
    config = tournament(
        players=[
            {"name": "first", "model": f"{SCRIPTS}:slow_debater"},
            {"name": "second", "model": f"{SCRIPTS}:slow_debater"},
            {"name": "evidence", "kind": "evidence_first", "model": f"{SCRIPTS}:slow_debater"},
            {"name": "extractive", "kind": "extractive"},
        ],
        judge={"model": f"{SCRIPTS}:slow_judge"},
        concurrency=8,
    )
    return write(folder / "config.yaml", config)


def wait_for_calls(log: Path, process: subprocess.Popen[str], calls: int) -> None:
    """Wait until a process has asked for so many calls more."""
    size = log.stat().st_size if log.exists() else 0
    while process.poll() is None and (log.stat().st_size if log.exists() else 0) < size + 65 * calls:
        time.sleep(0.002)


def asked(log: Path) -> list[str]:
    """The calls that models were asked for, in order."""
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def kept(run: Path) -> int:
    """Count the calls that a run has kept."""
    connection = sqlite3.connect(run / "run.sqlite")
    try:
        return int(connection.execute("SELECT count(*) FROM calls").fetchone()[0])
    finally:
        connection.close()


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("never")
    ended = swiss("--config", slow(folder), "--output", folder / "run")
    assert ended.code == 0, ended.err
    return folder / "run"


@pytest.mark.parametrize("seed", range(5))
def test_killed_again_and_again_it_ends_as_if_never_stopped(tmp_path: Path, never_stopped: Path, seed: int) -> None:
    config, run, log = slow(tmp_path), tmp_path / "run", tmp_path / "asked"
    draw = random.Random(seed)
    whole, before, kills, repeated = kept(never_stopped), 0, 0, 0
    while kills < KILLS:
        arguments = ["--resume", run] if (run / "config.yaml").exists() else ["--config", config, "--output", run]
        earlier = len(asked(log))
        with start(*arguments, **{ASKED: str(log)}) as process:
            wait_for_calls(log, process, draw.randrange(1, 56))
            assert process.poll() is None, "the run ended before it was killed often enough"
            process.send_signal(signal.SIGKILL)
            assert process.wait(timeout=60) == -signal.SIGKILL
        kills += 1
        now = kept(run)
        in_flight = len(asked(log)) - earlier - (now - before)
        assert in_flight >= 0
        repeated += in_flight
        before = now
    last = len(asked(log))
    ended = finish(start("--resume", run, **{ASKED: str(log)}))
    assert ended.code == 0, ended.err
    assert found(run) == found(never_stopped)
    assert kept(run) == whole
    # What was kept is never asked for again; a kill costs the calls that were in flight and no other.
    assert len(asked(log)) - last == whole - before
    assert len(asked(log)) == whole + repeated
    assert len(set(asked(log))) == whole


def test_ctrl_c_stops_in_one_line_and_can_be_resumed(tmp_path: Path, never_stopped: Path) -> None:
    run, log = tmp_path / "run", tmp_path / "asked"
    process = start("--config", slow(tmp_path), "--output", run, **{ASKED: str(log)})
    wait_for_calls(log, process, 150)
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert ended.code == 130
    assert ended.errors == ["tournaments.swiss: interrupted; nothing that finished is lost, go on with --resume"]
    first = asked(log)
    assert finish(start("--resume", run, **{ASKED: str(log)})).code == 0
    assert found(run) == found(never_stopped)
    # The calls in flight were waited for and kept, so none is asked for again.
    assert not set(first) & set(asked(log)[len(first) :])


def test_a_second_process_on_a_run_is_refused(tmp_path: Path) -> None:
    run, log = tmp_path / "run", tmp_path / "asked"
    process = start("--config", slow(tmp_path), "--output", run, **{ASKED: str(log)})
    try:
        wait_for_calls(log, process, 5)
        assert_refused(finish(start("--resume", run)), "in use by process", str(process.pid), str(run))
        assert_refused(finish(start("--config", tmp_path / "config.yaml", "--output", run)), "exists already")
    finally:
        process.kill()
        process.communicate(timeout=60)


def assert_stopped(ended: Ended, *words: str) -> None:
    """Hold that a run ended with code 2 and one clear line of its own."""
    assert ended.code == 2, ended
    (line,) = ended.errors
    assert line.startswith("tournaments.swiss: cannot write")
    for word in words:
        assert word in line


def test_a_full_disk_stops_in_one_line_and_the_run_can_be_resumed(
    tmp_path: Path, small_disk: Path, never_stopped: Path
) -> None:
    run = small_disk / "run"
    assert_stopped(finish(start("--config", slow(tmp_path), "--output", run)), "the disk is full", str(run))
    larger = tmp_path / "larger"
    shutil.copytree(run, larger)
    ended = finish(start("--resume", larger))
    assert ended.code == 0, ended.err
    assert found(larger) == found(never_stopped)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    config = slow(tmp_path)
    assert_refused(swiss("--config", config, "--output", tmp_path / "file"), "exists already")
    assert_refused(swiss("--config", config, "--output", tmp_path / "file" / "run"), "cannot write", "Not a directory")
    if os.geteuid() != 0:  # root may write everywhere
        (tmp_path / "closed").mkdir(mode=0o555)
        assert_refused(swiss("--config", config, "--output", tmp_path / "closed" / "run"), "Permission denied")
