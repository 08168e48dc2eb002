"""The command ``python -m tournaments.report``: what it shows of runs that have ended, failed in part or go on."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import shutil
import sqlite3
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from debate.question import Question
from debate.quotes import Argument
from debate.record import Debate, Recorded, from_json, to_json, verdict_keys
from debate.report.table import format_number
from debate.store import Store
from debate.transcript import Transcript, Turn
from debate.verdict import Verdict
from tests.commands import assert_refuses, call
from tests.persuasion_scripts import NAME
from tests.runs import Run, debates, write
from tournaments.persuasion import COMMAND as PERSUASION
from tournaments.report import COMMAND

ATTACK = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>[x](javascript:alert(3)) ![y](https://t.example)"
)


class Page(HTMLParser):
    """The elements of a page, and its text without them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def sections(folder: Path) -> list[str]:
    return re.findall(r'<h2 id="heading-\d+">([^<]*)</h2>', (folder / "report.html").read_text(encoding="utf-8"))


def rows(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "assets" / "debates.js").read_text(encoding="utf-8").splitlines()[1:-1]
    return [json.loads(line.removesuffix(",")) for line in lines]


@pytest.fixture
def run(done: Run, tmp_path: Path) -> Path:
    """A copy of the small tournament."""
    shutil.copytree(done.folder, tmp_path / "run")
    return tmp_path / "run"


def test_a_run_shows_its_ladder_its_picture_and_its_analysis(run: Path) -> None:
    before = run / "report.html"
    own = sections(run)
    assert {"Ladder", "Judge", "Cost", "Elo against accuracy", "Accuracy", "Calibration", "Arguments"} <= set(own)
    before.unlink()
    shutil.rmtree(run / "debates")
    ended = call(COMMAND, run)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith(f"Report: {before}\n")
    assert {"Ladder", "Elo against accuracy", "Accuracy", "Calibration", "Arguments", "Cost"} <= set(sections(run))
    text = Page(before).text
    with (run / "ratings.csv").open(encoding="utf-8") as file:
        for rating in csv.DictReader(file):
            assert re.search(rf"{rating['player']}\s+{format_number(float(rating['elo']), 'rating')}\s", text)
    shown = rows(run)
    held = debates(run)
    assert {row["id"] for row in shown} == {one["debate"]["id"] for one in held}
    assert len(list((run / "debates").glob("*.html"))) == len(held)
    with sqlite3.connect(run / "run.sqlite") as store:
        (calls,) = store.execute("SELECT count(*) FROM calls WHERE operation != 'rejected'").fetchone()
    assert f"For each of its {len(held)} debates: {calls / len(held):.1f} calls" in text


def test_a_run_under_way_shows_what_has_finished(run: Path) -> None:
    for name in ("metrics.json", "debates.jsonl", "ratings.csv", "report.html"):
        (run / name).unlink()
    with sqlite3.connect(run / "run.sqlite") as store:
        store.execute("DELETE FROM debates WHERE seq % 2 = 0")
        (left,) = store.execute("SELECT count(*) FROM debates").fetchone()
    ended = call(COMMAND, f"run:{run}")
    assert ended.code == 0
    assert "run has not ended; this is what it has by now." in ended.out
    assert len(rows(run)) == left


def test_debates_that_failed_are_listed_with_the_reason(run: Path) -> None:
    lines = (run / "debates.jsonl").read_text(encoding="utf-8").splitlines()
    one = json.loads(lines[0])
    one["debate"] |= {"id": "lost", "failed": "the server said 500"}
    text = json.dumps(one | {"verdicts": []})
    (run / "debates.jsonl").write_text("\n".join([*lines, text]) + "\n", encoding="utf-8")
    assert call(COMMAND, run).code == 0
    lost = [row for row in rows(run) if row["failed"]]
    assert [row["id"] for row in lost] == ["lost"]
    assert "the server said 500" in Page(run / "debates" / f"{lost[0]['n']}.html").text


def test_several_runs_make_one_report_in_a_folder_of_its_own(run: Path, done: Run, tmp_path: Path) -> None:
    assert_refuses(COMMAND, call(COMMAND, run, done.folder), "several sources", "--output DIR")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    assert_refuses(COMMAND, call(COMMAND, run, "--output", tmp_path / "mine"), "exists and holds no report")
    both = tmp_path / "both"
    ended = call(COMMAND, run, done.folder, "--output", both)
    assert ended.code == 0
    assert "debates are in several sources; each counts once" in ended.out
    assert len(rows(both)) == len(debates(run))
    assert call(COMMAND, run, "--output", both).code == 0  # a report makes room for another


