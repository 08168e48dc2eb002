"""Interactive debate: from round 2 on the judge first asks something, and both debaters hear it (Khan et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from debate.agents.questioner import Questioner
from debate.errors import ConfigError
from debate.models.base import Draw
from debate.protocols.base import Seats, Speakers, ask, both, drawn_seats, take_turn
from debate.question import Question
from debate.together import together
from debate.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Interactive:
    """Simultaneous debate with a judge that speaks; in which seat it sees an answer is drawn for each question.

    Attributes:
        rounds: Rounds in a debate; the judge speaks before each but the first.
        questioner: The judge that speaks; None only where no debate will be held, as in a plan.
    """

    rounds: int = 3
    questioner: Questioner | None = None
    name: ClassVar[str] = "interactive"

    def seatings(self, question: Question) -> tuple[Seats, ...]:
        """One, drawn: what the judge asks may depend on the letters it is shown."""
        return drawn_seats(question)

    async def hold(self, question: Question, speakers: Speakers, seats: Seats, draw: Draw) -> Transcript:
        """Hold one debate; see DebateProtocol."""
        if self.questioner is None:
            raise ConfigError("an interactive debate needs a judge that speaks; give the protocol a questioner")
        debaters = both(speakers, self.name)
        transcript = Transcript(question, seats)
        for round_ in range(1, self.rounds + 1):
            transcript = transcript.with_turns(*await ask(self.questioner, transcript, round_, draw))
            turns = await together(take_turn(debaters[answer], transcript, answer, round_, draw) for answer in seats)
            transcript = transcript.with_turns(*turns)
        return transcript
