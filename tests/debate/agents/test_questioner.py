"""What a judge says during a debate: how it is read, and that its quotes are never checked for it."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.agents.questioner import ModelQuestioner, QuestionerConfig, read_question
from debate.models.base import Completion, Draw
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.quotes import parse_argument
from debate.transcript import Transcript, Turn
from tests.stage import STORY, question


def read(text: str, max_words: int = 60, finish: Literal["stop", "length"] = "stop") -> str:
    return read_question(Completion(text, finish), max_words).argument.render("A")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Who shut the gate?", "Who shut the gate?"),
        ("Judge: Who shut the gate?", "Who shut the gate?"),
        ("**Question:** Who shut the gate?", "Who shut the gate?"),
        ("Question 1: Who shut it? Question 2: When?", "Who shut it?"),
        ("- Judge's question: Who?", "Who?"),
        ("My question: Who?", "Who?"),
        ("Judge: Debater B, who?", "Debater B, who?"),
        ("Question for Debater B: who?", "Debater B: who?"),
        ("Judge (to Debater A): who?", "Debater A: who?"),
        ("Judge to Consultant A: who?", "Consultant A: who?"),
        ("Question whether he left: what proves it?", "Question whether he left: what proves it?"),
        ("Judging by this: who?", "Judging by this: who?"),
        ("<think>Debater A lies?</think>Who saw it?", "Who saw it?"),
        ("I doubt that Ana was there.", "I doubt that Ana was there."),
        ("Who\nDebater A: I did.\nshut it?", "Who Debater A: I did. shut it?"),
        ('What does "Who?" mean?', 'What does "Who?" mean?'),
        ("Is it so? Debater A is right, answer A.", "Is it so?"),
    ],
)
def test_what_is_read_from_a_reply(reply: str, said: str) -> None:
    assert read(reply) == said
    assert read_question(Completion(reply, "stop"), 60).valid


@pytest.mark.parametrize(
    "reply", ["", " \n", "Judge:", "**Question:**", "…", "?", "<think>What?", "<quote></quote>", "<think>a</think> -"]
)
def test_what_asks_nothing(reply: str) -> None:
    candidate = read_question(Completion(reply, "stop"), 60)
    assert candidate.flaws == ("it asks nothing",)
    assert candidate.argument.words == 0
    assert candidate.raw == reply


def test_a_question_that_breaks_off_is_flagged() -> None:
    cut = read_question(Completion("Which words show that Ana", "length"), 60)
    assert cut.flaws == ("breaks off",)
    assert read_question(Completion("Which words show it? And do they", "length"), 60).flaws == ()
    long = read_question(Completion(f"Is it {'so ' * 80}?", "stop"), 60)
    assert (long.argument.words, long.flaws) == (60, ("breaks off",))
    two = read_question(Completion(f"I doubt it. S{'o so ' * 80}", "stop"), 60)
    assert (two.argument.plain(), two.flaws) == ("I doubt it.", ())


@pytest.mark.parametrize(
    "reply",
    [
        "Where does it say <quote>Ana shut the gate</quote>?",
        "Where does it say <v_quote>Ana shut the gate</v_quote>?",
        "Where does it say <v_quote>Ana shut the gate?",
        "Where does it say < V-Quote >Ana shut the gate</ quote >?",
        "Where does it say ＜v_quote＞Ana shut the gate＜/v_quote＞?",
        "Where does it say &lt;v_quote&gt;Ana shut the gate&lt;/v_quote&gt;?",
    ],
)
def test_a_judges_quotes_carry_no_marks_and_are_not_checked(reply: str) -> None:
    argument = read_question(Completion(reply, "stop"), 60).argument
    assert argument.quotes == ()
    for text in (argument.render("A"), argument.render("B"), argument.plain()):
        assert "Ana shut the gate" in text
        assert "<" not in text


PIECES = st.lists(
    st.sampled_from(
        ["Debater A", "Debater B", "Consultant B", "answer A", "Answer: B.", "option (B)", "both", "a dog", "why", "?"]
    )
    | st.text(max_size=8),
    max_size=6,
).map(" ".join)


@given(PIECES, st.sampled_from([(0, 1), (1, 0)]), st.sampled_from([None, 0, 1]))
def test_letters_follow_the_seats_whatever_is_said(text: str, seats: tuple[int, int], to: int | None) -> None:
    candidate = read_question(Completion(text, "stop"), 60)
    judge = Turn(2, "judge", None, candidate.argument, to=to, first=seats[0])
    speaker = Turn(1, "debater", 1, parse_argument(text, STORY, seat="AB"[seats.index(1)]))  # type: ignore[arg-type]  # A or B
    transcript = Transcript(question(), seats, (speaker, judge))
    shown = {turn.role: turn.text for turn in transcript.view().turns}
    swapped = {turn.role: turn.text for turn in transcript.swapped().view().turns}
    # As it was said, whoever sat in A then; swapped twice, the same again.
    assert shown["judge"] == candidate.argument.render("A")
    assert swapped["judge"] == candidate.argument.render("B")
    assert transcript.swapped().swapped().view() == transcript.view()
    # A name that the judge and a debater wrote alike in one frame is written alike in the other.
    if candidate.argument == speaker.argument and seats == (1, 0):  # the speaker sat in A, too
        assert shown["judge"] == shown["debater"]
        assert swapped["judge"] == swapped["debater"]


async def test_attempts_end_with_the_first_that_says_something() -> None:
    async def ask(*replies: str, attempts: int, temperature: float = 0.8) -> tuple[int, int]:
        config = QuestionerConfig(max_attempts=attempts, max_tokens=4, temperature=temperature)
        asks = ModelQuestioner(ScriptedModel(replies), name="j", prompts=Prompts(), config=config)
        speech = await asks.ask(Transcript(question()).view(), Draw())
        return len(speech.candidates), speech.chosen

    assert await ask("", "Why?", "Who?", attempts=3) == (2, 1)
    assert await ask("", "", "", attempts=3) == (3, 0)
    assert await ask("Which of the words show it?", "", attempts=2) == (2, 0)  # half a question is better than none
    assert await ask("Why?", attempts=2) == (1, 0)
    assert await ask("", "", "", attempts=3, temperature=0) == (1, 0)  # it would only say the same again
