"""Cohen's kappa, against scikit-learn, its printed standard error, and worked examples."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from debate.errors import ConfigError
from debate.metrics.agreement import cohen_kappa

CLASSES = ["a", "b", "c", "d"]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), min_size=2, max_size=60))
def test_the_value_is_that_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    first, second = (list(side) for side in zip(*pairs, strict=True))
    found = cohen_kappa(first, second, [str(at) for at in range(len(pairs))])
    if len({*first, *second}) == 1:
        assert found is None
        return
    assert found is not None
    assert found.value == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    assert -1 <= found.low <= found.value <= found.high <= 1


def test_a_worked_example() -> None:
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: p_o = 0.7, p_e = 0.5, kappa = 0.4.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = cohen_kappa(first, second, [str(at) for at in range(50)])
    assert found is not None
    assert found.value == pytest.approx(0.4)
    # Fleiss, Cohen and Everitt (1969): the large-sample standard error, from its closed form.
    shares = {("yes", "yes"): 0.4, ("yes", "no"): 0.1, ("no", "yes"): 0.2, ("no", "no"): 0.3}
    p, q = {"yes": 0.5, "no": 0.5}, {"yes": 0.6, "no": 0.4}
    a = sum(shares[name, name] * (1 - (p[name] + q[name]) * 0.6) ** 2 for name in p)
    b = 0.36 * sum(share * (q[one] + p[other]) ** 2 for (one, other), share in shares.items() if one != other)
    c = (0.4 - 0.5 * 0.6) ** 2
    error = math.sqrt((a + b - c) / (50 * 0.25))
    assert (found.high - found.low) / 2 == pytest.approx(2.0096 * error * math.sqrt(50 / 49), rel=0.01)  # t, 49 df


def test_the_interval_covers_and_minds_clusters() -> None:
    rng = random.Random(4)
    covered, alone = 0, 0
    true = (0.6 + 0.4 / 4 - 0.25) / 0.75  # they agree on 0.6 and by chance on a quarter of the rest
    for _ in range(200):
        first, second, clusters = [], [], []
        for cluster in range(30):
            name = rng.choice(CLASSES)
            agrees = rng.random() < 0.6
            other = name if agrees else rng.choice(CLASSES)
            for _ in range(5):  # five copies of one item
                first.append(name)
                second.append(other)
                clusters.append(str(cluster))
        found = cohen_kappa(first, second, clusters)
        blind = cohen_kappa(first, second, [str(at) for at in range(len(first))])
        assert found is not None
        assert blind is not None
        covered += found.low <= true <= found.high
        alone += blind.low <= true <= blind.high
    assert covered >= 178
    assert alone <= 150


def test_nothing_to_agree_on() -> None:
    assert cohen_kappa([], [], []) is None
    assert cohen_kappa(["a", "a"], ["a", "a"], ["1", "2"]) is None
    never = cohen_kappa(["a", "a"], ["b", "b"], ["1", "2"])
    assert never is not None
    assert never.value == 0
    with pytest.raises(ConfigError, match="1 and 2 ratings"):
        cohen_kappa(["a"], ["a", "b"], ["1"])
