"""``leval:FILE``: QuALITY stories in the L-Eval form, one JSON line a story with all its questions.

A line holds ``input`` (the story), ``instructions`` (each a question with its options ``(A)`` to ``(D)``) and
``outputs`` (each the letter and text of the right option).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from debate.question import Question
from debate.sources.locate import find
from debate.sources.rows import Row, json_rows

_OPTION = re.compile(r"(?:^|\n)[^\S\n]*\(([A-Z])\)")
_GOLD = re.compile(r"\s*\(?([A-Z])(?:[).:]|\s|$)")


def load_questions(place: str, source: str) -> Iterator[Question]:
    """Load a file in the L-Eval form.

    Args:
        place: A path, URL or hub file.
        source: The source string, for the questions to carry.

    Yields:
        Questions in the order of the file. Story ids are hashes of the stories, question ids add the place. The file
        names no articles, so its stories have no fold.

    Raises:
        SourceError: A line is malformed, or a question's options or right letter cannot be read.
    """
    for row in json_rows(find(place)):
        story = row.text("input").strip()
        instructions, outputs = row.texts("instructions"), row.texts("outputs")
        if len(instructions) != len(outputs):
            raise row.error(f"{len(instructions)} instructions but {len(outputs)} outputs; each needs its own")
        story_id = f"leval-{hashlib.sha256(story.encode()).hexdigest()[:12]}"
        for number, (instruction, output) in enumerate(zip(instructions, outputs, strict=True), 1):
            text, answers = _split(row, number, instruction)
            yield Question(
                id=f"{story_id}-{number}",
                text=text,
                answers=answers,
                gold=_gold(row, number, output, answers),
                story=story,
                story_id=story_id,
                source=source,
            )


def _split(row: Row, number: int, instruction: str) -> tuple[str, tuple[str, ...]]:
    """Split an instruction at the option letters that stand in order, so an answer may mention ``(B)`` itself."""
    marks: list[re.Match[str]] = []
    for mark in _OPTION.finditer(instruction):
        if mark[1] == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(marks)]:
            marks.append(mark)
    if len(marks) < 2:
        raise row.error(f"instruction {number} has {len(marks)} options; each must begin its own line as (A), (B), ...")
    ends = [mark.start() for mark in marks[1:]] + [len(instruction)]
    answers = tuple(instruction[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True))
    text = instruction[: marks[0].start()].strip()
    if not text or not all(answers):
        raise row.error(f"instruction {number} has a blank question or option; fill it in")
    return text, answers


def _gold(row: Row, number: int, output: str, answers: tuple[str, ...]) -> int:
    found = _GOLD.match(output)
    gold = ord(found[1]) - ord("A") if found else -1
    if not 0 <= gold < len(answers):
        raise row.error(
            f"output {number} ({output[:40]!r}) does not begin with the letter of one of {len(answers)} options"
        )
    return gold
