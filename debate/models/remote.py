"""Models behind an OpenAI-compatible chat-completions server."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from debate.errors import ContextError, ModelAccessError, ModelError
from debate.models.base import (
    MOST_SAMPLES,
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
from debate.models.endpoints import Balancer, Endpoint
from debate.models.letters import choice_probabilities, draw_choice
from debate.models.replies import (
    content_of,
    finish_of,
    first_tokens,
    is_refusal,
    is_well_formed,
    samples,
    shares,
    text_up_to,
    usage_of,
)
from debate.models.served import ServedAdapter, ensure_served
from debate.models.site import Site

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion
    from openai.types.chat.chat_completion import Choice as SdkChoice

OPENAI_URL = "https://api.openai.com/v1"
REASONING_TOKENS = 8192

_TOP_LOGPROBS = 20
_MOST_STOPS = 4
_DECLARE = "declare `logprobs: false` in its capabilities to judge by vote"


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
        return Capabilities(
            logprobs=False, n=False, temperature=False, reasoning=True, json_schema=True, context=400_000
        )
    if re.match(r"o[134](-|$)", name):
        old = name.startswith(("o1-mini", "o1-preview"))
        return Capabilities(
            logprobs=False,
            n=False,
            system_role=not old,
            temperature=False,
            reasoning=True,
            json_schema=not old,
            context=128_000 if old else 200_000,
        )
    contexts = {"gpt-4.1": 1_047_576, "gpt-4o": 128_000, "gpt-4-turbo": 128_000, "gpt-3.5-turbo": 16_385}
    for family, context in contexts.items():
        if name.startswith(family):
            return Capabilities(json_schema=family in {"gpt-4.1", "gpt-4o"}, context=context)
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


def is_openai(url: str) -> bool:
    """Tell whether a base URL is OpenAI's own."""
    return urlsplit(url).hostname == urlsplit(OPENAI_URL).hostname


