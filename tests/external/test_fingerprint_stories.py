"""Stories that the published debates and the L-Eval file share under other ids, one tokenised and one not."""

from __future__ import annotations

from pathlib import Path

import pytest

from debate.fingerprint import StoryFinder
from debate.sources import load


@pytest.mark.external
def test_stories_in_both_published_files_are_found(check_data: Path) -> None:
    debated = {q.story_id: q.story or "" for q in load(f"nyu:{check_data / 'nyu-human-debates.tar.gz'}")}
    leval = {q.story_id: q.story or "" for q in load(f"leval:{check_data / 'quality-leval-15-stories.jsonl'}")}
    shipped = {q.story_id: q.story or "" for q in load("shipped:stories")}
    finder = StoryFinder()
    for name, story in debated.items():
        assert finder.find(story) is None  # 96 stories, all different
        finder.add(name, story)
    found = {name: finder.find(story) for name, story in leval.items()}
    # Held against the first hundred letters, which say the same of stories that have no notice before them.
    starts = {_letters(story)[:100]: name for name, story in debated.items()}
    by_start = {name: starts[start] for name, story in leval.items() if (start := _letters(story)[:100]) in starts}
    assert len(by_start) >= 8
    assert by_start.items() <= found.items()
    both = [name for name in found.values() if name is not None]
    assert len(both) == len(set(both)) == 13
    assert all(finder.find(story) is None for story in shipped.values())


def _letters(story: str) -> str:
    return "".join(filter(str.isalpha, story)).casefold()
