"""Agreement, collaboration and dominance, held against a chain that was counted by hand."""

from __future__ import annotations

import dataclasses
import random

import pytest

from debate.errors import SourceError
from debate.metrics.consensus import (
    Chain,
    Outcome,
    agreed_round,
    judged_result,
    measure,
    most_frequent,
    result,
    why_broken,
)


def outcome(id_: str, gold: str, predictions: str, agreed: int | None, **more: object) -> Outcome:
    """Predictions as letters, ``-`` for one that could not be read."""
    read = tuple(None if letter == "-" else letter for letter in predictions)
    return dataclasses.replace(Outcome(id_, id_, gold, read, agreed), **more)  # type: ignore[arg-type]


HAND = Chain(
    speakers=("x", "y"),
    rounds=3,
    samples=6,
    outcomes=(
        outcome("1", "A", "AA", 0),  # both right
        outcome("2", "A", "BB", 0),  # both wrong
        outcome("3", "A", "BAA", 1),  # x gives in to y, rightly
        outcome("4", "A", "ABAA", 2),  # x stands, y gives in, rightly
        outcome("5", "A", "ABB", 1),  # x gives in, wrongly
        outcome("6", "A", "A-ABA", None),  # y unreadable, never agreed; the vote is A
    ),
)


def test_the_round_of_agreement_is_the_first_at_which_the_last_k_predictions_are_one() -> None:
    assert agreed_round(["A", "A"], 2) == 0
    assert agreed_round(["A", "B", "B"], 2) == 1
    assert agreed_round(["A", "B", "A", "A"], 2) == 2
    assert agreed_round(["A", "B", "A", "B"], 2) is None
    assert agreed_round(["A", "B", "B", "B"], 3) == 1
    assert agreed_round(["A", "A"], 3) is None


def test_an_unreadable_answer_agrees_with_nothing_not_even_another() -> None:
    assert agreed_round([None, None], 2) is None
    assert agreed_round(["A", None, "A", "A"], 2) == 2


def test_the_vote_counts_readable_answers_and_ties_go_to_the_first_given() -> None:
    assert most_frequent(["B", "A"]) == "B"
    assert most_frequent([None, "A", "B", "B"]) == "B"
    assert most_frequent([None, None]) is None
    assert most_frequent([]) is None


def test_figures_of_a_chain_counted_by_hand() -> None:
    found = measure(HAND)
    assert found.n == 6
    # x alone: right on 1, 4, 5, 6; y alone: right on 1, 3.
    assert [share.value for share in found.alone] == pytest.approx([4 / 6, 2 / 6])
    assert found.col_s.value == pytest.approx(6 / 12)
    assert found.col_h.value == pytest.approx(1 / 6)
    # the answer of x, where readable, is the first of a tie: right on 1, 4, 5, 6
    assert found.majority.value == pytest.approx(4 / 6)
    # right: 1, 3, 4, 6
    assert found.ford.value == pytest.approx(4 / 6)
    # the debate turned 3 right, which the vote had wrong, and 5 wrong, which it had right
    assert found.gain.value == pytest.approx(0)
    assert found.gain.low == pytest.approx(-found.gain.high)
    assert found.gain.low < 0
    assert found.judged is None
    assert [share.value for share in found.incon] == pytest.approx([4 / 6, 2 / 6, 1 / 6, 1 / 6])
    assert (found.debated, found.agreed, found.empty, found.unread, found.predictions) == (4, 3, 0, 1, 19)


def test_dominance_and_compromises_of_a_chain_counted_by_hand() -> None:
    x, y = measure(HAND).sway
    # agreed: 3 on y's own answer, 4 on x's, 5 on y's
    assert (x.upheld, y.upheld) == (1, 2)
    assert x.dominance_of_agreed is not None
    assert x.dominance_of_debated is not None
    assert x.dominance_of_agreed.value == pytest.approx(1 / 3)
    assert x.dominance_of_debated.value == pytest.approx(1 / 4)
    # x's turn brought the agreement in 3 and 5, y's in 4
    assert (x.compromises, y.compromises) == (2, 1)
    assert x.compromises_of_agreed is not None
    assert x.compromises_of_agreed.value == pytest.approx(2 / 3)
    # x: B to A in 3, A to B in 5; in 6 A, A, A. y: B to A in 4; in 6 nothing was named before B
    assert (x.changes, x.turns, y.changes, y.turns) == (2, 5, 1, 2)


def test_a_judge_decides_what_was_debated_and_its_silence_is_never_right() -> None:
    judged = dataclasses.replace(
        HAND,
        outcomes=tuple(
            dataclasses.replace(one, judged=True, verdict={"3": "A", "4": "B", "5": "A", "6": None}[one.id])
            if one.agreed != 0
            else one
            for one in HAND.outcomes
        ),
    )
    found = measure(judged)
    assert found.judged is not None
    assert found.judged.value == pytest.approx(3 / 6)  # 1 by agreement; 3 and 5 by the judge
    assert found.ford.value == pytest.approx(4 / 6)
    assert judged_result(judged.outcomes[5]) is None
    assert result(judged.outcomes[5]) == "A"


def test_intervals_go_by_cluster() -> None:
    pairs = tuple(dataclasses.replace(one, cluster=str(int(one.id) // 2)) for one in HAND.outcomes)
    assert measure(HAND).ford.clusters == 6
    assert measure(dataclasses.replace(HAND, outcomes=pairs)).ford.clusters == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"samples": 5}, ("6 samples where 5 began", "1 doubled")),
        ({"samples": 8}, ("2 lost",)),
        ({"outcomes": (*HAND.outcomes[:-1], HAND.outcomes[0])}, ("more than once", "'1'")),
        ({"rounds": 2}, ("'6' has 5 predictions", "2 to 4")),
        ({"outcomes": (*HAND.outcomes[:-1], outcome("6", "A", "ABA", 2))}, ("'6'", "after round 2", "1 turns")),
        ({"outcomes": (*HAND.outcomes[:-1], outcome("6", "A", "A", None))}, ("1 predictions",)),
        ({"outcomes": (*HAND.outcomes[:-1], outcome("6", "A", "AB", 0))}, ("'6'", "after round 0", "last 2", "differ")),
        ({"outcomes": (*HAND.outcomes[:-1], outcome("6", "A", "ABB", None))}, ("'6'", "never agreed", "after round 1")),
    ],
)
def test_a_chain_that_lost_or_doubled_samples_is_refused(change: dict[str, object], words: tuple[str, ...]) -> None:
    broken = dataclasses.replace(HAND, **change)  # type: ignore[arg-type]
    reason = why_broken(broken)
    assert reason is not None
    for word in words:
        assert word in reason
    with pytest.raises(SourceError, match="x__y"):
        measure(broken)


def test_three_speakers_take_turns_in_a_circle() -> None:
    rng = random.Random(3)
    outcomes = []
    for number in range(40):
        predictions: list[str | None] = [rng.choice("AB") for _ in range(3)]
        while agreed_round(predictions, 3) is None and len(predictions) < 3 + 9:
            predictions.append(rng.choice("AB"))
        outcomes.append(Outcome(str(number), str(number), "A", tuple(predictions), agreed_round(predictions, 3)))
    found = measure(Chain(("x", "y", "z"), 9, 40, tuple(outcomes)))
    assert sum(one.compromises for one in found.sway) == found.agreed
    turns = sum(len(one.predictions) - 3 for one in outcomes)
    assert sum(one.turns for one in found.sway) == turns
    values = [share.value for share in found.incon]
    assert values == sorted(values, reverse=True)
    assert values[-1] * 40 == pytest.approx(found.debated - found.agreed)
