"""What a judge room found: whose judgements are kept, what went wrong, and what every judge made of the debates."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from debate.judge_names import PEOPLE
from debate.metrics.accuracy import accuracy
from debate.metrics.raters import Judgement, Rater, Rules, rate_raters
from debate.record import Recorded
from debate.report import Column, Section, Table
from debate.report.table import Cell
from tournaments.judged import Judged as ByJudge
from tournaments.judged import by_judge, judged_metrics, sections, speaks
from tournaments.metrics import interval
from tournaments.room_config import RoomConfig
from tournaments.room_journal import Event, last_tags
from tournaments.room_tags import errors_metrics, errors_table, judged_by_people

ALL = "all people"
KEPT = "those kept"


def judgements_of(recorded: Iterable[Recorded]) -> list[Judgement]:
    """People's final judgements, without anything that says what is right."""
    found = []
    for item in recorded:
        if not speaks(item):
            continue  # nothing was said that an explanation could take up, nor that people could agree about
        question = item.debate.transcript.question
        said = "\n".join(turn.argument.plain() for turn in item.debate.transcript.turns)
        known = "\n".join((question.text, *question.answers))
        for verdict in item.verdicts:
            if verdict.round is None and verdict.probabilities is not None and verdict.judge.startswith(PEOPLE):
                share = verdict.probabilities[0]
                name = verdict.judge
                found.append(Judgement(name, item.debate.id, question.story_id, share, verdict.reasoning, said, known))
    return found


def raters_table(raters: Sequence[Rater], rules: Rules) -> Table:
    """Everybody who judged, and whose judgements are kept."""
    rows: list[list[Cell]] = [
        [
            rater.name.removeprefix(PEOPLE),
            rater.judgements,
            rater.overlap,
            rater.agreement,
            rater.distance,
            rater.words,
            rater.unique,
            rater.refers,
            "kept" if rater.kept else "; ".join(rater.reasons),
        ]
        for rater in raters
    ]
    columns = (
        Column("person"),
        Column("judgements", kind="count"),
        Column("shared", kind="count"),
        Column("agrees with others", kind="share"),
        Column("mean |Δp|", kind="number"),
        Column("words", kind="number"),
        Column("new", kind="share"),
        Column("takes up the debate", kind="share"),
        Column("judgements are"),
    )
    note = (
        "'Shared': debates that others judged too; 'agrees' and |Δp| are over those, robust by story. 'New': "
        "explanations that repeat no earlier one; 'takes up the debate': those with at least "
        f"{rules.shared} words of what was said. With fewer than {rules.judgements} judgements nobody is left out. "
        "The right answers have no part in this."
    )
    return Table("People", columns, rows, note=note)


def raters_metrics(raters: Sequence[Rater]) -> dict[str, object]:
    """The figures of ``raters_table`` as plain values."""
    return {
        rater.name: {
            "judgements": rater.judgements,
            "shared": rater.overlap,
            "agreement": interval(rater.agreement),
            "distance": rater.distance,
            "words": rater.words,
            "unique": rater.unique,
            "refers": rater.refers,
            "kept": rater.kept,
            "reasons": list(rater.reasons),
        }
        for rater in raters
    }


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """What a room found.

    Attributes:
        sections: Of the report.
        metrics: The same as plain values.
        judges: What each judge made of the debates.
    """

    sections: Sequence[Section]
    metrics: Mapping[str, object]
    judges: Sequence[ByJudge]

    @property
    def tables(self) -> list[Table]:
        """All tables, in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Table)]


def find(config: RoomConfig, recorded: Sequence[Recorded], events: Sequence[Event]) -> Findings:
    """Work out what a room found.

    Args:
        config: The room.
        recorded: Its debates with all verdicts, of people and of models.
        events: Its journal.

    Returns:
        Tables of people and errors, and those of every judge as ``rejudge`` shows them.
    """
    rules = config.rules.rules
    raters = rate_raters(judgements_of(recorded), rules)
    judged = judged_by_people(recorded)
    tags = list(last_tags(events).values())
    found = by_judge(recorded)
    groups = {
        ALL: _together(recorded, {rater.name for rater in raters}),
        KEPT: _together(recorded, {rater.name for rater in raters if rater.kept}),
    }
    judges = [ByJudge.of(name, items, config) for name, items in found.items()]
    soft = config.outcome == "soft"
    own = [
        Section("People", (raters_table(raters, rules), together_table(groups))),
        Section("Errors", (errors_table(judged, tags),)),
    ]
    return Findings(
        [*own, *(sections(judges, soft=soft) if judges else [])],
        {
            "people": raters_metrics(raters),
            "together": {name: _together_metrics(items) for name, items in groups.items()},
            "errors": errors_metrics(judged, tags),
            **(judged_metrics(judges, soft=soft) if judges else {}),
        },
        judges,
    )


def together_table(groups: Mapping[str, Sequence[Recorded]]) -> Table:
    """How often people are right, one by one and together.

    Args:
        groups: Debates with the judgements of some people, by what these are called.
    """
    rows: list[list[Cell]] = []
    for name, items in groups.items():
        found = accuracy(items)
        verdicts = [verdict for item in items for verdict in item.verdicts]
        people = len({verdict.judge for verdict in verdicts})
        rows.append([name, people, len(items), len(verdicts), found.single, found.combined])
    columns = (
        Column(""),
        Column("people", kind="count"),
        Column("debates", kind="count"),
        Column("judgements", kind="count"),
        Column("judgement right", kind="share"),
        Column("people together right", kind="share"),
    )
    note = (
        "'Together': by the mean of what a debate's people gave, an ensemble; where one person judged a debate it is "
        "that one. Intervals are 95 %, robust by story."
    )
    return Table("People together", columns, rows, note=note)


def _together_metrics(recorded: Sequence[Recorded]) -> dict[str, object]:
    """The figures of a row of ``together_table`` as plain values."""
    found = accuracy(recorded)
    return {
        "people": len({verdict.judge for item in recorded for verdict in item.verdicts}),
        "debates": len(recorded),
        "judgements": sum(len(item.verdicts) for item in recorded),
        "accuracy": interval(found.single),
        "accuracy_together": interval(found.combined),
    }


def _together(recorded: Iterable[Recorded], names: set[str]) -> list[Recorded]:
    """The debates that some people judged, with all their final verdicts."""
    found = []
    for item in recorded:
        own = tuple(one for one in item.verdicts if one.judge in names and one.round is None)
        if own and speaks(item):
            found.append(Recorded(item.debate, own))
    return found
