"""The roundtable: who speaks when, having heard what, and when it ends."""

from __future__ import annotations

import asyncio

import pytest

from debate.errors import ConfigError
from debate.models.base import Draw
from debate.protocols.roundtable import Discussion, Roundtable
from debate.question import Question
from debate.record import from_json, to_json
from tests.roundtables import chooser, heard

QUESTION = Question("q", "Why did the lamp go out?", ("It was noon.", "The bulb blew.", "Yes"), 1, None, "s", "test")


def hold(table: Roundtable) -> Discussion:
    return asyncio.run(table.hold("id", QUESTION, Draw(seed=1)))


def letters(held: Discussion) -> str:
    return "".join(letter or "-" for letter in held.outcome.predictions)


def test_who_agree_at_once_do_not_debate_and_need_no_judge() -> None:
    log: list[str] = []
    judge = chooser(lambda _: "Sum.\nAnswer: A", "judge", log=log)
    same = [chooser(lambda _: "Bulbs go.\nAnswer: B", name) for name in "xy"]
    held = hold(Roundtable(tuple(same), 6, judge))
    assert (letters(held), held.agreed, held.judge, log) == ("BB", 0, None, [])
    assert held.outcome.judged is False


def test_the_proponent_speaks_first_then_all_in_a_circle_and_each_hears_all_that_was_said() -> None:
    logs: dict[str, list[str]] = {name: [] for name in "xyz"}
    speakers = [
        chooser(lambda _, at=at: f"From {'xyz'[at]}.\nAnswer: {'ABC'[at]}", "xyz"[at], log=logs["xyz"[at]])  # type: ignore[misc]
        for at in range(3)
    ]
    held = hold(Roundtable(tuple(speakers), 5))
    assert letters(held) == "ABC" + "ABCAB"
    assert held.agreed is None
    # alone, then each of its turns: 3 and 6 explanations before those of x, 4 and 7 before those of y, 5 before z's
    assert {name: [len(heard(text)) for text in log] for name, log in logs.items()} == {
        "x": [0, 3, 6],
        "y": [0, 4, 7],
        "z": [0, 5],
    }
    last = heard(logs["y"][-1])
    assert [line.partition(":")[0] for line in last] == [
        *("Debater 1", "Debater 2 (you)", "Debater 3"),
        *("Debater 1", "Debater 2 (you)", "Debater 3", "Debater 1"),
    ]
    assert not any("Answer" in line for line in last)


def test_a_debate_ends_with_the_turn_that_brings_agreement() -> None:
    firm = chooser(lambda _: "Noon.\nAnswer: A", "x")
    weak = chooser(lambda text: f"Well.\nAnswer: {'A' if len(heard(text)) >= 5 else 'B'}", "y")
    held = hold(Roundtable((firm, weak), 6))
    # x stands firm, y gives in at its second turn, having heard five explanations
    assert (letters(held), held.agreed) == ("ABABAA", 4)


def test_an_unreadable_answer_agrees_with_nothing() -> None:
    dumb = [chooser(lambda _: "Who knows.", name) for name in "xy"]
    held = hold(Roundtable(tuple(dumb), 2))
    assert (letters(held), held.agreed) == ("----", None)


def test_three_agree_only_when_the_last_three_answers_are_one() -> None:
    follow = chooser(lambda text: f"Hm.\nAnswer: {'B' if heard(text) else 'A'}", "x")
    firm = [chooser(lambda _: "Bulbs go.\nAnswer: B", name) for name in "yz"]
    held = hold(Roundtable((follow, *firm), 9))
    assert (letters(held), held.agreed) == ("ABBB", 1)


def test_the_judge_reads_the_whole_debate_and_nothing_else() -> None:
    log: list[str] = []
    x = chooser(lambda _: "Noon it was.\nAnswer: A", "x")
    y = chooser(lambda _: "Bulbs go.\nAnswer: B", "y")
    judge = chooser(lambda _: "It turned on the bulb.\nAnswer: C", "judge", log=log)
    held = hold(Roundtable((x, y), 2, judge))
    (asked,) = log
    assert heard(asked) == [f"Debater {1 + at % 2}: {('Noon it was.', 'Bulbs go.')[at % 2]}" for at in range(4)]
    assert held.judge is not None
    assert (held.outcome.judged, held.outcome.verdict) == (True, "C")
    # neither the stances nor the names of the speakers are in it
    assert "Answer: A" not in asked.split("Why did")[1].split("Sum up")[0]


def test_without_turns_there_is_only_the_vote() -> None:
    x, y = (chooser(lambda _, a=a: f"Hm.\nAnswer: {a}", a) for a in "AB")  # type: ignore[misc]
    assert letters(hold(Roundtable((x, y), 0))) == "AB"


def test_nobody_debates_alone() -> None:
    with pytest.raises(ConfigError, match="two or more"):
        Roundtable((chooser(lambda _: "", "x"),), 3)


def test_a_discussion_is_read_back_as_it_was() -> None:
    x = chooser(lambda _: "\ud83d half of a character.\nAnswer: A", "x")
    y = chooser(lambda _: "Bulbs go.\nAnswer: B", "y")
    held = hold(Roundtable((x, y), 1, chooser(lambda _: "Sum.\nAnswer: A", "judge")))
    again = from_json(Discussion, to_json(held))
    assert again.outcome == held.outcome
    assert again.opinions[1] == held.opinions[1]
    assert again.judge == held.judge


def test_an_outcome_needs_a_right_answer() -> None:
    unknown = Question("q", "Why?", ("a", "b"), None, None, "s", "test")
    with pytest.raises(ConfigError, match="right answer"):
        _ = Discussion("id", unknown, ("x", "y")).outcome
