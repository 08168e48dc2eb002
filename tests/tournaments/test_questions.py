"""The questions of a tournament: self-play and cross-play never share a story, whatever it is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from debate.errors import ConfigError
from debate.sources import load
from tests.runs import tournament
from tournaments.config import SwissConfig
from tournaments.questions import read_questions


def config(cross: Path, own: Path) -> SwissConfig:
    changes = {"source": f"questions:{cross}", "fold": None, "stories": None}
    return SwissConfig.model_validate(tournament(**changes, self_play={"source": f"questions:{own}"}))


def write(path: Path, stories: dict[str, str]) -> Path:
    rows = [
        {"id": f"{path.stem}-{name}", "story_id": name, "question": "Who?", "answers": ["He.", "She."], "story": story}
        for name, story in stories.items()
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_a_story_under_another_id_and_in_other_tokens_is_found(tmp_path: Path) -> None:
    one, two, three = list({q.story_id: q.story or "" for q in load("shipped:stories")}.values())[:3]
    cross = write(tmp_path / "cross.jsonl", {"one": one, "two": two})
    assert len(read_questions(config(cross, write(tmp_path / "own.jsonl", {"three": three}))).self_play) == 1
    tokens = two.replace(".", " .").replace(",", " ,").replace("'s", " 's").replace("n't", " n't").upper()
    own = write(tmp_path / "other.jsonl", {"three": three, "numbered-7": tokens})
    with pytest.raises(ConfigError, match=r"shares 1 stories with cross-play, such as 'numbered-7' \(there 'two'\)"):
        read_questions(config(cross, own))


def test_a_story_under_the_same_id_is_found_without_text_in_common(tmp_path: Path) -> None:
    cross = write(tmp_path / "cross.jsonl", {"one": "Ana shut the gate at noon."})
    own = write(tmp_path / "own.jsonl", {"one": "Tomas rode off without a word."})
    with pytest.raises(ConfigError, match=r"such as 'one'; choose"):
        read_questions(config(cross, own))


@pytest.mark.external
def test_published_sources_share_stories(check_data: Path) -> None:
    changes = {"source": f"nyu:{check_data / 'nyu-human-debates.tar.gz'}", "fold": None, "stories": None}
    own = {"source": f"leval:{check_data / 'quality-leval-15-stories.jsonl'}"}
    with pytest.raises(ConfigError, match="self_play shares 13 stories with cross-play"):
        read_questions(SwissConfig.model_validate(tournament(**changes, self_play=own)))
