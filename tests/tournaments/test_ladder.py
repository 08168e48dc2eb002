"""What the ladder's tables say of players that the field cannot place."""

from __future__ import annotations

from collections.abc import Sequence

from debate.record import Recorded
from tests.judged import RIGHT, WRONG, judged
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
