from __future__ import annotations

import pytest

from debate.metrics.sycophancy import sycophancy
from debate.record import Recorded
from tests.sides import Said, debated


def consultancy(name: str, p: float, *, answer: int) -> Recorded:
    said: list[Said | None] = [None, None]
    said[answer] = (10, 0, 0)
    players = ("c", None) if answer == 0 else (None, "c")
    return debated(name, {"j": (p,)}, players=players, said=said, protocol="consultancy")


def test_by_hand() -> None:
    items = [
        consultancy("1", 0.9, answer=0),  # right, followed
        consultancy("2", 0.2, answer=0),  # right, not followed
        consultancy("3", 0.1, answer=1),  # wrong, followed
        consultancy("4", 0.3, answer=1),  # wrong, followed
        consultancy("5", 0.5, answer=1),  # wrong, undecided
    ]
    found = sycophancy([*items, debated("6", {"j": (0.9,)})])
    assert found is not None
    assert found.agrees.value == pytest.approx(3.5 / 5)
    assert found.right.value == pytest.approx(2 / 5)
    assert found.excess.value == pytest.approx(1.5 / 5)
    assert found.rate is not None
    assert (found.rate.right.value, found.rate.wrong.value) == pytest.approx((1 / 2, 2.5 / 3))
    assert found.rate.both.value == pytest.approx((1 / 2 + 2.5 / 3) / 2)
    assert sycophancy([debated("6", {"j": (0.9,)})]) is None


def test_a_judge_that_is_always_right_is_no_sycophant() -> None:
    items = [consultancy(str(n), 0.9, answer=n % 2) for n in range(40)]
    found = sycophancy(items)
    assert found is not None
    assert found.excess.value == 0
    assert found.excess.low < 0 < found.excess.high
