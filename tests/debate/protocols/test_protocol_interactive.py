"""Interactive debate: the judge asks before rounds 2 and on, both hear it; nothing tells it which answer is right."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from debate.errors import ConfigError
from debate.models.base import Draw
from debate.prompts import Prompts
from debate.protocols import Consultancy, DoubleConsultancy, Interactive, Simultaneous
from debate.protocols.base import Speakers, drawn_seats
from debate.question import Question
from debate.transcript import Transcript
from tests.stage import SPOKEN, STORY, Stage, question, words


async def hold(stage: Stage, rounds: int = 3, seats: tuple[int, int] = (0, 1), attempts: int = 1) -> Transcript:
    speakers: Speakers = (stage.debater("left"), stage.debater("right"))
    return await Interactive(rounds, stage.judge(attempts=attempts)).hold(question(), speakers, seats, Draw(seed=3))


async def test_the_judge_asks_before_each_round_but_the_first_and_both_hear_it() -> None:
    stage = Stage()
    transcript = await hold(stage)
    one, two = {"left1", "right1"}, {"left2", "right2"}
    for name in ("left", "right"):
        assert [words(prompt, *SPOKEN) for prompt in stage.of(name)] == [
            set(),
            one | {"ask1"},
            one | two | {"ask1", "ask2"},
        ]
    assert [words(prompt, *SPOKEN) for prompt in stage.of("judge")] == [one, one | two | {"ask1"}]
    assert [heard.who for heard in stage.heard][2] == [heard.who for heard in stage.heard][5] == "judge"
    roles = [(turn.round, turn.role, turn.answer, turn.to) for turn in transcript.turns if turn.role == "judge"]
    assert roles == [(2, "judge", None, None), (3, "judge", None, None)]
    for prompt in stage.of("left")[1:]:
        assert "Judge: Is ask1 so, Debater A?" in prompt
        assert Prompts().fill("debater_answer")[0].content in prompt


async def test_the_judge_reads_neither_the_story_nor_thoughts() -> None:
    stage = Stage()
    await hold(stage)
    for prompt in stage.of("judge"):
        for sentence in ("Tomas rode off", "The dog slept", STORY):
            assert sentence not in prompt
        assert "secret" not in prompt
        assert "ask one debater or both one thing" in prompt
        assert Prompts().fill("judge_debate")[0].content in prompt
        assert (
            "<v_quote>Ana shut the gate</v_quote>" in prompt
        )  # marks the judge may read, and only the renderer writes


async def test_the_judges_stream_of_draws_is_its_own() -> None:
    stage = Stage()
    await hold(stage)
    assert {heard.draw.stream for heard in stage.heard} == {"left", "right", "questions of j"}
    assert {heard.draw.seed for heard in stage.heard} == {3}


async def test_a_judge_with_nothing_to_ask_is_not_shown_and_is_flagged() -> None:
    stage = Stage(silent=(1, 2))
    transcript = await hold(stage, attempts=2)
    first, second = (turn for turn in transcript.turns if turn.role == "judge")
    assert first.flaws == ("it asks nothing",)
    assert len(first.candidates) == 2  # both attempts are kept
    assert second.flaws == ()
    assert [heard.draw.attempt for heard in stage.heard if heard.who == "judge"] == [0, 1, 0]
    for name in ("left", "right"):
        before, after = stage.of(name)[1:]
        assert "Judge" not in before.replace("the judge", "")
        assert "Hm." not in before + after
        assert Prompts().fill("debater_reply")[0].content in before
        assert Prompts().fill("debater_answer")[0].content in after


@pytest.mark.parametrize("seats", [(0, 1), (1, 0)])
async def test_the_letters_of_a_question_follow_the_seats(seats: tuple[int, int]) -> None:
    transcript = await hold(Stage(), 2, seats)
    (asked,) = (turn for turn in transcript.view().turns if turn.role == "judge")
    assert asked.text == "Is ask1 so, Debater A?"
    (swapped,) = (turn for turn in transcript.swapped().view().turns if turn.role == "judge")
    assert swapped.text == "Is ask1 so, Debater B?"
    # It means the same speaker in both: the one in seat A when it was asked.
    meant = "left" if seats == (0, 1) else "right"
    for view, letter in ((transcript.view(), "A"), (transcript.swapped().view(), "B")):
        assert next(turn.text for turn in view.turns if turn.seat == letter).startswith(f"{meant}1")


@pytest.mark.parametrize("protocol", [Simultaneous(), Interactive(), Consultancy(), DoubleConsultancy()])
def test_the_seat_does_not_tell_which_answer_is_right(
    protocol: Simultaneous | Interactive | Consultancy | DoubleConsultancy,
) -> None:
    n = 4000
    drawn = [protocol.seatings(question(f"story {index // 4}, question {index}", gold=0)) for index in range(n)]
    assert {len(seatings) for seatings in drawn} == {1}
    first = sum(seats[0] == 0 for (seats,) in drawn)
    assert abs(first - n / 2) < 4 * math.sqrt(n / 4)  # four standard deviations of a fair coin
    # The seat is drawn apart from the order in which pair() lists two answers of four.
    four = [Question(f"story {index}", "Which?", ("right", "b", "c", "d"), 0, STORY, "s", "test") for index in range(n)]
    cells = Counter((one.pair().gold, protocol.seatings(one)[0][0]) for one in four)
    for count in cells.values():
        assert abs(count - n / 4) < 4 * math.sqrt(n * 3 / 16)
    assert len(cells) == 4


def test_the_seat_knows_the_text_of_a_question_too_and_not_its_gold() -> None:
    # Files that number their questions from 1 on do not all seat alike.
    texts = {drawn_seats(question("1", text=f"Question of file {index}?")) for index in range(50)}
    assert len(texts) == 2
    for index in range(50):
        one = question(str(index), gold=0)
        assert (
            drawn_seats(one)
            == drawn_seats(question(str(index), gold=1))
            == drawn_seats(question(str(index), gold=None))
        )


async def test_without_a_judge_that_speaks_none_is_held() -> None:
    stage = Stage()
    with pytest.raises(ConfigError, match="needs a judge that speaks"):
        await Interactive(2).hold(question(), (stage.debater("left"), stage.debater("right")), (0, 1), Draw())
    with pytest.raises(ConfigError, match="interactive debate needs a speaker for each answer"):
        await Interactive(2, stage.judge()).hold(question(), (stage.debater("left"), None), (0, 1), Draw())
    assert stage.heard == []
