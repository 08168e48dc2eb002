"""What persuasion amounts to: tables and figures for people, and the same as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from debate.metrics.intervals import FEW_CLUSTERS
from debate.metrics.persuasion import OPENING_ROUNDS, Pair, PairFigures, ScenarioFigures
from debate.protocols.persuasion import PERSUASION, Scenario, Stop
from debate.record import Recorded
from debate.report import Column, Figure, Section, Table, heatmap
from debate.report.table import Cell
from tournaments.metrics import Values, interval

Measured = Mapping[Pair, PairFigures]

SCENARIO_NAMES: Mapping[Scenario, str] = {
    "none": "no helper",
    "fallacy": "fallacious helper",
    "logical": "logical helper",
}
_PAIR_COLUMNS = (Column("persuader"), Column("debater"))


def sections(found: Measured, *, grid: bool) -> list[Section]:
    """All that the report's overview shows of the outcomes."""
    shown = [Section("Success", (*(heat_maps(found) if grid else ()), success_table(found), claims_table(found)))]
    added = fallacy_table(found)
    if added.rows:
        shown.append(Section("What fallacies add", (added,)))
    shown.append(Section("By round", [round_table(pair, figures) for pair, figures in found.items()]))
    classes = [class_table(pair, figures) for pair, figures in found.items() if figures.by_class]
    if classes:
        shown.append(Section("By fallacy", classes))
    shown.append(Section("Why debates ended", (stop_table(found),)))
    return shown


def tables(found: Measured) -> list[Table]:
    """The tables of all sections."""
    blocks = (block for section in sections(found, grid=False) for block in section.blocks)
    return [block for block in blocks if isinstance(block, Table)]


def success_table(found: Measured) -> Table:
    """How often debaters were convinced, a row for each pair and scenario."""
    rows: list[list[Cell]] = []
    for pair, scenario, one in _each(found):
        deviation = None if one.variance is None else 100 * one.variance**0.5
        by_repetition = " ".join(f"{100 * rate:.1f}" for rate in one.per_repetition)
        rows.append(
            [
                *pair,
                SCENARIO_NAMES[scenario],
                one.success,
                by_repetition,
                deviation,
                one.rounds_to_conviction,
                one.planned,
                one.missing,
                one.stops.get(Stop.UNREAD, 0),
            ]
        )
    columns = (
        *_PAIR_COLUMNS,
        Column("scenario"),
        Column("success", kind="share"),
        Column("by repetition %", align="right"),
        Column("sd", kind="number"),
        Column("rounds to conviction", kind="number"),
        Column("debates", kind="count"),
        Column("missing", kind="count"),
        Column("unread", kind="count"),
    )
    claims = max((one.success.clusters for _, _, one in _each(found)), default=0)
    few = f" Too few clusters: intervals from {claims} claims are not to be trusted." if claims < FEW_CLUSTERS else ""
    return Table(
        "Debaters that were convinced at the end",
        columns,
        rows,
        note="Success: share of claims times repetitions; a debate that is missing, or whose last stance could not be "
        "read from the moderators' replies (unread), is no success. sd: of the repetitions' rates, in percentage "
        f"points. Intervals are 95 %, robust by claim.{few}",
    )


def claims_table(found: Measured) -> Table:
    """Claims by how many of their repetitions succeeded."""
    most = max((len(one.by_successes) for _, _, one in _each(found)), default=0)
    rows: list[list[Cell]] = [
        [*pair, SCENARIO_NAMES[scenario], *one.by_successes, *([None] * (most - len(one.by_successes)))]
        for pair, scenario, one in _each(found)
    ]
    columns = (*_PAIR_COLUMNS, Column("scenario"), *(Column(str(count), kind="share") for count in range(most)))
    return Table(f"Claims with 0 to {most - 1} successes", columns, rows)


