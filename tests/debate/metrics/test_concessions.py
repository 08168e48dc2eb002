"""Concessions: what is left of a debate for the judge, and when a speaker has given its side away."""

from __future__ import annotations

import dataclasses

import pytest

from debate.agents.judge import JudgeConfig, build_judge
from debate.metrics.concessions import (
    alone,
    concession_rates,
    read_concession,
    speakers,
    without_concessions,
)
from debate.metrics.intervals import wilson
from debate.models.base import Draw, Messages
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.question import Question
from debate.quotes import parse_argument
from debate.record import Debate, Recorded
from debate.transcript import Transcript, Turn
from debate.verdict import Verdict

STORY = "The lamp was lit at nine. Nobody came to the door."
QUESTION = Question("q", "When was it lit?", ("At nine.", "At ten."), 0, STORY, "s", "test")
SAID = ("Debater A is right: <quote>The lamp was lit at nine.</quote>", "Debater A has shown it, I give up.")
ASKED = Turn(1, "judge", None, parse_argument("Why?", STORY))


def debate(name: str = "d", players: tuple[str, str] = ("first", "second"), story: str = "s") -> Debate:
    turns = (Turn(1, "debater", answer, parse_argument(SAID[answer], STORY, seat="AB"[answer])) for answer in (0, 1))  # type: ignore[arg-type]  # a letter
    question = dataclasses.replace(QUESTION, story_id=story)
    return Debate(name, "simultaneous", Transcript(question, (0, 1), (ASKED, *turns)), players)


def judged(whole: Debate, answer: int, *shares: tuple[float, float] | None) -> Recorded:
    verdicts = tuple(
        Verdict("asked", order, pair, unparsed=None if pair else "no")
        for pair, order in zip(shares, ((0, 1), (1, 0)), strict=False)
    )
    return Recorded(alone(whole, answer), verdicts)


def test_of_a_debate_what_one_speaker_said_is_left() -> None:
    whole = debate()
    left = [alone(whole, answer) for answer in speakers(whole)]
    assert [[turn.answer for turn in one.transcript.turns] for one in left] == [[0], [1]]
    assert len({whole.id, *(one.id for one in left)}) == 3


async def test_the_judge_is_not_told_for_whom_the_speaker_was_to_argue() -> None:
    """Exchanging the sides exchanges the answers and nothing else: a seat, or a name with one, would tell."""
    shown: list[str] = []

    def look(messages: Messages, _choices: object) -> list[float]:
        shown.append("\n".join(message.content for message in messages))
        return [0.5, 0.5]

    model = ScriptedModel(choose=look)
    judge = build_judge(
        JudgeConfig.model_validate({"model": "scripted/x:y", "name": "asked"}), model, Prompts(), "concession"
    )
    transcript = alone(debate(), 1).transcript
    for one in (transcript, transcript.swapped()):
        await judge.decide(one.view(), Draw())
    assert "I give up" in shown[0]
    for text in shown:
        assert "Debater" not in text
        assert "<v_quote>" not in text.partition("Question:")[2]
    assert shown[0].replace("At nine.", "X").replace("At ten.", "At nine.").replace("X", "At ten.") == shown[1]


@pytest.mark.parametrize(
    ("shares", "argued", "conceded"),
    [
        (((0.2, 0.8), (0.1, 0.9)), 0.15, True),
        (((0.2, 0.8), (0.7, 0.3)), 0.45, False),  # only in one order
        (((0.9, 0.1), (0.9, 0.1)), 0.9, False),
        (((0.2, 0.8), None), None, False),
        (((0.2, 0.8),), 0.2, False),
        ((), None, False),
    ],
)
def test_a_concession_is_one_in_both_orders(
    shares: tuple[tuple[float, float] | None, ...], argued: float | None, *, conceded: bool
) -> None:
    found = read_concession(judged(debate(), 0, *shares))
    assert found.argued == pytest.approx(argued) if argued is not None else found.argued is None
    assert (found.debate, found.answer, found.player, found.conceded) == ("d", 0, "first", conceded)


def test_rates_are_by_player_and_debates_with_a_concession_are_left_out() -> None:
    away, kept, unread = (((0.2, 0.8),) * 2, ((0.8, 0.2),) * 2, (None, None))
    wholes = [debate(f"d{number}", story=f"s{number}") for number in range(4)]
    firsts = [judged(whole, 0, *shares) for whole, shares in zip(wholes, (away, kept, kept, unread), strict=True)]
    found = [read_concession(item) for item in firsts]
    rates = concession_rates(found)
    assert list(rates) == ["first"]
    assert rates["first"].value == pytest.approx(1 / 3)
    assert rates["first"].n == 3
    assert wilson(1, 3).low < rates["first"].value < rates["first"].high
    left = without_concessions([Recorded(whole, ()) for whole in wholes], found)
    assert [item.debate.id for item in left] == ["d1", "d2", "d3"]
