"""Speed of training on the embedded model: ``python -m benchmarks.training [options]``.

A letter judge is fitted by this repository's trainer, and by a plain ``SFTTrainer`` of TRL with TRL's own defaults, on
the same rows (prompt and completion, loss on the completion alone), with the same adapter and batches of the same size,
in turn in one process. Tokens are those of the rows as prompts, for both. Each figure is the median over the steps of
all ``--repeats`` but the first step of each, which warms up.

``--labels N`` rows (default 64), ``--batch N`` (8), ``--repeats N`` (2), ``--threads N``. Wall-clock rates hold on a
quiet machine only; CPU seconds, and ratios within one run, nearly so on a busy one.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from debate.models.embedded import NAME
from debate.prompts import Prompts
from training.finetune_judge import JudgeTrainingConfig
from training.fitting import Base, Process, find_base, lora_config
from training.gather import gather_all
from training.judge_fit import Rows, lengths_of, letter_trainer
from training.judge_rows import judge_row_set
from training.rows import to_dataset


class Step(NamedTuple):
    """What one step of the optimizer took."""

    wall: float
    cpu: float


def timed(trainer: Any) -> list[Step]:
    """Train, and return what each step but the first took."""
    from transformers import PrinterCallback, TrainerCallback

    marks: list[Step] = []

    class Marks(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            marks.append(Step(time.monotonic(), time.process_time()))

    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Marks())
    trainer.train()
    return [Step(new.wall - old.wall, new.cpu - old.cpu) for old, new in pairwise(marks)]


def ours(rows: Rows, base: Base, config: JudgeTrainingConfig, folder: Path) -> Any:
    """Return this repository's trainer."""
    return letter_trainer(rows, base, config, Process(1, 0), folder)


def plain(rows: Rows, base: Base, config: JudgeTrainingConfig, folder: Path) -> Any:
    """Return TRL's trainer as it comes."""
    import torch
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    args = SFTConfig(
        output_dir=str(folder),
        per_device_train_batch_size=config.fit.batch,
        num_train_epochs=config.fit.epochs,
        learning_rate=config.fit.learning_rate,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),  # else the defaults are refused where there is no GPU
    )
    data = to_dataset(rows.train).select_columns(["prompt", "completion"])
    return SFTTrainer(
        model=str(base.folder), args=args, train_dataset=data, peft_config=lora_config(base, config.adapter)
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=64)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    base = find_base(NAME)
    tree = {
        "data": [{"debates": f"dossiers:{6 * options.labels}?seed=1", "fold": "judge", "limit": options.labels // 2}],
        "fit": {"batch": options.batch, "save_steps": 10**6},
    }
    config = JudgeTrainingConfig.model_validate(tree)
    found = judge_row_set(gather_all(config.data), Prompts(None)).rows
    tokens = sum(lengths_of(found, base.texts, "letter"))
    rows = Rows(list(found), [], tokens, 0)
    ways: dict[str, Callable[[Rows, Base, JudgeTrainingConfig, Path], Any]] = {"TRL, plain": plain, "here": ours}
    steps: dict[str, list[Step]] = {name: [] for name in ways}
    losses: dict[str, float] = {}
    import torch

    for _ in range(options.repeats):
        for name, make in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                trainer = make(rows, base, config, Path(folder))
                torch.set_num_threads(options.threads or torch.get_num_threads())
                steps[name] += timed(trainer)
                losses[name] = trainer.state.log_history[-1]["train_loss"]
                del trainer
    show(steps, losses, tokens / len(found) * options.batch, options.batch)


def show(steps: dict[str, list[Step]], losses: dict[str, float], tokens: float, batch: int) -> None:
    """Print the table.

    Args:
        steps: By way.
        losses: Mean over the last repeat.
        tokens: Of a step.
        batch: Rows of a step.
    """
    table = Table(title=f"Training a letter judge on {NAME}: steps of {batch} rows, {tokens:,.0f} tokens")
    columns = ("way", "tokens/s", "s a label", "CPU-s a label", "tokens/s against TRL", "CPU against TRL", "mean loss")
    for name in columns:
        table.add_column(name, justify="left" if name == "way" else "right")
    first: Step | None = None
    for name, each in steps.items():
        middle = Step(statistics.median(step.wall for step in each), statistics.median(step.cpu for step in each))
        first = first or middle
        table.add_row(
            name,
            f"{tokens / middle.wall:,.0f}",
            f"{middle.wall / batch:.3f}",
            f"{middle.cpu / batch:.3f}",
            f"{first.wall / middle.wall:.2f} x",
            f"{first.cpu / middle.cpu:.2f} x",
            f"{losses[name]:.3f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
