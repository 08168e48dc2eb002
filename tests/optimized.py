"""A stage for optimizers: debaters of few words, judges by formula, all of them written down."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Sequence

from debate.agents.debater import Limits, Speech, speak
from debate.models.base import Draw
from debate.question import Question
from debate.quotes import parse_argument
from debate.transcript import Candidate, Transcript, Turn
from debate.verdict import Decision
from debate.view import Role, View

STORY = "Ana shut the gate at noon. Tomas rode off without a word. The dog slept on the step."
QUESTION = Question("q", "Who shut the gate?", ("It was Tomas.", "It was Ana."), 1, STORY, "s", "test")
LIMITS = Limits(min_words=1, max_words=60, min_quotes=0, max_attempts=2)


def noise(*parts: object) -> float:
    """A number in (0, 1) that depends on nothing but its parts."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return (int.from_bytes(digest[:6], "big") + 0.5) / 2**48


def candidate(text: str, *flaws: str, seat: str = "A") -> Candidate:
    """Make a candidate that says a text."""
    return Candidate(text, parse_argument(text, STORY, seat="A" if seat == "A" else "B"), "", flaws)


def said(round_: int, answer: int | None, text: str, role: Role = "debater") -> Turn:
    """Make a turn in which a text is said, by the judge where it is for no answer."""
    seat = None if answer is None else "B" if answer else "A"
    argument = parse_argument(text, STORY, seat="B" if seat == "B" else "A")
    return Turn(round_, "judge" if answer is None else role, answer, argument)


def view_of(*turns: Turn, answer: int = 0, spoken_order: bool = False, role: Role = "debater") -> View:
    """What the speaker for an answer sees before its next speech."""
    return Transcript(QUESTION, (0, 1), turns, spoken_order).view(answer=answer, story=True, role=role)


class Formula:
    """A judge whose P(answer A) is a function of the view; it keeps the views and the draws.

    Args:
        probability: P(A), or None for an unparsed decision.
    """

    def __init__(self, probability: Callable[[View], float | None], name: str = "formula") -> None:
        self.name = name
        self.views: list[View] = []
        self.draws: list[Draw] = []
        self._probability = probability

    async def decide(self, view: View, draw: Draw) -> Decision:
        """Decide by the formula."""
        self.views.append(view)
        self.draws.append(draw)
        value = self._probability(view)
        return Decision(None, unparsed="told not to") if value is None else Decision((value, 1 - value))


def texts(view: View) -> list[str]:
    """Everything said, as shown, with who says it."""
    return [f"{turn.speaker}: {turn.text}" for turn in view.turns]


def sigmoid(log_odds: float) -> float:
    """Undo a logit."""
    return 1 / (1 + math.exp(-log_odds))


class Words:
    """A debater that says what a list or a function gives; invalid where it begins with "bad".

    Args:
        say: Texts by ``draw.sample`` modulo their number, or a function of the view and the draw.
    """

    def __init__(self, say: Sequence[str] | Callable[[View, Draw], str], name: str = "words") -> None:
        self.name = name
        self.asked: list[tuple[View, Draw, int]] = []
        self._say = say

    async def candidates(self, view: View, draw: Draw, n: int) -> tuple[Candidate, ...]:
        """Say n things."""
        self.asked.append((view, draw, n))
        return tuple(self._make(view, one) for one in draw.take(n))

    async def argue(self, view: View, draw: Draw) -> Speech:
        """Say the first."""
        return speak(await self.candidates(view, draw, 1), LIMITS, view.story)

    def _make(self, view: View, draw: Draw) -> Candidate:
        text = self._say(view, draw) if callable(self._say) else self._say[draw.sample % len(self._say)]
        made = Candidate(text, parse_argument(text, view.story, seat=view.seat))
        return dataclasses.replace(made, flaws=("bad",)) if text.startswith("bad") else made


class Known:
    """A preference model that knows the score of every text; it keeps what it was asked.

    Args:
        scores: By text, or a function of it; None is unparsed.
    """

    name = "known"

    def __init__(self, scores: dict[str, float | None] | Callable[[str], float | None]) -> None:
        self.asked: list[list[str]] = []
        self._scores = scores

    async def log_odds(self, view: View, candidates: Sequence[Candidate], draw: Draw) -> list[float | None]:  # noqa: ARG002 - the interface
        """Look the scores up."""
        plain = [one.argument.plain() for one in candidates]
        self.asked.append(plain)
        return [self._scores(text) if callable(self._scores) else self._scores[text] for text in plain]
