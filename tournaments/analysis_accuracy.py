"""How often judges are right: by protocol, by who judged and who spoke, by assigned side and by type of question."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from debate.judge_names import PUBLISHED
from debate.metrics.accuracy import accuracy, final_verdicts, unparsed_share
from debate.metrics.intervals import Interval
from debate.metrics.win_rate import WinRate, consultant_win_rate
from debate.protocols.baselines import BASELINES
from debate.record import Recorded
from debate.report import Column, Dot, Figure, Section, Table, dots
from debate.report.table import Cell
from tournaments.gather import Gathered
from tournaments.judged import by_judge, group_name, groups_of, speaks
from tournaments.metrics import Values, gap_figure, interval, judge_figures, rate_figures
from tournaments.tables import few_note, gap_of

MANY = 10
"""Rows of players or of people, for one judge and protocol, beyond which a table is no longer read."""
ROBUST = "Intervals are 95 %, robust by story; fewer than 10 stories are too few to trust one."
_ASKING = re.compile(r"\b(what|who|whom|whose|when|where|why|how|which)\b", re.IGNORECASE)
_SAME = {"whom": "who", "whose": "who"}


class Judging(NamedTuple):
    """One judge's final verdicts.

    Attributes:
        judge: Its name.
        spoken: The debates in which somebody speaks.
        baselines: By name, the questions that it decided without a debate.
    """

    judge: str
    spoken: Sequence[Recorded]
    baselines: dict[str, list[Recorded]]

    @property
    def groups(self) -> dict[str, list[Recorded]]:
        """The debates by protocol, in the order of their names."""
        found: dict[str, list[Recorded]] = {}
        for item in self.spoken:
            found.setdefault(group_name(item.debate), []).append(item)
        return dict(sorted(found.items()))


def judgings(gathered: Gathered) -> list[Judging]:
    """Sort final verdicts by judge; people who judged published debates as they went are one, see ``by_judge``."""
    found = []
    for judge, items in by_judge(gathered.recorded).items():
        baselines: dict[str, list[Recorded]] = {
            name: own for name in BASELINES if (own := [item for item in items if item.debate.protocol == name])
        }
        found.append(Judging(judge, [item for item in items if speaks(item)], baselines))
    return found


class Cut(NamedTuple):
    """A part of one judge's verdicts on debates of one protocol."""

    judge: str
    group: str
    label: str
    recorded: list[Recorded]

    @property
    def stories(self) -> int:
        """How many stories it rests on."""
        return len({item.debate.transcript.question.story_id for item in self.recorded if final_verdicts(item)})


#: Names the parts that a debate belongs to, each with the verdicts that count there.
Labels = Callable[[Recorded], Iterable[tuple[str, Recorded]]]


def cuts(found: Iterable[Judging], labels: Labels) -> Iterator[Cut]:
    """Cut every judge's verdicts up, protocol by protocol; one that has a single part is left out.

    Args:
        found: The verdicts.
        labels: Names the parts.

    Yields:
        The parts, in the order of their names.
    """
    for one in found:
        for group, items in one.groups.items():
            parts: dict[str, list[Recorded]] = {}
            for item in items:
                for label, kept in labels(item):
                    parts.setdefault(label, []).append(kept)
            if len(parts) > 1:
                for label in sorted(parts):
                    yield Cut(one.judge, group, label, parts[label])


def by_assignment(item: Recorded) -> Iterator[tuple[str, Recorded]]:
    """Name what a consultant was assigned."""
    gold = item.debate.transcript.question.gold
    named = [answer for answer, player in enumerate(item.debate.players) if player is not None]
    if gold is not None and len(named) == 1:
        yield f"consultant assigned the {'right' if named[0] == gold else 'wrong'} answer", item


def by_turn(item: Recorded) -> Iterator[tuple[str, Recorded]]:
    """Name who spoke first, where one side heard the other before it spoke."""
    transcript = item.debate.transcript
    gold = transcript.question.gold
    speakers = [turn.answer for turn in transcript.turns if turn.answer is not None]
    if gold is not None and transcript.spoken_order and len(set(speakers)) > 1:
        yield f"right side spoke {'first' if speakers[0] == gold else 'second'}", item


SIDES: tuple[Labels, ...] = (by_assignment, by_turn)


def side_cuts(found: Sequence[Judging]) -> Iterator[Cut]:
    """Cut every judge's verdicts up by assigned side and who spoke first; the order shown is ``analysis_biases``'s."""
    return (cut for labels in SIDES for cut in cuts(found, labels))


def by_difficulty(item: Recorded) -> Iterator[tuple[str, Recorded]]:
    """Name a question's difficulty, where its source marks it."""
    hard = item.debate.transcript.question.hard
    if hard is not None:
        yield "hard" if hard else "not hard", item


