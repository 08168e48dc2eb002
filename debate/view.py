"""Views: what an agent gets to see. A view has no gold field, so no agent can leak it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from debate.quotes import Argument, Seat

Role = Literal["debater", "consultant", "judge", "persuader"]
_SWAPPED: dict[Seat | None, Seat | None] = {"A": "B", "B": "A", None: None}


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

    @property
    def place(self) -> tuple[int, int, bool]:
        """Where both speak at once: by round, what concerns seat A first, the judge before whom it asks."""
        about = self.to if self.seat is None else self.seat
        return self.round, -1 if about is None else "AB".index(about), self.seat is not None

    def swapped(self) -> ViewTurn:
        """Exchange the letters: the same speech in the other seat."""
        frame: Seat = "B" if self.frame == "A" else "A"
        return replace(self, seat=_SWAPPED[self.seat], frame=frame, to=_SWAPPED[self.to])


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
        spoken_order: Whether the order within a round matters, as of a transcript. Where it does not, a round is shown
            seat A first.
    """

    question: str
    answers: tuple[str, ...]
    story: str | None
    turns: tuple[ViewTurn, ...]
    seat: Seat | None = None
    role: Role = "debater"
    spoken_order: bool = False

    def with_turns(self, *turns: ViewTurn) -> View:
        """Add speeches, each where the transcript would show it."""
        turns = (*self.turns, *turns)
        shown = turns if self.spoken_order else tuple(sorted(turns, key=lambda turn: turn.place))
        return replace(self, turns=shown)

    def swapped(self) -> View:
        """Exchange the seats: what the same agent would see of the swapped transcript.

        Returns:
            The view with answers, seats, frames and addressees exchanged; swapping it again gives this view.

        Raises:
            ValueError: The view does not show exactly two answers.
        """
        if len(self.answers) != 2:
            raise ValueError(f"a view of {len(self.answers)} answers has no seats to exchange; reduce it to two")
        bare = replace(self, answers=self.answers[::-1], turns=(), seat=_SWAPPED[self.seat])
        return bare.with_turns(*(turn.swapped() for turn in self.turns))

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
