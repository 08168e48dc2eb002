"""Downloads, against a server of our own on this machine."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from debate.errors import SourceError
from debate.sources import load

ROW = b'{"question": "Who ran?", "answers": ["Ann", "Bo"], "gold": 1}\n'
HUB_FILE = "/datasets/dissoi/own/resolve/main/sub/own.jsonl"


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves one file at a plain address, and as a data set of the hub."""

    seen: list[str]

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        self.seen.append(f"{self.command} {self.path}")
        found = self.path in {"/own.jsonl?v=1", HUB_FILE}
        body = ROW if found else b"no such file"
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1234"')
        self.send_header("X-Repo-Commit", "a" * 40)
        if not found:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    handler = type("OwnHandler", (Handler,), {"seen": []})
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISSOI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "cache"


def test_an_address_is_downloaded_once(server: http.server.ThreadingHTTPServer, cache: Path) -> None:
    source = f"questions:http://127.0.0.1:{server.server_port}/own.jsonl?v=1?"
    assert load(source) == load(source)
    (kept,) = (cache / "downloads").iterdir()
    assert kept.name.endswith("-own.jsonl")
    assert kept.read_bytes() == ROW
    assert server.RequestHandlerClass.seen == ["GET /own.jsonl?v=1"]  # type: ignore[attr-defined]


def test_a_wrong_address_leaves_nothing_behind(server: http.server.ThreadingHTTPServer, cache: Path) -> None:
    with pytest.raises(SourceError, match="answered 404; check the address"):
        load(f"questions:http://127.0.0.1:{server.server_port}/none.jsonl")
    assert not list((cache / "downloads").iterdir())


def test_an_unreachable_address_is_one_clear_error(server: http.server.ThreadingHTTPServer, cache: Path) -> None:
    port = server.server_port
    server.shutdown()
    server.server_close()
    with pytest.raises(SourceError, match=r"cannot download http://127.*check the network, or give a local path"):
        load(f"questions:http://127.0.0.1:{port}/own.jsonl")
    assert not list((cache / "downloads").iterdir())


@pytest.mark.parametrize("place", ["hub:own", "hub:dissoi/own", "hub:dissoi//own.jsonl"])
def test_a_malformed_hub_place_says_the_form(place: str) -> None:
    with pytest.raises(SourceError, match="write hub:OWNER/DATASET/FILE"):
        load(f"questions:{place}")


def hub(endpoint: str, home: Path, place: str, **extra: str) -> str:
    """Load from the hub in a process of its own, since the hub's client reads its settings when it is imported."""
    code = (
        "import sys\nfrom debate.sources import load\nfrom debate.errors import SourceError\n"
        "try:\n    print('loaded', len(load('questions:' + sys.argv[1])))\n"
        "except SourceError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home), "NO_PROXY": "127.0.0.1", **extra}
    done = subprocess.run(
        [sys.executable, "-c", code, place],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).resolve().parents[3],
        env=environment,
    )
    return done.stdout.strip()


def test_the_hub(server: http.server.ThreadingHTTPServer, tmp_path: Path) -> None:
    endpoint = f"http://127.0.0.1:{server.server_port}"
    place = "hub:dissoi/own/sub/own.jsonl"
    online = {"HF_HUB_OFFLINE": "0"}
    assert "HF_HUB_OFFLINE is set; unset it" in hub(endpoint, tmp_path, place, HF_HUB_OFFLINE="1")
    assert "no such data set or file" in hub(endpoint, tmp_path, "hub:dissoi/own/none.jsonl", **online)
    assert hub(endpoint, tmp_path, place, **online) == "loaded 1"
    server.shutdown()
    server.server_close()
    assert hub(endpoint, tmp_path, place, **online) == "loaded 1"  # from the hub's cache
    assert "check the network, or give a local path" in hub(endpoint, tmp_path / "new", place, **online)
