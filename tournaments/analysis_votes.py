"""Votes and ensembles: what is gained where several votes, judges or people are counted together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from debate.judge_names import is_person, person_of
from debate.metrics.accuracy import final_verdicts
from debate.metrics.beliefs import gold_probability
from debate.metrics.ensembles import RULES, Ballot, Ensemble, Rule, against, decide, ensemble, majority_of
from debate.metrics.votes import votes_of
from debate.record import Recorded
from debate.report import Column, Section, Table
from debate.report.table import Cell
from debate.verdict import Verdict, points
from tournaments.analysis_accuracy import ROBUST, judgings
from tournaments.gather import Gathered
from tournaments.judged import group_name, speaks
from tournaments.metrics import Values, interval

SIZES = (2, 3, 5)
"""Sizes of juries, beside that of all there are."""
VOTES = (1, 3, 5, 9, 15)
"""Numbers of votes of one judge, as far as there are so many."""
FEWEST = 10
"""Ensembles on fewer debates are in the JSON alone."""
_NAMES: Mapping[Rule, str] = {"majority": "majority", "confidence": "by confidence", "log_odds": "by log-odds"}
_BY_VOTE = " by vote of "


@dataclass(frozen=True, slots=True)
class Row:
    """One ensemble.

    Attributes:
        who: Who is counted.
        group: On what debates.
        found: What it gains.
    """

    who: str
    group: str
    found: Ensemble

    def values(self) -> Values:
        """Return it as plain values."""
        one = self.found
        return {
            "who": self.who,
            "group": self.group,
            "size": one.size,
            "rule": one.rule,
            "debates": one.debates,
            "stories": one.right.clusters,
            "accuracy_alone": interval(one.alone),
            "accuracy": interval(one.right),
            "gain": interval(one.gain),
            "fewer_errors": interval(one.fewer_errors),
        }


def vote_rows(gathered: Gathered) -> Iterator[Row]:
    """Majorities of a judge's votes, drawn from those that its verdicts count; each order is judged by itself."""
    for one in judgings(gathered):
        asked = votes_asked(gathered, one.judge)
        if asked < 2:
            continue
        for group, items in one.groups.items():
            ballots = list(_vote_ballots(items, asked))
            for size in (number for number in VOTES if number <= asked):
                found = majority_of(ballots, size)
                if found is not None:
                    yield Row(one.judge, group, found)


def votes_asked(gathered: Gathered, judge: str) -> int:
    """How many votes a judge is asked for, by its configuration; 0 where it does not decide by vote."""
    member = gathered.cast.judges.get(judge)
    if member is None or not (member.config.get("kind") == "vote" or _BY_VOTE in judge):
        return 0
    return int(member.config.get("votes") or 0)


def _vote_ballots(recorded: Sequence[Recorded], asked: int) -> Iterator[Ballot]:
    for item in recorded:
        question = item.debate.transcript.question
        for verdict in final_verdicts(item):
            if verdict.probabilities is not None and question.gold is not None:
                votes = votes_of(verdict.probabilities[question.gold], asked)
                if votes is not None:
                    yield Ballot(votes.points, question.story_id)


@dataclass(frozen=True, slots=True)
class Believed:
    """What everybody who judged a debate to its end makes of it.

    Attributes:
        item: The debate.
        people: Probability of the right answer by person.
        models: The same by judge that is no person, the mean of its orders.
    """

    item: Recorded
    people: Mapping[str, float]
    models: Mapping[str, float]

    @property
    def story(self) -> str:
        """The debate's story."""
        return self.item.debate.transcript.question.story_id


def believed(gathered: Gathered) -> list[Believed]:
    """Sort what judges believe of each debate; those on questions without a gold answer are left out."""
    found = []
    for item in gathered.recorded:
        if not speaks(item) or item.debate.transcript.question.gold is None:
            continue
        own: dict[tuple[bool, str], list[Verdict]] = {}
        for verdict in final_verdicts(item):
            person = verdict.judge == item.debate.tags.get("judge") or is_person(verdict.judge)
            # Somebody who judged a published debate twice, in stages and against the clock, counts once.
            name = person_of(verdict.judge) if person else verdict.judge
            known = own.setdefault((person, name), [])
            if not known or known[0].judge == verdict.judge:
                known.append(verdict)
        people: dict[str, float] = {}
        models: dict[str, float] = {}
        for (person, name), verdicts in own.items():
            chance = gold_probability(dataclasses.replace(item, verdicts=tuple(verdicts)))
            if chance is not None:
                (people if person else models)[name] = chance
        found.append(Believed(item, people, models))
    return found


def _by_group(found: Sequence[Believed]) -> dict[str, list[Believed]]:
    groups: dict[str, list[Believed]] = {}
    for one in found:
        groups.setdefault(group_name(one.item.debate), []).append(one)
    return dict(sorted(groups.items()))


def _juries(who: str, group: str, ballots: Sequence[Ballot]) -> Iterator[Row]:
    """Juries of every size that there are."""
    most = max((len(ballot.chances) for ballot in ballots), default=0)
    for size in (number for number in SIZES if number <= most):
        # Two that disagree are a tie by majority, so nothing is gained; and the surer of two wins by either other rule.
        for rule in RULES if size > 2 else ("confidence",):
            found = ensemble(ballots, rule, size)
            if found is not None:
                yield Row(who, group, found)


