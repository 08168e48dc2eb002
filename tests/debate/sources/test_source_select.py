"""Selection is a function of seed and ids alone."""

from __future__ import annotations

import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.errors import SourceError
from debate.question import FOLDS, Question
from debate.sources import select

QUESTIONS = [
    Question(f"s{s}-{n}", "Who?", ("Ann", "Bo"), 0, None, f"s{s}", "test", fold=FOLDS[s % 4])
    for s in range(12)
    for n in range(4)
]
SLICES = ((3, 0), (4, 3), (7, 0))  # stories, and how many are skipped


@given(st.permutations(QUESTIONS), st.integers(0, 5))
def test_order_does_not_matter(shuffled: list[Question], seed: int) -> None:
    chosen = select(shuffled, fold=None, stories=5, per_story=2, limit=7, seed=seed)
    assert chosen == select(QUESTIONS, fold=None, stories=5, per_story=2, limit=7, seed=seed)


def test_numbers_are_kept_and_a_limit_spreads_over_stories() -> None:
    chosen = select(QUESTIONS, fold=None, stories=5, per_story=2, limit=None, seed=1)
    assert sorted(collections.Counter(question.story_id for question in chosen).values()) == [2] * 5
    limited = select(QUESTIONS, fold=None, stories=5, per_story=2, limit=7, seed=1)
    assert limited == chosen[:7]
    assert len({question.story_id for question in limited}) == 5


def test_more_stories_hold_fewer_stories() -> None:
    few = select(QUESTIONS, fold=None, stories=3, per_story=1, limit=None, seed=2)
    many = select(QUESTIONS, fold=None, stories=6, per_story=2, limit=None, seed=2)
    assert set(few) < set(many)


def test_seeds_differ() -> None:
    assert len({tuple(q.id for q in select(QUESTIONS, stories=4, per_story=1, seed=seed)) for seed in range(8)}) == 8


def test_fold() -> None:
    chosen = select(QUESTIONS, fold="test", stories=None, per_story=None, limit=None, seed=0)
    assert len(chosen) == 12
    assert {question.fold for question in chosen} == {"test"}


def test_an_empty_selection_says_why() -> None:
    judges = [question for question in QUESTIONS if question.fold == "judge"]
    with pytest.raises(SourceError, match="fold 'test' holds none of the 12 questions of 'test'; its folds are: judge"):
        select(judges, fold="test")
    with pytest.raises(SourceError, match="per_story is 0"):
        select(QUESTIONS, per_story=0)
    with pytest.raises(SourceError, match="no questions to select from"):
        select([])


def test_what_is_skipped_is_what_a_smaller_number_chooses() -> None:
    first, rest, both = (select(QUESTIONS, seed=4, stories=stories, skip=skip) for stories, skip in SLICES)
    assert {one.id for one in first} | {one.id for one in rest} == {one.id for one in both}
    assert not {one.story_id for one in first} & {one.story_id for one in rest}
    with pytest.raises(SourceError, match="skip 99 leaves none of the 12 stories"):
        select(QUESTIONS, skip=99)
