"""The science of judges on the published human debates, held against what was published of them and scikit-learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from debate.metrics.beliefs import single_beliefs
from debate.record import Recorded
from debate.sources.nyu import load_debates
from tournaments import analysis_biases, analysis_calibration, analysis_votes
from tournaments.cast import Cast
from tournaments.gather import Gathered
from tournaments.judged import by_judge

pytestmark = pytest.mark.external


@pytest.fixture(scope="module")
def published(check_data: Path) -> list[Recorded]:
    found = load_debates(check_data / "nyu-human-debates.tar.gz")
    return [one for one in found if one.debate.failed is None and one.debate.tags["included_in_paper"] == "true"]


@pytest.fixture(scope="module")
def gathered(published: list[Recorded]) -> Gathered:
    return Gathered(published, Cast())


def plain(values: object) -> Any:
    return json.loads(json.dumps(values, allow_nan=False))


def test_calibration_has_the_published_accuracies_and_scikit_learns_scores(gathered: Gathered) -> None:
    from sklearn.metrics import brier_score_loss, log_loss

    found = plain(analysis_calibration.values(gathered))["judges"]["as published"]
    published = {
        "human debate": "84.42",
        "AI debate, self-play": "78.16",
        "AI consultancy": "80.26",
    }
    for group, accuracy in published.items():
        assert f"{100 * found[group]['single']['accuracy'][0]:.2f}" == accuracy
    # One of the 96 is at one half: no point in the published count, half a point here.
    assert found["human consultancy"]["single"]["accuracy"][0] == pytest.approx((71 + 0.5) / 96)
    debates = [one for one in gathered.recorded if one.debate.tags["setting"] == "human debate"]
    chances = [one.chance for one in single_beliefs(by_judge(debates)["as published"])]
    own = found["human debate"]["single"]
    # The event "answer 0 is right", as a library sees it that knows nothing of named answers.
    gold = [one.debate.transcript.question.gold == 0 for one in debates]
    first = [p if zero else 1 - p for p, zero in zip(chances, gold, strict=True)]
    assert own["brier"][0] == pytest.approx(brier_score_loss(gold, first))
    assert own["log_score"][0] == pytest.approx(log_loss(gold, first), rel=1e-3)


def test_rejection_is_what_a_count_of_the_archive_gives(gathered: Gathered, published: list[Recorded]) -> None:
    own = plain(analysis_calibration.values(gathered))["judges"]["as published"]["human debate"]["single"]
    finals = [
        (one.final.probabilities, one.debate.transcript.question.gold)
        for one in published
        if one.debate.tags["setting"] == "human debate" and one.final is not None
    ]
    # Published in whole percents.
    sure = [(round(100 * p[gold]), round(100 * max(p))) for p, gold in finals if p is not None and gold is not None]
    kept = [on_gold for on_gold, most in sure if most >= 75]
    (found,) = [one for one in own["rejection"] if one["threshold"] == 0.75]
    assert found["kept"][0] == pytest.approx(len(kept) / len(sure))
    assert found["accuracy"][0] == pytest.approx(sum(p > 50 for p in kept) / len(kept))
    assert found["accuracy"][0] > own["accuracy"][0]
    assert own["overconfidence"][0] == pytest.approx(sum(most - 100 * (p > 50) for p, most in sure) / 100 / len(sure))


def test_consultants_of_people_are_followed_too_often(gathered: Gathered) -> None:
    found = plain(analysis_biases.values(gathered))["as published"]
    human, ai = (found[group]["sycophancy"] for group in ("human consultancy", "AI consultancy"))
    assert human["right"][0] == ai["right"][0] == 0.5  # half the time each
    assert human["excess"][1] > 0
    assert ai["excess"][0] < 0


def test_two_people_are_right_more_often_than_one(gathered: Gathered) -> None:
    rows = plain(analysis_votes.values(gathered))["people"]
    (debate,) = [row for row in rows if row["group"] == "human debate" and row["size"] == 2]
    assert debate["debates"] == 97
    assert debate["gain"][0] > 0
