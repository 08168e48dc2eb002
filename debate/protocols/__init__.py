"""Protocols: who speaks when, having heard what; a protocol turns a question and players into a transcript."""

from __future__ import annotations

from typing import Literal, Protocol

from pydantic import Field

from debate.agents.debater import Debater
from debate.config import Config
from debate.models.base import Draw
from debate.protocols.sequential import Sequential
from debate.protocols.simultaneous import Simultaneous
from debate.question import Question
from debate.transcript import Transcript

__all__ = ["DebateProtocol", "ProtocolConfig", "Sequential", "Simultaneous", "build_protocol"]


class DebateProtocol(Protocol):
    """A protocol that sets one assigned answer against another."""

    @property
    def name(self) -> str:
        """What configurations call it."""
        ...

    @property
    def rounds(self) -> int:
        """Rounds in a debate."""
        ...

    @property
    def seatings(self) -> tuple[tuple[int, int], ...]:
        """The seats a debate is held in: one entry, or both where the order of speaking matters."""
        ...

    async def hold(
        self, question: Question, debaters: tuple[Debater, Debater], seats: tuple[int, int], draw: Draw
    ) -> Transcript:
        """Hold one debate.

        Args:
            question: A question of two answers.
            debaters: The one that defends answer 0 and the one that defends answer 1.
            seats: The answer index in seat A and the one in seat B.
            draw: Seed and repetition; each debater draws in a stream of its own name.

        Returns:
            The complete transcript.

        Raises:
            ModelError: A model failed for good.
        """
        ...


class ProtocolConfig(Config):
    """Which protocol, and how long."""

    kind: Literal["simultaneous", "sequential"] = Field(
        "simultaneous", description="simultaneous: both speak at once; sequential: seat A first, held in both seatings"
    )
    rounds: int = Field(3, ge=1, le=20, description="rounds in a debate")


def build_protocol(config: ProtocolConfig) -> DebateProtocol:
    """Make the protocol that a configuration names."""
    return Sequential(config.rounds) if config.kind == "sequential" else Simultaneous(config.rounds)
