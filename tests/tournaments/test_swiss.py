"""The command ``python -m tournaments.swiss`` with scripted models: what it prints, writes, plans, refuses, resumes."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.runs import (
    EXTRACTIVE,
    ROOT,
    SCRIPTS,
    Run,
    assert_refused,
    debates,
    finish,
    found,
    hold,
    metrics,
    start,
    swiss,
    tournament,
    write,
)

PLAYERS = ["evidence", "extractive", "extractive-three", "first", "second"]


# --- what it prints and writes ---------------------------------------------------------------------------------------


def test_the_ladder_shows_all_that_was_promised(done: Run) -> None:
    assert done.ended.code == 0, done.ended.err
    assert done.ended.errors == []
    out = done.ended.out
    head = out[out.index("Ladder") :].splitlines()[1]
    for column in (
        "player",
        "Elo",
        "matches",
        "quotes a speech",
        "verified",
        "words",
        "invalid speeches",
    ):
        assert column in head
    sides = out[out.index("\nBy assigned side\n") + 1 :].splitlines()
    for column in ("player", "Elo when right", "Elo when wrong", "wins when right", "wins when wrong"):
        assert column in sides[1]
    judged = out[out.index("\nJudge\n") + 1 :].splitlines()
    for column in ("judge right", "gold shown first", "gold shown second", "orders combined", "flips", "unparsed"):
        assert column in judged[1]
    for name in PLAYERS:
        assert any(line.startswith(f"self-play of {name} ") for line in judged)
    assert sorted(line.split()[1] for line in out[out.index("Ladder") :].splitlines()[3:8]) == PLAYERS
    for words in ("Judge", "lean to the first", "unparsed", "Cost", "calls", "tokens in", "tokens out", "Time of"):
        assert words in out
    assert "too few clusters" in out.lower()  # three stories are fewer than ten
    assert f"Report: {done.folder / 'report.html'}" in out


def test_the_folder_holds_configuration_store_exports_and_report(done: Run) -> None:
    tree = yaml.safe_load((done.folder / "config.yaml").read_text(encoding="utf-8"))
    origin = tree.pop("provenance")
    assert tree["judge"]["kind"] == "letter"  # resolved: defaults are written out
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if head.returncode == 0:
        assert origin["revision"].removesuffix("+changes") == head.stdout.strip()
    assert origin["versions"]["numpy"] == __import__("numpy").__version__
    assert {len(value) for value in origin["data"].values()} == {64}
    with (done.folder / "ratings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["player"] for row in rows) == PLAYERS
    assert all(float(row["low"]) < float(row["elo"]) < float(row["high"]) for row in rows)
    measured = metrics(done.folder)
    assert sorted(measured["players"]) == PLAYERS
    cross, own = measured["cross_play"], measured["self_play"]
    assert cross.keys() == own.keys()
    for part in (cross, own):
        assert part["failed_debates"] == part["unparsed"] == 0
        assert part["verdicts"] == 2 * part["debates"]
    held = debates(done.folder)
    # Ten matches, both assignments of three questions; each player on two questions against itself.
    assert len(held) == 10 * 2 * 3 + 5 * 2
    assert (cross["debates"], own["debates"]) == (10 * 2 * 3, 5 * 2)
    for player in measured["players"].values():
        assert {player[key]["status"] for key in ("when_right", "when_wrong")} <= {"ok", "undefeated", "winless"}
    assert len(list((done.folder / "debates").glob("*.html"))) == len(held)
    assert "<html" in (done.folder / "report.html").read_text(encoding="utf-8")
    connection = sqlite3.connect(done.folder / "run.sqlite")
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("debates", "verdicts")]  # noqa: S608 - two names
    connection.close()
    assert counts == [len(held), 2 * len(held)]


def test_everybody_argues_both_sides_of_every_question_and_both_orders_are_judged(done: Run) -> None:
    cross: Counter[tuple[str, ...]] = Counter()
    own: Counter[str] = Counter()
    for item in debates(done.folder):
        players = item["debate"]["players"]
        question = item["debate"]["transcript"]["question"]["id"]
        assert sorted(verdict["order"] for verdict in item["verdicts"]) == [[0, 1], [1, 0]]
        assert [turn["round"] for turn in item["debate"]["transcript"]["turns"]] == [1, 1, 2, 2]
        assert all(not turn["flaws"] for turn in item["debate"]["transcript"]["turns"])
        if players[0] == players[1]:
            own[players[0]] += 1
        else:
            cross[(*players, question)] += 1
    assert set(cross.values()) == {1}
    assert len({key[:2] for key in cross}) == 5 * 4  # a round robin, and both assignments
    assert own == dict.fromkeys(PLAYERS, 2)


def test_opening_speeches_do_not_depend_on_the_opponent(done: Run) -> None:
    openings: dict[tuple[str, str, int], set[str]] = {}
    for item in debates(done.folder):
        for turn in item["debate"]["transcript"]["turns"]:
            if turn["round"] == 1:
                question, side = item["debate"]["transcript"]["question"]["id"], turn["answer"]
                key = (item["debate"]["players"][side], question, side)
                openings.setdefault(key, set()).add(json.dumps(turn["argument"]))
    assert len(openings) == 5 * 2 * (3 + 2)
    assert all(len(texts) == 1 for texts in openings.values())


def test_a_player_without_a_verdict_is_named(tmp_path: Path) -> None:
    players = [*tournament()["players"][2:], {"name": "mute", "model": f"{SCRIPTS}:broken"}]
    ended = hold(tmp_path, players=players, protocol={"rounds": 1})
    assert ended.code == 1
    assert "Without a single verdict, so not rated: mute." in ended.out


# --- what it refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--judge.modl", "x/y"], ["judge.modl", "unknown key", "judge.model"]),
        (["--players.0.quots", "2"], ["players.0.quots", "players.0.quotes"]),
        (["--players.1.name", "first"], ["player named twice: first"]),
        (["--players.0.kind", "fre"], ["players.0.kind", "'fre'"]),
        (["--judge.model", "gpt-4.1-mini"], ["judge.model", "KIND/NAME"]),
        (["--judge.model", "scripted/tests.scripts:nobody"], ["scripted/MODULE:FUNCTION", "nobody"]),
        (["--judge.model.capabilities.context", "9"], ["judge.model", "context"]),
        (["--source", "stories"], ["unknown source 'stories'"]),
        (["--source", "quality:absent.jsonl"], ["absent.jsonl"]),
        (["--fold", "tests"], ["fold", "'tests'"]),
        (["--self_play.fold", "debater"], ["self_play shares", "with cross-play"]),
        (["--questions", "fresh"], ["3 questions", "5 rounds"]),
        (["--rounds", "0"], ["rounds", "greater than or equal to 1"]),
        (["--seed"], ["--seed needs a value"]),
        (["seed=3"], ["'seed' is not a flag"]),
    ],
)
def test_wrong_configurations_are_refused_in_one_line(tmp_path: Path, flags: list[str], words: list[str]) -> None:
    assert_refused(hold(tmp_path, *flags), *words)
    assert not (tmp_path / "run").exists()


def test_other_wrong_files_are_refused_in_one_line(tmp_path: Path) -> None:
    lacking = {key: value for key, value in tournament().items() if key != "judge"}
    assert_refused(swiss("--config", write(tmp_path / "a.yaml", lacking)), "a.yaml", "judge: missing")
    (tmp_path / "b.yaml").write_text("players: [{name: one\n", encoding="utf-8")
    assert_refused(swiss("--config", tmp_path / "b.yaml"), "b.yaml", "not YAML")
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    assert_refused(hold(tmp_path, "--source", f"questions:{tmp_path / 'empty.jsonl'}"), "holds no questions")
    assert_refused(swiss("--config", tmp_path / "none.yaml"), "cannot read", "none.yaml")
    assert_refused(swiss("--resume", tmp_path / "nothing"), "nothing is no run folder")


def test_a_missing_key_and_a_silent_server_are_refused_in_one_line(tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", tournament(judge={"model": {"name": "openai/gpt-4.1", "max_retries": 0}}))
    flags = ["--config", config, "--output", tmp_path / "run"]
    keyless = finish(start(*flags, OPENAI_API_KEY="", OPENAI_BASE_URL=""))
    assert_refused(keyless, "openai/gpt-4.1", "set OPENAI_API_KEY")
    assert not (tmp_path / "run").exists()  # so that the next try finds nothing in its way
    silent = finish(start(*flags, OPENAI_API_KEY="sk-secret", OPENAI_BASE_URL="http://127.0.0.1:9/v1"))
    assert_refused(silent, "cannot connect", "http://127.0.0.1:9/v1")


def test_a_run_is_not_overwritten_nor_resumed_with_another_configuration(done: Run, tmp_path: Path) -> None:
    before = found(done.folder)
    assert_refused(swiss("--config", done.config, "--output", done.folder), "exists already", "--resume")
    other = swiss("--resume", done.folder, "--seed", 2)
    assert_refused(other, "seed: 1 -> 2")
    assert "data" not in other.err
    assert found(done.folder) == before
    (tmp_path / "config.yaml").write_text("players: 3\njudge: {model: embedded/smollm2-135m}\n", encoding="utf-8")
    assert_refused(swiss("--config", done.config, "--resume", tmp_path), "players")


# --- runs that fail --------------------------------------------------------------------------------------------------


def test_too_many_unparsed_verdicts_fail_with_examples_and_all_outputs(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"judge": {"model": f"{SCRIPTS}:reasoning_judge", "kind": "reason"}}
    ended = hold(tmp_path, **changes)
    assert ended.code == 1
    (line,) = ended.errors
    measured = metrics(tmp_path / "run")
    unparsed = measured["cross_play"]["unparsed"] + measured["self_play"]["unparsed"]
    assert 20 < unparsed < 50  # a quarter of 140
    assert f"{unparsed} of 140 verdicts are unparsed, more than max_unparsed 0.02" in line
    assert "'I cannot tell who is right.'" in line
    assert (tmp_path / "run" / "report.html").is_file()
    assert (tmp_path / "run" / "ratings.csv").is_file()
    # An unparsed verdict is a win for nobody.
    assert metrics(tmp_path / "run")["outcomes"] == 120 - sum(
        verdict["probabilities"] is None
        for item in debates(tmp_path / "run")
        for verdict in item["verdicts"]
        if len(set(item["debate"]["players"])) == 2
    )
    assert swiss("--resume", tmp_path / "run", "--max_unparsed", "0.5").code == 2  # it decides results


def test_too_many_failed_debates_fail_with_reasons_and_all_outputs(tmp_path: Path) -> None:
    players = [*tournament()["players"][2:], {"name": "failing", "model": f"{SCRIPTS}:failing"}]
    ended = hold(tmp_path, players=players)
    assert ended.code == 1
    (line,) = ended.errors
    failed = [item for item in debates(tmp_path / "run") if item["debate"]["failed"]]
    assert all("failing" in item["debate"]["players"] for item in failed)
    measured = metrics(tmp_path / "run")
    assert measured["cross_play"]["failed_debates"] + measured["self_play"]["failed_debates"] == len(failed) > 5
    assert f"{len(failed)} of {len(debates(tmp_path / 'run'))} debates failed, more than max_failed 0.02" in line
    assert "as its script says" in line
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_run_without_any_verdict_says_why_and_keeps_its_debates(tmp_path: Path) -> None:
    players = [{"name": "one", "model": f"{SCRIPTS}:broken"}, {"name": "two", "model": f"{SCRIPTS}:broken"}]
    ended = hold(tmp_path, players=players, self_play=None)
    assert ended.code == 2
    (line,) = ended.errors
    assert "nobody can be rated" in line
    assert "the scripted model always fails" in line
    assert len(debates(tmp_path / "run")) == 6


def test_speeches_outside_the_limits_are_kept_and_counted(tmp_path: Path) -> None:
    players = [{"name": "wordless", "model": f"{SCRIPTS}:wordless_debater"}, *EXTRACTIVE]
    ended = hold(tmp_path, players=players, protocol={"rounds": 1}, self_play=None)
    assert ended.code == 0, ended.err
    (row,) = [line for line in ended.out.splitlines() if " wordless " in line]
    assert row.split()[-1] == "100.0%"
    turns = [
        turn
        for item in debates(tmp_path / "run")
        for turn in item["debate"]["transcript"]["turns"]
        if item["debate"]["players"][turn["answer"]] == "wordless"
    ]
    assert {len(turn["candidates"]) for turn in turns} == {3}  # every attempt is kept


def test_certain_verdicts_have_no_lean(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"judge": {"model": f"{SCRIPTS}:reasoning_judge", "kind": "reason"}}
    ended = hold(tmp_path, **changes, max_unparsed=1, self_play=None, players=EXTRACTIVE)
    (row,) = [line for line in ended.out.splitlines() if line.startswith("cross-play ")]
    assert metrics(tmp_path / "run")["cross_play"]["log_odds_shift"] is None
    assert row.split()[-3] == "–"  # before the unparsed share and the mass on letters, of which there is none either


# --- help ------------------------------------------------------------------------------------------------------------


def test_help_imports_no_heavy_library() -> None:
    script = (
        "import sys; from tournaments.swiss import COMMAND; code = COMMAND.main(['--help']);"
        "heavy = {'torch', 'transformers', 'openai', 'scipy', 'plotly', 'wandb', 'httpx', 'httpx2'} & set(sys.modules);"
        "print('heavy:', sorted(heavy)); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "heavy: []"
    for flag in ("--config", "--output", "--resume", "--dry-run", "--seed", "--players.0.model", "--budget.max_calls"):
        assert flag in done.stdout
