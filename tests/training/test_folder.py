"""The folder of a training."""

from __future__ import annotations

from pathlib import Path

import pytest

from debate.command import Invocation
from debate.prompts import Prompts
from training.folder import TrainingConfig, open_folder
from training.gather import DataConfig, gather_all
from training.judge_rows import judge_row_set


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
