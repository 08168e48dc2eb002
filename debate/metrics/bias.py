"""Position bias: how the order of the answers moves a judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from debate.metrics.accuracy import final_verdicts
from debate.metrics.intervals import Interval, cluster_mean
from debate.record import Recorded
from debate.verdict import points


@dataclass(frozen=True, slots=True)
class PositionBias:
    """What the order of two answers does to a judge's verdicts on the same debates.

    A judge of accuracy a whose verdicts did not depend on each other would flip in 2a(1 - a) of debates, so a flip rate
    is to be read beside the accuracy; a judge that always says A flips every time.

    Attributes:
        flip_rate: Share of debates whose two orders name different answers; a tie names none.
        shift: Mean over debates of [logit p(answer 0 shown first) - logit p(answer 0 shown second)] / 2, in nats;
            above 0 the first place is favoured. None where a probability is exactly 0 or 1, which has no log-odds: of
            a judge that only names answers, all there is to know is how often it flips.
    """

    flip_rate: Interval
    shift: Interval | None


def position_bias(recorded: Sequence[Recorded]) -> PositionBias | None:
    """Measure position bias over debates with two parsed final verdicts, one in each order.

    Args:
        recorded: Debates with one judge's verdicts; those that failed, and verdicts given midway, are left out.

    Returns:
        The bias with 95 % intervals robust by story, or None where no debate was judged in both orders.
    """
    pairs: list[tuple[float, float]] = []
    stories: list[str] = []
    for item in recorded:
        verdicts = final_verdicts(item)
        first = [v.probabilities[0] for v in verdicts if v.probabilities is not None and v.order[0] == 0]
        second = [v.probabilities[0] for v in verdicts if v.probabilities is not None and v.order[0] == 1]
        if len(first) != 1 or len(second) != 1:
            continue
        pairs.append((first[0], second[0]))
        stories.append(item.debate.transcript.question.story_id)
    if not pairs:
        return None
    flips = [float({points(first), points(second)} == {0.0, 1.0}) for first, second in pairs]
    shift = None
    if all(0 < probability < 1 for pair in pairs for probability in pair):
        shifts = [(_logit(first) - _logit(second)) / 2 for first, second in pairs]
        shift = cluster_mean(shifts, stories, bounds=(-math.inf, math.inf))
    return PositionBias(cluster_mean(flips, stories, bounds=(0.0, 1.0)), shift)


def _logit(probability: float) -> float:
    return math.log(probability / (1 - probability))
