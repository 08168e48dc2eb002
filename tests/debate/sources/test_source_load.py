"""Source strings, and what holds for every source."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from debate.errors import FoldError, SourceError
from debate.sources import load
from debate.sources.locate import data_folder

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests" / "fixtures"


def write(path: Path, *rows: Mapping[str, object]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return f"questions:{path}"


def test_shipped_stories() -> None:
    questions = load("shipped:stories")
    assert len(questions) == 160
    assert len({question.story_id for question in questions}) == 40
    assert {question.source for question in questions} == {"shipped:stories"}
    assert sum(question.gold == 0 for question in questions) == 80
    first = questions[0]
    assert (first.id, first.story_id, first.fold) == ("adjourned-at-eleven-1", "adjourned-at-eleven", "debater")
    assert first.answers == ("Nerys opened it on the Tuesday.", "Quentin opened it on the Wednesday.")
    assert first.story is not None
    assert first.story.startswith("The Upper Mill Chess Club met on Thursdays")
    assert data_folder() == ROOT / "data"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("qualty:x.jsonl", "unknown source 'qualty'; did you mean 'quality'?"),
        (
            "stories",
            "known: anli:FILE, copa:FILE, csqa:FILE, dossiers:N?seed=S, ecare:FILE, leval:FILE, nyu:FILE, piqa:FILE",
        ),
        ("shipped:", "names no stories; write shipped:stories"),
        ("quality", "names no FILE; write quality:FILE"),
        ("shipped:storys", "nothing called 'storys' is shipped; did you mean 'stories'?"),
        ("shipped:stories?fold=test", "unknown option 'fold' (shipped has none)"),
        ("quality:x.jsonl?hrad=true", "unknown option 'hrad'; did you mean 'hard'? (known: hard, source)"),
        ("quality:x.jsonl?hard", "option 'hard' needs one value; write hard=VALUE once"),
        ("quality:x.jsonl?hard=true&hard=true", "needs one value"),
        ("quality:https://example.org/f?dl=1", "end an address that holds a ? with another ?"),
        ("quality:no/such.jsonl", "no file no/such.jsonl (looked from "),
    ],
)
def test_wrong_sources_say_what_to_do(source: str, message: str) -> None:
    with pytest.raises(SourceError) as error:
        load(source)
    assert message in str(error.value)


def test_a_file_may_hold_a_question_mark_and_be_packed(tmp_path: Path) -> None:
    path = tmp_path / "what?.jsonl.gz"
    path.write_bytes(gzip.compress((FIXTURES / "quality" / "train.jsonl").read_bytes()))
    assert len(load(f"quality:{path}?hard=true")) == 2
    assert len(load(f"quality:{path}?")) == 4


def test_an_empty_source_is_an_error(tmp_path: Path) -> None:
    source = write(tmp_path / "none.jsonl")
    with pytest.raises(SourceError, match="holds no questions; check the file"):
        load(source)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(b'{"question": "Who?"}' * 100)[:-20])
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes('{"question": "é"}'.encode("latin-1"))
    array = tmp_path / "array.jsonl"
    array.write_text("\n[1, 2]\n", encoding="utf-8")
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"question": \n', encoding="utf-8")
    for path, message in (
        (cut, "cut.jsonl.gz: "),
        (latin, "latin.jsonl is not UTF-8 text"),
        (array, "array.jsonl, line 2 holds a JSON list"),
        (broken, "broken.jsonl, line 1 is not JSON"),
        (tmp_path, "Is a directory"),
    ):
        with pytest.raises(SourceError) as error:
            load(f"questions:{path}")
        assert message in str(error.value)


def test_equal_ids_are_refused(tmp_path: Path) -> None:
    row = {"id": "one", "question": "Who?", "answers": ["Ann", "Bo"]}
    with pytest.raises(SourceError, match="two questions have the id 'one'"):
        load(write(tmp_path / "twice.jsonl", row, row))


@pytest.mark.parametrize("same", ["story_id", "story"])
def test_a_story_in_two_folds_is_refused(tmp_path: Path, same: str) -> None:
    rows = [
        {"question": f"Who {n}?", "answers": ["Ann", "Bo"], "story": "Ann  ran." if n else "Ann ran.", "fold": fold}
        for n, fold in enumerate(("judge", "test"))
    ]
    if same == "story_id":
        rows = [{**row, "story": "Ann ran.", "story_id": "run"} for row in rows]
    with pytest.raises(FoldError, match=r"is in fold test, but question .* is in fold judge"):
        load(write(tmp_path / "folds.jsonl", *rows))
