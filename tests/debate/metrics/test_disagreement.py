"""Disagreement and degeneration of thought, against counts by hand."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.item import Item
from debate.metrics.disagreement import Stances, disagreement, opposed_among, opposed_between

QUESTION = Item("q", "question", "How fast?", ("18 km/h",), "24 km/h", "t")
TEXT = Item(
    "t", "translation", "Der Hahn tropft.", ("The tap drips.",), "The rooster drips.", "t",
    language="German", right_words=("tap",), trap_words=("rooster",),
)  # fmt: skip


def test_opposed_answers() -> None:
    assert opposed_among(QUESTION, ["18 km/h", "24 km/h"]) == 1
    assert opposed_among(QUESTION, ["18 km/h", "5 m/s"]) == 0
    assert opposed_among(QUESTION, ["18 km/h", "24 km/h", "18"]) == pytest.approx(2 / 3)
    assert opposed_among(QUESTION, ["18 km/h", None, "24 km/h"]) == 1  # the one pair that is known
    assert opposed_among(QUESTION, ["18 km/h", None]) is None
    assert (opposed_between(QUESTION, "18", "18 km/h"), opposed_between(QUESTION, "18", None)) == (0, None)


def test_translations_are_opposed_where_their_readings_are() -> None:
    assert opposed_among(TEXT, ["The tap drips.", "A tap is dripping here"]) == 0
    assert opposed_among(TEXT, ["The tap drips.", "A rooster is dripping here"]) == 1


def test_by_iteration_and_where_the_first_answer_was_wrong() -> None:
    stances = [
        Stances("a", 1, 1.0, began_wrong=True),
        Stances("b", 1, 1.0, began_wrong=False),
        Stances("c", 1, 0.0, began_wrong=True),
        Stances("d", 1, None, began_wrong=True),
        Stances("a", 2, 0.0, began_wrong=True),
        Stances("b", 2, 1.0, began_wrong=None),
    ]
    first, second, overall = disagreement(stances)
    assert [one.iteration for one in (first, second, overall)] == [1, 2, None]
    assert first.overall is not None
    assert first.overall.value == pytest.approx(2 / 3)
    assert (first.overall.n, first.unknown) == (3, 1)
    assert first.began_wrong is not None
    assert (first.began_wrong.value, first.began_wrong.n) == (0.5, 2)
    assert second.began_wrong is not None
    assert second.began_wrong.value == 0
    assert overall.overall is not None
    assert overall.overall.value == pytest.approx(3 / 5)
    assert overall.overall.clusters == 3
    assert disagreement([]) == []
    nothing = disagreement([Stances("a", 1, None, began_wrong=None)])[0]
    assert (nothing.overall, nothing.began_wrong, nothing.unknown) == (None, None, 1)


@given(st.lists(st.integers(min_value=1, max_value=4), min_size=2, max_size=7))
def test_the_share_of_opposed_pairs_is_one_less_the_chance_that_two_agree(values: list[int]) -> None:
    pairs = list(itertools.combinations(values, 2))
    agree = sum(one == other for one, other in pairs)
    assert opposed_among(QUESTION, [str(value) for value in values]) == pytest.approx(1 - agree / len(pairs))
