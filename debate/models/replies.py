"""What a server's reply says: whether it is a chat completion, its samples, first tokens and shares of the usage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from debate.models.base import Usage
from debate.models.letters import TokenProbability

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion
    from openai.types.chat.chat_completion import Choice as SdkChoice


def is_well_formed(response: ChatCompletion) -> bool:
    """Whether a reply has the types of a chat completion, as far as we read it: the SDK takes what a server sends.

    Args:
        response: What the SDK made of a reply.

    Returns:
        Whether texts are texts, log-probabilities and counts of tokens are numbers; without choices too.
    """
    try:
        for choice in response.choices or ():
            if not isinstance(content_of(choice), str | None):
                return False
            told = (choice.logprobs.content or ()) if choice.logprobs else ()
            entries = [one for entry in told for one in (entry, *(entry.top_logprobs or ()))]
            if not all(isinstance(one.token, str) and one.logprob < 1 for one in entries):
                return False
        used = response.usage
        parts = () if used is None else (used.prompt_tokens_details, used.completion_tokens_details)
        counts: list[object] = [] if used is None else [used.prompt_tokens, used.completion_tokens, used.total_tokens]
        counts += [getattr(part, name, None) for part in parts for name in ("cached_tokens", "reasoning_tokens")]
        return all(isinstance(count, int | None) for count in counts)
    except (AttributeError, TypeError):
        return False


def first_tokens(response: ChatCompletion) -> list[TokenProbability]:
    """Return the likeliest first tokens of a reply, the one that was drawn among them.

    Raises:
        ValueError: It has none.
    """
    reported = response.choices[0].logprobs
    if reported is None or not reported.content:
        raise ValueError("the server returned no log-probabilities")
    first = reported.content[0]
    tokens = [TokenProbability(entry.token, math.exp(entry.logprob)) for entry in first.top_logprobs or []]
    if first.token not in {entry.token for entry in tokens}:
        tokens.insert(0, TokenProbability(first.token, math.exp(first.logprob)))
    return tokens


def samples(response: ChatCompletion) -> list[SdkChoice]:
    """Return the samples of a reply in order; one that is given twice is one."""
    found = {(choice.index or 0, content_of(choice)): choice for choice in reversed(response.choices)}
    return sorted(found.values(), key=lambda choice: choice.index or 0)


def finish_of(reason: str | None) -> Literal["stop", "length", "filter"]:
    """Name why a reply ended, as ``Completion.finish`` does."""
    if reason == "length":
        return "length"
    return "filter" if reason == "content_filter" else "stop"


def is_refusal(choice: SdkChoice) -> bool:
    """Tell whether a sample is a refusal that the server keeps apart from content, as it does under a JSON schema."""
    return bool(choice.message and getattr(choice.message, "refusal", None))


def content_of(choice: SdkChoice) -> str | None:
    """Return what a sample says, None where it says nothing."""
    return choice.message.content if choice.message else None


def text_up_to(content: str | None, stops: Sequence[str]) -> str:
    """Return a reply up to the first stop text: some servers take no stops, some only four, some include them."""
    text = content or ""
    return text[: min([len(text), *(text.index(stop) for stop in stops if stop and stop in text)])]


def usage_of(response: ChatCompletion) -> Usage | None:
    """Return the tokens that a reply reports, None where it reports none.

    Some servers leave hidden reasoning (xAI, Gemini) out of the reply's tokens, though not out of the total. What was
    paid for is in the total.
    """
    used = response.usage
    if used is None:
        return None
    prompt, reply = used.prompt_tokens_details, used.completion_tokens_details
    cached = (prompt.cached_tokens or 0) if prompt else 0
    reasoning = (reply.reasoning_tokens or 0) if reply else 0
    tokens_in = max(used.prompt_tokens or 0, cached)
    tokens_out = max(used.completion_tokens or 0, (used.total_tokens or 0) - tokens_in, reasoning)
    return Usage(tokens_in, tokens_out, cached, reasoning)


def shares(usage: Usage, n: int) -> list[Usage]:
    """Share out the tokens of one request over its samples, for servers report sums; the first carries the prompt."""
    out, more_out = divmod(usage.tokens_out, n)
    hidden, more_hidden = divmod(usage.reasoning, n)
    first = Usage(usage.tokens_in, out + more_out, usage.cached, hidden + more_hidden)
    return [first] + [Usage(0, out, 0, hidden)] * (n - 1)
