"""The questions of a tournament: cross-play and self-play, on different stories."""

from __future__ import annotations

from typing import NamedTuple

from debate.errors import ConfigError
from debate.folds import check_apart
from debate.question import Question
from debate.sources import load, select
from tournaments.config import QuestionsConfig, SwissConfig


class Data(NamedTuple):
    """The questions of a tournament."""

    cross_play: list[Question]
    self_play: list[Question]


def read_questions(config: SwissConfig) -> Data:
    """Load and choose the questions; those of self-play come from other stories.

    Raises:
        SourceError: A source is wrong or empty.
        ConfigError: Cross-play and self-play share a story.
    """
    cross = choose_questions(config, config.seed)
    own = [] if config.self_play is None else choose_questions(config.self_play, config.seed)
    check_apart({"cross-play": cross, "self_play": own})
    if config.questions == "fresh" and len(cross) < config.tournament_rounds:
        raise ConfigError(
            f"{len(cross)} questions cannot be dealt out to {config.tournament_rounds} rounds; use questions: shared"
        )
    return Data(cross, own)


def choose_questions(config: QuestionsConfig, seed: int) -> list[Question]:
    """Load and choose questions, each reduced to two answers.

    Raises:
        SourceError: The source is wrong or empty, or nothing is left.
    """
    questions = [question.pair(config.distractor) for question in load(config.source)]
    return select(
        questions,
        fold=config.fold,
        stories=config.stories,
        per_story=config.per_story,
        limit=config.limit,
        seed=seed,
        skip=config.skip,
    )
