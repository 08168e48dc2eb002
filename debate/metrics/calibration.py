"""Whether probabilities mean what they say: Brier score, log score, calibration error, accuracy of the confident.

All functions take probabilities of an event and what came of it: 1 if it happened, 0 if not, 0.5 for a tie. For a judge
the event may be "answer 0 is right" with the probability it gave to answer 0, or "the answer it names is right" with
the probability of that one (``confidence``). Brier and log score of two answers are the same either way; calibration
error and reliability are meant for the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from debate.errors import ConfigError
from debate.metrics.bias import MAX_LOG_ODDS

Floats = npt.NDArray[np.float64]
#: Bins of equal width, or of equal numbers of probabilities (adaptive).
Binning = Literal["width", "number"]
BINS = 10
_NEAR = 1e-9
FLOOR = 1 / (1 + math.exp(MAX_LOG_ODDS))
"""Smallest probability that the log score takes at its word, where log-odds are clipped elsewhere too."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Probabilities near each other, and what came of them.

    Attributes:
        low: Least probability of the bin; for bins of equal width its edge.
        high: Greatest one.
        n: How many.
        predicted: Their mean.
        happened: Share of the events that happened.
    """

    low: float
    high: float
    n: int
    predicted: float
    happened: float


def brier_scores(probabilities: Sequence[float], outcomes: Sequence[float]) -> list[float]:
    """Brier score of each event: (p − y)² (Brier 1950, one class of two); 0.25 for one half, lower is better.

    Args:
        probabilities: Of the events, in [0, 1].
        outcomes: What came of them, in [0, 1].

    Returns:
        One score each; their mean is the Brier score.

    Raises:
        ConfigError: Unequal lengths, none at all, or numbers outside [0, 1].
    """
    p, y = _check(probabilities, outcomes)
    return [float(score) for score in (p - y) ** 2]


def log_scores(probabilities: Sequence[float], outcomes: Sequence[float]) -> list[float]:
    """Log score of each event in nats: −y log p − (1 − y) log(1 − p) (Good 1952); log 2 for one half, lower is better.

    Probabilities are clipped to [``FLOOR``, 1 − ``FLOOR``], log-odds of ±10: one that is wrong and certain costs 10
    nats.

    Args:
        probabilities: Of the events, in [0, 1].
        outcomes: What came of them, in [0, 1].

    Returns:
        One score each; their mean is the negative log-likelihood.

    Raises:
        ConfigError: As for ``brier_scores``.
    """
    p, y = _check(probabilities, outcomes)
    p = np.clip(p, FLOOR, 1 - FLOOR)
    return [float(score) for score in -y * np.log(p) - (1 - y) * np.log1p(-p)]


def reliability(
    probabilities: Sequence[float], outcomes: Sequence[float], *, bins: int = BINS, by: Binning = "width"
) -> list[Bin]:
    """Reliability curve: how often events happened that were given about the same probability.

    Args:
        probabilities: Of the events, in [0, 1].
        outcomes: What came of them, in [0, 1].
        bins: How many, at least 1.
        by: ``width``: [0, 1/bins), …, the last with 1; ``number``: sorted and cut into parts whose sizes differ by one
            at most.

    Returns:
        The bins that hold something, in order.

    Raises:
        ConfigError: As for ``brier_scores``, or no bin.
    """
    p, y = _check(probabilities, outcomes)
    if bins < 1:
        raise ConfigError(f"{bins} bins hold nothing; give at least 1")
    if by == "number":
        order = np.argsort(p, kind="stable")
        parts = [part for part in np.array_split(order, bins) if len(part)]
        edges = [(float(p[part[0]]), float(p[part[-1]])) for part in parts]
    else:
        place = bin_places(p, bins)
        filled = [at for at in range(bins) if (place == at).any()]
        parts = [np.flatnonzero(place == at) for at in filled]
        edges = [(at / bins, (at + 1) / bins) for at in filled]
    return [
        Bin(low, high, len(part), float(p[part].mean()), float(y[part].mean()))
        for part, (low, high) in zip(parts, edges, strict=True)
    ]


def bin_places(probabilities: Floats, bins: int = BINS) -> npt.NDArray[np.int64]:
    """The bin of equal width, from 0 on, that each probability is in.

    What people give in whole percents comes as 0.7999999999999999 or the like once it is read: it is past the edge.
    """
    return np.minimum((probabilities * bins + _NEAR).astype(np.int64), bins - 1)


def calibration_error(
    probabilities: Sequence[float], outcomes: Sequence[float], *, bins: int = BINS, by: Binning = "width"
) -> float:
    """Expected calibration error: Σ_b (n_b / n) |mean p in b − share that happened in b| (Naeini et al. 2015).

    It is never negative and is biased upwards for few events: read it beside their number.

    Args:
        probabilities: Of the events, in [0, 1].
        outcomes: What came of them, in [0, 1].
        bins: How many, at least 1.
        by: As for ``reliability``; ``number`` is the adaptive error (Nguyen & O'Connor 2015), which has no thin bins.

    Returns:
        The error, in [0, 1].

    Raises:
        ConfigError: As for ``reliability``.
    """
    found = reliability(probabilities, outcomes, bins=bins, by=by)
    return math.fsum(one.n * abs(one.predicted - one.happened) for one in found) / len(probabilities)


def confidence(probability: float) -> float:
    """Probability of the answer that is named, of two: max(p, 1 − p)."""
    return max(probability, 1 - probability)


def most_confident(confidences: Sequence[float], coverage: float) -> list[int]:
    """Choose the share of decisions that are most confident, to be measured by themselves (Geifman & El-Yaniv 2017).

    Args:
        confidences: Of each decision.
        coverage: Share wanted, above 0 and at most 1.

    Returns:
        Places of the ⌈coverage · n⌉ most confident ones, in order, and of all that are as confident as the last of
        them: nothing tells those apart, so a constant judge has all its decisions measured.

    Raises:
        ConfigError: A coverage that is none.
    """
    if not 0 < coverage <= 1:
        raise ConfigError(f"a coverage of {coverage} covers nothing; give a share above 0 and at most 1")
    if not confidences:
        return []
    wanted = math.ceil(coverage * len(confidences) - 1e-9)
    least = sorted(confidences, reverse=True)[wanted - 1]
    return [place for place, value in enumerate(confidences) if value >= least]


def _check(probabilities: Sequence[float], outcomes: Sequence[float]) -> tuple[Floats, Floats]:
    p, y = np.asarray(probabilities, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
    if p.shape != y.shape or not p.size:
        raise ConfigError(f"{p.size} probabilities of {y.size} events; give one to each, and at least one")
    for name, values in (("probabilities", p), ("outcomes", y)):
        if not bool(((values >= 0) & (values <= 1)).all()):  # NaN is not either
            raise ConfigError(f"{name} from {values.min()} to {values.max()} are not all in [0, 1]")
    return p, y
