"""The command that makes rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from debate.config import read_tree
from tests.commands import assert_refuses, call
from tests.runs import write
from training.rows_command import COMMAND, RowsConfig
from training.rows_folder import CARD, LINES, read_rows

DOSSIERS = {"debates": "dossiers:20?seed=3", "fold": "judge"}


def config(tmp_path: Path, **changes: object) -> Path:
    return write(tmp_path / "rows.yaml", {"data": [DOSSIERS], **changes})


def test_rows_are_written_and_shown(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call(COMMAND, "--config", config(tmp_path), "--output", out, "--show", 1)
    assert done.code == 0, done.err
    rowset = read_rows(out)
    assert done.out.startswith(f"{len(rowset.rows)} rows\n")
    assert "dossiers:20?seed=3" in done.out
    assert "another fold" in done.out
    assert rowset.digest in done.out
    assert done.out.count("[completion]") == 1
    assert str(rowset.rows[0].prompt[-1].content) in done.out
    assert done.out.endswith(f"Rows in {out}\n")
    kept = read_tree(out / "config.yaml")
    assert kept.pop("provenance")["data"]["data"]
    assert RowsConfig.model_validate(kept).data[0].fold == "judge"
    again = call(COMMAND, "--config", out / "config.yaml", "--output", tmp_path / "again", "--show", 0)
    assert again.code == 0, again.err
    assert read_rows(tmp_path / "again").digest == rowset.digest


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = call(COMMAND, "--config", config(tmp_path), "--output", tmp_path / "out", "--dry-run")
    assert done.code == 0, done.err
    assert not (tmp_path / "out").exists()


def test_lines_for_a_provider(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call(COMMAND, "--config", config(tmp_path), "--output", out, "--format", "openai", "--show", 0)
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in (out / LINES).read_text().splitlines()]
    assert {line["messages"][-1]["content"] for line in lines} == {"A", "B"}
    assert json.loads((out / CARD).read_text())["rows"] == len(lines)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": [{**DOSSIERS, "fold": "debater"}]}, ["in fold debater", "set fold: judge in the data entry"]),
        ({"data": [{"debates": DOSSIERS["debates"]}]}, ["debater and validation", "set fold: judge"]),
        ({"data": [{**DOSSIERS, "debates": "dossiers:20?templates=heldout"}]}, ["fold 'judge' holds none"]),
        ({"data": [{**DOSSIERS, "limit": 1}]}, ["the right answer of all 1 questions is"]),
        ({"data": [{**DOSSIERS, "limits": 1}]}, ["data.0.limits", "did you mean"]),
        ({"judge": "reason"}, ["no judge row is left", "no verdict: "]),
        ({"kind": "judges"}, ["kind", "judge"]),
        ({"data": []}, ["data"]),
        ({"data": [{**DOSSIERS, "debates": "run:nowhere"}]}, ["no run folder"]),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(tmp_path: Path, changes: dict[str, object], words: list[str]) -> None:
    out = tmp_path / "out"
    assert_refuses(COMMAND, call(COMMAND, "--config", config(tmp_path, **changes), "--output", out), *words)
    assert not out.exists()


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    refused = call(COMMAND, "--config", config(tmp_path), "--output", tmp_path)
    assert_refuses(COMMAND, refused, "exists already", "choose another --output")
    resumed = call(COMMAND, "--config", config(tmp_path), "--resume", tmp_path)
    assert_refuses(COMMAND, resumed, "leave out --resume")
