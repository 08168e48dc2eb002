"""Several judges, or several votes of one, counted together: how much more often they are right than one of them.

Three ways to count. ``majority``: each names an answer, a tie is half a vote for either. ``confidence``: a vote weighs
as much as its probability is away from one half, so the answer with the higher mean probability wins. ``log_odds``:
log-odds are added up, as if each had seen evidence of its own; the very sure decide.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, get_args

import numpy as np

from debate.errors import ConfigError
from debate.metrics.bias import MAX_LOG_ODDS
from debate.metrics.intervals import Interval, cluster_mean, mean_gap, t_quantile
from debate.metrics.recovery import fieller
from debate.verdict import points

Rule = Literal["majority", "confidence", "log_odds"]
RULES: tuple[Rule, ...] = get_args(Rule)

MOST_JURIES = 200
"""Of so many juries that can be made of a debate's judges all are made; of more, so many are drawn."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """What several judges, or votes, made of one debate.

    Attributes:
        chances: Probability of the right answer by each; 1, 0 or one half for a plain vote.
        story: What the debate is about; intervals are robust by story.
    """

    chances: tuple[float, ...]
    story: str


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Several counted together, against one of them.

    Attributes:
        size: How many, or None where it is all there are of each debate.
        rule: How they were counted.
        debates: On how many debates; there are at least ``size`` on each.
        alone: How often one of them is right, drawn at random.
        right: How often the ensemble is right, all that can be made of a debate's judges counted alike.
        gain: The difference, debate by debate.
        fewer_errors: Share of the errors of one that the ensemble does not make; below 0 it makes more. It has no
            bounds where one alone is not told from being always right; None where one alone is always right.
    """

    size: int | None
    rule: Rule
    debates: int
    alone: Interval
    right: Interval
    gain: Interval
    fewer_errors: Interval | None


def decide(chances: Sequence[float], rule: Rule) -> float:
    """Count votes together.

    Args:
        chances: Probability of the right answer by each, at least one.
        rule: How.

    Returns:
        1 where the right answer wins, 0 where it loses, one half at a tie.
    """
    if rule == "majority":
        return points(fmean(points(chance) for chance in chances))
    if rule == "confidence":
        return points(fmean(chances))
    total = math.fsum(_log_odds(chance) for chance in chances)
    return points(1 / (1 + math.exp(-max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, total)))))


def ensemble(ballots: Sequence[Ballot], rule: Rule, size: int | None = None) -> Ensemble | None:
    """Measure ensembles against one of their members, on the same debates.

    Args:
        ballots: Debates with all that were cast on each.
        rule: How they are counted.
        size: How many make an ensemble: each debate counts by the mean over all that can be made of its votes (see
            ``MOST_JURIES``); debates with fewer are left out. None: all of them, on debates with at least two.

    Returns:
        What the ensemble gains, with 95 % intervals robust by story; None where no debate has enough.

    Raises:
        ConfigError: A size below 1.
    """
    if size is not None and size < 1:
        raise ConfigError(f"an ensemble of {size} decides nothing; give 1 or more")
    rows = [ballot for ballot in ballots if len(ballot.chances) >= (2 if size is None else size)]
    if not rows:
        return None
    alone = [fmean(points(chance) for chance in row.chances) for row in rows]
    right = [_mean_decision(row.chances, rule, size) for row in rows]
    return against(alone, right, [row.story for row in rows], rule, size)


def majority_of(ballots: Sequence[Ballot], size: int) -> Ensemble | None:
    """Measure the majority of so many of a judge's votes, drawn without replacement, against one of them.

    With c right of n plain votes the chance that a drawn majority is right is hypergeometric, so nothing is drawn.

    Args:
        ballots: Debates with the votes of one judge: 1 for the right answer, 0 for another.
        size: How many votes are counted; debates with fewer are left out. Where they are even, a tie is half right.

    Returns:
        What the majority gains; None where no debate has enough votes.

    Raises:
        ConfigError: A size below 1.
    """
    if size < 1:
        raise ConfigError(f"a majority of {size} decides nothing; give 1 or more")
    rows = [ballot for ballot in ballots if len(ballot.chances) >= size]
    if not rows:
        return None
    counts = [(round(math.fsum(row.chances)), len(row.chances)) for row in rows]
    alone = [won / cast for won, cast in counts]
    return against(
        alone, [_drawn_majority(*count, size) for count in counts], [row.story for row in rows], "majority", size
    )


