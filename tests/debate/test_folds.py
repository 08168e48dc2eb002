"""Folds: one for an article in every source, and no story in two of them or in two groups."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from debate.errors import ConfigError, FoldError
from debate.folds import SHARES, by_story, check_apart, check_folds, fold_of
from debate.question import FOLDS, Fold, Question
from debate.sources import load

STORIES = {question.story_id: question.story or "" for question in load("shipped:stories")}
ONE, TWO, THREE = list(STORIES.values())[:3]


def question(story_id: str, story: str | None, *, fold: Fold | None = None, source: str = "questions:own") -> Question:
    return Question(f"{source}-{story_id}", "Who?", ("He.", "She."), 0, story, story_id, source, fold)


def retold(story: str) -> str:
    """The same story as a tokeniser and a shouting editor leave it."""
    return story.replace(".", " .").replace(",", " ,").replace("'s", " 's").replace("n't", " n't").upper()


def test_the_fold_of_an_article_is_a_hash_of_its_id_in_the_shares_written_down() -> None:
    assert SHARES == (("judge", 40), ("debater", 30), ("validation", 10), ("test", 20))
    ends: dict[Fold, range] = {
        "judge": range(40),
        "debater": range(40, 70),
        "validation": range(70, 80),
        "test": range(80, 100),
    }
    for article in ("51483", "99911", "9", "ö"):
        digits = hashlib.sha256(b"fold\0" + article.encode()).hexdigest()[:16]
        assert int(digits, 16) % 100 in ends[fold_of(article)]
    counts = Counter[str](fold_of(str(article)) for article in range(20_000, 30_000))
    for fold, share in SHARES:
        assert counts[fold] / 10_000 == pytest.approx(share / 100, abs=0.02)  # four standard errors


def test_the_fold_of_an_article_never_changes() -> None:
    # Cards and published results rest on these: another hash would let judges meet stories they know.
    frozen = {"51483": "judge", "60412": "debater", "99902": "validation", "52844": "test"}
    assert {article: fold_of(article) for article in frozen} == frozen


def test_quality_and_nyu_give_an_article_one_fold(tmp_path: Path) -> None:
    folds: set[Fold | None] = set()
    for article in ("51483", "52844", "60412", "61007", "61397"):
        row = {"question_unique_id": f"{article}-1", "question": "Who ran?", "options": ["Bo", "Ann"], "gold_label": 1}
        line = {"article_id": article, "source": "Gutenberg", "article": "Bo ran.", "questions": [row]}
        (tmp_path / f"{article}.jsonl").write_text(json.dumps(line), encoding="utf-8")
        [quality] = load(f"quality:{tmp_path / article}.jsonl")
        [nyu] = load(f"nyu:{archive(tmp_path / article, article)}")
        assert (quality.story_id, quality.fold) == (nyu.story_id, nyu.fold) == (f"quality-{article}", fold_of(article))
        folds.add(quality.fold)
    assert len(folds) > 1


def archive(folder: Path, article: str) -> Path:
    """Write a room in the form of the published debates."""
    material = {"articleId": article, "title": "Mill", "contents": ["Bo", "ran", "."]}
    room: dict[str, Any] = {
        "setup": {
            "sourceMaterial": {"QuALITYSourceMaterial": material},
            "question": "Who ran?",
            "answers": ["Bo", "Ann"],
            "correctAnswerIndex": 0,
            "roles": {},
        },
        "rounds": [],
    }
    (folder / "debates" / "official").mkdir(parents=True)
    (folder / "debates-metadata.jsonl").write_text(json.dumps({"name": "mill-0"}), encoding="utf-8")
    (folder / "debates" / "official" / "mill-0.json").write_text(json.dumps(room), encoding="utf-8")
    return folder


@pytest.mark.external
def test_published_sources_have_all_folds_or_none(check_data: Path) -> None:
    nyu = load(f"nyu:{check_data / 'nyu-human-debates.tar.gz'}")
    assert {one.fold for one in nyu} == set(FOLDS)
    for one in nyu:
        assert one.fold == fold_of(one.story_id.removeprefix("quality-"))
    leval = load(f"leval:{check_data / 'quality-leval-15-stories.jsonl'}")
    assert {one.fold for one in leval} == {None}
    check_folds([*nyu, *leval, *load("shipped:stories")])


def test_a_story_is_one_however_many_questions_it_has() -> None:
    questions = [question("one", ONE), question("two", None), question("one", ONE), question("one", ONE, fold="test")]
    assert by_story(questions) == [questions[0], questions[1], questions[3]]


def test_groups_that_share_no_story_are_apart() -> None:
    check_apart({})
    check_apart({"train": [], "validation": [question("one", ONE)], "test": [question("two", TWO)]})


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (question("one", TWO), "test shares 1 stories with train, such as 'one'; choose another fold or source for it"),
        (question("uno", retold(ONE)), r"test shares 1 stories with train, such as 'uno' \(there 'one'\)"),
        (question("none-1", None), "such as 'none-1'; choose"),
    ],
)
def test_groups_that_share_a_story_by_id_or_text_are_not(other: Question, message: str) -> None:
    train = [question("one", ONE), question("none-1", None), question("none-2", None)]
    validation = [question("two", TWO)] if other.story != TWO else []
    with pytest.raises(ConfigError, match=message):
        check_apart({"train": train, "validation": validation, "test": [question("three", THREE), other]})


def test_one_story_in_two_folds_is_named_with_both_sources() -> None:
    judge = question("one", ONE, fold="judge", source="quality:a")
    same = question("uno", retold(ONE), fold="judge", source="nyu:b")
    test = question("uno-2", retold(ONE), fold="test", source="questions:c")
    check_folds([judge, same, question("two", TWO, fold="test"), question("uno-3", ONE), question("none", None)])
    with pytest.raises(
        FoldError,
        match=r"story 'one' of 'quality:a' is in fold judge, .*'uno-2' of 'questions:c' too, which is in fold test",
    ):
        check_folds([judge, question("two", TWO, fold="test"), test])
    with pytest.raises(FoldError, match=r"story 'one' of 'quality:a' is in fold judge, .*fold debater"):
        check_folds([judge, question("one", None, fold="debater")])
