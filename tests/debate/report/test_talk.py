"""Pages of discussions: any number of speakers and answers, and nothing that a speaker wrote is markup."""

from __future__ import annotations

import json
from pathlib import Path

from debate.report import Option, Part, Report, Result, Said, TalkPage, write_report

HOSTILE = "<script>alert(1)</script> & </article>"
PAGE = TalkPage(
    id="id-1",
    question="Why did the lamp go out?",
    kind="roundtable",
    speakers=("x", "y", HOSTILE),
    parts=(
        Part("Alone", (Said("x", "Bulbs go.", "B", right=True), Said("y", HOSTILE, "A", right=False))),
        Part("Debate", (Said(HOSTILE, "", note="No answer: cut", details={"Whole reply": HOSTILE}),)),
    ),
    options=(
        Option("A", "It was noon.", right=False),
        Option("B", HOSTILE, right=True),
        Option("C", "Yes", right=False),
    ),
    results=(Result("FORD", "B", "right"), Result("judge", None, "no answer", HOSTILE)),
    facts={"agreed": "never"},
)


def test_a_page_shows_who_said_what_and_holds_what(tmp_path: Path) -> None:
    write_report(Report("A run"), [PAGE], tmp_path)
    page = (tmp_path / "debates" / "1.html").read_text(encoding="utf-8")
    for part in ("Alone", "Debate", "Bulbs go.", "No answer: cut", "Said nothing.", "the right answer", "never"):
        assert part in page
    assert '<span class="outcome right">B</span>' in page
    assert '<span class="outcome wrong">A</span>' in page
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;/article&gt;") == 5


def test_the_list_has_a_row_with_the_answer_of_each_result(tmp_path: Path) -> None:
    write_report(Report("A run"), [PAGE, PAGE], tmp_path)
    script = (tmp_path / "assets" / "debates.js").read_text(encoding="utf-8")
    assert "<script>" not in script
    rows = [json.loads(line.rstrip(",")) for line in script.splitlines()[1:-1]]
    assert [row["n"] for row in rows] == [1, 2]
    assert rows[0]["gold"] == "B"
    assert rows[0]["judges"] == [["FORD", "B", "right", False], ["judge", None, "no answer", False]]
    assert (rows[0]["talk"], rows[0]["failed"], len(rows[0]["players"])) == (True, False, 3)
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Speakers" in report
    assert "Quotes verified" not in report


def test_a_failed_discussion_says_so(tmp_path: Path) -> None:
    failed = TalkPage("id-1", "Why?", "roundtable", ("x", "y"), (), failed=HOSTILE)
    write_report(Report("A run"), [failed], tmp_path)
    page = (tmp_path / "debates" / "1.html").read_text(encoding="utf-8")
    assert "This debate failed:" in page
    assert "Nobody spoke." in page
