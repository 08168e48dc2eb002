from __future__ import annotations

import numpy as np
import pytest

from debate.errors import ConfigError
from debate.question import Question
from debate.quotes import parse_argument
from debate.record import Debate, Recorded
from debate.transcript import Transcript, Turn
from training.baseline import FEATURES, differences, fit_logistic, marks_baseline


def test_the_fit_is_that_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    noise = np.random.default_rng(0)
    x = noise.normal(size=(300, 5)) * [1, 2, 0.1, 5, 1]
    y = x @ [1.0, -0.5, 3.0, 0.1, 0.0] + noise.logistic(size=300) > 0
    for ridge in (0.1, 1.0, 30.0):
        oracle = LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(x, y)
        assert fit_logistic(x, np.where(y, 1.0, -1.0), ridge) == pytest.approx(oracle.coef_[0], abs=1e-5)


def test_the_fit_holds_where_labels_can_be_told_apart_wholly() -> None:
    from sklearn.linear_model import LogisticRegression

    x = np.arange(-50.0, 51.0).reshape(-1, 1)[np.arange(101) != 50]
    y = x[:, 0] > 0
    oracle = LogisticRegression(C=1000, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(x, y)
    assert fit_logistic(x, np.where(y, 1.0, -1.0), 0.001) == pytest.approx(oracle.coef_[0], rel=1e-3)


STORY = "The boat came in at noon. Nobody saw the boat. The bell rang twice."


def debate(name: str, first: str, second: str, gold: int | None) -> Recorded:
    question = Question(name, "When did the boat come in?", ("At noon.", "At ten or so."), gold, STORY, name, "test")
    turns = tuple(
        Turn(1, "debater", answer, parse_argument(text, STORY)) for answer, text in enumerate((first, second))
    )
    return Recorded(Debate(name, "simultaneous", Transcript(question, turns=turns), ("p", "q")), ())


TRUE, FALSE = "<quote>The boat came in at noon.</quote> So.", "It was <quote>the boat at ten o'clock</quote>"


def test_what_is_counted() -> None:
    counted = dict(zip(FEATURES, differences([debate("d", TRUE, FALSE, 0)])[0], strict=True))
    assert counted["verified quotes"] == 1
    assert counted["unverified quotes"] == -1
    assert counted["words"] == 7 - 7
    assert counted["words in verified quotes"] == 6
    assert counted["words of the answer"] == 2 - 4
    # "boat" and "came"/"come": words are compared as they are; "boat" is said by both.
    assert counted["words shared with the own answer"] == 1 - 1
    assert counted["characters of the answer"] == len("At noon.") - len("At ten or so.")


def test_marks_that_tell_are_found_and_marks_that_do_not_are_not() -> None:
    told = [
        debate(f"t{at}", *((TRUE, FALSE) if gold == 0 else (FALSE, TRUE)), gold)
        for at, gold in enumerate(np.random.default_rng(1).integers(0, 2, 80).tolist())
    ]
    assert marks_baseline(told[:40], told[40:]).value == 1.0
    alike = [debate(f"a{at}", TRUE, TRUE, gold) for at, gold in enumerate([0, 1] * 40)]
    assert marks_baseline(alike[:40], alike[40:]).value == 0.5
    assert marks_baseline(alike, alike).clusters == 80


def test_it_needs_gold_answers() -> None:
    with pytest.raises(ConfigError, match="gold answers"):
        marks_baseline([debate("d", TRUE, FALSE, None)], [debate("d", TRUE, FALSE, 0)])
