"""Where a training is, while it runs: a rich bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

_PLAIN_SECONDS = 20.0


def progress_callback() -> Any:
    """Return a callback that shows steps, loss and the time left, of the main process; its ``stop`` ends the bar."""
    from transformers import TrainerCallback

    class Shown(TrainerCallback):
        def __init__(self) -> None:
            self._bar: Any = None
            self._task: Any = None
            self._loss = ""
            self._begun = self._told = 0.0
            self._first = 0

        def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
            self._begun = self._told = time.monotonic()
            self._first = state.global_step
            if state.is_world_process_zero and sys.stderr.isatty():
                from rich.console import Console
                from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

                parts = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
                self._bar = Progress(*parts, TimeRemainingColumn(), console=Console(stderr=True))
                self._task = self._bar.add_task("", total=state.max_steps, completed=state.global_step)
                self._bar.start()

        def on_log(self, _args: Any, state: Any, _control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
            if logs is not None and "loss" in logs:
                self._loss = f"loss {float(logs['loss']):.3f}"

        def on_step_end(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
            now = time.monotonic()
            if self._bar is not None:
                self._bar.update(self._task, completed=state.global_step, description=self._loss)
            elif state.is_world_process_zero and now - self._told >= _PLAIN_SECONDS:
                self._told = now
                left = (now - self._begun) / (state.global_step - self._first) * (state.max_steps - state.global_step)
                sys.stderr.write(
                    f"training: step {state.global_step} of {state.max_steps}; {self._loss}, about {left:.0f} s left\n"
                )
                sys.stderr.flush()

        def stop(self) -> None:
            if self._bar is not None:
                self._bar.stop()

    return Shown()
