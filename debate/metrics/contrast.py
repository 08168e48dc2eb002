"""The difference of two means whose values come in the same clusters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from debate.errors import ConfigError
from debate.metrics.intervals import Interval, cluster_mean, t_quantile

Floats = npt.NDArray[np.float64]

_FLAT = 1e-12


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

    The difference of the means has the CR2 variance of a regression on the two sides and Satterthwaite's degrees of
    freedom (Pustejovsky & Tipton 2018): what is hard about a story cancels where it is on both sides, and few stories
    on one side leave few degrees of freedom. Where a side has one story, all its stories are alike, or all differ by
    the same, the error cannot be had that way: then the intervals of the two means are squared and added (Newcombe
    1998), which is wider.

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
    names = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    means, scores, sizes = [], [], []
    for part in parts:
        mean = cluster_mean([values[at] for at in part], [clusters[at] for at in part], bounds=(0, 1))
        label = [names[clusters[at]] for at in part]
        means.append(mean)
        sizes.append(np.bincount(label, minlength=len(names)) / len(part))
        scores.append(np.bincount(label, np.array([values[at] for at in part]) - mean.value, len(names)) / len(part))
    gap = means[0].value - means[1].value
    varied = all(float(np.abs(own).max()) > _FLAT for own in scores)
    half = _half_width(np.array(scores), np.array(sizes), np.array([len(part) for part in parts])) if varied else 0.0
    low, high = gap - half, gap + half
    if half < _FLAT:
        low = gap - math.hypot(means[0].value - means[0].low, means[1].high - means[1].value)
        high = gap + math.hypot(means[0].high - means[0].value, means[1].value - means[1].low)
    difference = Interval(gap, max(-1.0, low), min(1.0, high), len(values), len(names))
    return Contrast(means[0], means[1], difference)


def _half_width(scores_kg: Floats, sizes_kg: Floats, n_k: Floats) -> float:
    """Half the 95 % interval: of each side k and cluster g, its share of the side's deviations and of its values."""
    adjust = 1 / np.sqrt(1 - sizes_kg)
    signed = (adjust * scores_kg)[0] - (adjust * scores_kg)[1]
    leverage = adjust * sizes_kg
    omega = np.diag((adjust**2 * sizes_kg / n_k[:, None]).sum(axis=0)) - leverage.T @ (leverage / n_k[:, None])
    df = float(np.trace(omega) ** 2 / (omega**2).sum())
    return t_quantile(0.975, df) * math.sqrt(float((signed**2).sum()))
