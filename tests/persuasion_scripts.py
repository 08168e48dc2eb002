"""Scripted models for persuasion (``scripted/tests.persuasion_scripts:debater``); all follow from prompt and draw.

The debater says one of a few plain things, and the moderators read them off its last line: what a dialogue should come
to is known from its transcript alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from debate.models.base import Capabilities, Draw, Messages
from debate.models.scripted import ScriptedModel
from tests.scripts import Slow, noise

NAME = "scripted/tests.persuasion_scripts"
AGREES = "I agree with the claim now."
DOUBTS = "I do not agree, for reason"
THANKS = "Thank you, it was a pleasure."
WANDERS = "By the way, what nice weather."


def argue(messages: Messages, draw: Draw) -> str:
    """Give a reason that nobody gave before."""
    return f"Reason {noise('argue', messages, draw).randrange(10**6)} speaks for it. Do you agree now?"


def weigh(messages: Messages, draw: Draw) -> str:
    """Agree seldom with the opening, more often with fair argument, and most often with a fallacy."""
    heard = messages[-1].content
    rng = noise("weigh", messages, draw)
    likely = 0.15 if "Let us talk" in heard else 0.5 if "FALLACY" in heard else 0.3 if "LOGICAL" in heard else 0.2
    value = rng.random()
    if value < likely:
        return AGREES
    if value > 0.95:
        return WANDERS
    return THANKS if value > 0.9 else f"{DOUBTS} {rng.randrange(10**6)}."


def rewrite(messages: Messages, draw: Draw) -> str:
    """Fill in the helper's form; now and then only when asked again, and for some drafts never."""
    prompt = messages[-1].content if len(messages) == 2 else messages[-3].content
    rng = noise("rewrite", prompt, draw.repetition)
    value = rng.random()
    if value < 0.05 or (value < 0.15 and draw.attempt == 0):
        return "Here is my rewrite, without any form."
    if '"fallacy"' in prompt:
        name = rng.choice(["straw man", "False Dilemma", "Appeal to Popular Opinion", "Strawman Fallacy", "oddity"])
        return json.dumps({"fallacy": name, "argument": f"FALLACY {rng.randrange(10**6)}. Do you agree now?"})
    return json.dumps({"reasoning": "from cause", "argument": f"LOGICAL {rng.randrange(10**6)}. Do you agree now?"})


def last_lines(prompt: str) -> str:
    """What the debater said last, as a transcript shows it."""
    return str(re.findall(r"^Debater: (.*)$", prompt, re.MULTILINE)[-1])


def moderate(messages: Messages, _draw: Draw) -> str:
    """Read the answer off what the debater said last."""
    prompt = messages[-1].content
    said = last_lines(prompt)
    if "Others have watched" in prompt:
        stop = said in {AGREES, THANKS} or said == WANDERS
        return json.dumps({"decision": "stop" if stop else "go on", "reason": "As they found."})
    yes = said == AGREES
    if "do nothing any more" in prompt:
        yes = said == THANKS
    elif "still speak about the topic" in prompt:
        yes = said != WANDERS
    return json.dumps({"answer": "yes" if yes else "no", "reason": f"It said: {said}"})


def lean(messages: Messages, choices: Sequence[str]) -> list[float]:
    """Give the letter of the answer that ``moderate`` would give 0.6 of the mass, and lean to the first letter."""
    prompt = messages[-1].content
    yes = json.loads(moderate(messages, Draw()))["answer"]
    place = 0 if f"A: {yes}" in prompt else 1
    shares = [0.2, 0.1]
    shares[place] += 0.6
    return [*shares, *([0.0] * (len(choices) - 2))]


def persuader() -> ScriptedModel:
    """A persuader."""
    return ScriptedModel(argue, name=f"{NAME}:persuader", capabilities=Capabilities())


def second_persuader() -> ScriptedModel:
    """The same under another name."""
    return ScriptedModel(argue, name=f"{NAME}:second_persuader", capabilities=Capabilities())


def debater() -> ScriptedModel:
    """A debater."""
    return ScriptedModel(weigh, name=f"{NAME}:debater", capabilities=Capabilities())


def second_debater() -> ScriptedModel:
    """The same under another name."""
    return ScriptedModel(weigh, name=f"{NAME}:second_debater", capabilities=Capabilities())


