"""The report in headless Chromium: it shows what it should, works by keyboard, and hostile text stays text.

Run as a script, ``python tests/e2e/test_report_page.py FOLDER`` writes the realistic report into a folder, to look at.
"""

from __future__ import annotations

import dataclasses
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from debate.question import Question
from debate.quotes import parse_argument, parse_plain
from debate.record import Debate
from debate.report import Column, DebatePage, Dot, Interval, Report, Section, Table, dots, heatmap, write_report
from debate.transcript import Candidate, Transcript, Turn
from debate.verdict import Verdict
from debate.view import Role
from tests.browsers import chromium
from tests.runs import finish, start, tournament, write

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
PLAYERS = ("evidence_first-smollm2-135m", "free-smollm2-135m", "extractive", "evidence_first-brief")
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><svg onload=alert(3)>',
    "<a href='javascript:alert(4)'>click</a>",
    "[click](javascript:alert(5)) ![look](https://tracker.example/pixel.png)",
    "</script><script>alert(6)</script>",
    "</title></textarea></style><iframe src='https://tracker.example'></iframe>",
    "\u2028alert(7)\u2029 {{ 7 * 7 }} {% raw %} ${alert(8)} $x$ <!-- ",
    "' onmouseover='alert(9)' style='position:fixed' \x1b]8;;https://tracker.example\x07 \ud800",
)
ATTACK = " ".join(HOSTILE)


# --- a realistic report, from a shipped story ------------------------------------------------------------------------


def shipped_questions() -> list[tuple[Question, list[list[str]]]]:
    """The questions of one shipped story, each with the evidence for its two answers."""
    data = yaml.safe_load((ROOT / "data" / "stories" / "eleven-tins.yaml").read_text(encoding="utf-8"))
    return [
        (
            Question(
                id=entry["id"],
                text=entry["text"],
                answers=tuple(entry["answers"]),
                gold=entry["gold"],
                story=data["text"],
                story_id=data["id"],
                source="shipped:stories",
            ),
            entry["evidence"],
        )
        for entry in data["questions"]
    ]


def speech(round_: int, answer: int, claim: str, evidence: list[str], story: str) -> Turn:
    """A turn chosen from two candidates: one that quotes the story and invents a quote, one without a quote."""
    seat = "AB"[answer]
    quotes = " ".join(f'The story says: "<quote>{passage}</quote>"' for passage in evidence)
    text = (
        f"{claim} {quotes} My opponent, Debater {'BA'[answer]}, would have you overlook this, but it is the plainest "
        f"sentence in the account. <quote>Nobody who was there that morning ever doubted it for a moment.</quote> "
        f"Debater {seat} asks the judge to weigh what is written and not what is merely likely."
    )
    spoken = Candidate(
        raw=f"I should lead with the strongest passage.\n<argument>{text}</argument>",
        argument=parse_argument(text, story, seat="A" if answer == 0 else "B"),
        thinking="I should lead with the strongest passage.",
        score=1.25,
    )
    bare = f"{claim} It is obvious to anyone who reads with care."
    other = Candidate(
        raw=f"<argument>{bare}</argument>",
        argument=parse_argument(bare, story),
        flaws=("has 14 words, at least 25 needed", "has no quote"),
        score=-0.4,
    )
    return Turn.choose((other, spoken), 1, round_=round_, answer=answer)


