from __future__ import annotations

import io
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.errors import StoreError
from debate.question import Question
from debate.quotes import Argument, Quote, Seat, parse_argument
from debate.record import Debate
from debate.report import (
    Column,
    DebatePage,
    Dot,
    Figure,
    Interval,
    Report,
    Section,
    Table,
    dots,
    format_cell,
    heatmap,
    print_table,
    write_report,
)
from debate.report.figure import plain_text
from debate.report.page import index_row, page_context, said_text
from debate.report.scripts import to_script
from debate.report.speech import Passage, speech_html, story_html
from debate.report.table import Kind, shared_cells
from debate.transcript import Candidate, Transcript, Turn
from debate.verdict import Verdict

STORY = "The lamp was lit at nine. Nobody came to the door. The tins stood in a row."
ATTACK = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\"\u2028&lt;"


class Tree(HTMLParser):
    """Every element with its attributes, and the text outside tags, as a browser's parser would find them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def question(gold: int | None = 1) -> Question:
    return Question("q", "When was the lamp lit?", ("At eight.", "At nine."), gold, STORY, "s", "test")


def page(name: str = "d", *, seats: tuple[int, int] = (0, 1), gold: int | None = 1) -> DebatePage:
    said: tuple[tuple[Seat, str], ...] = (
        ("A", "Debater A says <quote>the lamp was lit at eight</quote>."),
        ("B", "See <quote>The lamp was lit at nine.</quote> and <quote>lit at nine. Nobody came</quote>"),
    )
    turns = tuple(
        Turn(1, "debater", answer, parse_argument(text, STORY, seat=seat)) for answer, (seat, text) in enumerate(said)
    )
    verdicts = [
        Verdict("judge", (0, 1), (0.3, 0.7), 0.9),
        Verdict("judge", (1, 0), (0.4, 0.6), 0.8),
        Verdict("judge", (0, 1), (0.9, 0.1), round=1),
    ]
    return DebatePage(Debate(name, "simultaneous", Transcript(question(gold), seats, turns), ("x", "y")), verdicts)


def data_of(path: Path) -> list[dict[str, object]]:
    """What a page's script would find in the index of debates."""
    text = path.read_text(encoding="utf-8").partition("=")[2].strip().removesuffix(";")
    rows = json.loads(re.sub(r",\n\]$", "\n]", text))
    assert isinstance(rows, list)
    return rows


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "kind", "expected"),
    [
        (0.5317, "share", "53.2%"),
        (-0.0001, "share", "0.0%"),
        (1532.4, "rating", "1532"),
        (-0.3, "rating", "0"),
        (12345, "count", "12,345"),
        (0.25, "log_odds", "+0.25"),
        (-1.5, "log_odds", "-1.50"),
        (0.00001, "log_odds", "0.00"),
        (59.7, "duration", "1 min 00 s"),
        (125.0, "duration", "2 min 05 s"),
        (3.14, "duration", "3.1 s"),
        (3725.0, "duration", "1 h 02 min"),
        (math.nan, "rating", "n/a"),
        (-math.inf, "number", "-∞"),
        (None, "share", "–"),
        ("undefeated", "rating", "undefeated"),
        (True, "text", "yes"),
        (7, "text", "7"),
        (Interval(41, -22, 104.4), "rating", "41 [-22, 104]"),
        (Interval(0.5, None, None), "share", "50.0%"),
        (Interval(0.5, math.nan, math.nan), "share", "50.0%"),
    ],
)
def test_cells_read_as_their_kind_asks(cell: str | float | Interval | None, kind: Kind, expected: str) -> None:
    assert str(format_cell(cell, Column("c", kind=kind))) == expected


def test_a_row_must_fit_its_columns() -> None:
    with pytest.raises(ValueError, match="row 2 has 1 cells for 2 columns"):
        Table("t", (Column("a"), Column("b")), [(1, 2), (1,)])


def wide_table() -> Table:
    columns = (Column("Player"), *(Column(f"Measure number {n}", kind="share") for n in range(12)))
    names = ("evidence_first-smollm2-135m", "[red]free[/red]", "es\x1b[31mcape")
    return Table("Ladder", columns, [(name, *(Interval(n / 12, 0, 1) for n in range(12))) for name in names], "A note.")


