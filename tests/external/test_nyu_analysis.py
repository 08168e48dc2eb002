"""The published human debates analysed, held against what was published of each room and of all of them."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from debate.metrics.accuracy import accuracy
from debate.metrics.judge_reward import judge_reward, rounds_heard
from tournaments.analysis_accuracy import judgings
from tournaments.analysis_rounds import courses, reward_figures, round_figures
from tournaments.gather import Gathered, choose_debates, gather, read_sources
from tournaments.paper import compare_sign, load_findings, read_sign
from tournaments.paper_subjects import debate_subjects

pytestmark = pytest.mark.external


@pytest.fixture(scope="module")
def archive(check_data: Path) -> Path:
    return check_data / "nyu-human-debates.tar.gz"


@pytest.fixture(scope="module")
def everything(archive: Path) -> Gathered:
    return gather(read_sources([f"nyu:{archive}"]))


@pytest.fixture(scope="module")
def paper(everything: Gathered) -> Gathered:
    """The rooms that are in the paper."""
    return Gathered(choose_debates(everything.recorded, tags={"included_in_paper": "true"}), everything.cast)


@pytest.fixture(scope="module")
def judging_info(archive: Path) -> dict[str, dict[str, Any]]:
    """What was published of how each room was judged, its reward among it."""
    with tarfile.open(archive) as packed:
        file = packed.extractfile("pub/debates-metadata.jsonl")
        assert file is not None
        rows = [json.loads(line) for line in io.TextIOWrapper(file, "utf-8")]
    results = {row["name"]: row["status"].get("Complete", {}).get("result") or {} for row in rows}
    return {name: result["judgingInfo"] for name, result in results.items() if result.get("judgingInfo")}


def test_every_published_reward_is_ours(everything: Gathered, judging_info: dict[str, dict[str, Any]]) -> None:
    held = 0
    for item in everything.recorded:
        if item.debate.id not in judging_info:
            continue
        published = judging_info[item.debate.id]
        gold = item.debate.transcript.question.gold
        assert item.final is not None
        assert item.final.probabilities is not None
        assert gold is not None
        assert rounds_heard(item.debate) == published["numContinues"]
        assert judge_reward(item.final.probabilities[gold], rounds_heard(item.debate)) == pytest.approx(
            published["judgeReward"]
        )
        held += 1
    assert held == len(judging_info) == 517


class Published(NamedTuple):
    """Means over the rooms of a setting, of what was published of each."""

    rooms: int
    accuracy: float
    reward: float
    rounds: float


@pytest.mark.parametrize(
    ("setting", "published"),
    [
        ("human debate", Published(154, 84.42, -0.891, 2.747)),
        # 73.96 where the one tie is wrong; with us it is half right.
        ("human consultancy", Published(96, 74.48, -1.235, 4.021)),
        ("AI debate, self-play", Published(87, 78.16, -1.197, 3.816)),
        ("AI consultancy", Published(76, 80.26, -1.162, 4.184)),
    ],
)
def test_accuracy_reward_and_rounds_of_the_rooms_in_the_paper(
    paper: Gathered, setting: str, published: Published
) -> None:
    (people,) = judgings(paper)
    paid = reward_figures(people.groups[setting])
    assert paid is not None
    assert paid.debates == published.rooms
    assert paid.reward.value == pytest.approx(published.reward, abs=5e-4)
    assert paid.rounds.value == pytest.approx(published.rounds, abs=5e-4)
    right = accuracy(people.groups[setting]).single
    assert right is not None
    assert 100 * right.value == pytest.approx(published.accuracy, abs=0.005)
    last = round_figures(courses(paper)["as published", setting])[-1]
    if setting != "human debate":  # two of its rooms have a final verdict alone
        assert last.debates == published.rooms
        assert last.right.value == pytest.approx(right.value)


def test_people_change_their_minds_for_the_better(paper: Gathered) -> None:
    """Before the first round they know the question alone: half right; the first round of a debate tells most."""
    rows = round_figures(courses(paper)["as published", "human debate"])
    assert rows[0].right.low < 0.5 < rows[0].right.high
    assert rows[2].change is not None
    assert rows[2].change.low > 0


def test_debates_are_as_much_shorter_than_consultancies_as_the_paper_says(paper: Gathered) -> None:
    (people,) = debate_subjects(paper)
    assert round(people.figures["rounds of human debate by consultancy"].value, 2) == 0.68
    assert people.whose == "people"
    gap = compare_sign(read_sign("human debate > human consultancy"), people)
    assert gap is not None
    assert gap[1].startswith("as in the paper")
    (finding,) = [one for one in load_findings().findings if one.id == "published-human-debate"]
    assert people.figures["human debate"].value == pytest.approx(finding.figures["human debate"], abs=5e-5)
