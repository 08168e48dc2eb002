"""The command ``python -m tournaments.judge_room``: what it refuses, plans and prints."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.commands import assert_refuses, call
from tests.rooms import WHY, Opened, debate, debates, room_config
from tests.runs import EXTRACTIVE, SCRIPTS, Ended, Run, hold
from tournaments.judge_room import COMMAND
from tournaments.rejudge import COMMAND as REJUDGE
from tournaments.room import Ballot
from tournaments.room_journal import Tagged
from tournaments.room_tables import find, judgements_of
from tournaments.room_tags import errors_metrics, judged_by_people


def judge_room(*arguments: object) -> Ended:
    return call(COMMAND, *arguments)


def test_a_room_needs_debates(tmp_path: Path) -> None:
    assert_refuses(COMMAND, judge_room(), "no sources", "run folders")
    assert_refuses(COMMAND, judge_room(tmp_path), "no run folder")
    assert_refuses(COMMAND, judge_room(tmp_path, "--mode", "tag"), "--resume")
    assert_refuses(COMMAND, judge_room(tmp_path, "--mode", "table"), "--resume")
    assert_refuses(COMMAND, judge_room(tmp_path, "--believes", "true"), "believes", "beliefs")


def test_a_plan_asks_nobody(done: Run) -> None:
    plan = judge_room(done.folder, "--dry-run")
    assert plan.code == 0, plan.err
    assert "70 debates" in plan.out
    assert "no model is asked" in plan.out


def test_a_live_plan_has_the_players_calls_and_not_the_judges(done: Run) -> None:
    plan = judge_room(done.folder, "--live", "--dry-run")
    assert plan.code == 0, plan.err
    assert f"{SCRIPTS}:debater" in plan.out
    assert f"{SCRIPTS}:judge" not in plan.out


def test_live_debates_need_the_players_of_one_run(done: Run, tmp_path: Path) -> None:
    assert_refuses(COMMAND, judge_room(done.folder, tmp_path, "--live"), "one run")
    again = tmp_path / "again"
    assert call(REJUDGE, done.folder, "--output", again).code == 0
    assert_refuses(COMMAND, judge_room(again, "--live"), "no run of players")
    assert_refuses(COMMAND, judge_room("nyu:there.jsonl", "--live"), "no run folder")


def test_an_address_in_use_is_refused_and_leaves_no_folder_that_cannot_be_gone_on_with(tmp_path: Path) -> None:
    assert hold(tmp_path, players=EXTRACTIVE, self_play=None, stories=1).code == 0
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = judge_room(tmp_path / "run", "--port", port, "--output", tmp_path / "room")
    assert_refuses(COMMAND, ended, str(port), "--port")
    table = judge_room("--resume", tmp_path / "room", "--mode", "table", "--format", "json")
    assert table.code == 0, table.err
    assert json.loads(table.out)["people"] == {}


async def test_what_is_known_of_people_holds_no_right_answer(tmp_path: Path) -> None:
    recorded = {}
    for gold in (0, 1, None):
        folder = tmp_path / str(gold)
        folder.mkdir()
        opened = await Opened.begin(folder, [debate(0, gold=gold)])
        given = await opened.room.next_for("human/ann")
        assert given is not None
        verdict = await opened.room.judge("human/ann", given.debate, Ballot(80, WHY))
        import dataclasses

        recorded[gold] = judgements_of([dataclasses.replace(debate(0, gold=gold), verdicts=(verdict,))])
        opened.close()
    assert recorded[0] == recorded[1] == recorded[None]
    (one,) = recorded[0]
    assert one.explanation == WHY
    assert "speaker0" in one.speeches
    assert "Ana0." in one.known


def test_what_nobody_spoke_for_says_nothing_of_a_person() -> None:
    import dataclasses

    spoken, silent = debate(0), debate(1, rounds=0)
    silent = dataclasses.replace(silent, debate=dataclasses.replace(silent.debate, protocol="blind"))
    verdict = Ballot(80, WHY).verdict("human/ann", (0, 1))
    recorded = [dataclasses.replace(item, verdicts=(verdict,)) for item in (spoken, silent)]
    assert [one.debate for one in judgements_of(recorded)] == [spoken.debate.id]
    found = find(room_config(), recorded, [])
    assert found.metrics["together"]["all people"]["judgements"] == 1  # type: ignore[index]


def test_errors_are_counted_by_whether_the_judgement_was_right() -> None:
    import dataclasses

    verdicts = [Ballot(80, WHY).verdict("human/ann", (0, 1)), Ballot(30, WHY).verdict("human/bob", (0, 1))]
    judged = judged_by_people([dataclasses.replace(item, verdicts=tuple(verdicts)) for item in debates(2)])
    assert [(one.verdict.judge, one.right) for one in judged] == [
        ("human/bob", False), ("human/bob", False), ("human/ann", True), ("human/ann", True),
    ]  # fmt: skip
    first, second = debates(2)[0].debate.id, debates(2)[1].debate.id
    tags = [
        Tagged("human/t", "human/bob", first, ("missed_quote", "ignored_evidence")),
        Tagged("human/t", "human/bob", second, ("missed_quote",)),
        Tagged("human/u", "human/ann", first, ("repeated_quote",)),
        Tagged("human/u", "human/nobody", first, ("repeated_quote",)),
    ]
    found = errors_metrics(judged, tags)
    assert (found["tagged"], found["wrong"], found["right"]) == (3, 2, 1)
    assert found["errors"] == {
        "missed_quote": {"found": 2, "wrong": 2, "right": 0},
        "repeated_quote": {"found": 1, "wrong": 0, "right": 1},
        "attribution": {"found": 0, "wrong": 0, "right": 0},
        "ignored_evidence": {"found": 1, "wrong": 1, "right": 0},
        "other": {"found": 0, "wrong": 0, "right": 0},
    }


@pytest.mark.parametrize("name", ["people", "limit", "live", "beliefs", "host", "rules.agreement"])
def test_the_help_names_the_keys(name: str) -> None:
    assert f"--{name}  " in judge_room("--help").out
