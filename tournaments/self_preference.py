"""Self-preference: whether a judge favours players whose model is of its own family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from debate.metrics.accuracy import final_verdicts
from debate.metrics.intervals import Interval, cluster_mean, mean_gap
from debate.record import Recorded
from debate.report import Column, Table
from debate.report.table import Cell
from debate.verdict import points
from tournaments.analysis_accuracy import ROBUST, judgings
from tournaments.families import family_of
from tournaments.gather import Gathered


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """Whether a judge favours players of its own family.

    Attributes:
        family: The family.
        chosen: How often it chooses the player of its family, in debates with one such player of two.
        others: How often judges of other families choose the same player in the same debates; None without any.
        excess: The difference, debate by debate.
        debates: With both kinds of judges.
    """

    family: str
    chosen: Interval
    others: Interval | None
    excess: Interval | None
    debates: int


def self_preferences(gathered: Gathered) -> dict[str, SelfPreference]:
    """Measure every judge whose family some player is of, where it meets one of another family."""
    families = {name: family_of(member) for name, member in gathered.cast.players.items()}
    makes = {one.judge: family_of(gathered.cast.judges.get(one.judge)) for one in judgings(gathered)}
    shares = {one.judge: _by_debate(one.spoken) for one in judgings(gathered)}
    found = {}
    for judge, family in makes.items():
        own = {
            item.debate.id: side
            for item in gathered.recorded
            if (side := _own_side(item, family, families)) is not None
        }
        mine = [(name, _share(shares[judge][name], own[name])) for name in shares[judge] if name in own]
        if family is None or not mine:
            continue
        stories = {item.debate.id: item.debate.transcript.question.story_id for item in gathered.recorded}
        rivals = [shares[other] for other, make in makes.items() if make != family]
        both = [
            (name, share, fmean(_share(rival[name], own[name]) for rival in rivals if name in rival))
            for name, share in mine
            if any(name in rival for rival in rivals)
        ]
        labels = [stories[name] for name, *_ in both]
        found[judge] = SelfPreference(
            family,
            cluster_mean([share for _, share in mine], [stories[name] for name, _ in mine], bounds=(0, 1)),
            cluster_mean([other for *_, other in both], labels, bounds=(0, 1)) if both else None,
            mean_gap([share - other for _, share, other in both], labels) if both else None,
            len(both),
        )
    return found


def _own_side(item: Recorded, family: str | None, families: Mapping[str, str | None]) -> int | None:
    """The answer that the one player of a family defends, where the other player is of another."""
    first, second = item.debate.players
    if family is None or first is None or second is None:
        return None
    same = [families.get(name) == family for name in (first, second)]
    return same.index(True) if sum(same) == 1 else None


def _by_debate(recorded: Sequence[Recorded]) -> dict[str, float]:
    """Mean points for answer 0 of a judge's final verdicts, by debate."""
    found = {}
    for item in recorded:
        known = [points(one.probabilities[0]) for one in final_verdicts(item) if one.probabilities is not None]
        if known:
            found[item.debate.id] = fmean(known)
    return found


def _share(for_first: float, answer: int) -> float:
    return for_first if answer == 0 else 1 - for_first


def preference_table(found: Mapping[str, SelfPreference]) -> Table:
    """Whether judges favour their own family, a row each."""
    rows: list[list[Cell]] = [
        [judge, one.family, one.chosen.n, one.chosen, one.debates, one.others, one.excess]
        for judge, one in found.items()
    ]
    columns = (
        Column("judge"),
        Column("family"),
        Column("debates", kind="count"),
        Column("chooses its own", kind="share"),
        Column("judged by others too", kind="count"),
        Column("others choose it", kind="share"),
        Column("more than others", kind="share"),
    )
    note = (
        "Debates between a player of the judge's family (by the model's name) and one of another. 'More than others': "
        "against judges of other families on the same debates, so a player's strength is no preference; without such "
        f"judges the two cannot be told apart. {ROBUST}"
    )
    return Table("Self-preference", columns, rows, note=note)
