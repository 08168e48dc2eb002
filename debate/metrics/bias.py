"""Position bias: how the order of the answers moves a judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from debate.metrics.intervals import Interval, cluster_mean
from debate.record import Recorded
from debate.verdict import points

#: Probabilities of exactly 0 or 1 have no log-odds; they are taken for this close to them.
_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class PositionBias:
    """What the order of two answers does to a judge's verdicts on the same debates.

    A judge of accuracy a whose verdicts did not depend on each other would flip in 2a(1 - a) of debates, so a flip rate
    is to be read beside the accuracy; a judge that always says A flips every time.

    Attributes:
        flip_rate: Share of debates whose two orders name different answers.
        shift: Mean over debates of [logit p(answer 0 shown first) - logit p(answer 0 shown second)] / 2, in nats;
            above 0 the first place is favoured.
    """

    flip_rate: Interval
    shift: Interval


def position_bias(recorded: Sequence[Recorded]) -> PositionBias | None:
    """Measure position bias over debates with two parsed final verdicts, one in each order.

    Args:
        recorded: Debates with one judge's verdicts.

    Returns:
        The bias with 95 % intervals robust by story, or None where no debate was judged in both orders.
    """
    flips, shifts, stories = [], [], []
    for item in recorded:
        first = [v.probabilities[0] for v in item.verdicts if v.probabilities is not None and v.order[0] == 0]
        second = [v.probabilities[0] for v in item.verdicts if v.probabilities is not None and v.order[0] == 1]
        if len(first) != 1 or len(second) != 1:
            continue
        flips.append(float(points(first[0]) != points(second[0])))
        shifts.append((_logit(first[0]) - _logit(second[0])) / 2)
        stories.append(item.debate.transcript.question.story_id)
    if not flips:
        return None
    return PositionBias(
        cluster_mean(flips, stories, bounds=(0.0, 1.0)), cluster_mean(shifts, stories, bounds=(-math.inf, math.inf))
    )


def _logit(probability: float) -> float:
    clipped = min(max(probability, _EDGE), 1 - _EDGE)
    return math.log(clipped / (1 - clipped))
