"""Scripted models for configurations (``model: scripted/tests.scripts:debater``); all follow from prompt and draw."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import random
import re
from collections.abc import Sequence
from typing import Any

from debate.errors import ContextError, ModelError
from debate.models.base import Capabilities, Choice, Completion, Draw, Messages, Sampling, Scores, estimate_tokens
from debate.models.scripted import ScriptedModel

#: Names the file in which ``slow_debater`` and ``slow_judge`` log each call before they answer it.
ASKED = "DISSOI_TEST_ASKED"
#: While it is set, the model of ``flaky`` fails now and then.
DOWN = "DISSOI_TEST_DOWN"
#: The digest of the model of ``changing``.
WEIGHTS = "DISSOI_TEST_WEIGHTS"
#: The context of the models of ``narrow_debater`` and ``narrow_judge``, in estimated tokens.
CONTEXT = "DISSOI_TEST_CONTEXT"
SECONDS = (0.005, 0.04)  # latency of the slow models

FILLER = (
    "The other answer cannot explain this line at all.",
    "Nothing that my opponent says speaks against these words.",
    "A reader who follows the events in order agrees.",
    "The opposing answer needs a motive that the text never gives.",
)


def noise(*parts: object) -> random.Random:
    """Return a generator that depends on its arguments alone."""
    return random.Random(hashlib.sha256(json.dumps(parts, default=list).encode()).digest())


def argue(messages: Messages, draw: Draw) -> str:
    """Write 25 to 60 words with a quote from the story of the prompt; without a story, explain the evidence."""
    rng = noise(messages, draw)
    found = re.search(r"<story>(.*?)</story>", messages[-1].content, re.DOTALL)
    if found is None:
        return f"These words show it plainly, and {rng.randrange(10**6)} readers would agree. {rng.choice(FILLER)}"
    sentences = [part.strip() for part in re.split(r"(?<=[.!?])\s+", found[1]) if 4 <= len(part.split()) <= 20]
    lead = f"My answer is right, for {rng.randrange(10**6)} reasons."  # the number makes every speech another one
    speech = f"{lead} The story says <quote>{rng.choice(sentences)}</quote> and that settles it."
    while len(speech.split()) < 25:
        speech += f" {rng.choice(FILLER)}"
    return f"I look for the strongest line.\n<argument>{speech}</argument>"


def lean(messages: Messages, choices: Sequence[str]) -> list[float]:
    """Give the choices probabilities that depend on the prompt, with 0.9 of the mass."""
    share = noise("judge", messages).uniform(0.05, 0.95)
    return [0.9 * share, 0.9 * (1 - share), *([0.0] * (len(choices) - 2))]


def likelihood(messages: Messages, continuation: str) -> float:
    """Give a log-probability that depends on the prompt and the continuation."""
    return -10 * noise("score", messages, continuation).random() - len(continuation.split())


def debater() -> ScriptedModel:
    """A debater that quotes the story."""
    return ScriptedModel(argue, score=likelihood, name="scripted/tests.scripts:debater")


def second_debater() -> ScriptedModel:
    """The same under another name, so that its calls are counted by themselves."""
    return ScriptedModel(argue, score=likelihood, name="scripted/tests.scripts:second_debater")


def short_debater() -> ScriptedModel:
    """A debater with a context of 2,000 tokens (words, as scripted models count)."""
    return ScriptedModel(
        argue,
        score=likelihood,
        name="scripted/tests.scripts:short_debater",
        capabilities=Capabilities(score=True, context=2000),
    )


def wordless_debater() -> ScriptedModel:
    """A debater that never quotes and says too little."""
    return ScriptedModel(["I am right."], name="scripted/tests.scripts:wordless_debater")


def refine(messages: Messages, draw: Draw) -> str:
    """Argue like ``argue``, and anew where a critique is the last message; criticise where a critique is wanted."""
    if "Write a critique" in messages[-1].content:
        return f"Say more of line {noise(messages, draw).randrange(10**6)}."
    asked = messages if "<story>" in messages[-1].content else [next(m for m in messages if "<story>" in m.content)]
    return argue(asked, draw._replace(seed=noise(messages).randrange(10**9)))


def refining_debater() -> ScriptedModel:
    """A debater that can be criticised and write anew."""
    return ScriptedModel(refine, choose=lean, score=likelihood, name="scripted/tests.scripts:refining_debater")


def rise(messages: Messages, draw: Draw) -> str:
    """Like ``refine``, but the number of reasons rises with the sample, and by the critique followed."""
    if "Write a critique" in messages[-1].content:
        return f"Say more of line {draw.sample + 1}."
    said = re.search(r"for (\d+) reasons", messages[-2].content) if len(messages) > 1 else None
    followed = re.search(r"Say more of line (\d+)", messages[-1].content)
    reasons = 10 * draw.sample + noise(messages[-1].content).randrange(10)
    if said and followed:
        reasons = int(said[1]) + 1000 * int(followed[1])
    return re.sub(r"for \d+ reasons", f"for {reasons} reasons", refine(messages, draw))


def rising_debater() -> ScriptedModel:
    """A debater whose every sample gives more reasons than the one before, and every later critique helps more."""
    return ScriptedModel(rise, name="scripted/tests.scripts:rising_debater")


def count_reasons(messages: Messages, choices: Sequence[str]) -> list[float]:
    """Prefer the answer for which more reasons are named, and of critiques the one of the highest line."""
    text = messages[-1].content
    if "Which critique" in text:
        lines = [int(line) for line in re.findall(r"Say more of line (\d+)", text)]
        return [0.9 * (line == max(lines)) for line in lines]
    line = r"^(?:Debater|Consultant) {}: .*?for (\d+) reasons"
    named = {letter: re.findall(line.format(letter), text, re.MULTILINE) for letter in "AB"}
    more = sum(map(int, named["A"])) - sum(map(int, named["B"]))
    share = 1 / (1 + math.exp(-max(-9.0, min(9.0, more / 2e5 if abs(more) > 9000 else more / 100))))
    return [0.9 * share, 0.9 * (1 - share), *([0.0] * (len(choices) - 2))]


def counting_judge() -> ScriptedModel:
    """A judge that believes whoever names more reasons."""
    return ScriptedModel(choose=count_reasons, name="scripted/tests.scripts:counting_judge")


def count_said(_messages: Messages, speech: str) -> float:
    """Reward the reasons that a speech names."""
    return sum(map(float, re.findall(r"for (\d+) reasons", speech))) / 1000


def reward() -> ScriptedModel:
    """A reward model that likes many reasons."""
    able = Capabilities().of_reward()
    return ScriptedModel(score=count_said, capabilities=able, name="scripted/tests.scripts:reward")


def second_rising_debater() -> ScriptedModel:
    """The same under another name, so that its calls are counted by themselves."""
    return ScriptedModel(rise, name="scripted/tests.scripts:second_rising_debater")


def second_counting_judge() -> ScriptedModel:
    """A judge that asks something, and of tens of reasons counts only an odd number of them."""

    def choose(messages: Messages, choices: Sequence[str]) -> list[float]:
        def odd(found: re.Match[str]) -> str:
            return found[0] if int(found[1]) // 10 % 2 else "for 0 reasons"

        *before, last = messages
        return count_reasons([*before, last._replace(content=re.sub(r"for (\d+) reasons", odd, last.content))], choices)

    def speak(messages: Messages, draw: Draw) -> str:
        return f"What does line {noise('ask', messages, draw).randrange(10**6)} prove?"

    return ScriptedModel(speak, choose=choose, name="scripted/tests.scripts:second_counting_judge")


def judge() -> ScriptedModel:
    """A judge whose verdicts depend on what it reads."""
    return ScriptedModel(choose=lean, name="scripted/tests.scripts:judge")


def asking_judge() -> ScriptedModel:
    """A judge that asks something between rounds, and decides by what it reads."""

    def speak(messages: Messages, draw: Draw) -> str:
        return f"Judge: What does line {noise('ask', messages, draw).randrange(10**6)} prove, Debater A?"

    return ScriptedModel(speak, choose=lean, name="scripted/tests.scripts:asking_judge")


def reasoning_judge() -> ScriptedModel:
    """A judge that reasons, and names no answer in about a quarter of its replies."""

    def think(messages: Messages, draw: Draw) -> str:
        value = noise("think", messages, draw).random()
        return (
            "I cannot tell who is right." if value < 0.25 else f"I weighed it.\nAnswer: {'A' if value < 0.6 else 'B'}"
        )

    return ScriptedModel(think, name="scripted/tests.scripts:reasoning_judge")


class Failing(ScriptedModel):
    """A model that fails for good on about one prompt in four, the same ones each time."""

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Reply or fail."""
        if noise("fail", messages).random() < 0.25:
            raise ModelError("the scripted model failed, as its script says")
        return await super().sample(messages, draws=draws, sampling=sampling)


