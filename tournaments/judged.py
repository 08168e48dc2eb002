"""What each of several judges made of recorded debates: its ladder, its tables, its figures."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from debate.judge_names import PUBLISHED, is_offline
from debate.metrics.win_rate import consultant_win_rate
from debate.protocols.baselines import BASELINES
from debate.record import Debate, Recorded
from debate.report import Column, Figure, Section, Table
from debate.report.table import Cell
from debate.verdict import Verdict
from tournaments.comparison import compare, comparison_metrics, elo_table, judges_table, pairs_table
from tournaments.config import RatingConfig
from tournaments.gather import SOURCE
from tournaments.ladder import Standings, elo_figure, ladder_table, matrix_figure, side_table, terms_note
from tournaments.matches import outcomes
from tournaments.metrics import Values, gap_figure, judge_figures, metrics, rate_figures
from tournaments.ratings import Ratings, fit, fit_by_assignment
from tournaments.tables import judge_table

_MANY = 20  # consultants, or players of a matrix, beyond which a row each is no longer read


def by_judge(recorded: Sequence[Recorded]) -> dict[str, list[Recorded]]:
    """Sort final verdicts by judge.

    The people who judged published debates as they went are one judge, ``PUBLISHED``; people who judged them afterwards
    are left out, as are verdicts given before the end.

    Args:
        recorded: Debates with verdicts of all judges.

    Returns:
        By judge, in the order they first come: the debates it judged, with its verdicts.
    """
    found: dict[str, list[Recorded]] = {}
    for item in recorded:
        own: dict[str, list[Verdict]] = {}
        live = item.debate.tags.get("judge")
        for verdict in item.verdicts:
            if verdict.round is None and not is_offline(verdict.judge):
                own.setdefault(PUBLISHED if verdict.judge == live else verdict.judge, []).append(verdict)
        for judge, verdicts in own.items():
            found.setdefault(judge, []).append(Recorded(item.debate, tuple(verdicts)))
    return found


def speaks(item: Recorded) -> bool:
    """Whether anybody speaks in a debate; else it is a question that the judge decides by itself."""
    return item.debate.protocol not in BASELINES


@dataclass(frozen=True, slots=True)
class Judged:
    """What one judge made of recorded debates.

    Attributes:
        judge: The judge's name.
        recorded: Debates with its verdicts.
        standings: The ratings of the players; None where no two named players have met before this judge.
    """

    judge: str
    recorded: Sequence[Recorded]
    standings: Standings | None

    @staticmethod
    def of(judge: str, recorded: Sequence[Recorded], config: RatingConfig) -> Judged:
        """Rate the players by a judge's verdicts, if there is anybody to rate."""
        return Judged(judge, recorded, _standings(judge, recorded, config))

    @property
    def spoken(self) -> list[Recorded]:
        """The debates in which somebody speaks."""
        return [item for item in self.recorded if speaks(item)]

    @property
    def baselines(self) -> dict[str, list[Recorded]]:
        """By name, questions that the judge decided without a debate."""
        found: dict[str, list[Recorded]] = {}
        for item in self.recorded:
            if not speaks(item):
                found.setdefault(item.debate.protocol, []).append(item)
        return found


def _standings(judge: str, recorded: Sequence[Recorded], config: RatingConfig) -> Standings | None:
    rows = outcomes(recorded, config.outcome)
    if not rows:
        return None
    known = [row for row in rows if row.right is not None]
    cross = [item for item in recorded if len({name for name in item.debate.players if name is not None}) == 2]
    own: dict[str, list[Recorded]] = {}
    for item in recorded:
        first, second = item.debate.players
        if first is not None and first == second:
            own.setdefault(first, []).append(item)
    return Standings(
        ratings=fit(rows, prior_sd=config.prior_sd),
        by_side=fit_by_assignment(known, prior_sd=config.prior_sd) if known else None,
        outcomes=rows,
        matches=_matches(cross),
        cross_play=cross,
        self_play=own,
        baselines={},
        judge=judge,
    )


def _matches(cross: Sequence[Recorded]) -> Counter[str]:
    """How many matches each player has played: opponents met, counted anew in every source and repetition."""
    met = {(item.debate.tags.get(SOURCE), item.debate.repetition, frozenset(item.debate.players)) for item in cross}
    return Counter(name for _, _, pair in met for name in pair if name is not None)


def group_name(debate: Debate) -> str:
    """Say what a debate is: its setting or protocol, and whether one player argues both sides."""
    name = debate.tags.get("setting", debate.protocol.replace("_", " "))
    first, second = debate.players
    return f"{name}, self-play" if first is not None and first == second else name


def groups_of(recorded: Sequence[Recorded]) -> dict[str, list[Recorded]]:
    """Sort debates by what they are: setting or protocol, self-play apart, and source where there are several.

    Args:
        recorded: Debates in which somebody speaks.

    Returns:
        Debates by what their group is called; all of them first, where no group is all.
    """
    several = len({item.debate.tags.get(SOURCE) for item in recorded}) > 1
    found: dict[str, list[Recorded]] = {}
    for item in recorded:
        name = group_name(item.debate)
        found.setdefault(name, []).append(item)
        if several:
            found.setdefault(f"{name}, {item.debate.tags.get(SOURCE)}", []).append(item)
    # A kind of debates that one source alone has is not said twice.
    kinds = {group_name(item.debate): item.debate.tags.get(SOURCE) for item in recorded}
    twice = {
        f"{name}, {source}"
        for name, source in kinds.items()
        if len(found.get(f"{name}, {source}", ())) == len(found[name])
    }
    ordered = {name: found[name] for name in sorted(found) if name not in twice}
    whole = any(len(items) == len(recorded) for items in found.values())
    return ordered if whole else {"all": list(recorded), **ordered}


