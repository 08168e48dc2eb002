"""Rounds: their pairings are kept before they are played, and follow from mean scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from debate.question import Question
from debate.record import Debate, Recorded
from debate.store import Store
from debate.transcript import Transcript
from debate.verdict import Verdict
from tests.runs import SCRIPTS, debates, swiss, tournament, write
from tests.scripts import DOWN
from tournaments.rounds import Tally

TWELVE = [{"name": f"p{index:02d}", "model": f"{SCRIPTS}:{'flaky' if index % 2 else 'debater'}"} for index in range(12)]


def pairings(run: Path) -> dict[str, list[tuple[str, str | None]]]:
    """The pairings that a run has kept, by round."""
    store = Store(run / "run.sqlite", readonly=True)
    rows = {key: json.loads(payload) for key, payload in store.rows("pairings")}
    store.close()
    return {key: [(row["player_a"], row["player_b"]) for row in round_] for key, round_ in rows.items()}


def held(run: Path) -> list[str]:
    return [item["debate"]["id"] for item in debates(run)]


def test_debates_that_failed_are_held_again_in_the_same_pairings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tournament(players=TWELVE, stories=2, protocol={"rounds": 1}, self_play=None)
    path = write(tmp_path / "config.yaml", config)
    monkeypatch.setenv(DOWN, "1")
    first = swiss("--config", path, "--output", tmp_path / "run")
    assert first.code == 1
    assert "debates failed, more than max_failed" in first.err
    failed = [item["debate"]["id"] for item in debates(tmp_path / "run") if item["debate"]["failed"]]
    before, ids = pairings(tmp_path / "run"), held(tmp_path / "run")
    assert list(before) == [f"round {number}" for number in range(1, 7)]
    assert len(failed) > 10
    monkeypatch.delenv(DOWN)
    again = swiss("--resume", tmp_path / "run")
    assert again.code == 0, again.err
    assert pairings(tmp_path / "run") == before
    assert held(tmp_path / "run") == ids
    # The test is one only if the standings did change: a run that nothing failed in pairs otherwise.
    assert swiss("--config", path, "--output", tmp_path / "whole").code == 0
    assert pairings(tmp_path / "whole") != before


def test_pairings_are_those_that_are_played(tmp_path: Path) -> None:
    path = write(tmp_path / "config.yaml", tournament(protocol={"rounds": 1}, self_play=None))
    assert swiss("--config", path, "--output", tmp_path / "run").code == 0
    kept = [pair for round_ in pairings(tmp_path / "run").values() for pair in round_]
    assert sum(b is None for _, b in kept) == 5  # a round robin of five: everybody rests once
    played = {frozenset(item["debate"]["players"]) for item in debates(tmp_path / "run")}
    assert {frozenset(pair) for pair in kept if None not in pair} == played


def judged(players: tuple[str, str], *shares: float | None) -> Recorded:
    """A debate whose verdicts gave these shares to the first player; None for an unparsed one."""
    question = Question("q", "Who?", ("Ana.", "Tomas."), 0, None, "s", "test")
    verdicts = tuple(
        Verdict("j", order, None if share is None else (share, 1 - share), unparsed="none" if share is None else None)
        for share, order in zip(shares, ((0, 1), (1, 0)), strict=False)
    )
    return Recorded(Debate("d", "simultaneous", Transcript(question), players), verdicts)


def test_byes_failures_and_unparsed_verdicts_neither_lift_nor_sink() -> None:
    whole = [judged(("winner", "loser"), 0.9, 0.9), judged(("winner", "loser"), 0.8, 0.2)]
    half = [judged(("a", "b"), 0.9, None), judged(("a", "b"))]  # one verdict lost, one debate failed
    names = ["winner", "loser", "a", "b", "resting"]
    tally = Tally(names, "hard")
    for item in (*whole, *half):
        tally.add([item])
    assert tally.means() == {
        "winner": 0.75,
        "loser": 0.25,
        "a": 1.0,
        "b": 0.0,
        "resting": 0.5,  # above who lost, below who won: a sum of points would put it last
    }
