"""What an analysis says of calibration, biases and votes, put together from hand-made debates."""

from __future__ import annotations

import json

import numpy as np
import pytest

from debate.metrics.concessions import Concession
from debate.question import Fold
from debate.record import Recorded
from debate.report import Figure, Section, Table
from tests.sides import Said, debated
from tournaments import analysis_biases, analysis_calibration, analysis_votes
from tournaments.cast import Cast, Member
from tournaments.gather import Gathered


def tables(sections: list[Section]) -> dict[str, Table]:
    return {block.title: block for section in sections for block in section.blocks if isinstance(block, Table)}


def many(draw: np.random.Generator, count: int, fold: Fold | None = None) -> list[Recorded]:
    """Debates before a judge that is three times as sure as it should be, and likes words."""
    found = []
    for at in range(count):
        said: list[Said] = [(int(draw.integers(20, 300)), int(draw.integers(0, 4)), 0) for _ in range(2)]
        gold = int(draw.integers(2))
        shares = []
        for _ in range(2):
            odds = draw.normal(0, 1)
            right = float(draw.random()) < 1 / (1 + np.exp(-odds))
            signed = (odds if right else -odds) * (1 if gold == 0 else -1)
            shares.append(float(1 / (1 + np.exp(-3 * signed))))
        found.append(
            debated(f"{fold} {at}", {"j": tuple(shares)}, said=said, gold=gold, story=f"{fold} {at // 2}", fold=fold)
        )
    return found


@pytest.fixture(scope="module")
def gathered() -> Gathered:
    draw = np.random.default_rng(0)
    return Gathered([*many(draw, 60, "test"), *many(draw, 60, "validation")], Cast())


def test_calibration(gathered: Gathered) -> None:
    sections = analysis_calibration.sections(gathered)
    shown = tables(sections)
    assert list(shown) == [
        "Calibration, single verdicts",
        "Calibration, orders combined",
        "Rejection",
        "Temperature scaling",
    ]
    assert [block.title for block in sections[0].blocks if isinstance(block, Figure)] == [
        "Reliability: j, simultaneous",
        "Rejection: j",
    ]
    assert sections[0].notes == []  # there is a validation fold
    found = json.loads(json.dumps(analysis_calibration.values(gathered), allow_nan=False))
    single = found["judges"]["j"]["simultaneous"]["single"]
    assert (single["verdicts"], single["stories"]) == (240, 60)
    assert single["overconfidence"][1] > 0  # three times as sure
    assert sum(one["n"] for one in single["reliability"]) == 240
    temperature = found["temperature"]["j"]["single"]
    assert (temperature["fitted"], temperature["stories"], temperature["verdicts"]) == ("validation", 30, 120)
    low, high = temperature["temperature"][1:]
    assert low < 3 < high
    assert temperature["log_score"]["difference"][0] < 0
    assert abs(temperature["overconfidence"]["after"][0]) < abs(temperature["overconfidence"]["before"][0])


def test_a_confidence_that_rounding_left_under_the_edge_of_a_bin_is_drawn() -> None:
    mean = (0.85 + 0.95) / 2
    assert mean < 0.9 <= 10 * mean / 10  # of two orders: 0.8999999999999999, and nine tenths once multiplied
    items = [debated(str(at), {"j": (0.85, 0.95)}) for at in range(12)]
    (section,) = analysis_calibration.sections(Gathered(items, Cast()))
    (curve,) = [block for block in section.blocks if isinstance(block, Figure) and block.title.startswith("Reliab")]
    assert curve.table is not None
    assert [row[2] for row in curve.table.rows if row[0] == "orders combined"] == [12]


def test_without_a_validation_fold_it_is_said() -> None:
    gathered = Gathered(many(np.random.default_rng(1), 40), Cast())
    (section,) = analysis_calibration.sections(gathered)
    assert section.notes == [
        "Temperature: no validation fold, or too little of it, in debates of j; cross-fitted by story."
    ]


def test_nothing_to_measure_is_no_section() -> None:
    unknown = Gathered([debated("1", {"j": (0.9,)}, gold=None)], Cast())
    for part in (analysis_calibration, analysis_biases, analysis_votes):
        assert part.sections(unknown) == []
        json.dumps(part.values(unknown), allow_nan=False)


def test_biases(gathered: Gathered) -> None:
    found = json.loads(json.dumps(analysis_biases.values(gathered), allow_nan=False))
    own = found["j"]["simultaneous"]
    assert own["position"]["bias"]["flip_rate"] is not None
    assert set(own["leanings"]) == {"right", "first", "words", "verified"}  # nobody quotes falsely
    assert own["sycophancy"] is None
    shown = tables(analysis_biases.sections(gathered))
    assert list(shown) == ["Position", "What moves a verdict"]
    assert [row[2] for row in shown["What moves a verdict"].rows] == [
        "being right",
        "being shown first",
        "a hundred words more",
        "a verified quote more",
    ]


