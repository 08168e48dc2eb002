"""The ladder: what a tournament found, as tables and figures for the terminal and the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from debate.metrics.intervals import Interval, cluster_mean
from debate.metrics.speeches import SpeechFigures, figures_by_player
from debate.models.limits import Figures
from debate.record import Recorded
from debate.report import Column, Dot, Figure, Section, Table, dots, heatmap
from debate.report import Interval as Span
from debate.report.table import Cell, format_number
from tournaments.ratings import AssignmentRatings, Outcome, Rating, Ratings
from tournaments.tables import cost_table, judge_table


@dataclass(frozen=True, slots=True)
class Standings:
    """What a tournament found.

    Attributes:
        ratings: Elo of all players.
        by_side: Elo of all players assigned the right and the wrong answer; None where gold answers are not known.
        outcomes: What the ratings were fitted to.
        matches: How many matches each player has played.
        cross_play: Debates between different players, judged.
        self_play: By player, debates against itself, judged.
        baselines: By name, questions that the judge decided without a debate.
        judge: The judge's name.
        spoken: By player, what its speeches are made of; None where the debates hold their turns.
        optimized: The players with an optimizer, whose candidates a preference model scores.
    """

    ratings: Ratings
    by_side: AssignmentRatings | None
    outcomes: Sequence[Outcome]
    matches: Mapping[str, int]
    cross_play: Sequence[Recorded]
    self_play: Mapping[str, Sequence[Recorded]]
    baselines: Mapping[str, Sequence[Recorded]]
    judge: str
    spoken: Mapping[str | None, SpeechFigures] | None = None
    optimized: frozenset[str] = frozenset()

    @property
    def recorded(self) -> list[Recorded]:
        """All debates of players."""
        return [*self.cross_play, *(item for items in self.self_play.values() for item in items)]

    @property
    def unread_scores(self) -> dict[str, float]:
        """Of the valid candidates of each player with an optimizer, the share whose preference score was unparsed."""
        shares = {name: (self.spoken or {}).get(name) for name in sorted(self.optimized)}
        return {
            name: found.unscored for name, found in shares.items() if found is not None and found.unscored is not None
        }

    @property
    def by_player(self) -> dict[str, list[Outcome]]:
        """The outcomes of each player."""
        found: dict[str, list[Outcome]] = {}
        for row in self.outcomes:
            for name in (row.player_a, row.player_b):
                found.setdefault(name, []).append(row)
        return found

    @property
    def order(self) -> list[str]:
        """Players by Elo, best first."""
        return sorted(self.ratings.players, key=lambda name: (-self.ratings.players[name].elo, name))


def player_score(outcomes: Iterable[Outcome], player: str, *, right: bool | None = None) -> Interval | None:
    """Mean score of a player, with an interval robust by story.

    Args:
        outcomes: Outcomes of a tournament.
        player: The player.
        right: Only where it was assigned the right answer (True) or the wrong one (False); None for all.

    Returns:
        The rate, or None where it has no such outcome.
    """
    rows = [
        (row.score_a if row.player_a == player else 1 - row.score_a, row.story_id)
        for row in outcomes
        if player in {row.player_a, row.player_b}
        and (right is None or (row.right is not None and (row.right == player) == right))
    ]
    return cluster_mean([score for score, _ in rows], [story for _, story in rows]) if rows else None


def ladder_table(standings: Standings) -> Table:
    """The ladder: a row a player, best first."""
    spoken = figures_by_player(standings.recorded) if standings.spoken is None else standings.spoken
    rows: list[list[Cell]] = []
    for place, name in enumerate(standings.order, 1):
        rating = standings.ratings.players[name]
        speeches = spoken.get(name)
        rows.append(
            [
                place,
                name,
                _elo_cell(rating),
                standings.matches.get(name, 0),
                None if speeches is None else speeches.quotes,
                None if speeches is None else speeches.verified,
                None if speeches is None else speeches.words,
                None if speeches is None else speeches.invalid,
            ]
        )
    columns = (
        Column("#", kind="count"),
        Column("player"),
        Column("Elo", kind="rating"),
        Column("matches", kind="count"),
        Column("quotes a speech", kind="number"),
        Column("verified", kind="share"),
        Column("words", kind="number"),
        Column("invalid speeches", kind="share"),
    )
    return Table("Ladder", columns, rows, note=_ladder_note(standings))


def _elo_cell(rating: Rating) -> Cell:
    """A rating that the field cannot place is named, never shown as a number like any other."""
    return Span(rating.elo, rating.low, rating.high) if rating.status == "ok" else status_cell(rating)


def status_cell(rating: Rating) -> str:
    """Name a status that is not "ok", with its number unless that is the prior's alone, as of the disconnected."""
    return rating.status if rating.status == "disconnected" else f"{rating.status} ({rating.elo:.0f})"


