"""Consultancy: one consultant argues for an assigned answer, and the judge probes (Khan et al. 2024).

Double consultancy pairs two opposite consultancies of one question: neither consultant hears the other, and the judge
decides on both together.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from debate.agents.debater import Debater
from debate.agents.questioner import Questioner
from debate.errors import ConfigError
from debate.models.base import Draw
from debate.protocols.base import Seats, Speakers, ask, both, drawn_seats, take_turn
from debate.question import Question
from debate.together import together
from debate.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Consultancy:
    """A consultancy; in which seat the judge sees the consultant's answer is drawn for each question.

    Attributes:
        rounds: Rounds in a consultancy; the judge speaks before each but the first.
        questioner: The judge that speaks, or None for a judge that only listens.
    """

    rounds: int = 3
    questioner: Questioner | None = None
    name: ClassVar[str] = "consultancy"

    def seatings(self, question: Question) -> tuple[Seats, ...]:
        """One, drawn: what the judge asks may depend on the letters it is shown."""
        return drawn_seats(question)

    async def hold(self, question: Question, speakers: Speakers, seats: Seats, draw: Draw) -> Transcript:
        """Hold one consultancy with the one speaker there is; see DebateProtocol."""
        present = [(answer, speaker) for answer, speaker in enumerate(speakers) if speaker is not None]
        if len(present) != 1:
            raise ConfigError(f"a consultancy has one speaker, got {len(present)}; a double consultancy has two")
        answer, consultant = present[0]
        return await self.consult(question, consultant, answer, seats, draw)

    async def consult(
        self, question: Question, consultant: Debater, answer: int, seats: Seats, draw: Draw
    ) -> Transcript:
        """Hold one consultancy for an answer.

        Args:
            question: A question of two answers.
            consultant: Who argues.
            answer: The answer index it argues for.
            seats: The answer index in seat A and the one in seat B.
            draw: Seed and repetition.

        Returns:
            The complete transcript.

        Raises:
            ModelError: A model failed for good.
        """
        transcript = Transcript(question, seats)
        for round_ in range(1, self.rounds + 1):
            transcript = transcript.with_turns(*await ask(self.questioner, transcript, round_, draw))
            turn = await take_turn(consultant, transcript, answer, round_, draw, role="consultant")
            transcript = transcript.with_turns(turn)
        return transcript


@dataclass(frozen=True, slots=True)
class DoubleConsultancy:
    """Two opposite consultancies of one question, held apart and judged together.

    Attributes:
        rounds: Rounds in each consultancy.
        questioner: The judge that speaks in each, or None for a judge that only listens.
    """

    rounds: int = 3
    questioner: Questioner | None = None
    name: ClassVar[str] = "double_consultancy"

    def seatings(self, question: Question) -> tuple[Seats, ...]:
        """One, drawn, as of a consultancy."""
        return drawn_seats(question)

    async def hold(self, question: Question, speakers: Speakers, seats: Seats, draw: Draw) -> Transcript:
        """Hold both consultancies; see DebateProtocol."""
        single = Consultancy(self.rounds, self.questioner)
        consultants = both(speakers, "double consultancy")
        parts = await together(single.consult(question, consultants[answer], answer, seats, draw) for answer in seats)
        turns = [
            dataclasses.replace(turn, to=answer) if turn.role == "judge" else turn
            for answer, part in zip(seats, parts, strict=True)
            for turn in part.turns
        ]
        return Transcript(question, seats, tuple(sorted(turns, key=lambda turn: turn.round)))
