"""The SDK's clients of one server: many small pools of connections instead of a large one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import openai

#: Connections of one pool. A pool walks over all its connections and requests twice for every request, so that of a
#: pool of 1,600 the walking alone took 20 times as long as a second's answers.
POOL = 16


class Connections:
    """Hands out clients, each to at most ``POOL`` requests at a time; a new one is made only when all are taken.

    The last one given back is the first to be taken, so that connections stay open and are no more than needed.

    Args:
        connect: Makes a client whose pool has so many connections.
    """

    def __init__(self, connect: Callable[[int], openai.AsyncOpenAI]) -> None:
        self._connect = connect
        self._clients: list[openai.AsyncOpenAI] = []
        self._free: list[openai.AsyncOpenAI] = []
        self._retired: list[openai.AsyncOpenAI] = []

    @contextlib.contextmanager
    def taken(self) -> Iterator[openai.AsyncOpenAI]:
        """Have a client for one request."""
        if not self._free:
            client = self._connect(POOL)
            self._clients.append(client)
            self._free.extend([client] * POOL)
        client = self._free.pop()
        try:
            yield client
        finally:
            if client not in self._retired:
                self._free.append(client)

    def retire(self, client: openai.AsyncOpenAI) -> None:
        """Hand a client out no more, as one of its connections is not in order; its other requests are finished."""
        if client not in self._retired:
            self._retired.append(client)
            self._free = [other for other in self._free if other is not client]

    async def close(self) -> None:
        """Close every connection; a client that is taken afterwards is a new one."""
        clients, self._clients, self._free, self._retired = self._clients, [], [], []
        for client in clients:
            await client.close()
