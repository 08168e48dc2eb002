"""Model cards: what a judge, debater or preference model was trained on, kept in the folder of its weights.

A card names every story its model saw, by id and by fingerprint, so that a command can refuse to have the model score
one of them, under whatever id or in whatever edition the story comes.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import pydantic
from pydantic import Field, JsonValue, PlainSerializer

from debate.errors import ConfigError, FoldError
from debate.fingerprint import Fingerprint, StoryFinder, fingerprint, from_hex, to_hex
from debate.folds import by_story
from debate.models.adapter_folder import adapter_folder
from debate.models.embedded import RECORD
from debate.models.load import ModelConfig, kind_of
from debate.question import Fold, Question
from debate.run_folder import write_whole

CARD = "dissoi.json"
SCHEMA = 1
_EXAMPLES = 3  # stories that a message names
_ADVICE = "restore it from a copy, or train the model again"

_FingerprintField = Annotated[
    Fingerprint,
    pydantic.BeforeValidator(lambda value: from_hex(value) if isinstance(value, str) else value),
    PlainSerializer(to_hex, return_type=str, when_used="json"),
]


class _Frozen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class SeenStory(_Frozen):
    """A story that a model was trained on."""

    id: str = Field(description="story id")
    source: str = Field(description="source string that it was loaded from")
    fold: Fold | None = Field(None, description="its fold, where the source has one")
    fingerprint: _FingerprintField = Field((), description="debate.fingerprint of its text; empty for none")


class Card(_Frozen):
    """What we know of a model that we trained."""

    schema_version: int = Field(SCHEMA, ge=1, description="of this form of the card")
    kind: Literal["judge", "debater", "preference"] = Field(description="what it was trained to do")
    base: str = Field(description="the model that it was trained from, by its name in a configuration")
    stories: tuple[SeenStory, ...] = Field(description="every story it was trained or selected on")
    data: str = Field(description="sha256 of the training rows, hexadecimal")
    facts: dict[str, JsonValue] = Field({}, description="protocol, judge, metrics with intervals, and what else")

    @pydantic.field_validator("facts")
    @classmethod
    def _finite(cls, facts: dict[str, JsonValue]) -> dict[str, JsonValue]:
        try:
            json.dumps(facts, allow_nan=False)
        except ValueError as error:
            raise ValueError("a number is not finite, which JSON cannot hold; use null") from error
        return facts

    @staticmethod
    def stories_of(questions: Iterable[Question]) -> tuple[SeenStory, ...]:
        """Return the stories of some questions, each once, as a card names them.

        Args:
            questions: What the model is trained on, of any number of sources.

        Returns:
            Ids, sources, folds and fingerprints.
        """
        return tuple(
            SeenStory(
                id=question.story_id,
                source=question.source,
                fold=question.fold,
                fingerprint=fingerprint(question.story or ""),
            )
            for question in by_story(questions)
        )


def write_card(folder: Path, card: Card) -> None:
    """Write a card into a folder of weights, whole or not at all; a card that is there is replaced.

    Raises:
        StoreError: It cannot be written.
    """
    write_whole(folder / CARD, card.model_dump_json(indent=1) + "\n")


def read_card(folder: Path) -> Card | None:
    """Read the card in a folder of weights.

    Args:
        folder: Of an adapter or a whole model.

    Returns:
        The card, or None where there is none.

    Raises:
        ConfigError: It cannot be read, is malformed, or was written by a newer version.
    """
    path = folder / CARD
    try:
        found = path.stat()
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            return None
        raise ConfigError(f"cannot read the model card {path}: {error}; {_ADVICE}") from error
    return _read(path, (found.st_ino, found.st_mtime_ns, found.st_size))


@functools.lru_cache(maxsize=16)
def _read(path: Path, _state: tuple[int, int, int]) -> Card | None:
    """Read a card once while its file stays what it is: every command of a loop holds its stories against it."""
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the model card {path}: {error}; {_ADVICE}") from error
    if _is_record(tree):
        return None
    version = tree.get("schema_version") if isinstance(tree, dict) else None
    if isinstance(version, int) and version > SCHEMA:
        raise ConfigError(
            f"the model card {path} is of version {version}, this code knows {SCHEMA}; install a newer Dissoi"
        )
    try:
        return Card.model_validate(tree)
    except pydantic.ValidationError as error:
        wrong = error.errors(include_url=False)
        lines = [f"{'.'.join(map(str, item['loc'])) or 'card'}: {item['msg']}" for item in wrong[:_EXAMPLES]]
        raise ConfigError(f"the model card {path} is malformed ({'; '.join(lines)}); {_ADVICE}") from error


def _is_record(tree: object) -> bool:
    """Whether a file is the embedded model's record of where its weights came from, which bears the same name."""
    return CARD == RECORD and isinstance(tree, dict) and set(tree) == {"source", "sha256"}


def _cards(config: ModelConfig) -> list[Card]:
    """Return all cards that a model has: an adapter may lie on a base that was itself trained here."""
    kind = kind_of(config.name)
    folders = []
    if config.adapter is not None:
        folders.append(Path(config.adapter) if kind == "remote" else adapter_folder(config.adapter))
    if kind == "local":
        folders.append(Path(config.name.removeprefix("hf/")))
    cards = (read_card(folder.expanduser()) for folder in folders)
    return [card for card in cards if card is not None]


def check_unseen(card: Card, questions: Iterable[Question], *, who: str) -> None:
    """Hold that a model was trained on none of the stories it is about to score, by their ids or by their texts.

    Args:
        card: The model's.
        questions: What it is to score.
        who: The model, for the message.

    Raises:
        FoldError: It has seen some of the stories; the message names a few.
    """
    ids = {story.id for story in card.stories}
    finder = StoryFinder()
    for story in card.stories:
        finder.add(story.id, story.fingerprint)
    seen: dict[str, str] = {}
    stories = by_story(questions)
    for question in stories:
        name = question.story_id
        found = name if name in ids else finder.find(question.story or "")
        if found is not None:
            seen[name] = f"{name!r}" if found == name else f"{name!r} (there {found!r})"
    if seen:
        examples = [seen[name] for name in sorted(seen)[:_EXAMPLES]]
        more = f" and {len(seen) - len(examples)} more" if len(seen) > len(examples) else ""
        raise FoldError(
            f"{who} was trained on {len(seen)} of these {len({one.story_id for one in stories})} stories and would "
            f"recall their answers: {', '.join(examples)}{more}; choose another fold or source, or another model"
        )


def check_judge_unseen(judge_model: ModelConfig, questions: Sequence[Question]) -> None:
    """Hold that a judge's or preference model's weights have not been trained on any of these stories.

    Every command calls this before it starts, for all questions that the model will score. A model without a card, such
    as one as it was published, has told us of no stories, so it passes.

    Args:
        judge_model: The model.
        questions: What it is to score.

    Raises:
        ConfigError: Its card is malformed.
        FoldError: It has seen some of the stories.
    """
    # Of whatever kind: a debater's weights recall a story as well as a judge's.
    for card in _cards(judge_model):
        check_unseen(card, questions, who=f"model {judge_model.label!r}")
