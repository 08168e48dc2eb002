"""A training gives freed memory back now and then."""

from __future__ import annotations

import gc
import weakref

from transformers import TrainerControl, TrainerState

from training.trimming import EVERY, Trimming


class Ring:
    """Something that refers to itself, which only a collection finds."""

    def __init__(self) -> None:
        self.own = self


def test_it_does_so_every_few_steps() -> None:
    gc.disable()
    try:
        for step, alive in ((EVERY - 1, True), (EVERY, False), (EVERY + 1, True), (2 * EVERY, False)):
            ring = weakref.ref(Ring())
            Trimming().on_step_end(None, TrainerState(global_step=step), TrainerControl())
            assert (ring() is not None) is alive
    finally:
        gc.enable()
