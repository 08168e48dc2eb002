"""A chat-completions server for tests: a real process on a real port, with deterministic replies and scripted faults.

Run it with ``python tests/chat_server.py [--port N] [--latency SECONDS] [--key KEY]``; it prints its port first.
Debaters get an ``<argument>`` with quotes from the story of the prompt, judges get letter probabilities that depend on
a hash of the prompt. A model called ``fault-X``, or a header ``X-Fault: X``, brings about the fault X (see FAULTS).
Names that begin like reasoning models refuse temperature, logprobs and max_tokens, as those do. A model called
``some-X`` has the fault X with about every third prompt.

Like vLLM it loads LoRA adapters: ``--lora`` names those that it has from the start, and folders whose name holds
"missing" are loaded with a 200 and fail when they are used. A ``structured_outputs`` choice is kept, except by a model
called ``deaf``; so is a JSON schema of texts.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import hashlib
import json
import math
import random
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

FILLER = (
    "The other side cannot explain this line.",
    "Read it again and ask what else it could mean.",
    "The story says so in its own words.",
    "Nothing that my opponent quotes speaks against it.",
    "A reader who follows the events in order reaches the same conclusion.",
    "That is direct evidence and not a guess.",
    "The opposing answer needs a motive that the text never gives.",
    "Weigh the quoted words and not the tone of the speaker.",
)
OTHERS = ("The", "I", "Answer", "Both", "Debater", "It", "**", "Based", "After", "Neither", "Well", "So", "Judge", "My")
REASONING = re.compile(r"(o[134](-|$)|gpt-5)")


class Reply(NamedTuple):
    """An HTTP response."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {"content-type": "application/json"}
    how: str = ""  # "drip": a byte now and then; "twice": the whole again, unasked; "cut": half of it


def error(status: int, message: str, code: str, **headers: str) -> Reply:
    body = {"error": {"message": message, "type": code, "code": code, "param": None}}
    return Reply(status, json.dumps(body).encode(), {"content-type": "application/json"} | headers)


# Faults that answer a request instead of the model: how many attempts of one request get it, and the answer.
ALWAYS = 10**9
FAULTS: dict[str, tuple[int, Reply]] = {
    "429-twice": (2, error(429, "slow down", "rate_limit_exceeded", **{"retry-after-ms": "20"})),
    "429-always": (ALWAYS, error(429, "slow down", "rate_limit_exceeded", **{"retry-after-ms": "20"})),
    "429-second": (1, error(429, "slow down", "rate_limit_exceeded", **{"retry-after": "1"})),
    "429-plain": (1, error(429, "slow down", "rate_limit_exceeded")),
    "429-hours": (ALWAYS, error(429, "daily limit", "rate_limit_exceeded", **{"retry-after": "7200"})),
    "503-once": (1, error(503, "overloaded", "server_error")),
    "500-always": (ALWAYS, error(500, "oops", "server_error", **{"retry-after-ms": "20"})),
    "500-once": (1, error(500, "oops", "server_error", **{"retry-after-ms": "20"})),
    "503-always": (ALWAYS, error(503, "overloaded", "server_error", **{"retry-after-ms": "20"})),
    "quota": (ALWAYS, error(429, "You exceeded your current quota", "insufficient_quota")),
    "401": (ALWAYS, error(401, "Incorrect API key provided: sk-very*******cret.", "invalid_api_key")),
    "403": (ALWAYS, error(403, "Project has no access to the model", "model_not_found")),
    "404": (ALWAYS, error(404, "The model does not exist", "model_not_found")),
    "400": (ALWAYS, error(400, "key sk-very-secret was sent with a bad request", "invalid_request")),
    "context": (ALWAYS, error(400, "This model's maximum context length is 100 tokens", "context_length_exceeded")),
    "html": (ALWAYS, Reply(200, b"<html><body>Welcome to nginx!</body></html>", {"content-type": "text/html"})),
    "truncated": (ALWAYS, Reply(200, b'{"id": "x", "choices": [{"ind')),
    "truncated-once": (1, Reply(200, b'{"id": "x", "choices": [{"ind')),
    "drip-once": (1, Reply(200, b" " * 10**6, how="drip")),
    "cut-once": (1, Reply(200, b'{"id": "x", "choices": []}', how="cut")),
    "object": (ALWAYS, Reply(200, b'{"hello": "world"}')),
}
# Faults in an answer that is otherwise right: no-logprobs, no-letters, one-letter, zero-logprobs, empty, null-content,
# refusal, filter, short-n, twin (each choice twice), length, no-usage, some-logprobs (none for prompts that hold
# "unlucky").
# Refusals: second (of equal requests, the second alone), no-letters-unheld (as no-letters, and takes no choices).
# Faults of the connection: reset-once, reset, hang, hang-once, late-once (the answer comes after 1.5 s), twice (the
# answer is sent again, unasked).


