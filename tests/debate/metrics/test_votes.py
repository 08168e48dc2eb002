from __future__ import annotations

import pytest

from debate.agents.judge import count_votes
from debate.metrics.votes import votes_of
from debate.models.base import Completion
from debate.view import View

VIEW = View(question="Who?", answers=("Ana.", "Tomas."), story=None, turns=())


@pytest.mark.parametrize("asked", [2, 3, 5, 8, 15])
def test_counts_are_read_back_from_what_a_judge_makes_of_them(asked: int) -> None:
    for won in range(asked + 1):
        letters = [0] * won + [1] * (asked - won)
        decision = count_votes(letters, [Completion("", "stop")] * asked, VIEW)
        assert decision.probabilities is not None
        assert votes_of(decision.probabilities[0], asked) == (won, asked)
        assert votes_of(decision.probabilities[1], asked) == (asked - won, asked)


def test_votes_that_name_nothing_are_left_out() -> None:
    decision = count_votes([0, 0, 1, None, 0], [Completion("", "stop")] * 5, VIEW)
    assert decision.probabilities is not None
    found = votes_of(decision.probabilities[0], 5)
    assert found == (3, 4)
    assert found.points == (1, 1, 1, 0)


def test_what_is_no_count() -> None:
    assert votes_of(0.4321, 5) is None
    assert votes_of(1.0, 5) is None
    assert votes_of(0.25, 1) == (0, 1)
