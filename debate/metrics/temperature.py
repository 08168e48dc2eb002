"""Temperature scaling: one number by which a judge's log-odds are divided, so that they mean what they say.

p' = σ(logit(p) / T) (Guo et al. 2017): T above 1 makes a judge less sure, T below 1 surer; it never changes which
answer is named. It is fitted on stories that nothing is then measured on.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from debate.errors import ConfigError
from debate.metrics.beliefs import Belief
from debate.metrics.calibration import FLOOR
from debate.metrics.intervals import Interval, t_quantile

Floats = npt.NDArray[np.float64]

SHARPEST = 0.05
"""The least temperature: of a judge that is never wrong any lower one would be better still."""
PARTS = 5
"""Into so many parts stories are divided where there is no validation fold."""
FEWEST = 10
"""Under so many verdicts, or on fewer than two stories, no temperature is fitted."""
_FLAT = 1e-18
Fitted = Literal["validation", "cross-fitted"]


@dataclass(frozen=True, slots=True)
class Scaling:
    """What temperature scaling makes of a judge.

    Attributes:
        temperature: With a 95 % interval robust by story; infinite where log-odds say nothing, or mislead. Where it is
            cross-fitted, that of all verdicts: each is scaled by the temperature of the stories of the other parts.
        fitted: On the stories of the validation fold, or, without any, cross-fitted by story.
        before: The beliefs that are measured: those outside the validation fold, or all of them.
        after: The same, scaled.
    """

    temperature: Interval
    fitted: Fitted
    before: tuple[Belief, ...]
    after: tuple[Belief, ...]


def scale(probability: float, temperature: float) -> float:
    """Divide the log-odds of a probability by a temperature; log-odds are clipped to ±10 first."""
    return float(_sigmoid(_log_odds([probability]) / temperature)[0])


def fit_temperature(chances: Sequence[float], clusters: Sequence[str], *, level: float = 0.95) -> Interval:
    """Fit a temperature by least log score: a logistic regression on the log-odds, without an intercept.

    With b = 1/T the log score Σ log(1 + exp(-b l)) of the right answers' log-odds l is convex, so there is one best b;
    the interval is that of b, from the scores of the stories (the sandwich of Liang & Zeger 1986, with G / (G - 1)
    and t of G - 1 degrees of freedom), turned over.

    Args:
        chances: Probability of the right answer, in [0, 1].
        clusters: The story of each.
        level: Coverage of the interval.

    Returns:
        The temperature, at least ``SHARPEST``; infinite where the right answer's log-odds are not above 0 on average.

    Raises:
        ConfigError: Unequal lengths, or none at all.
    """
    if len(chances) != len(clusters) or not chances:
        raise ConfigError(f"{len(chances)} probabilities in {len(clusters)} cluster labels; give one label to each")
    odds = _log_odds(chances)
    names = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    story = np.array([names[name] for name in clusters])
    inverse = _best_inverse(odds)
    p = _sigmoid(-inverse * odds)
    scores: Floats = np.bincount(story, odds * p).astype(float)
    information = float((odds**2 * p * (1 - p)).sum())
    ends = (0.0, math.inf)
    # Centred, since at a bound the scores do not add up to 0; where no story differs, nothing is known of the error.
    spread = float(((scores - scores.mean()) ** 2).sum())
    if len(names) > 1 and information > 0 and spread > _FLAT:
        variance = spread / information**2 * len(names) / (len(names) - 1)
        half = t_quantile((1 + level) / 2, len(names) - 1) * math.sqrt(variance)
        ends = (_turned(inverse + half), _turned(inverse - half))
    return Interval(_turned(inverse), *ends, n=len(chances), clusters=len(names))


def _best_inverse(odds: Floats) -> float:
    """The b in [0, 1 / SHARPEST] of least log score."""

    def slope(inverse: float) -> float:
        return float((odds * _sigmoid(-inverse * odds)).sum())

    most = 1 / SHARPEST
    if slope(0.0) <= 0:
        return 0.0
    if slope(most) >= 0:
        return most
    from scipy.optimize import brentq

    return float(brentq(slope, 0.0, most, xtol=1e-12))


def scaling(beliefs: Sequence[Belief]) -> Scaling | None:
    """Fit a temperature on stories of the validation fold and apply it to the rest; without any, cross-fit by story.

    Args:
        beliefs: Of one judge.

    Returns:
        What it makes of the judge; None where there are under ``FEWEST`` verdicts to fit or to measure, or they are on
        one story.
    """
    held = [one for one in beliefs if one.fold == "validation"]
    rest = [one for one in beliefs if one.fold != "validation"]
    if _enough(held) and _enough(rest):
        found = fit_temperature([one.chance for one in held], [one.story for one in held])
        return Scaling(found, "validation", tuple(rest), tuple(_scaled(one, found.value) for one in rest))
    if not _enough(beliefs):
        return None
    whole = fit_temperature([one.chance for one in beliefs], [one.story for one in beliefs])
    after: dict[int, Belief] = {}
    part = _parts(beliefs)
    for number in set(part):
        fitting = [one for one, place in zip(beliefs, part, strict=True) if place != number]
        found = fit_temperature([one.chance for one in fitting], [one.story for one in fitting])
        after |= {at: _scaled(beliefs[at], found.value) for at, place in enumerate(part) if place == number}
    return Scaling(whole, "cross-fitted", tuple(beliefs), tuple(after[at] for at in range(len(beliefs))))


def _parts(beliefs: Sequence[Belief]) -> list[int]:
    """The part of each belief: stories are dealt out in the order of a hash, so every part has some."""
    stories = sorted(
        {one.story for one in beliefs}, key=lambda story: hashlib.sha256(f"temperature\0{story}".encode()).digest()
    )
    place = {story: at % PARTS for at, story in enumerate(stories)}
    return [place[one.story] for one in beliefs]


def _enough(beliefs: Sequence[Belief]) -> bool:
    return len(beliefs) >= FEWEST and len({one.story for one in beliefs}) > 1


def _scaled(belief: Belief, temperature: float) -> Belief:
    return Belief(scale(belief.chance, temperature), belief.story, belief.fold)


def _turned(inverse: float) -> float:
    return math.inf if inverse <= 0 else max(SHARPEST, 1 / inverse)


def _log_odds(chances: Sequence[float]) -> Floats:
    p = np.clip(np.asarray(chances, dtype=np.float64), FLOOR, 1 - FLOOR)
    found: Floats = np.log(p) - np.log1p(-p)
    return found


def _sigmoid(logit: Floats) -> Floats:
    value: Floats = 0.5 * (1.0 + np.tanh(0.5 * logit))
    return value