def realistic_debates(count: int) -> Iterator[DebatePage]:
    """Debates on the questions of one story, between four players, one judged wrong and one unparsed in five."""
    questions = shipped_questions()
    for number in range(count):
        question, evidence = questions[number % len(questions)]
        assert question.story is not None
        turns = [
            speech(
                round_,
                answer,
                f"The answer is: {question.answers[answer].rstrip('.')}.",
                evidence[answer],
                question.story,
            )
            for round_ in (1, 2)
            for answer in (0, 1)
        ]
        seats = (0, 1) if number % 2 == 0 else (1, 0)
        players = (PLAYERS[number % 4], PLAYERS[(number + 1 + number // 4) % 4])
        for_0 = 0.35 + 0.09 * (number % 5)
        yield DebatePage(
            Debate(f"swiss-{number}", "simultaneous", Transcript(question, seats, tuple(turns)), players),
            [
                Verdict(
                    "smollm2-135m", seats, (for_0, 1 - for_0), 0.93, "Debater A quotes the account itself.\nAnswer: A"
                ),
                Verdict("smollm2-135m", (seats[1], seats[0]), (0.6, 0.4), 0.88)
                if number % 5
                else Verdict("smollm2-135m", (seats[1], seats[0]), None, unparsed="the last line names two answers"),
            ],
            {"Calls": "14", "Tokens": "5,310 in, 820 out"},
        )


def other_protocols() -> list[DebatePage]:
    """An interactive debate, a consultancy, a double consultancy, and a blind and an expert judge, on one question."""
    question, evidence = shipped_questions()[0]
    story = question.story or ""
    claims = [f"The answer is: {answer.rstrip('.')}." for answer in question.answers]

    def said(round_: int, answer: int, role: Role = "debater") -> Turn:
        turn = speech(round_, answer, claims[answer], evidence[answer], story)
        return dataclasses.replace(turn, role=role)

    def asked(text: str, to: int | None = None) -> Turn:
        argument = parse_plain(text, seat="A")
        raw = Candidate(f"Question: {text}", argument)
        return Turn(2, "judge", None, argument, candidates=(raw,), to=to, first=1)

    facing = asked('Debater A, where does it say "that morning"? Debater B, do you accept the first passage?')
    verdicts = [Verdict("gpt", (1, 0), (0.2, 0.8)), Verdict("gpt", (0, 1), (0.35, 0.65))]
    pages = [
        ("interactive", (said(1, 0), said(1, 1), facing, said(2, 0), said(2, 1)), ("free", "extractive")),
        (
            "consultancy",
            (said(1, 1, "consultant"), asked("Which line shows it?"), said(2, 1, "consultant")),
            (None, "free"),
        ),
        (
            "double_consultancy",
            (
                *(said(1, answer, "consultant") for answer in (0, 1)),
                *(turn for n in (0, 1) for turn in (asked("Which line shows it?", n), said(2, n, "consultant"))),
            ),
            ("free", "free"),
        ),
        ("blind", (), (None, None)),
        ("expert", (), (None, None)),
    ]
    return [
        DebatePage(Debate(protocol, protocol, Transcript(question, (1, 0), turns), players), verdicts)
        for protocol, turns, players in pages
    ]


def realistic_report() -> Report:
    """A ladder, a matrix and a dot figure."""
    elo = (Interval(41, -22, 104), Interval(12.4, -50, 71), Interval(0, 0, 0), Interval(-38, -120, 31))
    columns = (
        Column("Player"),
        Column("Elo", kind="rating"),
        Column("Matches", kind="count"),
        Column("Wins, right side", kind="share"),
        Column("Wins, wrong side", kind="share"),
        Column("Judge accuracy", kind="share"),
        Column("Verified quotes", kind="share"),
        Column("Unparsed", kind="share"),
        Column("Time", kind="duration"),
    )
    rows = [
        (name, rating, 12, 0.61, 0.44, Interval(0.5417, 0.43, 0.65), 0.97, 0.004, 92.0)
        for name, rating in zip(PLAYERS, elo, strict=True)
    ]
    rows[-1] = (PLAYERS[-1], "winless", *rows[-1][2:])  # type: ignore[assignment]
    return Report(
        "Swiss tournament on shipped stories",
        "5 rounds, 24 questions on 8 stories, seed 0, smollm2-135m as judge",
        ("This judge is untrained: it flips with the order of the answers, so the ladder says little of persuasion.",),
        (
            Section("Ladder", (Table("Ladder", columns, rows, "Elo with 95 % intervals, clustered by story."),)),
            Section(
                "Figures",
                (
                    heatmap(
                        "Win rates",
                        rows=PLAYERS,
                        columns=PLAYERS,
                        values=[[None if i == j else 0.5 + 0.11 * (j - i) for j in range(4)] for i in range(4)],
                        note="Share of outcomes won by the player of the row against the player of the column.",
                    ),
                    dots(
                        "Elo",
                        [
                            *(Dot(name, r.value, r.low, r.high) for name, r in zip(PLAYERS[:3], elo, strict=False)),
                            Dot(PLAYERS[3], None, text="winless"),
                        ],
                        axis_title="Elo",
                    ),
                ),
            ),
        ),
    )


# --- a hostile one ---------------------------------------------------------------------------------------------------


def hostile_report() -> tuple[Report, list[DebatePage]]:
    """The attack in every field that can hold text."""
    story = f"{ATTACK} Once upon a time there were eleven tins. {ATTACK}"
    question = Question(ATTACK, ATTACK, (f"one {ATTACK}", f"two {ATTACK}"), 0, story, ATTACK, ATTACK)
    argument = parse_argument(
        f"{ATTACK} <quote>Once upon a time there were eleven tins.</quote> <quote>{ATTACK} never</quote> Debater A",
        story,
        seat="A",
    )
    # Spans as no parser would leave them: the page must not lean on the parser.
    raw_quotes = tuple(dataclasses.replace(quote, text=ATTACK, nearest=ATTACK) for quote in argument.quotes)
    argument = dataclasses.replace(argument, spans=(*argument.spans, ATTACK, *raw_quotes))
    turn = Turn(1, "debater", 0, argument, ATTACK, (ATTACK,), (Candidate(ATTACK, argument, ATTACK, (ATTACK,), 1.0),))
    debate = Debate(
        ATTACK, ATTACK, Transcript(question, (0, 1), (turn,)), (ATTACK, ATTACK), failed=ATTACK, tags={ATTACK: ATTACK}
    )
    verdicts = [Verdict(ATTACK, (0, 1), (0.7, 0.3), 0.9, ATTACK), Verdict(ATTACK, (1, 0), None, unparsed=ATTACK)]
    table = Table(ATTACK, (Column(ATTACK), Column(ATTACK, kind="rating")), [(ATTACK, ATTACK)], ATTACK)
    names = [f"{text}" for text in HOSTILE]
    figures = (
        heatmap(
            ATTACK, rows=names, columns=names, values=[[0.5] * len(names)] * len(names), row_title=ATTACK, note=ATTACK
        ),
        dots(ATTACK, [Dot(name, 1.0, 0.0, 2.0) for name in names], axis_title=ATTACK),
    )
    report = Report(ATTACK, ATTACK, (ATTACK,), (Section(ATTACK, (table, *figures), (ATTACK,)),))
    return report, [DebatePage(debate, verdicts, {ATTACK: ATTACK})] * 3


# --- the browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@dataclasses.dataclass
class Watched:
    """A page, and all that it must not do."""

    page: Page
    trouble: list[str]

    def open(self, path: Path) -> Page:
        self.page.goto(path.as_uri(), wait_until="domcontentloaded")
        return self.page


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(120_000)
    trouble: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.on("console", lambda message: trouble.append(f"console: {message.type} {message.text}"))
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:")) else trouble.append(f"request: {request.url}")
        ),
    )
    yield Watched(page, trouble)
    page.close()
    assert trouble == []


@pytest.fixture(scope="module")
def realistic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(realistic_report(), realistic_debates(120), tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(Report("Protocols"), other_protocols(), tmp_path_factory.mktemp("protocols"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(*hostile_report(), tmp_path_factory.mktemp("hostile"))


def test_the_overview_shows_ladder_matrix_and_dots(watched: Watched, realistic: Path) -> None:
    page = watched.open(realistic)
    assert page.get_by_role("heading", name="Swiss tournament on shipped stories").is_visible()
    ladder = page.get_by_role("table", name="").first
    assert ladder.is_visible()
    assert "41 [-22, 104]" in ladder.inner_text().replace("\t", " ")
    assert "54.2% [43.0%, 65.0%]" in ladder.inner_text()
    assert "winless" in ladder.inner_text()
    matrix = page.locator(".plot").first
    matrix.locator("svg.main-svg").first.wait_for()
    assert {"61.0%", "39.0%"} <= set(matrix.locator("text").all_text_contents())
    dots_figure = page.locator(".plot").nth(1)
    assert dots_figure.locator(".scatterlayer .point").count() == 3
    # The numbers of a figure are there as a table too.
    page.get_by_text("The numbers of this figure").first.click()
    assert page.get_by_role("region", name="Win rates: numbers").is_visible()


def test_the_list_filters_and_pages_and_its_links_work(watched: Watched, realistic: Path) -> None:
    page = watched.open(realistic)
    rows = page.locator("#rows tr")
    assert rows.count() == 50
    assert page.locator("#count").inner_text() == "120 of 120 debates"
    page.get_by_role("button", name="Next").click()
    assert page.locator("#place").inner_text() == "Page 2 of 3"
    assert rows.first.locator("td").first.inner_text() == "51"
    page.get_by_label("Words").fill("became RAID")
    assert page.locator("#count").inner_text() == "30 of 120 debates"
    page.get_by_label("Outcome").select_option("unparsed")
    expected = [page_.debate for page_ in realistic_debates(120)]
    matching = [n for n, debate in enumerate(expected) if n % 5 == 0 and "became" in debate.transcript.question.text]
    assert page.locator("#count").inner_text() == f"{len(matching)} of 120 debates"
    page.get_by_label("Words").fill("")
    page.get_by_label("Outcome").select_option("")
    page.get_by_label("Player").select_option("extractive")
    holding = sum("extractive" in debate.players for debate in expected)
    assert page.locator("#count").inner_text() == f"{holding} of 120 debates"
    rows.first.get_by_role("link").click()
    page.wait_for_url("**/debates/*.html?player=extractive")
    assert page.get_by_role("heading", level=1).is_visible()
    page.get_by_role("link", name="Next").click()
    page.get_by_role("link", name="All debates").click()
    page.wait_for_url("**/report.html#debates?*")


def numbers(page: Page) -> list[int]:
    """The numbers of the debates that the list shows."""
    return [int(text) for text in page.locator("#rows td.number").all_inner_texts()]


def test_filters_find_what_the_debates_say(watched: Watched, realistic: Path) -> None:
    page = watched.open(realistic)
    # Every fifth debate has an order that could not be read; its judge named the right answer in one order alone.
    page.get_by_label("Outcome").select_option("unparsed")
    assert numbers(page) == list(range(1, 121, 5))
    page.get_by_label("Outcome").select_option("orders disagree")
    found = set(numbers(page))
    assert found
    assert not found & set(range(1, 121, 5))
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Quotes").select_option("all verified")
    assert page.locator("#count").inner_text() == "0 of 120 debates"
    page.get_by_label("Quotes").select_option("some unverified")
    assert page.locator("#count").inner_text() == "120 of 120 debates"
    # Words of a speech, with the answers apart: these were quoted by the defenders of one answer of one question.
    page.get_by_label("Words").fill("into the stove with his own hands")
    page.locator("#count", has_text="30 of 120 debates").wait_for()
    assert numbers(page) == list(range(2, 121, 4))


def test_the_address_keeps_filters_order_and_page(watched: Watched, realistic: Path) -> None:
    page = watched.open(realistic)
    page.get_by_label("Player").select_option("extractive")
    share = page.get_by_role("button", name="P(right)")
    share.click()
    shares = [
        float(text.rstrip("%"))
        for text in page.locator("#rows td[data-label='P(right)']").all_inner_texts()
        if text != "–"
    ]
    assert shares == sorted(shares)
    share.click()
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Next").click()
    shown = numbers(page)
    address = page.url
    assert "player=extractive" in address
    assert "page=2" in address
    page.goto("about:blank")
    page.goto(address)
    assert numbers(page) == shown
    assert page.get_by_label("Player").input_value() == "extractive"
    # A debate goes on in this list, and comes back to its place in it.
    page.locator("#rows a").nth(1).click()
    page.get_by_text(re.compile(r"^52 of \d+ found$")).wait_for()
    page.get_by_role("link", name="Next").click()
    page.wait_for_url(f"**/debates/{shown[2]}.html?*")
    page.keyboard.press("k")
    page.wait_for_url(f"**/debates/{shown[1]}.html?*")
    page.keyboard.press("u")
    page.wait_for_url("**/report.html#debates?*")
    assert numbers(page) == shown
    assert page.evaluate("Number(document.activeElement.dataset.n)") == shown[1]
    # What no report has is as nothing.
    page.goto("about:blank")
    page.goto(f"{realistic.as_uri()}#debates?outcome=nonsense&sort=constructor&page=-7&at=x&judge=<script>")
    assert numbers(page) == list(range(1, 51))


def test_the_list_is_read_by_keys(watched: Watched, realistic: Path) -> None:
    page = watched.open(realistic)
    at = "Number(document.activeElement.dataset.n)"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter-words"
    page.keyboard.type("joke /")  # letters are letters here
    assert page.get_by_label("Words").input_value() == "joke /"
    page.keyboard.press("Escape")
    assert page.get_by_label("Words").input_value() == ""
    page.keyboard.press("Enter")
    assert page.evaluate(at) == 1
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    assert page.evaluate(at) == 2
    page.locator("#rows a").last.focus()
    page.keyboard.press("j")
    assert page.evaluate(at) == 51
    page.keyboard.press("ArrowUp")
    assert page.evaluate(at) == 50
    page.keyboard.press("Enter")
    page.wait_for_url("**/debates/50.html")
    page.keyboard.press("s")
    assert page.locator(".story").is_visible()
    page.keyboard.press("j")
    page.wait_for_url("**/debates/51.html")


def test_everything_is_reached_by_keyboard(watched: Watched, realistic: Path) -> None:
    page = watched.open(realistic)
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.getAttribute('href')"))
        if reached[-1] == "debates/1.html":
            break
    assert reached[0] == "#main"
    assert [
        f"filter-{name}" for name in ("words", "player", "outcome", "quotes") if f"filter-{name}" not in reached
    ] == []
    assert "list" in reached
    page.keyboard.press("Enter")
    page.wait_for_url("**/debates/1.html")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "quote verified":
            break
    quote = page.evaluate("document.activeElement.id")
    page.keyboard.press("Enter")
    page.locator("mark.current:focus").wait_for()
    # And back, by the link behind the passage.
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/debates/1.html#{quote}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.speech') !== null")


def test_a_debate_shows_quotes_in_their_place_and_the_verdicts_by_seat(watched: Watched, realistic: Path) -> None:
    # The second debate sits answer 1 in seat A.
    page = watched.open(realistic.parent / "debates" / "2.html")
    question, evidence = shipped_questions()[1]
    seats = page.locator(".side .answer").all_inner_texts()
    assert seats == [question.answers[1], question.answers[0]]
    assert "✓ the right answer" in page.locator(".side-B").first.inner_text()
    story = page.locator(".story")
    assert not story.is_visible()
    link = page.locator(".speech.side-B a.quote.verified").first
    assert link.inner_text().endswith(evidence[0][0])
    # Its first line: the middle of a link that wraps is not on the link.
    link.scroll_into_view_if_needed()
    place = link.evaluate("link => { const line = link.getClientRects()[0]; return [line.x + 5, line.y + 5]; }")
    page.mouse.click(*place)
    assert story.is_visible()
    current = page.locator("mark.current")
    current.first.wait_for()
    assert current.all_inner_texts() == [evidence[0][0]]
    assert "Debater B in round 1" in (current.first.get_attribute("title") or "")
    struck = page.locator(".speech.side-A s.quote.unverified").first
    assert struck.inner_text().endswith("Nobody who was there that morning ever doubted it for a moment.")
    # Names were written for seat B; this debate shows the speaker in seat A.
    assert "Debater A asks the judge" in page.locator(".speech.side-A .text").first.inner_text()
    assert page.locator(".verdict").count() == 2
    left, right = boxes(page, ".verdict")
    assert left[1] == right[1]
    # The judge gave answer 0 a 0.44 in one order and 0.6 in the other; seat A holds answer 1.
    assert "A 48.0%" in page.locator(".combined").inner_text().replace("\n", " ")
    assert "seats exchanged" in page.locator(".verdict").nth(1).inner_text()
    candidates = page.locator("details.candidates").first
    assert not candidates.locator("pre").first.is_visible()
    candidates.locator("summary").first.click()
    assert "Not valid: has 14 words" in candidates.inner_text()


def boxes(page: Page, selector: str) -> list[tuple[int, int, int]]:
    """Where each element is: left, top and width."""
    found = page.locator(selector).evaluate_all(
        "all => all.map(one => { const box = one.getBoundingClientRect(); return [box.x, box.y, box.width]; })"
    )
    return [(round(left), round(top), round(width)) for left, top, width in found]


def test_the_list_shows_debates_in_which_nobody_spoke(watched: Watched, others: Path) -> None:
    page = watched.open(others)
    assert page.locator("#count").inner_text() == "5 of 5 debates"
    rows = [row.split("\t") for row in page.locator("#rows tr").all_inner_texts()]
    assert [row[3:5] for row in rows[1:]] == [["free", "–"], ["free", "free"], ["–", "–"], ["–", "–"]]
    assert [row[2] for row in rows[1:]] == ["consultancy", "double consultancy", "blind", "expert"]
    assert [row[-1] for row in rows[3:]] == ["–", "–"]
    players = page.locator("#filter-player option").all_inner_texts()
    assert players == ["any", "extractive", "free"]


def test_a_judge_speaks_in_its_place(watched: Watched, others: Path) -> None:
    page = watched.open(others.parent / "debates" / "1.html")
    second = page.locator(".round").nth(1)
    assert second.locator("header strong").all_inner_texts() == ["Judge", "Debater A", "Debater B"]
    assert second.locator(".judge .text").inner_text().startswith('Debater A, where does it say "that morning"?')
    judge, left, right = boxes(page, ".round:nth-of-type(2) > .speech")
    assert judge[1] < left[1] == right[1]
    assert judge[2] > left[2] + right[2]
    # Consultants are asked apart, each above its own answer.
    page = watched.open(others.parent / "debates" / "3.html")
    to_a, a, to_b, b = boxes(page, ".round:nth-of-type(2) > .speech")
    assert (to_a[0], to_b[0]) == (a[0], b[0])
    assert to_a[1] == to_b[1] < a[1] == b[1]


def test_a_consultant_speaks_alone(watched: Watched, others: Path) -> None:
    page = watched.open(others.parent / "debates" / "2.html")
    assert page.locator(".side-B.side").inner_text().startswith("B nobody argued for it")
    assert page.locator(".side-A.side").inner_text().startswith("A argued for by free")
    assert len({(left, width) for left, _, width in boxes(page, ".round > .speech")}) == 1
    assert page.locator(".round header strong").all_inner_texts() == ["Consultant A", "Judge", "Consultant A"]


@pytest.mark.parametrize(("number", "why"), [(4, "from the question alone"), (5, "from the story")])
def test_a_baseline_is_its_verdicts(watched: Watched, others: Path, number: int, why: str) -> None:
    page = watched.open(others.parent / "debates" / f"{number}.html")
    assert page.get_by_text(f"Nobody argued: the judge decided {why}.").is_visible()
    assert page.locator(".verdict").count() == 2
    text = page.inner_text("body")
    assert not [words for words in ("None", "defended", "argued for", "quotes verified") if words in text]


def test_hostile_text_stays_text(watched: Watched, hostile: Path) -> None:
    for path in (hostile, *(hostile.parent / "debates" / f"{number}.html" for number in (1, 2, 3))):
        page = watched.open(path)
        if path == hostile:
            page.locator(".plot svg.main-svg").nth(1).wait_for()
            assert page.locator("#rows tr").count() == 3
            page.locator("#filter-player").select_option(index=1)
            page.locator("#filter-words").fill("<script>alert(1)</script>")
            assert page.locator("#rows tr").count() == 3
            page.locator(".plot .nsewdrag").first.hover()
        page.evaluate("for (const hidden of document.querySelectorAll('details')) hidden.open = true")
        page.wait_for_timeout(200)
        assert HOSTILE[0] in page.inner_text("body")
        assert page.locator("iframe, img, body svg a, [onload], [onerror], [onmouseover], body style").count() == 0
        scripts = page.eval_on_selector_all("script", "all => all.map(script => script.getAttribute('src'))")
        assert set(scripts) <= {
            f"{'' if path == hostile else '../'}assets/{name}.js"
            for name in ("report", "list", "debates", "words", "figures", "plotly.min")
        }
        links = page.eval_on_selector_all("a", "all => all.map(link => link.getAttribute('href'))")
        assert [
            link
            for link in links
            if link is not None and not link.startswith(("#", "../report.html", "debates/", "1.", "2.", "3."))
        ] == []
        if path != hostile:
            assert page.locator("[style]").count() == 0


def test_a_script_that_got_in_would_not_run(watched: Watched, hostile: Path) -> None:
    page = watched.open(hostile.parent / "debates" / "1.html")
    page.evaluate(
        "() => { const node = document.createElement('script'); node.textContent = 'window.ran = 1'; "
        "document.body.append(node); }"
    )
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in line for line in watched.trouble)
    watched.trouble.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_fit_their_width(
    watched: Watched, realistic: Path, hostile: Path, others: Path, *, scheme: str, width: int
) -> None:
    page = watched.page
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 800})
    places = (realistic.parent, hostile.parent)
    paths = [folder / name for folder in places for name in ("report.html", "debates/1.html")]
    for path in (*paths, *(others.parent / "debates" / f"{number}.html" for number in range(1, 6))):
        watched.open(path)
        page.evaluate("for (const hidden of document.querySelectorAll('details')) hidden.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_long_list_opens(watched: Watched, tmp_path: Path) -> None:
    page = watched.open(write_report(Report("Many"), realistic_debates(1500), tmp_path))
    assert page.locator("#count").inner_text() == "1500 of 1500 debates"
    assert page.locator("#rows tr").count() == 50


def test_a_run_is_served_until_it_is_interrupted(browser: Browser, tmp_path: Path) -> None:
    # In a process of its own: the browser has this one's event loop.
    config = write(tmp_path / "config.yaml", tournament(stories=2, self_play=None))
    assert finish(start("--config", config, "--output", tmp_path / "run")).code == 0
    command = [sys.executable, "-m", "tournaments.report", str(tmp_path / "run"), "--serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            address = next(line.split()[1] for line in process.stdout if line.startswith("Serving "))
            page = browser.new_page()
            page.set_default_timeout(120_000)
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto(address, wait_until="domcontentloaded")
            assert page.locator("#rows tr").count() > 0
            page.locator(".plot svg.main-svg").first.wait_for()
            page.locator("#filter-player").select_option("evidence")
            page.locator("#rows a").first.click()
            page.locator("[data-place]", has_text="found").wait_for()
            page.keyboard.press("s")
            assert page.locator(".story").is_visible()
            assert [url for url in asked if not url.startswith((address, "data:"))] == []
            page.close()
        finally:
            process.send_signal(signal.SIGINT)
    assert process.returncode == 0


if __name__ == "__main__":
    sys.stdout.write(f"{write_report(realistic_report(), realistic_debates(120), Path(sys.argv[1]))}\n")
