"""Baselines: a judge that decides without any debate, from the question alone or from the story itself.

Between them lies what a protocol can win: the performance gap recovered is (accuracy - blind) / (expert - blind).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from debate.models.base import Draw
from debate.protocols.base import Seats, Speakers
from debate.question import Question
from debate.transcript import Transcript

BaselineName = Literal["blind", "expert"]
BASELINES: tuple[BaselineName, ...] = get_args(BaselineName)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A "debate" in which nobody speaks.

    Attributes:
        name: ``blind``: the judge sees question and answers; ``expert``: it reads the story too.
    """

    name: BaselineName
    rounds: ClassVar[int] = 0

    def seatings(self, question: Question) -> tuple[Seats, ...]:  # noqa: ARG002 - the interface
        """One: it is judged in both orders like any other."""
        return ((0, 1),)

    async def hold(self, question: Question, speakers: Speakers, seats: Seats, draw: Draw) -> Transcript:  # noqa: ARG002 - the interface
        """Return the empty transcript; see DebateProtocol."""
        return Transcript(question, seats)


def judge_reads_story(protocol: str) -> bool:
    """Whether the judge of a protocol, by its name, is shown the story."""
    return protocol == "expert"
