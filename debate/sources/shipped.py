"""``shipped:stories`` and ``shipped:choices``: what comes with Dissoi.

Stories with questions on them, and multiple-choice questions without a story; ``data/stories/CARD.md`` and
``data/choices/CARD.md`` describe them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import yaml

from debate.errors import SourceError
from debate.question import FOLDS, Fold, Question
from debate.sources.locate import data_folder
from debate.sources.once import read_once
from debate.sources.rows import Row, hint, listed, read_text

__all__ = ["NAMES", "load_questions", "read_story"]

NAMES = ("stories", "choices")
#: What else ships, and which command takes it: none of it is a set of questions with answers to choose from.
_OTHERS = {
    "claims": "tournaments.persuasion",
    "counterintuitive": "tournaments.consensus --system mad",
    "ambiguity": "tournaments.consensus --system mad",
}
# The C parser reads the 40 stories in a tenth of the time; some builds of PyYAML lack it.
_LOADER: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_questions(name: str, source: str) -> Iterator[Question]:
    """Load a shipped set of questions.

    Args:
        name: ``stories`` or ``choices``.
        source: The source string, for the questions to carry.

    Yields:
        Stories: questions of two answers, in the order of story and question ids. Choices: questions of two answers or
        more, in the order of the file.

    Raises:
        SourceError: There is no such set, or its files are malformed.
    """
    if name in _OTHERS:
        raise SourceError(f"{source!r} holds no questions with answers to choose from; it is for {_OTHERS[name]}")
    if name not in NAMES:
        raise SourceError(
            f"{source!r}: nothing called {name!r} is shipped{hint(name, NAMES)} (shipped: {listed(NAMES)})"
        )
    if name == "choices":
        yield from _choices(source)
        return
    for path in sorted((data_folder() / name).glob("*.yaml")):
        story = read_story(path)
        fold = next((fold for fold in FOLDS if fold == story.text("fold")), None)
        if fold is None:
            raise story.error(f"fold {story.text('fold')!r} is not one of {', '.join(get_args(Fold))}")
        text = story.text("text").strip()
        for row in story.rows("questions"):
            yield Question(
                id=row.text("id"),
                text=row.text("text"),
                answers=row.texts("answers"),
                gold=row.integer("gold"),
                story=text,
                story_id=story.text("id"),
                source=source,
                fold=fold,
            )


def _choices(source: str) -> Iterator[Question]:
    path = data_folder() / "choices" / "items.yaml"
    whole = Row({"items": yaml.load(read_text(path), Loader=_LOADER)}, str(path))  # noqa: S506 - a safe loader
    for row in whole.rows("items"):
        row.only(("id", "kind", "text", "answers", "gold"))
        name = row.text("id")
        yield Question(name, row.text("text"), row.texts("answers"), row.integer("gold"), None, name, source)


@read_once(128)
def read_story(path: Path) -> Row:
    """Read one story file.

    Args:
        path: A YAML file: ``id``, ``title``, ``genre``, ``fold``, ``text`` and ``questions``.

    Returns:
        Its fields.

    Raises:
        SourceError: The file cannot be read or is not a YAML mapping.
    """
    try:
        value = yaml.load(read_text(path), Loader=_LOADER)  # noqa: S506 - a safe loader, either way
    except yaml.YAMLError as error:
        raise SourceError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(value, dict):
        raise SourceError(f"{path} holds no mapping; a story file has id, title, genre, fold, text and questions")
    return Row(value, str(path))
