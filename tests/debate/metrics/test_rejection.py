from __future__ import annotations

import pytest

from debate.errors import ConfigError
from debate.metrics.intervals import cluster_mean
from debate.metrics.rejection import rejection_curve


def test_by_hand() -> None:
    sure = [0.5, 0.6, 0.75 + 1e-16, 0.7499999999999999, 0.9]
    right = [0.5, 0.0, 1.0, 0.0, 1.0]
    all_, kept, none = rejection_curve(sure, right, list("abcde"), (0.5, 0.75, 0.95))
    assert (all_.share.value, all_.share.low, all_.share.high) == (1, 1, 1)
    assert all_.accuracy is not None
    assert all_.accuracy.value == pytest.approx(2.5 / 5)
    # What is three quarters but for rounding is kept.
    assert kept.share.value == pytest.approx(3 / 5)
    assert kept.accuracy == cluster_mean([1.0, 0.0, 1.0], list("cde"), bounds=(0, 1))
    assert none.share.value == 0
    assert none.accuracy is None


def test_wrong_input() -> None:
    with pytest.raises(ConfigError):
        rejection_curve([], [], [])
    with pytest.raises(ConfigError):
        rejection_curve([0.9], [1.0], [])
