"""Agreement of two raters who each put the same items into classes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from debate.errors import ConfigError
from debate.metrics.intervals import Interval, cluster_mean


def cohen_kappa(
    first: Sequence[Hashable], second: Sequence[Hashable], clusters: Sequence[str], level: float = 0.95
) -> Interval | None:
    """Cohen's kappa (Cohen 1960): (observed - expected agreement) / (1 - expected agreement), robust by cluster.

    The interval is that of the first-order errors of kappa, one an item: with p and q the raters' shares of the
    classes, an item moves observed agreement by [agree] - p_o and expected agreement by q(x) + p(y) - 2 p_e.

    Args:
        first: The class that one rater gave each item.
        second: The class that the other gave it.
        clusters: What items that are not independent share, such as a claim.
        level: Coverage.

    Returns:
        Kappa in [-1, 1]; None where there is no item, or both raters put all of them into one and the same class.

    Raises:
        ConfigError: The lengths differ.
    """
    if not len(first) == len(second) == len(clusters):
        raise ConfigError(f"{len(first)} and {len(second)} ratings in {len(clusters)} clusters; give one to each item")
    n = len(first)
    ours, theirs = Counter(first), Counter(second)
    expected = math.fsum(ours[name] * theirs[name] for name in ours) / n**2 if n else 1.0
    if math.isclose(expected, 1.0):
        return None
    observed = sum(one == other for one, other in zip(first, second, strict=True)) / n
    kappa = (observed - expected) / (1 - expected)
    errors = [
        ((one == other) - observed) / (1 - expected)
        - (theirs[one] / n + ours[other] / n - 2 * expected) * (1 - observed) / (1 - expected) ** 2
        for one, other in zip(first, second, strict=True)
    ]
    found = cluster_mean([kappa + error for error in errors], clusters, level, bounds=(-math.inf, math.inf))
    return replace(found, value=kappa, low=max(-1.0, found.low), high=min(1.0, found.high))
