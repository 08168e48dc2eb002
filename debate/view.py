"""Views: what an agent gets to see. A view has no gold field, so no agent can leak it."""

from __future__ import annotations

from dataclasses import dataclass

from debate.quotes import Argument, Seat


@dataclass(frozen=True, slots=True)
class ViewTurn:
    """One speech as others see it.

    Attributes:
        round: From 1 on.
        role: "debater", "consultant" or "judge".
        seat: The speaker's seat, or None for the judge.
        argument: The speech; ``argument.render(seat)`` is its text.
    """

    round: int
    role: str
    seat: Seat | None
    argument: Argument

    @property
    def speaker(self) -> str:
        """How the speaker is called before others."""
        return "Judge" if self.seat is None else f"{self.role.capitalize()} {self.seat}"

    @property
    def text(self) -> str:
        """The speech with quote marks, and names for this frame's seats."""
        return self.argument.render(self.seat)


@dataclass(frozen=True, slots=True)
class View:
    """What one agent sees of a debate.

    Attributes:
        question: The question.
        answers: The answers in the order shown, A first.
        story: The story, or None where the agent may not read it.
        turns: The speeches so far, in the order shown.
        seat: The agent's own seat, or None for a judge.
    """

    question: str
    answers: tuple[str, ...]
    story: str | None
    turns: tuple[ViewTurn, ...]
    seat: Seat | None = None

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
