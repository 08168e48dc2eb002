"""Servers that tests talk to, as fixtures; import ``chat_server_fixture`` to use ``chat_server``."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True, slots=True)
class ChatServer:
    """A running chat-completions server.

    Attributes:
        base_url: What clients are given.
        api_key: The only key that it takes.
    """

    base_url: str
    api_key: str

    def report(self) -> dict[str, Any]:
        """Return what it was asked so far: calls, calls by model, samples, most requests at a time, last requests."""
        with urllib.request.urlopen(self.base_url.removesuffix("/v1") + "/calls", timeout=10) as response:  # noqa: S310 - our own
            report: dict[str, Any] = json.load(response)
        return report

    def calls(self, model: str) -> int:
        """Return how many requests came for a model, failed ones included."""
        return int(self.report()["by_model"].get(model, 0))


@contextlib.contextmanager
def running_chat_server(
    *, latency_s: float = 0.0, api_key: str = "sk-very-secret", port: int = 0, lora: Sequence[str] = ()
) -> Iterator[ChatServer]:
    """Run a chat-completions server as a process of its own, on a free loopback port unless one is given."""
    script = Path(__file__).with_name("chat_server.py")
    command = [sys.executable, str(script), "--latency", str(latency_s), "--key", api_key, "--port", str(port)]
    command += ["--lora", *lora]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = process.stdout.readline().strip()
            assert found.isdigit(), "the chat server did not start"
            yield ChatServer(f"http://127.0.0.1:{found}/v1", api_key)
        finally:
            process.kill()


@pytest.fixture(scope="session", name="chat_server")
def chat_server_fixture() -> Iterator[ChatServer]:
    """A chat-completions server shared by the session."""
    with running_chat_server() as server:
        yield server
