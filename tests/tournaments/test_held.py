"""Debates that are held are read from the store: what comes is what was said and decided, however it is read."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from debate.protocols import Baseline, Simultaneous
from debate.record import Recorded, from_json, read_records, to_json
from debate.store import Store
from tests.runs import Run
from tests.tournaments.test_matches import QUESTIONS, Desk
from tournaments.held import Held
from tournaments.setups import Setup, baseline_setups, match_setups

PAIRS = (("p", "r"), ("r", "t"), ("t", "p"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "run.sqlite")


async def hold(store: Store, *, fail: str = "", judge_fails: str = "") -> tuple[Held, list[tuple[str, Setup]]]:
    """Hold three matches and the questions without a debate; returns them with protocols and setups in order."""
    arena = Desk(store, fail=fail, judge_fails=judge_fails).arena(Simultaneous(1))
    held, made = Held(store, arena.judge.name), []
    for pair in PAIRS:
        setups = [
            *match_setups(*pair, QUESTIONS, arena.protocol),
            *match_setups(*pair, QUESTIONS, arena.protocol, repetition=7),
        ]
        held += await arena.play(setups)
        made += [("simultaneous", setup) for setup in setups]
    held += await arena.with_protocol(Baseline("blind")).play(baseline_setups(QUESTIONS))
    return held, [*made, *(("blind", setup) for setup in baseline_setups(QUESTIONS))]


async def test_they_are_those_of_the_store_in_the_order_of_their_setups(store: Store) -> None:
    held, made = await hold(store)
    kept = {item.debate.id: item for item in read_records(store)}
    assert len(held) == len(made) == len(kept) == 3 * 12 + 3
    assert [item.debate.id for item in held] == [setup.key(protocol) for protocol, setup in made]
    for item in held:
        one = kept[item.debate.id]
        assert item.debate == one.debate
        assert set(item.verdicts) == set(one.verdicts)
        assert [verdict.order for verdict in item.verdicts] == [
            one.debate.transcript.seats,
            one.debate.transcript.seats[::-1],
        ]
    whole = list(held)
    assert [held[at] for at in range(len(held))] == whole
    assert (held[-1], held[5:30:7], list(held[:0])) == (whole[-1], whole[5:30:7], [])
    with pytest.raises(IndexError):
        held[len(held)]
    store.close()


async def test_lines_are_json_of_the_records_and_turnless_ones_lack_the_turns_alone(store: Store) -> None:
    held, _ = await hold(store, fail="Question 1?", judge_fails="Question 2?")
    whole = list(held)
    assert {len(item.debate.transcript.turns) for item in whole if item.debate.failed} == {
        0,
        2,
    }  # what was said is there
    assert list(held.lines()) == [to_json(item) for item in whole]
    assert [from_json(Recorded, line) for line in held.lines()] == whole
    assert list(held.turnless()) == [
        dataclasses.replace(
            item,
            debate=dataclasses.replace(item.debate, transcript=dataclasses.replace(item.debate.transcript, turns=())),
        )
        for item in whole
    ]
    store.close()


async def test_what_is_judged_needs_nothing_and_what_failed_is_held_again(store: Store) -> None:
    held, made = await hold(store, fail="Question 1?", judge_fails="Question 2?")
    assert [setup for setup, _ in held.judged()] == [setup for _, setup in made]
    assert {(setup.question.id, judged) for setup, judged in held.judged()} == {
        ("q0", True),
        ("q1", False),
        ("q2", False),
    } | {
        ("q1", True)  # the question alone, of which no debater is asked
    }
    again, _ = await hold(store)
    assert {judged for _, judged in again.judged()} == {True}
    assert not [item for item in again if item.debate.failed]
    store.close()


def test_a_tournament_exports_what_its_store_holds(done: Run) -> None:
    with_store = Store(done.folder / "run.sqlite", readonly=True)
    kept = {item.debate.id: item for item in read_records(with_store)}
    with_store.close()
    lines = (done.folder / "debates.jsonl").read_text(encoding="utf-8").splitlines()
    items = [from_json(Recorded, line) for line in lines]
    assert [to_json(item) for item in items] == lines
    assert {item.debate.id: item.debate for item in items} == {key: item.debate for key, item in kept.items()}
    assert all(set(item.verdicts) == set(kept[item.debate.id].verdicts) for item in items)
    assert all(json.loads(line)["debate"]["failed"] is None for line in lines)
