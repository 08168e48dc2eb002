"""``questions:FILE``: own questions, as JSON Lines or CSV.

Fields: ``question``, ``answers`` and, all optional, ``id``, ``gold`` (index from 0, or the answer's text), ``story`` or
``story_file`` (a path beside the file), ``story_id``, ``fold``, ``distractor`` (as ``gold``), ``hard``. In CSV the
answers stand in columns ``answer_1``, ``answer_2``, ... or as a JSON list in ``answers``; empty cells are absent.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from debate.errors import SourceError
from debate.question import FOLDS, Question
from debate.sources.locate import find
from debate.sources.rows import Row, csv_rows, hint, is_csv, json_rows, read_text, refuse_halves

_FIELDS = ("id", "question", "answers", "gold", "story", "story_file", "story_id", "fold", "distractor", "hard")
_ANSWER = re.compile(r"answer_([1-9][0-9]*)")


def load_questions(place: str, source: str) -> Iterator[Question]:
    """Load a file of own questions.

    Args:
        place: A path, URL or hub file; a name that ends in ``.csv`` or ``.csv.gz`` is CSV, any other JSON Lines.
        source: The source string, for the questions to carry.

    Yields:
        Questions in the order of the file. An absent id is made from question, answers and story, an absent story id
        from the story, so both stay the same when rows move.

    Raises:
        SourceError: A row is malformed, with file and line.
    """
    path = find(place)
    stories: dict[str, tuple[str | None, str]] = {}
    for row in map(_typed, csv_rows(path)) if is_csv(path) else json_rows(path):
        row.only(_FIELDS)
        question = _question(row, path.parent, source)
        known, where = stories.setdefault(question.story_id, (question.story, row.where))
        if known != question.story:
            raise row.error(f"story_id {question.story_id!r} has another story in {where}; give each story its own id")
        yield question


def _question(row: Row, folder: Path, source: str) -> Question:
    text = row.text("question").strip()
    answers = tuple(answer.strip() for answer in row.texts("answers"))
    if len(answers) < 2 or not all(answers):
        raise row.error(
            f"{len(answers)} answers, {answers.count('')} of them blank; two or more are needed, none blank"
        )
    if len(set(answers)) < len(answers):
        raise row.error("two answers are the same; a debate needs different ones")
    gold = _answer_index(row, "gold", answers)
    distractor = _answer_index(row, "distractor", answers)
    if gold is not None and gold == distractor:
        raise row.error("the distractor is the gold answer; name a wrong one or leave it out")
    story = _story(row, folder)
    fold = None
    if row.has("fold"):
        fold = next((fold for fold in FOLDS if fold == row.text("fold")), None)
        if fold is None:
            given = row.text("fold")
            raise row.error(f"fold {given!r} is not one of {', '.join(FOLDS)}{hint(given, FOLDS)}")
    return Question(
        id=row.text("id") if row.has("id") else f"q-{_hash(text, *answers, story or '')}",
        text=text,
        answers=answers,
        gold=gold,
        story=story,
        # Questions without a story have nothing in common, so each is its own cluster.
        story_id=row.text("story_id") if row.has("story_id") else f"story-{_hash(story or text)}",
        source=source,
        fold=fold,
        distractor=distractor,
        hard=row.boolean("hard") if row.has("hard") else None,
    )


def _answer_index(row: Row, key: str, answers: tuple[str, ...]) -> int | None:
    """Read an answer given by index or by text; a text that is an answer is taken as that, even ``"0"``."""
    if not row.has(key):
        return None
    value = row.values[key]
    if isinstance(value, str):
        if value.strip() in answers:
            return answers.index(value.strip())
        if not re.fullmatch(r"\s*\d+\s*", value):
            raise row.error(f"{key} {value!r} is none of the answers; give the exact text or an index from 0")
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < len(answers):
        raise row.error(f"{key} is {value!r}; an index from 0 to {len(answers) - 1} or the answer's text is needed")
    return value


def _story(row: Row, folder: Path) -> str | None:
    if row.has("story_file"):
        if row.has("story"):
            raise row.error("both story and story_file are given; keep one")
        try:
            story = read_text(folder / row.text("story_file")).strip()
        except SourceError as error:
            raise row.error(f"story_file: {error}") from error
        if not story:
            raise row.error(f"story_file {row.text('story_file')!r} is empty; fill it in")
        return story
    return row.text("story").strip() if row.has("story") else None


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _typed(row: Row) -> Row:
    """Give a CSV row the types of a JSON row."""
    cells, where = {key: str(cell) for key, cell in row.values.items()}, row.where
    values: dict[str, object] = {
        key: cell for key, cell in cells.items() if cell.strip() and not _ANSWER.fullmatch(key)
    }
    columns = sorted((int(found[1]), key) for key in cells if (found := _ANSWER.fullmatch(key)))
    given = [cells[key] for _, key in columns if cells[key].strip()]
    if "answers" in values and given:
        raise SourceError(f"{where}: both answers and answer_1, ... are given; keep one")
    if "answers" in values:
        try:
            values["answers"] = json.loads(str(values["answers"]))
        except ValueError as error:
            raise SourceError(
                f"{where}: answers is not a JSON list ({error}); write one, or use columns answer_1, answer_2, ..."
            ) from error
        refuse_halves(values["answers"], where)
    elif columns:
        values["answers"] = given
        # An index counts columns; with a gap before it, it would silently mean another answer.
        if given != [cells[key] for _, key in columns][: len(given)]:
            raise SourceError(f"{where}: an answer column is empty before a filled one; fill them from answer_1 on")
    hard = values.get("hard")
    if isinstance(hard, str):
        if hard.strip().lower() not in {"true", "false"}:
            raise SourceError(f"{where}: hard is {hard!r}; write true or false")
        values["hard"] = hard.strip().lower() == "true"
    return Row(values, where)
