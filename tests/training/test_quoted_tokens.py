"""Which tokens of a speech are its quotes, whatever the tokenizer cuts it into."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from debate.errors import SourceError
from debate.models.base import Message
from debate.models.texts import Texts
from training.debater_fit import RowsToFit, lengths_of, make_trainer
from training.finetune_debater import DebaterTrainingConfig
from training.fitting import IGNORED, Process, find_base
from training.quoted_tokens import quote_labels, quoted_tokens
from training.rows import Row


class Bytes:
    """A tokenizer whose tokens are the bytes of a text, so that a letter may take several of them."""

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode("utf-8", errors="replace")

    def prompt(self, messages: Sequence[Message]) -> Any:
        import numpy as np

        return np.frombuffer("".join(message.content for message in messages).encode(), dtype=np.uint8)

    def exchange(self, messages: Sequence[Message], reply: str) -> Any:
        return self.prompt([*messages, Message("assistant", reply)])


BYTES = cast("Texts", Bytes())


@pytest.mark.parametrize(
    ("speech", "quotes"),
    [
        ("We read: <quote>The bell rang.</quote> So it is.", ["The bell rang."]),
        ("<quote>É vento</quote> and <quote>a “bell”</quote>", ["É vento", "a “bell”"]),
        ("<quote>two\nlines</quote>", ["two\nlines"]),
        ("No quote, and <quote>one that never ends", []),
        ("", []),
    ],
)
def test_what_stands_within_quotes_is_learned(speech: str, quotes: list[str]) -> None:
    tokens = list(speech.encode())
    within = quoted_tokens(tokens, BYTES)
    assert len(within) == len(tokens)
    kept = bytes(token for token, quoted in zip(tokens, within, strict=True) if quoted)
    assert kept.decode() == "".join(quotes)
    labels = [IGNORED] * 3 + tokens
    assert quote_labels(labels, BYTES) == [IGNORED] * 3 + [
        token if quoted else IGNORED for token, quoted in zip(tokens, within, strict=True)
    ]


def row(speech: str) -> Row:
    return Row((Message("user", "Speak."),), speech, "q1", "s1", "debater", {})


def test_lengths_count_what_is_learned_and_a_speech_without_a_quote_is_named() -> None:
    assert lengths_of([row("See: <quote>fog</quote>.")], BYTES, "quotes")[0].learned == len("fog")
    with pytest.raises(SourceError, match=r"'q1'.*quotes nothing"):
        lengths_of([row("No proof.")], BYTES, "quotes")


@pytest.mark.parametrize("wrong", [{"method": "dpo"}, {"arguments": {"min_quotes": 0}}])
def test_only_sft_on_quoting_speeches_learns_quotes_alone(wrong: dict[str, Any]) -> None:
    tree = {"learn": "quotes", "data": [{"debates": "run:there"}], **wrong}
    with pytest.raises(ValidationError, match="learn quotes"):
        DebaterTrainingConfig.model_validate(tree)


@pytest.mark.model
def test_a_trainer_of_the_embedded_model_has_labels_on_quotes_alone(tmp_path: Path) -> None:
    import torch

    base = find_base("embedded/smollm2-135m")
    speech = "<argument>It is written: <quote>They had heard the bell.</quote> That decides it.</argument>"
    rows = [row(speech), row(speech.replace("bell", "horn at “noon”"))]
    tree = {"learn": "quotes", "data": [{"debates": "run:there"}], "fit": {"batch": 2, "dtype": "float32"}}
    config = DebaterTrainingConfig.model_validate(tree)
    fitted = RowsToFit(rows, rows, lengths_of(rows, base.texts, "quotes"), 0)
    trainer = make_trainer(fitted, base, config, Process(1, 0), tmp_path, dtype=torch.float32)
    for dataset in (trainer.train_dataset, trainer.eval_dataset):
        learned = [base.texts.decode([one for one in labels if one != IGNORED]) for labels in dataset["labels"]]
        assert learned == ["They had heard the bell.", "They had heard the horn at “noon”."]
