"""Own questions, as JSON Lines and CSV."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from debate.errors import SourceError
from debate.sources import load

ROWS: list[dict[str, object]] = [
    {"question": "Who ran?", "answers": ["Ann", "Bo"], "gold": "Bo", "story": "Bo ran.", "fold": "test"},
    {"id": "q2", "question": "Who fell?", "answers": ["Ann", "Bo", "Cy"], "gold": 2, "distractor": "Ann", "hard": True},
]


def json_lines(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return f"questions:{path}"


def text_file(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return f"questions:{path}"


def test_json_lines(tmp_path: Path) -> None:
    first, second = load(json_lines(tmp_path / "own.jsonl", ROWS))
    assert (first.gold, first.story, first.fold, first.hard) == (1, "Bo ran.", "test", None)
    assert (second.id, second.gold, second.distractor, second.hard) == ("q2", 2, 0, True)
    assert second.story is None


def test_csv_may_have_semicolons_as_spreadsheets_write_where_the_comma_is_the_decimal_mark(tmp_path: Path) -> None:
    comma, semicolon = tmp_path / "comma.csv", tmp_path / "semicolon.csv"
    comma.write_text('question,answers,gold\n"So, why; not?","[""a"", ""b""]",1\n', encoding="utf-8")
    semicolon.write_text('\ufeffquestion;answers;gold\n"So, why; not?";"[""a"", ""b""]";1\n', encoding="utf-8")
    found = [[(one.text, one.answers, one.gold) for one in load(f"questions:{path}")] for path in (comma, semicolon)]
    assert found[0] == found[1] == [("So, why; not?", ("a", "b"), 1)]


def test_csv_gives_what_json_lines_give(tmp_path: Path) -> None:
    source = text_file(
        tmp_path / "own.csv",
        "id,question,answer_1,answer_2,answer_3,gold,story,fold,distractor,hard\n"
        ",Who ran?,Ann,Bo,,Bo,Bo ran.,test,,\n"
        "q2,Who fell?,Ann,Bo,Cy,2,,,Ann,true\n",
    )
    in_json = load(json_lines(tmp_path / "own.jsonl", ROWS))
    assert [dataclasses.replace(question, source="") for question in load(source)] == [
        dataclasses.replace(question, source="") for question in in_json
    ]


def test_made_ids_do_not_depend_on_the_place_in_the_file(tmp_path: Path) -> None:
    forwards = load(json_lines(tmp_path / "a.jsonl", ROWS))
    backwards = load(json_lines(tmp_path / "b.jsonl", ROWS[::-1]))
    assert {(q.id, q.story_id) for q in forwards} == {(q.id, q.story_id) for q in backwards}


def test_story_file_lies_beside_the_questions(tmp_path: Path) -> None:
    (tmp_path / "stories").mkdir()
    (tmp_path / "stories" / "run.txt").write_text("Bo ran.\n\nAnn did not.\n", encoding="utf-8")
    source = text_file(
        tmp_path / "own.csv", 'question,answers,story_file\nWho ran?,"[""Ann"", ""Bo""]",stories/run.txt\n'
    )
    (question,) = load(source)
    assert (question.answers, question.gold, question.story) == (("Ann", "Bo"), None, "Bo ran.\n\nAnn did not.")


def test_an_answer_that_is_a_number_is_taken_as_text_before_index(tmp_path: Path) -> None:
    row: dict[str, object] = {"question": "How many?", "answers": ["1", "0"], "gold": "0"}
    assert load(json_lines(tmp_path / "own.jsonl", [row]))[0].gold == 1
    assert load(json_lines(tmp_path / "own.jsonl", [{**row, "gold": 0}]))[0].gold == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": ["x"]}, "own.jsonl, line 2: unknown field 'answer'; did you mean 'answers'?"),
        ({"answers": ["Ann"]}, "line 2: 1 answers, 0 of them blank"),
        ({"answers": ["Ann", " "]}, "line 2: 2 answers, 1 of them blank"),
        ({"answers": ["Ann", "Ann "]}, "line 2: two answers are the same"),
        ({"answers": "Ann"}, "line 2: field 'answers' is a text; list is needed"),
        ({"gold": 2}, "line 2: gold is 2; an index from 0 to 1 or the answer's text is needed"),
        ({"gold": True}, "line 2: gold is True"),
        ({"gold": "Cy"}, "line 2: gold 'Cy' is none of the answers"),
        ({"distractor": "Bo"}, "line 2: the distractor is the gold answer"),
        ({"fold": "tset"}, "line 2: fold 'tset' is not one of judge, debater, validation, test; did you mean 'test'?"),
        ({"story_file": "x.txt"}, "line 2: both story and story_file are given"),
        ({"story": None, "story_file": "x.txt"}, "line 2: story_file: cannot read"),
        ({"hard": "yes"}, "line 2: field 'hard' is a text; true or false is needed"),
    ],
)
def test_malformed_json_rows_are_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(SourceError) as error:
        load(json_lines(tmp_path / "own.jsonl", [ROWS[1], {**ROWS[0], **change}]))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'question,answer_1,answer_2\n"Who\nran?",Ann,Bo\nWho fell?,Ann\n',
            "own.csv, line 4 has 2 cells, the header 3",
        ),
        ("question,answer_1,answer_2\nWho?,,Bo\n", "line 2: an answer column is empty before a filled one"),
        ("question,answers\nWho?,Ann\n", "line 2: answers is not a JSON list"),
        ("question,answers,answer_1\nWho?,[],Bo\n", "line 2: both answers and answer_1, ... are given"),
        ("question,question\nWho?,Ann\n", "line 1: a column name appears twice"),
        ('question,answer_1,answer_2\nWho?,"Ann"x,Bo\n', "line 2: "),
        ("question,answer_1,answer_2,hard\nWho?,Ann,Bo,1\n", "line 2: hard is '1'; write true or false"),
        ("question,answer_1,answer_2\n,Ann,Bo\n", "line 2: field 'question' is missing"),
    ],
)
def test_malformed_csv_rows_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SourceError) as error:
        load(text_file(tmp_path / "own.csv", text))
    assert message in str(error.value)


def test_one_story_id_for_two_stories_is_refused(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{**ROWS[0], "story_id": "s"}, {**ROWS[0], "story": "Ann ran.", "story_id": "s"}]
    with pytest.raises(SourceError, match=r"line 2: story_id 's' has another story in .*own.jsonl, line 1"):
        load(json_lines(tmp_path / "own.jsonl", rows))


@pytest.mark.parametrize("field", ["id", "question", "story", "story_id", "answers"])
def test_half_a_character_is_refused_with_its_place(tmp_path: Path, field: str) -> None:
    odd: object = ["Ann", "Bo \ud83d"] if field == "answers" else "odd \ud83d"
    rows = [ROWS[0], {"question": "Who ran?", "answers": ["Ann", "Bo"], "story": "Bo ran on."} | {field: odd}]
    with pytest.raises(SourceError, match=r"own\.jsonl, line 2 holds \\ud83d, half of a character, after .*(odd|Bo) '"):
        load(json_lines(tmp_path / "own.jsonl", rows))
    source = text_file(tmp_path / "own.csv", 'question,answers\nWho ran?,"[""Ann"", ""Bo \\ude00""]"\n')
    with pytest.raises(SourceError, match=r"own\.csv, line 2 holds \\ude00"):
        load(source)
    whole: list[dict[str, object]] = [{"question": "Who \U0001f600?", "answers": ["\\ud83d", "Bo"]}]
    assert load(json_lines(tmp_path / "whole.jsonl", whole))[0].answers == ("\\ud83d", "Bo")
