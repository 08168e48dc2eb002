"""The science of judges on the published human debates, held against what was published of them and scikit-learn."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
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


Rooms = dict[str, list[list[tuple[int, float]]]]
"""Of each setting, by room: rounds heard and the probability of the right answer then, at every judgement."""


@pytest.fixture(scope="module")
def rooms(check_data: Path) -> Rooms:
    """The archive as it is, read without our loader."""
    held: Rooms = {}
    with tarfile.open(check_data / "nyu-human-debates.tar.gz") as packed:
        metadata = packed.extractfile("pub/debates-metadata.jsonl")
        assert metadata is not None
        wanted = {row["name"]: row for row in map(json.loads, metadata) if row["includedInPaper"]}
        for member in packed:
            if not member.name.startswith("pub/debates/official/") or not member.name.endswith(".json"):
                continue
            file = packed.extractfile(member)
            assert file is not None
            room = json.load(file)
            row = wanted.get(Path(member.name).stem)
            if row is None or "Complete" not in row["status"]:
                continue
            gold = room["setup"]["correctAnswerIndex"]
            heard, given = 0, []
            for entry in room["rounds"]:
                heard += any(kind.endswith("Speeches") for kind in entry)
                if "JudgeFeedback" in entry:
                    given.append((heard, entry["JudgeFeedback"]))
            # Of a room that was handed over, the judgements of whoever ended it.
            judge = given[-1][1]["feedback"]["speaker"]
            said = [(at, one["distribution"][gold]) for at, one in given if one["feedback"]["speaker"] == judge]
            setting = row["setting"]
            name = ("human" if setting["isHuman"] else "AI") + (" debate" if setting["isDebate"] else " consultancy")
            held.setdefault(name, []).append(said)
    return held


def documented(row: str) -> list[float]:
    """What docs/results/nyu.md says, by setting: human debate, human consultancy, AI debate, AI consultancy."""
    page = Path(__file__).parents[2] / "docs" / "results" / "nyu.md"
    (line,) = [line for line in page.read_text("utf-8").splitlines() if line.startswith(f"| {row} |")]
    return [float(re.findall(r"-?[\d.]+", cell)[0]) for cell in line.split("|")[2:-1]]


def test_the_page_on_the_archive_says_what_the_archive_gives(rooms: Rooms) -> None:
    settings = ("human debate", "human consultancy", "AI debate", "AI consultancy")
    assert [len(rooms[name]) for name in settings] == [154, 96, 87, 76]
    ours: dict[str, list[float]] = {}
    for name in settings:
        gold = np.array([said[-1][1] for said in rooms[name]])
        sure, right = np.maximum(gold, 1 - gold), np.where(np.abs(gold - 0.5) < 1e-9, 0.5, gold > 0.5)
        # In whole percents, as people gave them, so that no edge of a bin is missed by rounding.
        place = np.minimum(np.round(100 * sure).astype(int) // 10, 9)
        figures = {
            "right, %": 100 * right.mean(),
            "confidence, %": 100 * sure.mean(),
            "overconfident by, points": 100 * (sure - right).mean(),
            "calibration error, 10 bins": sum(abs((sure - right)[place == at].sum()) for at in range(10)) / len(gold),
            "Brier score": ((1 - gold) ** 2).mean(),
            "log score, nats": -np.log(np.maximum(gold, 1 / (1 + np.exp(10)))).mean(),
        }
        for heard in range(1, 5):
            known = [[p for at, p in said if at <= heard] for said in rooms[name] if len(said) > 1]
            points = [0.5 if abs(own[-1] - 0.5) < 1e-9 else float(own[-1] > 0.5) for own in known if own]
            figures[f"by {heard} round{'' if heard == 1 else 's'}"] = 100 * float(np.mean(points))
        for row, value in figures.items():
            ours.setdefault(row, []).append(float(value))
    for row, values in ours.items():
        digits = 0.005 if values[0] < 1 else 0.05
        assert documented(row) == pytest.approx(values, abs=digits + 1e-9), row