def stubborn_debater() -> ScriptedModel:
    """A debater that is never convinced, so that every dialogue takes all rounds."""

    def doubt(messages: Messages, draw: Draw) -> str:
        return f"{DOUBTS} {noise('doubt', messages, draw).randrange(10**6)}."

    return ScriptedModel(doubt, name=f"{NAME}:stubborn_debater", capabilities=Capabilities())


def helper() -> ScriptedModel:
    """A helper."""
    return ScriptedModel(rewrite, name=f"{NAME}:helper", capabilities=Capabilities())


def able_helper() -> ScriptedModel:
    """A helper whose first reply can always be read."""

    def fill(messages: Messages, draw: Draw) -> str:
        kind = "fallacy" if '"fallacy"' in messages[-1].content else "reasoning"
        number = noise("fill", messages, draw).randrange(10**6)
        return json.dumps({kind: "straw man", "argument": f"{kind} {number}. Do you agree now?"})

    return ScriptedModel(fill, name=f"{NAME}:able_helper", capabilities=Capabilities())


def moderator() -> ScriptedModel:
    """Moderators that reply with a form, and give letters too."""
    return ScriptedModel(moderate, choose=lean, name=f"{NAME}:moderator", capabilities=Capabilities())


def second_moderator() -> ScriptedModel:
    """The same under another name."""
    return ScriptedModel(moderate, choose=lean, name=f"{NAME}:second_moderator", capabilities=Capabilities())


def shy_moderator() -> ScriptedModel:
    """Moderators that refuse about a third of all topics, and of those every question."""

    def reply(messages: Messages, draw: Draw) -> str:
        topic = messages[1].content.splitlines()[0]
        shy = noise("shy", topic).random() < 1 / 3
        return "I'm sorry, but I can't judge this topic." if shy else moderate(messages, draw)

    return ScriptedModel(reply, name=f"{NAME}:shy_moderator", capabilities=Capabilities())


def fickle_moderator() -> ScriptedModel:
    """Moderators that find a third of all debaters convinced, whatever these say: tiny models talk nonsense."""

    def reply(messages: Messages, _draw: Draw) -> str:
        prompt = messages[-1].content
        yes = noise("fickle", prompt.split("Others have watched")[0].partition("Debater: ")[2]).random() < 1 / 3
        if "Others have watched" in prompt:
            return json.dumps(
                {"decision": "stop" if "convinced of the claim? yes" in prompt else "go on", "reason": "So."}
            )
        if "still speak about the topic" in prompt:
            yes = True
        elif "do nothing any more" in prompt:
            yes = False
        return json.dumps({"answer": "yes" if yes else "no", "reason": "So."})

    return ScriptedModel(reply, name=f"{NAME}:fickle_moderator", capabilities=Capabilities())


def mumbling_moderator() -> ScriptedModel:
    """Moderators of which no reply can be read."""
    return ScriptedModel(["Hm, yes and no."], name=f"{NAME}:mumbling_moderator", capabilities=Capabilities())


def likelihood(messages: Messages, sentence: str) -> float:
    """Let the sentence that is right for the debater's last line be likelier by 3; of fallacies see the code."""
    prompt = messages[-1].content
    if "Name the fallacy" in prompt:
        said = "Nothing has been said" not in prompt
        return -5.0 + 2 * (said and sentence == "slippery slope") + (sentence == "straw man")
    said_last = last_lines(prompt)
    right = {
        "The debater is convinced of the claim.": said_last == AGREES,
        "The debater is not convinced of the claim.": said_last != AGREES,
        "They talk about the topic.": said_last != WANDERS,
        "They talk about something else.": said_last == WANDERS,
        "They exchange thanks and compliments.": said_last == THANKS,
        "They exchange arguments about the claim.": said_last != THANKS,
    }
    return -10.0 + 3 * right[sentence]


ECHOED = "Everybody who is clever already thinks so."
#: A run whose every text takes over what the fallacious helper wrote.
PARROTS = {
    "persuaders": [{"name": "p", "model": f"{NAME}:echoing_persuader"}],
    "debaters": [{"name": "d", "model": f"{NAME}:echoing_debater"}],
    "helper": {"model": f"{NAME}:echoed_helper", "max_tokens": 40},
    "moderators": {"model": f"{NAME}:echoing_moderator", "max_tokens": 40},
    "memory": {"context": 800, "summary_tokens": 60},
    "talk": {"max_words": 120, "max_tokens": 200},
    "scenarios": ["fallacy", "logical"],
    "limit": 1,
    "repetitions": 1,
    "rounds": 6,
}


