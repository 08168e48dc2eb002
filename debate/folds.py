"""Folds: which stories train judges and which measure them, held at run time across all sources.

A judge that has met a story recalls the answer instead of reading the debate; ratings then mean nothing. So folds go by
story, and a story is told by its id and by its text (``debate.fingerprint``): sources hold the same stories under other
ids, in other editions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from debate.errors import ConfigError, FoldError
from debate.fingerprint import StoryFinder, fingerprint
from debate.question import Fold, Question

# Of 100 published articles, how many go to each fold.
SHARES: tuple[tuple[Fold, int], ...] = (("judge", 40), ("debater", 30), ("validation", 10), ("test", 20))


def fold_of(article_id: str) -> Fold:
    """Return the fold of a published article, by a hash of its id in the fixed shares ``SHARES``.

    QuALITY and the debates held on it name the same articles by the same ids, come in files of any part of them, and
    say nothing of folds. The hash of the id alone gives an article one fold in every file, order and version, where a
    shuffled list would give it another in each.

    Args:
        article_id: As the source writes it, such as ``51483``.

    Returns:
        The fold.
    """
    percent = int.from_bytes(hashlib.sha256(f"fold\0{article_id}".encode()).digest()[:8], "big") % 100
    for fold, share in SHARES:
        if percent < share:
            return fold
        percent -= share
    raise AssertionError("the shares of the folds do not add up to 100")


def by_story(questions: Iterable[Question]) -> list[Question]:
    """Return the first question of each story; an id that comes with several texts or folds is several stories."""
    first: dict[tuple[str, str | None, Fold | None], Question] = {}
    for question in questions:
        first.setdefault((question.story_id, question.story, question.fold), question)
    return list(first.values())


def check_apart(groups: Mapping[str, Sequence[Question]]) -> None:
    """Hold that no story is in two groups, by its id or by its text.

    Args:
        groups: Questions by what they are used for, such as ``train`` and ``validation``; the names are for the
            message, the later of two is advised to change.

    Raises:
        ConfigError: Two groups share stories; the message names one of them.
    """
    before: dict[str, tuple[set[str], StoryFinder]] = {}
    filled = [name for name, questions in groups.items() if questions]
    for group in filled:
        stories = by_story(groups[group])
        for earlier, (ids, finder) in before.items():
            shared = {
                question.story_id: other for question in stories if (other := _same(question, ids, finder)) is not None
            }
            if shared:
                name = min(shared)
                alias = "" if shared[name] == name else f" (there {shared[name]!r})"
                raise ConfigError(
                    f"{group} shares {len(shared)} stories with {earlier}, such as {name!r}{alias}; "
                    "choose another fold or source for it"
                )
        if group != filled[-1]:
            before[group] = ({question.story_id for question in stories}, finder_of(stories))


def finder_of(questions: Iterable[Question]) -> StoryFinder:
    """Return a finder of the questions' stories by text, under their story ids."""
    finder = StoryFinder()
    for question in questions:
        finder.add(question.story_id, question.story or "")
    return finder


def _same(question: Question, ids: set[str], finder: StoryFinder) -> str | None:
    return question.story_id if question.story_id in ids else finder.find(question.story or "")


def check_folds(questions: Sequence[Question]) -> None:
    """Hold that no story is in two folds, by its id or by its text, in whatever sources it is.

    Questions without a fold are passed over: their source does not say what they may be used for.

    Args:
        questions: Of any number of sources.

    Raises:
        FoldError: A story is in two folds; the message names both, with their sources.
    """
    placed = [question for question in questions if question.fold is not None]
    if len({question.fold for question in placed}) < 2:
        return
    finder = StoryFinder()
    by_id: dict[str, Question] = {}
    kept: list[Question] = []
    for question in by_story(placed):
        mark = fingerprint(question.story or "")
        found = finder.find(mark)
        same = (by_id.get(question.story_id), None if found is None else kept[int(found)])
        for other in same:
            if other is not None and other.fold != question.fold:
                raise FoldError(
                    f"story {other.story_id!r} of {other.source!r} is in fold {other.fold}, but it is story "
                    f"{question.story_id!r} of {question.source!r} too, which is in fold {question.fold}; a story "
                    "belongs to one fold, so leave it out of one of the sources or give it the same fold in both"
                )
        finder.add(str(len(kept)), mark)
        by_id.setdefault(question.story_id, question)
        kept.append(question)
