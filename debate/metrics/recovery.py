"""Performance gap recovered: how much of what a judge lacks without the story a protocol gives back."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from debate.metrics.accuracy import final_verdicts
from debate.metrics.intervals import Interval, t_quantile
from debate.record import Recorded
from debate.verdict import points


def gap_recovered(
    debated: Sequence[Recorded], blind: Sequence[Recorded], expert: Sequence[Recorded], *, level: float = 0.95
) -> Interval | None:
    """PGR = (accuracy - blind) / (expert - blind) (Khan et al. 2024), over single verdicts with known gold answers.

    All three accuracies are of the same questions, told by their ids: those that have a verdict in each of the three. A
    question whose blind or expert verdict was lost is left out of the debates too, so the debates' accuracy here can
    differ from that over all of them. The interval is Fieller's (1954) for a ratio of means, from the covariance of the
    three accuracies clustered by story, so it allows for their being measured on the same questions. Where blind and
    expert are not told apart, or the stories show no variation to measure an error by, the ratio has no bounds.

    Args:
        debated: Judged debates or consultancies.
        blind: The same questions decided from the question alone.
        expert: The same questions decided with the story.
        level: Coverage, between 0 and 1.

    Returns:
        The ratio with n verdicts on debates and G stories; None where no question has a verdict in all three, or blind
        and expert are equally accurate.
    """
    known = [_rows(group) for group in (debated, blind, expert)]
    common = set[str].intersection(*({question for _, _, question in rows} for rows in known))
    if not common:
        return None
    groups = [[row for row in rows if row[2] in common] for rows in known]
    stories = {name: index for index, name in enumerate(dict.fromkeys(row[1] for rows in groups for row in rows))}
    means, influence = np.zeros(3), np.zeros((3, len(stories)))
    for k, rows in enumerate(groups):
        values = np.array([value for value, _, _ in rows])
        means[k] = values.mean()
        label = np.array([stories[story] for _, story, _ in rows])
        influence[k] = np.bincount(label, values - means[k], minlength=len(stories)) / len(rows)
    won, gap = means[0] - means[1], means[2] - means[1]
    if abs(gap) < 1e-12:  # equal shares of other numbers of verdicts differ by rounding
        return None
    ends = (-math.inf, math.inf)
    if len(stories) > 1:
        contrasts = np.array([influence[0] - influence[1], influence[2] - influence[1]])
        covariance = contrasts @ contrasts.T * len(stories) / (len(stories) - 1)
        direction = np.array([1.0, -won / gap])
        if direction @ covariance @ direction > 1e-18:
            t = t_quantile((1 + level) / 2, len(stories) - 1)
            ends = fieller(won, gap, covariance, t)
    return Interval(float(won / gap), *ends, n=len(groups[0]), clusters=len(stories))


def fieller(
    numerator: float, denominator: float, covariance: np.ndarray[tuple[int, int], np.dtype[np.float64]], t: float
) -> tuple[float, float]:
    """Ratios r at which |numerator - r denominator| is within t standard errors (Fieller 1954).

    Args:
        numerator: Its estimate.
        denominator: Its estimate.
        covariance: Of the two, shape (2, 2).
        t: Quantile.

    Returns:
        The ends, infinite where the denominator is not told from 0.
    """
    a = denominator**2 - t**2 * covariance[1, 1]
    b = numerator * denominator - t**2 * covariance[0, 1]
    c = numerator**2 - t**2 * covariance[0, 0]
    if a <= 0:
        return -math.inf, math.inf
    root = math.sqrt(max(0.0, b * b - a * c))
    return float((b - root) / a), float((b + root) / a)


def _rows(recorded: Sequence[Recorded]) -> list[tuple[float, str, str]]:
    """Score, story and question of each parsed final verdict on a question with a gold answer."""
    return [
        (points(verdict.probabilities[question.gold]), question.story_id, question.id)
        for question, verdicts in ((item.debate.transcript.question, final_verdicts(item)) for item in recorded)
        if question.gold is not None
        for verdict in verdicts
        if verdict.probabilities is not None
    ]
