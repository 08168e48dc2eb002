"""Verdicts: what a judge made of a debate, as probabilities over the answers, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from debate.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Decision:
    """What a judge says of a view, in the order it was shown the answers.

    Attributes:
        probabilities: Over the answers as shown, summing to 1, or None if unparsed.
        mass: Probability that the model gave to the choice tokens at all, in [0, 1]; None where it is not known.
        reasoning: What the judge wrote, if anything.
        unparsed: Why there are no probabilities, or None.
    """

    probabilities: tuple[float, ...] | None
    mass: float | None = None
    reasoning: str = ""
    unparsed: str | None = None

    def __post_init__(self) -> None:
        """Hold that a decision is either a distribution or unparsed with a reason."""
        if (self.probabilities is None) == (self.unparsed is None):
            raise ValueError("a decision has either probabilities or a reason why it is unparsed")
        if self.probabilities is not None and not (
            all(p >= 0 for p in self.probabilities) and math.isclose(sum(self.probabilities), 1.0, abs_tol=1e-6)
        ):
            raise ValueError(f"probabilities {self.probabilities} are not a distribution")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision in the frame of the question's answers.

    Attributes:
        judge: The judge's name.
        order: The answer index shown at each letter, A first.
        probabilities: Over the question's answers in their own order, or None if unparsed.
        mass: Probability the choice tokens held, or None where it is not known.
        reasoning: What the judge wrote, if anything.
        unparsed: Why there are no probabilities, or None. An unparsed verdict is a win for nobody.
        round: The round after which it was given, or None for the final verdict.
    """

    judge: str
    order: tuple[int, ...]
    probabilities: tuple[float, ...] | None
    mass: float | None = None
    reasoning: str = ""
    unparsed: str | None = None
    round: int | None = None

    @staticmethod
    def of(decision: Decision, *, judge: str, order: tuple[int, ...]) -> Verdict:
        """Turn a decision over answers as shown into one over the question's answers.

        Args:
            decision: What the judge said.
            judge: Its name.
            order: The answer index shown at each letter, A first.

        Returns:
            The verdict.

        Raises:
            ConfigError: The decision is over another number of answers, as a judge of one's own may give.
        """
        probabilities = None
        if decision.probabilities is not None:
            if len(decision.probabilities) != len(order):
                raise ConfigError(
                    f"judge {judge!r} gave {len(decision.probabilities)} probabilities for {len(order)} answers; "
                    "a decision has one for each answer shown"
                )
            probabilities = tuple(decision.probabilities[order.index(answer)] for answer in range(len(order)))
        return Verdict(judge, order, probabilities, decision.mass, decision.reasoning, decision.unparsed)


def combine(verdicts: Sequence[Verdict]) -> tuple[float, ...] | None:
    """Mean probability over verdicts on one debate, such as the two orders: an ensemble, to be named as one.

    Args:
        verdicts: One or more verdicts over the same answers.

    Returns:
        Probabilities over the answers, or None if any verdict is unparsed.
    """
    rows = [verdict.probabilities for verdict in verdicts]
    known = [row for row in rows if row is not None]
    if not known or len(known) < len(rows):
        return None
    return tuple(sum(column) / len(known) for column in zip(*known, strict=True))


def points(probability: float) -> float:
    """Hard outcome of a probability: 1 above one half, 0 below, half a point at a tie."""
    # Normalising rounds: p and 1 - p of one judge rarely add up to exactly 1, and their mean is a tie all the same.
    return 0.5 if abs(probability - 0.5) < 1e-9 else float(probability > 0.5)
