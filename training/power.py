"""The smallest effects that a loop can tell from none, worked out before it is run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from debate.question import Question
from debate.report import Column, Table
from debate.report.table import Cell
from tournaments.elo_accuracy import FEWEST, smallest_slope
from training.loop_config import LoopConfig

POWER = 0.8
_SPREADS = (50.0, 100.0, 200.0)  # sd of the players' Elo
_ACCURACY = 0.7
_DISCORDANT = 0.3  # share of debates about which two judges differ
_ALIKE = 0.3  # correlation, between players, of what happens on one story
_ELO_PER_STORY = 120.0  # sd of a rating over stories: 24 stories give ±50 (docs/results/coverage.md)


def smallest_difference(stories: int, players: int, *, discordant: float = _DISCORDANT, alike: float = _ALIKE) -> float:
    """Return the smallest difference between two judges' accuracies on the same debates that would be told from 0.

    By the two-sided test at 5 %, paired by debate and clustered by story.

    Args:
        stories: How many, each debated once by every player.
        players: How many.
        discordant: Share of debates that one judge gets right and the other wrong.
        alike: Correlation of the differences of two players on one story.

    Returns:
        A difference of shares.
    """
    z = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(POWER)
    return z * math.sqrt(discordant * (1 + (players - 1) * alike) / (players * stories))


def power_table(config: LoopConfig, groups: Mapping[str, Sequence[Question]]) -> Table:
    """Say what the final report of a loop could tell from nothing.

    Args:
        config: The loop's.
        groups: Its questions by what they are used for.

    Returns:
        The smallest difference between two judges, and the smallest slope for some spreads of Elo.
    """
    test = len({question.story_id for question in groups["test"]})
    rating = len({question.story_id for question in groups["rating"]})
    players = len(config.players) + config.iterations + bool(config.debater.first)
    rows: list[list[Cell]] = [
        [
            "difference of two judges' accuracies, in points",
            f"{test} stories, {players} players, {_DISCORDANT:.0%} discordant",
            f"{100 * smallest_difference(test, players):.1f}",
        ]
    ]
    if players >= FEWEST and not config.alone:
        error_y = 1 / math.sqrt(len(groups["test"]) * _ACCURACY * (1 - _ACCURACY))
        for spread in _SPREADS:
            found = smallest_slope(
                players, spread=spread / 100, error_x=_ELO_PER_STORY / math.sqrt(rating) / 100, error_y=error_y
            )
            shown = "none" if math.isinf(found) else f"{found:.2f} ({100 * (_logistic(found) - _ACCURACY):.1f} points)"
            rows.append(
                ["slope: log-odds of being right for 100 Elo", f"Elo of {players} players has sd {spread:.0f}", shown]
            )
    note = (
        f"Told in {POWER:.0%} of runs, at 5 % two-sided; a judge right in {_ACCURACY:.0%}; no scatter of players about "
        "the line, so slopes are the least that could be hoped for."
    )
    return Table("Smallest effects", (Column("effect"), Column("if"), Column("smallest")), rows, note=note)


def _logistic(more: float) -> float:
    """The accuracy that so many log-odds more make of ``_ACCURACY``."""
    return 1 / (1 + (1 - _ACCURACY) / _ACCURACY * math.exp(-more))
