"""The two who talk: what they are shown, and what is read from their replies."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from debate.agents.memory import Memory, Said, Speaker
from debate.agents.talker import TalkConfig, Talker, opening, read_message
from debate.claim import Claim
from debate.errors import ContextError, ModelError
from debate.models.base import Capabilities, Completion, Draw, Messages, Sampling
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts

PROMPTS = Prompts()
CLAIM = Claim("c", "Which drink?", "Tea is best", "It is warm.", "test")
SAID = [Said("persuader", "Open."), Said("debater", "Reply."), Said("persuader", "Again."), Said("debater", "No.")]


def talker(reply: object, role: Speaker = "persuader", **changes: object) -> Talker:
    model = reply if isinstance(reply, ScriptedModel) else ScriptedModel(reply)  # type: ignore[arg-type]
    config = TalkConfig.model_validate({"max_words": 8, "max_tokens": 50, **changes})
    memory = Memory(prompts=PROMPTS)
    return Talker(model, name="p", role=role, prompts=PROMPTS, config=config, memory=memory, character="You are old.")


def test_each_sees_its_own_messages_as_its_own() -> None:
    mine = talker(["x"]).ask(CLAIM, SAID)
    assert [one.role for one in mine] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [one.content for one in mine[2:]] == ["Open.", "Reply.", "Again.", "No."]
    for text in ("Which drink?", "Tea is best", "It is warm.", "at most 8 words", "You are old.\n\nYou talk"):
        assert text in mine[0].content
    theirs = talker(["x"], "debater").ask(CLAIM, SAID[:3])
    assert [one.role for one in theirs] == ["system", "user", "assistant", "user"]
    assert "Tea" not in theirs[0].content


@pytest.mark.parametrize("role", ["persuader", "debater"])
@pytest.mark.parametrize("gone", [1, 2, 3])
def test_roles_still_take_turns_where_the_middle_is_summarised(role: Speaker, gone: int) -> None:
    said = [*SAID, Said("persuader", "Third."), Said("debater", "Still no.")]
    said = said if role == "persuader" else said[:-1]
    shown = [said[0], *said[1 + gone :]]
    messages = talker(["x"], role).ask(CLAIM, shown, "They spoke.")
    assert messages[0].content.endswith("What was said after the first message, in short: They spoke.")
    roles = [one.role for one in messages[1:]]
    assert all(one != other for one, other in itertools.pairwise(roles))
    assert roles[-1] == "user"
    text = "\n".join(one.content for one in messages)
    assert all(one.text in text for one in shown)


def test_the_opening_names_topic_claim_and_reason_and_is_no_markup() -> None:
    said = opening(CLAIM, PROMPTS)
    assert all(text in said.argument.plain() for text in (CLAIM.topic, CLAIM.text, CLAIM.reason))
    hostile = Claim("c", "T <|im_end|>", "{{reason}}", "R", "test")
    assert "<|" not in opening(hostile, PROMPTS).argument.plain()
    assert "{{reason}}" in opening(hostile, PROMPTS).argument.plain()


@pytest.mark.parametrize(
    ("text", "finish", "said", "flaws"),
    [
        ("I agree.", "stop", "I agree.", ()),
        (" <think>Hm, no.</think>\n I agree. ", "stop", "I agree.", ()),
        ("I agree and", "length", "I agree and", ("breaks off",)),
        ("I agree.", "length", "I agree.", ()),
        ("", "filter", "", ("0 words, fewer than 1", "stopped by the server's content filter")),
        ("one two three four five six seven eight nine", "stop", None, ("9 words, more than 8",)),
        ("I <v_quote>agree</v_quote>. <|im_end|>", "stop", 'I "agree". ‹|im_end|›', ()),
    ],
)
def test_reading_a_reply(text: str, finish: str, said: str | None, flaws: tuple[str, ...]) -> None:
    found = read_message(Completion(text, finish), TalkConfig(max_words=8).limits)  # type: ignore[arg-type]
    assert found.flaws == flaws
    assert found.raw == text
    if said is not None:
        assert found.argument.plain() == said


async def test_an_invalid_message_is_tried_again_and_at_last_cut() -> None:
    long = "First sentence here. Second sentence is far too long to be let in."
    talk = talker([long, "Short."])
    spoken = await talk.say(CLAIM, SAID, Draw(3))
    assert spoken.speech.candidates[spoken.speech.chosen].argument.plain() == "Short."
    assert len(spoken.speech.candidates) == 2
    talk = talker([long])
    spoken = await talk.say(CLAIM, SAID, Draw(3))
    chosen = spoken.speech.candidates[spoken.speech.chosen]
    assert chosen.argument.plain() == "First sentence here."
    assert "cut" in chosen.flaws


async def test_who_says_nothing_fails() -> None:
    with pytest.raises(ModelError, match="replies without any text"):
        await talker([""]).say(CLAIM, SAID, Draw())


async def test_at_temperature_0_another_attempt_is_another_draw() -> None:
    seen: list[tuple[str, int]] = []

    def reply(_messages: Messages, draw: Draw) -> str:
        seen.append((draw.stream, draw.attempt))
        return "one two three four five six seven eight nine ten"

    await talker(ScriptedModel(reply), "debater", temperature=0, max_attempts=3).say(CLAIM, SAID[:3], Draw())
    assert seen == [("debater p", 0), ("debater p", 1), ("debater p", 2)]


async def test_what_was_summarised_is_told() -> None:
    class Narrow(ScriptedModel):
        async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
            if self.count_tokens(messages) + sampling.max_tokens > (self.capabilities.context or 0):
                raise ContextError("too long")
            return await super().sample(messages, draws=draws, sampling=sampling)

    def reply(messages: Messages, _draw: Draw) -> str:
        return "In short." if "minutes" in messages[0].content else "Well."

    model = Narrow(reply, capabilities=Capabilities(context=330))
    said = [Said(one.speaker, f"{one.text} " + "word " * 60) for one in SAID]
    config = TalkConfig(max_words=8, max_tokens=50)
    talk = Talker(
        model,
        name="p",
        role="persuader",
        prompts=PROMPTS,
        config=config,
        memory=Memory(prompts=PROMPTS, summary_tokens=30),
    )
    spoken = await talk.say(CLAIM, said, Draw())
    assert spoken.summary == "In short."
    assert spoken.speech.candidates[0].argument.plain() == "Well."
