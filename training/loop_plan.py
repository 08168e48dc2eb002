"""The plan of a loop: its stages, what each will take, and the smallest effects that it could tell from none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from debate.agents.judge import JudgeConfig
from debate.report import Column, Table, print_table
from debate.report.table import Cell
from tournaments.calls import Calls
from tournaments.config import SessionConfig
from tournaments.plan import Plan
from training.loop import Loop
from training.loop_config import LoopConfig
from training.loop_questions import check_start, questions_by_use
from training.loop_stages import Recipes
from training.power import power_table
from training.stages import Estimate, Stage


class Planned:
    """Takes stages and does none of them."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []

    def run(self, stage: Stage) -> Path:
        """Take note of a stage."""
        self.stages.append(stage)
        return Path(stage.name)


def plan_loop(config: LoopConfig) -> int:
    """Print what a loop will take; returns the exit code."""
    groups = questions_by_use(config)
    check_start(config, groups)
    planned = Planned()

    def guess(_stages: Sequence[str], _judge: JudgeConfig) -> Mapping[str, float]:
        # Nobody is rated yet; whoever was named last of those that may leave is taken to.
        return {player.name: -float(place) for place, player in enumerate(loop.population)}

    loop = Loop(config, Recipes(config, Path("RUN"), planning=True), planned, guess)
    loop.follow()
    print_table(stages_table(config, planned.stages))
    print_table(power_table(config, groups))
    return 0


def stages_table(config: SessionConfig, stages: Sequence[Stage]) -> Table:
    """The stages of a run with what each will take, and all together."""
    estimates = [(stage.name, stage.command.name, stage.estimate()) for stage in stages]
    rows: list[list[Cell]] = [_line(config, name, command, estimate) for name, command, estimate in estimates]
    rows.append(_line(config, "all", "", _sum([estimate for _, _, estimate in estimates])))
    columns = (
        Column("stage"),
        Column("command"),
        *(Column(name, kind="count") for name in ("debates", "calls", "tokens in", "tokens out", "rows", "steps")),
        Column("cost", align="right"),
    )
    note = (
        "Rows and steps are the most there can be: what won, and which candidates differ, is not known beforehand. "
        "Tokens out are those of the longest replies allowed. Debates that are only judged count too."
    )
    return Table("Plan", columns, rows, note=note)


def _line(config: SessionConfig, name: str, command: str, found: Estimate) -> list[Cell]:
    calls = sum(found.calls.values(), start=Calls())
    numbers = (found.debates, calls.calls, calls.tokens_in, calls.tokens_out, found.rows, found.steps)
    return [name, command, *(number or None for number in numbers), _cost(config, found.calls)]


def _cost(config: SessionConfig, calls: Mapping[str, Calls]) -> str:
    cost = Plan(0, 0, 0, calls, {}, {}).cost(config.price_table)
    return "unknown" if cost is None else f"${cost:.2f}"


def _sum(estimates: Sequence[Estimate]) -> Estimate:
    calls: dict[str, Calls] = {}
    for one in estimates:
        for model, taken in one.calls.items():
            calls[model] = calls.get(model, Calls()) + taken
    return Estimate(
        sum(one.debates for one in estimates),
        calls,
        sum(one.rows for one in estimates),
        sum(one.steps for one in estimates),
    )
