"""Open items: ``shipped:counterintuitive``, ``shipped:ambiguity`` and ``items:FILE``.

A file of one's own is JSON Lines. A question has ``question``, ``answers`` (one or more that are right, as
``debate.metrics.answers`` reads them) and ``trap``; a text to be translated has ``text``, ``language``, ``right`` (one
or more) and ``trap``. Both may have ``id``, ``why`` and ``why_trap``, a text also ``focus``, ``right_words`` and
``trap_words``. All items of a file are of one task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import yaml

from debate.errors import SourceError
from debate.item import LANGUAGES, Item
from debate.sources.locate import data_folder, find
from debate.sources.rows import Row, hint, json_rows, listed, read_text

#: What ships, and what is in it.
NAMES = {"counterintuitive": "questions", "ambiguity": "texts to be translated"}
_QUESTION = ("id", "question", "answers", "trap", "why", "why_trap")
_TEXT = ("id", "text", "language", "focus", "right", "trap", "right_words", "trap_words", "why", "why_trap")


def load_items(source: str) -> Sequence[Item]:
    """Load the items of a source.

    Args:
        source: ``shipped:counterintuitive``, ``shipped:ambiguity`` or ``items:FILE``, where FILE is a path, an http(s)
            URL or ``hub:OWNER/DATASET/FILE``, packed with gzip or not.

    Returns:
        One or more items of one task, with unique ids.

    Raises:
        SourceError: The source is unknown, empty, unreachable or malformed.
    """
    kind, _, rest = source.partition(":")
    if kind == "shipped" and rest in NAMES:
        rows: Iterable[Row] = _shipped(rest)
    elif kind == "items" and rest:
        rows = json_rows(find(rest))
    else:
        known = [*(f"shipped:{name}" for name in NAMES), "items:FILE"]
        raise SourceError(f"{source!r} is no source of open items{hint(source, known)} (known: {listed(known)})")
    items = [_item(row, source) for row in rows]
    if not items:
        raise SourceError(f"{source!r} holds no items; check the file")
    ids: set[str] = set()
    for item in items:
        if item.id in ids:
            raise SourceError(f"{source!r}: two items have the id {item.id!r}; give each its own")
        ids.add(item.id)
    if len({item.task for item in items}) > 1:
        raise SourceError(f"{source!r} holds questions and texts to be translated; put them into two files")
    return items


def _shipped(name: str) -> Iterator[Row]:
    path = data_folder() / name / "items.yaml"
    loaded = yaml.safe_load(read_text(path))
    if not isinstance(loaded, list):
        raise SourceError(f"{path} holds no list of items; install Dissoi again")
    for number, values in enumerate(loaded, 1):
        if not isinstance(values, dict):
            raise SourceError(f"{path}, item {number} is no mapping; install Dissoi again")
        yield Row(values, f"{path}, item {number}")


def _item(row: Row, source: str) -> Item:
    question = row.has("question")
    row.only(_QUESTION if question else _TEXT)
    text = row.text("question" if question else "text")
    known = row.values.get("answers" if question else "right")
    right = (known,) if isinstance(known, str) else row.texts("answers" if question else "right")
    language = "" if question else row.text("language")
    name = row.text("id") if row.has("id") else hashlib.sha256(f"{text}\0{right}".encode()).hexdigest()[:12]
    extra = {key: row.any_text(key) for key in ("focus", "why", "why_trap") if row.has(key)}
    return Item(
        id=name,
        task="question" if question else "translation",
        text=text,
        right=right,
        trap=row.text("trap"),
        source=source,
        language=LANGUAGES.get(language, language),
        right_words=row.texts("right_words") if row.has("right_words") else (),
        trap_words=row.texts("trap_words") if row.has("trap_words") else (),
        **extra,
    )
