"""``python -m tournaments.simulate``: how many debates buy which interval."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple, Self

from pydantic import Field, model_validator

from debate.command import EXIT_INTERRUPTED, Command, Invocation
from debate.config import Config
from debate.errors import ConfigError
from debate.metrics.intervals import FEW_CLUSTERS
from debate.report import Column, Table, print_table
from debate.report.table import Cell
from tournaments.matches import OutcomeKind
from tournaments.pairing import default_rounds, schedule_is_round_robin
from tournaments.simulated import Quantity, Repetition, Scenario, over_stories, ranked_right, repeat, summarise

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_ALONE = 100_000  # so many outcomes are simulated before a second process has started

_ROWS: tuple[tuple[Quantity, str], ...] = (
    ("rating", "rating of a player"),
    ("neighbours", "difference of two neighbours"),
    ("right", "right answer"),
    ("seat", "seat A"),
    ("side", "ability by assigned side"),
)


class SimulateConfig(Config):
    """A tournament to be simulated, and the world it is held in."""

    players: int = Field(8, ge=2, le=1000, description="size of the field")
    spread: float = Field(150.0, ge=0, le=2000, description="sd of abilities, in Elo")
    questions: int = Field(50, ge=1, description="questions of each match; all matches share them")
    stories: int | None = Field(None, ge=1, description="stories they are about; default a quarter of the questions")
    seat: float = Field(20.0, ge=-2000, le=2000, description="what seat A is worth on an average story, in Elo")
    right: float = Field(100.0, ge=-2000, le=2000, description="what the right answer is worth, in Elo likewise")
    story_sd: float = Field(
        1.0, ge=0, le=10, description="sd over stories of what the right answer, and seat A, are worth, in logits"
    )
    player_story_sd: float = Field(
        0.7, ge=0, le=10, description="sd over stories of how well a player argues a side, in logits"
    )
    side_share: float = Field(0.5, ge=0, le=1, description="share of that variance that is each side's own, 0 to 1")
    rounds: int | None = Field(
        None, ge=1, description="rounds; default ceil(log2 players) + 2; a round robin from players - 2 on"
    )
    outcome: OutcomeKind = Field("hard", description="hard: the likelier answer takes the point; soft: its probability")
    repetitions: int = Field(40, ge=2, description="tournaments simulated at each size")
    level: float = Field(0.95, gt=0, lt=1, description="coverage that intervals are made for")
    prior_sd: float = Field(500.0, gt=0, description="sd of the ratings' prior, in Elo")
    seed: int = Field(0, ge=0, description="all draws follow from it")

    @model_validator(mode="after")
    def _stories_have_questions(self) -> Self:
        if self.stories is not None and self.stories > self.questions:
            raise ValueError(
                f"{self.stories} stories for {self.questions} questions; give each story a question at least"
            )
        return self

    def scenario(self, factor: float = 1.0) -> Scenario:
        """The tournament with so many times the questions and the stories, one of each at least."""
        questions = max(1, int(self.questions * factor))
        stories = max(1, int((self.stories or max(1, self.questions // 4)) * factor))
        return Scenario(
            players=self.players,
            spread=self.spread,
            seat=self.seat,
            right=self.right,
            story_sd=self.story_sd,
            player_story_sd=self.player_story_sd,
            side_share=self.side_share,
            questions=questions,
            stories=min(stories, questions),
            rounds=self.rounds or default_rounds(self.players),
            outcome=self.outcome,
            prior_sd=self.prior_sd,
            level=self.level,
        )


class Size(NamedTuple):
    """One size of the tournament and what its repetitions gave."""

    scenario: Scenario
    repetitions: list[Repetition]


def scenarios(config: SimulateConfig) -> list[Scenario]:
    """The sizes to be simulated, each once; the one that was asked for is among them."""
    return list(dict.fromkeys(config.scenario(factor) for factor in FACTORS))


def simulate(config: SimulateConfig, *, processes: int | None = None) -> list[Size]:
    """Simulate every size.

    Args:
        config: What to simulate.
        processes: How many work at it, which changes no result; by default one a processor, where that is worth it.

    Returns:
        The sizes, smallest first, each with its repetitions.
    """
    sizes = scenarios(config)
    work = [(scenario, config.seed, number) for scenario in sizes for number in range(config.repetitions)]
    if processes is None:
        outcomes = config.repetitions * sum(scenario.verdicts for scenario in sizes)
        processes = 1 if outcomes < _ALONE else _processors()
    if processes == 1:
        done = list(_shown((repeat(*one) for one in work), len(work)))
    else:
        context = multiprocessing.get_context("spawn")  # a fork would take the threads of numerical libraries with it
        with ProcessPoolExecutor(processes, context, initializer=_leave_interrupts_to_the_parent) as pool:
            done = list(_shown(pool.map(repeat, *zip(*work, strict=True)), len(work)))
    each = config.repetitions
    return [Size(scenario, done[at * each : (at + 1) * each]) for at, scenario in enumerate(sizes)]


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _shown(repetitions: Iterator[Repetition], total: int) -> Iterator[Repetition]:
    """Pass repetitions on, with a bar on a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return iter(
        track(repetitions, "tournaments", total, console=console, transient=True, disable=not console.is_terminal)
    )


