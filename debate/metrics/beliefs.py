"""What a judge believes of each debate: the probability that it gives to the right answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from debate.metrics.accuracy import final_verdicts
from debate.metrics.calibration import confidence
from debate.question import Fold
from debate.record import Recorded
from debate.verdict import combine, points


@dataclass(frozen=True, slots=True)
class Belief:
    """One verdict, or the mean of a debate's two orders, on a question with a known answer.

    Attributes:
        chance: Probability of the right answer, in [0, 1].
        story: What the debate is about; intervals are robust by story.
        fold: What the story may be used for, where that is known.
    """

    chance: float
    story: str
    fold: Fold | None = None

    @property
    def confidence(self) -> float:
        """Probability of the answer that is named, at least one half."""
        return confidence(self.chance)

    @property
    def right(self) -> float:
        """Whether that answer is right: 1, 0, or one half at a tie."""
        return points(self.chance)


def single_beliefs(recorded: Sequence[Recorded]) -> list[Belief]:
    """Take every parsed final verdict by itself, as the paper does.

    Args:
        recorded: Debates with one judge's verdicts; those without a gold answer are left out.
    """
    return [
        Belief(_share(verdict.probabilities[question.gold]), question.story_id, question.fold)
        for item in recorded
        if (question := item.debate.transcript.question).gold is not None
        for verdict in final_verdicts(item)
        if verdict.probabilities is not None
    ]


def combined_beliefs(recorded: Sequence[Recorded]) -> list[Belief]:
    """Take the mean of both orders of every debate that was judged in both: an ensemble of two.

    Args:
        recorded: As for ``single_beliefs``; debates with one order, or an unparsed verdict, are left out.
    """
    found = []
    for item in recorded:
        question = item.debate.transcript.question
        chance = gold_probability(item)
        if chance is not None and len({verdict.order for verdict in final_verdicts(item)}) > 1:
            found.append(Belief(chance, question.story_id, question.fold))
    return found


def gold_probability(item: Recorded) -> float | None:
    """Return the probability of the gold answer, the mean of the orders; None where a verdict is unparsed or missing.

    Args:
        item: A debate with one judge's verdicts.
    """
    gold = item.debate.transcript.question.gold
    mean = combine(final_verdicts(item))
    return None if mean is None or gold is None else _share(mean[gold])


def columns(beliefs: Sequence[Belief]) -> tuple[list[float], list[float], list[str]]:
    """Confidence, whether right, and story of each belief."""
    return [one.confidence for one in beliefs], [one.right for one in beliefs], [one.story for one in beliefs]


def _share(probability: float) -> float:
    return min(1.0, probability)  # normalising rounds
