"""Runs as sources: their questions, and their debates with all verdicts."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from debate.errors import SourceError
from debate.question import Question
from debate.quotes import Argument
from debate.record import Debate, Recorded, to_json, verdict_key
from debate.sources import load, load_debates
from debate.store import Store
from debate.transcript import Transcript, Turn
from debate.verdict import Verdict

ONE = Question("one", "Who?", ("He.", "She."), 0, "He was seen.", "story-1", "questions:own.jsonl", "debater")
TWO = Question("two", "When?", ("Now.", "Then."), None, None, "story-2", "shipped:stories", "test")


def debate(name: str, question: Question) -> Debate:
    turn = Turn(1, "debater", 0, Argument(("It is plain.",)))
    return Debate(name, "simultaneous", Transcript(question, (1, 0), (turn,)), ("a | b", "c"))


def verdict(judge: str, order: tuple[int, int], share: float = 0.75) -> Verdict:
    return Verdict(judge, order, (share, 1 - share))


def keep(store: Store, *items: Recorded) -> None:
    async def put() -> None:
        for item in items:
            await store.put("debates", item.debate.id, to_json(item.debate))
            for one in item.verdicts:
                await store.put("verdicts", verdict_key(item.debate.id, one.judge, one.order), to_json(one))

    asyncio.run(put())


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("seed: 1\n", encoding="utf-8")
    return tmp_path / "run"


ITEMS = (
    Recorded(debate("first | bar", ONE), (verdict("j", (1, 0)), verdict("j", (0, 1)), verdict("k", (0, 1), 0.5))),
    Recorded(debate("second", TWO), ()),
    Recorded(debate("third", ONE), (verdict("k", (1, 0)),)),
)


def test_debates_come_as_they_were_kept_while_the_run_goes_on(run: Path) -> None:
    store = Store(run / "run.sqlite")  # holds the lock all the time
    keep(store, *ITEMS[:2])
    assert load_debates(str(run)) == list(ITEMS[:2])
    keep(store, ITEMS[2])
    assert load_debates(f"run:{run}") == list(ITEMS)
    store.close()


def test_questions_come_once_with_their_folds(run: Path) -> None:
    store = Store(run / "run.sqlite")
    keep(store, *ITEMS)
    store.close()
    source = f"run:{run}"
    assert load(source) == [dataclasses.replace(question, source=source) for question in (ONE, TWO)]


def test_other_questions_under_one_id_get_ids_of_their_own(run: Path) -> None:
    other = dataclasses.replace(ONE, text="Why?", story="Nobody was seen.", story_id="story-9")
    store = Store(run / "run.sqlite")
    keep(store, ITEMS[0], Recorded(debate("fourth", other), ()))
    store.close()
    questions = load(f"run:{run}")
    assert [(question.id[:4], question.text) for question in questions] == [("one", "Who?"), ("one-", "Why?")]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", "'nowhere' is no source of debates (there is no such folder); give the folder of a run, or nyu:FI"),
        ("quality:x.jsonl", "quality: holds questions, not debates"),
        ("run:", "give the folder of a run"),
        ("run:nowhere", "nowhere is no run folder (config.yaml is missing)"),
        ("nyu:nowhere.tar.gz", "no file nowhere.tar.gz"),
    ],
)
def test_what_holds_no_debates_is_refused(source: str, message: str) -> None:
    with pytest.raises(SourceError) as error:
        load_debates(source)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_run_without_debates_is_refused(run: Path) -> None:
    with pytest.raises(SourceError, match=r"has no run\.sqlite: its run never began"):
        load_debates(str(run))
    Store(run / "run.sqlite").close()
    with pytest.raises(SourceError, match="holds no finished debate; wait until"):
        load(f"run:{run}")