def test_concessions_are_shown_where_they_are_known() -> None:
    items = [debated(str(n), {"j": (0.9 if n < 3 else 0.2,)}, gold=n % 2) for n in range(4)]
    concessions = (
        Concession("0", 1, "b", "0", 0.2, conceded=True),
        Concession("1", 1, "b", "1", 0.2, conceded=True),
        Concession("2", 0, "a", "2", 0.9, conceded=False),
        Concession("3", 0, "a", "3", 0.1, conceded=True),
        Concession("3", 1, "b", "3", 0.1, conceded=True),
    )
    table = tables(analysis_biases.sections(Gathered(items, Cast(), (), concessions)))["Concessions"]
    ((judge, _, debates, conceded, against, right, without),) = table.rows
    assert (judge, debates, conceded) == ("j", 4, 3)
    # The judge goes against the one who conceded in both; the last, where both did, says nothing.
    assert (getattr(against, "value", None), getattr(right, "value", None)) == (1, pytest.approx(3 / 4))
    assert getattr(without, "value", None) == 1


def test_votes_are_read_from_verdicts() -> None:
    def chance(won: int) -> float:
        return (won + 0.5) / 6

    items = [debated(str(n), {"v": (chance(won), chance(won))}) for n, won in enumerate([3, 3, 4, 2, 5, 1])]
    cast = Cast(judges={"v": Member({"kind": "vote", "votes": 5}), "w": Member({"kind": "letter", "votes": 5})})
    found = json.loads(json.dumps(analysis_votes.values(Gathered(items, cast)), allow_nan=False))
    assert [row["size"] for row in found["votes"]] == [1, 3, 5]
    one, _, five = found["votes"]
    assert one["accuracy"][0] == pytest.approx(18 / 30)
    assert one["gain"][0] == 0
    assert five["accuracy"][0] == pytest.approx(4 / 6)
    assert five["debates"] == 12
    assert five["fewer_errors"][0] == pytest.approx((4 / 6 - 18 / 30) / (12 / 30))


def test_juries_of_people_and_models() -> None:
    tags = {"judge": "Ana"}
    items = [
        debated(
            str(n),
            {
                "Ana": (p,),
                "Ana (offline, timed)": (0.01,),  # she judged it live before
                "Bo (offline, stepped)": (q,),
                "one": (r, r),
                "two": (0.4, 0.4),
            },
            tags=tags,
        )
        for n, (p, q, r) in enumerate([(0.9, 0.3, 0.6), (0.4, 0.8, 0.7), (0.6, 0.3, 0.8)] * 4)
    ]
    gathered = Gathered(items, Cast())
    found = json.loads(json.dumps(analysis_votes.values(gathered), allow_nan=False))
    (people,) = found["people"]
    assert (people["who"], people["size"], people["rule"], people["debates"]) == ("people", 2, "confidence", 12)
    assert people["accuracy_alone"][0] == pytest.approx(1 / 2)
    assert people["accuracy"][0] == pytest.approx(2 / 3)  # 0.6, 0.6, 0.45
    (judges,) = found["judges"]
    assert judges["who"] == "of 2 judges"
    assert judges["accuracy"][0] == pytest.approx((0.5 + 1 + 1) / 3)  # 0.5, 0.55, 0.6
    # People's means 0.6, 0.6, 0.45 and models' 0.5, 0.55, 0.6: together right in all.
    mixed = {row["who"]: row for row in found["people_and_models"] if row["rule"] == "confidence"}
    against_people = mixed["people and models, against people"]
    assert against_people["accuracy"][0] == 1
    assert against_people["gain"][0] == pytest.approx(1 / 3)
    assert mixed["people and models, against models"]["gain"][0] == pytest.approx(1 / 6)
    assert set(tables(analysis_votes.sections(gathered))) == {
        "Juries of judges",
        "Juries of people",
        "People and models together",
    }


def test_repetitions_are_several_debates_on_one_question() -> None:
    items = [
        debated(f"{n} {again}", {"j": (p, p)}, question=str(n), story=str(n))
        for n in range(12)
        for again, p in enumerate([0.9, 0.6, 0.2])
    ]
    found = json.loads(json.dumps(analysis_votes.values(Gathered(items, Cast())), allow_nan=False))
    rows = {(row["size"], row["rule"]): row["accuracy"][0] for row in found["debates_on_one_question"]}
    # Pairs: 0.75, 0.55, 0.4. All three: two of three, mean 0.57, odds 9 · 1.5 / 4.
    assert rows == {
        (2, "confidence"): pytest.approx(2 / 3),
        (3, "majority"): 1,
        (3, "confidence"): 1,
        (3, "log_odds"): 1,
    }
