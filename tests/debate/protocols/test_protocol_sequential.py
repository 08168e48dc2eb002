"""Who hears what in a sequential debate, and what each is told to do."""

from __future__ import annotations

import pytest

from debate.errors import ConfigError
from debate.models.base import Draw
from debate.prompts import Prompts
from debate.protocols import Sequential
from tests.stage import SPOKEN, Stage, question, words


def task(name: str) -> str:
    return Prompts().fill(name)[0].content


@pytest.mark.parametrize(("seats", "first", "second"), [((0, 1), "left", "right"), ((1, 0), "right", "left")])
async def test_the_second_speaker_has_heard_the_first(seats: tuple[int, int], first: str, second: str) -> None:
    stage = Stage()
    await Sequential(2).hold(question(), (stage.debater("left"), stage.debater("right")), seats, Draw())
    assert [heard.who for heard in stage.heard] == [first, second, first, second]
    assert [words(heard.prompt, *SPOKEN) for heard in stage.heard] == [
        set(),
        {f"{first}1"},
        {f"{first}1", f"{second}1"},
        {f"{first}1", f"{second}1", f"{first}2"},
    ]


async def test_the_second_opening_answers_the_first() -> None:
    stage = Stage()
    await Sequential(2).hold(question(), (stage.debater("left"), stage.debater("right")), (0, 1), Draw())
    tasks = ["debater_opening", "debater_second", "debater_reply", "debater_reply"]
    for heard, name in zip(stage.heard, tasks, strict=True):
        assert task(name) in heard.prompt
        assert not [other for other in {*tasks} - {name} if task(other) in heard.prompt]


async def test_the_order_of_speaking_stays_when_the_letters_are_swapped() -> None:
    stage = Stage()
    transcript = await Sequential(2).hold(question(), (stage.debater("left"), stage.debater("right")), (1, 0), Draw())
    assert [turn.seat for turn in transcript.view().turns] == ["A", "B", "A", "B"]
    assert [turn.seat for turn in transcript.swapped().view().turns] == ["B", "A", "B", "A"]
    said = [turn.argument for turn in transcript.view().turns]
    assert [turn.argument for turn in transcript.swapped().view().turns] == said


def test_both_orders_of_speaking_are_held() -> None:
    assert Sequential().seatings(question()) == ((0, 1), (1, 0))


async def test_both_answers_need_a_speaker() -> None:
    with pytest.raises(ConfigError, match="a sequential debate needs a speaker for each answer"):
        await Sequential(1).hold(question(), (None, None), (0, 1), Draw())
