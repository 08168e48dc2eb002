"""Running a loop in its folder: what is held before and after, and what it leaves."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from debate import tracking
from debate.agents.judge import JudgeConfig
from debate.card import check_judge_unseen
from debate.command import Invocation
from debate.config import Config, differences, digest, parse, read_tree, results_tree
from debate.errors import ConfigError, StoreError
from debate.models.limits import Budget, Meter
from debate.prompts import Prompts
from debate.provenance import provenance
from debate.question import Question
from debate.run_folder import CONFIG, default_path, write_whole
from debate.store_file import lock
from training.loop import Iteration, Loop, Tested
from training.loop_config import LoopConfig
from training.loop_questions import check_start, questions_by_use
from training.loop_report import Reporter
from training.loop_results import Measured, Persuasion, debates_of, of_judge
from training.loop_stages import Recipes
from training.stages import REPLACED, Stages

NAME = "training.loop"
TESTED = "test stories by configuration"
"""The note that says which stories of the final report were looked at, under which configurations."""


def start_loop(config: LoopConfig, invocation: Invocation) -> int:
    """Run a loop, new or gone on with; returns the exit code."""
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    prompts.check()
    groups = questions_by_use(config)
    check_start(config, groups)
    budget = Budget(**config.budget.model_dump())
    Meter(budget, config.price_table).require_prices({model.label for model in config.models})
    tracked = tracking.or_offline(config.wandb, NAME)
    with open_root(config, invocation, groups, prompts) as root:
        stages = Stages(root, launcher=config.launcher, budget=budget, prices=config.price_table)
        _check_untouched(config, stages, groups)
        begun = time.monotonic()

        def rate(names: Sequence[str], judge: JudgeConfig) -> Mapping[str, float]:
            return Persuasion.of(of_judge(debates_of(root, names), judge), config).values

        loop = Loop(config, Recipes(config, stages.root), stages, rate)
        reporter = Reporter(config, stages, tracked)

        def after(found: Iteration) -> None:
            reporter.iteration(Measured.of(root, found, first=loop.first, held_out=loop.held_out, config=config))
            if found.number == config.iterations:
                _note_test(config, stages, groups)

        tested = loop.follow(after)
        checked = check_scored(root, tested)
        reporter.test(tested, checked)
        sys.stdout.write(f"\nReport: {root / 'report.html'} ({time.monotonic() - begun:.0f} s in this session)\n")
    return 0


def check_scored(root: Path, tested: Tested) -> str:
    """Hold that no judge of the test was trained on a story that it judged there; returns what was held, in words.

    Every stage has held it of its own judges before it began; this looks at what is recorded.

    Args:
        root: The run's folder.
        tested: What the test held.

    Raises:
        FoldError: A judge has.
    """
    own, cross = (debates_of(root, [name]) for name in (tested.own, tested.tournament))
    stories = 0
    for judge in tested.judges:
        judged = [item.debate.transcript.question for part in (own, cross) for item in of_judge(part, judge)]
        stories = max(stories, len({question.story_id for question in judged}))
        if judge.model is not None:
            check_judge_unseen(judge.model, judged)
    return f"None of the {len(tested.judges)} judges was trained on any of the {stories} test stories that it scored."


def _looked_at(stages: Stages) -> dict[str, list[str]]:
    """Stories that final reports of this run have looked at, by the digests of their configurations."""
    found: dict[str, list[str]] = json.loads(stages.note(TESTED) or "{}")
    return found


def _test_stories(groups: Mapping[str, Sequence[Question]]) -> set[str]:
    return {question.story_id for name in ("rating", "test") for question in groups[name]}


def _note_test(config: LoopConfig, stages: Stages, groups: Mapping[str, Sequence[Question]]) -> None:
    """Write down which stories are looked at under which configuration, before the first of them is."""
    now = {digest(results_tree(config)): sorted(_test_stories(groups))}
    stages.note(TESTED, json.dumps(_looked_at(stages) | now))


def _check_untouched(config: LoopConfig, stages: Stages, groups: Mapping[str, Sequence[Question]]) -> None:
    """Hold that test stories which were looked at are not looked at again under another configuration.

    Raises:
        ConfigError: Some would be.
    """
    own, wanted = digest(results_tree(config)), _test_stories(groups)
    seen = {story for before, stories in _looked_at(stages).items() if before != own for story in stories}
    if shared := sorted(seen & wanted):
        raise ConfigError(
            f"{len(shared)} of the {len(wanted)} test stories of this run, such as {shared[0]!r}, were looked at "
            "already, and the configuration has changed since: what was chosen after that look would be chosen by it. "
            "Give other stories (folds.test and folds.rating), or start a new run"
        )


@contextmanager
def open_root(
    config: Config,
    invocation: Invocation,
    groups: Mapping[str, Sequence[Question]],
    prompts: Prompts,
    name: str = "loop",
) -> Iterator[Path]:
    """Open the folder of a run of stages, new or gone on with, and hold it until the end.

    Another configuration than before is allowed: what depends on the change is done anew (``training.stages``).

    Raises:
        StoreError: The folder is in use, is not empty, or cannot be written.
        ConfigError: There is no run to go on with.
    """
    if invocation.resume is None:
        root = invocation.output or default_path(name)
        # A process that was killed at its very start leaves a lock: nothing to go on with, and nothing to lose.
        if root.is_dir() and {path.name for path in root.iterdir()} - {f"{name}.lock", f".{CONFIG}.part"}:
            raise StoreError(f"{root} exists already; choose another --output, or go on with it by --resume {root}")
    else:
        root = invocation.resume
    root = root.resolve()
    held = lock(root / name)
    try:
        _keep_config(config, root, provenance(groups, prompts.digests), resumed=invocation.resume is not None)
        yield root
    finally:
        os.close(held)


def _keep_config(config: Config, root: Path, origin: Mapping[str, object], *, resumed: bool) -> None:
    path = root / CONFIG
    if resumed:
        tree = read_tree(path)
        tree.pop("provenance", None)
        changed = differences(results_tree(parse(type(config), tree, where=str(path))), results_tree(config))
        if not changed:
            return
        sys.stdout.write(f"The configuration has changed: {'; '.join(changed)}. What depends on that is done anew.\n")
        away = root / REPLACED
        away.mkdir(exist_ok=True)
        number = next(number for number in itertools.count(1) if not (away / f"config-{number}.yaml").exists())
        shutil.copyfile(path, away / f"config-{number}.yaml")
    tree = {**config.model_dump(mode="json"), "provenance": dict(origin)}
    write_whole(path, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
