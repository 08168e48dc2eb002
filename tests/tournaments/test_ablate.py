"""The command ``python -m tournaments.ablate``: debates of which it is known by construction what each factor does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.ablating import STORIES, config
from tests.commands import assert_refuses, call
from tests.runs import ROOT, Ended, cells, debates, metrics, write
from tests.scripts import ASKED
from tournaments.ablate import COMMAND

CHANCE = 0.5
EXACT = 2 / 2**STORIES
"""The sign-flip test of stories that all differ the same way."""


def ablate(folder: Path, factor: str, judge: str, *flags: object, **changes: Any) -> Ended:
    folder.mkdir(exist_ok=True)
    path = write(folder / "c.yaml", config(factor, judge, **changes))
    return call(COMMAND, "--config", path, "--output", folder / "run", *flags)


def accuracies(folder: Path) -> dict[str, float]:
    return {label: found["accuracy"][0] for label, found in metrics(folder / "run")["levels"].items()}


def difference(folder: Path, level: str, less: str) -> dict[str, Any]:
    (found,) = (one for one in metrics(folder / "run")["differences"] if (one["level"], one["less"]) == (level, less))
    return dict(found)


def readings(folder: Path) -> dict[str, str]:
    return {one["sign"]: one["reading"] for one in metrics(folder / "run")["against_paper"]}


def test_marks(tmp_path: Path) -> None:
    ended = ablate(tmp_path, "marks", "marks")
    assert ended.code == 0, ended.err
    assert accuracies(tmp_path) == {
        "as they are": 1,
        "arguments only": CHANCE,
        "quotes only": 1,
        "marks stripped": CHANCE,
        "marks swapped": 0,
    }
    swapped = difference(tmp_path, "marks swapped", "as they are")["judge right"]
    assert swapped["difference"][0] == -1
    assert (swapped["questions"], swapped["stories"], swapped["p"]) == (STORIES, STORIES, pytest.approx(EXACT))
    assert difference(tmp_path, "quotes only", "as they are")["judge right"]["p"] == 1
    assert difference(tmp_path, "marks stripped", "as they are")["right side's share"]["difference"][0] == (
        pytest.approx(0.5 - 0.9)
    )
    levels = metrics(tmp_path / "run")["levels"]
    # Two speeches of forty words in each of two rounds; one of two quotes is verified.
    assert levels["as they are"]["words"] == 160
    assert [levels[name]["verified"] for name in ("as they are", "quotes only", "marks swapped")] == [2, 2, 2]
    assert [levels[name]["quotes"] for name in ("as they are", "arguments only", "marks stripped")] == [4, 0, 0]
    assert readings(tmp_path) == {
        "as they are > arguments only": "as in the paper",
        "quotes only > arguments only": "as in the paper",
    }
    for title in ("Quotes and their marks\n", "Differences on the same questions\n", "Beside the papers\n", "Cost\n"):
        assert title in ended.out
    assert (tmp_path / "run" / "report.html").is_file()
    # What is kept is the debate as it was held, once, with the verdicts of all levels in both orders.
    held = debates(tmp_path / "run")
    assert len(held) == STORIES
    for item in held:
        gold = item["debate"]["transcript"]["question"]["gold"]
        for turn in item["debate"]["transcript"]["turns"]:
            (quote,) = (span for span in turn["argument"]["spans"] if isinstance(span, dict))
            assert quote["verified"] == (turn["answer"] == gold)
        assert len(item["verdicts"]) == 10


def test_rounds_are_one_set_of_debates(tmp_path: Path) -> None:
    ended = ablate(tmp_path, "rounds", "rounds", levels=[1, 3, 4])
    assert ended.code == 0, ended.err
    assert accuracies(tmp_path) == {"1 round": CHANCE, "3 rounds": 1, "4 rounds": 1}
    levels = metrics(tmp_path / "run")["levels"]
    assert [levels[name]["words"] for name in levels] == [80, 240, 320]
    held = debates(tmp_path / "run")
    assert len(held) == STORIES
    assert {len(item["debate"]["transcript"]["turns"]) for item in held} == {8}
    assert readings(tmp_path) == {"least > most": "the other way"}


def test_information(tmp_path: Path) -> None:
    assert ablate(tmp_path, "information", "story").code == 0
    assert accuracies(tmp_path) == {"question alone": CHANCE, "debate": 1, "story": 1, "story and debate": 1}
    levels = metrics(tmp_path / "run")["levels"]
    assert [levels[name]["words"] for name in levels] == [0, 160, 0, 160]
    assert readings(tmp_path) == {
        "debate > question alone": "as in the paper",
        "story > debate": "no difference, not told apart",
        "story and debate = story": "no difference shown, as in the paper",
    }


def test_examples_are_judged_debates_on_other_stories(tmp_path: Path) -> None:
    """The judge goes by marks after two sound examples, and against them after one that is not sound."""
    ended = ablate(tmp_path, "fewshot", "examples")
    assert ended.code == 0, ended.err
    assert accuracies(tmp_path) == {"0 examples": CHANCE, "2 examples": 1, "4 examples": 1, "8 examples": 1}
    assert readings(tmp_path)["2 examples > 0 examples"] == "as in the paper"
    # The same from debates that are recorded elsewhere: with those on the story itself left out.
    other = tmp_path / "other"
    ended = ablate(other, "fewshot", "examples", tmp_path / "run", "--examples", tmp_path / "run", "--levels", "[0, 2]")
    assert ended.code == 0, ended.err
    assert accuracies(other) == {"0 examples": CHANCE, "2 examples": 1}


def test_votes_are_nested(tmp_path: Path) -> None:
    flags = ["--judge.temperature", 0.8]
    plan = ablate(tmp_path, "votes", "votes", *flags, "--dry-run")
    assert plan.code == 0, plan.err
    ended = ablate(tmp_path, "votes", "votes", *flags)
    assert ended.code == 0, ended.err
    assert accuracies(tmp_path) == {"1 vote": 0, "3 votes": 1, "5 votes": 0}
    assert readings(tmp_path) == {"3 votes > 1 vote": "as in the paper", "5 votes = 3 votes": "not as in the paper"}
    calls = {row[0].partition(":")[2]: int(row[1]) for row in cells(ended.out, "Cost\n")}
    planned = {row[0].partition(":")[2]: int(row[1]) for row in cells(plan.out, "Plan:")}
    # Five votes of each order, which hold the three and the one.
    assert calls["votes"] == planned["votes"] == STORIES * 2 * 5
    assert calls["debater"] == planned["debater"] == STORIES * 2 * 2


def test_longer_speeches_meet_shorter_ones(tmp_path: Path) -> None:
    plan = ablate(tmp_path, "words", "length", "--dry-run", levels=[25, 40, 60])
    assert plan.out.startswith("Plan: 64 debates and 48 in self-play")
    ended = ablate(tmp_path, "words", "length", levels=[25, 40, 60])
    assert ended.code == 0, ended.err
    levels = metrics(tmp_path / "run")["levels"]
    assert [levels[name]["words"] for name in levels] == [100, 160, 240]
    assert set(accuracies(tmp_path).values()) == {CHANCE}  # against itself nobody says more
    assert "wins" not in levels["25 words"]
    for name in ("40 words", "60 words"):
        assert [levels[name][key][0] for key in ("wins", "wins_right", "wins_wrong")] == [1, 1, 1]
        assert levels[name]["wins_p"] == pytest.approx(EXACT)
    assert readings(tmp_path) == {"most > least": "as in the paper"}
    assert "Against speeches of 25 words\n" in ended.out
    held = debates(tmp_path / "run")
    assert len(held) == 112
    planned = {row[0].partition(":")[2]: int(row[1]) for row in cells(plan.out, "Plan:")}
    calls = {row[0].partition(":")[2]: int(row[1]) for row in cells(ended.out, "Cost\n")}
    assert calls["length"] == planned["length"] == 112 * 2
    # Two rounds of self-play at three limits, an opening for each question and side; then replies in the matches.
    assert calls["debater"] == 3 * 2 * STORIES * 2 + 64 * 2
    assert abs(planned["debater"] - calls["debater"]) <= 3  # a plan rounds what each player says on average


def test_recorded_debates_are_judged_as_those_that_are_made(tmp_path: Path) -> None:
    made = tmp_path / "made"
    assert ablate(made, "marks", "marks").code == 0
    again = tmp_path / "again"
    plan = ablate(again, "marks", "marks", made / "run", "--dry-run")
    assert plan.code == 0, plan.err
    ended = ablate(again, "marks", "marks", made / "run")
    assert ended.code == 0, ended.err
    assert metrics(again / "run") == metrics(made / "run")
    (planned,), (calls,) = cells(plan.out, "Plan:"), cells(ended.out, "Cost\n")
    assert planned[1] == str(STORIES * 2 * 5)
    assert int(calls[1]) + int(calls[2]) == STORIES * 2 * 5
    # The verdicts of the run that they come from are not in this one, and the debates are.
    assert [item["debate"]["transcript"] for item in debates(again / "run")] == [
        item["debate"]["transcript"] for item in debates(made / "run")
    ]
    assert {len(item["verdicts"]) for item in debates(again / "run")} == {10}


def test_a_run_that_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    assert ablate(whole, "fewshot", "examples").code == 0
    ended = ablate(part, "fewshot", "examples", "--budget.max_calls", 70)
    assert ended.code == 2, ended
    assert "max_calls" in ended.err
    resumed = call(COMMAND, "--resume", part / "run", "--budget.max_calls", 100000)
    assert resumed.code == 0, resumed.err
    assert debates(part / "run") == debates(whole / "run")
    assert metrics(part / "run") == metrics(whole / "run")


@pytest.mark.faults
def test_a_run_that_is_killed_asks_for_nothing_twice(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    part.mkdir()
    assert ablate(whole, "marks", "marks").code == 0
    # Debates that are there already, since only the judge is slow.
    path = write(part / "c.yaml", config("marks", "slow_marks", concurrency=2) | {"debates": [str(whole / "run")]})
    log = part / "asked"
    log.touch()
    with subprocess.Popen(
        [sys.executable, "-m", "tournaments.ablate", "--config", str(path), "--output", str(part / "run")],
        cwd=ROOT,
        env={**os.environ, ASKED: str(log)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + 120
        while len(log.read_text().splitlines()) < 30:
            assert process.poll() is None, "the run ended before it was killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=60) == -signal.SIGKILL
    os.environ[ASKED] = str(log)
    try:
        resumed = call(COMMAND, "--resume", part / "run")
    finally:
        del os.environ[ASKED]
    assert resumed.code == 0, resumed.err
    # The level tables are those of the judge without latency; its name alone differs.
    assert accuracies(part) == accuracies(whole)
    asked = log.read_text().splitlines()
    assert len(asked) - len(set(asked)) <= 2 * 2  # two orders of the two debates that were in flight


def test_refusals(tmp_path: Path) -> None:
    for words, changes in (
        (("levels", "three", "marks"), {"factor": "marks", "levels": ["full", "three"]}),
        (("levels", "whole numbers"), {"factor": "votes", "levels": [1, "many"]}),
        (("levels", "two or more"), {"factor": "rounds", "levels": [2]}),
        (("first level of fewshot is 0",), {"factor": "fewshot", "levels": [2, 4]}),
        (("words", "leave debates out"), {"factor": "words", "debates": ["runs/x"]}),
        (("nothing to judge",), {"player": None}),
        (("examples are for factor fewshot",), {"examples": "runs/x"}),
        (("has one speaker",), {"protocol": {"kind": "consultancy"}}),
        (("a judge of your own",), {"factor": "votes", "judge": {"kind": "mine:judge"}}),
        (("3 votes at temperature 0",), {"factor": "votes", "judge": {"model": "scripted/x:y", "temperature": 0}}),
        (("examples", "stories", "show fewer"), {"factor": "fewshot", "stories": 8}),
    ):
        tree = config("marks", "marks") | changes
        ended = call(COMMAND, "--config", write(tmp_path / "c.yaml", tree), "--output", tmp_path / "run")
        assert_refuses(COMMAND, ended, *words)
    assert not (tmp_path / "run").exists()
