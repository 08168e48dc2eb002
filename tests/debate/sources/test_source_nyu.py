"""The form of the published debates, on a room of our own (the published ones are in tests/external)."""

from __future__ import annotations

import copy
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from debate.errors import SourceError
from debate.sources import load
from debate.sources.nyu import load_debates

STORY = "Bo ran to the mill .\nAnn did not run at all , she said .".replace("\n", " \n ").split(" ")


def speech(speaker: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"speaker": speaker, "timestamp": 0, "content": list(content)}


def feedback(first: float, text: str, *, end: bool) -> dict[str, Any]:
    return {
        "distribution": [first, 1 - first],
        "feedback": speech("Jo", {"Text": {"text": text}}),
        "endDebate": end,
    }


ROOM: dict[str, Any] = {
    "setup": {
        "sourceMaterial": {"QuALITYSourceMaterial": {"articleId": "9", "title": "Mill", "contents": STORY}},
        "question": "Who ran?",
        "answers": ["Bo", "Ann"],
        "correctAnswerIndex": 0,
        "roles": {"Debater A": "Di", "Debater B": "Ed", "Judge": "Jo"},
    },
    "rounds": [
        {"JudgeFeedback": feedback(0.5, "", end=False)},
        {
            "SimultaneousSpeeches": {
                "speeches": {
                    "1": speech("Ed", {"Text": {"text": "Debater A is wrong."}}),
                    "0": speech("Di", {"Text": {"text": "See "}}, {"Quote": {"span": [0, 6]}}),
                }
            }
        },
        {"JudgeFeedback": feedback(0.75, "Who says so?", end=False)},
        {"SequentialSpeeches": {"speeches": {"0": speech("Di"), "1": speech("Ed")}}},
        {"JudgeFeedback": feedback(1.0, "Bo.", end=True)},
    ],
}
META = {
    "name": "mill-0",
    "setting": {"isHuman": True, "isDebate": True},
    "storyTitle": "Mill",
    "status": {"Complete": {"result": {"endedBy": {"JudgeDecided": {}}}}},
    "includedInPaper": True,
}


def archive(folder: Path, room: dict[str, Any], meta: dict[str, Any]) -> Path:
    (folder / "debates" / "official").mkdir(parents=True)
    (folder / "debates-metadata.jsonl").write_text(json.dumps(meta) + "\n", encoding="utf-8")
    (folder / "debates" / "official" / "mill-0.json").write_text(json.dumps(room), encoding="utf-8")
    return folder


