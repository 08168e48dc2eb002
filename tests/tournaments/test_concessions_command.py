"""The command ``python -m tournaments.concessions``: who gives its side away in recorded debates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import assert_refuses, call
from tests.runs import hold
from tournaments.analyze import COMMAND as ANALYZE
from tournaments.concessions import COMMAND, read_concessions

PLAYERS = [{"name": name, "model": f"scripted/tests.conceding:{name}"} for name in ("firm", "soft")]
READER = "scripted/tests.conceding:reader"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which one player gives its side away in every speech."""
    folder = tmp_path_factory.mktemp("held")
    speech = {"min_words": 25, "max_words": 80, "max_tokens": 200}
    own = {"fold": "validation", "stories": 2, "per_story": 1}
    ended = hold(folder, players=PLAYERS, speech=speech, protocol={"kind": "simultaneous", "rounds": 1}, self_play=own)
    assert ended.code == 0, ended.err
    return folder / "run"


def test_who_gives_its_side_away_is_found_and_accuracy_is_given_with_and_without(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = call(COMMAND, run, "--judge.model", READER, "--output", out)
    assert ended.code == 0, ended.err
    found = read_concessions(out)
    spoken = [json.loads(line)["debate"] for line in (run / "debates.jsonl").read_text().splitlines()]
    assert len(found) == 2 * len(spoken)
    assert {one.player for one in found if one.conceded} == {"soft"}
    assert all(one.conceded == (one.player == "soft") for one in found)
    metrics = json.loads((out / "metrics.json").read_text())
    assert (metrics["players"]["firm"][0], metrics["players"]["soft"][0]) == (0, 1)
    (judge,) = metrics["judges"].values()
    assert judge["accuracy"] is not None
    # Only the firm one's debates against itself are without a concession.
    alone = [debate for debate in spoken if set(debate["players"]) == {"firm"}]
    assert 0 < len(alone) < len(spoken)
    assert "Accuracy with and without concessions" in ended.out
    again = call(COMMAND, "--resume", out)
    assert again.code == 0, again.err
    assert read_concessions(out) == found
    shown = call(ANALYZE, run, "--concessions", out, "--format", "json")
    assert shown.code == 0, shown.err
    (biases,) = (own for judge, own in json.loads(shown.out)["biases"].items() if judge != "self_preference")
    rows = {name: group["concessions"] for name, group in biases.items()}
    held = {name: (row["debates"], row["conceded"]) for name, row in rows.items()}
    # In self-play of each player, and against the other.
    assert held["simultaneous, self-play"] == (2 * len(alone), len(alone))
    assert held["simultaneous"] == (len(spoken) - 2 * len(alone),) * 2


def test_a_reader_that_follows_the_order_finds_none(run: Path, tmp_path: Path) -> None:
    ended = call(COMMAND, run, "--judge.model", "scripted/tests.conceding:orderly", "--output", tmp_path / "out")
    assert ended.code == 0, ended.err
    assert not any(one.conceded for one in read_concessions(tmp_path / "out"))


def test_plan_and_refusals(run: Path, tmp_path: Path) -> None:
    plan = call(COMMAND, run, "--judge.model", READER, "--dry-run")
    assert plan.code == 0, plan.err
    assert "Plan: " in plan.out
    assert_refuses(COMMAND, call(COMMAND, "--judge.model", READER), "no sources")
    none = call(COMMAND, run, "--judge.model", READER, "--fold", "judge", "--output", tmp_path / "x")
    assert_refuses(COMMAND, none, "is on a story of fold 'judge'")
