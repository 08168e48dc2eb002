"""The difference of two means whose values come in the same clusters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from debate.errors import ConfigError
from debate.metrics.intervals import Interval, cluster_mean


@dataclasses.dataclass(frozen=True, slots=True)
class Contrast:
    """Two means and their difference, with intervals robust by cluster.

    Attributes:
        inside: Mean of the values inside.
        outside: Mean of the others.
        difference: The first less the second.
    """

    inside: Interval
    outside: Interval
    difference: Interval


def contrast(values: Sequence[float], inside: Sequence[bool], clusters: Sequence[str]) -> Contrast | None:
    """Set values against each other that share clusters, such as verdicts on the debates on one story.

    The difference d is linearised: with n of N values inside, each of them becomes d + (x - mean inside) N / n, each
    other one d - (x - mean outside) N / (N - n). Such values have the mean d, and their clusters its error, so what is
    hard about a story cancels where it is on both sides.

    Args:
        values: Shares, in [0, 1].
        inside: Which of the two each belongs to.
        clusters: The cluster of each.

    Returns:
        Both means and the difference, within [-1, 1], with 95 % intervals; None where one of the two is empty.

    Raises:
        ConfigError: Unequal lengths.
    """
    if not len(values) == len(inside) == len(clusters):
        raise ConfigError(f"{len(values)} values, {len(inside)} sides and {len(clusters)} clusters; give one of each")
    parts = [[at for at, side in enumerate(inside) if side is wanted] for wanted in (True, False)]
    if not all(parts):
        return None
    means = [cluster_mean([values[at] for at in part], [clusters[at] for at in part], bounds=(0, 1)) for part in parts]
    gap = means[0].value - means[1].value
    linear = [gap] * len(values)
    for sign, part, mean in zip((1, -1), parts, means, strict=True):
        for at in part:
            linear[at] += sign * (values[at] - mean.value) * len(values) / len(part)
    found = cluster_mean(linear, clusters, bounds=(-math.inf, math.inf))
    found = dataclasses.replace(found, value=gap, low=max(-1.0, found.low), high=min(1.0, found.high))
    return Contrast(means[0], means[1], found)
