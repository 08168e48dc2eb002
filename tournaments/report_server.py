"""A report served to browsers of this machine: the files of the report and nothing else, to be read only."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from debate.errors import ConfigError
from tournaments.room_guard import host_names

if TYPE_CHECKING:
    from aiohttp import web

HOST = "127.0.0.1"
#: What a report has. Any other path is absent, whatever lies in the folder: the store beside it is nobody's business.
FILES = re.compile(
    r"report\.html|debates/[1-9][0-9]{0,8}\.html|"
    r"assets/(?:report\.css|(?:report|list|debates|words|figures|plotly\.min)\.js)"
)
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
# The pages say what they may load; who may frame them can only be said here.
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_Handler = Callable[["web.Request"], Awaitable["web.StreamResponse"]]


def make_app(folder: Path) -> web.Application:
    """Make the application that serves a report.

    Requests under another host's name are refused: a page elsewhere whose name points to this machine (DNS rebinding)
    would read debates with them.

    Args:
        folder: The folder of the report.

    Returns:
        An application that answers GET and HEAD.
    """
    from aiohttp import web

    root = folder.resolve()
    hosts = host_names(HOST, ())

    @web.middleware
    async def check(request: web.Request, handler: _Handler) -> web.StreamResponse:
        try:
            name = (urlsplit(f"//{request.host}").hostname or "").casefold()
        except ValueError:
            name = ""
        if name not in hosts:
            raise web.HTTPMisdirectedRequest(text="This report is reached as localhost and by no other name.\n")
        if request.method not in {"GET", "HEAD"}:
            raise web.HTTPMethodNotAllowed(request.method, ["GET", "HEAD"])
        return await handler(request)

    async def send(request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        path = root / name
        # A link in the folder may point anywhere.
        if FILES.fullmatch(name) is None or path.resolve() != path or not path.is_file():
            raise web.HTTPNotFound(text="There is no such page in this report.\n")
        return web.FileResponse(path, headers={"Content-Type": f"{_TYPES[path.suffix]}; charset=utf-8"})

    async def start(_request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/report.html")

    async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(_HEADERS)

    app = web.Application(middlewares=[check])
    app.router.add_route("*", "/", start)
    app.router.add_route("*", "/{name:.*}", send)
    app.on_response_prepare.append(add_headers)
    return app


async def serve(folder: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve a report on loopback until the task is cancelled.

    Args:
        folder: The folder of the report.
        port: Where to listen; 0 for any free one.
        ready: Called with the address once it is served.

    Raises:
        ConfigError: The port cannot be had.
    """
    from aiohttp import web

    runner = web.AppRunner(make_app(folder), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        try:
            await site.start()
        except OSError as error:
            raise ConfigError(
                f"cannot listen at {HOST}, port {port}: {error.strerror or error}; choose another --port, or 0 for a "
                "free one"
            ) from error
        ready(f"http://{HOST}:{runner.addresses[0][1]}/")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def serve_until_interrupted(folder: Path, port: int) -> None:
    """Serve a report until Ctrl-C, and say where; see ``serve``."""

    def ready(address: str) -> None:
        sys.stdout.write(f"Serving {address} (Ctrl-C to stop)\n")
        sys.stdout.flush()

    asyncio.run(serve(folder, port, ready))
