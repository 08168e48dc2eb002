"""Who may talk to a judge room: host names, the shared token, posts of its own pages only, and what browsers may do."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from debate.errors import StoreError

KEY = "room.key"
"""The file of the room's secret."""
CSRF = "csrf"
ENTERED = "entered"
ENTER = "/enter"
MAX_BODY = 64 * 1024  # bytes
#: Also in the pages themselves; browsers take what frames a page from the header only.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'self'"
_HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def keep_secret(path: Path) -> str:
    """Read the room's secret, or make it: links and open forms stay good after a restart.

    Args:
        path: Its file, which its owner alone may read.

    Raises:
        StoreError: It can be neither read nor written.
    """
    try:
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32))
        found = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"cannot keep the room's secret in {path}: {error}; remove the file or free it") from error
    if len(found) < 32:  # of a process that was killed while it wrote
        path.unlink()
        return keep_secret(path)
    return found


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_names(host: str, names: Sequence[str]) -> frozenset[str]:
    """The names by which a room is reached: a page of another name that points here (DNS rebinding) is refused.

    Args:
        host: The address it listens at.
        names: Further names.
    """
    if is_loopback(host):
        own = {"localhost", "127.0.0.1", "::1", host}
    else:
        own = {host, socket.gethostname(), socket.getfqdn()}
        with contextlib.suppress(OSError):
            own |= {str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None)}
    return frozenset(name.casefold() for name in (*own, *names))


class Guard:
    """Checks every request before a page sees it.

    Args:
        secret: The room's secret.
        hosts: Names by which it is reached, see ``host_names``.
        open_: Whether no token is asked for, as on loopback.
    """

    def __init__(self, secret: str, *, hosts: frozenset[str], open_: bool) -> None:
        self._secret = secret.encode()
        self._hosts = hosts
        self._open = open_

    @property
    def token(self) -> str:
        """What the link holds."""
        return self._sign("token")

    def csrf(self, person: str) -> str:
        """What every form of a person holds, and no other site can know."""
        return self._sign(f"form {person}")

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()

    def cookie(self, request: web.Request, name: str) -> str:
        """A cookie's name: browsers share cookies between the ports of one host."""
        return f"room-{name}-{urlsplit(f'//{request.host}').port or 80}"

    def is_token(self, given: str) -> bool:
        """Whether a link's token is the room's."""
        return _same(given, self.token)

    def let_in(self, request: web.Request, response: web.StreamResponse) -> None:
        """Let a browser in that came with the link."""
        self.set_cookie(request, response, ENTERED, self._sign("entered"))

    def set_cookie(self, request: web.Request, response: web.StreamResponse, name: str, value: str) -> None:
        """Set a cookie that scripts cannot read and other sites' links do not send."""
        response.set_cookie(self.cookie(request, name), value, httponly=True, samesite="Strict", path="/")

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what may not be; see the module."""
        try:
            place = urlsplit(f"//{request.host}")
            host = place.hostname or ""
            _ = place.port  # one that is no number is refused here
        except ValueError:
            host = ""
        if host.casefold() not in self._hosts:
            raise web.HTTPMisdirectedRequest(
                text=f"This room is not reached by the name {host!r}. Who runs it can allow the name: --names NAME\n"
            )
        entered = request.cookies.get(self.cookie(request, ENTERED), "")
        public = request.path == ENTER or request.path.startswith("/assets/")
        if not (self._open or public or _same(entered, self._sign("entered"))):
            raise web.HTTPForbidden(text="This room is entered by its link. Open the link that you were given.\n")
        if request.method not in {"GET", "HEAD", "POST"}:
            raise web.HTTPMethodNotAllowed(request.method, ["GET", "HEAD", "POST"])
        if request.method == "POST":
            self._check_origin(request)
        return await handler(request)

    def _check_origin(self, request: web.Request) -> None:
        """Refuse posts of other sites. Where no referrer is sent the origin may be null: the form's key decides."""
        origin = request.headers.get("Origin", "null")
        site = request.headers.get("Sec-Fetch-Site", "same-origin")
        foreign = origin != "null" and origin.partition("://")[2].casefold() != request.host.casefold()
        if foreign or site not in {"same-origin", "none"}:
            raise web.HTTPForbidden(text="Another site sent this form, so it was refused.\n")

    def check_form(self, person: str, given: str) -> None:
        """Hold that a form came from a page of this room.

        Raises:
            web.HTTPForbidden: It did not.
        """
        if not _same(given, self.csrf(person)):
            raise web.HTTPForbidden(text="This form is not of this room, or of another name. Load the page anew.\n")


def _same(given: str, right: str) -> bool:
    """Compare in a time that does not tell how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Put what browsers may do on every response."""
    for name, value in _HEADERS.items():
        response.headers[name] = value
