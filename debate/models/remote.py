"""Models behind an OpenAI-compatible chat-completions server."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from debate.errors import ContextError, DissoiError, ModelAccessError, ModelError
from debate.models.base import (
    Capabilities,
    Choice,
    Completion,
    Draw,
    Message,
    Messages,
    NoLogprobsError,
    Sampling,
    Scores,
    ShortReplyError,
    UnusableReplyError,
    Usage,
    estimate_tokens,
)
from debate.models.connections import Connections
from debate.models.letters import TokenProbability, choice_probabilities
from debate.models.limits import Slots

if TYPE_CHECKING:
    import ssl

    import httpx2
    import openai
    from openai.types.chat import ChatCompletion

OPENAI_URL = "https://api.openai.com/v1"
REASONING_TOKENS = 8192

_TOP_LOGPROBS = 20
_MOST_SAMPLES = 128  # the most that a server takes as ``n``
_MOST_STOPS = 4
_DECLARE = "declare `logprobs: false` in its capabilities to judge by vote"
_KEY = re.compile(r"\b(?:sk|key)-[\w*.-]{4,}")


def known_capabilities(model: str) -> Capabilities:
    """Return what is known of a model of OpenAI; any other model gets the defaults, to be declared by the user.

    Args:
        model: The API's name, such as ``gpt-4.1-mini`` or ``ft:gpt-4o-mini:...``.

    Returns:
        Its capabilities.
    """
    name = model.removeprefix("openai/").removeprefix("ft:")
    if name.startswith("gpt-5-chat"):
        return Capabilities(logprobs=False, context=128_000)
    if name.startswith("gpt-5"):
        return Capabilities(logprobs=False, n=False, temperature=False, reasoning=True, context=400_000)
    if re.match(r"o[134](-|$)", name):
        old = name.startswith(("o1-mini", "o1-preview"))
        return Capabilities(
            logprobs=False,
            n=False,
            system_role=not old,
            temperature=False,
            reasoning=True,
            context=128_000 if old else 200_000,
        )
    contexts = {"gpt-4.1": 1_047_576, "gpt-4o": 128_000, "gpt-4-turbo": 128_000, "gpt-3.5-turbo": 16_385}
    for family, context in contexts.items():
        if name.startswith(family):
            return Capabilities(context=context)
    return Capabilities()


def wire_messages(messages: Messages, *, system_role: bool) -> list[Message]:
    """Put messages into the form that servers take: no unknown roles, and no role twice in a row.

    Args:
        messages: A prompt.
        system_role: Whether the server takes system messages; else they become part of the user's.

    Returns:
        The messages to send.
    """
    merged: list[Message] = []
    for message in messages:
        role = "user" if message.role == "system" and not system_role else message.role
        if merged and merged[-1].role == role:
            merged[-1] = Message(role, f"{merged[-1].content}\n\n{message.content}")
        else:
            merged.append(Message(role, message.content))
    return merged


class RemoteModel:
    """A model behind an OpenAI-compatible server.

    The SDK's own retries are the only ones: on 408, 409, 429 and 5xx, on timeouts and on broken connections, waiting as
    ``Retry-After`` says. A spent quota is a 429 that fails at once. The connection is opened by the first call, which
    also binds the model to the running event loop.

    Args:
        name: What users call it, such as ``openai/gpt-4.1-mini``.
        model: What the server calls it.
        base_url: The server, or None for OpenAI's.
        api_key: The key; a server of one's own may need none.
        capabilities: What the model can do, see ``known_capabilities``.
        concurrency: Most requests at a time.
        slots: Shared with other models of the same server: most requests at a time of all of them. None for its own.
        timeout_s: Seconds without news from the server until a request counts as failed.
        max_retries: Retries of a request.
        reasoning_tokens: Room for hidden reasoning that a reasoning model gets on top of a reply's ``max_tokens``.
        key_variable: The environment variable that users put the key in, for messages.

    Raises:
        ModelAccessError: The key is missing.
    """

    def __init__(
        self,
        name: str,
        *,
        model: str,
        base_url: str | None,
        api_key: str | None,
        capabilities: Capabilities,
        concurrency: int = 32,
        slots: Slots | None = None,
        timeout_s: float = 120,
        max_retries: int = 6,
        reasoning_tokens: int = REASONING_TOKENS,
        key_variable: str = "OPENAI_API_KEY",
    ) -> None:
        self.name = name
        self.digest = f"remote:{model}"  # not the server's address: a resumed run may go on elsewhere
        if capabilities.reasoning and reasoning_tokens != REASONING_TOKENS:
            self.digest += f":{reasoning_tokens}"
        self.capabilities = capabilities
        self._model = model
        self._base_url = base_url or OPENAI_URL
        if not api_key and urlsplit(self._base_url).hostname == urlsplit(OPENAI_URL).hostname:
            raise ModelAccessError(f"model {name}: {OPENAI_URL} needs an API key; set {key_variable}")
        self._api_key = api_key or ""
        self._key_variable = key_variable
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._reasoning_tokens = reasoning_tokens
        self._slots = slots or Slots(concurrency)
        self._stopped = False
        self._gave_logprobs = False
        self._connections = Connections(self._connect)
        self._tls: ssl.SSLContext | None = None

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Sample one reply for each draw; a server's samples cannot be drawn again, so draws only count."""
        self._check_context(messages, sampling.max_tokens)
        size = _MOST_SAMPLES if self.capabilities.n else 1
        sizes = [min(size, len(draws) - start) for start in range(0, len(draws), size)]
        parts = await asyncio.gather(*(self._sample_once(messages, n, sampling) for n in sizes))
        completions = [completion for part in parts for completion in part]
        if len(completions) < len(draws):
            raise ShortReplyError(
                f"model {self.name} returned {len(completions)} of {len(draws)} samples asked for; declare `n: false`",
                completions,
            )
        return completions

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Give the probability that the reply begins with each choice, from the likeliest first tokens."""
        if not self.capabilities.logprobs or self.capabilities.reasoning:
            raise ModelError(
                f"model {self.name} gives no log-probabilities (declared); judge by vote or by reason instead"
            )
        self._check_context(messages, 1)
        options: dict[str, object] = {"max_tokens": 1, "logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        if self.capabilities.temperature:
            options["temperature"] = 1.0  # some servers report probabilities after the temperature
        response = await self._complete(messages, options)
        usage = self._usage(response, messages, 1)
        try:
            probabilities, mass = choice_probabilities(_first_tokens(response), choices)
        except ValueError as error:
            # A server that gave some before is not one that gives none.
            kind = UnusableReplyError if self._gave_logprobs else NoLogprobsError
            raise kind(f"model {self.name}: {error}; {_DECLARE}", usage) from None
        self._gave_logprobs = True
        return Choice(probabilities, mass, usage)

    async def score(self, messages: Messages, continuations: Sequence[str]) -> Scores:  # noqa: ARG002 - the interface
        """Refuse: chat-completions servers do not score given texts."""
        raise ModelError(f"model {self.name} does not score given texts (chat completions cannot); use a local model")

    def count_tokens(self, messages: Messages) -> int:
        """Estimate the prompt's tokens, see ``estimate_tokens``."""
        return estimate_tokens(messages)

    def be_patient(self, timeout_s: float, max_retries: int) -> None:
        """Wait and retry at least so long and so often, for another user of the model; before the first call."""
        self._timeout_s = max(self._timeout_s, timeout_s)
        self._max_retries = max(self._max_retries, max_retries)

    def stop(self) -> None:
        """Send no more requests: those that wait for a slot fail, those in flight are finished."""
        self._stopped = True

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()

    async def _sample_once(self, messages: Messages, n: int, sampling: Sampling) -> list[Completion]:
        options: dict[str, object] = {}
        if self.capabilities.reasoning:
            room = sampling.max_tokens + self._reasoning_tokens
            if self.capabilities.context is not None:
                room = max(sampling.max_tokens, min(room, self.capabilities.context - self.count_tokens(messages)))
            options["max_completion_tokens"] = room
        else:
            options["max_tokens"] = sampling.max_tokens
            if sampling.stop:
                options["stop"] = list(sampling.stop[:_MOST_STOPS])
        if self.capabilities.temperature:
            options |= {"temperature": sampling.temperature, "top_p": sampling.top_p}
        if n > 1:
            options["n"] = n
        response = await self._complete(messages, options)
        choices = sorted(response.choices, key=lambda choice: choice.index or 0)[:n]
        texts = [_text(choice.message.content if choice.message else None, sampling.stop) for choice in choices]
        usages = _shares(self._usage(response, messages, sum(math.ceil(len(text) / 3) for text in texts)), len(texts))
        return [
            Completion(text, _finish(choice.finish_reason), usage)
            for text, choice, usage in zip(texts, choices, usages, strict=True)
        ]

    async def _complete(self, messages: Messages, options: dict[str, object]) -> ChatCompletion:
        """Make one request, retried by the SDK, and return a response with at least one choice."""
        from openai import OpenAIError
        from openai.types.chat import ChatCompletion

        async with self._slots:
            if self._stopped:
                raise ModelError(f"model {self.name} was closed before this call; resume the run to make it")
            wire = wire_messages(messages, system_role=self.capabilities.system_role)
            sent = [{"role": role, "content": content} for role, content in wire]
            body = {"model": self._model, "messages": sent, **options}
            try:
                with self._connections.taken() as client:
                    # What ``chat.completions.create`` does, less its walk over the body by the types of its parameters,
                    # which takes a fifth of a call's time and changes nothing in plain values.
                    response: object = await client.post(
                        "/chat/completions",
                        body=body,
                        options={"security": {"bearer_auth": True}},
                        cast_to=ChatCompletion,
                    )
            except OpenAIError as error:
                # Not chained: the cause holds the request, and with it the key.
                raise self._explain(error) from None
            except ValueError as error:
                raise ModelError(f"model {self.name} at {self._where()} sent broken JSON: {error}") from None
        if not isinstance(response, ChatCompletion):
            start = self._clean(str(response))
            raise ModelError(
                f"model {self.name} at {self._where()} sent no chat completion but {start!r}; check the base URL"
            )
        if not response.choices:
            raise UnusableReplyError(
                f"model {self.name} at {self._where()} sent a reply without choices", self._usage(response, messages, 0)
            )
        return response

    def _connect(self, connections: int) -> openai.AsyncOpenAI:
        import httpx2
        import openai

        if self._tls is None:
            self._tls = httpx2.create_ssl_context()  # takes 20 ms, so once for all clients
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        return openai.AsyncOpenAI(
            api_key=self._api_key or "none",
            base_url=self._base_url,
            timeout=httpx2.Timeout(self._timeout_s, connect=min(10.0, self._timeout_s)),
            max_retries=self._max_retries,
            http_client=openai.DefaultAsyncHttpxClient(
                verify=self._tls, limits=limits, event_hooks={"response": [_fail_fast_without_quota]}
            ),
        )

    def _check_context(self, messages: Messages, max_tokens: int) -> None:
        context, prompt = self.capabilities.context, self.count_tokens(messages)
        if context is not None and prompt + max_tokens > context:
            raise ContextError(
                f"model {self.name}: a prompt of about {prompt} tokens (estimated) and a reply of up to {max_tokens} "
                f"exceed its context of {context}; shorten the story or the debate, or use a model with a longer one"
            )

    def _usage(self, response: ChatCompletion, messages: Messages, tokens_out: int) -> Usage:
        """Read the usage; where a server reports none, estimate it, since a budget must not take it for nothing."""
        usage = response.usage
        if usage is None:
            return Usage(self.count_tokens(messages), tokens_out)
        prompt, reply = usage.prompt_tokens_details, usage.completion_tokens_details
        return Usage(
            usage.prompt_tokens or 0,
            usage.completion_tokens or 0,
            cached=(prompt.cached_tokens or 0) if prompt else 0,
            reasoning=(reply.reasoning_tokens or 0) if reply else 0,
        )

    def _explain(self, error: openai.OpenAIError) -> DissoiError:
        """Say in one line what an error of the SDK means and what to do."""
        import httpx2
        import openai

        who = f"model {self.name} at {self._where()}"
        if isinstance(error, openai.APIStatusError):
            return self._explain_status(error, who)
        # The SDK counts a host that does not even take the connection among the timeouts.
        if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout):
            return ModelAccessError(
                f"{who}: cannot connect, after {self._max_retries} retries; check the server and the base URL "
                "(OPENAI_BASE_URL)"
            )
        if isinstance(error, openai.APITimeoutError):
            return ModelError(f"{who}: no answer within {self._timeout_s:g} s, after {self._max_retries} retries")
        cause = self._clean(str(error.__cause__ or error))
        return ModelError(f"{who}: the call failed, after {self._max_retries} retries: {cause}")

    def _explain_status(self, error: openai.APIStatusError, who: str) -> DissoiError:
        code, key, detail = error.status_code, self._key_variable, self._clean(error.message)
        if code == 401:
            return ModelAccessError(f"{who}: the server refused the API key (401); check {key}")
        if code == 403:
            return ModelAccessError(f"{who}: the key in {key} may not use this model (403): {detail}")
        if code == 404:
            return ModelAccessError(f"{who}: no such model or address (404); check both: {detail}")
        if code == 429 and "insufficient_quota" in (error.code, error.type):
            return ModelAccessError(f"{who}: the quota of the key in {key} is spent; add credit and resume the run")
        if code == 400 and (error.code == "context_length_exceeded" or "maximum context length" in detail):
            return ContextError(f"{who}: prompt and reply exceed the context: {detail}")
        return ModelError(f"{who}: the server answered {code}: {detail}")

    def _where(self) -> str:
        """Return the server's address without any user name, password or query."""
        parts = urlsplit(self._base_url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"

    def _clean(self, text: str) -> str:
        """Cut a server's words to one short line without the key."""
        if self._api_key:
            text = text.replace(self._api_key, "***")
        line = " ".join(_KEY.sub("***", text).split())
        return line if len(line) <= 300 else line[:300] + "..."


async def _fail_fast_without_quota(response: httpx2.Response) -> None:
    """Mark a 429 for a spent quota as not to be retried, in the header by which the SDK decides."""
    if response.status_code != 429:
        return
    try:
        body = json.loads(await response.aread())
        error = body["error"]
        spent = "insufficient_quota" in (error.get("code"), error.get("type"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    if spent:
        response.headers["x-should-retry"] = "false"


def _first_tokens(response: ChatCompletion) -> list[TokenProbability]:
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


def _finish(reason: str | None) -> Literal["stop", "length", "filter"]:
    if reason == "length":
        return "length"
    return "filter" if reason == "content_filter" else "stop"


def _text(content: str | None, stops: Sequence[str]) -> str:
    """Return a reply up to the first stop text: some servers take no stops, some only four, some include them."""
    text = content or ""
    return text[: min([len(text), *(text.index(stop) for stop in stops if stop and stop in text)])]


def _shares(usage: Usage, n: int) -> list[Usage]:
    """Share out the tokens of one request over its samples, for servers report sums; the first carries the prompt."""
    out, more_out = divmod(usage.tokens_out, n)
    hidden, more_hidden = divmod(usage.reasoning, n)
    first = Usage(usage.tokens_in, out + more_out, usage.cached, hidden + more_hidden)
    return [first] + [Usage(0, out, 0, hidden)] * (n - 1)
