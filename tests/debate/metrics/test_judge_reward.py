"""The judge's reward at values that are known without computing it."""

from __future__ import annotations

import pytest

from debate.metrics.judge_reward import UNHEARD, judge_reward, rounds_heard
from tests.judged import judged


@pytest.mark.parametrize(
    ("probability", "rounds", "bits"), [(1.0, 0, 0), (0.5, 0, UNHEARD), (0.5, 2, -1.1), (0.25, 4, -2.2), (1.0, 20, -1)]
)
def test_bits_less_what_rounds_cost(probability: float, rounds: int, bits: float) -> None:
    assert judge_reward(probability, rounds) == pytest.approx(bits)


def test_what_is_wrong_and_certain_costs_a_finite_number_of_bits() -> None:
    assert judge_reward(0.0, 0) == pytest.approx(-14.427, abs=1e-3)  # 10 nats are 14.427 bits


def test_a_question_without_a_debate_was_heard_for_no_round() -> None:
    assert rounds_heard(judged("q").debate) == 0