def echoing_persuader() -> ScriptedModel:
    """A persuader that says again what it was told it said, and sums it up in the same words."""

    def reply(messages: Messages, _draw: Draw) -> str:
        heard = any(ECHOED in message.content for message in messages)
        return f"{ECHOED if heard else ''} It is a fair point that stays. Do you agree now?"

    return ScriptedModel(reply, name=f"{NAME}:echoing_persuader", capabilities=Capabilities())


def echoing_debater() -> ScriptedModel:
    """A debater that quotes what it heard, at length, and so needs a memory."""

    def reply(messages: Messages, _draw: Draw) -> str:
        heard = any(ECHOED in message.content for message in messages)
        if "Sum this up" in messages[-1].content:
            return ECHOED if heard else "They spoke."
        return f"{DOUBTS} 1. You say: {ECHOED if heard else 'nothing'} {'So I wonder. ' * 30}"

    return ScriptedModel(reply, name=f"{NAME}:echoing_debater", capabilities=Capabilities())


def echoed_helper() -> ScriptedModel:
    """A helper whose fallacies can be told word for word."""

    def fill(messages: Messages, _draw: Draw) -> str:
        if '"fallacy"' in messages[-1].content:
            return json.dumps({"fallacy": "ad populum", "argument": f"It is a fair point that stays. {ECHOED}"})
        return json.dumps({"reasoning": "from cause", "argument": "LOGICAL 1. Do you agree now?"})

    return ScriptedModel(fill, name=f"{NAME}:echoed_helper", capabilities=Capabilities())


def echoing_moderator() -> ScriptedModel:
    """Moderators that go on, and give what they read for the reason."""

    def reply(messages: Messages, _draw: Draw) -> str:
        prompt = messages[-1].content
        reason = ECHOED if ECHOED in prompt else "Nothing yet."
        if "Others have watched" in prompt:
            return json.dumps({"decision": "go on", "reason": reason})
        return json.dumps({"answer": "yes" if "still speak" in prompt else "no", "reason": reason})

    return ScriptedModel(reply, name=f"{NAME}:echoing_moderator", capabilities=Capabilities())


def scoring_moderator() -> ScriptedModel:
    """Moderators that can do nothing but score texts."""
    return ScriptedModel(
        [""], score=likelihood, name=f"{NAME}:scoring_moderator", capabilities=Capabilities(score=True)
    )


def scoring_helper() -> ScriptedModel:
    """A helper that scores texts, and writes no forms."""

    def write(messages: Messages, draw: Draw) -> str:
        kind = "FALLACY" if "commits this fallacy: slippery slope" in messages[-1].content else "LOGICAL"
        return f"{kind} {noise('write', messages, draw).randrange(10**6)}. Do you agree now?"

    return ScriptedModel(write, score=likelihood, name=f"{NAME}:scoring_helper", capabilities=Capabilities(score=True))


def validator() -> ScriptedModel:
    """A validator that takes every argument for a straw man or a false dilemma, by its number, and mumbles of some."""

    def name(messages: Messages, _draw: Draw) -> str:
        found = re.search(r"^(?:FALLACY|fallacy) (\d+)\.", messages[1].content, re.MULTILINE)
        number = int(found[1]) if found else 0
        if number % 10 == 0:
            return "I would not know."
        return json.dumps({"fallacy": "Strawman" if number % 2 else "false dichotomy"})

    return ScriptedModel(name, name=f"{NAME}:validator", capabilities=Capabilities())


VALIDATED_AS_NONE = f"{NAME}:lenient_validator"


def lenient_validator() -> ScriptedModel:
    """A validator that finds no fallacy anywhere."""
    return ScriptedModel([json.dumps({"fallacy": "none"})], name=VALIDATED_AS_NONE, capabilities=Capabilities())


def slow(name: str) -> ScriptedModel:
    """One of the models above with latency, which logs each call that it is asked."""
    reply = {"slow_persuader": argue, "slow_debater": weigh, "slow_helper": rewrite, "slow_moderator": moderate}[name]
    return Slow(reply, name=f"{NAME}:{name}", capabilities=Capabilities())


def slow_persuader() -> ScriptedModel:
    """``persuader`` with latency."""
    return slow("slow_persuader")


def slow_debater() -> ScriptedModel:
    """``debater`` with latency."""
    return slow("slow_debater")


def slow_helper() -> ScriptedModel:
    """``helper`` with latency."""
    return slow("slow_helper")


def slow_moderator() -> ScriptedModel:
    """``moderator`` with latency."""
    return slow("slow_moderator")