def fallacy_table(found: Measured) -> Table:
    """What fallacies add, a row for each pair; none for a pair without fallacious helper."""
    rows: list[list[Cell]] = []
    for pair, one in found.items():
        if "fallacy" not in one.scenarios and one.changed is None:
            continue
        ablation, ratio = one.ablation, one.susceptibility
        convinced, of = one.changed_of
        rows.append(
            [
                *pair,
                None if ablation is None else ablation.fallacy_only,
                None if ablation is None else ablation.logical_only,
                ratio.get("logical"),
                ratio.get("none"),
                one.changed,
                f"{convinced}/{of}",
            ]
        )
    columns = (
        *_PAIR_COLUMNS,
        Column("fallacy alone convinces", kind="share"),
        Column("logic alone convinces", kind="share"),
        Column("more than logical", kind="share"),
        Column("more than no helper", kind="share"),
        Column("opinion changed", kind="share"),
        Column("of", align="right"),
    )
    return Table(
        "What fallacies add",
        columns,
        rows,
        note="Alone: pairs of one claim and repetition in which one helper convinces and the other fails. More than: "
        "by how much the success rate with fallacies is above the other, relative to it. Opinion changed: convinced, "
        f"of the debates of more than {OPENING_ROUNDS} rounds in all scenarios. Intervals are 95 %, robust by claim.",
    )


def round_table(pair: Pair, figures: PairFigures) -> Table:
    """Share convinced within so many rounds, a column for each scenario."""
    last = max(len(one.by_round) for one in figures.scenarios.values())
    rows: list[list[Cell]] = [
        [
            round_,
            *(one.by_round[min(round_, len(one.by_round)) - 1] for one in figures.scenarios.values() if one.by_round),
        ]
        for round_ in range(1, last + 1)
    ]
    named = [SCENARIO_NAMES[scenario] for scenario, one in figures.scenarios.items() if one.by_round]
    columns = (Column("within rounds", kind="count"), *(Column(name, kind="share") for name in named))
    return Table(f"{_named(pair)}: convinced within so many rounds", columns, rows)


def class_table(pair: Pair, figures: PairFigures) -> Table:
    """Classes of fallacies by how often a debater was convinced upon one."""
    rows: list[list[Cell]] = [
        [name, one.messages, one.convinced.clusters, one.convinced] for name, one in figures.by_class.items()
    ]
    columns = (
        Column("fallacy"),
        Column("messages", kind="count"),
        Column("claims", kind="count"),
        Column("convinced upon it", kind="share"),
    )
    return Table(
        f"{_named(pair)}: fallacies",
        columns,
        rows,
        note="Messages that the debater replied to, by the class that the helper named; a debate may hold many, "
        f"and only the last can convince. Fewer than {FEW_CLUSTERS} claims are too few to trust an interval.",
    )


def stop_table(found: Measured) -> Table:
    """Why debates ended, a row for each pair and scenario."""
    rows: list[list[Cell]] = [
        [*pair, SCENARIO_NAMES[scenario], *(one.stops.get(stop, 0) for stop in Stop)]
        for pair, scenario, one in _each(found)
    ]
    names = [stop.value.replace("_", " ") for stop in Stop]
    columns = (*_PAIR_COLUMNS, Column("scenario"), *(Column(name, kind="count") for name in names))
    return Table(
        "Why debates ended",
        columns,
        rows,
        note="Only 'convinced' is a success. Rounds: all were used. Other: stopped for another reason. Unread: the "
        "moderators' last replies could not be read.",
    )


def heat_maps(found: Measured) -> list[Figure]:
    """Success of every persuader with every debater, a matrix for each scenario."""
    persuaders = list(dict.fromkeys(pair.persuader for pair in found))
    debaters = list(dict.fromkeys(pair.debater for pair in found))
    held = dict.fromkeys(scenario for figures in found.values() for scenario in figures.scenarios)

    def value(persuader: str, debater: str, scenario: Scenario) -> float | None:
        figures = found.get(Pair(persuader, debater))
        one = None if figures is None else figures.scenarios.get(scenario)
        return None if one is None else one.success.value

    return [
        heatmap(
            f"Success, {SCENARIO_NAMES[scenario]}",
            rows=persuaders,
            columns=debaters,
            values=[[value(persuader, debater, scenario) for debater in debaters] for persuader in persuaders],
            row_title="persuader",
            column_title="debater",
            note="Share of claims times repetitions in which the debater was convinced; intervals are in the table.",
        )
        for scenario in held
    ]


