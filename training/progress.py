"""What a training leaves as it goes: ``metrics.jsonl``, and checkpoints to go on from."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints"


@contextlib.contextmanager
def watched(trainer: Any, folder: Path) -> Iterator[None]:
    """Have a trainer write ``metrics.jsonl``, and show where it is, while it trains.

    Args:
        trainer: One of the transformers library, or derived of it.
        folder: Of the run.
    """
    from transformers import PrinterCallback

    from training.shown import Metrics, Shown

    shown = Shown()
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Metrics(folder / METRICS))
    trainer.add_callback(shown)
    try:
        yield
    finally:
        shown.stop()


def read_metrics(path: Path) -> list[dict[str, float]]:
    """Read ``metrics.jsonl``; nothing where it is not there."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]  # a process that was killed leaves half a line


def last_checkpoint(folder: Path) -> str | None:
    """Return the newest whole checkpoint in a run's folder, or None; a process that was killed leaves part of one."""
    steps = {path: path.name.removeprefix("checkpoint-") for path in (folder / CHECKPOINTS).glob("checkpoint-*")}
    found = sorted((int(step), str(path)) for path, step in steps.items() if step.isdecimal() and _is_whole(path))
    return found[-1][1] if found else None


def _is_whole(checkpoint: Path) -> bool:
    """Whether the trainer has written the last of a checkpoint's files, its own state."""
    try:
        json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True