def _drawn_majority(won: int, cast: int, size: int) -> float:
    """Expected points of the majority of ``size`` votes drawn from ``won`` right ones of ``cast``."""
    ways = [math.comb(won, hits) * math.comb(cast - won, size - hits) for hits in range(size + 1)]
    return math.fsum(way * points(hits / size) for hits, way in enumerate(ways)) / math.comb(cast, size)


def _mean_decision(chances: Sequence[float], rule: Rule, size: int | None) -> float:
    if size is None or size == len(chances):
        return decide(chances, rule)
    if math.comb(len(chances), size) <= MOST_JURIES:
        return fmean(decide(jury, rule) for jury in itertools.combinations(chances, size))
    draw = random.Random(f"{size} of {chances}")
    return fmean(decide(draw.sample(list(chances), size), rule) for _ in range(MOST_JURIES))


def against(
    alone: Sequence[float], right: Sequence[float], stories: Sequence[str], rule: Rule, size: int | None
) -> Ensemble:
    """Set what several decide together against what one decides alone.

    Args:
        alone: Points of one, by debate.
        right: Points of the ensemble, by debate.
        stories: The story of each debate.
        rule: How the ensemble was counted.
        size: Of how many it is; None for all.

    Returns:
        What it gains, with 95 % intervals robust by story.
    """
    return Ensemble(
        size,
        rule,
        len(alone),
        cluster_mean(alone, stories, bounds=(0, 1)),
        cluster_mean(right, stories, bounds=(0, 1)),
        mean_gap([after - before for before, after in zip(alone, right, strict=True)], stories),
        fewer_errors(alone, right, stories),
    )


def fewer_errors(
    before: Sequence[float], after: Sequence[float], stories: Sequence[str], *, level: float = 0.95
) -> Interval | None:
    """Share of errors that are no longer made: (accuracy after - before) / (1 - before), on the same debates.

    Args:
        before: Points of each debate, in [0, 1].
        after: The same, counted otherwise.
        stories: The story of each.
        level: Coverage.

    Returns:
        The share with Fieller's interval for a ratio of means, clustered by story, up to 1, since no more errors can go
        than there were: its lower end is infinite where they are not told from none; None where there were none.
    """
    errors, gains = [1 - one for one in before], [two - one for one, two in zip(before, after, strict=True)]
    left = fmean(errors)
    if left < 1e-12:
        return None
    names = {name: index for index, name in enumerate(dict.fromkeys(stories))}
    label = [names[story] for story in stories]
    gain, ends = fmean(gains), (-math.inf, math.inf)
    if not any(gains):  # as in ``mean_gap``: it may yet differ on some stories
        found = mean_gap(gains, stories)
        return Interval(0.0, found.low / left, min(1.0, found.high / left), len(before), len(names))
    if len(names) > 1:
        influence = np.array(
            [np.bincount(label, np.array(values) - fmean(values)) / len(label) for values in (gains, errors)]
        )
        covariance = influence @ influence.T * len(names) / (len(names) - 1)
        ends = fieller(gain, left, covariance, t_quantile((1 + level) / 2, len(names) - 1))
    return Interval(gain / left, ends[0], min(1.0, ends[1]), n=len(before), clusters=len(names))


def _log_odds(chance: float) -> float:
    if chance <= 0 or chance >= 1:
        return math.copysign(MAX_LOG_ODDS, chance - 0.5)
    return max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, math.log(chance / (1 - chance))))
