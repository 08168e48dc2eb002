"""By how much stated probabilities miss what happens, with intervals robust by story."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from debate.errors import ConfigError
from debate.metrics.calibration import BINS, bin_places, calibration_error
from debate.metrics.intervals import Interval, cluster_mean, mean_gap, t_quantile

Floats = npt.NDArray[np.float64]

DRAWS = 1000
_HALVINGS = 11  # the ends are found to a two-thousandth
_FLAT = 1e-9


def overconfidence(confidences: Sequence[float], right: Sequence[float], clusters: Sequence[str]) -> Interval:
    """Mean confidence less accuracy: above 0 a judge is surer than it is right, below 0 less sure.

    Args:
        confidences: Probability of the answer that is named, in [0, 1].
        right: Whether it is right: 1, 0, or one half at a tie.
        clusters: The story of each.

    Returns:
        The difference, in [-1, 1], with a 95 % interval robust by story.

    Raises:
        ConfigError: Unequal lengths, or none at all.
    """
    gaps = [sure - was for sure, was in zip(confidences, right, strict=True)]
    return mean_gap(gaps, clusters)


def calibration_interval(
    confidences: Sequence[float], right: Sequence[float], clusters: Sequence[str], *, bins: int = BINS, seed: int = 0
) -> Interval:
    """Expected calibration error in bins of equal width, with a 95 % interval robust by story.

    The error of finite samples is biased upwards, and so are its bootstrap draws: of a calibrated judge no percentile
    interval ever holds the 0 that is true. So the bootstrap of stories draws the errors of the bins, d* - d, and the
    interval holds every true error e, spread over the bins as what was measured, at which Σ |e d / |d| + (d* - d)|
    would come out as the estimate did: neither in its lowest 2.5 % nor in its highest. The errors are stretched by
    √(G / (G - 1)) and t over z for G stories. Simulated for 12 to 100 stories, judges calibrated or not and stories
    that share what makes them hard, it covers 90 to 99 %; it reaches down to 0 unless a calibrated judge would hardly
    have come out so.

    Args:
        confidences: Probability of the answer that is named, in [0, 1].
        right: Whether it is right: 1, 0, or one half at a tie.
        clusters: The story of each.
        bins: How many.
        seed: Of the draws.

    Returns:
        The error as ``calibration_error`` gives it, so biased upwards, with its interval; [0, 1] with one story. Where
        all stories miss by the same, Wilson's with one trial a story, as in ``cluster_mean``.

    Raises:
        ConfigError: As for ``calibration_error``, or unequal lengths.
    """
    error = calibration_error(confidences, right, bins=bins)
    if len(clusters) != len(confidences):
        raise ConfigError(f"{len(confidences)} probabilities in {len(clusters)} cluster labels; give one label to each")
    names = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    if len(names) < 2:
        return Interval(error, 0.0, 1.0, len(confidences), len(names))
    noise, gap = _drawn_gaps(np.array(confidences), np.array(right), [names[name] for name in clusters], bins, seed)
    spread = noise * t_quantile(0.975, len(names) - 1) / t_quantile(0.975, math.inf)

    if float(spread.std(axis=0).max()) < _FLAT:
        return cluster_mean([error] * len(clusters), clusters, bounds=(0, 1))

    size = np.abs(gap).sum()
    direction = gap / size if size > _FLAT else spread.std(axis=0) / spread.std(axis=0).sum()

    def ends(true: float) -> tuple[float, float]:
        low, high = np.quantile(np.abs(true * direction + spread).sum(axis=1), (0.025, 0.975))
        return float(low), float(high)

    calibrated = ends(0.0)[1]  # the highest that a calibrated judge would come out at
    low = 0.0 if error <= calibrated else _bisect(0.0, error, lambda true: ends(true)[1] >= error)
    # An error that happens to come out near 0 does not tell the true one from what chance alone brings.
    high = max(min(1.0, calibrated), _bisect(error, 1.0, lambda true: ends(true)[0] > error))
    return Interval(error, low, high, len(confidences), len(names))


def _bisect(low: float, high: float, reached: Callable[[float], bool]) -> float:
    """Where something begins to hold between two numbers; the upper one if it nowhere does."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _drawn_gaps(p: Floats, y: Floats, story: Sequence[int], bins: int, seed: int) -> tuple[Floats, Floats]:
    """Errors of each bin's share of the calibration error in bootstraps of stories, (draws, bins), and the shares."""
    stories = max(story) + 1
    place = bin_places(p, bins)
    sums = np.zeros((stories, bins))
    np.add.at(sums, (np.array(story), place), p - y)
    number = np.bincount(story, minlength=stories).astype(float)
    times = np.random.default_rng(seed).multinomial(stories, np.full(stories, 1 / stories), size=DRAWS).astype(float)
    gap: Floats = sums.sum(axis=0) / number.sum()
    drawn = (times @ sums) / (times @ number)[:, None]
    return (drawn - gap) * math.sqrt(stories / (stories - 1)), gap