def test_an_unpacked_room(tmp_path: Path) -> None:
    (record,) = load_debates(archive(tmp_path / "pub", ROOM, META))
    debate, transcript = record.debate, record.debate.transcript
    # Answers stand in alphabetical order; the seats keep that "Bo" was shown as A.
    assert (transcript.question.answers, transcript.question.gold, transcript.seats) == (("Ann", "Bo"), 1, (1, 0))
    assert debate.players == ("Ed", "Di")
    assert (debate.protocol, debate.tags["setting"], debate.failed) == ("interactive", "human debate", None)
    assert [(turn.round, turn.role, turn.answer) for turn in transcript.turns] == [
        (1, "debater", 1),
        (1, "debater", 0),
        (2, "judge", None),
        (2, "debater", 1),
        (2, "debater", 0),
    ]
    (quote,) = transcript.turns[0].argument.quotes
    assert (quote.text, quote.verified) == ("Bo ran to the mill .", True)
    # A letter is a name, so it follows its seat when seats are exchanged.
    assert transcript.view().turns[1].text == "Debater A is wrong."
    assert transcript.swapped().view().turns[1].text == "Debater B is wrong."
    assert transcript.turns[2].first == 1
    assert [(verdict.round, verdict.probabilities, verdict.order) for verdict in record.verdicts] == [
        (0, (0.5, 0.5), (1, 0)),
        (1, (0.25, 0.75), (1, 0)),
        (None, (0.0, 1.0), (1, 0)),
    ]
    assert record.final is record.verdicts[-1]
    assert load(f"nyu:{tmp_path / 'pub'}")[0].id == transcript.question.id


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("setup", "answers"), ["Bo"], "setup: 1 answers; two different ones are needed"),
        (("setup", "correctAnswerIndex"), 2, "setup: correctAnswerIndex is 2"),
        (("rounds",), [{"Dance": {}}], "rounds[0]: unknown kind of round 'Dance'"),
        (("rounds", 0, "JudgeFeedback", "distribution"), [0.5, 0.6], "is not one over two answers"),
        (
            ("rounds", 1, "SimultaneousSpeeches", "speeches", "0", "content"),
            [{"Quote": {"span": [3, 3]}}],
            "content[0], Quote: span [3, 3] is not a range of the story's 17 tokens",
        ),
    ],
)
def test_malformed_rooms_are_named(tmp_path: Path, where: tuple[Any, ...], value: object, message: str) -> None:
    room = copy.deepcopy(ROOM)
    node: Any = room
    for key in where[:-1]:
        node = node[key]
    node[where[-1]] = value
    with pytest.raises(SourceError) as error:
        load_debates(archive(tmp_path / "pub", room, META))
    assert message in str(error.value)
    assert "mill-0.json" in str(error.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no line in debates-metadata\.jsonl"):
        load_debates(archive(tmp_path / "pub", ROOM, {**META, "name": "other"}))
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="give the archive of the published debates"):
        load_debates(tmp_path / "empty")
    (tmp_path / "text.tar.gz").write_text("no archive", encoding="utf-8")
    with pytest.raises(SourceError, match="as an archive"):
        load_debates(tmp_path / "text.tar.gz")


def test_an_archive_is_read_anew_when_it_has_changed(tmp_path: Path) -> None:
    packed = tmp_path / "debates.tar.gz"

    def pack(question: str) -> None:
        room = copy.deepcopy(ROOM)
        room["setup"]["question"] = question
        folder = archive(tmp_path / question, room, META)
        with tarfile.open(packed, "w:gz") as tar:
            tar.add(folder, arcname="")

    pack("Who ran?")
    assert [item.debate.transcript.question.text for item in load_debates(packed)] == ["Who ran?"]
    load_debates(packed).clear()
    assert len(load_debates(packed)) == 1
    pack("Who never ran?")
    assert [item.debate.transcript.question.text for item in load_debates(packed)] == ["Who never ran?"]


def test_whom_the_judge_addresses_follows_the_seats(tmp_path: Path) -> None:
    room = copy.deepcopy(ROOM)
    room["rounds"][2] = {"JudgeFeedback": feedback(0.75, "Debater A, who says <quote>so</quote>? Not B.", end=False)}
    (record,) = load_debates(archive(tmp_path / "pub", room, META))
    transcript = record.debate.transcript
    asked = [
        [turn.text for turn in shown.view().turns if turn.seat is None] for shown in (transcript, transcript.swapped())
    ]
    assert asked == [
        ['Debater A, who says "so"? Not B.'],
        ['Debater B, who says "so"? Not B.'],
    ]


@pytest.mark.parametrize(
    ("in_turn", "speakers"), [(False, ["Debater A", "Debater B"]), (True, ["Debater B", "Debater A"])]
)
def test_exchanging_seats_exchanges_speeches_made_at_once(
    tmp_path: Path, *, in_turn: bool, speakers: list[str]
) -> None:
    room = copy.deepcopy(ROOM)
    if not in_turn:
        room["rounds"][3] = {"SimultaneousSpeeches": room["rounds"][3]["SequentialSpeeches"]}
    (record,) = load_debates(archive(tmp_path / "pub", room, META))
    assert record.debate.protocol == "interactive"
    for seen, expected in (
        (record.debate.transcript, ["Debater A", "Debater B"]),
        (record.debate.transcript.swapped(), speakers),
    ):
        assert [turn.speaker for turn in seen.view().turns] == [*expected, "Judge", *expected]
