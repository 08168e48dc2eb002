"""How judges change their minds as a debate goes on, and what the published debates would have paid them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from debate.judge_names import PUBLISHED, is_offline
from debate.metrics.accuracy import final_verdicts
from debate.metrics.intervals import Interval, cluster_mean
from debate.metrics.judge_reward import ROUND_COST, UNHEARD, judge_reward, rounds_heard
from debate.record import Recorded
from debate.report import Column, Section, Table
from debate.report.table import Cell
from debate.verdict import points
from tournaments.analysis_accuracy import ROBUST, Cut, Judging, bounded, cut_table, cuts, judgings, without_empty
from tournaments.comparison import mean_gap
from tournaments.gather import Gathered
from tournaments.judged import group_name, speaks
from tournaments.metrics import Values, interval

LONG = 6
_SHARE = (0.0, 1.0)
_FEW = 0.1  # of the debates of a protocol; where fewer go on, a row by round is no longer read


class Belief(NamedTuple):
    """What a judge held at one time of a debate, the mean of the orders that it was asked in.

    Attributes:
        right: Share of its verdicts that are right, a tie half.
        gold: Probability that it gave to the right answer.
    """

    right: float
    gold: float


class Course(NamedTuple):
    """One debate as a judge followed it.

    Attributes:
        story: What it is about.
        beliefs: By the number of rounds heard; the last is the final verdict.
    """

    story: str
    beliefs: Mapping[int, Belief]

    def by(self, rounds: int) -> Belief | None:
        """The last belief after so many rounds or fewer: the final one where the debate had ended by then."""
        heard = [number for number in self.beliefs if number <= rounds]
        return self.beliefs[max(heard)] if heard else None


class RoundFigures(NamedTuple):
    """A judge after so many rounds of the debates of one protocol.

    Attributes:
        rounds: How many were heard.
        given: Verdicts given just then, of debates that went so far: fewer and harder ones as rounds go on.
        right_given: How often those are right.
        debates: All debates that were followed by then, those that had ended with their final verdict.
        right: How often the judge is right on them.
        gold: Mean probability of the right answer on them.
        change: By how much more often than at the first judgement of the same debates; None for that one.
    """

    rounds: int
    given: int
    right_given: Interval | None
    debates: int
    right: Interval
    gold: Interval
    change: Interval | None


def courses(gathered: Gathered) -> dict[tuple[str, str], list[Course]]:
    """Follow every judge through the debates of every protocol.

    Args:
        gathered: The debates; verdicts of people who judged afterwards are left out, as in every table.

    Returns:
        By judge and protocol, those in which the judge gave verdicts before the end and at the end.
    """
    found: dict[tuple[str, str], list[Course]] = {}
    for item in gathered.recorded:
        gold = item.debate.transcript.question.gold
        if gold is None or not speaks(item) or item.debate.failed is not None:
            continue
        live, whole = item.debate.tags.get("judge"), rounds_heard(item.debate)
        given: dict[str, dict[int, list[float]]] = {}
        for verdict in item.verdicts:
            if verdict.probabilities is None or is_offline(verdict.judge):
                continue
            if verdict.round is not None and verdict.round >= whole:
                continue  # what it held of the whole is its final verdict
            judge = PUBLISHED if verdict.judge == live else verdict.judge
            heard = whole if verdict.round is None else verdict.round
            given.setdefault(judge, {}).setdefault(heard, []).append(verdict.probabilities[gold])
        # Who handed a published debate over to another judge gave no verdict in the end.
        ended = {PUBLISHED if one.judge == live else one.judge for one in item.verdicts if one.round is None}
        for judge, by_round in given.items():
            if len(by_round) > 1 and judge in ended:
                beliefs = {heard: Belief(fmean(map(points, known)), fmean(known)) for heard, known in by_round.items()}
                course = Course(item.debate.transcript.question.story_id, beliefs)
                found.setdefault((judge, group_name(item.debate)), []).append(course)
    return dict(sorted(found.items()))


def round_figures(followed: Sequence[Course]) -> list[RoundFigures]:
    """Sum up one judge by round.

    Args:
        followed: At least one debate.

    Returns:
        A row for each number of rounds after which it gave a verdict.
    """
    numbers = sorted({number for course in followed for number in course.beliefs})
    start = [course.beliefs[min(course.beliefs)] for course in followed]
    found = []
    for number in numbers:
        given = [(one.beliefs[number].right, one.story) for one in followed if number in one.beliefs]
        known = [(now, first, one.story) for one, first in zip(followed, start, strict=True) if (now := one.by(number))]
        stories = [story for _, _, story in known]
        found.append(
            RoundFigures(
                number,
                len(given),
                cluster_mean([right for right, _ in given], [story for _, story in given], bounds=_SHARE),
                len(known),
                cluster_mean([now.right for now, _, _ in known], stories, bounds=_SHARE),
                cluster_mean([now.gold for now, _, _ in known], stories, bounds=_SHARE),
                None
                if number == numbers[0]
                else mean_gap([now.right - first.right for now, first, _ in known], stories),
            )
        )
    return found


def by_length(item: Recorded) -> Iterator[tuple[str, Recorded]]:
    """Name how many rounds a debate had; very long ones are one group."""
    rounds = rounds_heard(item.debate)
    yield f"{rounds} round{'' if rounds == 1 else 's'}" if rounds <= LONG else f"over {LONG} rounds", item


class RewardFigures(NamedTuple):
    """What judging paid, in bits.

    Attributes:
        debates: Verdicts that count: one a debate and order.
        rounds: Mean rounds heard.
        score: Mean log2 of the probability of the right answer.
        reward: Mean reward.
    """

    debates: int
    rounds: Interval
    score: Interval
    reward: Interval


def reward_figures(recorded: Iterable[Recorded]) -> RewardFigures | None:
    """Sum up what some debates would have paid their judge.

    Args:
        recorded: Debates with one judge's verdicts.

    Returns:
        The figures, over final verdicts; None where there is none on a question with a gold answer.
    """
    rows = [
        (verdict.probabilities[question.gold], rounds_heard(item.debate), question.story_id)
        for item in recorded
        for question in [item.debate.transcript.question]
        if question.gold is not None
        for verdict in final_verdicts(item)
        if verdict.probabilities is not None
    ]
    if not rows:
        return None
    stories = [story for _, _, story in rows]
    free = (-math.inf, math.inf)
    return RewardFigures(
        len(rows),
        cluster_mean([float(rounds) for _, rounds, _ in rows], stories, bounds=(0.0, math.inf)),
        cluster_mean([judge_reward(share, 0) for share, _, _ in rows], stories, bounds=free),
        cluster_mean([judge_reward(share, rounds) for share, rounds, _ in rows], stories, bounds=free),
    )


def sections(gathered: Gathered) -> list[Section]:
    """Show judges by round, and what judging paid.

    Args:
        gathered: The debates.

    Returns:
        One section; none where no judge has a verdict on a debate.
    """
    found = judgings(gathered)
    tables = [round_table(courses(gathered)), cut_table("Judge right, by length", "length", by_length_of(found))]
    tables.append(reward_table(found))
    shown = [without_empty(table) for table in tables if table.rows]
    return [Section("Rounds", shown)] if shown else []


def by_length_of(found: Iterable[Judging]) -> Iterator[Cut]:
    """Cut every judge's debates up by their number of rounds, where there are several."""
    return cuts(found, by_length)


