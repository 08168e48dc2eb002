"""Tables that several commands print: what a judge did, and what was spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from debate.metrics.accuracy import accuracy, mean_mass, unparsed_share
from debate.metrics.bias import position_bias
from debate.metrics.intervals import FEW_CLUSTERS, Interval
from debate.metrics.recovery import gap_recovered
from debate.models.limits import Figures
from debate.record import Recorded
from debate.report import Column, Table
from debate.report.table import Cell

Groups = Mapping[str, Sequence[Recorded]]

JUDGE_NOTE = (
    "'Judge right': single verdicts; 'orders combined': by the mean of a debate's two orders, an ensemble of two. "
    "'Flips': debates whose two orders name different answers. 'Lean': what showing an answer first adds to its "
    "log-odds; a certain verdict has none."
)
PGR_NOTE = (
    " 'PGR': the share of the gap between the blind judge (question alone) and the expert (with the story) that is "
    "recovered; it has no bounds where the two are not told apart."
)


def few_note(recorded: Iterable[Recorded]) -> str:
    """What to say of intervals that rest on too few stories; nothing where there are enough."""
    stories = len({item.debate.transcript.question.story_id for item in recorded if item.verdicts})
    if stories >= FEW_CLUSTERS:
        return ""
    return f" Too few clusters: with only {stories} stories the intervals are not to be trusted."


def judge_table(title: str, groups: Groups, baselines: Groups, note: str) -> Table:
    """What a judge did, a row for each group of debates, then one for each baseline.

    Args:
        title: The table's.
        groups: Debates with one judge's verdicts, by what they are called.
        baselines: The judge's verdicts without a debate, by name; with both, there is a column of PGR.
        note: Stands before the explanation of the columns.

    Returns:
        The table; groups without a verdict are left out.
    """
    gap = "blind" in baselines and "expert" in baselines
    rows: list[list[Cell]] = []
    for name, recorded in {**groups, **{f"{name}, no debate": items for name, items in baselines.items()}}.items():
        lost = unparsed_share(recorded)
        if lost is None:
            continue
        found, bias = accuracy(recorded), position_bias(recorded)
        row: list[Cell] = [
            name,
            len(recorded),
            found.single,
            found.gold_first,
            found.gold_second,
            found.combined,
            None if bias is None else bias.flip_rate,
            None if bias is None else bias.shift,
            lost,
            mean_mass(recorded),
        ]
        if gap:
            row.append(gap_of(recorded, baselines) if name in groups else None)
        rows.append(row)
    columns = (
        Column("debates"),
        Column("n", kind="count"),
        Column("judge right", kind="share"),
        Column("gold shown first", kind="share"),
        Column("gold shown second", kind="share"),
        Column("orders combined", kind="share"),
        Column("flips", kind="share"),
        Column("lean to the first", kind="log_odds"),
        Column("unparsed", kind="share"),
        Column("mass on letters", kind="share"),
        *([Column("PGR", kind="share")] if gap else []),
    )
    few = few_note(item for items in groups.values() for item in items)
    return Table(title, columns, rows, note=f"{note} {JUDGE_NOTE}{PGR_NOTE if gap else ''}{few}")


def gap_of(recorded: Sequence[Recorded], baselines: Groups) -> Interval | None:
    """The performance gap recovered in some debates; None without both baselines, see ``gap_recovered``."""
    blind, expert = baselines.get("blind"), baselines.get("expert")
    return None if blind is None or expert is None else gap_recovered(recorded, blind, expert)


def cost_table(figures: Mapping[str, Figures], seconds: float) -> Table:
    """Calls, tokens and dollars by model, and the time of this session.

    Tokens from caches and of hidden reasoning have columns where a server told of any.
    """
    told = {
        "of them cached": {name: row.tokens.cached for name, row in figures.items()},
        "of them hidden reasoning": {name: row.tokens.reasoning for name, row in figures.items()},
    }
    cached, hidden = ({title: of} if any(of.values()) else {} for title, of in told.items())
    counts = {
        "calls": {name: row.calls for name, row in figures.items()},
        "replayed": {name: row.replayed for name, row in figures.items()},
        "tokens in": {name: row.tokens.tokens_in for name, row in figures.items()},
        **cached,
        "tokens out": {name: row.tokens.tokens_out for name, row in figures.items()},
        **hidden,
    }
    rows: list[list[Cell]] = [
        [name, *(of[name] for of in counts.values()), _dollars(row.cost)] for name, row in figures.items()
    ]
    columns = (Column("model"), *(Column(title, kind="count") for title in counts), Column("cost", align="right"))
    return Table(
        "Cost", columns, rows, note=f"Replayed: answered from the run's store. Time of this session: {seconds:.0f} s."
    )


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.2f}"
