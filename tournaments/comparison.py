"""Judges compared on the same debates: who is right more often, how much they agree, and whether they rank alike."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from debate.metrics.accuracy import accuracy, unparsed_share
from debate.metrics.agreement import cohen_kappa
from debate.metrics.intervals import FEW_CLUSTERS, Interval, cluster_mean
from debate.metrics.intervals import mean_gap as mean_gap  # noqa: PLC0414 - commands that compare take it from here
from debate.record import Recorded
from debate.report import Column, Table
from debate.report.table import Cell
from debate.verdict import combine, points
from tournaments.ladder import status_cell
from tournaments.metrics import Values, interval
from tournaments.ratings import Ratings

ByJudge = Mapping[str, Sequence[Recorded]]
FEWEST_PLAYERS = 3
"""Of fewer players a rank correlation says nothing."""
_TIE = 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    """Two judges on the debates that both have judged.

    Attributes:
        one: A judge.
        other: Another.
        debates: Debates on which both have a probability, each the mean of its orders.
        ties: Share of them in which one judge or both give both answers one half and so name none.
        agreement: Of the others, the share in which both name the same answer; None where there is none.
        kappa: Cohen's, over the same debates: the agreement above that of two judges who name answers as often but
            independently, of what is possible; None where there is no agreement above chance to be had.
        distance: Mean absolute difference of the probabilities.
        correlation: Spearman's, of the Elo of the players that both have placed; None under three players.
        players: How many players that are.
    """

    one: str
    other: str
    debates: int
    ties: Interval
    agreement: Interval | None
    kappa: float | None
    distance: Interval
    correlation: float | None
    players: int


def compare(by_judge: ByJudge, ratings: Mapping[str, Ratings]) -> list[Pair]:
    """Compare every two judges that have judged the same debates.

    Args:
        by_judge: Debates with one judge's verdicts each, by judge.
        ratings: Ratings by judge, of those that rated anybody.

    Returns:
        Pairs, in the order of the judges; those without a debate in common are left out.
    """
    known = {judge: _probabilities(recorded) for judge, recorded in by_judge.items()}
    stories = {
        item.debate.id: item.debate.transcript.question.story_id for items in by_judge.values() for item in items
    }
    found = []
    for one, other in itertools.combinations(by_judge, 2):
        shared = [name for name in known[one] if name in known[other]]
        if not shared:
            continue
        first, second = ([known[judge][name] for name in shared] for judge in (one, other))
        labels = [stories[name] for name in shared]
        named = [(points(p), points(q)) for p, q in zip(first, second, strict=True)]
        tied = [_TIE in pair for pair in named]
        both = [(*pair, label) for pair, tie, label in zip(named, tied, labels, strict=True) if not tie]
        gaps = [abs(p - q) for p, q in zip(first, second, strict=True)]
        kappa = cohen_kappa([a for a, _, _ in both], [b for _, b, _ in both], [story for _, _, story in both])
        rank, players = (
            rank_correlation(ratings[one], ratings[other]) if one in ratings and other in ratings else (None, 0)
        )
        found.append(
            Pair(
                one,
                other,
                len(shared),
                cluster_mean([float(tie) for tie in tied], labels, bounds=(0.0, 1.0)),
                _agreement(both),
                None if kappa is None else kappa.value,
                cluster_mean(gaps, labels, bounds=(0.0, 1.0)),
                rank,
                players,
            )
        )
    return found


def _agreement(named: Sequence[tuple[float, float, str]]) -> Interval | None:
    """Share of debates, given as what two judges name and the story, in which they name the same."""
    if not named:
        return None
    same = [float(one == other) for one, other, _ in named]
    return cluster_mean(same, [story for _, _, story in named], bounds=(0.0, 1.0))


def _probabilities(recorded: Sequence[Recorded]) -> dict[str, float]:
    """Probability of answer 0 by debate, the mean of its orders."""
    found = {}
    for item in recorded:
        mean = combine(item.verdicts) if item.verdicts else None
        if mean is not None:
            found[item.debate.id] = mean[0]
    return found


def rank_correlation(one: Ratings, other: Ratings) -> tuple[float | None, int]:
    """Spearman's correlation of two ladders.

    Args:
        one: Ratings by one judge.
        other: By another.

    Returns:
        The correlation and the number of players. Those that a ladder cannot place (disconnected) are left out;
        undefeated and winless ones are at its ends. None under three players, or where one ladder has all level.
    """
    names = [
        name
        for name in one.players
        if name in other.players and "disconnected" not in {one.players[name].status, other.players[name].status}
    ]
    if len(names) < FEWEST_PLAYERS:
        return None, len(names)
    # What differs by rounding alone is level.
    ranks = [_ranks([round(found.players[name].elo, 6) for name in names]) for found in (one, other)]
    centred = [row - row.mean() for row in ranks]
    spread = float((centred[0] @ centred[0]) * (centred[1] @ centred[1])) ** 0.5
    return (None if spread == 0 else float(centred[0] @ centred[1]) / spread), len(names)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 1; level values share the mean of theirs (``scipy.stats`` has this too, and takes long to import)."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean: NDArray[np.float64] = np.cumsum(counts) - (counts - 1) / 2
    return mean[place]


def accuracy_difference(recorded: Sequence[Recorded], reference: Sequence[Recorded]) -> Interval | None:
    """How much more often one judge is right than another, over the debates that both have judged.

    Args:
        recorded: Debates with one judge's verdicts.
        reference: Debates with another's.

    Returns:
        The mean over debates of the difference in the share of right verdicts, with an interval robust by story: the
        debates are paired, so what makes a question hard for both cancels. None where there is no such debate.
    """
    known = _right(reference)
    pairs = [(share - known[name][0], story) for name, (share, story) in _right(recorded).items() if name in known]
    return mean_gap([gap for gap, _ in pairs], [story for _, story in pairs]) if pairs else None


def _right(recorded: Sequence[Recorded]) -> dict[str, tuple[float, str]]:
    """Share of right verdicts, and the story, by debate."""
    found = {}
    for item in recorded:
        question = item.debate.transcript.question
        parsed = [verdict.probabilities for verdict in item.verdicts if verdict.probabilities is not None]
        if question.gold is not None and parsed:
            found[item.debate.id] = (fmean(points(row[question.gold]) for row in parsed), question.story_id)
    return found


def judges_table(by_judge: ByJudge) -> Table:
    """Judges and how often they are right, each against the first."""
    reference, *_ = by_judge
    rows: list[list[Cell]] = []
    for judge, recorded in by_judge.items():
        found = accuracy(recorded)
        rows.append(
            [
                judge,
                sum(bool(item.verdicts) for item in recorded),
                found.single,
                None if judge == reference else accuracy_difference(recorded, by_judge[reference]),
                found.combined,
                unparsed_share(recorded),
            ]
        )
    columns = (
        Column("judge"),
        Column("debates", kind="count"),
        Column("judge right", kind="share"),
        Column("more than the first", kind="share"),
        Column("orders combined", kind="share"),
        Column("unparsed", kind="share"),
    )
    note = (
        "All debates in which somebody speaks, self-play included. 'Judge right': single verdicts. 'More than the "
        f"first': by how much a judge is right more often than {reference}, over the debates that both have judged, "
        "paired by debate; the intervals are 95 %, robust by story."
    )
    few = len({item.debate.transcript.question.story_id for items in by_judge.values() for item in items})
    if few < FEW_CLUSTERS:
        note += f" Too few clusters: with only {few} stories the intervals are not to be trusted."
    return Table("Judges compared", columns, rows, note=note)


def pairs_table(pairs: Sequence[Pair]) -> Table:
    """Every two judges: do they agree, and do they rank the players alike."""
    rows: list[list[Cell]] = [
        [
            pair.one,
            pair.other,
            pair.debates,
            pair.ties,
            pair.agreement,
            pair.kappa,
            pair.distance,
            pair.correlation,
            pair.players,
        ]
        for pair in pairs
    ]
    columns = (
        Column("judge"),
        Column("and judge"),
        Column("debates", kind="count"),
        Column("ties", kind="share"),
        Column("agree", kind="share"),
        Column("kappa", kind="number"),
        Column("mean |Δp|", kind="number"),
        Column("Spearman of Elo", kind="number"),
        Column("players", kind="count"),
    )
    note = (
        "By the mean probability of a debate's orders. 'Ties': one judge or both give both answers one half, so they "
        "name none. 'Agree': of the other debates, those in which both name the same answer; 'kappa': Cohen's, what is "
        "left of that above chance. 'Spearman of Elo': whether the two judges' ladders rank the players alike."
    )
    return Table("Judges two by two", columns, rows, note=note)


def elo_table(ratings: Mapping[str, Ratings]) -> Table:
    """Elo of every player by every judge that rated somebody; a row a player, best by the first judge first."""
    names = dict.fromkeys(name for found in ratings.values() for name in found.players)
    rows: list[list[Cell]] = [[name, *(_elo(found, name) for found in ratings.values())] for name in names]
    columns = (Column("player"), *(Column(judge, kind="rating") for judge in ratings))
    note = "Every judge's ladder has a scale of its own: 0 is the middle of the players that it placed."
    return Table("Elo by judge", columns, rows, note=note)


def _elo(found: Ratings, name: str) -> Cell:
    rating = found.players.get(name)
    if rating is None:
        return None
    return rating.elo if rating.status == "ok" else status_cell(rating)


def comparison_metrics(by_judge: ByJudge, pairs: Sequence[Pair]) -> Values:
    """Return what the comparison shows, as plain values."""
    reference = next(iter(by_judge), None)
    return {
        "more_than_the_first": {
            judge: interval(accuracy_difference(recorded, by_judge[reference]))
            for judge, recorded in by_judge.items()
            if reference is not None and judge != reference
        },
        "pairs": {
            f"{pair.one} | {pair.other}": {
                "debates": pair.debates,
                "ties": interval(pair.ties),
                "agreement": interval(pair.agreement),
                "kappa": pair.kappa,
                "distance": interval(pair.distance),
                "elo_spearman": pair.correlation,
                "players": pair.players,
            }
            for pair in pairs
        },
    }
