"""What a run keeps when its process is killed, its disk fills or its folder is read-only."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from debate.store import Store

pytestmark = pytest.mark.faults

ROOT = Path(__file__).resolve().parents[2]
IN_FLIGHT = 16
DRAWS = 3

# Makes many calls, IN_FLIGHT at a time. Says "asked" when the model is asked and "kept" once a call has returned.
WORKER = """
import asyncio, itertools, os, sys
from pathlib import Path
from debate.models.base import Draw, Message, Sampling
from debate.models.calls import LoggedModel, call_keys
from debate.models.limits import Budget, Meter
from debate.models.scripted import ScriptedModel
from debate.store import Store

def say(word, key):
    os.write(1, f"{word} {key}\\n".encode())  # one write a line: a kill cuts none

class Slow(ScriptedModel):
    async def sample(self, messages, *, draws, sampling):
        for draw in draws:
            say("asked", f"{messages[0].content}/{draw.sample}")
        await asyncio.sleep(0.002 + 0.004 * (hash(messages[0].content) % 7) / 7)
        return await super().sample(messages, draws=draws, sampling=sampling)

async def main(path, prompts, in_flight, draws):
    store = Store(path)
    slow = Slow(lambda messages, draw: f"{messages[0].content} {draw.sample} " * 50)
    model = LoggedModel(slow, store, Meter(Budget(), {}))
    left = iter(range(prompts))
    sampling = Sampling(max_tokens=1000)

    async def work():
        for index in left:
            messages = [Message("user", f"prompt {index}")]
            await model.sample(messages, draws=Draw().take(draws), sampling=sampling)
            how = [sampling.max_tokens, sampling.temperature, sampling.top_p, []]
            for key in call_keys(["sample", model.name, model.digest, messages, how], Draw().take(draws)):
                say("kept", key)

    await asyncio.gather(*(work() for _ in range(in_flight)))
    store.close()

asyncio.run(main(Path(sys.argv[1]), *map(int, sys.argv[2:])))
"""

# Puts rows until an error; says how many were acknowledged and what the error was.
FILLER = """
import asyncio, os, resource, sys
from pathlib import Path
from debate.errors import StoreError
from debate.store import Store

async def main(path, limit, user):
    store = None
    if user:
        os.setegid(user)
        os.seteuid(user)
    try:
        store = Store(path)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        for index in range(4000):
            await store.put("debates", str(index), '"' + "x" * 4000 + '"')
            print("kept", index)
    except StoreError as error:
        print("error", error)
    if store is not None:
        store.close()

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
"""

# Reads a store as a user that may not write there.
READER = """
import os, sys
from pathlib import Path
from debate.store import Store

os.seteuid(int(sys.argv[2]))
store = Store(Path(sys.argv[1]), readonly=True)
print("read", [key for key, _payload in store.rows("debates")][-1])
store.close()
"""


def start(script: str, *arguments: object, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=stdout, text=True, env=environment)


def parse(output: str) -> list[list[str]]:
    return [line.split(" ", 1) for line in output.splitlines()]


def finish(process: subprocess.Popen[str]) -> list[list[str]]:
    return parse(process.communicate(timeout=60)[0])


def work(path: Path, log: Path, prompts: int, kill_after: float | None) -> tuple[int, list[list[str]]]:
    """Run a worker, killed some seconds after its first call; it writes to a file, since a full pipe would halt it."""
    with log.open("w") as file:
        process = start(WORKER, path, prompts, IN_FLIGHT, DRAWS, stdout=file.fileno())
        if kill_after is not None:
            while log.stat().st_size == 0 and process.poll() is None:
                time.sleep(0.002)
            time.sleep(kill_after)
            process.send_signal(signal.SIGKILL)
        code = process.wait(timeout=60)
    return code, parse(log.read_text())


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.parametrize("seed", range(4))
def test_kill_loses_no_finished_call(tmp_path: Path, seed: int) -> None:
    path, prompts = tmp_path / "run.sqlite", 3000
    draw = random.Random(seed)
    asked: list[str] = []
    kept: set[str] = set()
    kills = 3
    for session in range(kills + 1):
        last = session == kills
        code, lines = work(path, tmp_path / "log", prompts, None if last else draw.uniform(0, 0.2))
        assert code == (0 if last else -signal.SIGKILL)
        asked += [rest for word, rest in lines if word == "asked"]
        kept |= {rest for word, rest in lines if word == "kept"}
        assert integrity(path) == "ok"
        store = Store(path)  # the lock of a killed process is gone with it
        assert set(store.calls(sorted(kept))) == kept
        store.close()
    assert len(kept) == prompts * DRAWS
    assert len(set(asked)) == prompts * DRAWS
    # Each kill can cost the calls that were in flight, and no other is made twice.
    assert len(asked) - len(set(asked)) <= kills * IN_FLIGHT * DRAWS


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    store = Store(path)
    (line,) = finish(start(FILLER, path, 0, 0))
    assert line[0] == "error"
    assert f"{tmp_path} is in use by process {os.getpid()}" in line[1]
    store.close()
    assert finish(start(FILLER, path, 0, 0))[-1] == ["kept", "3999"]


def check_filled(path: Path, lines: list[list[str]], words: str) -> None:
    """After a full disk: a clear error, a sound file, and every acknowledged row in it."""
    assert [word for word, _rest in lines].count("error") == 1
    assert words in lines[-1][1]
    assert str(path) in lines[-1][1]
    acknowledged = [rest for word, rest in lines if word == "kept"]
    assert 10 < len(acknowledged) < 4000
    assert integrity(path) == "ok"
    store = Store(path)
    assert [key for key, _payload in store.rows("debates")] == acknowledged
    store.close()


def test_a_limit_on_file_size_stops_clearly(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    check_filled(path, finish(start(FILLER, path, 2_000_000, 0)), "limit on file size")


def test_a_full_disk_stops_clearly(small_disk: Path) -> None:
    path = small_disk / "run.sqlite"
    lines = finish(start(FILLER, path, 0, 0))
    check_filled(path, lines, "the disk is full; free some space and resume the run")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may reach, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def other_user(folder: Path) -> int:
    """Make a folder read-only for a child process: root may write everywhere, so the child steps down to this user."""
    if os.geteuid() == 0:
        return 65534
    folder.chmod(0o555)
    return os.geteuid()


def test_a_read_only_folder_is_named(open_folder: Path) -> None:
    lines = finish(start(FILLER, open_folder / "run.sqlite", 0, other_user(open_folder)))
    assert lines == [["error", lines[0][1]]]
    assert f"cannot write in the run folder {open_folder}: Permission denied" in lines[0][1]
    assert list(open_folder.iterdir()) == []


def test_a_finished_run_in_a_read_only_folder_can_be_read(open_folder: Path) -> None:
    path = open_folder / "run.sqlite"
    assert finish(start(FILLER, path, 0, 0))[-1] == ["kept", "3999"]
    assert finish(start(READER, path, other_user(open_folder))) == [["read", "3999"]]
