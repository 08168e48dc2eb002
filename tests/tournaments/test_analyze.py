"""The command ``python -m tournaments.analyze``: sources, formats, the page, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysed import FIELD, gathered, item
from tests.commands import assert_refuses, call
from tests.judged import judged
from tests.runs import Run
from tournaments.analysis import PARTS, analyse
from tournaments.analyze import COMMAND

FORD = {"run": "a__b", "dataset": "mine", "gold": "x", "rounds": 2, "samples": 2}


@pytest.fixture
def ford(tmp_path: Path) -> Path:
    rows = [
        FORD | {"index": 0, "predictions": ["x", "x"], "consensus_round": 0},
        FORD | {"index": 1, "predictions": ["x", "y", "x"], "consensus_round": None},
    ]
    rows[1]["predictions"], rows[1]["consensus_round"] = ["y", "x", "x"], 1
    path = tmp_path / "ford.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def logicom(tmp_path: Path) -> Path:
    def row(helper: str, *, convinced: bool) -> dict[str, object]:
        reason = "Persuader successfully convinced the debater" if convinced else "Agents are in greeting loop"
        own = {"helper": helper, "Convinced?": convinced, "Stop_reason": reason}
        return {"Topic_ID": "t", "iteration": "iteration 1", "debater": "GPT-4", "number_of_rounds": 4} | own

    rows = [row("No_Helper", convinced=False), row("Fallacy_Helper", convinced=True)]
    path = tmp_path / "logicom.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def test_a_run_is_analysed_part_by_part(done: Run) -> None:
    ended = call(COMMAND, done.folder)
    assert ended.code == 0, ended.err
    assert ended.err == ""
    for title in (
        "Judge right, by protocol",
        "Judge's reward",
        "Arguments, by round",
    ):
        assert title in ended.out
    assert "inf" not in ended.out.split()
    assert "Beside" not in ended.out


def test_the_same_as_json_beside_the_papers(done: Run) -> None:
    ended = call(COMMAND, f"run:{done.folder}", "--format", "json", "--against-paper")
    assert ended.code == 0, ended.err
    values = json.loads(ended.out)
    assert {"accuracy", "arguments", "against_paper"} <= values.keys()
    lines = (done.folder / "debates.jsonl").read_text(encoding="utf-8").splitlines()
    assert values["debates"] == len(lines)
    (judge,) = values["accuracy"]
    metrics = json.loads((done.folder / "metrics.json").read_text(encoding="utf-8"))
    cross = values["accuracy"][judge]["protocols"]["simultaneous"]
    assert cross["accuracy"] == metrics["cross_play"]["accuracy"]
    assert {row["subject"] for row in values["against_paper"]["figures"]} == {judge}


def test_what_could_not_be_measured_is_in_the_json_too(done: Run) -> None:
    shown = call(COMMAND, done.folder).out
    notes = json.loads(call(COMMAND, done.folder, "--format", "json").out)["notes"]
    assert any("not measured" in note for note in notes)
    assert [f"Note: {note}" for note in notes] == [line for line in shown.splitlines() if line.startswith("Note: ")]


def test_a_page_is_written_once(done: Run, tmp_path: Path) -> None:
    out = tmp_path / "page"
    ended = call(COMMAND, done.folder, "--output", out)
    assert ended.code == 0, ended.err
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Judge right, by protocol" in page
    assert json.loads((out / "metrics.json").read_text(encoding="utf-8"))["accuracy"]
    assert_refuses(COMMAND, call(COMMAND, done.folder, "--output", out), str(out), "not empty")


def test_logs_of_ford_and_logicom_go_to_their_own_readers(ford: Path, logicom: Path) -> None:
    ended = call(COMMAND, ford, "--against-paper")
    assert ended.code == 0, ended.err
    assert "Col-H" in ended.out
    assert "FORD > Col-H" in ended.out
    ended = call(COMMAND, logicom, "--against-paper", "--format", "json")
    assert ended.code == 0, ended.err
    held = json.loads(ended.out)["against_paper"]
    assert {row["finding"] for row in held["figures"]} == {"logicom-gpt-4"}  # GPT-4 alone took part
    assert {row["figure"]: row["ours"][0] for row in held["figures"]} == {
        "none": 0,
        "fallacy": 1,
        "opinion changed": 0.5,
    }


def test_tags_and_folds_choose_debates(done: Run) -> None:
    ended = call(COMMAND, done.folder, "--fold", "validation", "--format", "json")
    assert ended.code == 0, ended.err
    assert set(json.loads(ended.out)["accuracy"].popitem()[1]["protocols"]) == {"simultaneous, self-play"}
    assert_refuses(COMMAND, call(COMMAND, done.folder, "--tags.colour", "red"), "colour")


def test_what_cannot_be_done_is_refused_in_a_line(done: Run, ford: Path, logicom: Path, tmp_path: Path) -> None:
    assert_refuses(COMMAND, call(COMMAND), "no sources")
    assert_refuses(COMMAND, call(COMMAND, tmp_path / "nowhere"), "nowhere")
    assert_refuses(COMMAND, call(COMMAND, ford, logicom), "ford.jsonl", "logicom.jsonl")
    assert_refuses(COMMAND, call(COMMAND, ford, done.folder), "several sources")
    assert_refuses(COMMAND, call(COMMAND, ford, "--fold", "test"), "fold")
    assert_refuses(COMMAND, call(COMMAND, done.folder, "--dry-run"), "--dry-run")
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    assert_refuses(COMMAND, call(COMMAND, tmp_path / "empty.jsonl"), "empty.jsonl")


def test_a_part_that_does_not_apply_says_why_and_stops_no_other() -> None:
    found = analyse(gathered(judged("1")))
    assert found.sections == []
    assert [note.partition(":")[0] for note in found.notes] == list(PARTS)
    assert all("\n" not in note for note in found.notes)
    one = analyse(gathered(item("1", (0.9, 0.1)), item("2", (0.4, 0.6))))
    assert "accuracy" in one.values
    assert any(note.startswith("paired: not measured") for note in one.notes)


def test_every_value_is_plain_json() -> None:
    values = analyse(FIELD).values
    assert set(values) >= {"accuracy", "calibration"}
    assert json.loads(json.dumps(values, allow_nan=False)) == values
