"""Rows: what must hold of them, and what they are on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debate.card import SeenStory
from debate.errors import FoldError, SourceError, StoreError
from debate.models.base import Message
from debate.question import FOLDS, Fold
from training.rows import (
    PairRow,
    Row,
    RowSet,
    check_fold,
    check_some,
    deduplicate,
    merge,
    openai_lines,
    to_dataset,
)
from training.rows_folder import CARD, DATA, LINES, read_rows, write_rows

STORIES = (SeenStory(id="s1", source="test", fold="judge"), SeenStory(id="s2", source="test"))


def row(completion: str = "A", asked: str = "Who?", *, fold: Fold | None = "judge", **tags: str) -> Row:
    prompt = (Message("system", "You judge."), Message("user", asked))
    return Row(prompt, completion, "q", "s1", fold, tags)


def pair(chosen: str = "Well said.", rejected: str = "Badly said.", margin: float = 0.1, **tags: str) -> PairRow:
    return PairRow((Message("user", "Argue."),), chosen, rejected, margin, "q", "s2", None, tags)


def rows(*of: Row, **dropped: int) -> RowSet[Row]:
    return RowSet(of, STORIES, dropped)


texts = st.text(st.characters(codec="utf-8"), max_size=20)
messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts)
some_tags = st.dictionaries(st.sampled_from(["source", "order", "player"]), texts)
shared: dict[str, Any] = {
    "prompt": st.lists(messages, min_size=1, max_size=3).map(tuple),
    "question": texts,
    "story": texts,
    "fold": st.sampled_from([None, *FOLDS]),
    "tags": some_tags,
}
row_lists = st.lists(st.builds(Row, completion=texts, **shared), min_size=1, max_size=4)
pair_lists = st.lists(
    st.builds(PairRow, chosen=texts, rejected=texts, margin=st.floats(-10, 10), **shared), min_size=1, max_size=4
)


@settings(deadline=None, max_examples=50)  # the first example imports pyarrow and datasets
@given(st.one_of(row_lists, pair_lists))
def test_what_is_read_is_what_was_written(tmp_path_factory: pytest.TempPathFactory, made: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("rows")
    written: RowSet[Any] = RowSet(tuple(made), STORIES, {"why": 2})
    write_rows(folder, written, kind="judge")
    assert read_rows(folder) == written


def test_a_dataset_is_in_the_conversational_form_of_trl() -> None:
    from trl.data_utils import is_conversational

    dataset = to_dataset([row("A", source="x"), row("B", order="01")])
    assert dataset[0] == {
        "prompt": [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Who?"}],
        "completion": [{"role": "assistant", "content": "A"}],
        "question": "q",
        "story": "s1",
        "fold": "judge",
        "tags": {"order": None, "source": "x"},
    }
    pairs = to_dataset([pair()])
    # A column named margin would go into the loss of TRL's reward trainer unasked.
    assert pairs.column_names == ["prompt", "chosen", "rejected", "score_margin", "question", "story", "fold"]
    assert is_conversational(dataset[0])
    assert is_conversational(pairs[0])


def test_the_folder_is_a_dataset_with_its_card(tmp_path: Path) -> None:
    from datasets import load_dataset

    written = rows(row("A", source="run:a"), row("B", source="run:a"), row("C", source="run:b|c"), why=2)
    write_rows(tmp_path / "rows", written, kind="judge", facts={"data": ["run:a"]})
    loaded = load_dataset(str(tmp_path / "rows"), split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded.to_list() == to_dataset(written.rows).to_list()
    card = json.loads((tmp_path / "rows" / CARD).read_text())
    assert card["kept"] == {"run:a": 2, "run:b|c": 1}
    assert card["dropped"] == {"why": 2}
    assert card["folds"] == {"judge": 3}
    assert card["sha256"] == written.digest
    assert [story["id"] for story in card["stories"]] == ["s1", "s2"]
    assert card["facts"] == {"data": ["run:a"]}
    shown = (tmp_path / "rows" / "README.md").read_text()
    assert "| run:b&#124;c | 1 |" in shown
    assert "| why | 2 |" in shown
    assert written.digest in shown


def test_the_forms_of_a_provider() -> None:
    """As OpenAI's guides to supervised and to direct preference fine-tuning show them."""
    (supervised,) = openai_lines([row("A")])
    assert json.loads(supervised) == {
        "messages": [
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": "A"},
        ]
    }
    (preference,) = openai_lines([pair()])
    assert json.loads(preference) == {
        "input": {"messages": [{"role": "user", "content": "Argue."}], "tools": [], "parallel_tool_calls": True},
        "preferred_output": [{"role": "assistant", "content": "Well said."}],
        "non_preferred_output": [{"role": "assistant", "content": "Badly said."}],
    }


