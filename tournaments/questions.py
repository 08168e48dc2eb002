"""The questions of a tournament: cross-play and self-play, on different stories."""

from __future__ import annotations

from typing import NamedTuple

from debate.errors import ConfigError
from debate.fingerprint import StoryFinder
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
    cross = _choose(config, config.seed)
    own = [] if config.self_play is None else _choose(config.self_play, config.seed)
    _check_apart(cross, own)
    if config.questions == "fresh" and len(cross) < config.tournament_rounds:
        raise ConfigError(
            f"{len(cross)} questions cannot be dealt out to {config.tournament_rounds} rounds; use questions: shared"
        )
    return Data(cross, own)


def _choose(config: QuestionsConfig, seed: int) -> list[Question]:
    questions = [question.pair() for question in load(config.source)]
    return select(
        questions, fold=config.fold, stories=config.stories, per_story=config.per_story, limit=config.limit, seed=seed
    )


def _check_apart(cross: list[Question], own: list[Question]) -> None:
    """Hold that no story is in both, by its id or by its text: sources share stories under other ids."""
    ids = {question.story_id for question in cross}
    finder = StoryFinder()
    if own:
        for story, name in {question.story: question.story_id for question in cross}.items():
            finder.add(name, story or "")
    shared: dict[str, str] = {}
    for story, name in {question.story: question.story_id for question in own}.items():
        other = name if name in ids else finder.find(story or "")
        if other is not None:
            shared[name] = other
    if shared:
        name = min(shared)
        alias = "" if shared[name] == name else f" (there {shared[name]!r})"
        raise ConfigError(
            f"self_play shares {len(shared)} stories with cross-play, such as {name!r}{alias}; "
            "choose another fold or source for it"
        )
