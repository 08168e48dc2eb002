"""What a session leaves of very many debates."""

from __future__ import annotations

from debate.question import Question
from debate.record import Debate, Recorded
from debate.transcript import Transcript
from tournaments.session import spread

QUESTION = Question("q", "Who?", ("Ann", "Bob"), 0, None, "s", "here")


def test_debates_with_a_page_are_spread_evenly_and_keep_their_order() -> None:
    def debates(count: int) -> list[Recorded]:
        return [Recorded(Debate(str(n), "sequential", Transcript(QUESTION), ("a", "b")), ()) for n in range(count)]

    def chosen(count: int, most: int) -> list[int]:
        return [int(item.debate.id) for item in spread(debates(count), most)]

    assert chosen(3, 4) == [0, 1, 2]
    assert chosen(4, 4) == [0, 1, 2, 3]
    assert chosen(5, 4) == [0, 1, 2, 3]
    assert chosen(8, 4) == [0, 2, 4, 6]
    assert chosen(11, 4) == [0, 2, 5, 8]
    assert chosen(0, 4) == []
