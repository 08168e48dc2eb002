"""Serving a report: its files and nothing else, to this machine alone, to be read only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import ClientSession, ClientTimeout, web
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from debate.errors import ConfigError
from tournaments.report_server import make_app, serve

Client = TestClient[web.Request, web.Application]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    for name in (
        "report.html",
        "debates/1.html",
        "debates/secret.html",
        "debates/01.html",
        "assets/list.js",
        "assets/report.css",
        "assets/words.js.part",
        "run.sqlite",
        "config.yaml",
        "debates.jsonl",
    ):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(f"this is {name}", encoding="utf-8")
    (tmp_path / "outside.html").write_text("outside", encoding="utf-8")
    (run / "debates" / "2.html").symlink_to(tmp_path / "outside.html")
    (run / "debates" / "3.html").mkdir()
    return run


@pytest_asyncio.fixture
async def client(folder: Path) -> AsyncIterator[Client]:
    async with TestClient(TestServer(make_app(folder))) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("/report.html", "text/html; charset=utf-8"),
        ("/report.html?words=x", "text/html; charset=utf-8"),
        ("/debates/1.html", "text/html; charset=utf-8"),
        ("/assets/list.js", "text/javascript; charset=utf-8"),
        ("/assets/report.css", "text/css; charset=utf-8"),
    ],
)
async def test_the_report_is_there(client: Client, path: str, type_: str) -> None:
    answer = await client.get(path)
    assert answer.status == 200
    assert await answer.text() == f"this is {path[1:].partition('?')[0]}"
    assert answer.headers["Content-Type"] == type_
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


async def test_the_address_alone_leads_to_it(client: Client) -> None:
    answer = await client.get("/", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (302, "/report.html")


@pytest.mark.parametrize(
    "path",
    [
        "/run.sqlite",
        "/config.yaml",
        "/debates.jsonl",
        "/debates",
        "/debates/",
        "/assets/",
        "/debates/secret.html",
        "/debates/01.html",
        "/debates/9.html",
        "/debates/2.html",
        "/debates/3.html",
        "/assets/words.js",
        "/assets/words.js.part",
        "/debates/../run.sqlite",
        "/debates/%2e%2e/run.sqlite",
        "/debates/..%2frun.sqlite",
        "/..%2foutside.html",
        "/etc/passwd",
        "/report.html%00",
        "/report.html/",
        "/REPORT.HTML",
    ],
)
async def test_nothing_else_is(client: Client, path: str) -> None:
    answer = await client.get(URL(path, encoded=True))
    assert answer.status == 404
    text = await answer.text()
    assert "this is" not in text
    assert "outside" not in text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[", "localhost@evil"])
async def test_other_names_are_refused(client: Client, host: str) -> None:
    answer = await client.get("/report.html", headers={"Host": host})
    assert answer.status in {400, 421}
    assert "this is" not in await answer.text()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8010", "127.0.0.1:99", "[::1]:8010"])
async def test_names_of_this_machine_are_not(client: Client, host: str) -> None:
    assert (await client.get("/report.html", headers={"Host": host})).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_it_is_read_only(client: Client, folder: Path, method: str) -> None:
    assert (await client.request(method, "/report.html", data=b"x")).status == 405
    assert (folder / "report.html").read_text(encoding="utf-8") == "this is report.html"
    assert (await client.head("/report.html")).status == 200


async def test_it_listens_at_loopback_and_says_where(folder: Path) -> None:
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(folder, 0, address.set_result))
    url = await address
    assert url.startswith("http://127.0.0.1:")
    port = int(url.rstrip("/").rpartition(":")[2])
    async with ClientSession(timeout=ClientTimeout(60)) as session, session.get(f"{url}report.html") as answer:
        assert answer.status == 200
    with pytest.raises(ConfigError, match=f"port {port}.*choose another --port"):
        await serve(folder, port, lambda _address: None)
    # No other address of this machine answers at that port.
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.2", port)) != 0
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
