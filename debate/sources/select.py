"""Choosing questions: by fold, then some stories, some questions of each, and a limit; the same for the same seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from debate.errors import SourceError
from debate.question import Fold, Question
from debate.sources.rows import listed


def select(
    questions: Sequence[Question],
    *,
    fold: Fold | None = None,
    stories: int | None = None,
    per_story: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    skip: int = 0,
) -> list[Question]:
    """Choose questions at random, the same ones for the same seed in whatever order they come.

    Stories, and the questions of a story, are ranked by a hash of seed and id. So a larger number chooses what a
    smaller one did and more. A limit takes the first question of every story before the second of any.

    Args:
        questions: What to choose from, with unique ids.
        fold: Only questions whose stories are in this fold; None for all.
        stories: At most so many stories.
        per_story: At most so many questions of each.
        limit: At most so many questions in all.
        seed: Chooses the ranking.
        skip: So many stories of the ranking are left out first: they are what ``stories=skip`` chooses.

    Returns:
        The questions, each story's first before any story's second.

    Raises:
        SourceError: A number is below 1, or nothing is left; the message says which filter left nothing.
    """
    for name, number in (("stories", stories), ("per_story", per_story), ("limit", limit)):
        if number is not None and number < 1:
            raise SourceError(
                f"{name} is {number}, so no question would be selected; set it to 1 or more, or leave it out"
            )
    if not questions:
        raise SourceError("there are no questions to select from; check the source")
    kept = [question for question in questions if fold is None or question.fold == fold]
    if not kept:
        present = {str(question.fold) for question in questions}
        raise SourceError(
            f"fold {fold!r} holds none of the {len(questions)} questions of {questions[0].source!r}; its folds are: "
            f"{listed(present)}"
        )
    by_story: dict[str, list[Question]] = {}
    for question in kept:
        by_story.setdefault(question.story_id, []).append(question)
    ranked_stories = sorted(by_story, key=lambda story_id: rank(seed, "story", story_id))[skip:][:stories]
    if not ranked_stories:
        raise SourceError(
            f"skip {skip} leaves none of the {len(by_story)} stories of {questions[0].source!r}; name a larger source, "
            "or skip fewer"
        )
    chosen = [
        (place, at, question)
        for at, story_id in enumerate(ranked_stories)
        for place, question in enumerate(
            sorted(by_story[story_id], key=lambda question: rank(seed, "question", question.id))[:per_story]
        )
    ]
    chosen.sort(key=lambda item: item[:2])
    return [question for _, _, question in chosen[:limit]]


def rank(seed: int, kind: str, name: str) -> bytes:
    """Draw the lot of one name: a hash of seed, kind and name, so that it depends on no other name."""
    return hashlib.sha256(f"{seed}\0{kind}\0{name}".encode()).digest()
