"""Transcripts: immutable records of who said what, for which answer, in which seat."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from debate.errors import ConfigError
from debate.question import Question
from debate.quotes import Argument, Seat
from debate.view import Role, View, ViewTurn

SEATS: tuple[Seat, Seat] = ("A", "B")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One sampled argument before selection.

    Attributes:
        raw: The model's whole reply.
        argument: What was parsed from it.
        thinking: What the reply held outside the argument; never shown to others.
        flaws: Why it is not valid (too short, no quote, ...); empty for a valid candidate.
        score: The preference model's log-odds for the speaker's answer, or None where none was asked.
        critique: The critique that it was written after; empty where there was none.
    """

    raw: str
    argument: Argument
    thinking: str = ""
    flaws: tuple[str, ...] = ()
    score: float | None = None
    critique: str = ""

    @property
    def valid(self) -> bool:
        """Whether the candidate keeps to the limits."""
        return not self.flaws


@dataclass(frozen=True, slots=True)
class Help:
    """What a helper made of a draft before it was said, in persuasion.

    Attributes:
        kind: What the helper is for: "fallacy" or "logical".
        draft: What the speaker would have said.
        name: The fallacy or the kind of reasoning, as the helper wrote it; empty where it failed, and the draft was
            said.
        replies: The helper's whole replies, in order.
        flaws: Why each of them could not be read; empty for one that could.
    """

    kind: str
    draft: Argument
    name: str
    replies: tuple[str, ...]
    flaws: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether no reply could be read."""
        return not self.name


@dataclass(frozen=True, slots=True)
class Turn:
    """One speech by one speaker.

    Attributes:
        round: From 1 on.
        role: What the speaker is.
        answer: The answer index the speaker defends, or None for a judge.
        argument: What is shown to the others.
        thinking: What the speaker thought before it; never shown to others.
        flaws: Why the argument is not valid; empty for a valid one.
        candidates: Everything that was sampled for the turn, in order: training data.
        to: Of a judge's turn: the answer whose speaker it addresses, where that is one speaker of two.
        first: Of a judge's turn: the answer that it was shown in seat A. A speaker's names stand for itself ("self")
            and its opponent; a judge's for the speaker of this answer and the other one.
        help: How a helper changed it, where there was one.
    """

    round: int
    role: Role
    answer: int | None
    argument: Argument
    thinking: str = ""
    flaws: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    to: int | None = None
    first: int = 0
    help: Help | None = None

    @staticmethod
    def choose(
        candidates: tuple[Candidate, ...], index: int, *, round_: int, answer: int | None, role: Role = "debater"
    ) -> Turn:
        """Make the turn in which ``candidates[index]`` is what the speaker says."""
        chosen = candidates[index]
        return Turn(round_, role, answer, chosen.argument, chosen.thinking, chosen.flaws, candidates)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A debate or consultancy, complete or under way.

    Attributes:
        question: The question, gold and story included; agents never get it, they get views.
        seats: The answer index shown in seat A and the one shown in seat B.
        turns: In the order they were spoken.
        spoken_order: Whether the order within a round matters (each speaker heard the one before). Where it does not
            (both spoke at once), a round is shown seat A first, so exchanging seats exchanges the speeches too.
    """

    question: Question
    seats: tuple[int, int] = (0, 1)
    turns: tuple[Turn, ...] = ()
    spoken_order: bool = False

    def __post_init__(self) -> None:
        """Refuse seats that do not hold the two answers once each."""
        if len(self.question.answers) != 2 or sorted(self.seats) != [0, 1]:
            raise ConfigError(
                f"question {self.question.id!r}: a transcript seats exactly two answers, got "
                f"{len(self.question.answers)} answers and seats {self.seats}; reduce the question with Question.pair()"
            )

    def swapped(self) -> Transcript:
        """Exchange the seats: same speeches, same order of speaking, other letters."""
        return dataclasses.replace(self, seats=(self.seats[1], self.seats[0]))

    def with_turns(self, *turns: Turn) -> Transcript:
        """Append turns."""
        return dataclasses.replace(self, turns=(*self.turns, *turns))

    def seat_of(self, answer: int) -> Seat:
        """Return the seat in which an answer is shown."""
        return SEATS[self.seats.index(answer)]

    def view(self, *, answer: int | None = None, story: bool = False, role: Role = "debater") -> View:
        """Return what one agent gets to see.

        Args:
            answer: The answer index the agent defends, or None for a judge.
            story: Whether the agent may read the story.
            role: What the agent is, where it defends an answer.

        Returns:
            A view in the frame of this transcript's seats; it holds no gold index.
        """
        turns = self.turns if self.spoken_order else tuple(sorted(self.turns, key=self._place))
        return View(
            question=self.question.text,
            answers=(self.question.answers[self.seats[0]], self.question.answers[self.seats[1]]),
            story=self.question.story if story else None,
            turns=tuple(self._show(turn) for turn in turns),
            seat=None if answer is None else self.seat_of(answer),
            role="judge" if answer is None else role,
            spoken_order=self.spoken_order,
        )

    def _place(self, turn: Turn) -> tuple[int, int, bool]:
        """Where both speak at once: by round, what concerns seat A first, the judge before whom it asks."""
        about = turn.to if turn.answer is None else turn.answer
        return turn.round, -1 if about is None else self.seats.index(about), turn.answer is not None

    def _show(self, turn: Turn) -> ViewTurn:
        return ViewTurn(
            turn.round,
            turn.role,
            None if turn.answer is None else self.seat_of(turn.answer),
            turn.argument,
            frame=self.seat_of(turn.first if turn.answer is None else turn.answer),
            to=None if turn.to is None else self.seat_of(turn.to),
        )
