"""One model at one server: its connections, what a failed request means, and whether another try may help."""

from __future__ import annotations

import asyncio
import email.utils
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from debate.errors import ContextError, DissoiError, ModelAccessError, ModelError
from debate.models.connections import Connections, Response
from debate.models.endpoints import Kind, Setback

if TYPE_CHECKING:
    import aiohttp
    from openai.types.chat import ChatCompletion

_KEY = re.compile(r"\b(?:sk|key)-[\w*.-]{4,}")
_OVERLOADED = {502, 503, 504, 529}  # by itself, or in the words of what stands before it
_REMEMBERED = 4096
_PASSING = {402, 408, 409, 429}
_LIMITS = {402, 429}
_SPENT = {"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"}


class Site:
    """One model at one server.

    Args:
        name: What users call the model.
        url: The server.
        api_key: The key, or nothing for a server that needs none.
        key_variable: The environment variable that users put the key in, for messages.
        timeout_s: Seconds until a whole reply must be there.
        max_retries: How often a request is tried again, for messages.
    """

    def __init__(
        self, name: str, url: str, *, api_key: str, key_variable: str, timeout_s: float, max_retries: int
    ) -> None:
        self._name = name
        self._url = url
        self._api_key = api_key
        self._key_variable = key_variable
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._connections = Connections(url, api_key, timeout_s)
        self._replies: dict[int, int] = {}

    @property
    def who(self) -> str:
        """The model and the server's address, without any user name, password or query, for messages."""
        return f"model {self._name} at {shown_address(self._url)}"

    async def complete(
        self, model: str, messages: Sequence[Mapping[str, str]], options: Mapping[str, object]
    ) -> ChatCompletion:
        """Ask for a chat completion, once.

        Args:
            model: What the server calls the model.
            messages: Role and content of each.
            options: What else is sent.

        Returns:
            The response; it may hold no choices.

        Raises:
            Setback: It failed in a way that another try may mend.
            DissoiError: It failed for good.
        """
        response = await self._send("POST", "/chat/completions", {"model": model, "messages": messages, **options})
        reply = self._parse(response)
        if self._is_stray(reply, messages):
            self._connections.retire()
            stray = ModelError(f"{self.who} sent a reply that it had sent to another request before")
            raise Setback("stray", stray)
        return reply

    async def request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Response:
        """Make any request of this server, once.

        Args:
            method: GET or POST.
            path: Below the base URL.
            body: What is sent.

        Returns:
            The response.

        Raises:
            Setback: It failed in a way that another try may mend.
            DissoiError: It failed for good.
        """
        return await self._send(method, path, body)

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()

    def clean(self, text: str) -> str:
        """Cut a server's words to one short line without the key."""
        if self._api_key:
            text = text.replace(self._api_key, "***")
        line = " ".join(_KEY.sub("***", text).split())
        return line if len(line) <= 300 else line[:300] + "..."

    def _is_stray(self, response: ChatCompletion, messages: Sequence[Mapping[str, str]]) -> bool:
        """Tell whether a reply is one that was seen before, to another request.

        What a server sends twice on one connection, the next request there takes for its answer, and so on.
        """
        try:
            reply = self._told(response)
        except (AttributeError, TypeError):  # no chat completion at all: whoever asked will say so
            return False
        if reply is None:
            return False
        asked = hash(tuple(message["content"] for message in messages))
        if len(self._replies) >= _REMEMBERED:
            del self._replies[next(iter(self._replies))]
        return self._replies.setdefault(reply, asked) != asked

    @staticmethod
    def _told(response: ChatCompletion) -> int | None:
        """What tells a reply from others, hashed; None where it has no id."""
        if not response.id:
            return None
        # Some servers' ids come round again soon, so the rest must be the same too.
        said = [choice.message and choice.message.content for choice in response.choices[:1]]
        told = [
            choice.logprobs.content[0].logprob
            for choice in response.choices[:1]
            if choice.logprobs and choice.logprobs.content
        ]
        used = response.usage and (response.usage.prompt_tokens, response.usage.completion_tokens)
        return hash((response.id, response.created, used, *said, *told))

    async def _send(self, method: str, path: str, body: Mapping[str, object] | None) -> Response:
        import aiohttp

        try:
            # A server that sends a byte now and then never times out by itself.
            async with asyncio.timeout(self._timeout_s):
                sent = None if body is None else json.dumps(body).encode()
                response = await self._connections.send(method, path, sent)
        except (aiohttp.ClientError, TimeoutError) as error:
            # Not chained: the cause holds the request, and with it the key.
            raise self._read_error(error) from None
        if response.status >= 300:
            raise self._read_status(response)
        return response

    def _parse(self, response: Response) -> ChatCompletion:
        import pydantic
        from openai.types.chat import ChatCompletion

        try:
            return ChatCompletion.model_validate_json(response.body)
        except pydantic.ValidationError:
            pass
        # As the SDK does, which takes what servers leave out or spell in their own way, in ten times the time.
        try:
            found = json.loads(response.body)
        except ValueError as error:
            if "json" in response.headers.get("content-type", ""):
                broken = ModelError(f"{self.who} sent broken JSON, after {self._max_retries} retries: {error}")
                raise Setback("broken", broken) from None
            found = response.body.decode(errors="replace")
        if not isinstance(found, dict):
            raise ModelError(f"{self.who} sent no chat completion but {self.clean(str(found))!r}; check the base URL")
        return ChatCompletion.model_construct(**found)

    def _read_error(self, error: aiohttp.ClientError | TimeoutError) -> Setback | DissoiError:
        """Say in one line what it means that no answer came and what to do, and whether another try may help."""
        import aiohttp

        if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
            return ModelAccessError(f"{self.who}: this is no address; check the base URL (OPENAI_BASE_URL)")
        retried = f"after {self._max_retries} retries"
        # A host that does not even take the connection counts among those that cannot be reached.
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            return Setback(
                "refused",
                ModelAccessError(
                    f"{self.who}: cannot connect, {retried}; check the server and the base URL (OPENAI_BASE_URL)"
                ),
            )
        if isinstance(error, TimeoutError):
            return self._late()
        cause = self.clean(str(error)) or type(error).__name__
        return Setback("broken", ModelError(f"{self.who}: the call failed, {retried}: {cause}"))

    def _late(self) -> Setback:
        why = f"no answer within {self._timeout_s:g} s (timeout_s), after {self._max_retries} retries"
        return Setback("overloaded", ModelError(f"{self.who}: {why}"))

    def _read_status(self, response: Response) -> Setback | DissoiError:
        explained = self._explain_status(response)
        code, headers = response.status, response.headers
        if isinstance(explained, ModelAccessError | ContextError):
            return explained
        word = headers.get("x-should-retry")
        if word == "false" or (word != "true" and code < 500 and code not in _PASSING):
            return explained
        kind: Kind = "limited" if code in _LIMITS else "overloaded" if code in _OVERLOADED else "broken"
        return Setback(kind, explained, retry_after(headers))

    def _explain_status(self, response: Response) -> DissoiError:
        status, key, fault = response.status, self._key_variable, _fault(response.body)
        code, detail = (
            fault.get("code"),
            self.clean(str(fault.get("message") or response.body.decode(errors="replace"))),
        )
        if status == 401:
            return ModelAccessError(f"{self.who}: the server refused the API key (401); check {key}")
        if status == 403:
            return ModelAccessError(f"{self.who}: the key in {key} may not use this model (403): {detail}")
        if status == 404:
            return ModelAccessError(f"{self.who}: no such model or address (404); check both: {detail}")
        # Some servers (DeepSeek, OpenRouter) want payment by 402; where one says when to come back, it is but a limit.
        unpaid = status == 402 and retry_after(response.headers) is None
        if unpaid or not _SPENT.isdisjoint(str(fault.get(name)) for name in ("code", "type")):
            return ModelAccessError(
                f"{self.who}: the quota of the key in {key} is spent; add credit and resume the run"
            )
        if status == 400 and (code == "context_length_exceeded" or "maximum context length" in detail):
            return ContextError(f"{self.who}: prompt and reply exceed the context: {detail}")
        return ModelError(f"{self.who}: the server answered {status}: {detail}")


def _fault(body: bytes) -> Mapping[str, object]:
    """Return what a server says of an error, where it says it as OpenAI's or as vLLM's older ones do; else nothing."""
    try:
        said = json.loads(body)
    except ValueError:
        return {}
    fault = said.get("error", said) if isinstance(said, dict) else None
    return fault if isinstance(fault, dict) else {}


def shown_address(url: str) -> str:
    """Return a server's address without any user name, password or query, for messages."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how long a server asks to be left alone (RFC 9110, section 10.2.3, and OpenAI's header in milliseconds).

    Args:
        headers: Of its response.

    Returns:
        Seconds; None where it does not say, or says what is no such time.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return max(0.0, seconds) if seconds == seconds else None  # noqa: PLR0124 - nan is not equal to itself
    try:
        moment = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())
