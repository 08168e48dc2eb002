"""What moves a judge besides the truth: a regression of its verdicts on what tells the sides of a debate apart.

The probability that the right answer is chosen is σ(β₀ + Σ β_k x_k). Each x_k is the difference of the right side from
the wrong one: in hundreds of words, in verified quotes, in quotes that the story does not hold, and in which was shown
first (± one half). So β₀ is the judge's own pull towards the truth between sides that differ in nothing else, and each
β_k the log-odds that one more of something wins for whichever side has it.

The outcome is the choice (1, 0, or one half at a tie), or the probability itself (the fractional logit of Papke &
Wooldridge 1996). Intervals are CR2 by story with Satterthwaite's degrees of freedom, those of the ratings
(``tournaments.elo_fit``), which need no right model of the variance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from debate.metrics.accuracy import final_verdicts
from debate.metrics.intervals import Interval
from debate.metrics.sides import gold_lead
from debate.record import Recorded
from debate.verdict import points
from tournaments.elo_fit import Design, Floats, Sandwich, loose_directions, solve

Factor = Literal["right", "first", "words", "verified", "unverified"]
FACTORS: tuple[Factor, ...] = get_args(Factor)
"""The pull towards the right answer, and what pulls besides."""
WORDS = 100
"""Words are counted in hundreds."""
FEWEST = 20
"""Verdicts for each factor below which nothing is fitted; and verdicts in which the sides must differ in a factor."""

_WEAK = 1e-6  # precision of the prior, in 1 / logit²: it only keeps what nothing determines finite
_LOOSE = 1e-6
_HELD = 5.0  # log-odds of every verdict below which some contradict every direction


@dataclass(frozen=True, slots=True)
class Sided:
    """A verdict on a debate of two sides, with the right side's lead over the other.

    Attributes:
        chance: Probability of the right answer.
        story: What the debate is about.
        lead: By factor: 1 for ``right``, ± one half for being shown first, then differences.
    """

    chance: float
    story: str
    lead: Mapping[Factor, float]


def sided(recorded: Sequence[Recorded]) -> list[Sided]:
    """Take the parsed final verdicts on debates in which both sides speak and one is known to be right.

    Args:
        recorded: Debates with one judge's verdicts.
    """
    found = []
    for item in recorded:
        question = item.debate.transcript.question
        lead = gold_lead(item.debate)
        if lead is None or question.gold is None:
            continue
        said: dict[Factor, float] = {
            "words": lead.words / WORDS,
            "verified": float(lead.verified),
            "unverified": float(lead.unverified),
        }
        for verdict in final_verdicts(item):
            if verdict.probabilities is not None:
                first = 0.5 if verdict.order[0] == question.gold else -0.5
                chance = min(1.0, verdict.probabilities[question.gold])
                found.append(Sided(chance, question.story_id, {"right": 1.0, "first": first, **said}))
    return found


def leanings(
    rows: Sequence[Sided], factors: Sequence[Factor] = FACTORS, *, soft: bool = False, level: float = 0.95
) -> dict[Factor, Interval]:
    """Fit what moves a judge.

    Args:
        rows: Verdicts of one judge.
        factors: Which are fitted together; those in which sides seldom differ, under ``FEWEST`` times, are left out: a
            few verdicts would decide them.
        soft: Whether the outcome is the probability, instead of the choice.
        level: Coverage of the intervals.

    Returns:
        Log-odds by factor, of one more of it: a hundred words, a quote, being shown first instead of second. Empty with
        under ``FEWEST`` verdicts a factor; a factor is missing where the verdicts do not determine it, as when a judge
        is always right. An interval is infinite where the stories cannot tell.
    """
    used = [name for name in factors if sum(bool(row.lead[name]) for row in rows) >= FEWEST]
    if not used or len(rows) < FEWEST * len(used):
        return {}
    stories = {name: index for index, name in enumerate(dict.fromkeys(row.story for row in rows))}
    design = Design(
        columns_nk=np.tile(np.arange(len(used)), (len(rows), 1)),
        values_nk=np.array([[row.lead[name] for name in used] for row in rows]),
        score_n=np.array([row.chance if soft else points(row.chance) for row in rows]),
        cluster_n=np.array([stories[row.story] for row in rows]),
        size=len(used),
        clusters=len(stories),
        precision=_WEAK,
    )
    beta = solve(design)
    loose = _loose(design, beta)
    sandwich = Sandwich.of(design, beta)
    found: dict[Factor, Interval] = {}
    for place, name in enumerate(used):
        unit: Floats = np.eye(len(used))[place]
        if (np.abs(unit @ loose) > _LOOSE).any():
            continue
        value = float(beta[place])
        half = sandwich.half_width(unit, level) if len(stories) > 1 else math.inf
        found[name] = Interval(value, value - half, value + half, len(rows), len(stories))
    return found


def _loose(design: Design, beta: Floats) -> Floats:
    """The directions that verdicts do not determine; they are sought only where there may be some, which takes a while.

    Where verdicts agree with some direction throughout, the solution goes as far along it as the weak prior lets it.
    """
    rank = np.linalg.matrix_rank(design.information(np.ones(len(design.score_n)), by_cluster=False)[0])
    if rank == design.size and float(np.abs(design.linear(beta)).max()) < _HELD:
        return np.zeros((design.size, 0))
    return loose_directions(design)
