"""What the ladder's tables say of players that the field cannot place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from debate.record import Recorded
from tests.judged import RIGHT, WRONG, judged
from tests.runs import SCRIPTS, debates, hold, metrics
from tournaments.comparison import elo_table
from tournaments.config import RatingConfig
from tournaments.judged import Judged
from tournaments.ladder import Standings, ladder_table, side_table


def standings(recorded: Sequence[Recorded]) -> Standings:
    found = Judged.of("j", recorded, RatingConfig()).standings
    assert found is not None
    return found


def test_what_is_disconnected_has_no_number() -> None:
    # Of two players, one's right side meets only the other's wrong side: four abilities, in two pairs.
    sides = (("a", "b"), ("b", "a"))
    shares = ((RIGHT, WRONG), (WRONG, RIGHT), (RIGHT, RIGHT), (WRONG, WRONG))
    pair = [judged(f"q{at}", *row, players=players) for at, row in enumerate(shares) for players in sides]
    table = side_table(standings(pair))
    assert table is not None
    assert [row[1:3] for row in table.rows] == [["disconnected"] * 2] * 2


def test_what_is_undefeated_keeps_its_number_and_the_disconnected_have_none() -> None:
    shares = (RIGHT, WRONG)
    found = standings(
        [
            *(judged(f"q{at}", one, players=("a", "b")) for at, one in enumerate(shares)),
            *(judged(f"q{at}", RIGHT, players=("c", "a")) for at in range(2)),
            *(judged(f"q{at}", one, players=("x", "y")) for at, one in enumerate(shares)),
        ]
    )
    assert {name: rating.status for name, rating in found.ratings.players.items()} == {
        "a": "ok",
        "b": "ok",
        "c": "undefeated",
        "x": "disconnected",
        "y": "disconnected",
    }
    best = f"undefeated ({found.ratings.players['c'].elo:.0f})"
    for table, name, elo in ((ladder_table(found), 1, 2), (elo_table({"j": found.ratings}), 0, 1)):
        cells = {row[name]: row[elo] for row in table.rows}
        assert (cells["c"], cells["x"], cells["y"]) == (best, "disconnected", "disconnected")


def test_preference_scores_that_could_not_be_read_are_reported(tmp_path: Path) -> None:
    likes = {"model": f"{SCRIPTS}:reasoning_judge", "kind": "reason"}  # names no answer in a quarter of its replies
    optimizer = {"kind": "best_of_n", "n": 2, "preference": likes}
    players = [
        {"name": "two", "model": f"{SCRIPTS}:debater", "optimizer": optimizer},
        {"name": "one", "model": f"{SCRIPTS}:second_debater"},
    ]
    ended = hold(tmp_path, players=players, stories=2, self_play=None)
    assert ended.code == 0, ended.err
    candidates = [
        candidate
        for item in debates(tmp_path / "run")
        for turn in item["debate"]["transcript"]["turns"]
        if item["debate"]["players"][turn["answer"]] == "two"
        for candidate in turn["candidates"]
        if not candidate["flaws"]
    ]
    share = sum(one["score"] is None for one in candidates) / len(candidates)
    assert 0 < share < 1
    assert f"could not be read: two {100 * share:.1f}%." in " ".join(ended.out.split())
    found = metrics(tmp_path / "run")["players"]
    assert found["two"]["unread_scores"] == pytest.approx(share)
    assert "unread_scores" not in found["one"]
