from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.errors import ConfigError
from debate.verdict import Decision, Verdict, combine, points


def verdict(order: tuple[int, ...], probabilities: tuple[float, ...] | None) -> Verdict:
    decision = Decision(probabilities, unparsed=None if probabilities else "no answer")
    return Verdict.of(decision, judge="j", order=order)


def test_a_verdict_is_in_the_frame_of_the_question() -> None:
    found = Verdict.of(Decision((0.7, 0.3), 0.9, "because"), judge="j", order=(1, 0))
    assert found == Verdict("j", (1, 0), (0.3, 0.7), 0.9, "because")
    assert verdict((0, 1), (0.7, 0.3)).probabilities == (0.7, 0.3)
    # Shown C, A, B: what stands first is answer 2.
    assert verdict((2, 0, 1), (0.5, 0.3, 0.2)).probabilities == (0.3, 0.2, 0.5)


@given(st.permutations(range(4)), st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_frames_undo_orders(order: list[int], weights: list[float]) -> None:
    own = [weight / math.fsum(weights) for weight in weights]
    shown = tuple(own[answer] for answer in order)
    assert verdict(tuple(order), shown).probabilities == tuple(own)


def test_unparsed_is_a_win_for_nobody() -> None:
    lost = verdict((1, 0), None)
    assert lost.probabilities is None
    assert lost.unparsed == "no answer"
    assert combine([lost]) is None
    assert combine([lost, verdict((0, 1), (0.9, 0.1))]) is None
    assert combine([]) is None


def test_combining_is_the_mean() -> None:
    mean = combine([verdict((0, 1), (0.9, 0.1)), verdict((1, 0), (0.6, 0.4))])
    assert mean == pytest.approx((0.65, 0.35))  # (0.9 + 0.4) / 2
    assert combine([verdict((0, 1), (0.9, 0.1))]) == (0.9, 0.1)


@pytest.mark.parametrize(("probability", "point"), [(0.0, 0.0), (0.499, 0.0), (0.5, 0.5), (0.501, 1.0), (1.0, 1.0)])
def test_points(probability: float, point: float) -> None:
    assert points(probability) == point


@given(st.floats(1e-6, 1), st.floats(1e-6, 1))
def test_a_judge_that_looks_at_places_only_ties(first: float, second: float) -> None:
    shown = (first / (first + second), second / (first + second))
    mean = combine([verdict((0, 1), shown), verdict((1, 0), shown)])
    assert mean is not None
    assert [points(value) for value in mean] == [0.5, 0.5]


@pytest.mark.parametrize("probabilities", [(0.5, 0.6), (1.2, -0.2), (math.nan, 0.5), ()])
def test_what_is_no_distribution_is_refused(probabilities: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="distribution"):
        Decision(probabilities)


def test_a_decision_is_parsed_or_not() -> None:
    with pytest.raises(ValueError, match="either"):
        Decision(None)
    with pytest.raises(ValueError, match="either"):
        Decision((0.5, 0.5), unparsed="why")


@pytest.mark.parametrize("probabilities", [(0.2, 0.2, 0.6), (1.0,)])
def test_a_decision_over_other_answers_is_refused(probabilities: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match=r"'mine' gave . probabilities for 2 answers"):
        Verdict.of(Decision(probabilities), judge="mine", order=(0, 1))
