"""Consultancies, single and double: who hears what, and what a judge is told that it has before it."""

from __future__ import annotations

import pytest

from debate.agents.judge import setting_of
from debate.errors import ConfigError
from debate.models.base import Draw
from debate.prompts import Prompts
from debate.protocols import Consultancy, DoubleConsultancy, ProtocolConfig, build_protocol
from debate.protocols.base import Speakers
from tests.stage import SPOKEN, Stage, question, words


def text_of(template: str) -> str:
    return Prompts().fill(template)[0].content


@pytest.mark.parametrize("answer", [0, 1])
@pytest.mark.parametrize("seats", [(0, 1), (1, 0)])
async def test_the_judge_probes_one_consultant(answer: int, seats: tuple[int, int]) -> None:
    stage = Stage(addressed="Consultant A")
    alone = stage.debater("left")
    speakers: Speakers = (alone, None) if answer == 0 else (None, alone)
    transcript = await Consultancy(3, stage.judge()).hold(question(), speakers, seats, Draw())
    assert [heard.who for heard in stage.heard] == ["left", "judge", "left", "judge", "left"]
    assert [words(heard.prompt, *SPOKEN) for heard in stage.heard] == [
        set(),
        {"left1"},
        {"left1", "ask1"},
        {"left1", "ask1", "left2"},
        {"left1", "ask1", "left2", "ask2"},
    ]
    seat = "AB"[seats.index(answer)]
    for prompt in stage.of("left"):
        assert "You are a skilled consultant." in prompt
        assert f"You are Consultant {seat}." in prompt
        assert "debater" not in prompt.lower()
    for prompt in stage.of("judge"):
        assert text_of("judge_consultancy") in prompt
        assert "Now ask the consultant one thing" in prompt
        assert "Tomas rode off" not in prompt
        assert "secret" not in prompt
    assert [(turn.round, turn.role, turn.answer) for turn in transcript.turns] == [
        (1, "consultant", answer),
        (2, "judge", None),
        (2, "consultant", answer),
        (3, "judge", None),
        (3, "consultant", answer),
    ]
    assert setting_of(transcript.view()) == "judge_consultancy"


async def test_the_tasks_of_a_consultant() -> None:
    stage = Stage(silent=(2,))
    await Consultancy(3, stage.judge()).hold(question(), (stage.debater("left"), None), (0, 1), Draw())
    tasks = ["consultant_opening", "consultant_answer", "consultant_reply"]  # before round 3 nothing is asked
    for prompt, name in zip(stage.of("left"), tasks, strict=True):
        assert text_of(name) in prompt
        assert not [other for other in {*tasks} - {name} if text_of(other) in prompt]


async def test_a_judge_that_only_listens() -> None:
    for protocol in (
        build_protocol(ProtocolConfig(kind="consultancy", rounds=2, static=True)),
        build_protocol(ProtocolConfig(kind="double_consultancy", rounds=2, static=True)),
    ):
        stage = Stage()
        second = None if protocol.name == "consultancy" else stage.debater("right")
        transcript = await protocol.hold(question(), (stage.debater("left"), second), (0, 1), Draw())
        assert {turn.role for turn in transcript.turns} == {"consultant"}
        assert text_of("consultant_reply") in stage.of("left")[1]
        assert not words(stage.of("left")[1], "right1")


@pytest.mark.parametrize(("speakers", "found"), [(0, 0), (2, 2)])
async def test_a_consultancy_has_one_speaker(speakers: int, found: int) -> None:
    stage = Stage()
    both: Speakers = (stage.debater("left"), stage.debater("right")) if speakers else (None, None)
    with pytest.raises(ConfigError, match=f"one speaker, got {found}; a double consultancy has two"):
        await Consultancy(2, stage.judge()).hold(question(), both, (0, 1), Draw())
    assert stage.heard == []


async def test_a_double_consultancy_has_two_speakers() -> None:
    stage = Stage()
    with pytest.raises(ConfigError, match="a double consultancy debate needs a speaker for each answer"):
        await DoubleConsultancy(2, stage.judge()).hold(question(), (None, stage.debater("right")), (0, 1), Draw())
    assert stage.heard == []


@pytest.mark.parametrize("seats", [(0, 1), (1, 0)])
async def test_in_a_double_consultancy_nobody_hears_the_other_nor_its_questions(seats: tuple[int, int]) -> None:
    stage = Stage(addressed="Consultant A")
    speakers = (stage.debater("left"), stage.debater("right"))
    transcript = await DoubleConsultancy(3, stage.judge()).hold(question(), speakers, seats, Draw())
    asked: dict[str, list[str]] = {"left": [], "right": []}
    for prompt in stage.of("judge"):
        sides = [name for name in asked if f"{name}1" in prompt]
        assert len(sides) == 1  # the judge that asks one has not heard the other
        (side,) = sides
        asked[side].append(next(heard.said for heard in stage.heard if heard.prompt == prompt).split()[1])
    assert {name: len(numbers) for name, numbers in asked.items()} == {"left": 2, "right": 2}
    for name, other in (("left", "right"), ("right", "left")):
        first, second = asked[name]
        assert [words(prompt, *SPOKEN) for prompt in stage.of(name)] == [
            set(),
            {f"{name}1", first},
            {f"{name}1", f"{name}2", first, second},
        ]
        assert not [prompt for prompt in stage.of(name) if other in prompt]
    # Merged: by round, seat A first, each speech after the question that it answers, and both orders of letters.
    in_a, in_b = seats
    assert [(turn.round, turn.answer, turn.to) for turn in transcript.turns] == [
        (1, in_a, None),
        (1, in_b, None),
        *((n, *who) for n in (2, 3) for who in ((None, in_a), (in_a, None), (None, in_b), (in_b, None))),
    ]
    for view in (transcript.view(), transcript.swapped().view()):
        assert [turn.speaker for turn in view.turns] == [
            "Consultant A",
            "Consultant B",
            *(["Judge to Consultant A", "Consultant A", "Judge to Consultant B", "Consultant B"] * 2),
        ]
        assert setting_of(view) == "judge_double_consultancy"
    # What the judge asked "Consultant A" is about the same consultant in the other order.
    before, after = (
        {turn.text for turn in view.turns if turn.role == "judge"}
        for view in (
            transcript.view(),
            transcript.swapped().view(),
        )
    )
    assert {text.replace("Consultant A", "Consultant B") for text in before} == after
