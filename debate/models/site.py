"""One model at one server: its connections, what a failed request means, and whether another try may help."""

from __future__ import annotations

import asyncio
import email.utils
import functools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from debate.errors import ContextError, DissoiError, ModelAccessError, ModelError
from debate.models.connections import Connections
from debate.models.endpoints import Kind, Setback

if TYPE_CHECKING:
    import ssl

    import openai
    from openai._types import RequestOptions
    from openai.types.chat import ChatCompletion

_KEY = re.compile(r"\b(?:sk|key)-[\w*.-]{4,}")
_OVERLOADED = {502, 503, 504, 529}  # by itself, or in the words of what stands before it
_REMEMBERED = 4096
_PASSING = {408, 409, 429}


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
        self._connections = Connections(self._connect)
        self._replies: dict[int, int] = {}

    @property
    def who(self) -> str:
        """The model and the server's address, without any user name, password or query, for messages."""
        parts = urlsplit(self._url)
        port = f":{parts.port}" if parts.port else ""
        return f"model {self._name} at {parts.scheme}://{parts.hostname}{port}{parts.path}"

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
        from openai.types.chat import ChatCompletion

        def is_stray(response: object) -> bool:
            return isinstance(response, ChatCompletion) and self._is_stray(response, messages)

        body = {"model": model, "messages": messages, **options}
        response = await self.request("POST", "/chat/completions", ChatCompletion, body, is_stray)
        if not isinstance(response, ChatCompletion):
            raise ModelError(
                f"{self.who} sent no chat completion but {self.clean(str(response))!r}; check the base URL"
            )
        return response

    async def request(
        self,
        method: str,
        path: str,
        kind: type[object],
        body: Mapping[str, object] | None = None,
        is_stray: Callable[[object], bool] | None = None,
    ) -> object:
        """Make any request of this server, once.

        Args:
            method: GET or POST.
            path: Below the base URL.
            kind: What the SDK makes of the response.
            body: What is sent.
            is_stray: Tells a response that belongs to another request.

        Returns:
            The response, of ``kind`` if the server sent that.

        Raises:
            Setback: It failed in a way that another try may mend.
            DissoiError: It failed for good.
        """
        from openai import OpenAIError

        try:
            # A server that sends a byte now and then never times out by itself.
            with self._connections.taken() as client:
                async with asyncio.timeout(self._timeout_s):
                    # What ``chat.completions.create`` does, less its walk over the body by the types of its parameters,
                    # which takes a fifth of a call's time and changes nothing in plain values.
                    options: RequestOptions = {"security": {"bearer_auth": True}}
                    if method == "GET":
                        return await client.get(path, cast_to=kind, options=options)
                    response: object = await client.post(path, cast_to=kind, body=body, options=options)
                    if is_stray is not None and is_stray(response):
                        self._connections.retire(client)
                        stray = ModelError(f"{self.who} sent a reply that it had sent to another request before")
                        raise Setback("stray", stray)
                    return response
        except OpenAIError as error:
            # Not chained: the cause holds the request, and with it the key.
            raise self._read(error) from None
        except TimeoutError:
            raise self._late() from None
        except ValueError as error:
            broken = ModelError(f"{self.who} sent broken JSON, after {self._max_retries} retries: {error}")
            raise Setback("broken", broken) from None

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

    def _connect(self, connections: int) -> openai.AsyncOpenAI:
        import httpx2
        import openai

        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        return openai.AsyncOpenAI(
            api_key=self._api_key or "none",
            base_url=self._url,
            timeout=httpx2.Timeout(self._timeout_s, connect=min(10.0, 0.8 * self._timeout_s)),
            max_retries=0,  # the balancer's are the only retries: it may go to another server
            http_client=openai.DefaultAsyncHttpxClient(verify=_tls(), limits=limits),
        )

    def _read(self, error: openai.OpenAIError) -> Setback | DissoiError:
        """Say in one line what an error of the SDK means and what to do, and whether another try may help."""
        import httpx2
        import openai

        if isinstance(error, openai.APIStatusError):
            return self._read_status(error)
        retried = f"after {self._max_retries} retries"
        # The SDK counts a host that does not even take the connection among the timeouts.
        if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout):
            return Setback(
                "refused",
                ModelAccessError(
                    f"{self.who}: cannot connect, {retried}; check the server and the base URL (OPENAI_BASE_URL)"
                ),
            )
        if isinstance(error, openai.APITimeoutError):
            return self._late()
        cause = self.clean(str(error.__cause__ or error))
        return Setback("broken", ModelError(f"{self.who}: the call failed, {retried}: {cause}"))

    def _late(self) -> Setback:
        why = f"no answer within {self._timeout_s:g} s (timeout_s), after {self._max_retries} retries"
        return Setback("overloaded", ModelError(f"{self.who}: {why}"))

    def _read_status(self, error: openai.APIStatusError) -> Setback | DissoiError:
        explained = self._explain_status(error)
        code, headers = error.status_code, error.response.headers
        if isinstance(explained, ModelAccessError | ContextError):
            return explained
        word = headers.get("x-should-retry")
        if word == "false" or (word != "true" and code < 500 and code not in _PASSING):
            return explained
        kind: Kind = "limited" if code == 429 else "overloaded" if code in _OVERLOADED else "broken"
        return Setback(kind, explained, retry_after(headers))

    def _explain_status(self, error: openai.APIStatusError) -> DissoiError:
        code, key, detail = error.status_code, self._key_variable, self.clean(error.message)
        if code == 401:
            return ModelAccessError(f"{self.who}: the server refused the API key (401); check {key}")
        if code == 403:
            return ModelAccessError(f"{self.who}: the key in {key} may not use this model (403): {detail}")
        if code == 404:
            return ModelAccessError(f"{self.who}: no such model or address (404); check both: {detail}")
        if code == 429 and "insufficient_quota" in (error.code, error.type):
            return ModelAccessError(
                f"{self.who}: the quota of the key in {key} is spent; add credit and resume the run"
            )
        if code == 400 and (error.code == "context_length_exceeded" or "maximum context length" in detail):
            return ContextError(f"{self.who}: prompt and reply exceed the context: {detail}")
        return ModelError(f"{self.who}: the server answered {code}: {detail}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how long a server asks to be left alone (RFC 9110, section 10.2.3, and OpenAI's header in milliseconds).

    Args:
        headers: Of its response, lower case.

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


@functools.cache
def _tls() -> ssl.SSLContext:
    """Return the settings of encrypted connections, which take 20 ms to make, so once for all clients."""
    import httpx2

    return httpx2.create_ssl_context()
