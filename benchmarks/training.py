"""Speed of training on the embedded model: ``python -m benchmarks.training judge|debater [options]``.

A letter judge, or a debater that learns speeches (SFT), is fitted by this repository's trainer, and by a plain
``SFTTrainer`` of TRL with TRL's own defaults, on the same rows (prompt and completion, loss on the completion alone),
with the same adapter and batches of the same size, in turn in one process. Tokens are those of the rows, for both. Each
figure is the median over the steps of all ``--repeats`` but the first step of each, which warms up.

``--rows N`` (default 64), ``--batch N`` (8), ``--repeats N`` (2), ``--threads N``. Wall-clock rates hold on a quiet
machine only; CPU seconds, and ratios within one run, nearly so on a busy one.

``--memory`` trains by this repository's trainer alone and prints this process's resident memory after each step (on
Linux; with glibc what a step has freed is still in it), and once everything is given back.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from debate.models.embedded import NAME
from debate.models.memory import give_back
from debate.prompts import Prompts
from training.argument_rows import argument_row_set
from training.debater_fit import RowsToFit, make_trainer
from training.debater_fit import lengths_of as speech_lengths
from training.finetune_debater import DebaterTrainingConfig
from training.finetune_judge import JudgeTrainingConfig
from training.fitting import AdapterSettings, Base, FitSettings, Process, dtype_of, find_base, lora_config
from training.gather import gather_all
from training.judge_fit import Rows, letter_trainer
from training.judge_fit import lengths_of as letter_lengths
from training.judge_rows import judge_row_set
from training.rows import Row, to_dataset


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


def remembered(trainer: Any) -> None:
    """Train, and print resident memory after each step."""
    from transformers import PrinterCallback, TrainerCallback

    class Marks(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - theirs
            Console().print(f"step {state.global_step}: {resident_mib():,.0f} MiB")

    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Marks())
    trainer.train()


def resident_mib() -> float:
    """Return this process's resident memory."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


class Case(NamedTuple):
    """What is fitted by either.

    Attributes:
        rows: Prompts and completions.
        tokens: Of all rows.
        base: The base.
        adapter: What is trained.
        fit: How.
        ours: Makes this repository's trainer, given a folder.
    """

    rows: Sequence[Row]
    tokens: int
    base: Base
    adapter: AdapterSettings
    fit: FitSettings
    ours: Callable[[Path], Any]


def judge_case(rows: int, batch: int) -> Case:
    """Letters on made debates."""
    base = find_base(NAME)
    tree = {"data": [_data(rows, "judge")], "fit": {"batch": batch, "save_steps": 10**6}}
    config = JudgeTrainingConfig.model_validate(tree)
    found = judge_row_set(gather_all(config.data), Prompts(None)).rows
    tokens = sum(letter_lengths(found, base.texts, "letter"))
    fitted = Rows(list(found), [], tokens, 0)
    return Case(
        found,
        tokens,
        base,
        config.adapter,
        config.fit,
        lambda folder: letter_trainer(fitted, base, config, Process(1, 0), folder),
    )


def debater_case(rows: int, batch: int) -> Case:
    """Speeches on made debates, whose stories are in the prompts."""
    base = find_base(NAME)
    tree = {
        "data": [_data(rows, "debater") | {"made": {"kinds": {"both": 1.0}, "max_words": 70}}],
        "arguments": {"won": False, "min_words": 25, "max_words": 70, "max_copied": 0.5, "balance": False},
        "fit": {"batch": batch, "save_steps": 10**6},
    }
    config = DebaterTrainingConfig.model_validate(tree)
    made = argument_row_set(gather_all(config.data), config.arguments, Prompts(None))
    found = made.rows[:rows]
    lengths = speech_lengths(found, base.texts)
    fitted = RowsToFit(found, [], lengths, 0)
    return Case(
        found,
        sum(length.all for length in lengths),
        base,
        config.adapter,
        config.fit,
        lambda folder: make_trainer(fitted, base, config, Process(1, 0), folder, dtype=dtype_of(config.fit)),
    )


def _data(rows: int, fold: str) -> dict[str, Any]:
    return {
        "debates": f"dossiers:{12 * rows}?seed=1",
        "fold": fold,
        "limit": rows // 2 if fold == "judge" else 2 * rows,
    }


def plain(case: Case, folder: Path) -> Any:
    """Return TRL's trainer as it comes."""
    import torch
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    args = SFTConfig(
        output_dir=str(folder),
        per_device_train_batch_size=case.fit.batch,
        num_train_epochs=case.fit.epochs,
        learning_rate=case.fit.learning_rate,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),  # else the defaults are refused where there is no GPU
    )
    data = to_dataset(case.rows).select_columns(["prompt", "completion"])
    return SFTTrainer(
        model=str(case.base.folder), args=args, train_dataset=data, peft_config=lora_config(case.base, case.adapter)
    )


CASES: dict[str, Callable[[int, int], Case]] = {"judge": judge_case, "debater": debater_case}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=CASES)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    case = CASES[options.kind](options.rows, options.batch)
    if options.memory:
        for _ in range(options.repeats):
            with tempfile.TemporaryDirectory() as folder:
                remembered(case.ours(Path(folder)))
            give_back()
            Console().print(f"given back: {resident_mib():,.0f} MiB")
        return
    ways: dict[str, Callable[[Path], Any]] = {"TRL, plain": lambda folder: plain(case, folder), "here": case.ours}
    steps: dict[str, list[Step]] = {name: [] for name in ways}
    losses: dict[str, float] = {}
    import torch

    for _ in range(options.repeats):
        for name, make in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                trainer = make(Path(folder))
                torch.set_num_threads(options.threads or torch.get_num_threads())
                steps[name] += timed(trainer)
                losses[name] = trainer.state.log_history[-1]["train_loss"]
                del trainer
    title = f"Training a {options.kind} on {NAME}"
    show(steps, losses, case.tokens / len(case.rows) * options.batch, options.batch, title)


def show(steps: dict[str, list[Step]], losses: dict[str, float], tokens: float, batch: int, title: str) -> None:
    """Print the table.

    Args:
        steps: By way.
        losses: Mean over the last repeat.
        tokens: Of a step.
        batch: Rows of a step.
        title: What was done.
    """
    table = Table(title=f"{title}: steps of {batch} rows, {tokens:,.0f} tokens")
    columns = ("way", "tokens/s", "s a row", "CPU-s a row", "tokens/s against TRL", "CPU against TRL", "mean loss")
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
