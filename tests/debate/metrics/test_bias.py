from __future__ import annotations

import math

import pytest

from debate.metrics.bias import position_bias
from debate.question import Question
from debate.record import Debate, Recorded
from debate.transcript import Transcript
from debate.verdict import Decision, Verdict


def debate(*shown: tuple[float, float] | None, story: str = "s", gold: int | None = 0) -> Recorded:
    question = Question("q", "?", ("yes", "no"), gold, None, story, "test")
    verdicts = tuple(
        Verdict.of(Decision(pair, unparsed=None if pair else "none"), judge="j", order=order)
        for pair, order in zip(shown, ((0, 1), (1, 0)), strict=False)
    )
    return Recorded(Debate("d", "simultaneous", Transcript(question), ("p", "r")), verdicts)


def logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def test_a_judge_that_always_says_a_flips_every_time() -> None:
    found = position_bias([debate((0.9, 0.1), (0.9, 0.1), story=f"s{index}") for index in range(4)])
    assert found is not None
    assert found.flip_rate.value == 1.0
    assert found.shift is not None
    assert found.shift.value == pytest.approx(logit(0.9))
    assert (found.shift.n, found.shift.clusters) == (4, 4)


def test_a_judge_that_always_says_b_has_the_opposite_shift() -> None:
    found = position_bias([debate((0.2, 0.8), (0.2, 0.8))])
    assert found is not None
    assert found.flip_rate.value == 1.0
    assert found.shift is not None
    assert found.shift.value == pytest.approx(-logit(0.8))


def test_a_judge_that_looks_at_answers_only_has_none() -> None:
    found = position_bias([debate((0.9, 0.1), (0.1, 0.9)), debate((0.3, 0.7), (0.7, 0.3), gold=1)])
    assert found is not None
    assert found.flip_rate.value == 0.0
    assert found.shift is not None
    assert found.shift.value == pytest.approx(0.0)


def test_by_hand() -> None:
    # Answer 0 has 0.8 shown first and 0.6 shown second; then 0.7 and 0.4: one flip of two.
    found = position_bias([debate((0.8, 0.2), (0.4, 0.6), story="a"), debate((0.7, 0.3), (0.6, 0.4), story="b")])
    assert found is not None
    assert found.flip_rate.value == 0.5
    shifts = [(logit(0.8) - logit(0.6)) / 2, (logit(0.7) - logit(0.4)) / 2]
    assert found.shift is not None
    assert found.shift.value == pytest.approx(sum(shifts) / 2)


@pytest.mark.parametrize(
    ("shown", "shift"),
    [
        (((1.0, 0.0), (1.0, 0.0)), 10.0),  # A for certain, whatever is there
        (((0.9, 0.1), (0.0, 1.0)), (logit(0.9) - 10) / 2),
        (((1e-30, 1.0), (1.0, 1e-30)), 0.0),  # answer 1 for certain, wherever it is
        (((1 - 1e-9, 1e-9), (1.0, 0.0)), 10.0),
    ],
)
def test_certain_verdicts_are_clipped(shown: tuple[tuple[float, float], tuple[float, float]], shift: float) -> None:
    found = position_bias([debate(*shown, story="a"), debate((0.8, 0.2), (0.4, 0.6), story="b")])
    assert found is not None
    assert found.shift is not None
    assert found.shift.value == pytest.approx((shift + (logit(0.8) - logit(0.6)) / 2) / 2)
    assert found.clipped == sum(abs(pair[0] - 0.5) > 0.49 for pair in shown)


def test_one_certain_verdict_of_many_hardly_moves_the_shift() -> None:
    others = [debate((0.6, 0.4), (0.6, 0.4), story=f"s{index}") for index in range(99)]
    plain, with_one = position_bias(others), position_bias([*others, debate((1.0, 0.0), (0.0, 1.0), story="z")])
    assert plain is not None
    assert with_one is not None
    assert plain.shift is not None
    assert with_one.shift is not None
    assert with_one.shift.value == pytest.approx(0.99 * plain.shift.value)
    assert (plain.clipped, with_one.clipped) == (0, 2)


def test_a_judge_that_only_names_answers_has_no_log_odds() -> None:
    found = position_bias([debate((1.0, 0.0), (1.0, 0.0)), debate((1.0, 0.0), (0.0, 1.0))])
    assert found is not None
    assert found.shift is None
    assert found.flip_rate.value == 0.5


@pytest.mark.parametrize("other", [(0.9, 0.1), (0.1, 0.9), (0.5, 0.5)])
def test_a_tie_names_no_answer_and_is_no_flip(other: tuple[float, float]) -> None:
    found = position_bias([debate((0.5, 0.5), other), debate((0.9, 0.1), (0.9, 0.1))])
    assert found is not None
    assert (found.flip_rate.n, found.flip_rate.value) == (2, 0.5)


def test_only_debates_with_both_orders_count() -> None:
    assert position_bias([]) is None
    assert position_bias([debate((0.9, 0.1), None), debate((0.9, 0.1)), debate(None, None)]) is None
    found = position_bias([debate((0.9, 0.1), None), debate((0.9, 0.1), (0.1, 0.9))])
    assert found is not None
    assert (found.flip_rate.n, found.flip_rate.value) == (1, 0.0)


def test_gold_is_not_needed() -> None:
    assert position_bias([debate((0.9, 0.1), (0.9, 0.1), gold=None)]) is not None
