"""Simultaneous debate: both debaters speak at once, having heard all earlier rounds (Khan et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from debate.models.base import Draw
from debate.protocols.base import Seats, Speakers, both, drawn_seats, take_turn
from debate.question import Question
from debate.together import together
from debate.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Simultaneous:
    """Simultaneous debate.

    Attributes:
        rounds: Rounds in a debate.
    """

    rounds: int = 3
    name: ClassVar[str] = "simultaneous"

    def seatings(self, question: Question) -> tuple[Seats, ...]:
        """One, drawn: a debater's prompt names its seat."""
        return drawn_seats(question)

    async def hold(self, question: Question, speakers: Speakers, seats: Seats, draw: Draw) -> Transcript:
        """Hold one debate; see DebateProtocol."""
        debaters = both(speakers, self.name)
        transcript = Transcript(question, seats)
        for round_ in range(1, self.rounds + 1):
            turns = await together(take_turn(debaters[answer], transcript, answer, round_, draw) for answer in seats)
            transcript = transcript.with_turns(*turns)
        return transcript
