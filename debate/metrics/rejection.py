"""Rejection: how right a judge is about what it is sure of, and how much of it that is (Geifman & El-Yaniv 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from debate.errors import ConfigError
from debate.metrics.intervals import Interval, cluster_mean

THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
"""Confidences at which verdicts are kept, by default."""
LEAST = 0.5
"""No confidence in one of two answers is lower."""
_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Kept:
    """What is left where verdicts below some confidence are rejected.

    Attributes:
        threshold: The least confidence that is kept.
        share: Share of verdicts that are kept.
        accuracy: Share of those that are right; None where none is kept.
    """

    threshold: float
    share: Interval
    accuracy: Interval | None


def rejection_curve(
    confidences: Sequence[float],
    right: Sequence[float],
    clusters: Sequence[str],
    thresholds: Sequence[float] = THRESHOLDS,
) -> list[Kept]:
    """Reject verdicts below each of several confidences.

    Args:
        confidences: Probability of the answer that is named, in [0.5, 1].
        right: Whether it is right: 1, 0, or one half at a tie.
        clusters: The story of each.
        thresholds: Least confidences to keep.

    Returns:
        One for each threshold, with 95 % intervals robust by story.

    Raises:
        ConfigError: Unequal lengths, or none at all.
    """
    if not len(confidences) == len(right) == len(clusters) or not confidences:
        raise ConfigError(
            f"{len(confidences)} confidences of {len(right)} verdicts in {len(clusters)} cluster labels; give one of "
            "each to every verdict, and at least one"
        )
    found = []
    for threshold in thresholds:
        # What people give in whole percents comes as 0.7500000000000001 or the like once it is read.
        kept = [place for place, sure in enumerate(confidences) if sure >= threshold - _NEAR]
        share = cluster_mean([float(sure >= threshold - _NEAR) for sure in confidences], clusters, bounds=(0, 1))
        if threshold <= LEAST:  # nothing can be under it
            share = replace(share, low=1.0, high=1.0)
        accuracy = (
            cluster_mean([right[place] for place in kept], [clusters[place] for place in kept], bounds=(0, 1))
            if kept
            else None
        )
        found.append(Kept(threshold, share, accuracy))
    return found