def people_rows(found: Sequence[Believed]) -> Iterator[Row]:
    """Juries of the people who judged one debate."""
    for group, members in _by_group(found).items():
        yield from _juries("people", group, [Ballot(tuple(one.people.values()), one.story) for one in members])


def model_rows(found: Sequence[Believed]) -> Iterator[Row]:
    """Juries of the judges that are no people, on the debates that all of them have judged."""
    names = {name for one in found for name in one.models}
    if len(names) < 2:
        return
    for group, members in _by_group([one for one in found if len(one.models) == len(names)]).items():
        ballots = [Ballot(tuple(one.models.values()), one.story) for one in members]
        yield from _juries(f"of {len(names)} judges", group, ballots)


def mixed_rows(found: Sequence[Believed]) -> Iterator[Row]:
    """People together with models, the mean of each, against either alone."""
    for group, members in _by_group([one for one in found if one.people and one.models]).items():
        stories = [one.story for one in members]
        pairs = [(fmean(one.people.values()), fmean(one.models.values())) for one in members]
        for rule in ("confidence", "log_odds"):
            together = [decide(pair, rule) for pair in pairs]
            for name, place in (("people", 0), ("models", 1)):
                alone = [points(pair[place]) for pair in pairs]
                yield Row(f"people and models, against {name}", group, against(alone, together, stories, rule, 2))


def question_rows(gathered: Gathered) -> Iterator[Row]:
    """Several debates on one question, such as repetitions, of one judge counted together."""
    for one in judgings(gathered):
        for group, items in one.groups.items():
            by_question: dict[str, list[Recorded]] = {}
            for item in items:
                by_question.setdefault(item.debate.transcript.question.id, []).append(item)
            ballots = [
                Ballot(chances, own[0].debate.transcript.question.story_id)
                for own in by_question.values()
                if len(chances := tuple(p for p in map(gold_probability, own) if p is not None)) > 1
            ]
            yield from _juries(one.judge, group, ballots)


def rows_table(title: str, what: str, rows: Sequence[Row], note: str) -> Table:
    """Ensembles, a row each."""
    cells: list[list[Cell]] = [
        [
            row.who,
            row.group,
            row.found.size,
            _NAMES[row.found.rule],
            row.found.debates,
            row.found.right.clusters,
            row.found.alone,
            row.found.right,
            row.found.gain,
            row.found.fewer_errors,
        ]
        for row in rows
    ]
    columns = (
        Column("who"),
        Column("debates"),
        Column("together", kind="count"),
        Column("counted"),
        Column(what, kind="count"),
        Column("stories", kind="count"),
        Column("one is right", kind="share"),
        Column("together right", kind="share"),
        Column("gain", kind="share"),
        Column("fewer errors", kind="share"),
    )
    return Table(title, columns, cells, note=f"{note} {ROBUST}")


def parts(gathered: Gathered) -> dict[str, list[Row]]:
    """All ensembles, by what is counted together."""
    found = believed(gathered)
    return {
        "votes": list(vote_rows(gathered)),
        "judges": list(model_rows(found)),
        "people": list(people_rows(found)),
        "people_and_models": list(mixed_rows(found)),
        "debates_on_one_question": list(question_rows(gathered)),
    }


_TITLES = {
    "votes": ("Votes of one judge", "verdicts"),
    "judges": ("Juries of judges", "debates"),
    "people": ("Juries of people", "debates"),
    "people_and_models": ("People and models together", "debates"),
    "debates_on_one_question": ("Several debates on one question", "questions"),
}
_COUNTED = (
    "'One is right': one of them, drawn at random; 'gain' and 'fewer errors' are against it, on the same debates. "
    "'Majority': each names an answer, a tie is half right; 'by confidence': the higher mean probability wins; 'by "
    "log-odds': they are added up."
)
_NOTES = {
    "votes": "Drawn without replacement from the votes that verdicts count; each order of the answers by itself. "
    "'One is right': one vote; 'gain' and 'fewer errors' are against it.",
    "judges": "On the debates that all of them have judged; a judge's probability is the mean of its orders. "
    f"{_COUNTED}",
    "people": f"People who judged one debate to its end, live or afterwards. {_COUNTED}",
    "people_and_models": "The mean probability of the people who judged a debate and that of the models, counted "
    "together, against either alone.",
    "debates_on_one_question": "Debates of one kind on one question, whoever spoke, before one judge (of published "
    f"debates, whoever judged). {_COUNTED}",
}


def sections(gathered: Gathered) -> list[Section]:
    """Show what ensembles gain.

    Args:
        gathered: The debates.

    Returns:
        One section, a table for each kind of ensemble that there is; none where there is none.
    """
    tables = [
        rows_table(
            _TITLES[name][0], _TITLES[name][1], [row for row in rows if row.found.debates >= FEWEST], _NOTES[name]
        )
        for name, rows in parts(gathered).items()
        if any(row.found.debates >= FEWEST for row in rows)
    ]
    return [Section("Votes and ensembles", tables)] if tables else []


def values(gathered: Gathered) -> Values:
    """Return what ``sections`` shows, as plain values.

    Args:
        gathered: The debates.

    Returns:
        By what is counted together: a row for each ensemble.
    """
    return {name: [row.values() for row in rows] for name, rows in parts(gathered).items()}
