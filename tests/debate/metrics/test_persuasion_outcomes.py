"""Figures of persuasion, against values worked out by hand."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest

from debate.errors import SourceError
from debate.metrics.intervals import cluster_mean
from debate.metrics.persuasion import Key, Outcome, Pair, PairFigures, measure
from debate.protocols.persuasion import SCENARIOS, Scenario, Stop

PAIR = Pair("p", "d")
WON, LOST = Stop.CONVINCED, Stop.ROUNDS


def outcome(claim: str, repetition: int, scenario: Scenario, stop: Stop, rounds: int = 4, **more: object) -> Outcome:
    return Outcome(claim, "p", "d", scenario, repetition, rounds, stop, **more)  # type: ignore[arg-type]


def outcomes(scenario: Scenario, rows: dict[str, str], rounds: int = 4) -> list[Outcome]:
    """One row a claim: ``+`` convinced, ``-`` not, ``?`` unread, a blank where there is no debate."""
    stops = {"+": WON, "-": LOST, "?": Stop.UNREAD}
    return [
        outcome(claim, repetition, scenario, stops[mark], rounds)
        for claim, marks in rows.items()
        for repetition, mark in enumerate(marks)
        if mark != " "
    ]


def only(found: list[Outcome]) -> PairFigures:
    figures = measure(found)
    assert list(figures) == [PAIR]
    return figures[PAIR]


def test_success_counts_every_claim_and_repetition() -> None:
    rows = {"a": "+++", "b": "+--", "c": "--?", "d": "+ -"}
    found = only(outcomes("none", rows)).scenarios["none"]
    assert found.success.value == pytest.approx(5 / 12)
    assert found.success_read is not None
    assert found.success_read.value == pytest.approx(5 / 10)
    assert found.per_repetition == pytest.approx((3 / 4, 1 / 4, 1 / 4))
    assert found.variance == pytest.approx(statistics.variance([3 / 4, 1 / 4, 1 / 4]))
    assert [one.value for one in found.by_successes] == pytest.approx([1 / 4, 1 / 2, 0, 1 / 4])
    assert (found.planned, found.missing, found.stops) == (12, 1, {WON: 5, LOST: 5, Stop.UNREAD: 1})
    each = cluster_mean([1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0], [*"aaabbbcccddd"])
    assert (found.success.low, found.success.high) == (each.low, each.high)
    assert found.success.clusters == 4


def test_a_claim_of_which_every_debate_failed_is_missing_and_no_success() -> None:
    planned = [Key(claim, repetition) for claim in "abc" for repetition in range(2)]
    found = measure(outcomes("none", {"a": "++", "b": "--"}), planned)[PAIR].scenarios["none"]
    assert found.success.value == pytest.approx(2 / 6)
    assert (found.planned, found.missing, found.success.clusters) == (6, 2, 3)
    assert [one.value for one in found.by_successes] == pytest.approx([2 / 3, 0, 1 / 3])


def test_one_repetition_has_no_variance() -> None:
    found = only(outcomes("none", {"a": "+", "b": "-"})).scenarios["none"]
    assert found.variance is None
    assert [one.value for one in found.by_successes] == [0.5, 0.5]


def test_rounds() -> None:
    found = only(
        [
            outcome("a", 0, "none", WON, 1),
            outcome("b", 0, "none", WON, 3),
            outcome("c", 0, "none", LOST, 4),
            outcome("d", 0, "none", WON, 3),
        ]
    ).scenarios["none"]
    assert [one.value for one in found.by_round] == [0.25, 0.25, 0.75, 0.75]
    assert found.rounds_to_conviction is not None
    assert found.rounds_to_conviction.value == pytest.approx(7 / 3)
    nobody = only(outcomes("none", {"a": "-"})).scenarios["none"]
    assert nobody.rounds_to_conviction is None


def test_a_change_of_opinion_is_of_debates_of_more_than_two_rounds_in_all_scenarios() -> None:
    found = only(
        [
            outcome("a", 0, "none", WON, 1),
            outcome("a", 0, "fallacy", WON, 2),
            outcome("a", 0, "logical", WON, 3),
            outcome("b", 0, "none", LOST, 3),
            outcome("b", 0, "fallacy", Stop.PLEASANTRIES, 5),
            outcome("b", 0, "logical", Stop.UNREAD, 9),
        ]
    )
    assert found.changed_of == (1, 3)
    assert found.changed is not None
    assert found.changed.value == pytest.approx(1 / 3)
    assert only(outcomes("none", {"a": "+"}, rounds=2)).changed is None


def test_the_ablation_pairs_claim_and_repetition() -> None:
    fallacy = outcomes("fallacy", {"a": "++-", "b": "-+?", "c": "+ -"})
    logical = outcomes("logical", {"a": "-+-", "b": "+--", "c": "++ "})
    found = only([*fallacy, *logical]).ablation
    assert found is not None
    # a: only fallacy, both, neither; b: only logical, only fallacy, unread; c: both, none, none.
    assert found.pairs == 6
    assert (found.fallacy_only.value, found.logical_only.value) == pytest.approx((2 / 6, 1 / 6))
    assert only(fallacy).ablation is None
    assert only(fallacy).susceptibility == {}


def test_relative_susceptibility() -> None:
    fallacy = {"a": "+++", "b": "++-", "c": "+--", "d": "---"}
    logical = {"a": "+--", "b": "+--", "c": "+--", "d": "---"}
    found = only([*outcomes("fallacy", fallacy), *outcomes("logical", logical)]).susceptibility["logical"]
    assert found.value == pytest.approx(6 / 3 - 1)
    # By hand: log 2, and per claim its successes over the mean of either, 3/1.5 - 1/0.75 and so on.
    values = [math.log(2) + f / 1.5 - b / 0.75 for f, b in [(3, 1), (2, 1), (1, 1), (0, 0)]]
    log = cluster_mean(values, [*"abcd"], bounds=(-math.inf, math.inf))
    assert (found.low, found.high) == pytest.approx((math.exp(log.low) - 1, math.exp(log.high) - 1))
    never = only([*outcomes("fallacy", fallacy), *outcomes("logical", {"a": "---"})])
    assert never.susceptibility == {}
    nothing = only([*outcomes("fallacy", {"a": "-"}), *outcomes("logical", {"a": "+"})]).susceptibility["logical"]
    assert (nothing.value, nothing.low, nothing.high) == (-1, -1, math.inf)


def test_relative_intervals_do_not_depend_on_how_claims_are_named() -> None:
    fallacy = {"a": "+++", "b": "++-", "c": "+--", "d": "---"}
    logical = {"a": "+--", "b": "+--", "c": "++-", "d": "+--"}
    ends = set()
    for order in itertools.permutations("abcd"):
        found = only(
            [
                *outcomes("fallacy", {claim: fallacy[claim] for claim in order}),
                *outcomes("logical", {claim: logical[claim] for claim in order}),
            ]
        ).susceptibility["logical"]
        ends.add((round(found.low, 9), round(found.high, 9)))
    assert len(ends) == 1


def test_the_message_upon_which_a_debater_was_convinced_is_the_last_that_it_heard() -> None:
    found = only(
        [
            outcome("a", 0, "fallacy", WON, 3, fallacies=("straw man", "false dilemma")),
            outcome("b", 0, "fallacy", LOST, 4, fallacies=("straw man", None, "straw man")),
            outcome("c", 0, "fallacy", WON, 3, fallacies=("false dilemma", None)),
            outcome("d", 0, "fallacy", WON, 1, fallacies=()),
            outcome("e", 0, "fallacy", WON, 2, fallacies=None),
        ]
    ).by_class
    assert list(found) == ["straw man", "false dilemma"]
    assert [(one.messages, one.convinced.value) for one in found.values()] == [(3, 0), (2, 0.5)]


def test_pairs_are_measured_apart_and_scenarios_come_in_one_order() -> None:
    rows = [outcome("a", 0, scenario, WON) for scenario in reversed(SCENARIOS)]
    other = Outcome("a", "p", "e", "none", 0, 2, LOST)
    found = measure([*rows, other])
    assert list(found) == [PAIR, Pair("p", "e")]
    assert list(found[PAIR].scenarios) == list(SCENARIOS)
    assert found[Pair("p", "e")].scenarios["none"].success.value == 0


def test_a_debate_that_is_there_twice_is_refused() -> None:
    with pytest.raises(SourceError, match="is there twice"):
        measure(outcomes("none", {"a": "+"}) * 2)
