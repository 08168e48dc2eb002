"""Judge rows of the published debates: two for each completed one, and no prompt tells what a judge must not know."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from debate.prompts import Prompts
from training.gather import DataConfig, gather
from training.judge_rows import judge_rows, reason_rows

pytestmark = pytest.mark.external


def test_every_completed_room_gives_a_row_for_each_order(check_data: Path) -> None:
    found = gather(DataConfig(debates=f"nyu:{check_data / 'nyu-human-debates.tar.gz'}"))
    rows = judge_rows(found.recorded, Prompts()).rows
    assert (len(found.recorded), found.dropped) == (561, {"never finished": 70})
    assert Counter(row.completion for row in rows) == {"A": 561, "B": 561}
    for item, first, second in zip(found.recorded, rows[::2], rows[1::2], strict=True):
        question = item.debate.transcript.question
        right = question.answers[question.gold or 0]
        for row in (first, second):
            assert row.story == question.story_id
            assert f"Answer {row.completion}: {' '.join(right.split())}\n" in row.prompt[-1].content
            assert (question.story or "")[:500] not in row.prompt[-1].content
            assert not {item.debate.tags.get("judge"), *item.debate.players} & set(row.prompt[-1].content.split())
    # People write why, not which letter; nothing of theirs is taken for the reply of a judge that reasons.
    assert reason_rows(found.recorded, Prompts()).rows == ()