def by_word(item: Recorded) -> Iterator[tuple[str, Recorded]]:
    """Name the word that a question asks with, the first such word in it."""
    found = _ASKING.search(item.debate.transcript.question.text)
    word = "other" if found is None else found[1].lower()
    yield _SAME.get(word, word), item


def by_data(item: Recorded) -> Iterator[tuple[str, Recorded]]:
    """Name the kind of source that a question was first loaded from."""
    yield item.debate.transcript.question.source.partition(":")[0] or "unknown", item


#: Types of questions, by what they are told by.
TYPES: dict[str, Labels] = {
    "difficulty": by_difficulty,
    "question word": by_word,
    "questions from": by_data,
}


def by_person(item: Recorded) -> Iterator[tuple[str, Recorded]]:
    """Name the person who judged a published debate as it went."""
    live = item.debate.tags.get("judge")
    if live is not None:
        yield live, item


def _people(found: Iterable[Judging]) -> list[Cut]:
    return list(cuts((one for one in found if one.judge == PUBLISHED), by_person))


def _by_player(item: Recorded) -> Iterator[tuple[str, Recorded]]:
    for player in dict.fromkeys(item.debate.players):
        if player is not None:
            yield player, item


def player_rate(recorded: Iterable[Recorded], player: str) -> WinRate | None:
    """Measure how often judges choose a player's answer, against others or alone.

    Args:
        recorded: Debates with one judge's verdicts; those against itself say nothing and are left out.
        player: The player.

    Returns:
        As for a consultant: over both assignments with equal weight, and for each; None where one has no verdict.
    """
    alone = []
    for item in recorded:
        first, second = (name if name == player else None for name in item.debate.players)
        if (first is None) != (second is None):
            alone.append(Recorded(dataclasses.replace(item.debate, players=(first, second)), item.verdicts))
    return consultant_win_rate(alone)


def sections(gathered: Gathered) -> list[Section]:
    """Show how often judges are right.

    Args:
        gathered: The debates.

    Returns:
        One section; none where no judge has a final verdict.
    """
    found = judgings(gathered)
    if not found:
        return []
    types = [(f"Judge right, by type of question: {name}", name, labels) for name, labels in TYPES.items()]
    tables = [
        protocol_table(found),
        player_table(found),
        _busiest(cut_table("Judge right, by person", "person", _people(found))),
        cut_table("Judge right, by side", "side", side_cuts(found)),
        *(cut_table(title, name, cuts(found, labels)) for title, name, labels in types),
    ]
    return [Section("Accuracy", (*(without_empty(table) for table in tables if table.rows), protocol_figure(found)))]


def protocol_table(found: Sequence[Judging]) -> Table:
    """Every judge's accuracy by protocol, and on questions without a debate."""
    rows: list[list[Cell]] = []
    for one in found:
        groups = groups_of(one.spoken)
        for name, items in {**groups, **{f"{name}, no debate": own for name, own in one.baselines.items()}}.items():
            right, rate = accuracy(items), consultant_win_rate(items)
            both = any(len(final_verdicts(item)) > 1 for item in items)
            rows.append(
                [
                    one.judge,
                    name,
                    len(items),
                    Cut(one.judge, name, "", items).stories,
                    right.single,
                    right.combined if both else None,
                    gap_of(items, one.baselines) if name in groups else None,
                    None if rate is None else rate.both,
                    unparsed_share(items),
                ]
            )
    columns = (
        Column("judge"),
        Column("debates"),
        Column("n", kind="count"),
        Column("stories", kind="count"),
        Column("judge right", kind="share"),
        Column("orders combined", kind="share"),
        Column("PGR", kind="share"),
        Column("consultant wins", kind="share"),
        Column("unparsed", kind="share"),
    )
    told = {
        5: "'Orders combined': by the mean of a debate's two orders, an ensemble of two. ",
        6: "'PGR': the share of the gap between the same judge without a debate (blind) and with the story (expert) "
        "that is recovered. ",
        7: "'Consultant wins': how often its answer is chosen, the mean over being assigned the right and the wrong "
        "one. ",
    }
    note = "'Judge right': single verdicts, a tie half right, unparsed ones left out. "
    note += "".join(text for at, text in told.items() if any(row[at] is not None for row in rows)) + ROBUST
    few = few_note(item for one in found for item in one.spoken)
    return Table("Judge right, by protocol", columns, rows, note=note + few)


def protocol_figure(found: Sequence[Judging]) -> Figure:
    """The accuracies of the table, as dots with error bars."""
    estimates = []
    for one in found:
        for name, items in {**groups_of(one.spoken), **one.baselines}.items():
            right = accuracy(items).single
            label = name if len(found) == 1 else f"{one.judge}: {name}"
            estimates.append(Dot(label, *((None,) if right is None else (right.value, right.low, right.high))))
    return dots("Judge right, by protocol", estimates, kind="share", axis_title="judge right, 95 % interval")


