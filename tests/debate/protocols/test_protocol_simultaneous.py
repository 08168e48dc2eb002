"""Who hears what in a simultaneous debate."""

from __future__ import annotations

import pytest

from debate.errors import ConfigError
from debate.models.base import Draw
from debate.protocols import Simultaneous
from tests.stage import SPOKEN, Stage, question, words


@pytest.mark.parametrize("seats", [(0, 1), (1, 0)])
async def test_nobody_hears_the_round_that_is_being_spoken(seats: tuple[int, int]) -> None:
    stage = Stage()
    speakers = (stage.debater("left"), stage.debater("right"))
    transcript = await Simultaneous(3).hold(question(), speakers, seats, Draw(seed=4))
    for name in ("left", "right"):
        assert [words(prompt, *SPOKEN) for prompt in stage.of(name)] == [
            set(),
            {"left1", "right1"},
            {"left1", "right1", "left2", "right2"},
        ]
    assert [(turn.round, turn.answer, turn.role) for turn in transcript.turns] == [
        (number, answer, "debater") for number in (1, 2, 3) for answer in seats
    ]


async def test_prompts_hold_the_story_both_answers_and_marks_but_no_thoughts() -> None:
    stage = Stage()
    await Simultaneous(2).hold(question(), (stage.debater("left"), stage.debater("right")), (1, 0), Draw())
    for heard in stage.heard:
        assert "Tomas rode off without a word." in heard.prompt
        assert "Answer A: It was Tomas.\nAnswer B: It was Ana." in heard.prompt
        assert "secret" not in heard.prompt
        own, seat = ("It was Ana.", "B") if heard.who == "left" else ("It was Tomas.", "A")
        assert f"You are Debater {seat}. Your answer is: {own}" in heard.prompt
    assert "Debater B: left1 <v_quote>Ana shut the gate</v_quote>" in stage.of("right")[1]


async def test_each_speaker_draws_in_its_own_stream() -> None:
    stage = Stage()
    speakers = (stage.debater("left"), stage.debater("right"))
    await Simultaneous(1).hold(question(), speakers, (0, 1), Draw(seed=4, repetition=2))
    assert {(heard.who, heard.draw.stream, heard.draw.seed, heard.draw.repetition) for heard in stage.heard} == {
        ("left", "left", 4, 2),
        ("right", "right", 4, 2),
    }


async def test_both_answers_need_a_speaker() -> None:
    stage = Stage()
    with pytest.raises(ConfigError, match="a simultaneous debate needs a speaker for each answer"):
        await Simultaneous(1).hold(question(), (stage.debater("left"), None), (0, 1), Draw())
    assert stage.heard == []
