"""A person judges in headless Chromium: names itself, drafts, reloads, sends; the server is killed, and goes on.

Run as a script, ``python tests/e2e/test_judge_room_page.py FOLDER`` leaves pictures of the pages in a folder.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from debate.sources import load_debates
from tests.browsers import chromium
from tests.commands import call
from tests.runs import EXTRACTIVE, ROOT, hold
from tournaments.report import COMMAND as REPORT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.e2e

WHY = "The quoted line names who took it, and the other side never answers that line at all."


class Server:
    """The command in a process of its own.

    Args:
        arguments: Its command line.
    """

    def __init__(self, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tournaments.judge_room", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        said = ""
        for line in self._process.stdout:
            said += line
            found = re.search(r"http://\S+", line)
            if found:
                self.link = found[0]
                return
        raise AssertionError(said)

    def kill(self) -> None:
        """Kill it with no warning."""
        self._process.kill()
        self._process.wait(60)

    def stop(self) -> tuple[int, str]:
        """Stop it as Ctrl-C does; returns its exit code and what it printed."""
        self._process.send_signal(signal.SIGINT)
        out, _ = self._process.communicate(timeout=200)
        return self._process.returncode, out


def watched(browser: Browser, trouble: list[str]) -> Page:
    """A page that tells of errors, and of requests that leave the room."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_default_timeout(20_000)
    page.on("console", lambda message: trouble.append(f"{message.type} {message.text}"))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: trouble.append(f"dialog {dialog.message}"))
    page.on("request", lambda request: None if "//127.0.0.1:" in request.url else trouble.append(request.url))
    return page


def judge_by_keyboard(page: Page, *, presses: int) -> None:
    """Fill in a judgement with the keyboard alone, from the link above the page on, and leave it unsent."""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "share":
            break
    page.keyboard.press("Space")
    for _ in range(presses):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "explanation"
    page.keyboard.type(WHY)


def picture(page: Page, folder: Path | None, name: str) -> None:
    """Leave a picture, where there is a folder for it."""
    if folder is not None:
        page.screenshot(path=folder / f"{name}.png", full_page=True)


def check_report(room: Path) -> None:
    """Hold that a room's report shows people and what they did, and stays: a report made anew would know no people."""
    report = (room / "report.html").read_bytes()
    for title in ("People", "Errors", "Calibration"):
        assert f">{title}</h2>".encode() in report
    assert call(REPORT, room).code == 0
    assert (room / "report.html").read_bytes() == report


def judge_two(folder: Path, pictures: Path | None = None) -> Path:
    """Make a run, and judge two of its debates in a browser with a kill between them; returns the room."""
    assert hold(folder, players=EXTRACTIVE, self_play=None, stories=2).code == 0
    run, room = folder / "run", folder / "room"
    trouble: list[str] = []
    with chromium() as browser:
        server = Server(run, "--port", 0, "--output", room)
        port = server.link.rstrip("/").rpartition(":")[2]
        page = watched(browser, trouble)
        page.goto(server.link)
        picture(page, pictures, "name")
        page.keyboard.press("Tab")
        page.get_by_label("Your name").fill("Ann")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="First debate").click()
        page.wait_for_url("**/debate/1")
        judge_by_keyboard(page, presses=3)  # 95 %, 90, 85, 80 of A
        page.reload()
        # The draft has outlived the reload.
        assert page.locator("input[name=share]:checked").get_attribute("value") == "80"
        assert page.locator("#explanation").input_value() == WHY
        assert "17 words" in page.locator("[data-words-of]").inner_text()
        picture(page, pictures, "debate")
        page.get_by_role("button", name="Send the judgement").press("Enter")
        page.get_by_text("Your judgement is kept").wait_for()
        page.wait_for_function("document.getElementById('next').getBoundingClientRect().bottom < innerHeight")
        server.kill()
        server = Server("--resume", room, "--port", port)
        page.reload()
        page.get_by_text("A, 80% sure").wait_for()
        picture(page, pictures, "kept")
        # A draft that was sent is forgotten.
        assert page.evaluate("Object.keys(localStorage).length") == 0
        page.get_by_role("link", name="Next debate").click()
        page.wait_for_url("**/debate/2")
        # A draft outlives a kill of the server too, and the form that was open is still good.
        judge_by_keyboard(page, presses=11)  # 95 ... 55 of A, then 55, 60, 65 of B
        server.kill()
        server = Server("--resume", room, "--port", port)
        page.get_by_role("button", name="Send the judgement").click()
        page.get_by_text("B, 65% sure").wait_for()
        page.goto(server.link)
        picture(page, pictures, "overview")
        assert page.locator(".judged li").count() == 2
        assert trouble == []
        code, out = server.stop()
        assert code == 0, out
        assert "Report: " in out
    return room


def test_a_person_judges_in_the_browser_and_a_kill_loses_nothing(tmp_path: Path) -> None:
    room = judge_two(tmp_path)
    verdicts = [
        verdict for item in load_debates(str(room)) for verdict in item.verdicts if verdict.judge == "human/ann"
    ]
    assert len(verdicts) == 2
    shares = {round(v.probabilities[v.order[0]], 2) for v in verdicts if v.probabilities is not None}
    assert shares == {0.8, 0.35}
    assert {verdict.reasoning for verdict in verdicts} == {WHY}
    check_report(room)


def test_elsewhere_the_link_lets_a_browser_in(tmp_path: Path) -> None:
    assert hold(tmp_path, players=EXTRACTIVE, self_play=None, stories=1).code == 0
    trouble: list[str] = []
    with chromium() as browser:
        where = ("--host", "0.0.0.0", "--names", "127.0.0.1", "--port", 0)  # noqa: S104 - with its token
        server = Server(tmp_path / "run", *where, "--output", tmp_path / "room")
        page = watched(browser, trouble)
        assert "token=" in server.link
        refused = page.goto(server.link.partition("enter")[0])
        assert refused is not None
        assert refused.status == 403
        trouble.clear()
        page.goto(server.link)
        page.get_by_label("Your name").wait_for()
        assert "token" not in page.url
        page.get_by_label("Your name").fill("Ann")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="First debate").click()
        page.wait_for_url("**/debate/1")
        assert trouble == []
        _, out = server.stop()
        assert "token" not in out
        # Where errors are tagged right answers are shown: neither a judge's cookies nor its link lead there.
        port = server.link.partition("/enter")[0].rpartition(":")[2]
        link = server.link
        where = (*where[:-1], int(port))
        server = Server("--resume", tmp_path / "room", "--mode", "tag", *where)
        for place in (link.partition("enter")[0], link):
            refused = page.goto(place)
            assert refused is not None
            assert refused.status == 403
        page.goto(server.link)
        page.get_by_role("heading", name="Tag errors").wait_for()
        server.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        judge_two(Path(made), Path(sys.argv[1]))
