"""The folder of a training."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from debate.command import Invocation
from debate.errors import ConfigError
from debate.prompts import Prompts
from training.folder import TrainingConfig, open_folder
from training.gather import DataConfig, gather_all
from training.judge_rows import judge_row_set
from training.rows import Row, RowSet
from training.rows_folder import read_rows


def test_a_training_that_is_stopped_while_the_base_is_measured_can_be_gone_on_with(tmp_path: Path) -> None:
    config = TrainingConfig(data=(DataConfig(debates="dossiers:20?seed=1", fold="judge", limit=3),))
    gathered = gather_all(config.data)
    rows = judge_row_set(gathered, Prompts())
    questions = [question for part in gathered for question in part.questions]

    def begin(invocation: Invocation) -> None:
        with open_folder(config, invocation, Prompts(), kind="judge", rows=rows, questions=questions):
            raise KeyboardInterrupt

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        begin(Invocation(output=folder))
    assert (folder / "rows" / "train.parquet").is_file()
    with open_folder(
        config, Invocation(resume=folder), Prompts(), kind="judge", rows=rows, questions=questions
    ) as again:
        assert again.path == folder


def test_a_training_is_gone_on_with_on_the_same_rows_alone(tmp_path: Path) -> None:
    config = TrainingConfig(data=(DataConfig(debates="dossiers:20?seed=1", fold="judge", limit=3),))
    rows = judge_row_set(gather_all(config.data), Prompts())
    folder = tmp_path / "run"

    def begin(rows: RowSet[Row], invocation: Invocation) -> None:
        open_folder(config, invocation, Prompts(), kind="judge", rows=rows, questions=[]).close()

    begin(rows, Invocation(output=folder))
    # The same questions, but one debate less: as of a run that was gone on with meanwhile.
    fewer = dataclasses.replace(rows, rows=rows.rows[:-2])
    with pytest.raises(ConfigError, match=r"the rows to train on are not those in .*start a new training"):
        begin(fewer, Invocation(resume=folder))
    begin(rows, Invocation(resume=folder))  # it is not locked by the one that was refused
    (folder / "rows" / "dissoi-rows.json").unlink()  # as where a process was killed while it wrote
    begin(rows, Invocation(resume=folder))
    assert read_rows(folder / "rows") == rows