def round_table(followed: Mapping[tuple[str, str], Sequence[Course]]) -> Table:
    """Judges by the number of rounds that they had heard."""
    rows: list[list[Cell]] = [
        [
            judge,
            group,
            one.rounds,
            one.given,
            one.right_given,
            one.debates,
            one.right,
            one.gold,
            one.change,
        ]
        for (judge, group), own in followed.items()
        for one in round_figures(own)
        if one.given >= _FEW * len(own)
    ]
    columns = (
        Column("judge"),
        Column("debates"),
        Column("rounds heard", kind="count"),
        Column("verdicts", kind="count"),
        Column("right", kind="share"),
        Column("all debates", kind="count"),
        Column("right by then", kind="share"),
        Column("p(right answer)", kind="number"),
        Column("change", kind="share"),
    )
    note = (
        "'Verdicts', 'right': those given after just so many rounds. Where the judge chooses when to stop, few and "
        "hard debates are left in the end, so read the columns after them: all debates, those that had ended by then "
        "with their final verdict. 'Change': by how much more often the judge is right than at its first judgement of "
        f"the same debates. Rounds that fewer than a tenth of the debates had are in the JSON alone. {ROBUST}"
    )
    return Table("Judge right, by rounds heard", columns, rows, note=note)


def reward_table(found: Iterable[Judging]) -> Table:
    """What judging would have paid, by judge and protocol."""
    rows: list[list[Cell]] = []
    for one in found:
        for name, items in one.groups.items():
            paid = reward_figures(items)
            if paid is not None:
                rows.append(
                    [one.judge, name, paid.debates, bounded(paid.rounds), bounded(paid.score), bounded(paid.reward)]
                )
    columns = (
        Column("judge"),
        Column("debates"),
        Column("verdicts", kind="count"),
        Column("rounds heard", kind="number"),
        Column("log2 p(right)", kind="number"),
        Column("reward", kind="number"),
    )
    note = (
        f"Reward: log2 of the probability of the right answer, less {ROUND_COST} bits a round, as the published human "
        f"debates paid it; to say one half without a round pays {UNHEARD:.0f}. {ROBUST}"
    )
    return Table("Judge's reward", columns, rows, note=note)


def values(gathered: Gathered) -> Values:
    """Return what ``sections`` shows, as plain values."""
    found = judgings(gathered)
    by_round: dict[str, dict[str, object]] = {}
    for (judge, group), own in courses(gathered).items():
        by_round.setdefault(judge, {})[group] = [_round_values(one) for one in round_figures(own)]
    rewards: dict[str, dict[str, object]] = {}
    for one in found:
        for name, items in one.groups.items():
            paid = reward_figures(items)
            if paid is not None:
                rewards.setdefault(one.judge, {})[name] = {
                    "verdicts": paid.debates,
                    "rounds": interval(paid.rounds),
                    "log2_score": interval(paid.score),
                    "reward": interval(paid.reward),
                }
    return {"by_round": by_round, "reward": rewards}


def _round_values(one: RoundFigures) -> Values:
    return {
        "rounds": one.rounds,
        "verdicts": one.given,
        "accuracy_given": interval(one.right_given),
        "debates": one.debates,
        "accuracy": interval(one.right),
        "probability": interval(one.gold),
        "change": interval(one.change),
    }
