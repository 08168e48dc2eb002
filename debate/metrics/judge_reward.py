"""What the published human debates paid their judges: for being sure of the right answer, and for being quick."""

from __future__ import annotations

import math

from debate.metrics.calibration import FLOOR
from debate.record import Debate

ROUND_COST = 0.05
"""Bits that each round costs that a judge asks for."""
UNHEARD = -1.0
"""The reward of a judge that hears nothing and gives both answers one half."""


def rounds_heard(debate: Debate) -> int:
    """Count the rounds in which somebody argued for an answer: what a judge of the whole has heard."""
    return max((turn.round for turn in debate.transcript.turns if turn.answer is not None), default=0)


def judge_reward(probability: float, rounds: int) -> float:
    """Reward of a judge: log2 p - 0.05 r, for probability p on the right answer after r rounds (Michael et al. 2023).

    The logarithm is a proper score, so what pays best is to say what one believes; the penalty makes it pay to stop
    when another round is worth less than 0.05 bits. Probabilities are held to the floor of the log score, so that one
    that is wrong and certain costs 14.4 bits and not infinitely many.

    Args:
        probability: On the right answer, at the end.
        rounds: How many were heard.

    Returns:
        Bits, 0 at most; ``UNHEARD`` for one half and no round.
    """
    return math.log2(max(probability, FLOOR)) - ROUND_COST * rounds
