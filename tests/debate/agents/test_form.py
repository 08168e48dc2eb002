"""Forms: what is read as one, what is not, and how often a model is asked."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debate.agents.form import Form, fill_in
from debate.models.base import Capabilities, Draw, Message, Messages, Sampling
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts

FORM = Form({"answer": ("yes", "no"), "reason": ()})
RIGHT = '{"answer": "no", "reason": "It doubts."}'
READ = {"answer": "no", "reason": "It doubts."}


@pytest.mark.parametrize(
    "text",
    [
        RIGHT,
        f"  {RIGHT}\n",
        f"```json\n{RIGHT}\n```",
        f"```\n{RIGHT}```",
        f"<think>The debater says yes. {{}}</think>{RIGHT}",
        '{"reason": " It doubts. ", "answer": "NO"}',
    ],
)
def test_what_is_a_form(text: str) -> None:
    assert FORM.read(text) == READ


def test_a_text_may_hold_line_breaks_and_json() -> None:
    said = 'He wrote {"answer": "yes"}\nand left.'
    assert FORM.read(f'{{"answer": "no", "reason": {json.dumps(said)}}}')["reason"] == said
    assert FORM.read('{"answer": "no", "reason": "one\ntwo"}')["reason"] == "one\ntwo"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not one JSON object"),
        ("no", "not one JSON object"),
        ('"no"', "not one JSON object"),
        (f"[{RIGHT}]", "not one JSON object"),
        (f'The debater wrote {{"answer": "yes", "reason": "x"}}. {RIGHT}', "not one JSON object"),
        (f'{RIGHT} {{"answer": "yes", "reason": "x"}}', "not one JSON object"),
        (f"{RIGHT} That is my answer.", "not one JSON object"),
        ('{"answer": "no"}', "its keys are 'answer'"),
        ('{"answer": "no", "reason": "x", "more": "y"}', "its keys are"),
        ('{"answer": "no", "answer": "yes", "reason": "x"}', "twice"),
        ('{"answer": "maybe", "reason": "x"}', "'maybe', which is none of yes, no"),
        ('{"answer": false, "reason": "x"}', "'answer' is no text"),
        ('{"answer": "no", "reason": " "}', "'reason' is no text"),
        ("[" * 100_000, "not|deep"),
        ('{"a":' * 100_000, "not|deep"),
    ],
)
def test_what_is_none(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        FORM.read(text)


@settings(deadline=None)
@given(st.text(), st.text(min_size=1).filter(str.strip))
def test_no_text_that_is_quoted_makes_the_answer(answer: str, reason: str) -> None:
    try:
        read = FORM.read(json.dumps({"answer": answer, "reason": reason}))
    except ValueError:
        assert answer.strip().casefold() not in {"yes", "no"}
    else:
        assert read == {"answer": answer.strip().casefold(), "reason": reason.strip()}


def test_an_open_key_takes_other_words_than_those_of_the_schema() -> None:
    form = Form({"class": ("straw man",)}, frozenset({"class"}))
    assert form.read('{"class": "Strawman"}') == {"class": "Strawman"}
    assert json.loads(form.schema)["properties"]["class"]["enum"] == ["straw man"]


async def ask(*replies: str, attempts: int = 3) -> tuple[dict[str, str] | None, list[Messages], bool]:
    heard: list[Messages] = []

    def reply(messages: Messages, draw: Draw) -> str:
        assert draw.attempt == len(heard)
        heard.append(messages)
        return replies[draw.attempt]

    filled = await fill_in(
        ScriptedModel(reply, capabilities=Capabilities()),
        [Message("user", "Is it so?")],
        FORM,
        prompts=Prompts(),
        sampling=Sampling(50),
        draw=Draw(),
        attempts=attempts,
    )
    assert len(filled.replies) == len(filled.flaws) == len(heard)
    return None if filled.values is None else dict(filled.values), heard, filled.refused


async def test_it_is_asked_again_with_what_was_wrong() -> None:
    values, heard, _ = await ask("No, it is not.", '{"answer": "no"}', RIGHT)
    assert values == READ
    assert [len(messages) for messages in heard] == [1, 3, 3]
    assert heard[1][1] == Message("assistant", "No, it is not.")
    assert "not one JSON object" in heard[1][2].content
    assert "its keys are 'answer'" in heard[2][2].content


async def test_it_is_asked_so_often_and_no_more() -> None:
    values, heard, refused = await ask("no", "no", "no", RIGHT)
    assert (values, len(heard), refused) == (None, 3, False)


@pytest.mark.parametrize(
    "text",
    ["I'm sorry, but I can't help with that.", "I cannot assess this topic.", "As an AI, I have no opinion on it."],
)
async def test_a_refusal_is_not_asked_again(text: str) -> None:
    values, heard, refused = await ask(text, RIGHT)
    assert (values, len(heard), refused) == (None, 1, True)


@pytest.mark.parametrize(
    "text",
    [
        "The debater said \"I'm sorry, but I can't agree\", so no.",
        "The debater’s last words are “I cannot accept the claim”.",
        "Debater: I will not accept that. So the answer is no.",
        "I cannot tell from this whether it is convinced.",
    ],
)
async def test_what_the_debater_refuses_is_no_refusal_of_who_reads_it(text: str) -> None:
    values, heard, refused = await ask(text, RIGHT)
    assert (values, len(heard), refused) == (READ, 2, False)


async def test_a_second_try_fits_where_the_first_did() -> None:
    """The reply that could not be read is shown again only where the context has room for it."""
    heard: list[Messages] = []

    def reply(messages: Messages, draw: Draw) -> str:
        heard.append(messages)
        return RIGHT if draw.attempt else "no " * 40

    model = ScriptedModel(reply, capabilities=Capabilities())
    filled = await fill_in(
        model,
        [Message("user", "word " * 20)],
        FORM,
        prompts=Prompts(),
        sampling=Sampling(50),
        draw=Draw(),
        attempts=2,
        room=50,
    )
    assert filled.values == READ
    assert [model.count_tokens(messages) <= 50 for messages in heard] == [True, True]


async def test_a_form_that_speaks_of_refusing_is_a_form() -> None:
    values, _, refused = await ask('{"answer": "no", "reason": "It says: I cannot agree."}')
    assert values is not None
    assert not refused
    values, heard, refused = await ask('{"answer": "no"} I cannot say more.', RIGHT)
    assert (values, len(heard), refused) == (READ, 2, False)
