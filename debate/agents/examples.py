"""Examples: speeches on other stories that a debater is shown before it writes its own (few-shot)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from debate.errors import FoldError
from debate.fingerprint import SAME, words
from debate.quotes import Argument, Seat, parse_argument
from debate.view import Role, View

_RUN = 8  # words in a row that two texts share only if one is part of the other


@dataclass(frozen=True, slots=True)
class Example:
    """One speech, with what it was written from: a first speech, before anybody has said anything.

    Attributes:
        question: The question.
        answers: The answers in the order shown, A first.
        story: The story, or the part of it that is shown.
        argument: The speech as its speaker writes it, with ``<quote>…</quote>``.
        seat: Whose answer it argues for.
    """

    question: str
    answers: tuple[str, str]
    story: str
    argument: str
    seat: Seat = "A"

    @property
    def parsed(self) -> Argument:
        """The speech, its quotes verified against ``story``."""
        return parse_argument(self.argument, self.story, seat=self.seat, literal=(self.question, *self.answers))

    def view(self, role: Role) -> View:
        """What its speaker saw."""
        return View(self.question, self.answers, self.story, (), self.seat, role)

    def hold_apart(self, story: str | None) -> None:
        """Hold that the example is of another story: else it would give away what the debater is to find.

        The texts are of one story if half of the runs of eight words of the shorter one are in the other, so an excerpt
        is known too.

        Args:
            story: The story that is being debated.

        Raises:
            FoldError: It is of this story.
        """
        ours, theirs = _runs(self.story), _runs(story or "")
        if ours and theirs and len(ours & theirs) >= SAME * min(len(ours), len(theirs)):
            raise FoldError(
                f"the example {self.question!r} is of the story that is being debated; give examples of stories of the "
                "judge or debater fold"
            )


@functools.lru_cache(maxsize=64)
def _runs(text: str) -> frozenset[int]:
    found = words(text)
    return frozenset(hash(tuple(found[at : at + _RUN])) for at in range(max(0, len(found) - _RUN) + 1) if found)
