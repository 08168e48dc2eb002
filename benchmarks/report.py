"""What the report of many debates takes: ``python -m benchmarks.report [DEBATES ...]`` prints a row for each number.

Debates of three rounds between six players on made-up stories, ten candidates a speech, 110 words each, with verdicts
of one judge in both orders. Building is ``tournaments.report`` on such a run. Opening is headless Chromium on the
written page, from the request until the list is there, and until the first figures are drawn. Finding is a filter, then
words in all that was said, each from the key until the list has changed. Medians of five openings. CPU is that of this
process in building, and of the page's main thread until those figures are drawn: a busy machine does not change it.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from debate.question import Question
from debate.quotes import parse_argument
from debate.record import Debate, to_json, verdict_keys
from debate.report import Column, Table, print_table, write_report
from debate.store import Store
from debate.transcript import Candidate, Transcript, Turn
from debate.verdict import Verdict
from tournaments.report import ReportConfig, report_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PLAYERS = tuple(f"player-{number}" for number in range(6))
ROUNDS, CANDIDATES, WORDS = 3, 10, 110
OPENINGS = 5
_VOCABULARY = (
    "the",
    "a",
    "lamp",
    "tins",
    "stood",
    "nobody",
    "came",
    "lit",
    "nine",
    "shelf",
    "clerk",
    "harbour",
    "late",
)


def sentence(draw: random.Random, words: int) -> str:
    """A sentence of no meaning."""
    return " ".join(draw.choices(_VOCABULARY, k=words)).capitalize() + "."


def made(count: int) -> Iterator[tuple[Debate, tuple[Verdict, Verdict]]]:
    """Make debates with verdicts."""
    draw = random.Random(1)
    for number in range(count):
        story = " ".join(sentence(draw, 14) for _ in range(60))
        question = Question(f"q{number}", sentence(draw, 9), ("One.", "Two."), 0, story, f"s{number % 100}", "made:1")
        turns = tuple(speech(draw, story, round_, answer) for round_ in range(1, ROUNDS + 1) for answer in (0, 1))
        first = number % len(PLAYERS)
        second = (first + number // len(PLAYERS)) % len(PLAYERS)
        debate = Debate(
            f"d{number}", "simultaneous", Transcript(question, turns=turns), (PLAYERS[first], PLAYERS[second])
        )
        share = draw.random()
        yield debate, (Verdict("judge", (0, 1), (share, 1 - share), 0.9), Verdict("judge", (1, 0), (0.6, 0.4), 0.9))


def speech(draw: random.Random, story: str, round_: int, answer: int) -> Turn:
    """Make a speech chosen from several, with one quote that the story holds."""
    samples = []
    for _ in range(CANDIDATES):
        quote = draw.choice(story.split(". ")).rstrip(".")
        text = f"{sentence(draw, WORDS - 15)} <quote>{quote}</quote>"
        samples.append(Candidate(f"<argument>{text}</argument>", parse_argument(text, story), score=draw.random()))
    return Turn.choose(tuple(samples), draw.randrange(CANDIDATES), round_=round_, answer=answer)


async def fill(folder: Path, count: int) -> None:
    """Keep debates and verdicts as a tournament does."""
    store = Store(folder / "run.sqlite")
    for debate, verdicts in made(count):
        rows = zip(verdict_keys(debate, "judge"), verdicts, strict=True)
        puts = [store.put("verdicts", key, to_json(verdict)) for key, verdict in rows]
        await asyncio.gather(store.put("debates", debate.id, to_json(debate)), *puts)
    store.close()


def build(folder: Path) -> tuple[float, float]:
    """Build the report; returns seconds, and seconds of CPU."""
    start, cpu = time.perf_counter(), time.process_time()
    shown = report_of(ReportConfig(runs=(str(folder),)))
    assert shown is not None  # noqa: S101 - it is no run of another command
    write_report(shown.report, shown.pages, folder)
    return time.perf_counter() - start, time.process_time() - cpu


def open_page(browser: Browser, folder: Path) -> tuple[float, ...]:
    """Open the overview in a new window; returns seconds to the list, the figures, their CPU, a filter and words."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(600_000)
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    start = time.perf_counter()
    page.goto((folder / "report.html").as_uri(), wait_until="domcontentloaded")
    page.locator("#rows tr").first.wait_for(state="attached")
    listed = time.perf_counter() - start
    page.locator(".plot svg.main-svg").first.wait_for(state="attached")
    drawn = time.perf_counter() - start
    cpu = next(one["value"] for one in tools.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration")
    taken = []
    for act in (
        lambda: page.locator("#filter-outcome").select_option("wrong"),
        lambda: page.locator("#filter-words").fill("lamp tins clerk nobody"),
    ):
        before = page.locator("#count").inner_text()
        start = time.perf_counter()
        act()
        page.locator("#count").filter(has_not_text=before).wait_for()
        taken.append(time.perf_counter() - start)
    page.close()
    return listed, drawn, cpu, *taken


def prepare(folder: Path, count: int) -> tuple[float, ...]:
    """Make a run of so many debates and its report; returns their number, seconds to build it, and its size in MB."""
    folder.mkdir()
    (folder / "config.yaml").write_text("players: []\n", encoding="utf-8")
    asyncio.run(fill(folder, count))
    taken = build(folder)
    return count, *taken, sum(path.stat().st_size for path in folder.glob("[ad]*/*")) / 1e6


def read(browser: Browser, folder: Path) -> list[float]:
    """Open a report several times; returns medians of what ``open_page`` takes."""
    times = [open_page(browser, folder) for _ in range(OPENINGS)]
    return [statistics.median(one) for one in zip(*times, strict=True)]


def main(counts: list[int]) -> None:
    """Print the table."""
    from playwright.sync_api import sync_playwright

    program = next((found for name in ("chromium", "google-chrome") if (found := shutil.which(name))), None)
    titles = ("build, s", "CPU", "MB", "list, s", "figures, s", "CPU", "filter, s", "words, s")
    columns = (Column("debates", kind="count"), *(Column(title, kind="number") for title in titles))
    with tempfile.TemporaryDirectory() as place:
        folders = {count: Path(place) / str(count) for count in counts}
        made_ = [prepare(folder, count) for count, folder in folders.items()]
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
            read_ = [read(browser, folder) for folder in folders.values()]
            browser.close()
    rows = [(*one, *other) for one, other in zip(made_, read_, strict=True)]
    print_table(Table("Reports", columns, rows))


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [100, 1000])
