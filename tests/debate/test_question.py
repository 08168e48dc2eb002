from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.errors import SourceError
from debate.question import Question

FOUR = ("red", "green", "blue", "white")


def question(
    id_: str = "q", answers: tuple[str, ...] = FOUR, gold: int | None = 2, distractor: int | None = None
) -> Question:
    return Question(id_, "Which colour?", answers, gold, "A story.", "s", "test", "test", distractor, hard=True)


@given(st.text(max_size=20), st.integers(0, 3), st.integers(0, 3))
def test_a_pair_holds_gold_and_distractor_and_nothing_else(id_: str, gold: int, distractor: int) -> None:
    named = None if gold == distractor else distractor
    pair = question(id_, gold=gold, distractor=named).pair()
    assert pair.gold is not None
    assert pair.distractor == 1 - pair.gold
    assert pair.answers[pair.gold] == FOUR[gold]
    assert pair.answers[1 - pair.gold] in set(FOUR) - {FOUR[gold]}
    if named is not None:
        assert pair.answers[1 - pair.gold] == FOUR[named]
    assert (pair.id, pair.text, pair.story, pair.story_id, pair.fold, pair.hard) == (
        id_,
        "Which colour?",
        "A story.",
        "s",
        "test",
        True,
    )
    assert pair == question(id_, gold=gold, distractor=named).pair()
    assert pair.pair() is pair


@pytest.mark.parametrize("gold", range(4))
def test_the_order_says_nothing_about_gold(gold: int) -> None:
    n = 4000
    pairs = [question(f"story {index}, question {index % 5}", gold=gold).pair() for index in range(n)]
    first = sum(pair.gold == 0 for pair in pairs)
    assert abs(first - n / 2) < 4 * math.sqrt(n / 4)  # four standard deviations of a fair coin
    wrong = [pair.answers[1 - (pair.gold or 0)] for pair in pairs]
    for answer in set(FOUR) - {FOUR[gold]}:  # each wrong answer equally often, and independent of the place
        assert abs(wrong.count(answer) - n / 3) < 4 * math.sqrt(n * 2 / 9)
        places = [pair.gold for pair, text in zip(pairs, wrong, strict=True) if text == answer]
        assert abs(places.count(0) - len(places) / 2) < 4 * math.sqrt(len(places) / 4)


def test_two_answers_stay_as_they_are() -> None:
    two = question(answers=("yes", "no"), gold=1)
    assert two.pair() is two
    unknown = question(answers=("yes", "no"), gold=None)
    assert unknown.pair() is unknown


def test_four_answers_without_gold_cannot_be_paired() -> None:
    with pytest.raises(SourceError, match=r"'q'.*4 answers.*gold"):
        question(gold=None).pair()


@pytest.mark.parametrize(
    ("answers", "gold", "distractor"),
    [(("one",), 0, None), ((), None, None), (FOUR, 4, None), (FOUR, -1, None), (FOUR, 0, 7), (FOUR, 1, 1)],
)
def test_impossible_questions_are_refused(answers: tuple[str, ...], gold: int | None, distractor: int | None) -> None:
    with pytest.raises(SourceError, match="'q' of 'test'"):
        question(answers=answers, gold=gold, distractor=distractor)


@given(st.text(max_size=20), st.integers(0, 3), st.integers(0, 3))
def test_a_drawn_distractor_does_not_go_by_the_source(id_: str, gold: int, distractor: int) -> None:
    named = None if gold == distractor else distractor
    drawn = question(id_, gold=gold, distractor=named).pair("drawn")
    assert drawn == question(id_, gold=gold).pair("drawn") == question(id_, gold=gold).pair()
    assert drawn.answers[drawn.gold or 0] == FOUR[gold]
    assert drawn.answers[1 - (drawn.gold or 0)] in set(FOUR) - {FOUR[gold]}


def test_every_wrong_answer_is_drawn_equally_often_though_one_is_named() -> None:
    n = 3000
    pairs = [question(f"q{index}", gold=2, distractor=0).pair("drawn") for index in range(n)]
    wrong = [pair.answers[1 - (pair.gold or 0)] for pair in pairs]
    for answer in ("red", "green", "white"):
        assert abs(wrong.count(answer) - n / 3) < 4 * math.sqrt(n * 2 / 9)


CLOSE = (
    "She sold the house to her brother.",
    "Nobody knows.",
    "He went to sea that spring and was not heard of again.",
    "She sold the farm to her brother.",
)


def test_the_closest_distractor_is_worded_most_like_the_right_answer() -> None:
    for id_ in ("a", "b", "c", "d"):
        pair = question(id_, CLOSE, gold=0, distractor=1).pair("closest")
        assert {*pair.answers} == {CLOSE[0], CLOSE[3]}
        assert pair.answers[pair.gold or 0] == CLOSE[0]
        assert pair.distractor == 1 - (pair.gold or 0)
    # Case does not count, and of equals the first is taken.
    shouted = question("a", ("THE RED BARN", "the blue door", "the red barn.", "The Red Barn."), gold=0).pair("closest")
    assert shouted.answers[1 - (shouted.gold or 0)] == "the red barn."
    assert question("a", ("yes", "no"), gold=1).pair("closest").answers == ("yes", "no")


def test_the_order_of_a_closest_pair_says_nothing_about_gold() -> None:
    n = 2000
    first = sum(question(f"q{index}", CLOSE, gold=0).pair("closest").gold == 0 for index in range(n))
    assert abs(first - n / 2) < 4 * math.sqrt(n / 4)
