"""Closed loops that tests run: a tiny model is trained, scripted debaters and judges argue and judge beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from debate.card import Card, write_card
from debate.question import Question
from tests.runs import SCRIPTS

SPEECH = {"min_words": 5, "max_words": 60, "max_tokens": 40, "max_attempts": 1}
LIMITS = {"min_words": 5, "max_words": 60}


def loop(base: Path, **changes: Any) -> dict[str, Any]:
    """Return the configuration of a loop of two iterations on a tiny base, with some keys set otherwise."""
    model = {"name": f"hf/{base}", "dtype": "float32", "device": "cpu"}
    fit = {"dtype": "float32", "device": "cpu", "batch": 4, "log_steps": 1, "save_steps": 4}
    judge = {"model": f"{SCRIPTS}:judge"}
    made = {"kinds": {"both": 1.0}}
    return {
        "base": model,
        "iterations": 2,
        "protocol": {"kind": "simultaneous", "rounds": 1},
        "speech": SPEECH,
        "players": [
            {"name": "extractive", "kind": "extractive"},
            {"name": "base", "model": model},
            {"name": "scripted", "model": f"{SCRIPTS}:debater"},
            {
                "name": "best",
                "model": f"{SCRIPTS}:second_debater",
                "optimizer": {"kind": "best_of_n", "n": 2},
            },
        ],
        "anchors": ["extractive", "base", "best"],
        "size": 5,
        "rounds": 2,
        "newcomer": {"name": "debater", "model": model},
        "folds": {
            "debater": {"source": "dossiers:60?seed=1", "fold": "debater", "stories": 2},
            "judge": {"source": "dossiers:60?seed=1", "fold": "judge", "stories": 2},
            "validation": {"source": "dossiers:60?seed=1", "fold": "validation", "stories": 2},
            "rating": {"source": "dossiers:20?seed=1&templates=heldout", "fold": "test", "stories": 2},
            "test": {"source": "dossiers:20?seed=1&templates=heldout", "fold": "test", "stories": 3, "skip": 2},
        },
        "judge": {
            "first": {"judge": judge},
            "held_out": {
                "data": [{"debates": "dossiers:60?seed=2", "fold": "debater", "limit": 4, "made": made}],
                "fold": "debater",
            },
            "fit": fit,
        },
        "debater": {
            "methods": ["sft", "dpo"],
            "arguments": {**LIMITS, "won": False, "balance": False, "max_copied": 1},
            "pairs": {**LIMITS, "margin": 0.0},
            "sft": fit,
            "dpo": fit | {"batch": 1},
        },
        "concessions": judge,
        "max_unparsed": 1,
        "max_failed": 1,  # a tiny model may end before its first word
        "seed": 1,
    } | changes


def trained_on(folder: Path, base: Path, questions: Sequence[Question]) -> dict[str, Any]:
    """Return a model whose adapter's card says that it was trained on some questions; there are no weights."""
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "task_type": "CAUSAL_LM"}))
    (folder / "adapter_model.safetensors").touch()
    write_card(folder, Card(kind="judge", base=f"hf/{base}", stories=Card.stories_of(questions), data="0" * 64))
    return {"name": f"hf/{base}", "adapter": str(folder)}
