"""Disagreement and degeneration of thought (Liang et al. 2023).

The disagreement of an iteration is the share of opposed stances among its debaters, averaged over questions:

    D_i = mean over questions q of (opposed pairs of debaters in iteration i on q) / (pairs whose stances are known)

With two debaters each question counts 0 or 1. For a model that reflects alone it is the share of questions on which its
stance after iteration i is opposed to its stance before. Both are also taken over those questions alone whose first
answer is wrong: a model that hardly ever turns away from a wrong answer has let its thought degenerate.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from debate.item import Item
from debate.metrics.grades import is_opposed
from debate.metrics.intervals import Interval, cluster_mean


class Stances(NamedTuple):
    """How far the stances of one iteration on one question are opposed.

    Attributes:
        item: The question's id.
        iteration: From 1 on.
        opposed: Share of the pairs that are opposed, 0 to 1; None where no pair is known.
        began_wrong: Whether the first answer, before any iteration, was wrong; None where it could not be read.
    """

    item: str
    iteration: int
    opposed: float | None
    began_wrong: bool | None


class Disagreement(NamedTuple):
    """The disagreement of one iteration.

    Attributes:
        iteration: From 1 on; None for all of them together.
        overall: Over all questions, or None where no stance is known.
        began_wrong: Over those whose first answer is wrong, or None where there are none.
        unknown: How often no pair of stances was known.
    """

    iteration: int | None
    overall: Interval | None
    began_wrong: Interval | None
    unknown: int


def opposed_among(item: Item, answers: Sequence[str | None]) -> float | None:
    """Share of the pairs of answers that are opposed; pairs of which one could not be read are left out."""
    known = [is_opposed(item, one, other) for one, other in itertools.combinations(answers, 2)]
    return _share(known)


def opposed_between(item: Item, before: str | None, after: str | None) -> float | None:
    """1 where an answer is opposed to the one before, 0 where it is not, None where one could not be read."""
    return _share([is_opposed(item, before, after)])


def _share(known: Sequence[bool | None]) -> float | None:
    votes = [one for one in known if one is not None]
    return sum(votes) / len(votes) if votes else None


def disagreement(stances: Sequence[Stances], level: float = 0.95) -> list[Disagreement]:
    """Average stances over questions, by iteration.

    Args:
        stances: Of one kind of debate, or of one model alone.
        level: Coverage of the intervals, which are robust by question.

    Returns:
        One for each iteration, in order, then one for all of them together.
    """
    iterations = sorted({one.iteration for one in stances})
    by_iteration = [_of([one for one in stances if one.iteration == number], number, level) for number in iterations]
    return [*by_iteration, _of(stances, None, level)] if stances else []


def _of(stances: Sequence[Stances], iteration: int | None, level: float) -> Disagreement:
    wrong = [one for one in stances if one.began_wrong]
    unknown = sum(one.opposed is None for one in stances)
    return Disagreement(iteration, _mean(stances, level), _mean(wrong, level), unknown)


def _mean(stances: Sequence[Stances], level: float) -> Interval | None:
    known = [(one.opposed, one.item) for one in stances if one.opposed is not None]
    if not known:
        return None
    return cluster_mean([share for share, _ in known], [item for _, item in known], level, bounds=(0.0, 1.0))