def consultants_table(recorded: Sequence[Recorded], *, soft: bool) -> Table | None:
    """How often a judge follows consultants, by kind and by consultant; None where there is no consultancy."""
    lonely = _lonely(recorded)
    if not lonely:
        return None
    groups, by_name = groups_of(lonely), _consultants(lonely)
    if 1 < len(by_name) <= _MANY:
        groups |= {f"consultant {name}": items for name, items in by_name.items()}
    rows: list[list[Cell]] = []
    for name, items in groups.items():
        rate = consultant_win_rate(items, soft=soft)
        rows.append([name, len(items), *((None,) * 3 if rate is None else (rate.both, rate.right, rate.wrong))])
    columns = (
        Column("consultancies"),
        Column("n", kind="count"),
        Column("win rate", kind="share"),
        Column("when right", kind="share"),
        Column("when wrong", kind="share"),
    )
    note = (
        "Win rate: how often the judge chooses the consultant's answer, the mean over being assigned the right and the "
        "wrong one. Intervals are 95 %, robust by story."
    )
    return Table("Consultancies", columns, rows, note=note)


def _lonely(recorded: Sequence[Recorded]) -> list[Recorded]:
    """The debates in which one player speaks alone."""
    return [item for item in recorded if sum(name is not None for name in item.debate.players) == 1]


def _consultants(lonely: Sequence[Recorded]) -> dict[str, list[Recorded]]:
    """Consultancies by consultant, in the order of their names."""
    by_name: dict[str, list[Recorded]] = {}
    for item in lonely:
        by_name.setdefault(next(name for name in item.debate.players if name is not None), []).append(item)
    return dict(sorted(by_name.items()))


def _blocks(judged: Judged, *, soft: bool) -> tuple[list[Table], list[Figure]]:
    """Tables and figures of one judge."""
    tables: list[Table] = []
    figures: list[Figure] = []
    found = judged.standings
    terms = ""
    if found is not None:
        by_side = side_table(found)
        tables += [ladder_table(found), *([] if by_side is None else [by_side])]
        figures.append(elo_figure(found))
        if len(found.order) <= _MANY:
            figures.append(matrix_figure(found))
        terms = terms_note(found)
    tables.append(judge_table("Judge", groups_of(judged.spoken), judged.baselines, f"Judge: {judged.judge}.{terms}"))
    consultants = consultants_table(judged.spoken, soft=soft)
    return tables + ([] if consultants is None else [consultants]), figures


def sections(judges: Sequence[Judged], *, soft: bool) -> list[Section]:
    """Show what all judges found: the comparison where there are several, then each judge by itself.

    Args:
        judges: At least one.
        soft: Whether a verdict counts as the probability of a consultant's answer.

    Returns:
        Sections of the report; with several judges, the titles of a judge's own tables end in its name.
    """
    found: list[Section] = []
    if len(judges) > 1:
        spoken, ratings = _compared(judges)
        tables = [judges_table(spoken), pairs_table(compare(spoken, ratings))]
        found.append(Section("Judges", (*tables, *([elo_table(ratings)] if len(ratings) > 1 else []))))
    for one in judges:
        own, figures = _blocks(one, soft=soft)
        if len(judges) > 1:
            own = [dataclasses.replace(table, title=f"{table.title}: {one.judge}") for table in own]
        found.append(Section(one.judge, (*own, *figures)))
    return found


def judged_metrics(judges: Sequence[Judged], *, soft: bool) -> Values:
    """Return what ``sections`` shows, as plain values.

    Args:
        judges: At least one.
        soft: Whether a verdict counts as the probability of a consultant's answer.

    Returns:
        By judge: the ladder's figures, those of each group of debates with its PGR, and with the win rate where it has
        consultancies; of every consultant, however many there are, its win rate. Then the comparison's.
    """
    by_name: dict[str, object] = {}
    for one in judges:
        by_name[one.judge] = {
            **({"judge": one.judge} if one.standings is None else metrics(one.standings)),
            "groups": {
                name: {**judge_figures(items), **gap_figure(items, one.baselines), **_rate(items, soft=soft)}
                for name, items in groups_of(one.spoken).items()
            },
            "consultants": {
                name: {"consultancies": len(items), **_rate(items, soft=soft)}
                for name, items in _consultants(_lonely(one.spoken)).items()
            },
            **{name: judge_figures(items) for name, items in one.baselines.items()},
            **_rate(one.spoken, soft=soft),
        }
    spoken, ratings = _compared(judges)
    return {"judges": by_name, **comparison_metrics(spoken, compare(spoken, ratings))}


def _rate(recorded: Sequence[Recorded], *, soft: bool) -> Values:
    return rate_figures(consultant_win_rate(recorded, soft=soft))


def _compared(judges: Sequence[Judged]) -> tuple[dict[str, list[Recorded]], dict[str, Ratings]]:
    return (
        {one.judge: one.spoken for one in judges},
        {one.judge: one.standings.ratings for one in judges if one.standings is not None},
    )
