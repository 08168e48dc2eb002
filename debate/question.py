"""Questions: a text, its possible answers, and the hidden story that settles it."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Literal, get_args

from debate.errors import SourceError

Fold = Literal["judge", "debater", "validation", "test"]
FOLDS: tuple[Fold, ...] = get_args(Fold)
#: Which wrong answer of several stands against the right one, see ``Question.pair``.
DistractorChoice = Literal["source", "drawn", "closest"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a story.

    Attributes:
        id: Unique within its source.
        text: The question.
        answers: Two or more answers, in a fixed order that carries no information about which is right.
        gold: Index of the right answer, or None where it is not known. Only scoring code may read it.
        story: The hidden text, or None where there is none.
        story_id: Questions on one story share it; folds and clusters go by it.
        source: The source string that the question was loaded from.
        fold: What the story may be used for, or None where the source does not say.
        distractor: Index of the most tempting wrong answer, where the source knows it.
        hard: Whether the source marks the question as hard, where it says.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    gold: int | None
    story: str | None
    story_id: str
    source: str
    fold: Fold | None = None
    distractor: int | None = None
    hard: bool | None = None

    def __post_init__(self) -> None:
        """Refuse a question that no debate could be held on."""
        if len(self.answers) < 2:
            raise SourceError(
                f"question {self.id!r} of {self.source!r} has {len(self.answers)} answers; at least 2 needed"
            )
        for name, index in (("gold", self.gold), ("distractor", self.distractor)):
            if index is not None and not 0 <= index < len(self.answers):
                raise SourceError(f"question {self.id!r} of {self.source!r}: no answer {index}, which is its {name}")
        if self.gold is not None and self.gold == self.distractor:
            raise SourceError(f"question {self.id!r} of {self.source!r}: the distractor is the gold answer")

    def pair(self, choice: DistractorChoice = "source") -> Question:
        """Reduce to the right answer and its distractor, for protocols that set one answer against another.

        A question of two answers is returned as it is. A hash orders the two that are left of more, so their order says
        nothing about which is right.

        Args:
            choice: The distractor: ``source`` takes the one that the source names, or, where it names none, draws one
                by a hash of the question; ``drawn`` always draws; ``closest`` takes the wrong answer worded most like
                the right one (rapidfuzz ``token_set_ratio``, ties by order).

        Returns:
            A question of exactly two answers, with the same id and story.

        Raises:
            SourceError: The question has more than two answers and no gold index.
        """
        if len(self.answers) == 2:
            return self
        if self.gold is None:
            raise SourceError(
                f"question {self.id!r} of {self.source!r} has {len(self.answers)} answers and no gold answer to pair "
                "with a distractor; give it two answers or a gold index"
            )
        noise = int.from_bytes(hashlib.sha256(f"pair\0{self.id}\0{self.text}".encode()).digest()[:8], "big")
        wrong = [index for index in range(len(self.answers)) if index != self.gold]
        distractor = self.distractor if choice == "source" else None
        if choice == "closest":
            distractor = self._closest(self.answers[self.gold], wrong)
        if distractor is None:
            distractor = wrong[(noise >> 1) % len(wrong)]
        order = (self.gold, distractor) if noise % 2 == 0 else (distractor, self.gold)
        return dataclasses.replace(
            self,
            answers=tuple(self.answers[index] for index in order),
            gold=order.index(self.gold),
            distractor=order.index(distractor),
        )

    def _closest(self, gold: str, wrong: list[int]) -> int:
        from rapidfuzz import fuzz

        return max(wrong, key=lambda index: (fuzz.token_set_ratio(gold.lower(), self.answers[index].lower()), -index))