def player_table(found: Sequence[Judging]) -> Table:
    """How often judges are right, and how often they choose a player's answer, by player."""
    rows: list[list[Cell]] = []
    for cut in cuts(found, _by_player):
        rate = player_rate(cut.recorded, cut.label)
        rows.append(
            [
                cut.judge,
                cut.group,
                cut.label,
                len(cut.recorded),
                cut.stories,
                accuracy(cut.recorded).single,
                *((None,) * 3 if rate is None else (rate.both, rate.right, rate.wrong)),
            ]
        )
    columns = (
        Column("judge"),
        Column("debates"),
        Column("player"),
        Column("n", kind="count"),
        Column("stories", kind="count"),
        Column("judge right", kind="share"),
        Column("player wins", kind="share"),
        Column("when right", kind="share"),
        Column("when wrong", kind="share"),
    )
    note = (
        "'Player wins': how often its answer is chosen, the mean over being assigned the right and the wrong one; not "
        f"known of who was assigned one alone or speaks against itself. {ROBUST}"
    )
    return _busiest(Table("Judge right, by player", columns, rows, note=note))


def cut_table(title: str, what: str, parts: Iterable[Cut]) -> Table:
    """Accuracy by some part.

    Args:
        title: The table's.
        what: What the parts are called.
        parts: The parts.

    Returns:
        A row for each part, none where there are none.
    """
    rows: list[list[Cell]] = [
        [one.judge, one.group, one.label, len(one.recorded), one.stories, accuracy(one.recorded).single]
        for one in parts
    ]
    columns = (
        Column("judge"),
        Column("debates"),
        Column(what),
        Column("n", kind="count"),
        Column("stories", kind="count"),
        Column("judge right", kind="share"),
    )
    return Table(title, columns, rows, note=ROBUST)


def without_empty(table: Table) -> Table:
    """Leave out the columns in which no row has anything."""
    kept = [at for at in range(len(table.columns)) if any(row[at] is not None for row in table.rows)]
    columns = [table.columns[at] for at in kept]
    return dataclasses.replace(table, columns=columns, rows=[[row[at] for at in kept] for row in table.rows])


def bounded(found: Interval | None) -> Cell:
    """Show a mean without an interval where the data put no bound to it, as where every value is the same."""
    return found.value if found is not None and math.isinf(found.high) else found


def _busiest(table: Table) -> Table:
    """Keep the rows with most debates for each judge and protocol, where there are too many to be read."""
    kept: list[Sequence[Cell]] = []
    seen: Counter[tuple[Cell, Cell]] = Counter()
    for row in sorted(table.rows, key=lambda row: (str(row[0]), str(row[1]), -int(str(row[3])), str(row[2]))):
        seen[row[0], row[1]] += 1
        if seen[row[0], row[1]] <= MANY:
            kept.append(row)
    left = len(table.rows) - len(kept)
    more = f" {left} more with fewer debates are in the JSON." if left else ""
    return dataclasses.replace(table, rows=kept, note=table.note + more)


def values(gathered: Gathered) -> Values:
    """Return what ``sections`` shows, as plain values.

    Args:
        gathered: The debates.

    Returns:
        By judge: protocols, baselines, players, people, sides, and types of questions.
    """
    found = judgings(gathered)
    return {one.judge: _judge_values(one) for one in found}


def _judge_values(one: Judging) -> Values:
    players: dict[str, dict[str, object]] = {}
    for cut in cuts([one], _by_player):
        rate = rate_figures(player_rate(cut.recorded, cut.label))
        players.setdefault(cut.group, {})[cut.label] = {**_cut_values(cut), **rate}
    return {
        "protocols": {
            name: {
                **judge_figures(items),
                **gap_figure(items, one.baselines),
                **rate_figures(consultant_win_rate(items)),
            }
            for name, items in groups_of(one.spoken).items()
        },
        "baselines": {name: judge_figures(items) for name, items in one.baselines.items()},
        "players": players,
        "people": _nested(_people([one])),
        "sides": _nested(side_cuts([one])),
        "types": {name: _nested(cuts([one], labels)) for name, labels in TYPES.items()},
    }


def _nested(parts: Iterable[Cut]) -> Values:
    found: dict[str, dict[str, object]] = {}
    for cut in parts:
        found.setdefault(cut.group, {})[cut.label] = _cut_values(cut)
    return dict(found)


def _cut_values(cut: Cut) -> Values:
    return {
        "debates": len(cut.recorded),
        "stories": cut.stories,
        "accuracy": interval(accuracy(cut.recorded).single),
    }