def plan_table(config: SimulateConfig) -> Table:
    """What will be simulated."""
    return Table(
        f"{config.repetitions} tournaments of each size: {config.players} players, {_schedule(config.scenario())}",
        [Column(title, kind="count") for title in ("Questions", "Stories", "Debates", "Verdicts")],
        [[one.questions, one.stories, one.debates, one.verdicts] for one in scenarios(config)],
    )


def _schedule(scenario: Scenario) -> str:
    robin = schedule_is_round_robin(scenario.players, scenario.rounds)
    return "round robin" if robin else f"{scenario.rounds} Swiss rounds"


def interval_table(size: Size) -> Table:
    """What one size buys: width and coverage of every interval."""
    one = size.scenario
    rows: list[list[Cell]] = []
    for quantity, title in _ROWS:
        found = summarise(quantity, size.repetitions)
        # ratings have mean 0 in truth and estimate, so their mean error is 0 whatever happens
        error = None if quantity in {"rating", "side"} else found.error
        true = found.true if quantity in {"right", "seat"} else None
        rows.append([title, found.half_width, found.coverage, error, true, found.open])
    return Table(
        f"What {one.debates:,} debates and {one.verdicts:,} verdicts buy: {one.players} players, {_schedule(one)}, "
        f"{one.questions} questions on {one.stories} stories",
        [
            Column("Elo of"),
            Column("± Elo", kind="rating"),
            Column(f"Coverage (nominal {100 * one.level:g}%)", kind="share"),
            Column("Mean error", kind="rating"),
            Column("Truth", kind="rating"),
            Column("No end", kind="share"),
        ],
        rows,
        note=f"± is the mean half-width of the intervals that have two ends, {len(size.repetitions)} tournaments; "
        "coverage with its 95% interval; no end: the share of intervals that are open on one side or both.",
    )


def size_table(sizes: Sequence[Size]) -> Table:
    """What more or fewer questions buy."""
    rows: list[list[Cell]] = []
    for scenario, repetitions in sizes:
        found = {quantity: summarise(quantity, repetitions) for quantity, _ in _ROWS}
        few = "too few clusters" if scenario.stories < FEW_CLUSTERS else ""
        halves = [found[quantity].half_width for quantity, _ in _ROWS]
        size = [scenario.questions, scenario.stories, scenario.debates, scenario.verdicts]
        ranked = ranked_right(repetitions) if scenario.spread > 0 else None  # equal players have no right order
        rows.append([*size, *halves, found["rating"].coverage, ranked, few])
    titles = ("Rating", "Neighbours", "Right", "Seat", "By side")
    return Table(
        "What more questions, and stories in proportion, buy",
        [
            *(Column(title, kind="count") for title in ("Questions", "Stories", "Debates", "Verdicts")),
            *(Column(f"{title} ±", kind="rating") for title in titles),
            Column("Coverage of ratings", kind="share"),
            Column("Pairs ranked right", kind="share"),
            Column(""),
        ],
        rows,
        note=f"Intervals are robust by story: fewer than {FEW_CLUSTERS} stories are too few clusters to trust.",
    )


def notes(scenario: Scenario) -> list[str]:
    """What a reader must know first."""
    worth = over_stories(scenario, 100.0)
    scale = (
        f"Ratings are of all stories at once, which differ: 100 Elo on an average story are {worth:.0f} Elo over all. "
        "Widths, errors and truths are on that scale."
    )
    found = [scale]
    if scenario.stories < FEW_CLUSTERS:
        found.append(f"too few clusters: {scenario.stories} stories. Intervals from so few cannot be trusted.")
    return found


def run_simulate(config: SimulateConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    if invocation.output is not None or invocation.resume is not None:
        raise ConfigError(
            "a simulation writes no run folder, so --output and --resume mean nothing; leave them out, and redirect "
            "what is printed to keep it"
        )
    if invocation.dry_run:
        print_table(plan_table(config))
        return 0
    try:
        sizes = simulate(config)
    except KeyboardInterrupt:
        sys.stderr.write("tournaments.simulate: interrupted; nothing is kept\n")
        return EXIT_INTERRUPTED
    asked = next(size for size in sizes if size.scenario == config.scenario())
    for note in notes(asked.scenario):
        sys.stdout.write(f"Note: {note}\n")
    print_table(interval_table(asked))
    sys.stdout.write("\n")
    print_table(size_table(sizes))
    return 0


COMMAND = Command(
    name="tournaments.simulate",
    about="Simulate tournaments of players with known abilities: how many debates buy which interval, and whether the\n"
    "intervals hold. No model is called. It prints two tables and writes nothing: --output and --resume are refused.",
    config=SimulateConfig,
    run=run_simulate,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
