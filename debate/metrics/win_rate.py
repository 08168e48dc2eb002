"""How persuasive a consultant is: how often the judge chooses its answer, whether the answer is right or wrong."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from debate.metrics.accuracy import final_verdicts
from debate.metrics.intervals import Interval, cluster_mean
from debate.record import Recorded
from debate.verdict import points

#: The consultant's share of a verdict, and the story.
Game = tuple[float, str]


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


def consultant_win_rate(recorded: Sequence[Recorded], *, soft: bool = False, level: float = 0.95) -> WinRate | None:
    """Measure the win rate over both assignments (Khan et al. 2024), each single verdict a game.

    Args:
        recorded: Judged consultancies of one consultant, on questions with gold answers.
        soft: Whether a verdict counts as the probability of the consultant's answer, instead of 1, ½ or 0.
        level: Coverage of the intervals.

    Returns:
        Rates with intervals robust by story; None where an assignment has no parsed verdict.
    """
    games: dict[bool, list[Game]] = {True: [], False: []}
    for item in recorded:
        question = item.debate.transcript.question
        answers = [answer for answer, name in enumerate(item.debate.players) if name is not None]
        if question.gold is None or len(answers) != 1:
            continue
        for verdict in final_verdicts(item):
            if verdict.probabilities is not None:
                share = verdict.probabilities[answers[0]]
                game = (share if soft else points(share), question.story_id)
                games[answers[0] == question.gold].append(game)
    if not all(games.values()):
        return None
    right, wrong = (_mean(games[side], level) for side in (True, False))
    return WinRate(_half_each(games[True], games[False], level), right, wrong)


def _half_each(right: Sequence[Game], wrong: Sequence[Game], level: float) -> Interval:
    """Average two sides' means, each with half the weight whatever its number of games: verdicts may have been lost.

    Where the numbers differ, each game is put at the average plus its own deviation from its side's mean, weighted as
    its side is: such values have the average that is wanted, and their clusters its error (they linearise it).
    """
    if len(right) == len(wrong):
        return _mean([*right, *wrong], level)
    means = [math.fsum(share for share, _ in side) / len(side) for side in (right, wrong)]
    total = len(right) + len(wrong)
    values = [
        (sum(means) / 2 + (share - mean) * total / (2 * len(side)), story)
        for mean, side in zip(means, (right, wrong), strict=True)
        for share, story in side
    ]
    found = cluster_mean([value for value, _ in values], [story for _, story in values], level)
    return dataclasses.replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def _mean(games: Sequence[Game], level: float) -> Interval:
    return cluster_mean([share for share, _ in games], [story for _, story in games], level, bounds=(0.0, 1.0))