def noise(*parts: object) -> random.Random:
    """Return a generator that depends on its arguments alone."""
    return random.Random(hashlib.sha256("\0".join(map(str, parts)).encode()).digest())


def argue(prompt: str, story: str, index: int) -> str:
    """Write a speech of the length that the prompt asks for, with up to two quotes from the story."""
    draw = noise("argue", prompt, index)
    limits = re.search(r"Write (\d+) to (\d+) words", prompt)
    low, high = (int(limits[1]), int(limits[2])) if limits else (70, 150)
    sentences = [text.strip() for text in re.split(r"(?<=[.!?])\s+", story) if 4 <= len(text.split()) <= high // 3]
    speech = ["My answer is the right one."]
    quotes = draw.sample(sentences, min(2, len(sentences)))
    speech += [f"The story says <quote>{quote}</quote> and that settles it." for quote in quotes]
    while len(" ".join(speech).split()) < low:
        speech.append(draw.choice(FILLER))
    return f"I look for the strongest lines.\n<argument>\n{' '.join(speech)}\n</argument>"


def letter_logprobs(prompt: str, top: int, fault: str) -> list[dict[str, Any]]:
    """Spread probability over the first token: both letters in two forms each, the rest over other words."""
    share = noise("judge", prompt).uniform(0.05, 0.95)
    masses = {"A": 0.8 * share, " A": 0.1 * share, "B": 0.8 * (1 - share), " B": 0.1 * (1 - share)}
    if fault == "one-letter":
        masses = {"A": 0.95, " A": 0.0499}
    if fault.startswith("no-letters"):
        masses = {}
    left = 1 - math.fsum(masses.values())
    masses |= {token: left * 2.0 ** -(rank + 1) for rank, token in enumerate(OTHERS)}
    ranked = sorted(masses.items(), key=lambda item: -item[1])[:top]
    return [
        {"token": token, "logprob": 0.0 if fault == "zero-logprobs" else math.log(mass), "bytes": list(token.encode())}
        for token, mass in ranked
    ]


def reply_text(prompt: str, story: str, index: int) -> str:
    """Answer as a debater, as a judge that reasons, or briefly."""
    if story:
        return argue(prompt, story, index)
    choice = "A" if noise("verdict", prompt, index).random() < 0.5 else "B"
    if re.search(r"^Answer: A$", prompt, re.MULTILINE):
        return f"One side quotes better than the other.\nAnswer: {choice}"
    return f"Reply {noise('reply', prompt, index).randrange(10**6)} to a prompt of {len(prompt.split())} words."


def instance(schema: Mapping[str, Any], prompt: str, index: int) -> dict[str, str]:
    """Fill an object of texts, some of which are held to words."""
    return {
        name: noise(name, prompt, index).choice(field["enum"]) if "enum" in field else f"{name} of reply {index}."
        for name, field in schema["properties"].items()
    }


class ChatServer:
    """The state of the server: what was asked, and how often."""

    def __init__(self, *, latency: float, key: str | None, lora: Mapping[str, str]) -> None:
        self.latency = latency
        self.lora = dict(lora)
        self.loads: list[str] = []
        self.key = key
        self.by_model: collections.Counter[str] = collections.Counter()
        self.samples = 0
        self.answered: collections.Counter[str] = collections.Counter()
        self.running = 0
        self.most_running = 0
        self.last: dict[str, dict[str, Any]] = {}
        self.attempts: collections.Counter[str] = collections.Counter()
        self.prefixes: set[str] = set()

    async def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply | None:
        """Answer a request; None drops the connection."""
        if method == "GET" and path == "/calls":
            report = {
                "calls": self.by_model.total(),
                "by_model": self.by_model,
                "samples": self.samples,
                "answered": self.answered,
                "most_running": self.most_running,
                "last": self.last,
                "loads": self.loads,
            }
            return Reply(200, json.dumps(report).encode())
        if path in {"/v1/models", "/v1/load_lora_adapter"}:
            return self.serve_lora(method, body)
        if method != "POST" or path != "/v1/chat/completions":
            return error(404, f"no {method} {path} here", "not_found")
        request = json.loads(body)
        model = request["model"]
        self.by_model[model] += 1
        self.last[model] = request
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(self.latency)
            if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
                return FAULTS["401"][1]
            kind, _, named = model.partition("-")
            unlucky = kind == "some" and noise("unlucky", request["messages"][-1]["content"]).random() < 1 / 3
            fault = headers.get("x-fault", named if kind == "fault" or unlucky else "")
            return await self.fail(fault, body) or self.refuse(request) or self.complete(request, fault)
        except ConnectionResetError:
            return None
        finally:
            self.running -= 1

    async def fail(self, fault: str, body: bytes) -> Reply | None:
        """Bring about a fault that takes the place of an answer."""
        attempt = f"{fault} {hashlib.sha256(body).hexdigest()}"
        self.attempts[attempt] += 1
        first = self.attempts[attempt] == 1
        if fault == "hang" or (fault == "hang-once" and first):
            await asyncio.sleep(3600)
        if fault == "late-once" and first:
            await asyncio.sleep(1.5)
        if fault == "reset" or (fault == "reset-once" and first):
            raise ConnectionResetError
        if fault == "second" and self.attempts[attempt] == 2:
            return FAULTS["400"][1]
        if fault == "no-letters-unheld" and b"structured_outputs" in body:
            return FAULTS["400"][1]
        times, reply = FAULTS.get(fault, (0, None))
        return reply if self.attempts[attempt] <= times else None

    def refuse(self, request: Mapping[str, Any]) -> Reply | None:
        """Refuse what models of this name do not take, and adapters that are not there."""
        if "missing" in self.lora.get(request["model"], ""):
            return error(500, "No adapter found", "server_error")
        roles = [message["role"] for message in request["messages"]]
        if request["model"].startswith("strict") and (
            "system" in roles or roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]
        ):
            return error(400, f"roles must alternate, beginning with user: {roles}", "invalid_request")
        unsupported = {"temperature", "top_p", "logprobs", "top_logprobs", "max_tokens", "stop"} & set(request)
        if REASONING.match(request["model"]) and unsupported:
            return error(400, f"Unsupported parameters: {sorted(unsupported)}", "unsupported_parameter")
        return None

    def complete(self, request: Mapping[str, Any], fault: str) -> Reply:
        """Make a chat completion."""
        prompt = "\n".join(message["content"] for message in request["messages"])
        found = re.search(r"<story>(.*?)</story>", prompt, re.DOTALL)
        story = found[1].strip() if found else ""
        limit = 5 if fault == "length" else request.get("max_tokens") or request.get("max_completion_tokens") or 4096
        held = request.get("structured_outputs") if request["model"] != "deaf" else None
        choices, tokens_out = [], 0
        for index in range(1 if fault == "short-n" else request.get("n") or 1):
            logprobs = None
            silent = fault == "no-logprobs" or (fault == "some-logprobs" and "unlucky" in prompt)
            if request.get("logprobs") and not silent:
                top = letter_logprobs(prompt, request.get("top_logprobs") or 0, fault)
                logprobs = {"content": [{**top[0], "top_logprobs": top}], "refusal": None}
            text = top[0]["token"] if logprobs else reply_text(prompt, story, index)
            if request.get("response_format") and request["model"] != "deaf":
                text = json.dumps(instance(request["response_format"]["json_schema"]["schema"], prompt, index))
            if held:
                text = held["choice"][noise("held", prompt, index).random() > 0.75]  # the first three times in four
            tokens, finish = math.ceil(len(text) / 4), "stop"
            if tokens > limit:
                text, tokens, finish = text[: 4 * limit], limit, "length"
            tokens_out += tokens
            content = None if fault in {"null-content", "filter", "refusal"} else text
            refusal = "I will not talk of that." if fault == "refusal" else None
            choices.append(
                {
                    "index": index,
                    "message": {"role": "assistant", "content": content, "refusal": refusal},
                    "logprobs": logprobs,
                    "finish_reason": "content_filter" if fault == "filter" else finish,
                }
            )
        if fault == "twin":
            choices = [choice for choice in choices for _ in range(2)]
        self.samples += len(choices)
        self.answered[request["model"]] += 1
        response = {
            "id": f"chatcmpl-{self.answered.total()}",
            "object": "chat.completion",
            "created": 0,
            "model": request["model"],
            "choices": [] if fault == "empty" else choices,
            "usage": None if fault == "no-usage" else self.usage(request["model"], prompt, tokens_out),
        }
        return Reply(200, json.dumps(response).encode(), how="twice" if fault == "twice" else "")

    def serve_lora(self, method: str, body: bytes) -> Reply:
        """List the models, or load an adapter."""
        if method == "GET":
            models = {"base": "base", **self.lora}
            return Reply(200, json.dumps({"data": [{"id": name, "root": at} for name, at in models.items()]}).encode())
        request = json.loads(body)
        name, at = request["lora_name"], request["lora_path"]
        self.loads.append(name)
        if name in self.lora:
            return error(400, f"The lora adapter '{name}' has already been loaded.", "InvalidUserInput")
        if "nowhere" in at:
            return error(404, f"Loading lora {name} failed: No adapter found for {at}", "NotFoundError")
        self.lora[name] = at
        return Reply(
            200, f"Success: LoRA adapter '{name}' added successfully.".encode(), {"content-type": "text/plain"}
        )

    def usage(self, model: str, prompt: str, tokens_out: int) -> dict[str, Any]:
        """Count four characters as a token; the first 512 tokens of a prompt seen before come from the cache."""
        hidden = 64 if REASONING.match(model) else 0
        prefix = prompt[:2048]
        cached = 512 if len(prefix) == 2048 and prefix in self.prefixes else 0
        self.prefixes.add(prefix)
        tokens_in = math.ceil(len(prompt) / 4)
        return {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out + hidden,
            "total_tokens": tokens_in + tokens_out + hidden,
            "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": hidden, "audio_tokens": 0},
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, HTTP/1.1 with keep-alive."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _version = head[0].split(" ")
                pairs = (line.split(":", 1) for line in head[1:] if line)
                headers = {name.lower(): value.strip() for name, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                reply = await self.answer(method, path, headers, body)
                if reply is None:
                    return
                lines = [f"HTTP/1.1 {reply.status} Scripted", f"content-length: {len(reply.body)}"]
                lines += [f"{name}: {value}" for name, value in reply.headers.items()]
                whole = "\r\n".join([*lines, "", ""]).encode() + reply.body
                if reply.how == "drip":
                    for index in range(len(whole)):
                        writer.write(whole[index : index + 1])
                        await writer.drain()
                        await asyncio.sleep(0.05 if index > 60 else 0)
                writer.write(whole * 2 if reply.how == "twice" else whole[:-9] if reply.how == "cut" else whole)
                await writer.drain()
                if reply.how == "cut":
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--key", help="the API key that is taken; without it any is")
    parser.add_argument("--lora", nargs="*", default=[], help="NAME=FOLDER of the adapters that it has")
    flags = parser.parse_args()
    lora = dict(pair.split("=", 1) for pair in flags.lora)
    state = ChatServer(latency=flags.latency, key=flags.key, lora=lora)
    server = await asyncio.start_server(state.serve, "127.0.0.1", flags.port, limit=2**24, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - how the parent learns the port
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
