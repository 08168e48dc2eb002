"""How persuasive a consultant is: how often the judge chooses its answer, whether the answer is right or wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from debate.metrics.intervals import Interval, cluster_mean
from debate.record import Recorded
from debate.verdict import points


@dataclass(frozen=True, slots=True)
class WinRate:
    """A consultant's win rate.

    Attributes:
        both: (P(chosen | assigned right) + P(chosen | assigned wrong)) / 2, over assignments of equal weight.
        right: P(chosen | assigned right).
        wrong: P(chosen | assigned wrong).
    """

    both: Interval
    right: Interval
    wrong: Interval


def win_rate(recorded: Sequence[Recorded], *, soft: bool = False, level: float = 0.95) -> WinRate | None:
    """Measure the win rate over both assignments (Khan et al. 2024), each single verdict a game.

    Args:
        recorded: Judged consultancies of one consultant, on questions with gold answers.
        soft: Whether a verdict counts as the probability of the consultant's answer, instead of 1, ½ or 0.
        level: Coverage of the intervals.

    Returns:
        Rates with intervals robust by story; None where an assignment has no parsed verdict.
    """
    games: dict[bool, list[tuple[float, str]]] = {True: [], False: []}
    for item in recorded:
        question = item.debate.transcript.question
        answers = [answer for answer, name in enumerate(item.debate.players) if name is not None]
        if question.gold is None or len(answers) != 1:
            continue
        for verdict in item.verdicts:
            if verdict.probabilities is not None and verdict.round is None:
                share = verdict.probabilities[answers[0]]
                game = (share if soft else points(share), question.story_id)
                games[answers[0] == question.gold].append(game)
    if not all(games.values()):
        return None
    right, wrong = (_mean(games[side], level) for side in (True, False))
    # Where verdicts were lost the sides differ in number; weights give each side its half all the same.
    total = len(games[True]) + len(games[False])
    weighted = [(share * total / (2 * len(side)), story) for side in games.values() for share, story in side]
    both = _mean(weighted, level, bounded=len(games[True]) == len(games[False]))
    return WinRate(both, right, wrong)


def _mean(games: Sequence[tuple[float, str]], level: float, *, bounded: bool = True) -> Interval:
    bounds = (0.0, 1.0) if bounded else (-math.inf, math.inf)
    return cluster_mean([share for share, _ in games], [story for _, story in games], level, bounds=bounds)