def test_what_cannot_be_asked_for_is_refused(run: Path, tmp_path: Path) -> None:
    assert_refuses(COMMAND, call(COMMAND), "no run", "--help")
    assert_refuses(COMMAND, call(COMMAND, run, "--dry-run"), "nobody is asked")
    assert_refuses(COMMAND, call(COMMAND, run, "--port", "70000"), "port")
    assert_refuses(COMMAND, call(COMMAND, tmp_path / "none"), "there is no such folder")
    (tmp_path / "empty").mkdir()
    assert_refuses(COMMAND, call(COMMAND, tmp_path / "empty"), "no run folder")


def test_a_report_that_only_its_own_command_makes_stays(run: Path, tmp_path: Path) -> None:
    tree = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    (run / "config.yaml").write_text(yaml.safe_dump(tree | {"variants": ["n"]}), encoding="utf-8")
    before = (run / "report.html").read_bytes()
    ended = call(COMMAND, run)
    assert ended.code == 0
    assert "stays as it is" in ended.out
    assert (run / "report.html").read_bytes() == before
    assert_refuses(COMMAND, call(COMMAND, run, "--output", tmp_path / "other"), "only its own command makes")
    (run / "report.html").unlink()  # under way, it has none yet
    assert call(COMMAND, run).code == 0
    assert "Accuracy" in sections(run)


def said(run: Path) -> list[str]:
    """What the pages of a run's debates hold from their first part on."""
    texts = (Page(path).text for path in (run / "debates").iterdir())
    return sorted(text[text.index("Round 1") :] for text in texts)


@pytest.mark.parametrize("withheld", [False, True])
def test_persuasion_keeps_its_own_tables_and_its_fallacies_to_itself(tmp_path: Path, *, withheld: bool) -> None:
    config = {
        "claims": "shipped:claims",
        "limit": 2,
        "persuaders": [{"name": "p", "model": f"{NAME}:persuader"}],
        "debaters": [{"name": "d", "model": f"{NAME}:debater"}],
        "helper": {"model": f"{NAME}:helper"},
        "moderators": {"model": f"{NAME}:moderator"},
        "rounds": 3,
        "repetitions": 1,
        "seed": 1,
        "withhold_fallacies": withheld,
    }
    run = tmp_path / "run"
    assert call(PERSUASION, "--config", write(tmp_path / "c.yaml", config), "--output", run).code == 0
    own, before = sections(run), said(run)
    assert call(COMMAND, run).code == 0
    assert sections(run) == own
    assert said(run) == before
    assert any("withheld" in text for text in before) == withheld


def test_hostile_text_in_a_store_stays_text(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.yaml").write_text(yaml.safe_dump({"players": [], "note": ATTACK}), encoding="utf-8")

    async def fill() -> None:
        store = Store(run / "run.sqlite")
        for number in range(12):
            question = Question(
                f"q{number}", ATTACK, (f"one {ATTACK}", f"two {ATTACK}"), 0, ATTACK, f"s{number}", "test"
            )
            turns = tuple(Turn(1, "debater", answer, Argument((ATTACK,)), flaws=(ATTACK,)) for answer in (0, 1))
            players = (f"{ATTACK}{number % 2}", f"{ATTACK}{1 - number % 2}")
            debate = Debate(
                f"{number} {ATTACK}", "simultaneous", Transcript(question, turns=turns), players, tags={ATTACK: ATTACK}
            )
            await store.put("debates", debate.id, to_json(debate))
            first, second = verdict_keys(debate, ATTACK)
            await store.put("verdicts", first, to_json(Verdict(ATTACK, (0, 1), (0.7, 0.3), 0.9, ATTACK)))
            await store.put("verdicts", second, to_json(Verdict(ATTACK, (1, 0), None, unparsed=ATTACK)))
        store.close()

    asyncio.run(fill())
    assert call(COMMAND, run).code == 0
    for path in (run / "report.html", run / "debates" / "1.html"):
        page = Page(path)
        assert ATTACK in page.text
        assert {tag for tag, _ in page.elements} & {"img", "iframe", "object", "form", "style"} == set()
        assert all(attributes.get("src") for tag, attributes in page.elements if tag == "script")
        assert not any(name.startswith("on") or name == "style" for _, found in page.elements for name in found)
        links = [found.get("href") or "" for tag, found in page.elements if tag == "a"]
        assert not [link for link in links if "javascript" in link or "//" in link]
    for path in (run / "assets").glob("*.js"):
        if path.name in {"debates.js", "words.js", "figures.js"}:
            assert "<" not in path.read_text(encoding="utf-8")


def test_what_a_store_holds_is_what_a_page_shows(run: Path) -> None:
    assert call(COMMAND, run).code == 0
    kept = {one.debate.id: one for one in (from_json(Recorded, json.dumps(line)) for line in debates(run))}
    row = next(row for row in rows(run) if row["protocol"] == "simultaneous")
    debate = kept[row["id"]].debate
    text = " ".join(Page(run / "debates" / f"{row['n']}.html").text.split())
    for turn in debate.transcript.view().turns:
        first = next(span for span in turn.argument.spans if isinstance(span, str) and len(span.split()) > 3)
        assert " ".join(first.split()) in text