def test_a_provider_gets_lines(tmp_path: Path) -> None:
    write_rows(tmp_path, rows(row("A\nB"), row("B\u2028")), kind="judge", form="openai")
    lines = (tmp_path / LINES).read_bytes().decode().split("\n")
    assert [json.loads(line)["messages"][-1]["content"] for line in lines[:-1]] == ["A\nB", "B\u2028"]
    assert not (tmp_path / DATA).exists()


def test_the_first_of_equal_rows_is_kept() -> None:
    made = rows(row("A", player="p"), row("B"), row("A", player="r"), row("A", "When?"), row("B"), why=1)
    kept = deduplicate(made)
    assert kept.rows == (row("A", player="p"), row("B"), row("A", "When?"))
    assert kept.dropped == {"why": 1, "the same as another row": 2}
    assert deduplicate(kept) == kept
    pairs = RowSet((pair(), pair(rejected="No."), pair(margin=9.0)), STORIES, {})
    assert deduplicate(pairs).rows == (pair(), pair(rejected="No."))


def test_row_sets_are_put_one_behind_the_other() -> None:
    other = SeenStory(id="s3", source="test", fold="judge")
    both = merge([rows(row("A"), a=1), RowSet((row("B"),), (STORIES[0], other), {"a": 2, "b": 1})])
    assert both == RowSet((row("A"), row("B")), (*STORIES, other), {"a": 3, "b": 1})


def test_the_digest_is_of_the_rows_in_their_order() -> None:
    one, two = row("A"), row("B")
    digests = [rows(*of).digest for of in ((one, two), (two, one), (one,), (row("A", order="01"), two))]
    assert len(set(digests)) == 4
    assert rows(one, two, why=3).digest == digests[0]


@pytest.mark.parametrize("wanted", ["judge", "debater", "validation"])
def test_only_stories_of_the_fold_are_trained_on(wanted: Fold) -> None:
    for fold in FOLDS:
        made = rows(row("A", fold=fold), row("B", fold=None))
        if fold == wanted:
            check_fold(made, wanted)
        else:
            with pytest.raises(FoldError, match=rf"1 stories .* in fold {fold}, .* fold {wanted}: 's1'; set fold: "):
                check_fold(made, wanted)


def test_no_rows_are_refused() -> None:
    with pytest.raises(SourceError, match=r"no pair row is left \(too close: 3, no verdict: 1\)"):
        check_some(RowSet[PairRow]((), (), {"too close": 3, "no verdict": 1}), "pair")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", rows(row()), kind="judge")
    with pytest.raises(StoreError, match="exists already; choose another --output"):
        write_rows(tmp_path / "rows", rows(row("B")), kind="judge")
    assert read_rows(tmp_path / "rows").rows == (row(),)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="exists already"):
        write_rows(tmp_path / "file", rows(row()), kind="judge")


@pytest.mark.parametrize("file", [CARD, DATA])
def test_rows_that_were_changed_are_refused(tmp_path: Path, file: str) -> None:
    write_rows(tmp_path / "one", rows(row("A")), kind="judge")
    write_rows(tmp_path / "two", rows(row("B")), kind="judge")
    (tmp_path / "one" / file).write_bytes((tmp_path / "two" / file).read_bytes())
    with pytest.raises(StoreError, match=f"not those that {CARD} describes"):
        read_rows(tmp_path / "one")
    (tmp_path / "two" / file).write_bytes(b"{")
    with pytest.raises(StoreError, match=r"^cannot read rows from .*; write them again$"):
        read_rows(tmp_path / "two")
    (tmp_path / "two" / file).unlink()
    with pytest.raises(StoreError, match=r"^cannot read rows from .*; write them again$"):
        read_rows(tmp_path / "two")
