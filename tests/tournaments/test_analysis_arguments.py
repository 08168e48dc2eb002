"""Speeches sorted by round, side, player and N of best-of-N."""

from __future__ import annotations

import dataclasses

from debate.quotes import Argument
from debate.record import Recorded
from debate.transcript import Turn
from tests.analysed import item
from tests.judged import RIGHT
from tournaments import analysis_arguments
from tournaments.analysis_arguments import alike_but_for_n, best_of
from tournaments.cast import Cast, Member
from tournaments.gather import Gathered

ONE, FOUR = {"kind": "critique_refine"}, {"kind": "best_of_n", "n": 4}
CAST = Cast(
    {
        "plain": Member({"optimizer": []}),
        "picked": Member({"optimizer": [FOUR]}),
        "critic": Member({"optimizer": [ONE, FOUR]}),
        "nested": Member({"optimizer": [{"kind": "best_of_n", "n": 2}, FOUR]}),
        "none": Member({}),
    }
)


def spoken(question: str, first: str, second: str, *, rounds: int = 1) -> Recorded:
    """A debate in which who defends answer 0, the right one, says two words a round and the other three."""
    made = item(question, RIGHT, players=(first, second))
    turns = tuple(
        Turn(number, "debater", answer, Argument((text,)))
        for number in range(1, rounds + 1)
        for answer, text in enumerate(("two words", "now three words"))
    )
    transcript = dataclasses.replace(made.debate.transcript, turns=turns)
    return Recorded(dataclasses.replace(made.debate, transcript=transcript), made.verdicts)


def test_n_is_read_from_the_configuration() -> None:
    names = ("plain", "picked", "critic", "nested", "none", "a person")
    assert [best_of(CAST, name) for name in names] == [1, 4, 4, 8, 1, None]
    assert alike_but_for_n(CAST, names) == [{"plain": 1, "picked": 4, "nested": 8, "none": 1}]  # no other has a critic


def test_speeches_are_sorted_by_round_side_player_and_n() -> None:
    field = Gathered([spoken("1", "plain", "picked", rounds=2), spoken("2", "picked", "a person")], CAST)
    values = analysis_arguments.values(field)

    def words(part: str) -> dict[str, tuple[int, float]]:
        own = values[part]
        assert isinstance(own, dict)
        return {name: (one["speeches"], one["words"][0]) for name, one in own["simultaneous"].items()}

    assert words("rounds") == {"1": (4, 2.5), "2": (2, 2.5)}
    assert words("sides") == {"right": (3, 2), "wrong": (3, 3)}
    assert words("players") == {"plain": (2, 2), "picked": (3, 8 / 3), "a person": (1, 3)}
    assert words("best_of") == {"1": (2, 2), "4": (3, 8 / 3)}  # the person has no N


def test_without_best_of_n_and_without_speeches_there_is_no_table() -> None:
    plain = Gathered([spoken("1", "plain", "none")], CAST)
    assert analysis_arguments.values(plain)["best_of"] == {}
    assert analysis_arguments.sections(Gathered([item("1", RIGHT)], CAST)) == []
