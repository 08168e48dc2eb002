"""What a session checks before anything is asked, and what it leaves of very many debates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from debate.card import Card, write_card
from debate.command import Command
from debate.question import Question
from debate.record import Debate, Recorded
from debate.run import COMMAND as DEBATE
from debate.sources import load
from debate.transcript import Transcript
from tests.commands import assert_refuses, call
from tests.runs import EXTRACTIVE, tournament, write
from tournaments.consultancy import COMMAND as CONSULTANCY
from tournaments.session import spread
from tournaments.swiss import COMMAND as SWISS

COMMANDS = [
    (SWISS, {}),
    (CONSULTANCY, {"protocol": {"kind": "consultancy"}, "speech": {}}),
    (DEBATE, {}),
]
QUESTION = Question("q", "Who?", ("Ann", "Bob"), 0, None, "s", "here")


def test_debates_with_a_page_are_spread_evenly_and_keep_their_order() -> None:
    def debates(count: int) -> list[Recorded]:
        return [Recorded(Debate(str(n), "sequential", Transcript(QUESTION), ("a", "b")), ()) for n in range(count)]

    def chosen(count: int, most: int) -> list[int]:
        return [int(item.debate.id) for item in spread(debates(count), most)]

    assert chosen(3, 4) == [0, 1, 2]
    assert chosen(4, 4) == [0, 1, 2, 3]
    assert chosen(5, 4) == [0, 1, 2, 3]
    assert chosen(8, 4) == [0, 2, 4, 6]
    assert chosen(11, 4) == [0, 2, 5, 8]
    assert chosen(0, 4) == []


@pytest.mark.parametrize(("command", "changes"), COMMANDS)
def test_models_of_one_name_at_two_servers_are_refused_before_there_is_a_run(
    command: Command[Any], changes: dict[str, Any], tmp_path: Path
) -> None:
    judge = {"model": {"name": "openai/m", "base_url": "http://localhost:9/v1"}}
    other = {"kind": "free", "model": {"name": "openai/m", "base_url": "http://localhost:8/v1"}}
    players = [{"name": "free", **other}, *EXTRACTIVE[1:]]
    tree = tournament(players=players, judge=judge, **changes)
    del tree["self_play"]
    flags = ["--config", write(tmp_path / "c.yaml", tree), "--output", tmp_path / "run"]
    for dry in ([], ["--dry-run"]):
        assert_refuses(command, call(command, *flags, *dry), "would both be called 'openai/m'")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("command", "changes"), COMMANDS)
def test_a_plan_is_refused_where_its_run_is(command: Command[Any], changes: dict[str, Any], tmp_path: Path) -> None:
    adapter = tmp_path / "seen"
    adapter.mkdir()
    seen = Card.stories_of(load("shipped:stories"))
    write_card(adapter, Card(kind="judge", base="openai/judge", stories=seen, data="0" * 64))
    judge = {"model": {"name": "openai/judge", "base_url": "http://localhost:9/v1", "adapter": str(adapter)}}
    tree = tournament(players=EXTRACTIVE, judge=judge, **changes)
    del tree["self_play"]
    flags = ["--config", write(tmp_path / "c.yaml", tree), "--output", tmp_path / "run"]
    for dry in ([], ["--dry-run"]):
        assert_refuses(command, call(command, *flags, *dry), "model 'openai/judge+seen' was trained on")
    assert not (tmp_path / "run").exists()
