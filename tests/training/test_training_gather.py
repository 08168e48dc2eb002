"""Debates to train on: recorded and made ones, what is left out of them, ids and folds over several sources."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from debate.errors import ConfigError, FoldError, SourceError
from debate.question import Fold, Question
from debate.quotes import parse_argument
from debate.record import Debate, Recorded, to_json
from debate.run_folder import RunFolder
from debate.transcript import Transcript, Turn
from training.gather import DataConfig, as_shown, gather, gather_all

LONG = " ".join(f"The {n} keepers of the light went down to the water before the storm came." for n in range(30))


def debate(
    id_: str,
    *,
    protocol: str = "simultaneous",
    gold: int | None = 0,
    fold: Fold | None = "judge",
    text: str = "Who shut the gate?",
    story: str | None = None,
    failed: str | None = None,
    tags: dict[str, str] | None = None,
    silent: bool = False,
) -> Recorded:
    question = Question(id_, text, ("Ana.", "Tomas."), gold, story or f"Story {id_}.", f"story {id_}", "test", fold)
    said = parse_argument("I say so.", None, seat="A")
    turns = () if silent else (Turn(1, "debater", 0, said), Turn(1, "debater", 1, said))
    held = Debate(
        f"{protocol} {id_}",
        protocol,
        Transcript(question, turns=turns),
        (None, None) if silent else ("p", "r"),
        failed=failed,
        tags=tags or {},
    )
    return Recorded(held, ())


def run(folder: Path, recorded: Iterable[Recorded]) -> str:
    """Keep debates in the folder of a run; returns its source string."""
    with RunFolder.create(folder, DataConfig(debates="x"), {}) as made:
        made.keep_models({})

        async def put() -> None:
            for item in recorded:
                await made.store.put("debates", item.debate.id, to_json(item.debate))

        asyncio.run(put())
    return f"run:{folder}"


def ids(recorded: Iterable[Recorded]) -> list[str]:
    return [item.debate.transcript.question.id for item in recorded]


def test_recorded_debates_are_filtered_and_every_filter_counts(tmp_path: Path) -> None:
    setting = {"setting": "human debate"}
    source = run(
        tmp_path / "run",
        [
            debate("one", tags=setting),
            debate("two", tags=setting),
            debate("three", tags=setting),
            debate("test", fold="test", tags=setting),
            debate("other", tags={"setting": "AI debate"}),
            debate("unknown", gold=None, tags=setting),
            debate("broken", failed="the server is gone", tags=setting),
            debate("blind", protocol="blind", silent=True),
        ],
    )
    found = gather(DataConfig(debates=source, fold="judge", tags=setting, limit=2))
    assert len(found.recorded) == 2
    assert set(ids(found.recorded)) < {"one", "two", "three"}
    assert found.sources == {source: 2}
    assert found.dropped == {
        "no gold answer": 1,
        "never finished": 1,
        "nobody speaks": 1,
        "other tags": 1,
        "another fold": 1,
        "beyond the limit": 1,
    }
    assert [story.id for story in found.stories] == [f"story {one}" for one in ids(found.recorded)]
    everything = gather(DataConfig(debates=source))
    assert ids(everything.recorded) == ["one", "two", "three", "test", "other"]
    assert gather(DataConfig(debates=str(tmp_path / "run"))).recorded == everything.recorded


def test_baselines_come_only_where_they_are_asked_for(tmp_path: Path) -> None:
    source = run(tmp_path / "run", [debate("one"), debate("two", protocol="blind", silent=True)])
    found = gather(DataConfig(debates=source, protocols=("blind",)))
    assert (ids(found.recorded), found.dropped) == (["two"], {"protocol simultaneous": 1})


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([debate("a", gold=None), debate("b", gold=None)], r"\(no gold answer: 2\)"),
        ([debate("a", failed="gone"), debate("b", gold=None)], r"\(never finished: 1, no gold answer: 1\)"),
    ],
)
def test_a_run_that_leaves_nothing_is_refused(tmp_path: Path, items: list[Recorded], why: str) -> None:
    with pytest.raises(SourceError, match=f"leaves nothing to train or measure on {why}; give finished debates"):
        gather(DataConfig(debates=run(tmp_path / "run", items)))


def test_debates_are_made_on_the_spot() -> None:
    found = gather(DataConfig(debates="dossiers:40?seed=3", fold="validation", limit=4))
    assert len(found.recorded) == 4
    assert {question.fold for question in found.questions} == {"validation"}
    assert all(item.debate.transcript.turns for item in found.recorded)
    assert found.dropped["another fold"] + found.dropped["beyond the limit"] == 36
    more = gather(DataConfig(debates="dossiers:40?seed=3", fold="validation", limit=6))
    assert set(ids(found.recorded)) < set(ids(more.recorded))


def test_questions_without_a_gold_answer_make_no_debate(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps({"question": "Who?", "answers": ["Ana", "Tomas", "Ede"], "story": "A story."}))
    with pytest.raises(SourceError, match=r"leaves nothing to train or measure on \(no gold answer: 1\)"):
        gather(DataConfig(debates=f"questions:{file}"))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("nowhere", "there is no such folder"),
        ("run:nowhere", "no run folder"),
        ("dossier:3", "did you mean 'dossiers'"),
        ("nyu:nowhere.tar.gz", "no file nowhere.tar.gz"),
    ],
)
def test_a_source_that_is_none_is_refused(source: str, why: str) -> None:
    with pytest.raises((SourceError, ConfigError), match=why):
        gather(DataConfig(debates=source))


def test_what_is_another_question_gets_another_id(tmp_path: Path) -> None:
    first = run(tmp_path / "first", [debate("q1")])
    second = run(tmp_path / "second", [debate("q1", text="Who lit the lamp?", story="Another story.")])
    one, two, again = gather_all([DataConfig(debates=source) for source in (first, second, first)])
    assert ids(one.recorded) == ids(again.recorded) == ["q1"]
    assert ids(two.recorded) == [f"{second} | q1"]
    assert two.questions[0].story_id == f"{second} | story q1"


def test_a_story_in_two_folds_is_refused_whatever_it_is_called(tmp_path: Path) -> None:
    train = run(tmp_path / "train", [debate("q1", story=LONG)])
    test = run(tmp_path / "test", [debate("q2", story=f"{LONG} ", fold="test")])
    with pytest.raises(FoldError, match="'story q1' of 'test' is in fold judge, but it is story 'story q2'"):
        gather_all([DataConfig(debates=train), DataConfig(debates=test)])


def test_the_question_alone_is_the_blind_baseline() -> None:
    item = debate("one")
    assert as_shown(item, "debate") is item
    shown = as_shown(item, "question")
    assert (shown.debate.protocol, shown.debate.transcript.turns, shown.verdicts) == ("blind", (), ())
    assert gather(DataConfig(debates="dossiers:2", show="question")).shown[0].debate.protocol == "blind"
