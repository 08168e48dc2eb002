"""A chat-completions server of fixed latency, for ``benchmarks.throughput``: ``python -m benchmarks.latency_server``.

A process of its own, so that its time is not the client's. It answers by model and prompt alone, so that the same calls
can be made again in another way: debaters get a speech with two quotes from the story of their prompt, judges get
letter probabilities. ``GET /stats`` tells what it was asked and what CPU time that took it.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import resource
from collections.abc import Mapping, Sequence
from typing import Any

SPEECH = (
    "My answer is the right one, and the story itself settles it. It says <quote>{}</quote> and a reader who follows "
    "the events in order can take that in one way only. It also says <quote>{}</quote> which the other side cannot "
    "explain. Nothing that my opponent quotes speaks against these words, for {} reasons that you can check. Weigh the "
    "quoted words and not the tone of the speaker."
)
OTHERS = ("The", "I", "Answer", "Both", "Debater", "It", "**", "Based", "After", "Neither", "Well", "So", "Judge", "My")


def seed_of(model: str, messages: Sequence[Mapping[str, str]]) -> int:
    """Return a number that depends on a model's name and a prompt alone."""
    digest = hashlib.sha256("\0".join([model, *(message["content"] for message in messages)]).encode()).digest()
    return int.from_bytes(digest[:8], "big")


def write_speech(model: str, messages: Sequence[Mapping[str, str]], sample: int = 0) -> str:
    """Write a debater's speech of about 100 words, with two sentences of the story of its prompt."""
    seed = seed_of(model, messages) + 7919 * sample
    story = messages[-1]["content"].partition("<story>")[2].partition("</story>")[0]
    sentences = [part.strip() for part in story.replace("\n", " ").split(". ") if len(part) > 20]
    first, second = sentences[seed % len(sentences)], sentences[seed // 1000 % len(sentences)]
    return f"<argument>{SPEECH.format(first, second, seed % 10**6)}</argument>"


def letter_share(model: str, messages: Sequence[Mapping[str, str]]) -> float:
    """Return the probability of the letter A, of 0.9 that both letters have."""
    return 0.05 + 0.8 * (seed_of(model, messages) % 1000) / 1000


def _logprobs(share: float) -> list[dict[str, Any]]:
    masses = {"A": share, "B": 0.9 - share} | {word: 0.1 * 2.0 ** -(rank + 1) for rank, word in enumerate(OTHERS)}
    ranked = sorted(masses.items(), key=lambda item: -item[1])
    return [{"token": token, "logprob": math.log(mass), "bytes": list(token.encode())} for token, mass in ranked]


def complete(request: Mapping[str, Any]) -> bytes:
    """Make the chat completion that answers a request."""
    model, messages = request["model"], request["messages"]
    logprobs = None
    if request.get("logprobs"):
        top = _logprobs(letter_share(model, messages))
        texts = [top[0]["token"]]
        logprobs = {"content": [{**top[0], "top_logprobs": top}], "refusal": None}
    else:
        texts = [write_speech(model, messages, sample) for sample in range(request.get("n") or 1)]
    tokens_in, tokens_out = sum(len(message["content"]) for message in messages) // 4, sum(map(len, texts)) // 4 + 1
    response = {
        "id": f"chatcmpl-{seed_of(model, messages)}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": logprobs,
                "finish_reason": "stop",
            }
            for index, text in enumerate(texts)
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
    }
    return json.dumps(response).encode()


class State:
    """What the server was asked.

    Attributes:
        latency: Seconds before each answer.
        bodies: Every request, as it came.
        connections: Connections that were opened.
        running: Requests under way.
        most_running: The most requests that were under way at a time.
    """

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.bodies: list[bytes] = []
        self.connections = 0
        self.running = 0
        self.most_running = 0

    def stats(self) -> dict[str, Any]:
        """Return the figures; ``requests`` is a digest of all requests, whatever order they came in."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        parsed = sorted(json.dumps(json.loads(body), sort_keys=True) for body in self.bodies)
        return {
            "calls": len(self.bodies),
            "connections": self.connections,
            "most_running": self.most_running,
            "cpu_s": used.ru_utime + used.ru_stime,
            "requests": hashlib.sha256("\n".join(parsed).encode()).hexdigest(),
        }


class Connection(asyncio.Protocol):
    """One connection, HTTP/1.1 with keep-alive and a request at a time."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for mypy
        self._transport = transport
        self._state.connections += 1

    def data_received(self, data: bytes) -> None:
        """Take bytes; once they are a whole request, answer it."""
        self._received += data
        head, gap, body = self._received.partition(b"\r\n\r\n")
        if not gap:
            return
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if len(body) < length:
            return
        self._received = body[length:]
        if head.startswith(b"GET /stats "):
            self._send(json.dumps(self._state.stats()).encode())
            return
        state = self._state
        state.bodies.append(body[:length])
        state.running += 1
        state.most_running = max(state.most_running, state.running)
        asyncio.get_running_loop().call_later(state.latency, self._answer, body[:length])

    def _answer(self, body: bytes) -> None:
        self._state.running -= 1
        self._send(complete(json.loads(body)))

    def _send(self, body: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            self._transport.write(head.encode() + body)


async def main() -> None:
    """Serve until killed; the port is printed first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=1.0, help="seconds before each answer")
    state = State(parser.parse_args().latency)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(state), "127.0.0.1", 0, backlog=8192)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
