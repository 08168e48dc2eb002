"""Tournaments that tests hold: their configurations, the command in this process or its own, and what a run found."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tournaments.swiss import COMMAND

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = "scripted/tests.scripts"


EXTRACTIVE = [{"name": "a", "kind": "extractive"}, {"name": "b", "kind": "extractive", "quotes": 3}]


def tournament(**changes: Any) -> dict[str, Any]:
    """Return the configuration of a small scripted tournament of five players, with some keys set otherwise."""
    return {
        "source": "shipped:stories",
        "fold": "debater",
        "stories": 3,
        "per_story": 1,
        "protocol": {"kind": "simultaneous", "rounds": 2},
        "speech": {"min_words": 25, "max_words": 60, "max_tokens": 200},
        "players": [
            {"name": "first", "model": f"{SCRIPTS}:debater"},
            {"name": "second", "model": f"{SCRIPTS}:second_debater"},
            {"name": "evidence", "kind": "evidence_first", "model": f"{SCRIPTS}:debater"},
            {"name": "extractive", "kind": "extractive"},
            {"name": "extractive-three", "kind": "extractive", "quotes": 3},
        ],
        "judge": {"model": f"{SCRIPTS}:judge"},
        "self_play": {"fold": "validation", "stories": 2, "per_story": 1},
        "seed": 1,
    } | changes


def write(path: Path, config: Mapping[str, Any]) -> Path:
    """Write a configuration as a user would, and return its path."""
    path.write_text(yaml.safe_dump(dict(config), sort_keys=False), encoding="utf-8")
    return path


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """The lines that the command itself wrote to stderr, without those that tell of progress."""
        return [line for line in self.err.splitlines() if not line.startswith("swiss: ")]


def swiss(*arguments: object) -> Ended:
    """Run the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = COMMAND.main([str(argument) for argument in arguments])
    return Ended(code, out.getvalue(), err.getvalue())


class Run(NamedTuple):
    """A finished run: its folder, its configuration, and how the command ended."""

    folder: Path
    config: Path
    ended: Ended


def hold(folder: Path, *flags: object, **changes: Any) -> Ended:
    """Hold a tournament in ``folder / "run"``."""
    config = write(folder / "config.yaml", tournament(**changes))
    return swiss("--config", config, "--output", folder / "run", *flags)


def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    """Start the command as a user does, with some environment variables set; an empty one is taken away."""
    merged = {**os.environ, **environment}
    return subprocess.Popen(
        [sys.executable, "-m", "tournaments.swiss", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={name: value for name, value in merged.items() if value},
    )


def finish(process: subprocess.Popen[str]) -> Ended:
    """Wait for the command."""
    out, err = process.communicate(timeout=200)
    return Ended(process.returncode, out, err)


def debates(folder: Path) -> list[dict[str, Any]]:
    """Read the debates of a run."""
    return [json.loads(line) for line in (folder / "debates.jsonl").read_text(encoding="utf-8").splitlines()]


def metrics(folder: Path) -> dict[str, Any]:
    """Read the metrics of a run, without its time."""
    found: dict[str, Any] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    found.pop("seconds")
    return found


def found(folder: Path) -> tuple[object, ...]:
    """What a resumed run must share with one that was never stopped: debates, verdicts, pairings, ratings, metrics."""
    return debates(folder), (folder / "ratings.csv").read_text(encoding="utf-8"), metrics(folder)


def assert_refused(ended: Ended, *words: str) -> None:
    """Hold that a command was refused in one clear line that names some words."""
    assert ended.code == 2, ended
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1, ended.err
    assert ended.err.startswith("tournaments.swiss: ")
    assert "Traceback" not in ended.err
    for word in words:
        assert word in ended.err


def cells(table: str, title: str) -> list[list[str]]:
    """Read the rows of a printed plan or cost table: cells two spaces apart."""
    lines = table[table.index(title) :].splitlines()[3:]
    rows = []
    for line in lines:
        row = [cell for cell in line.split("  ") if cell.strip()]
        if len(row) < 3:
            break
        rows.append([cell.strip() for cell in row])
    return rows