def failing() -> ScriptedModel:
    """A debater whose model fails for good on some prompts."""
    return Failing(argue, name="scripted/tests.scripts:failing")


class Flaky(ScriptedModel):
    """A model that fails one speech in four, by prompt and player, while the environment says that it is down."""

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Reply or fail."""
        if os.environ.get(DOWN) and noise("fail", messages, draws[0].stream).random() < 0.25:
            raise ModelError("the scripted model is down")
        return await super().sample(messages, draws=draws, sampling=sampling)


def flaky() -> ScriptedModel:
    """A debater whose model fails now and then while the environment says that it is down."""
    return Flaky(argue, name="scripted/tests.scripts:flaky")


def changing() -> ScriptedModel:
    """A debater whose weights are what the environment says."""
    model = ScriptedModel(argue, score=likelihood, name="scripted/tests.scripts:changing")
    model.digest = os.environ.get(WEIGHTS, "one")
    return model


def picking_debater() -> ScriptedModel:
    """A debater that cannot score, so it is asked to pick sentences by their numbers."""
    return ScriptedModel(
        argue, name="scripted/tests.scripts:picking_debater", capabilities=Capabilities(score=False, context=100_000)
    )


def words_only_judge() -> ScriptedModel:
    """A judge that gives no log-probabilities."""
    return ScriptedModel(
        ["I weighed it.\nAnswer: A", "I weighed it.\nAnswer: B"],
        name="scripted/tests.scripts:words_only_judge",
        capabilities=Capabilities(logprobs=False),
    )


class Broken(ScriptedModel):
    """A model that always fails."""

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:  # noqa: ARG002 - the interface
        """Fail."""
        raise ModelError("the scripted model always fails")


def broken() -> ScriptedModel:
    """A debater whose model always fails."""
    return Broken(name="scripted/tests.scripts:broken")


class Slow(ScriptedModel):
    """A model that takes its time, which differs from call to call, and logs each call when it is asked."""

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Wait, then reply."""
        for draw in draws:
            self._log("sample", messages, draw)
        await self._wait(messages)
        return await super().sample(messages, draws=draws, sampling=sampling)

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Wait, then reply."""
        self._log("choose", messages, choices)
        await self._wait(messages)
        return await super().choose(messages, choices)

    async def score(self, messages: Messages, continuations: Sequence[str]) -> Scores:
        """Wait, then reply."""
        self._log("score", messages, continuations)
        await self._wait(messages)
        return await super().score(messages, continuations)

    async def _wait(self, messages: Messages) -> None:
        await asyncio.sleep(noise("wait", messages).uniform(*SECONDS))

    def _log(self, *parts: object) -> None:
        path = os.environ.get(ASKED)
        if path:
            key = hashlib.sha256(json.dumps([self.name, *parts], default=list).encode()).hexdigest()
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            os.write(descriptor, f"{key}\n".encode())  # one write a line: a kill cuts none
            os.close(descriptor)


def slow_debater() -> ScriptedModel:
    """``debater`` with latency."""
    return Slow(argue, score=likelihood, name="scripted/tests.scripts:slow_debater")


def slow_judge() -> ScriptedModel:
    """``judge`` with latency."""
    return Slow(choose=lean, name="scripted/tests.scripts:slow_judge")


class Narrow(ScriptedModel):
    """A model whose context, in estimated tokens, is what the environment says; longer prompts fail, as at a server."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        context = int(os.environ.get(CONTEXT, "100000"))
        super().__init__(*args, **keywords, capabilities=Capabilities(context=context))
        self._context = context

    def count_tokens(self, messages: Messages) -> int:
        """Estimate."""
        return estimate_tokens(messages)

    def _check(self, messages: Messages, reply: int) -> None:
        if self.count_tokens(messages) + reply > self._context:
            raise ContextError(f"{self.count_tokens(messages)} and {reply} tokens are more than {self._context}")

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Reply where there is room."""
        self._check(messages, sampling.max_tokens)
        return await super().sample(messages, draws=draws, sampling=sampling)

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Decide where there is room."""
        self._check(messages, 1)
        return await super().choose(messages, choices)


