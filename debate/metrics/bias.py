"""Position bias: how the order of the answers moves a judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from debate.metrics.accuracy import final_verdicts
from debate.metrics.intervals import Interval, cluster_mean
from debate.record import Recorded
from debate.verdict import points

#: Where log-odds are clipped, as in best-of-N: beyond it, probabilities differ by rounding only.
MAX_LOG_ODDS = 10.0


@dataclass(frozen=True, slots=True)
class PositionBias:
    """What the order of two answers does to a judge's verdicts on the same debates.

    A judge of accuracy a whose verdicts did not depend on each other would flip in 2a(1 - a) of debates, so a flip rate
    is to be read beside the accuracy; a judge that always says A flips every time.

    Attributes:
        flip_rate: Share of debates whose two orders name different answers; a tie names none.
        shift: Mean over debates of [logit p(answer 0 shown first) - logit p(answer 0 shown second)] / 2, in nats, the
            log-odds clipped to ±10; above 0 the first place is favoured. None where every probability is exactly 0 or
            1: of a judge that only names answers, all there is to know is how often it flips.
        clipped: Verdicts whose log-odds were clipped, of two a debate; where they are many, the shift says more of the
            clipping than of the judge.
    """

    flip_rate: Interval
    shift: Interval | None
    clipped: int = 0


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
    odds = [(_log_odds(first), _log_odds(second)) for first, second in pairs]
    shift = None
    if any(0 < probability < 1 for pair in pairs for probability in pair):
        shifts = [(_clip(first) - _clip(second)) / 2 for first, second in odds]
        shift = cluster_mean(shifts, stories, bounds=(-math.inf, math.inf))
    clipped = sum(abs(value) > MAX_LOG_ODDS for pair in odds for value in pair)
    return PositionBias(cluster_mean(flips, stories, bounds=(0.0, 1.0)), shift, clipped)


def _log_odds(probability: float) -> float:
    if probability in {0.0, 1.0}:
        return math.copysign(math.inf, probability - 0.5)
    return math.log(probability / (1 - probability))


def _clip(log_odds: float) -> float:
    return max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, log_odds))
