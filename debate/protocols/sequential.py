"""Sequential debate: seat A speaks first in each round, and seat B has heard it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from debate.models.base import Draw
from debate.protocols.base import Seats, Speakers, both, take_turn
from debate.question import Question
from debate.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Sequential:
    """Sequential debate; held once for each seating, since the order of speaking matters.

    Attributes:
        rounds: Rounds in a debate.
    """

    rounds: int = 3
    name: ClassVar[str] = "sequential"

    def seatings(self, question: Question) -> tuple[Seats, ...]:  # noqa: ARG002 - the interface
        """Both."""
        return ((0, 1), (1, 0))

    async def hold(self, question: Question, speakers: Speakers, seats: Seats, draw: Draw) -> Transcript:
        """Hold one debate; see DebateProtocol."""
        debaters = both(speakers, self.name)
        transcript = Transcript(question, seats, spoken_order=True)
        for round_ in range(1, self.rounds + 1):
            for answer in seats:
                turn = await take_turn(debaters[answer], transcript, answer, round_, draw)
                transcript = transcript.with_turns(turn)
        return transcript