def test_a_table_in_a_file_is_plain_and_whole() -> None:
    out = io.StringIO()
    print_table(wide_table(), file=out)
    lines = out.getvalue().splitlines()
    assert "\x1b" not in out.getvalue()
    assert "…" not in out.getvalue()
    assert lines[0] == "Ladder"
    assert lines[-1] == "A note."
    row = next(line for line in lines if line.startswith("evidence_first-smollm2-135m "))
    assert row.count("[0.0%, 100.0%]") == 12
    assert "91.7%" in row
    assert any(line.startswith("[red]free[/red] ") for line in lines)
    assert any(line.startswith("es\N{REPLACEMENT CHARACTER}[31mcape ") for line in lines)


def test_a_page_says_once_what_all_rows_of_a_column_say(tmp_path: Path) -> None:
    columns = (Column("judge"), Column("player"), Column("n", kind="count"))
    same = Table("T", columns, [(ATTACK, "x", 7), (ATTACK, "y", 7)])
    assert shared_cells(same) == {0: ATTACK}
    assert shared_cells(Table("T", columns, [("j", "x", 1)])) == {}  # of one row nothing is repeated
    assert shared_cells(Table("T", columns, [("j", "x", 1), ("k", "x", 2)])) == {1: "x"}
    assert shared_cells(Table("T", columns[:1], [("j",), ("j",)])) == {}
    write_report(Report("Run", sections=(Section("T", (same,)),)), [], tmp_path)
    tree = Tree((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert [tag for tag, _ in tree.elements].count("th") == 2
    assert tree.text.count(ATTACK) == 1


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", ["50", "100", "160"])
def test_a_terminal_keeps_every_number_whole(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    table = Table(
        "Ladder",
        (Column("Player"), *(Column(f"Measure number {n}", kind="share") for n in range(8))),
        [("a-player-with-a-rather-long-name-that-folds-somewhere", *([0.123] * 8))],
    )
    out = Terminal()
    print_table(table, file=out)
    text = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert text.count("12.3%") == 8
    assert max(map(len, text.splitlines())) <= int(columns)
    assert "…" not in text


def test_a_terminal_of_few_letters_gets_marks_instead_of_an_error() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    print_table(Table("Türe", (Column("→"),), [("é",), (None,)]), file=out)
    out.flush()
    assert raw.getvalue().startswith(b"T?re")


# --- figures ----------------------------------------------------------------------------------------------------------


def test_a_heat_map_leaves_unknown_cells_empty_and_keeps_its_numbers_as_a_table() -> None:
    figure = heatmap("m", rows=("a", "b"), columns=("a", "b"), values=[[None, 0.75], [math.nan, 0.5]])
    assert figure.traces[0]["z"] == [[None, 0.75], [None, 0.5]]
    assert figure.traces[0]["text"] == [["", "75.0%"], ["", "50.0%"]]
    assert figure.table is not None
    assert figure.table.rows == [("a", None, 0.75), ("b", None, 0.5)]
    with pytest.raises(ValueError, match="do not fit 1 rows and 2 columns"):
        heatmap("m", rows=("a",), columns=("a", "b"), values=[[1.0]])


def test_dots_have_bars_to_the_ends_and_no_dot_where_there_is_no_value() -> None:
    figure = dots("d", [Dot("a", 10, 4, 19), Dot("b", None, text="undefeated"), Dot("c", 0)])
    trace = figure.traces[0]
    assert (trace["x"], trace["y"]) == ([10, 0], [0, 2])
    bars = trace["error_x"]
    assert isinstance(bars, dict)
    assert (bars["array"], bars["arrayminus"]) == ([9, 0], [6, 0])
    assert figure.table is not None
    assert figure.table.rows[1] == ("b", "undefeated")


def test_text_in_figures_is_plain_text() -> None:
    escaped = plain_text({"text": ["<a href='javascript:x'>", "$x$", "a & b\nc"], "n": math.nan, "k": (1, 2.5)})
    assert escaped == {
        "text": ["&lt;a href='javascript:x'&gt;", "&#36;x&#36;", "a &amp; b<br>c"],
        "n": None,
        "k": [1, 2.5],
    }


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_script_values_read_back_and_cannot_end_a_script(value: object) -> None:
    script = to_script(value)
    assert json.loads(script) == value
    assert script.isascii()
    assert not set("<>&\u2028\u2029") & set(script)


# --- speeches and stories ---------------------------------------------------------------------------------------------


@given(st.lists(st.text(alphabet="<>\"'&{}ab/ \u2028") | st.text(), max_size=4), st.booleans())
def test_no_text_of_a_speech_makes_an_element(texts: list[str], verified: bool) -> None:  # noqa: FBT001 - hypothesis
    spans = tuple(span for text in texts for span in (text, Quote(text, verified)))
    tree = Tree(str(speech_html(Argument(spans), "A", [None] * len(texts))))
    outer, mark = ("span", "span") if verified else ("s", "span")
    assert [tag for tag, _ in tree.elements] == [outer, "span", mark] * len(texts)
    assert all(set(attributes) <= {"class", "title", "aria-hidden"} for _, attributes in tree.elements)


@given(st.text(alphabet="ab<&> \n", min_size=1), st.data())
def test_a_story_keeps_its_text_and_gets_one_anchor_a_passage(story: str, data: st.DataObject) -> None:
    passages = []
    for number in range(data.draw(st.integers(0, 5))):
        start = data.draw(st.integers(0, len(story) - 1))
        end = data.draw(st.integers(start + 1, len(story)))
        passages.append(Passage(number + 1, start, end, "Debater A"))
    html = str(story_html(story, passages))
    tree = Tree(html)
    assert tree.text == story
    anchors = [attributes["id"] for tag, attributes in tree.elements if tag == "span"]
    assert sorted(map(str, anchors)) == sorted(f"passage-{passage.number}" for passage in passages)
    back = [attributes["href"] for tag, attributes in tree.elements if tag == "a"]
    assert sorted(map(str, back)) == sorted(f"#quote-{passage.number}" for passage in passages)
    for passage in passages:
        marked = re.findall(r'<mark[^>]*data-quotes="([^"]*)"[^>]*>([^<]*)</mark>', html)
        text = "".join(text for names, text in marked if f"passage-{passage.number}" in names.split())
        assert Tree(text).text == story[passage.start : passage.end]


# --- pages ------------------------------------------------------------------------------------------------------------


def judges(row: dict[str, object]) -> list[list[Any]]:
    return cast("list[list[Any]]", row["judges"])


def only_round(shown: DebatePage) -> list[Any]:
    ((_, talks),) = cast("list[tuple[int, list[Any]]]", page_context(shown)["rounds"])
    return talks


def test_a_row_of_the_list_sums_up_in_the_frame_of_the_seats() -> None:
    row = index_row(page(seats=(1, 0)), 7)
    assert (row["n"], row["players"], row["gold"]) == (7, ["y", "x"], "A")
    # Final verdicts alone: the mean of 0.7 and 0.6 for answer 1, which sits in seat A.
    assert judges(row) == [["judge", pytest.approx(0.65), "right", False]]
    assert (row["verified"], row["quotes"], row["failed"]) == (2, 3, False)


def test_outcomes_without_gold_name_the_seat_and_an_unparsed_order_is_a_win_for_nobody() -> None:
    assert [judge[2] for judge in judges(index_row(page(gold=None), 1))] == ["for B"]
    debate = page().debate
    one_order = [Verdict("j", (0, 1), (0.9, 0.1)), Verdict("j", (1, 0), None, unparsed="two answers")]
    row = index_row(DebatePage(debate, one_order), 1)
    assert judges(row) == [["j", None, "unparsed", False]]


def test_a_judge_that_looks_at_letters_alone_ties_whatever_it_rounds_to() -> None:
    debate = page().debate
    for number in range(1, 1000):
        first, second = number / (number + 700), 700 / (number + 700)
        verdicts = [Verdict("j", (0, 1), (first, second)), Verdict("j", (1, 0), (second, first))]
        ((_, _, outcome, flips),) = judges(index_row(DebatePage(debate, verdicts), 1))
        assert (outcome, flips) == ("tie", number != 700)
    close = Verdict("j", (0, 1), (0.5 + 1e-6, 0.5 - 1e-6))
    assert judges(index_row(DebatePage(debate, [close]), 1))[0][2] == "wrong"
    almost = Verdict("j", (0, 1), (0.5 + 1e-12, 0.5 - 1e-12))
    assert judges(index_row(DebatePage(debate, [almost]), 1))[0][2] == "tie"


def test_speeches_stand_by_seat_unless_their_order_matters() -> None:
    swapped = page(seats=(1, 0))
    talks = only_round(swapped)
    assert [talk.turn.answer for talk in talks] == [1, 0]
    assert [talk.speaker for talk in talks] == ["Debater A", "Debater B"]
    # "Debater A" was said of itself by the speaker that this page shows in seat B.
    assert "Debater B" in talks[1].html
    transcript = swapped.debate.transcript
    spoken = Transcript(transcript.question, (1, 0), transcript.turns, spoken_order=True)
    talks = only_round(DebatePage(Debate("d", "sequential", spoken, ("x", "y"))))
    assert [talk.turn.answer for talk in talks] == [0, 1]


def speaking(protocol: str, turns: tuple[Turn, ...], players: tuple[str | None, str | None]) -> DebatePage:
    debate = Debate("d", protocol, Transcript(question(), (1, 0), turns), players)
    return DebatePage(debate, [Verdict("judge", (0, 1), (0.3, 0.7), 0.9)])


def shown_text(shown: DebatePage, folder: Path) -> str:
    write_report(Report("Run"), [shown], folder)
    html = (folder / "debates" / "1.html").read_text(encoding="utf-8")
    assert "None" not in html
    return " ".join(Tree(html).text.split())


def test_a_judge_asks_in_its_place_and_its_names_follow_the_seats(tmp_path: Path) -> None:
    asked = Turn(2, "judge", None, parse_argument("Debater A, why nine?", None, seat="A"), first=0)
    turns = (*page().debate.transcript.turns, *(Turn(2, "debater", n, Argument(("So.",))) for n in (0, 1)), asked)
    shown = speaking("interactive", turns, ("x", "y"))
    rounds = cast("list[tuple[int, list[Any]]]", page_context(shown)["rounds"])
    assert [[talk.speaker for talk in talks] for _, talks in rounds] == [
        ["Debater A", "Debater B"],
        ["Judge", "Debater A", "Debater B"],
    ]
    # It was shown answer 0 in seat A; this page shows that in seat B, as the others see it.
    assert "Debater B, why nine?" in shown_text(shown, tmp_path)
    assert shown.debate.transcript.view().turns[2].text == "Debater B, why nine?"


def test_in_a_double_consultancy_the_judge_stands_before_whom_it_asks(tmp_path: Path) -> None:
    turns = tuple(
        turn
        for round_ in (1, 2)
        for answer in (0, 1)
        for turn in (
            *([Turn(2, "judge", None, Argument((f"Why {answer}?",)), to=answer)] if round_ == 2 else []),
            Turn(round_, "consultant", answer, Argument((f"It is {answer}.",))),
        )
    )
    shown = speaking("double_consultancy", turns, ("x", "y"))
    ((_, first), (_, second)) = cast("list[tuple[int, list[Any]]]", page_context(shown)["rounds"])
    assert [talk.speaker for talk in first] == ["Consultant A", "Consultant B"]
    assert [(talk.speaker, talk.seat or talk.to) for talk in second] == [
        ("Judge to Consultant A", "A"),
        ("Consultant A", "A"),
        ("Judge to Consultant B", "B"),
        ("Consultant B", "B"),
    ]
    assert [talk.speaker for talk in second] == [turn.speaker for turn in shown.debate.transcript.view().turns[2:]]
    assert "Consultants did not hear each other" in shown_text(shown, tmp_path)


def test_a_consultancy_has_one_consultant(tmp_path: Path) -> None:
    asked = Turn(2, "judge", None, Argument(("Why?",)))
    turns = (Turn(1, "consultant", 0, Argument(("So.",))), asked, Turn(2, "consultant", 0, Argument(("Yes.",))))
    text = shown_text(speaking("consultancy", turns, ("x", None)), tmp_path)
    assert "A nobody argued for it · ✓ the right answer At nine." in text
    assert "B argued for by x a wrong answer At eight." in text
    assert "Judge" in text
    assert text.index("Judge") < text.index("Yes.")


@pytest.mark.parametrize(("protocol", "why"), [("blind", "from the question alone"), ("expert", "from the story")])
def test_a_baseline_shows_its_verdicts_alone(tmp_path: Path, protocol: str, why: str) -> None:
    shown = speaking(protocol, (), (None, None))
    text = shown_text(shown, tmp_path)
    assert f"Nobody argued: the judge decided {why}." in text
    assert not {"defended", "argued for", "quotes verified", "Nobody spoke"} & {
        words for words in ("defended", "argued for", "quotes verified", "Nobody spoke") if words in text
    }
    assert "judge right" in text
    row = index_row(shown, 1)
    assert (row["players"], row["quotes"]) == ([None, None], 0)
    assert "Nobody spoke" in shown_text(speaking("simultaneous", (), ("x", "y")), tmp_path)


def test_verdicts_stand_by_judge_and_round_the_final_ones_last(tmp_path: Path) -> None:
    shown = page()
    verdicts = [*shown.verdicts, Verdict("judge", (1, 0), (0.5, 0.5), round=1), Verdict("other", (1, 0), (0.2, 0.8))]
    judgements = cast("list[Any]", page_context(DebatePage(shown.debate, verdicts))["judgements"])
    assert [one.judge for one in judgements] == ["judge", "other"]
    assert [(number, [one.swapped for one in own]) for number, own in judgements[0].rounds] == [
        (1, [False, True]),
        (None, [False, True]),
    ]
    text = shown_text(DebatePage(shown.debate, verdicts), tmp_path)
    assert text.index("After round 1") < text.index("Final")


def test_candidates_show_their_scores_and_the_critique_they_were_written_after(tmp_path: Path) -> None:
    spoken, other = (
        parse_argument(text, STORY, seat="A") for text in ("See Debater B.", "No, <quote>lit at ten</quote>")
    )
    samples = (
        Candidate("raw one", other, score=-0.5),
        Candidate("raw two", spoken, score=1.5, critique=f"Be brief. {ATTACK}"),
    )
    shown = speaking("simultaneous", (Turn.choose(samples, 1, round_=1, answer=0),), ("x", "y"))
    text = shown_text(shown, tmp_path)
    assert "Score -0.50. Valid. No, unverified quote: lit at ten✗ unverified Whole reply raw one" in text
    assert f"Spoken. Score +1.50. Valid. Written after the critique: Be brief. {' '.join(ATTACK.split())}" in text
    assert "2 candidates of 4 words for 1 speech, 1 written after a critique" in text


def test_words_are_looked_for_in_answers_speeches_and_reasons_as_the_page_names_them() -> None:
    debate = page(seats=(1, 0)).debate
    text = said_text(DebatePage(debate, [Verdict("judge", (0, 1), (0.3, 0.7), reasoning="Nine IS written.")]))
    # The first speaker called itself Debater A; this page seats it in B.
    assert "debater b says" in text
    assert "at eight." in text
    assert "nine is written." in text


# --- the folder -------------------------------------------------------------------------------------------------------


def test_a_report_is_a_folder_of_whole_files(tmp_path: Path) -> None:
    table = Table("Ladder", (Column("Player"), Column("Elo", kind="rating")), [("x", Interval(3, -1, 7))])
    report = Report("Run", sections=(Section("Ladder", (table, heatmap("m", rows="a", columns="a", values=[[0.5]]))),))
    path = write_report(report, (page(f"d{n}") for n in range(3)), tmp_path / "run")
    folder = tmp_path / "run"
    assert path == folder / "report.html"
    assert sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()) == [
        *(f"assets/{name}.js" for name in ("debates", "figures", "list", "plotly.min")),
        *(f"assets/{name}" for name in ("report.css", "report.js", "words.js")),
        *(f"debates/{number}.html" for number in (1, 2, 3)),
        "report.html",
    ]
    assert [row["id"] for row in data_of(folder / "assets" / "debates.js")] == ["d0", "d1", "d2"]
    pages = [(folder / "debates" / f"{number}.html").read_text(encoding="utf-8") for number in (1, 2, 3)]
    assert ['rel="prev" hidden' in text for text in pages] == [True, False, False]
    assert ['rel="next" hidden' in text for text in pages] == [False, False, True]
    # A shorter report leaves no page of the longer one, and there is no place for a figure where there is none.
    write_report(Report("Run"), [page()], folder)
    assert [file.name for file in (folder / "debates").iterdir()] == ["1.html"]
    assert "data-figure" not in path.read_text(encoding="utf-8")
    assert (
        "ebates" not in write_report(Report("Run"), [], tmp_path / "none").read_text(encoding="utf-8").split("<body")[1]
    )


def test_debates_are_taken_one_by_one(tmp_path: Path) -> None:
    def debates() -> Iterator[DebatePage]:
        for number in range(1, 6):
            yield page(f"d{number}")
            written = len(list((tmp_path / "debates").glob("[0-9]*.html")))
            # One is held back, to know whether it is the last.
            assert written >= number - 1

    write_report(Report("Run"), debates(), tmp_path)


def test_a_broken_run_leaves_the_old_report_and_no_half_file(tmp_path: Path) -> None:
    write_report(Report("Old"), [page("old")], tmp_path)

    def broken() -> Iterator[DebatePage]:
        yield page("new")
        yield page("new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_report(Report("New"), broken(), tmp_path)
    assert "Old" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [row["id"] for row in data_of(tmp_path / "assets" / "debates.js")] == ["old"]
    assert [file for file in tmp_path.rglob("*") if file.name.endswith(".part")] == []
    for file in (tmp_path / "debates").iterdir():
        assert file.read_text(encoding="utf-8").endswith("</html>\n")


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(StoreError, match=r"cannot write the report into .*file"):
        write_report(Report("Run"), [], tmp_path / "file")


def test_hostile_text_is_escaped_in_every_file(tmp_path: Path) -> None:
    story = f"{ATTACK} The lamp was lit at nine. {ATTACK}"
    asked = Question("q", ATTACK, (ATTACK, f"{ATTACK}2"), 0, story, "s", "t")
    argument = Argument((ATTACK, Quote(ATTACK, verified=True, span=(0, 20)), Quote(ATTACK, False, None, ATTACK, 50.0)))
    turn = Turn(1, "debater", 0, argument, ATTACK, (ATTACK,))
    debate = Debate(ATTACK, ATTACK, Transcript(asked, turns=(turn,)), (ATTACK, None), 0, ATTACK, {ATTACK: ATTACK})
    verdicts = [Verdict(ATTACK, (0, 1), (0.5, 0.5), None, ATTACK), Verdict("j", (1, 0), None, unparsed=ATTACK)]
    figure = Figure(ATTACK, ({"type": "bar", "text": [ATTACK]},), {"title": {"text": ATTACK}}, ATTACK)
    table = Table(ATTACK, (Column(ATTACK),), [(ATTACK,)], ATTACK)
    report = Report(ATTACK, ATTACK, (ATTACK,), (Section(ATTACK, (table, figure), (ATTACK,)),))
    write_report(report, [DebatePage(debate, verdicts, {ATTACK: ATTACK})], tmp_path)
    for name in ("report.html", "debates/1.html"):
        html = (tmp_path / name).read_text(encoding="utf-8")
        tree = Tree(html)
        assert {tag for tag, _ in tree.elements} & {"img", "iframe", "style", "object", "form"} == set()
        assert all(attributes.get("src") for tag, attributes in tree.elements if tag == "script")
        assert not any(key.startswith("on") or key == "style" for _, attributes in tree.elements for key in attributes)
        assert "default-src &#39;none&#39;" in html
    for name in ("debates.js", "figures.js", "words.js"):
        assert "<" not in (tmp_path / "assets" / name).read_text(encoding="utf-8")


def test_nothing_heavy_is_loaded_before_it_is_used() -> None:
    code = "import sys, debate.report; print(sorted({'plotly', 'rich', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
