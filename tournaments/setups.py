"""Setups: which debates there are in a match, in self-play, and without an opponent or without anybody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from debate.protocols import DebateProtocol
from debate.question import Question
from debate.record import Debate, join_key
from debate.transcript import Transcript


class Setup(NamedTuple):
    """One debate to be held.

    Attributes:
        question: A question of two answers.
        players: Who defends answer 0 and who defends answer 1; None where nobody does.
        seats: The answer index in seat A and the one in seat B.
        repetition: Counts repetitions of the same debate.
    """

    question: Question
    players: tuple[str | None, str | None]
    seats: tuple[int, int] = (0, 1)
    repetition: int = 0

    def key(self, protocol: str) -> str:
        """The debate's id in its run; nobody's name is empty, which no player's is."""
        names = (name or "" for name in self.players)
        seats = "AB" if self.seats == (0, 1) else "BA"
        return join_key(protocol, self.question.id, *names, seats, str(self.repetition))

    def debate(self, protocol: str, transcript: Transcript | None = None) -> Debate:
        """The debate that is set up, as it went; nothing was said where there is no transcript."""
        said = Transcript(self.question, self.seats) if transcript is None else transcript
        return Debate(self.key(protocol), protocol, said, self.players, self.repetition)


def match_setups(
    player_a: str, player_b: str, questions: Sequence[Question], protocol: DebateProtocol, *, repetition: int = 0
) -> list[Setup]:
    """List the debates of a match: every question, both assignments, each seating of the protocol."""
    assignments = ((player_a, player_b), (player_b, player_a))
    return [
        Setup(question, players, seats, repetition)
        for question in questions
        for players in assignments
        for seats in protocol.seatings(question)
    ]


def self_play_setups(player: str, questions: Sequence[Question], protocol: DebateProtocol) -> list[Setup]:
    """List a player's debates against itself: every question once, each seating of the protocol."""
    return [Setup(question, (player, player), seats) for question in questions for seats in protocol.seatings(question)]


def consultancy_setups(player: str, questions: Sequence[Question], protocol: DebateProtocol) -> list[Setup]:
    """List a consultant's consultancies: every question, assigned each answer once."""
    return [
        Setup(question, players, seats)
        for question in questions
        for players in ((player, None), (None, player))
        for seats in protocol.seatings(question)
    ]


def baseline_setups(questions: Sequence[Question]) -> list[Setup]:
    """List the debates in which nobody speaks: every question once."""
    return [Setup(question, (None, None)) for question in questions]
