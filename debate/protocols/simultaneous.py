"""Simultaneous debate: both debaters speak at once, having heard all earlier rounds (Khan et al. 2024)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from debate.agents.debater import Debater
from debate.models.base import Draw
from debate.question import Question
from debate.transcript import Transcript, Turn


async def take_turn(debater: Debater, transcript: Transcript, answer: int, round_: int, draw: Draw) -> Turn:
    """Let one debater speak on what it has heard so far."""
    view = transcript.view(answer=answer, story=True)
    speech = await debater.argue(view, draw._replace(stream=debater.name))
    return Turn.choose(speech.candidates, speech.chosen, round_=round_, answer=answer)


@dataclass(frozen=True, slots=True)
class Simultaneous:
    """Simultaneous debate.

    Attributes:
        rounds: Rounds in a debate.
    """

    rounds: int = 3
    name: ClassVar[str] = "simultaneous"
    seatings: ClassVar[tuple[tuple[int, int], ...]] = ((0, 1),)

    async def hold(
        self, question: Question, debaters: tuple[Debater, Debater], seats: tuple[int, int], draw: Draw
    ) -> Transcript:
        """Hold one debate; see DebateProtocol."""
        transcript = Transcript(question, seats)
        for round_ in range(1, self.rounds + 1):
            turns = await asyncio.gather(
                *(take_turn(debaters[answer], transcript, answer, round_, draw) for answer in seats)
            )
            transcript = transcript.with_turns(*turns)
        return transcript
