"""What a loop leaves for its readers: ``metrics.jsonl``, ``metrics.json``, ``report.html``, and runs in wandb."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence

from debate.config import digest
from debate.models.limits import Figures
from debate.record import Recorded
from debate.report import Column, Figure, Report, Section, Table, print_table, write_report
from debate.report.table import Cell
from debate.run_folder import write_whole
from debate.tracking import Folder, Series, TrackingConfig, flatten_metrics, log_run
from tournaments.concessions import read_concessions
from tournaments.elo_picture import TITLE, picture, points_table
from training.judge_measures import before_after
from training.loop import Tested
from training.loop_config import FIRST, LoopConfig
from training.loop_results import BOTH, JudgeTest, Measured, debates_of, paired, read_test, values_of
from training.picture import (
    concessions_table,
    iterations_table,
    newcomers_table,
    picture_name,
    pictures,
    players_table,
    points_name,
    slopes_table,
)
from training.progress import METRICS as CURVE
from training.progress import read_metrics
from training.saving import ADAPTER
from training.stages import Stages

NAME = "training.loop"
METRICS = "metrics.jsonl"
TEST = "test"


class Reporter:
    """Writes down what each iteration came to, and what the test says.

    Args:
        config: The loop's.
        stages: Its stages.
        tracked: Whether and where it is tracked.
    """

    def __init__(self, config: LoopConfig, stages: Stages, tracked: TrackingConfig) -> None:
        self._config = config
        self._stages = stages
        self._root = stages.root
        self._tracked = tracked
        self._measured: list[Measured] = []

    def iteration(self, found: Measured) -> None:
        """Write down, show and track an iteration."""
        self._measured.append(found)
        lines = [one.values() for one in self._measured]
        write_whole(self._root / METRICS, (json.dumps(flatten_metrics(line), ensure_ascii=False) for line in lines))
        told = [iterations_table(self._measured), newcomers_table(self._measured)]
        for table in told:
            print_table(table)
        figures, points = [], []
        if found.relation is not None:
            figures.append(picture(picture_name(FIRST), {BOTH: found.relation}))
            points.append(points_table(points_name(FIRST), {BOTH: found.relation}))
        self._write([Section("Iterations", (*told, *figures))], "Validation stories only; the test is still to come.")
        number = found.iteration.number
        fresh = {item.debate.id for item in debates_of(self._root, [found.iteration.held[-1]])}
        judged = [item for item in debates_of(self._root, found.iteration.validated) if item.debate.id in fresh]
        self._track(
            f"iteration-{number}",
            tables=[*told, *points],
            metrics=lines[-1],
            recorded=judged,
            series=self._series(found),
            figures=figures,
            folders=self._folders(found),
        )

    def test(self, tested: Tested, checked: str) -> None:
        """Write the final report, show and track it."""
        tests = read_test(self._root, tested, self._config)
        own = {one.judge: one.own for one in tests}
        conceded = [] if tested.concessions is None else read_concessions(self._root / tested.concessions)
        drawn = pictures(tests)
        shown = slopes_table(tests)
        pairs = [_compare(tests[0], one) for one in tests[1:]]
        players = [players_table(f"Players before {one.judge}", one) for one in tests]
        left = [concessions_table(own, conceded)] if conceded else []
        iterations = [iterations_table(self._measured), newcomers_table(self._measured)]
        cost = cost_table(self._stages)
        sections = [
            Section(TITLE, (*drawn, shown), notes=(checked,)),
            Section("Trained and frozen judge on the same debates", pairs) if pairs else None,
            Section("Players", (*players, *left)),
            Section("Iterations", iterations),
            Section("Cost", (cost,)),
        ]
        self._write([section for section in sections if section is not None], "")
        lines = [one.values() for one in self._measured]
        metrics = {"iterations": lines, TEST: values_of(tests)}
        text = json.dumps(finite(metrics), indent=2, ensure_ascii=False, allow_nan=False)
        write_whole(self._root / "metrics.json", f"{text}\n")
        for table in (shown, *pairs, *players, *left, *iterations, cost):
            print_table(table)
        sys.stdout.write(f"{checked}\n")
        self._track(
            TEST,
            tables=[
                shown,
                *(points_table(points_name(one.judge), {BOTH: one.relations[BOTH]}) for one in tests),
                *pairs,
                *players,
                *left,
                *iterations,
            ],
            metrics={TEST: values_of(tests)},
            recorded=debates_of(self._root, [tested.own]),
            series=[],
            figures=drawn,
            folders=[],
        )

    def _write(self, sections: Sequence[Section], note: str) -> None:
        config = self._config
        alone = "consultancies" if config.alone else "debates"
        report = Report(
            title="The closed loop",
            subtitle=f"{len(self._measured)} of {config.iterations} iterations of {alone} on {config.base.label}",
            notes=[note] if note else [],
            sections=sections,
        )
        write_report(report, (), self._root)

    def _series(self, found: Measured) -> list[Series]:
        """The iteration's figures, and the curves of its trainings, each along steps of its own."""
        curves = [
            Series(name, "step", read_metrics(self._root / stage / CURVE))
            for name, stage in found.iteration.trained.items()
            if name != "debater"
        ]
        return [Series("loop", "iteration", [found.values()]), *curves]

    def _folders(self, found: Measured) -> list[Folder]:
        """Adapters and the rows that they were trained on."""
        places = {stage: self._root / stage for stage in found.iteration.trained.values()}
        adapters = [Folder(stage, "adapter", place / ADAPTER) for stage, place in places.items()]
        return [*adapters, *(Folder(f"{stage}-rows", "dataset", place / "rows") for stage, place in places.items())]

    def _track(
        self,
        part: str,
        *,
        tables: Sequence[Table],
        metrics: Mapping[str, object],
        recorded: Sequence[Recorded],
        series: Sequence[Series],
        figures: Sequence[Figure],
        folders: Sequence[Folder],
    ) -> None:
        """Track a part as a run of its own in the loop's group, unless it was tracked as it is."""
        state = digest([flatten_metrics(metrics), self._tracked.model_dump(mode="json")])
        if self._tracked.mode == "disabled" or self._stages.note(f"tracked {part}") == state:
            return
        group = self._tracked.group or self._root.name
        config = self._tracked.model_copy(update={"group": group, "name": f"{self._tracked.name or group}-{part}"})
        log_run(
            config,
            run_folder=self._root / part,
            command=NAME,
            settings={**self._config.model_dump(mode="json"), "part": part},
            tables=tables,
            metrics=metrics,
            recorded=recorded,
            seed=self._config.seed,
            series=series,
            figures=figures,
            folders=folders,
        )
        self._stages.note(f"tracked {part}", state)


def _compare(first: JudgeTest, other: JudgeTest) -> Table:
    before, after = paired(first.own, other.own)
    return before_after(before, after, title=f"{first.judge} (before) and {other.judge} (after)")


def finite(tree: object) -> object:
    """Put None in the place of numbers that are not finite, such as the end of an interval that has none."""
    if isinstance(tree, Mapping):
        return {key: finite(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [finite(value) for value in tree]
    return None if isinstance(tree, float) and not math.isfinite(tree) else tree


def cost_table(stages: Stages) -> Table:
    """Time, calls and tokens of each stage."""
    usage = stages.usage()
    rows: list[list[Cell]] = []
    for name, seconds in stages.seconds.items():
        found = usage.get(name, Figures())
        rows.append([name, seconds, found.calls, found.tokens.tokens_in, found.tokens.tokens_out, _dollars(found.cost)])
    columns = (
        Column("stage"),
        Column("time", kind="duration"),
        Column("calls", kind="count"),
        Column("tokens in", kind="count"),
        Column("tokens out", kind="count"),
        Column("cost", align="right"),
    )
    return Table("Cost", columns, rows, note="All sessions together.")


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.2f}"
