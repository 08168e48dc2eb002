from __future__ import annotations

from dataclasses import replace

import pytest

from debate.metrics.accuracy import accuracy, mean_mass, unparsed
from debate.metrics.bias import position_bias
from debate.metrics.recovery import gap_recovered
from debate.metrics.speeches import figures_by_player
from debate.question import Question
from debate.quotes import Argument, parse_argument
from debate.record import Debate, Recorded
from debate.transcript import Transcript, Turn
from debate.verdict import Decision, Verdict


def debate(
    *shown: tuple[float, float] | None, gold: int | None = 0, story: str = "s", mass: float | None = None
) -> Recorded:
    """A debate judged in the orders AB, BA; each pair is what the judge gave to A and B."""
    question = Question("q", "?", ("yes", "no"), gold, None, story, "test")
    verdicts = tuple(
        Verdict.of(
            Decision(pair, None if pair is None else mass, unparsed=None if pair else "none"), judge="j", order=order
        )
        for pair, order in zip(shown, ((0, 1), (1, 0)), strict=False)
    )
    return Recorded(Debate("d", "simultaneous", Transcript(question), ("p", "r")), verdicts)


def values(recorded: list[Recorded]) -> list[float | None]:
    found = accuracy(recorded)
    parts = (found.single, found.gold_first, found.gold_second, found.combined)
    return [None if part is None else part.value for part in parts]


def test_by_hand() -> None:
    recorded = [
        debate((0.9, 0.1), (0.2, 0.8)),  # right, right; combined 0.85
        debate((0.8, 0.2), (0.9, 0.1)),  # right, wrong; combined 0.45: wrong
        debate((0.7, 0.3), (0.4, 0.6), gold=1),  # gold second: wrong; gold first: wrong; combined 0.35: wrong
        debate((0.5, 0.5), (0.1, 0.9)),  # a tie, right; combined 0.7: right
    ]
    # single: (2 + 1 + 0 + 1.5) / 8; gold first: AB of gold 0 and BA of gold 1: (1 + 1 + 0 + 0.5) / 4
    assert values(recorded) == pytest.approx([4.5 / 8, 2.5 / 4, 2 / 4, 2 / 4])
    found = accuracy(recorded)
    assert found.single is not None
    assert (found.single.n, found.single.clusters) == (8, 1)


def test_a_judge_that_always_says_a_is_at_chance_combined() -> None:
    for first in (0.9, 0.7, 0.6, 1 / 3 + 1 / 3):
        recorded = [debate((first, 1 - first), (first, 1 - first), gold=index % 2) for index in range(6)]
        assert values(recorded) == [0.5, 1.0, 0.0, 0.5]


def test_a_perfect_judge() -> None:
    recorded = [debate((1.0, 0.0), (0.0, 1.0), story=f"s{index}") for index in range(12)]
    assert values(recorded) == [1.0, 1.0, 1.0, 1.0]
    found = accuracy(recorded)
    assert found.combined is not None
    assert (found.combined.n, found.combined.clusters, found.combined.high) == (12, 12, 1.0)
    assert 0.7 < found.combined.low < 0.8  # Wilson's interval of 12 of 12 begins at 0.757


def test_unparsed_verdicts_are_left_out_and_counted() -> None:
    recorded = [debate((0.9, 0.1), None), debate(None, None), debate((0.9, 0.1), (0.1, 0.9))]
    assert values(recorded) == [1.0, 1.0, 1.0, 1.0]
    found = accuracy(recorded)
    assert found.single is not None
    assert found.combined is not None
    assert (found.single.n, found.combined.n) == (3, 1)
    assert len(unparsed(recorded)) == 3
    assert {verdict.unparsed for verdict in unparsed(recorded)} == {"none"}


def test_nothing_to_measure() -> None:
    assert values([]) == [None] * 4
    assert values([debate(gold=0), debate((0.9, 0.1), (0.1, 0.9), gold=None)]) == [None] * 4
    assert unparsed([]) == []


def test_mean_mass() -> None:
    assert mean_mass([debate((0.9, 0.1), (0.1, 0.9), mass=0.8), debate((0.9, 0.1), None, mass=0.2)]) == pytest.approx(
        0.6
    )
    assert mean_mass([debate((0.9, 0.1), (0.1, 0.9))]) is None


def test_speech_figures_by_hand() -> None:
    story = "Ana shut the gate at noon."
    turns = [
        Turn(
            1,
            "debater",
            0,
            parse_argument("See <quote>Ana shut the gate</quote> and <quote>he lied to us</quote>", story),
        ),
        Turn(1, "debater", 1, Argument(("Two words",)), flaws=("0 quotes, fewer than 1",)),
    ]
    item = debate((0.9, 0.1), (0.1, 0.9))

    def held(*players: str) -> Recorded:
        transcript = replace(item.debate.transcript, turns=tuple(turns))
        return replace(item, debate=replace(item.debate, transcript=transcript, players=(players[0], players[1])))

    both = figures_by_player([held("p", "p")])
    found = both["p"]
    assert (found.speeches, found.words, found.quotes, found.verified, found.invalid) == (2, 6.0, 1.0, 0.5, 0.5)
    assert both.keys() == {"p"}
    apart = figures_by_player([held("p", "r")])
    assert (apart["p"].quotes, apart["r"].verified, apart["r"].invalid) == (2.0, None, 1.0)
    assert figures_by_player([]) == {}


def test_failed_debates_and_verdicts_given_midway_do_not_count() -> None:
    whole = debate((0.9, 0.1), (0.1, 0.9), mass=0.8)
    wrong, lost = Verdict("j", (0, 1), (0.0, 1.0), 0.1, round=1), Verdict("j", (0, 1), None, 0.1, unparsed="x", round=0)
    midway = replace(whole, verdicts=(lost, wrong, *whole.verdicts))
    failed = [
        replace(item, debate=replace(item.debate, failed="the model failed"))
        for item in (debate((0.1, 0.9), (0.9, 0.1), mass=0.1), debate(None, None))
    ]
    recorded = [whole, midway, *failed]
    assert values(recorded) == [1.0, 1.0, 1.0, 1.0]
    found = accuracy(recorded)
    assert found.single is not None
    assert found.combined is not None
    assert (found.single.n, found.combined.n) == (4, 2)
    assert unparsed(recorded) == []
    assert mean_mass(recorded) == pytest.approx(0.8)
    bias = position_bias(recorded)
    assert bias is not None
    assert (bias.flip_rate.n, bias.flip_rate.value) == (2, 0.0)
    blind = [debate((0.1, 0.9), (0.9, 0.1))]
    gap = gap_recovered(recorded, [*blind, *failed], [*blind, whole])
    assert gap is not None
    assert (gap.value, gap.n) == (2.0, 4)  # blind 0, expert 1/2, debates 1
    assert values([failed[0]]) == [None] * 4
    assert position_bias(failed) is None