def _ladder_note(standings: Standings) -> str:
    ratings = standings.ratings
    stories = f"{ratings.clusters} stories"
    note = (
        f"Elo: 0 is the middle of this field; intervals are 95 %, robust by story ({stories}); {ratings.outcomes} "
        "outcomes, one for each debate and order of the answers. A speech is invalid if it is too short, too long or "
        "without a quote."
    )
    if ratings.few_clusters:
        note += f" Too few clusters: with only {stories} the intervals are not to be trusted."
    unrated = [name for name, rating in ratings.players.items() if rating.status != "ok"]
    if unrated:
        note += f" Not comparable with the rest: {', '.join(sorted(unrated))}."
    if standings.unread_scores:
        shares = (f"{name} {format_number(share, 'share')}" for name, share in standings.unread_scores.items())
        note += f" Preference scores that could not be read: {', '.join(shares)}."
    absent = sorted(standings.matches.keys() - ratings.players.keys())
    if absent:
        note += f" Without a single verdict, so not rated: {', '.join(absent)}."
    return note


def side_table(standings: Standings) -> Table | None:
    """Players as assigned the right and the wrong answer; None where gold answers are not known."""
    found = standings.by_side
    if found is None:
        return None
    right, wrong, outcomes = found.right, found.wrong, standings.by_player
    rows: list[list[Cell]] = [
        [
            name,
            _elo_cell(right[name]) if name in right else None,
            _elo_cell(wrong[name]) if name in wrong else None,
            player_score(outcomes.get(name, ()), name, right=True),
            player_score(outcomes.get(name, ()), name, right=False),
        ]
        for name in standings.order
    ]
    columns = (
        Column("player"),
        Column("Elo when right", kind="rating"),
        Column("Elo when wrong", kind="rating"),
        Column("wins when right", kind="share"),
        Column("wins when wrong", kind="share"),
    )
    note = "Both Elo columns are of one fit and on one scale, another than the ladder's: 0 is the mean of all of them."
    if len(right.keys() | wrong.keys()) < 3:
        note += " Two players alone cannot be compared so: one's right side meets only the other's wrong side."
    return Table("By assigned side", columns, rows, note=note)


def judge_section(standings: Standings) -> Table:
    """What the judge did, over cross-play and over self-play, and over each player's self-play."""
    own = [item for items in standings.self_play.values() for item in items]
    groups = {"cross-play": list(standings.cross_play), "self-play": own}
    groups |= {f"self-play of {name}": list(standings.self_play.get(name, ())) for name in standings.order}
    note = f"Judge: {standings.judge}.{terms_note(standings)}"
    return judge_table("Judge", groups, standings.baselines, note)


def terms_note(standings: Standings) -> str:
    """Say what seat and right answer are worth in the ratings, with a blank before it; empty where nothing is known."""
    terms = []
    for name, term in (("seat A", standings.ratings.seat), ("the right answer", standings.ratings.right)):
        if term is not None:
            low, high = (
                format_number(end, "rating") if math.isinf(end) else f"{end:+.0f}" for end in (term.low, term.high)
            )
            terms.append(f"{name} is worth {term.elo:+.0f} Elo [{low}, {high}]")
    return f" In the ratings {'; '.join(terms)}." if terms else ""


def matrix_figure(standings: Standings) -> Figure:
    """Mean score of each player against each other one."""
    order = standings.order
    scores: dict[tuple[str, str], list[float]] = {}
    for one in standings.outcomes:
        scores.setdefault((one.player_a, one.player_b), []).append(one.score_a)
        scores.setdefault((one.player_b, one.player_a), []).append(1 - one.score_a)
    values = [[_mean(scores.get((row, column), ())) for column in order] for row in order]
    return heatmap(
        "Score of the row's player against the column's",
        rows=order,
        columns=order,
        values=values,
        note="Mean over debates and both orders; blank where two players have not met.",
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def elo_figure(standings: Standings) -> Figure:
    """Elo with intervals, best first."""
    estimates = [
        Dot(name, rating.elo, rating.low, rating.high, "" if rating.status == "ok" else rating.status)
        for name, rating in ((name, standings.ratings.players[name]) for name in standings.order)
    ]
    return dots("Elo", estimates, axis_title="Elo, 95 % interval")


def sections(standings: Standings, figures: Mapping[str, Figures], seconds: float) -> list[Section]:
    """All that the report's overview shows."""
    by_side = side_table(standings)
    tables = [ladder_table(standings), *([] if by_side is None else [by_side])]
    return [
        Section("Ladder", (*tables, elo_figure(standings), matrix_figure(standings))),
        Section("Judge", (judge_section(standings),)),
        Section("Cost", (cost_table(figures, seconds),)),
    ]
