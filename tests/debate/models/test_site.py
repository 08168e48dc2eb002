from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from debate.errors import ModelAccessError, ModelError
from debate.models.connections import _POOLS, Response
from debate.models.endpoints import Setback
from debate.models.site import Site

#: What a test's server answers to the number of a connection, that of a request on it, and the request.
Answer = Callable[[int, int, "Request"], bytes]
Serve = Callable[[Answer], AbstractAsyncContextManager[str]]


class Request:
    def __init__(self, head: bytes, body: bytes) -> None:
        first, *lines = head.decode().split("\r\n")
        self.method, self.path, _ = first.split(" ")
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.body: Any = json.loads(body) if body else None


def http(body: bytes, status: int = 200, **headers: str) -> bytes:
    fields = {"content_type": "application/json", "content_length": str(len(body))} | headers
    lines = [f"HTTP/1.1 {status} X", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def reply(text: str, **more: object) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    completion = {"id": text, "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return json.dumps(completion | more).encode()


@contextlib.asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[str]:
    opened = 0

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        connection, request = opened, 0
        opened += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                body = await reader.readexactly(int(lengths[0].partition(b":")[2])) if lengths else b""
                writer.write(answer(connection, request, Request(head.strip(), body)))
                await writer.drain()
                request += 1
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


def site_at(url: str, api_key: str = "sk-secret") -> Site:
    return Site("m", url, api_key=api_key, key_variable="K", timeout_s=5, max_retries=0)


async def said(site: Site, prompt: str = "q") -> str | None:
    return (await site.complete("m", [{"role": "user", "content": prompt}], {})).choices[0].message.content


async def test_a_connection_that_is_one_reply_behind_is_left() -> None:
    replies: list[bytes] = []

    def answer(connection: int, request: int, asked: Request) -> bytes:
        replies.append(http(reply(f"to {asked.body['messages'][0]['content']}")))
        # The first connection gives the last reply once more to whoever asks next.
        return replies[-2] if connection == 0 and request else replies[-1]

    async with serving(answer) as address:
        site = site_at(f"http://{address}/v1")
        assert await said(site, "one") == "to one"
        with pytest.raises(Setback) as caught:
            await said(site, "two")
        assert caught.value.kind == "stray"
        assert [await said(site, prompt) for prompt in ("two", "three", "three")] == ["to two", "to three", "to three"]
        await site.close()


async def test_models_of_one_server_share_its_connections_until_the_last_is_closed() -> None:
    used: list[int] = []

    def answer(connection: int, _request: int, _asked: Request) -> bytes:
        used.append(connection)
        return http(reply("a"))

    async with serving(answer) as address:
        sites = [site_at(f"http://{address}/v1") for _ in range(3)]
        for site in sites:
            await said(site)
        await sites[0].close()
        await said(sites[1])
        await said(sites[0])
        for site in sites:
            await site.close()
        assert used == [0] * 5
        await said(sites[0])
        assert used[-1] == 1
        await sites[0].close()
    assert f"http://{address}/v1" not in {url for _loop, url in _POOLS}


@pytest.mark.parametrize(
    ("url", "key", "path", "authorization"),
    [
        ("http://{}/v1", "sk-secret", "/v1/chat/completions", "Bearer sk-secret"),
        ("http://{}/v1/?version=2", "sk-secret", "/v1/chat/completions?version=2", "Bearer sk-secret"),
        ("http://{}", "", "/chat/completions", None),
        ("http://name:word@{}/v1", "sk-secret", "/v1/chat/completions", "Basic bmFtZTp3b3Jk"),
    ],
)
async def test_address_and_key(
    monkeypatch: pytest.MonkeyPatch, url: str, key: str, path: str, authorization: str | None
) -> None:
    assert base64.b64decode("bmFtZTp3b3Jk") == b"name:word"
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "")
    seen: list[Request] = []

    def answer(_connection: int, _request: int, asked: Request) -> bytes:
        seen.append(asked)
        return http(reply("a"))

    async with serving(answer) as address:
        site = site_at(url.format(address), key)
        await site.complete("m", [{"role": "user", "content": "\ud800 é"}], {"n": 2})
        await site.close()
    assert (seen[0].method, seen[0].path) == ("POST", path)
    assert seen[0].body == {"model": "m", "messages": [{"role": "user", "content": "\ud800 é"}], "n": 2}
    assert seen[0].headers.get("authorization") == authorization
    assert seen[0].headers["openai-organization"] == "org-1"
    assert "openai-project" not in seen[0].headers


async def test_the_environments_proxy_is_used_but_for_hosts_without(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def answer(_connection: int, _request: int, asked: Request) -> bytes:
        seen.append(asked.path)
        return http(reply("a"))

    async with serving(answer) as address:
        monkeypatch.setenv("http_proxy", f"http://{address}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        for url in ("http://models.invalid/v1", f"http://{address}/v1"):
            site = site_at(url)
            await said(site)
            await site.close()
    assert seen == ["http://models.invalid/v1/chat/completions", "/v1/chat/completions"]


LEAN = {"choices": [{"message": {"content": "a"}, "finish_reason": "odd"}]}
MANY: dict[str, object] = {"id": 7, "usage": {"prompt_tokens": 1, "completion_tokens": 2}, "new": [1]}


@pytest.mark.parametrize(
    "answered",
    [
        http(json.dumps(LEAN).encode()),
        http(json.dumps(LEAN).encode(), content_type="text/plain"),
        http(reply("a", **MANY)),
        http(gzip.compress(reply("a")), content_encoding="gzip"),
        http(b" \n" + reply("a")),
    ],
)
async def test_replies_are_read_that_leave_out_or_add_something(answered: bytes) -> None:
    async with serving(lambda *_: answered) as address:
        site = site_at(f"http://{address}/v1")
        assert await said(site) == "a"
        await site.close()


@pytest.mark.parametrize(
    ("answered", "kind", "words"),
    [
        (http(b'{"error": {"message": "no room", "code": 400}}', 400), ModelError, "answered 400: no room$"),
        (http(b'{"object": "error", "message": "no room"}', 400), ModelError, "answered 400: no room$"),
        (http(b'{"detail": "no room"}', 422), ModelError, 'answered 422: {"detail": "no room"}$'),
        (http(b"<html>\n no</html>", 418, content_type="text/html"), ModelError, "answered 418: <html> no</html>$"),
        (http(b"", 304), ModelError, "answered 304"),
        (http(b'["a"]'), ModelError, r"no chat completion but \"\['a'\]\"; check the base URL"),
        (http(b"a.b", content_type="text/plain"), ModelError, "no chat completion but 'a.b'; check the base URL"),
        (http(b'{"id": '), Setback, "broken JSON"),
        (b"no HTTP\r\n\r\n", Setback, "the call failed"),
        (http(b"{}", content_length="99"), Setback, "no answer within"),
    ],
)
async def test_what_is_no_reply_is_named(answered: bytes, kind: type[Exception], words: str) -> None:
    async with serving(lambda *_: answered) as address:
        site = Site("m", f"http://{address}/v1", api_key="", key_variable="K", timeout_s=0.5, max_retries=0)
        with pytest.raises(kind, match=words) as caught:
            await said(site)
        await site.close()
    assert type(caught.value) is kind


@pytest.mark.parametrize("url", ["ftp://host/v1", "host/v1", "http://"])
async def test_what_is_no_address_is_named(url: str) -> None:
    site = site_at(url)
    with pytest.raises(ModelAccessError, match="this is no address; check the base URL"):
        await said(site)
    await site.close()


def test_errors_that_a_server_words_differently_are_told_apart() -> None:
    quota: Mapping[str, object] = {"type": "insufficient_quota", "message": "spent"}
    site = site_at("http://h/v1")
    body = json.dumps({"error": quota}).encode()
    assert isinstance(site._read_status(Response(429, {}, body)), ModelAccessError)
    limited = site._read_status(Response(429, {"retry-after": "3"}, b"slow down"))
    assert isinstance(limited, Setback)
    assert (limited.kind, limited.wait_s) == ("limited", 3)
    assert isinstance(site._read_status(Response(500, {"x-should-retry": "false"}, b"")), ModelError)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (402, "invalid_request_error"),  # DeepSeek's
        (402, 402),  # OpenRouter's
        (429, "insufficient_quota"),
        (429, "billing_not_active"),
        (400, "billing_hard_limit_reached"),
    ],
)
def test_what_only_money_mends_stops_the_run(status: int, code: object) -> None:
    body = json.dumps({"error": {"message": "no money", "code": code}}).encode()
    error = site_at("http://h/v1")._read_status(Response(status, {}, body))
    assert isinstance(error, ModelAccessError)
    assert "add credit and resume the run" in str(error)


def test_payment_that_is_wanted_for_a_while_only_is_a_limit() -> None:
    limited = site_at("http://h/v1")._read_status(Response(402, {"retry-after": "3"}, b"{}"))
    assert isinstance(limited, Setback)
    assert (limited.kind, limited.wait_s) == ("limited", 3)
