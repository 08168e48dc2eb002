from __future__ import annotations

import dataclasses

import pytest

from debate.metrics.beliefs import Belief, columns, combined_beliefs, gold_probability, single_beliefs
from debate.metrics.sides import Side, gold_lead, side_of
from tests.sides import debated


def test_what_a_side_said_is_counted() -> None:
    item = debated("1", {}, said=((10, 2, 1), (4, 0, 0)), gold=1)
    # Two words a quote.
    assert side_of(item.debate, 0) == Side(16, 2, 1)
    assert gold_lead(item.debate) == Side(4 - 16, -2, -1)
    assert gold_lead(debated("2", {}, said=((10, 0, 0), None)).debate) is None
    assert gold_lead(debated("3", {}, gold=None).debate) is None


def test_beliefs_are_of_the_right_answer() -> None:
    items = [
        debated("1", {"j": (0.9, 0.4)}, story="s", fold="test"),
        debated("2", {"j": (0.9, None)}, gold=1),
        debated("3", {"j": (0.5,)}),
        debated("4", {"j": (0.9,)}, gold=None),
        dataclasses.replace(item := debated("5", {"j": (0.9,)}), debate=dataclasses.replace(item.debate, failed="x")),
    ]
    single = single_beliefs(items)
    assert [one.chance for one in single] == pytest.approx([0.9, 0.4, 0.1, 0.5])
    assert single[0] == Belief(0.9, "s", "test")
    sure, right, stories = columns(single)
    assert sure == pytest.approx([0.9, 0.6, 0.9, 0.5])
    assert (right, stories) == ([1, 0, 0, 0.5], ["s", "s", "2", "3"])
    # One order alone is no combination, nor is one of which half is unparsed.
    (both,) = combined_beliefs(items)
    assert both.chance == pytest.approx(0.65)
    assert (both.story, both.fold) == ("s", "test")
    assert gold_probability(items[1]) is None
    assert gold_probability(items[2]) == 0.5
