"""The published QuALITY stories in the L-Eval form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from debate.sources import load


@pytest.mark.external
def test_every_question_of_the_fifteen_stories_is_parsed(check_data: Path) -> None:
    path = check_data / "quality-leval-15-stories.jsonl"
    questions = load(f"leval:{path}")
    assert len(questions) == 202
    assert len({question.story_id for question in questions}) == 15
    assert all(len(question.answers) == 4 for question in questions)
    published = [
        (row["input"].strip(), output)
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        for output in row["outputs"]
    ]
    for question, (story, output) in zip(questions, published, strict=True):
        assert question.gold is not None
        assert question.story == story
        # The published output repeats the right option's text, which the loader does not read: an independent check.
        stated = output[3:].strip().rstrip(".").strip()
        assert question.answers[question.gold].rstrip(".").strip() == stated