def say_all(messages: Messages, _draw: Draw) -> str:
    """Say as many words as are allowed, all of the story, some of them in a quote."""
    found = re.search(r"Write \d+ to (\d+) words", messages[-1].content)
    story = re.search(r"<story>(.*?)</story>", messages[-1].content, re.DOTALL)
    if found is None or story is None:  # it is the judge who speaks
        return " ".join(re.findall(r"\w{3,}", messages[-1].content)[:60])
    quote = next(part for part in re.split(r"(?<=[.!?])\s+", story[1].strip()) if 4 <= len(part.split()) <= 20)
    words = (re.findall(r"\w{3,}", story[1]) * 50)[: int(found[1]) - len(quote.split())]
    return f"<argument><quote>{quote}</quote> {' '.join(words)}</argument>"


def narrow_debater() -> ScriptedModel:
    """A debater with a narrow context that says all it may."""
    return Narrow(say_all, name="scripted/tests.scripts:narrow_debater")


def wordy_debater() -> ScriptedModel:
    """A debater that says all it may."""
    return ScriptedModel(say_all, name="scripted/tests.scripts:wordy_debater")


def narrow_judge() -> ScriptedModel:
    """A judge with a narrow context, that asks much if it may."""
    return Narrow(say_all, choose=lean, name="scripted/tests.scripts:narrow_judge")
