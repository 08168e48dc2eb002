"""The one interface to every language model: sample, choose, score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol

from debate.errors import ModelAccessError, ModelError

#: Most samples in one request: the most that OpenAI's servers, and others after them, take as ``n``.
MOST_SAMPLES = 128

MessageRole = Literal["system", "user", "assistant"]


class Message(NamedTuple):
    """One message of a chat."""

    role: MessageRole
    content: str


Messages = Sequence[Message]


class Draw(NamedTuple):
    """What makes one sample of a prompt distinct from another, and the same one again after a resume.

    Attributes:
        seed: The run's seed.
        stream: Who draws, such as a player's name: two players of one model draw independently.
        repetition: Counts whole repetitions of the same debate.
        sample: Counts the samples of one prompt.
        attempt: Counts attempts after invalid samples.
    """

    seed: int = 0
    stream: str = ""
    repetition: int = 0
    sample: int = 0
    attempt: int = 0

    def take(self, n: int) -> list[Draw]:
        """Return ``n`` draws that count up from this one's sample."""
        return [self._replace(sample=self.sample + index) for index in range(n)]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample.

    Attributes:
        max_tokens: Longest reply, in tokens.
        temperature: 0 is greedy.
        top_p: Nucleus: the least set of tokens whose probability reaches it.
        stop: Texts that end a reply; they are not part of it.
        choices: The replies that there may be, none for any; only for models that are ``structured``.
        schema: A JSON schema, as JSON, that the reply is held to; empty for none. Only for models that are
            ``json_schema``.
    """

    max_tokens: int
    temperature: float = 0.8
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a call used.

    Attributes:
        tokens_in: Prompt tokens.
        tokens_out: Reply tokens, hidden reasoning tokens included.
        cached: Prompt tokens served from a cache, where the server says.
        reasoning: Hidden reasoning tokens, where the server says.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Add up."""
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled reply.

    Attributes:
        text: The reply.
        finish: Why it ended: by itself, at ``max_tokens``, or by a content filter or a refusal that the server names.
        usage: Tokens; of the replies to one request, the first carries the prompt's tokens.
    """

    text: str
    finish: Literal["stop", "length", "filter"]
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Choice:
    """Next-token probabilities over given choices.

    Attributes:
        probabilities: Over the choices, normalised to sum 1. Where ``mass`` is 0 they are uniform and say nothing.
        mass: Probability of all choices together before normalising, in [0, 1]. 0 means that the choices had no
            probability, or less than the server tells; 1 where it was held to the choices and they were counted.
        usage: Tokens.
        calls: How many calls it took: where replies were counted, each is one.
    """

    probabilities: tuple[float, ...]
    mass: float
    usage: Usage = field(default_factory=Usage)
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Scores:
    """Log-probabilities of given continuations, or their rewards.

    Attributes:
        values: Natural log-probability of each whole continuation, summed over its tokens; of a reward model
            (``Capabilities.reward``) what it gives each.
        usage: Tokens.
    """

    values: tuple[float, ...]
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do; declared, never guessed.

    Attributes:
        logprobs: ``choose`` works.
        score: ``score`` works.
        n: Several samples in one request.
        system_role: Takes a system message (else it is put before the first user message).
        temperature: Takes a temperature and top_p.
        reasoning: Spends hidden reasoning tokens before it replies.
        structured: Can be held to given choices (vLLM's ``structured_outputs``), so that replies are counted where
            probabilities are not told; see ``draw_choice``.
        json_schema: Can be held to a JSON schema (``response_format``).
        lora: Its server loads LoRA adapters at run time.
        reward: It is a reward model: ``score`` gives rewards, and nothing else can be asked.
        context: Longest prompt plus reply, in tokens; None where it is not known.
    """

    logprobs: bool = True
    score: bool = False
    n: bool = True
    system_role: bool = True
    temperature: bool = True
    reasoning: bool = False
    structured: bool = False
    json_schema: bool = False
    lora: bool = False
    reward: bool = False
    context: int | None = None

    def of_reward(self) -> Capabilities:
        """Return those of a reward model on a model that has these."""
        return replace(self, logprobs=False, score=False, reward=True)

    @property
    def letters(self) -> bool:
        """Whether ``choose`` works: the first token of a model that thinks first is no answer."""
        return (self.logprobs or self.structured) and not self.reasoning


class ShortReplyError(ModelError):
    """A server gave fewer samples than it was asked for.

    Attributes:
        completions: What it gave, at least one: it is paid for.
    """

    def __init__(self, message: str, completions: Sequence[Completion]) -> None:
        super().__init__(message)
        self.completions = completions


class UnusableReplyError(ModelError):
    """A server replied, and is paid for it, but the reply holds nothing that can be used.

    Attributes:
        usage: Tokens.
    """

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


class NoLogprobsError(ModelAccessError):
    """A model that was taken to give log-probabilities replied without: no other reply will have them.

    Attributes:
        usage: Tokens.
    """

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


def estimate_tokens(messages: Messages) -> int:
    """Estimate a prompt's tokens, rounded up: a token for every three characters, and four a message."""
    return sum(math.ceil(len(message.content) / 3) + 4 for message in messages)


class Model(Protocol):
    """A language model.

    ``name`` is what users call it (``openai/gpt-4.1-mini``). ``digest`` tells apart whatever can change a reply under
    one name: weights, adapter, engine, dtype.
    """

    @property
    def name(self) -> str:
        """The name that users give it."""
        ...

    @property
    def digest(self) -> str:
        """What else decides its replies: weights, adapter, engine, dtype."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Sample one reply for each draw.

        Args:
            messages: The prompt.
            draws: One for each reply wanted; equal draws of one prompt give equal replies where the engine can.
            sampling: Temperature and limits.

        Returns:
            Replies in the order of ``draws``.

        Raises:
            ContextError: Prompt and reply exceed the context.
            ShortReplyError: There are fewer replies; it holds those that there are.
            ModelError: The call failed for good.
        """
        ...

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Give the probability that the reply begins with each choice, summed over its token forms.

        Args:
            messages: The prompt.
            choices: Short texts, such as "A" and "B".

        Returns:
            Probabilities over the choices and their mass.

        Raises:
            ContextError: The prompt exceeds the context.
            NoLogprobsError: The model gives no probabilities, though it was taken to.
            ModelError: The call failed for good.
        """
        ...

    async def score(self, messages: Messages, continuations: Sequence[str]) -> Scores:
        """Give the log-probability of each continuation as the reply; a reward model its reward as the whole reply.

        Args:
            messages: The prompt.
            continuations: Texts.

        Returns:
            One natural log-probability, or one reward, for each.

        Raises:
            ContextError: Prompt and continuation exceed the context.
            ModelError: The call failed for good.
        """
        ...

    def count_tokens(self, messages: Messages) -> int:
        """Count the prompt's tokens: exactly where the tokenizer is at hand, else an estimate rounded up."""
        ...

    async def close(self) -> None:
        """Let go of connections, threads and memory."""
        ...
