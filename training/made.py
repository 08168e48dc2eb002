"""Debates made on the spot on dossiers, without any model: what they quote tells who is right, how they speak does not.

Every speech is put together from wordings that are drawn alike for both sides, around quotes whose marks are drawn
alike for both sides. So a judge learns nothing from style, length or counts of marks, and all from what is quoted:

- ``both``: each side quotes its own sentence, both verified; only the kind of evidence tells.
- ``forged``: the wrong side quotes the decisive sentence with the answers exchanged. It looks decisive; only its mark
  tells.
- ``filler``: the wrong side quotes a sentence that bears on nothing.
- ``bare``: one side, either as often, quotes nothing; the kind of what the other quotes tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from debate.config import Config
from debate.question import Question
from debate.record import Recorded

Kind = Literal["both", "forged", "filler", "bare"]
Made = Literal["simultaneous", "consultancy"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class MadeConfig(Config):
    """How debates are made on the spot."""

    seed: int = Field(0, description="of everything that is drawn")
    rounds: int = Field(1, ge=1, le=3, description="rounds in a debate")
    protocols: dict[Made, float] = Field(
        {"simultaneous": 1.0}, description="share of debates of each protocol; shares are divided by their sum"
    )
    kinds: dict[Kind, float] = Field(
        {"both": 0.6, "forged": 0.25, "filler": 0.1, "bare": 0.05},
        description="share of debates of each kind (see training.made); shares are divided by their sum",
    )
    quotes: Literal["own", "shuffled"] = Field(
        "own",
        description="own: from the debate's story; shuffled: with their marks from a debate on another story, which "
        "says nothing about who is right",
    )
    min_words: int = Field(25, ge=1, description="fewest words of a speech")
    max_words: int = Field(60, ge=20, description="most words of a speech")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError(f"min_words {self.min_words} is more than max_words {self.max_words}")
        for name, shares in (("protocols", self.protocols), ("kinds", self.kinds)):
            if min(shares.values(), default=0) < 0 or not sum(shares.values()) > 0:
                raise ValueError(f"{name} {dict(shares)} are no shares; give at least one above 0, and none below")
        return self


def make_debates(questions: Sequence[Question], config: MadeConfig) -> list[Recorded]:
    """Make a debate on each question.

    Args:
        questions: Questions of ``dossiers:...`` or ``shipped:stories``.
        config: How they go.

    Returns:
        Debates in the order of the questions, without verdicts; the same for the same seed and questions.

    Raises:
        SourceError: It is not known what in a question's story speaks for its answers.
    """
    raise NotImplementedError
