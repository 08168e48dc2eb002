"""Giving freed memory back while a model is trained.

This module imports transformers at its top: it is itself imported only where a model is trained.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from debate.models.memory import give_back

EVERY = 10
"""Steps. Giving back, and asking for the same memory again in the next step, took about 3 s of the 16 s of a step."""


class Trimming(TrainerCallback):
    """Gives memory back every few steps, between two of them, when only the weights are in use.

    Rows of ever other lengths leave holes that later rows do not fit into: without it a process that needs 5 GB in a
    step held 7 after a few steps, and 10 after 160.
    """

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - theirs
        """Give it back, if it is time."""
        if state.global_step % EVERY == 0:
            give_back()
