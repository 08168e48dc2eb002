"""The connections to one server: requests and replies as bytes, over as many connections as there are requests."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    import ssl

    import aiohttp

#: Seconds that a connection is kept without a request; vLLM and others on uvicorn close theirs after five.
KEPT_S = 4.0

_CONNECT_S = 10.0


class Response(NamedTuple):
    """What a server answered.

    Attributes:
        status: Of HTTP.
        headers: By name in any case.
        body: Decompressed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connections:
    """Sends requests to one server, with as many connections as there are requests at a time.

    aiohttp does it, for the OpenAI SDK takes four times its CPU time for a call (docs/results/throughput.md). What the
    SDK reads from the environment, organization, project and proxies, is read here too. Redirects are followed.

    All that are in use in an event loop share their connections, if they are to the same server.

    Args:
        url: The server's base URL; a user name and password in it take the place of the key.
        api_key: The key, or nothing.
        timeout_s: Seconds until a whole reply must be there; four fifths of them, at most ten, are for connecting.
    """

    def __init__(self, url: str, api_key: str, timeout_s: float) -> None:
        self._url = url
        self._parts = urlsplit(url)
        self._connect_s = min(_CONNECT_S, 0.8 * timeout_s)
        self._headers = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "dissoi"}
        if api_key and not self._parts.username:
            self._headers["Authorization"] = f"Bearer {api_key}"
        for name, variable in (("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")):
            if os.environ.get(variable):
                self._headers[name] = os.environ[variable]
        self._pool: _Pool | None = None

    async def send(self, method: str, path: str, body: bytes | None = None) -> Response:
        """Make a request, once.

        Args:
            method: GET or POST.
            path: Below the base URL.
            body: JSON.

        Returns:
            The whole answer, whatever its status.

        Raises:
            aiohttp.ClientError: There was none.
        """
        import aiohttp

        if self._pool is None:
            self._pool = _POOLS.setdefault((asyncio.get_running_loop(), self._url), _Pool())
            self._pool.users.add(self)
        if self._pool.session is None:
            self._pool.session = self._open()
        url = urlunsplit(self._parts._replace(path=self._parts.path.rstrip("/") + path))
        timeout = aiohttp.ClientTimeout(total=None, connect=self._connect_s)
        async with self._pool.session.request(
            method, url, data=body, headers=self._headers, timeout=timeout
        ) as response:
            return Response(response.status, response.headers, await response.read())

    def retire(self) -> None:
        """Send nothing more on the connections that are open, as one of them is not in order; what is there ends."""
        if self._pool is not None:
            self._pool.retire()

    async def close(self) -> None:
        """Close every connection that nobody else uses; a request that is made afterwards opens new ones."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        pool.users.remove(self)
        if not pool.users:
            del _POOLS[asyncio.get_running_loop(), self._url]
            await pool.close()

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_S, ssl=_tls()),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=self._proxy(),
        )

    def _proxy(self) -> str | None:
        """Return the environment's proxy for this server; aiohttp itself would look it up anew for each request."""
        host, proxies = self._parts.hostname, getproxies()
        if not host or proxy_bypass(host):
            return None
        return proxies.get(self._parts.scheme) or proxies.get("all")


class _Pool:
    """The connections to one server in one event loop.

    Attributes:
        users: Who is not done with them.
        session: Where requests are made, once there was one.
    """

    def __init__(self) -> None:
        self.users: set[Connections] = set()
        self.session: aiohttp.ClientSession | None = None
        self._retired: list[aiohttp.ClientSession] = []

    def retire(self) -> None:
        if self.session is not None:
            self._retired.append(self.session)
            self.session = None

    async def close(self) -> None:
        self.retire()
        for session in self._retired:
            await session.close()


_POOLS: dict[tuple[asyncio.AbstractEventLoop, str], _Pool] = {}


@functools.cache
def _tls() -> ssl.SSLContext:
    """Return the settings of encrypted connections, which take 20 ms to make, so once for all servers."""
    import httpx2

    return httpx2.create_ssl_context()
