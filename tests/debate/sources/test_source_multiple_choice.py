"""Published commonsense data sets, from small files in the forms that they were released in."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from debate.errors import SourceError
from debate.question import Question
from debate.sources import load
from debate.sources.multiple_choice import MAPS

FILES = Path(__file__).resolve().parents[2] / "fixtures" / "choices"


def read(source: str) -> list[Question]:
    name, _, file = source.partition(":")
    return list(load(f"{name}:{FILES / file}"))


def right(question: Question) -> str | None:
    return None if question.gold is None else question.answers[question.gold]


def test_anli_asks_what_happened_between_two_observations() -> None:
    first, second = read("anli:anli-dev.jsonl")
    assert first.text == (
        "Ola put a note on the fridge. Later: Nobody ate the pie. What most likely happened in between?"
    )
    assert first.answers == ("The note was blown away.", "The note said the pie was for guests.")
    assert (right(first), right(second)) == (first.answers[1], second.answers[0])
    assert first.id != second.id
    assert first.story_id == second.story_id  # both are about one story


def test_csqa_has_letters_and_five_choices() -> None:
    first, second = read("csqa:csqa.jsonl")
    assert (first.id, first.text, len(first.answers), right(first)) == (
        "csqa-7a",
        "Where does a reading lamp stand?",
        5,
        "desk",
    )
    assert (second.gold, second.text) == (None, "Where is a {boat} at home?")  # a test split; braces are text


def test_copa_as_xml_and_as_json_lines() -> None:
    first, second = read("copa:copa.xml")
    (same,) = read("copa:copa.jsonl")
    assert first.text == same.text == "The lamp went out. What was the cause of this?"
    assert second.text == "The cup fell on the stones. What happened because of this?"
    assert (right(first), right(same), right(second)) == ("The bulb blew.", "The bulb blew.", "It broke.")
    assert (first.id, same.id) == ("copa-501", "copa-0")


def test_ecare() -> None:
    (only,) = read("ecare:ecare.jsonl")
    assert (only.id, right(only)) == ("ecare-dev-3", "The stove had gone out.")
    assert only.text == "He wore two jumpers. What was the cause of this?"


def test_social_iqa_finds_its_labels_beside_it() -> None:
    first, second = read("socialiqa:socialiqa-dev.jsonl")
    assert first.text == "Kim shared the last plum with Lou. How would Lou feel?"
    assert (right(first), right(second)) == ("grateful", "to be kind")
    assert first.story_id == second.story_id


def test_piqa_labels_count_from_nought() -> None:
    first, second = read("piqa:piqa-valid.jsonl")
    assert first.text == "Dry wet boots. Which way works?"
    assert (right(first), right(second)) == ("Stuff them with newspaper.", "Put them by the stove.")
    assert first.story_id == second.story_id


def test_strategyqa_is_yes_or_no() -> None:
    first, second = read("strategyqa:strategyqa.json")
    assert first.answers == ("Yes", "No")
    assert (right(first), right(second)) == ("No", "Yes")
    assert first.id == "strategyqa-c69397b4"


def test_files_of_the_hub_are_parquet_and_name_their_fields_otherwise(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    choices = {"label": ["A", "B", "C"], "text": ["soup", "desk", "river"]}
    rows = [{"id": "x", "question": "Where does a lamp stand?", "choices": choices, "answerKey": "B"}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "csqa.parquet")
    (question,) = load(f"csqa:{tmp_path / 'csqa.parquet'}")
    assert (question.answers, question.gold) == (("soup", "desk", "river"), 1)
    stories = [
        {
            "story_id": "1",
            "observation_1": "It rained.",
            "observation_2": "All were dry.",
            "hypothesis_1": "They had umbrellas.",
            "hypothesis_2": "They swam.",
            "label": 1,
        }
    ]
    pq.write_table(pa.Table.from_pylist(stories), tmp_path / "art.parquet")
    (question,) = load(f"anli:{tmp_path / 'art.parquet'}")
    assert right(question) == "They had umbrellas."


def test_labels_may_lie_elsewhere_and_files_be_packed(tmp_path: Path) -> None:
    packed = tmp_path / "valid.jsonl.gz"
    packed.write_bytes(gzip.compress((FILES / "piqa-valid.jsonl").read_bytes()))
    labels = FILES / "piqa-valid-labels.lst"
    assert [question.gold for question in load(f"piqa:{packed}?labels={labels}")] == [0, 1]
    assert [question.gold for question in load(f"piqa:{packed}")] == [None, None]


def test_an_answer_that_a_row_gives_twice_is_one(tmp_path: Path) -> None:
    row = {"context": "Kim fell.", "question": "How does Kim feel?", "answerA": "sore", "answerB": "sore "}
    file = tmp_path / "x.jsonl"
    file.write_text(
        "".join(json.dumps(row | {"answerC": "glad", "label": label}) + "\n" for label in "123"), encoding="utf-8"
    )
    found = load(f"socialiqa:{file}")
    assert {question.answers for question in found} == {("sore", "glad")}
    assert [question.gold for question in found] == [0, 0, 1]


@pytest.mark.parametrize(
    ("name", "row", "words"),
    [
        ("piqa", {"goal": "x", "sol1": "a"}, "this is no row of piqa: it needs the fields sol1, sol2"),
        ("copa", {"premise": "x", "choice1": "a", "choice2": "b", "question": "why", "label": 0}, "cause, effect"),
        (
            "copa",
            {"premise": "x", "choice1": "a", "choice2": "b", "question": "cause", "label": 2},
            "label 2 names none",
        ),
        ("csqa", {"id": "1", "question": {"stem": "x", "choices": []}, "answerKey": "A"}, "two or more different"),
        ("csqa", {"id": "1", "question": {"stem": "x", "choices": ["a", "b"]}, "answerKey": "Q"}, "label 'Q'"),
        ("strategyqa", {"qid": "1", "question": "x", "answer": "maybe"}, "label 'maybe'"),
        ("piqa", {"goal": "x", "sol1": "same", "sol2": "same", "label": 0}, "different"),
        ("socialiqa", {"context": "", "question": "x", "answerA": "a", "answerB": "b", "answerC": "c"}, "'context'"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, name: str, row: dict[str, object], words: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(SourceError, match="line 1") as caught:
        load(f"{name}:{file}")
    assert words in str(caught.value)


def test_labels_of_another_split_are_refused(tmp_path: Path) -> None:
    shutil.copy(FILES / "piqa-valid.jsonl", tmp_path / "valid.jsonl")
    (tmp_path / "valid-labels.lst").write_text("0\n1\n1\n", encoding="utf-8")
    with pytest.raises(SourceError, match="2 questions and its file of labels 3"):
        load(f"piqa:{tmp_path / 'valid.jsonl'}")


@pytest.mark.parametrize(("file", "words"), [("x.json", "JSON"), ("x.xml", "not XML")])
def test_a_file_of_another_form_is_refused(tmp_path: Path, file: str, words: str) -> None:
    (tmp_path / file).write_text("{}" if file == "x.json" else "<a>", encoding="utf-8")
    with pytest.raises(SourceError, match=words):
        load(f"copa:{tmp_path / file}")


def test_there_are_the_seven_data_sets_of_the_paper() -> None:
    assert set(MAPS) == {"anli", "csqa", "copa", "ecare", "socialiqa", "piqa", "strategyqa"}
