"""``python -m training.dashboards``: a workspace at Weights & Biases for the runs of a loop."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field

from debate.command import Command, Invocation
from debate.config import Config
from debate.errors import ConfigError
from debate.report import Column, Table, print_table
from debate.tracking import TRANSCRIPTS, TrackingConfig, check
from training.loop_config import FIRST, HELD_OUT
from training.loop_results import NEW
from training.picture import ITERATIONS, NEWCOMERS, SLOPES, picture_name, points_name

if TYPE_CHECKING:
    import wandb_workspaces.workspaces as ws

JUDGES = (FIRST, NEW, HELD_OUT)


class DashboardConfig(Config):
    """Which workspace is built."""

    entity: str = Field(min_length=1, description="user or team at Weights & Biases")
    project: str = Field("dissoi", min_length=1, description="the project that the loop was tracked in")
    group: str | None = Field(None, description="only runs of this group, which a loop's are; none for all")
    name: str = Field("Closed loop", min_length=1, description="of the workspace")


class Panel(NamedTuple):
    """One panel.

    Attributes:
        kind: ``media``, ``table``, ``line`` or ``scatter``.
        title: Its title; of media and tables what they were logged as.
        x: What is along the first axis of a line or scatter.
        y: The figures that are drawn.
    """

    kind: str
    title: str
    x: str = ""
    y: tuple[str, ...] = ()


class Section(NamedTuple):
    """A named row of panels."""

    name: str
    panels: tuple[Panel, ...]


def layout() -> tuple[Section, ...]:
    """Return what the workspace shows, in order."""
    step = "loop/iteration"

    def line(title: str, *keys: str) -> Panel:
        return Panel("line", title, step, tuple(f"loop/{key}" for key in keys))

    judged = [
        line(f"{title} by judge", *(f"judges/{judge}/{key}" for judge in JUDGES))
        for title, key in (
            ("Judge right", "accuracy"),
            ("Right, orders combined", "accuracy_combined"),
            ("Flips", "flips"),
            ("Log score, nats", "log_score"),
            ("Calibration error", "calibration_error"),
        )
    ]
    newest = [
        line(title, f"newcomer/{key}")
        for title, key in (("Verified quotes", "verified"), ("Words", "words"), ("Concedes", "concedes"))
    ]
    curves = [
        Panel("line", f"{title}: loss", f"{name}/step", (f"{name}/loss",))
        for name, title in (("judge", "Judge"), ("sft", "Debater, SFT"), ("dpo", "Debater, DPO"))
    ]
    return (
        Section(
            "Elo against accuracy",
            (
                Panel("media", picture_name(FIRST)),
                Panel("scatter", "Newest rated debater, by iteration", "rated/elo", ("rated/accuracy",)),
                Panel("table", points_name(FIRST)),
                Panel("table", SLOPES),
            ),
        ),
        Section("Judges", tuple(judged)),
        Section("Newest debater", tuple(newest)),
        Section("Iterations", tuple(Panel("table", name) for name in (ITERATIONS, NEWCOMERS, TRANSCRIPTS))),
        Section("Training", tuple(curves)),
    )


def build(config: DashboardConfig, sections: Sequence[Section]) -> ws.Workspace:
    """Make the workspace, which nobody has seen yet.

    Raises:
        ConfigError: The library that does it is not installed.
    """
    try:
        import wandb_workspaces.expr as filters
        import wandb_workspaces.reports.v2.interface as wr
        import wandb_workspaces.workspaces as ws
    except ImportError as error:
        raise ConfigError(f"a workspace needs another library ({error}); pip install wandb-workspaces") from error

    def panel(one: Panel) -> wr.PanelTypes:
        if one.kind == "media":
            return wr.MediaBrowser(title=one.title, media_keys=[one.title])
        if one.kind == "table":
            return wr.WeavePanelSummaryTable(table_name=one.title)
        if one.kind == "scatter":
            return wr.ScatterPlot(title=one.title, x=wr.SummaryMetric(one.x), y=wr.SummaryMetric(one.y[0]))
        return wr.LinePlot(title=one.title, x=one.x, y=list(one.y))

    shown = "" if config.group is None else filters.And(filters.Metric("Group") == config.group)
    return ws.Workspace(
        entity=config.entity,
        project=config.project,
        name=config.name,
        sections=[
            ws.Section(name=name, panels=[panel(one) for one in panels], is_open=True) for name, panels in sections
        ],
        runset_settings=ws.RunsetSettings(filters=shown),
    )


def layout_table(sections: Sequence[Section]) -> Table:
    """What the workspace shows, for ``--dry-run``."""
    rows = [(name, one.kind, one.title, one.x, ", ".join(one.y)) for name, panels in sections for one in panels]
    return Table("Workspace", tuple(map(Column, ("section", "panel", "title", "along", "figures"))), rows)


def run_dashboards(config: DashboardConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    sections = layout()
    if invocation.dry_run:
        print_table(layout_table(sections))
        return 0
    if invocation.resume is not None or invocation.output is not None:
        raise ConfigError("a workspace has no run folder; leave out --output and --resume")
    check(TrackingConfig(mode="online", project=config.project, entity=config.entity))
    workspace = build(config, sections)
    try:
        workspace.save()  # type: ignore[no-untyped-call]  # theirs
    except Exception as error:  # the library raises whatever the server answers
        where = f"{config.entity}/{config.project}"
        why = " ".join(str(error).split())[:300]
        raise ConfigError(f"cannot save the workspace in {where}: {why}; check the names and the key") from error
    sys.stdout.write(f"Workspace: {workspace.url}\n")
    return 0


COMMAND = Command(
    name="training.dashboards",
    about="Build a workspace at Weights & Biases for the runs of a closed loop: Elo against accuracy first.",
    config=DashboardConfig,
    run=run_dashboards,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