class RemoteModel:
    """A model behind one or more OpenAI-compatible servers.

    A request is tried again, there or at another server, on 408, 409, 429 and 5xx, on timeouts, broken connections and
    broken JSON, waiting as ``Retry-After`` says; see ``Balancer``, whose retries are the only ones. A spent quota is a
    429 that fails at once. Connections are opened by the first call, which also binds the model to the running event
    loop.

    Args:
        name: What users call it, such as ``openai/gpt-4.1-mini``.
        model: What the server calls it.
        base_url: The server or servers, or None for OpenAI's.
        api_key: The key; a server of one's own may need none.
        capabilities: What the model can do, see ``known_capabilities``.
        adapter: A LoRA adapter on the model, or None; it is loaded and probed before a server's first request.
        concurrency: Most requests at a time at each server.
        endpoints: The servers where other models share them, in place of ``base_url`` and ``concurrency``.
        timeout_s: Seconds until a reply must be there, or the request counts as failed.
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
        base_url: str | Sequence[str] | None,
        api_key: str | None,
        capabilities: Capabilities,
        adapter: ServedAdapter | None = None,
        concurrency: int = 32,
        endpoints: Sequence[Endpoint] | None = None,
        timeout_s: float = 120,
        max_retries: int = 6,
        reasoning_tokens: int = REASONING_TOKENS,
        key_variable: str = "OPENAI_API_KEY",
    ) -> None:
        self.name = name
        self.digest = f"remote:{model}"  # not the server's address: a resumed run may go on elsewhere
        if adapter is not None:
            self.digest += f"+{adapter.name}"
        if capabilities.structured:
            self.digest += ":structured" if capabilities.logprobs else ":structured only"
        # What changes the request changes the reply: one name may be declared in two ways.
        self.digest += "" if capabilities.temperature else ":no temperature"
        self.digest += "" if capabilities.system_role else ":no system role"
        if capabilities.reasoning and reasoning_tokens != REASONING_TOKENS:
            self.digest += f":{reasoning_tokens}"
        self.capabilities = capabilities
        self._model = model if adapter is None else adapter.name
        self._adapter = adapter
        self._served: dict[Endpoint, int] = {}
        self._probes: dict[Endpoint, asyncio.Task[None]] = {}
        if endpoints is None:
            urls = [base_url] if isinstance(base_url, str) else base_url
            endpoints = [Endpoint(url, concurrency) for url in urls or [OPENAI_URL]]
        if not api_key and any(is_openai(endpoint.url) for endpoint in endpoints):
            raise ModelAccessError(f"model {name}: {OPENAI_URL} needs an API key; set {key_variable}")
        self._api_key = api_key or ""
        self._key_variable = key_variable
        self._timeout_s = timeout_s
        self._reasoning_tokens = reasoning_tokens
        self._balancer = Balancer(endpoints, max_retries)
        self._sites: dict[Endpoint, Site] = {}
        self._gave_logprobs = False

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Sample one reply for each draw; a server's samples cannot be drawn again, so draws only count.

        A request that fails takes those beside it along; ``LoggedModel`` asks for one request at a time and keeps each.
        """
        self._check_context(messages, sampling.max_tokens)
        size = MOST_SAMPLES if self.capabilities.n else 1
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
        """Give the probability that the reply begins with each choice, from the likeliest first tokens.

        A model that gives none but is ``structured`` is held to the choices; for one that gives too little of them
        (mass 0) that is up to the logged model, which has kept that reply by then.
        """
        if not self.capabilities.letters:
            raise ModelError(
                f"model {self.name} gives no log-probabilities (declared); judge by vote or by reason instead"
            )
        self._check_context(messages, 1)
        if not self.capabilities.logprobs:
            return await draw_choice(self, messages, choices)
        options: dict[str, object] = {"max_tokens": 1, "logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        if self.capabilities.temperature:
            options["temperature"] = 1.0  # some servers report probabilities after the temperature
        response = await self._complete(messages, options)
        usage = self._usage(response, messages, 1)
        try:
            probabilities, mass = choice_probabilities(first_tokens(response), choices)
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
        self._balancer.max_retries = max(self._balancer.max_retries, max_retries)

    def stop(self) -> None:
        """Send no more requests: those that wait for their turn fail, those in flight are finished."""
        self._balancer.stop(ModelError(f"model {self.name} was closed before this call; resume the run to make it"))

    async def close(self) -> None:
        """Close the connections."""
        probes = list(self._probes.values())
        for probe in probes:
            probe.cancel()
        await asyncio.gather(*probes, return_exceptions=True)
        sites, self._sites = self._sites, {}
        for site in sites.values():
            await site.close()

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
        if sampling.choices:
            options["structured_outputs"] = {"choice": list(sampling.choices)}
        if sampling.schema:
            held = {"name": "reply", "schema": json.loads(sampling.schema), "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": held}
        response = await self._complete(messages, options)
        choices = self._held(response, messages, sampling.choices) if sampling.choices else samples(response)
        choices = choices[:n]
        texts = [text_up_to(content_of(choice), sampling.stop) for choice in choices]
        usages = shares(self._usage(response, messages, sum(math.ceil(len(text) / 3) for text in texts)), len(texts))
        return [
            Completion(text, "filter" if is_refusal(choice) else finish_of(choice.finish_reason), usage)
            for text, choice, usage in zip(texts, choices, usages, strict=True)
        ]

    def _held(self, response: ChatCompletion, messages: Messages, choices: Sequence[str]) -> list[SdkChoice]:
        """Return the samples of a reply that was held to choices; equal ones are not one, they are counted."""
        texts = [(content_of(choice) or "").strip() for choice in response.choices]
        odd = next((text for text in texts if text not in choices), None)
        if odd is None:
            return response.choices
        raise UnusableReplyError(
            f"model {self.name} was held to {', '.join(choices)} and replied {odd[:50]!r}; its server ignores "
            "structured_outputs: leave `structured` out of its capabilities",
            self._usage(response, messages, len(texts)),
        )

    async def _complete(self, messages: Messages, options: dict[str, object]) -> ChatCompletion:
        """Have one request answered, by a response with at least one choice."""

        async def send(endpoint: Endpoint) -> ChatCompletion:
            wire = wire_messages(messages, system_role=self.capabilities.system_role)
            sent = [{"role": role, "content": content} for role, content in wire]
            site = self._site(endpoint)
            if self._adapter is not None:
                await self._serve(self._adapter, endpoint, site)
            response = await site.complete(self._model, sent, options)
            if not is_well_formed(response):
                paid = Usage(self.count_tokens(messages), 0)  # what it says of its tokens may be as odd as the rest
                raise UnusableReplyError(f"{site.who} sent JSON that is no chat completion", paid)
            if not response.choices:
                raise UnusableReplyError(f"{site.who} sent a reply without choices", self._usage(response, messages, 0))
            return response

        return await self._balancer.ask(messages, send)

    async def _serve(self, adapter: ServedAdapter, endpoint: Endpoint, site: Site) -> None:
        """See that a server has the adapter: before its first request, and after it was out, for it may be new.

        Requests that come meanwhile wait for the same probe and fail with it; the next one makes another. It is a task
        of its own: a request that is cancelled leaves it to the others.
        """

        async def probe(outages: int) -> None:
            await ensure_served(site, adapter)
            self._served[endpoint] = outages  # as it was before: a server that was out since may be new

        def ended(done: asyncio.Task[None]) -> None:
            del self._probes[endpoint]
            if not done.cancelled():
                done.exception()  # those who waited for it may be gone

        while self._served.get(endpoint) != endpoint.outages:
            if endpoint not in self._probes:
                self._probes[endpoint] = asyncio.create_task(probe(endpoint.outages))
                self._probes[endpoint].add_done_callback(ended)
            await asyncio.shield(self._probes[endpoint])

    def _site(self, endpoint: Endpoint) -> Site:
        if endpoint not in self._sites:
            self._sites[endpoint] = Site(
                self.name,
                endpoint.url,
                api_key=self._api_key,
                key_variable=self._key_variable,
                timeout_s=self._timeout_s,
                max_retries=self._balancer.max_retries,
            )
        return self._sites[endpoint]

    def _check_context(self, messages: Messages, max_tokens: int) -> None:
        context, prompt = self.capabilities.context, self.count_tokens(messages)
        if context is not None and prompt + max_tokens > context:
            raise ContextError(
                f"model {self.name}: a prompt of about {prompt} tokens (estimated) and a reply of up to {max_tokens} "
                f"exceed its context of {context}; shorten the story or the debate, or use a model with a longer one"
            )

    def _usage(self, response: ChatCompletion, messages: Messages, tokens_out: int) -> Usage:
        """Read the usage; where a server reports none, estimate it, since a budget must not take it for nothing."""
        reported = usage_of(response)
        return Usage(self.count_tokens(messages), tokens_out) if reported is None else reported
