"""Views: what an agent gets to see. A view has no gold field, so no agent can leak it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from debate.quotes import Argument, Seat

Role = Literal["debater", "consultant", "judge"]


@dataclass(frozen=True, slots=True)
class ViewTurn:
    """One speech as others see it.

    Attributes:
        round: From 1 on.
        role: What the speaker is.
        seat: The speaker's seat, or None for the judge.
        argument: The speech.
        frame: The seat that its names are written for: the speaker's own, for the judge the one it called A.
        to: Whom the judge addresses, by seat, where it is one speaker of two; else None.
    """

    round: int
    role: Role
    seat: Seat | None
    argument: Argument
    frame: Seat
    to: Seat | None = None

    @property
    def speaker(self) -> str:
        """How the speaker is called before others."""
        if self.seat is None:
            return "Judge" if self.to is None else f"Judge to Consultant {self.to}"
        return f"{self.role.capitalize()} {self.seat}"

    @property
    def text(self) -> str:
        """The speech with quote marks, and names for this frame's seats."""
        return self.argument.render(self.frame)


@dataclass(frozen=True, slots=True)
class View:
    """What one agent sees of a debate.

    Attributes:
        question: The question.
        answers: The answers in the order shown, A first.
        story: The story, or None where the agent may not read it.
        turns: The speeches so far, in the order shown.
        seat: The agent's own seat, or None for a judge.
        role: What the agent is.
    """

    question: str
    answers: tuple[str, ...]
    story: str | None
    turns: tuple[ViewTurn, ...]
    seat: Seat | None = None
    role: Role = "debater"

    @property
    def speaker(self) -> str:
        """How the agent is called before others, such as "Debater A"."""
        return "Judge" if self.seat is None else f"{self.role.capitalize()} {self.seat}"

    @property
    def own_answer(self) -> str:
        """The answer that the agent defends."""
        return self.answers[self._own_index]

    @property
    def other_answer(self) -> str:
        """The answer that the opponent defends."""
        return self.answers[1 - self._own_index]

    @property
    def _own_index(self) -> int:
        if self.seat is None or len(self.answers) != 2:
            raise ValueError("a view without a seat has no own answer")
        return "AB".index(self.seat)