def metrics(found: Measured, notes: Sequence[str] = (), trouble: Mapping[str, int] | None = None) -> Values:
    """The figures that the tables show, as plain values: an interval is estimate, lower and upper end."""
    return {
        "pairs": [_pair_values(pair, figures) for pair, figures in found.items()],
        "notes": list(notes),
        "trouble": None if trouble is None else dict(trouble),
    }


def trouble_of(recorded: Iterable[Recorded]) -> dict[str, int]:
    """Count what went wrong in finished debates: replies refused, replies unread, and rewrites that failed."""
    debates = [item.debate for item in recorded if item.debate.protocol == PERSUASION and item.debate.failed is None]
    helps = [turn.help for debate in debates for turn in debate.transcript.turns if turn.help is not None]
    return {
        "refused": sum(int(debate.tags.get("refused", 0)) for debate in debates),
        "unread": sum(int(debate.tags.get("unread", 0)) for debate in debates),
        "failed_rewrites": sum(one.failed for one in helps),
        "rewrites": len(helps),
    }


def trouble_notes(trouble: Mapping[str, int]) -> list[str]:
    """Say so, where something went wrong."""
    notes = []
    if trouble["refused"]:
        notes.append(
            f"The first moderator refused {trouble['refused']} times; the second was asked where there is one."
        )
    if trouble["unread"]:
        notes.append(f"{trouble['unread']} replies of moderators could not be read, however often they were asked.")
    if trouble["failed_rewrites"]:
        failed, of = trouble["failed_rewrites"], trouble["rewrites"]
        notes.append(f"{failed} of {of} rewrites failed, and the draft was said as it was.")
    return notes


def _pair_values(pair: Pair, figures: PairFigures) -> Values:
    ablation = figures.ablation
    convinced, of = figures.changed_of
    return {
        "persuader": pair.persuader,
        "debater": pair.debater,
        "scenarios": {scenario: _scenario_values(one) for scenario, one in figures.scenarios.items()},
        "opinion_changed": interval(figures.changed),
        "opinion_changed_convinced": convinced,
        "opinion_changed_debates": of,
        "fallacy_only": None if ablation is None else interval(ablation.fallacy_only),
        "logical_only": None if ablation is None else interval(ablation.logical_only),
        "ablation_pairs": None if ablation is None else ablation.pairs,
        "more_than_logical": interval(figures.susceptibility.get("logical")),
        "more_than_none": interval(figures.susceptibility.get("none")),
        "by_class": {
            name: {"messages": one.messages, "claims": one.convinced.clusters, "convinced": interval(one.convinced)}
            for name, one in figures.by_class.items()
        },
    }


def _scenario_values(one: ScenarioFigures) -> Values:
    return {
        "success": interval(one.success),
        "success_of_read": interval(one.success_read),
        "success_by_repetition": list(one.per_repetition),
        "variance_over_repetitions": one.variance,
        "claims_by_successes": [interval(share) for share in one.by_successes],
        "convinced_within_rounds": [interval(share) for share in one.by_round],
        "rounds_to_conviction": interval(one.rounds_to_conviction),
        "stops": {stop.value: count for stop, count in one.stops.items()},
        "debates": one.planned,
        "missing": one.missing,
    }


def _each(found: Measured) -> list[tuple[Pair, Scenario, ScenarioFigures]]:
    return [(pair, scenario, one) for pair, figures in found.items() for scenario, one in figures.scenarios.items()]


def _named(pair: Pair) -> str:
    return f"{pair.persuader} to {pair.debater}"
