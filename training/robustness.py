"""``python -m training.robustness``: does judge training buy resistance to fallacies?

The model in question is the debater that a persuader wants to convince. It is measured three times on the same claims,
before the same persuader, helpers and moderators, none of which is ever trained: as it is, with the adapter that judge
training (``training.finetune_judge``) made of it, and with the adapter of a mitigation, which has learned to tell a
sound message from the same with a fallacy. What it learns that from was argued on claims of other topics.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from debate import tracking
from debate.card import check_judge_unseen
from debate.command import Command, Invocation
from debate.errors import SourceError
from debate.models.limits import Budget, Meter
from debate.models.load import check_access
from debate.prompts import Prompts
from debate.report import Report, Section, print_table, write_report
from debate.run_folder import write_whole
from debate.sources import load_debates
from training.fallacy_pairs import fallacy_pairs
from training.loop_plan import Planned, stages_table
from training.loop_report import cost_table, finite
from training.loop_run import open_root
from training.robustness_config import BASE, JUDGE, MITIGATION, RobustnessConfig
from training.robustness_results import TITLE, Robustness, answer, compare, table_of, values_of
from training.robustness_stages import Claims, Recipes, split
from training.stages import Runner, Stages

NAME = "training.robustness"
LESSONS, PAIRS, HELD_OUT, SOUND = "lessons", "pairs", "held-out-pairs", "sound"


def talk(name: str) -> str:
    """Name the stage that holds the benchmark with a debater."""
    return f"benchmark-{name}"


class Followed(NamedTuple):
    """What was done.

    Attributes:
        names: Of the debaters, the base first.
        held: The stages that held the benchmark with them.
        decided: The stage in which they told sound messages from fallacious ones; None where there was
            nothing to tell apart.
    """

    names: Sequence[str]
    held: Sequence[str]
    decided: str | None


@dataclass(frozen=True)
class Benchmark:
    """Takes the stages in their order.

    Attributes:
        config: The benchmark's.
        recipes: Makes stages.
        runner: Does them, or plans them.
        prompts: Templates.
        root: The run's folder; None where it is only planned.
    """

    config: RobustnessConfig
    recipes: Recipes
    runner: Runner
    prompts: Prompts
    root: Path | None = None

    def follow(self) -> Followed:
        """Take all stages in their order.

        Raises:
            DissoiError: A stage failed, or an adapter was trained on a claim of the benchmark.
        """
        recipes = self.recipes
        before = recipes.measure(talk(BASE), None)
        self.runner.run(before)
        lessons = recipes.lesson(LESSONS)
        self.runner.run(lessons)
        self.runner.run(recipes.pairs(PAIRS, lessons, "judge"))
        adapters: dict[str, str | None] = {BASE: None, JUDGE: self._judge(), MITIGATION: recipes.adapter(MITIGATION)}
        mitigation = self.config.mitigation
        start = adapters[JUDGE] if mitigation.start == "judge" else None
        self.runner.run(recipes.train(MITIGATION, mitigation, mitigation.data, start=start, pairs=PAIRS, held=lessons))
        for name in (JUDGE, MITIGATION):
            self._check(adapters[name])
            self.runner.run(recipes.measure(talk(name), adapters[name]))
        held = [talk(name) for name in adapters]
        decided = None
        if self._has_pairs(talk(BASE)):
            self.runner.run(recipes.pairs(HELD_OUT, before, "test"))
            if self._has_decisions(HELD_OUT):
                self.runner.run(recipes.decide(SOUND, HELD_OUT, adapters, before))
                decided = SOUND
        return Followed(tuple(adapters), held, decided)

    def _judge(self) -> str | None:
        """The adapter of judge training, trained here unless it is there."""
        judge = self.config.judge
        if judge.trained is not None:
            return judge.trained
        self.runner.run(self.recipes.train(JUDGE, judge, judge.data))
        return self.recipes.adapter(JUDGE)

    def _check(self, adapter: str | None) -> None:
        """Hold that an adapter has seen no claim of the benchmark, under whatever id."""
        if adapter is not None:
            questions = self.recipes.claims.questions(self.prompts)["benchmark"]
            check_judge_unseen(self.recipes.model(adapter), questions)

    def _has_pairs(self, stage: str) -> bool:
        """Whether a fallacious message was said; a debater may be convinced by every opening."""
        return self.root is None or bool(fallacy_pairs(load_debates(str(self.root / stage))).pairs)

    def _has_decisions(self, stage: str) -> bool:
        """Whether there is something to decide; a validator may have found no fallacy."""
        if self.root is None:
            return True
        try:
            return bool(load_debates(str(self.root / stage)))
        except SourceError:
            return False


def run_robustness(config: RobustnessConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    prompts.check()
    claims = split(config, prompts)
    for model in config.models:
        check_access(model)
    budget = Budget(**config.budget.model_dump())
    Meter(budget, config.price_table).require_prices({model.label for model in config.models})
    groups = claims.questions(prompts)
    if config.judge.trained is not None:
        given = config.base.model_copy(update={"adapter": config.judge.trained})
        check_access(given)
        check_judge_unseen(given, groups["benchmark"])
    if invocation.dry_run:
        planned = Planned()
        Benchmark(config, Recipes(config, claims, Path("RUN"), planning=True), planned, prompts).follow()
        print_table(stages_table(config, planned.stages))
        return 0
    tracked = tracking.or_offline(config.wandb, NAME)
    with open_root(config, invocation, groups, prompts, "robustness") as root:
        begun = time.monotonic()
        stages = Stages(root, launcher=config.launcher, budget=budget, prices=config.price_table)
        found = read_results(
            root, Benchmark(config, Recipes(config, claims, stages.root), stages, prompts, root).follow()
        )
        leave(config, stages, found, claims, tracked)
        sys.stdout.write(f"\nReport: {root / 'report.html'} ({time.monotonic() - begun:.0f} s in this session)\n")
    return 0


def read_results(root: Path, followed: Followed) -> Robustness:
    """Read what the stages have left, and measure it.

    Args:
        root: The run's folder.
        followed: What was done.

    Returns:
        The figures.
    """
    held = {name: load_debates(str(root / stage)) for name, stage in zip(followed.names, followed.held, strict=True)}
    return compare(held, [] if followed.decided is None else load_debates(str(root / followed.decided)))


def leave(
    config: RobustnessConfig, stages: Stages, found: Robustness, claims: Claims, tracked: tracking.TrackingConfig
) -> None:
    """Print, write and track what was found; no text of a debate is in it."""
    table, cost = table_of(found), cost_table(stages)
    apart = (
        f"Trained on pairs from {len(claims.lessons)} claims, measured on {len(claims.benchmark)} of other topics; no "
        "claim of the benchmark was trained on."
    )
    notes = [*answer(found), apart]
    report = Report(
        title=TITLE,
        subtitle=f"{config.base.label}, {len(claims.benchmark)} claims, {config.repetitions} repetitions",
        notes=notes,
        sections=[Section("Resistance", (table,)), Section("Cost", (cost,))],
    )
    write_report(report, (), stages.root)
    metrics = values_of(found)
    text = json.dumps(finite(metrics), indent=2, ensure_ascii=False, allow_nan=False)
    write_whole(stages.root / "metrics.json", f"{text}\n")
    for note in notes:
        sys.stdout.write(f"Note: {note}\n")
    for one in (table, cost):
        print_table(one)
    tracking.log_run(
        tracked,
        run_folder=stages.root,
        command=NAME,
        settings=config.model_dump(mode="json"),
        tables=[table, cost],
        metrics=metrics,
        recorded=[],
        seed=config.seed,
    )


COMMAND = Command(
    name=NAME,
    about="Measure how far a persuader, with a fallacious helper and without, convinces a model: as it is, after judge "
    "training,\nand after training on pairs of a sound and a fallacious message. No claim is both trained on and "
    "measured.",
    config=RobustnessConfig,
    run=run_robustness,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
