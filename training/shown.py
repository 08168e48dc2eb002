"""Where a training is, while it runs: lines of ``metrics.jsonl``, and a rich bar on a terminal or plain lines.

This module imports transformers at its top: it is itself imported only where a model is trained.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from training.progress import read_metrics

_PLAIN_SECONDS = 20.0


class Metrics(TrainerCallback):
    """Writes a line of ``metrics.jsonl`` at each log, in the main process; those of steps that are done again go.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - theirs
        """Keep the lines of earlier steps."""
        if state.is_world_process_zero:
            kept = [line for line in read_metrics(self._path) if line["step"] <= state.global_step > 0]
            self._path.write_text("".join(f"{json.dumps(line)}\n" for line in kept), encoding="utf-8")

    def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:  # noqa: ARG002 - theirs
        """Write a line."""
        logs = more.get("logs") or {}
        if not state.is_world_process_zero or not logs or "train_runtime" in logs:
            return
        done = read_metrics(self._path)[-1:]
        # A training that is resumed at its end looks at the validation rows once more.
        if "eval_loss" in logs and any("eval_loss" in line and line["step"] == state.global_step for line in done):
            return
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps({'step': state.global_step, **logs})}\n")


class Shown(TrainerCallback):
    """Shows steps, loss and the time left, of the main process. ``stop`` it whatever happens."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._loss = ""
        self._begun = self._told = 0.0
        self._first = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - theirs
        """Start the clock."""
        self._begun = self._told = time.monotonic()
        self._first = state.global_step
        if state.is_world_process_zero and sys.stderr.isatty():
            self._bar, self._task = _bar(state)

    def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:  # noqa: ARG002 - theirs
        """Take note of the loss."""
        loss = (more.get("logs") or {}).get("loss")
        if loss is not None:
            self._loss = f"loss {float(loss):.3f}"

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - theirs
        """Show the step, or a line every 20 seconds."""
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._task, completed=state.global_step, description=self._loss)
        elif state.is_world_process_zero and now - self._told >= _PLAIN_SECONDS:
            self._told = now
            left = (now - self._begun) / (state.global_step - self._first) * (state.max_steps - state.global_step)
            where = f"training: step {state.global_step} of {state.max_steps}"
            sys.stderr.write(f"{where}; {self._loss}, about {left:.0f} s left\n")
            sys.stderr.flush()

    def stop(self) -> None:
        """End the bar, which stays as it is."""
        if self._bar is not None:
            self._bar.stop()


def _bar(state: Any) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    parts = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    bar = Progress(*parts, TimeRemainingColumn(), console=Console(stderr=True))
    task = bar.add_task("", total=state.max_steps, completed=state.global_step)
    bar.start()
    return bar, task
