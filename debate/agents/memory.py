"""Memory: what was said in a dialogue, fitted into a model's context by summarising the middle of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from debate.agents.debater import split_thinking
from debate.models.base import Draw, Message, Model, Sampling
from debate.prompts import Prompts
from debate.quotes import parse_plain

Speaker = Literal["persuader", "debater"]

# What only a transcript may write at the head of a speech.
_LABEL = re.compile(r"\b((?:persuader|debater|moderator|helper|judge)(?:\s*\([^()]*\))?[*_]*)\s*[:：]", re.IGNORECASE)
_NOTHING = "(nothing was noted)"


class Said(NamedTuple):
    """One message of a dialogue, by whom."""

    speaker: Speaker
    text: str


#: Makes a prompt of a summary of what is left out (empty for nothing) and the messages that are shown whole.
Build = Callable[[str, Sequence[Said]], list[Message]]


class Fitted(NamedTuple):
    """A prompt that fits.

    Attributes:
        messages: The prompt.
        summary: What stands in it for messages that are left out; empty where all is shown whole.
        room: Longest prompt that leaves room for the reply, in tokens.
    """

    messages: list[Message]
    summary: str
    room: float


class Memory:
    """Fits dialogues into contexts: the first and the last message stay whole, of those between the oldest go first.

    What goes is summarised by the model that is to reply. Lengths are counted by the model: by its own tokenizer, or,
    behind a server, by an estimate of a token for every three characters, which is rather too many.

    Args:
        prompts: Templates; it uses ``memory_summary``.
        context: Longest prompt plus reply, in tokens, where it is to be shorter than the model's own.
        summary_tokens: Longest summary, in tokens.
    """

    def __init__(self, *, prompts: Prompts, context: int | None = None, summary_tokens: int = 200) -> None:
        self._prompts = prompts
        self._context = context
        self._summary_tokens = summary_tokens

    async def fit(self, model: Model, said: Sequence[Said], build: Build, *, reply: int, draw: Draw) -> Fitted:
        """Make a prompt that leaves room for the reply.

        Args:
            model: Who is to reply.
            said: The whole dialogue.
            build: Makes the prompt.
            reply: Longest reply, in tokens.
            draw: Names the stream and repetition; a summary is drawn in a stream of its own.

        Returns:
            The prompt. Where not even the first and the last message fit beside a summary, it is too long, and the
            model will say so.

        Raises:
            ModelError: The summary cannot be had.
        """
        room = min(model.capabilities.context or math.inf, self._context or math.inf) - reply
        messages = build("", said)
        if model.count_tokens(messages) <= room or len(said) < 3:
            return Fitted(messages, "", room)
        first, *middle, last = said
        gone = 1
        while gone < len(middle):
            kept = build("-", [first, *middle[gone:], last])
            if model.count_tokens(kept) + self._summary_tokens <= room:
                break
            gone += 1
        summary = await self._summarise(model, middle[:gone], room + reply, draw)
        return Fitted(build(summary, [first, *middle[gone:], last]), summary, room)

    async def _summarise(self, model: Model, said: Sequence[Said], context: float, draw: Draw) -> str:
        """Summarise messages, as many at a time as fit, each time with the summary of those before."""
        summary, left = "", list(said)
        while left:
            count = len(left)
            while count > 1 and model.count_tokens(self._ask(summary, left[:count])) + self._summary_tokens > context:
                count -= 1
            (reply,) = await model.sample(
                self._ask(summary, left[:count]),
                draws=[draw._replace(stream=f"memory of {draw.stream}", sample=0, attempt=0)],
                sampling=Sampling(self._summary_tokens, temperature=0),
            )
            summary = parse_plain(" ".join(split_thinking(reply.text)[0].split())).plain() or _NOTHING
            left = left[count:]
        return summary

    def _ask(self, summary: str, said: Sequence[Said]) -> list[Message]:
        before = f"Before that, in short: {summary}\n\n" if summary else ""
        return self._prompts.fill("memory_summary", before=before, dialogue=show_said(said))


def show_said(said: Sequence[Said], summary: str = "") -> str:
    """Write out a dialogue as text, a line a message.

    Line breaks become spaces, and a colon after a speaker's name a dash, so that no message can fake another's.

    Args:
        said: Messages.
        summary: What was said between the first and the second of them, in short; empty for nothing.

    Returns:
        Text.
    """
    lines = [f"{one.speaker.capitalize()}: {_unlabelled(one.text)}" for one in said]
    if summary:
        lines.insert(1, f"(What was said in between, in short – {_unlabelled(summary)})")
    return "\n\n".join(lines) or "Nothing has been said yet."


def _unlabelled(text: str) -> str:
    return _LABEL.sub(r"\1 –", " ".join(text.split()))
