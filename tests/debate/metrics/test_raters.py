"""Whose judgements are kept: agreement by hand, explanations by hand, and no way to be left out for being wrong."""

from __future__ import annotations

import dataclasses

import pytest

from debate.metrics.raters import Judgement, Rater, Rules, rate_raters, refers_to

SPEECHES = "The ledger lay under the third stair, Tomas said, and the miller counted eleven tins."
KNOWN = "Who hid the ledger?\nAna.\nTomas."


def judgement(
    rater: str, debate: str, probability: float, explanation: str = "the third stair and the miller", cluster: str = ""
) -> Judgement:
    return Judgement(rater, debate, cluster or debate, probability, explanation, SPEECHES, KNOWN)


REASONS = (
    "The third stair is quoted by one of them, and the other keeps silent on it.",
    "Counting eleven tins leaves no room for what the miller is supposed to have done.",
    "Nobody answered the ledger under that stair; I waited for it until the end.",
    "If Tomas were guilty, why would the miller say a word about any tins at all?",
    "Round two turned it: eleven of these tins, and all below the stair.",
    "Plainly invented, the line on the moon; the miller and his stair are real.",
)


def by_name(raters: list[Rater]) -> dict[str, Rater]:
    return {rater.name: rater for rater in raters}


def test_agreement_is_the_share_of_the_others_who_name_the_same_answer() -> None:
    found = by_name(
        rate_raters(
            [
                judgement("ana", "1", 0.9),
                judgement("ben", "1", 0.7),
                judgement("cy", "1", 0.2),
                judgement("ana", "2", 0.4),
                judgement("ben", "2", 0.4),
                judgement("ana", "3", 0.95),  # nobody else judged it
            ]
        )
    )
    ana = found["ana"]
    assert (ana.judgements, ana.overlap) == (3, 2)
    assert ana.agreement is not None
    assert ana.agreement.value == pytest.approx((0.5 + 1) / 2)
    assert ana.distance == pytest.approx((abs(0.9 - 0.45) + 0) / 2)
    assert found["cy"].agreement is not None
    assert found["cy"].agreement.value == 0
    assert found["cy"].distance == pytest.approx(0.6)


def test_intervals_go_by_cluster() -> None:
    rows = [
        judgement(who, str(n), 0.8 if who == "ana" else [0.8, 0.2][n % 2]) for n in range(8) for who in ("ana", "b")
    ]
    alone = by_name(rate_raters(rows))["ana"].agreement
    shared = by_name(rate_raters([dataclasses.replace(row, cluster=str(int(row.debate) // 4)) for row in rows]))["ana"]
    assert alone is not None
    assert shared.agreement is not None
    assert (alone.clusters, shared.agreement.clusters) == (8, 2)


def test_a_judge_alone_has_no_agreement_and_is_kept() -> None:
    (only,) = rate_raters([judgement("ana", str(n), 0.9, REASONS[n]) for n in range(6)])
    assert only.agreement is None
    assert only.distance is None
    assert only.kept


@pytest.mark.parametrize(
    ("explanation", "refers"),
    [
        ("The third stair settles it, says the miller.", True),
        ("I counted eleven tins.", True),
        ("The ledger and Tomas.", False),  # both are words of the question
        ("I just think that this answer is more convincing.", False),
        ("The judge said there was evidence for the claim that they made.", False),
        ("", False),
        ("THIRD’S STAIR", True),
    ],
)
def test_an_explanation_takes_up_the_debate_by_words_that_only_it_has(explanation: str, refers: bool) -> None:  # noqa: FBT001 - a parameter
    assert refers_to(judgement("ana", "1", 0.9, explanation)) is refers


def test_repeated_and_short_explanations_are_found() -> None:
    rows = [
        judgement("copy", str(n), 0.9, "Good argument, third stair, miller, it convinced me a lot.") for n in range(5)
    ]
    rows += [judgement("terse", str(n), 0.9, f"Stair {'abcde'[n] * 9} miller") for n in range(5)]
    found = by_name(rate_raters(rows))
    assert found["copy"].unique == pytest.approx(1 / 5)
    assert [reason.split()[0] for reason in found["copy"].reasons] == ["20%"]
    assert found["terse"].words == 3
    assert "explains in 3 words" in found["terse"].reasons[0]


def test_with_few_judgements_nobody_is_left_out() -> None:
    rows = [judgement("ana", str(n), 0.9, "ok") for n in range(4)]
    assert by_name(rate_raters(rows))["ana"].kept
    rows.append(judgement("ana", "4", 0.9, "ok"))
    assert not by_name(rate_raters(rows))["ana"].kept
    assert by_name(rate_raters(rows, Rules(judgements=6)))["ana"].kept


def test_who_differs_from_everybody_is_left_out_and_who_is_wrong_with_everybody_is_not() -> None:
    rows = [
        judgement(who, str(n), 0.1 if who == "odd" else 0.9, REASONS[n])
        for n in range(6)
        for who in ("ana", "ben", "cy", "odd")
    ]
    found = by_name(rate_raters(rows))
    assert [name for name, rater in found.items() if not rater.kept] == ["odd"]
    assert found["odd"].reasons == ("agrees with others in 0%, under 50%",)
    # Whichever answer is right, the input cannot say it.
    assert {field.name for field in dataclasses.fields(Judgement)} == {
        "rater", "debate", "cluster", "probability", "explanation", "speeches", "known",
    }  # fmt: skip
