from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest

from debate.errors import StoreError
from debate.models.base import Usage
from debate.store import CallRow, Store
from debate.store_file import SCHEMA_VERSION, connect
from debate.store_writer import Writer

USED = Usage(10, 5, 3, 2)


def row(
    key: str,
    *,
    model: str = "scripted/a",
    operation: str = "sample",
    reply: str = '"x"',
    usage: Usage = USED,
) -> CallRow:
    return CallRow(key, operation, model, reply, usage)


async def test_calls_come_back_as_they_were_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    rows = [row(f"k{index}", reply=f'{{"text": "naïve “{index}”\\n"}}') for index in range(700)]
    await store.add_calls(rows)
    assert store.calls([r.key for r in rows] + ["absent"]) == {r.key: r for r in rows}
    assert store.calls([]) == {}
    store.close()


async def test_existing_calls_are_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    await store.add_calls([row("k", reply='"first"')])
    await store.add_calls([row("k", reply='"second"'), row("l", reply='"other"')])
    assert {key: found.reply for key, found in store.calls(["k", "l"]).items()} == {"k": '"first"', "l": '"other"'}
    store.close()


async def test_the_first_payload_wins_and_order_is_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    keys = [f"{index * 7919 % 1000:03d}" for index in range(600)]
    for key in keys:
        await store.put("debates", key, f'"{key}"')
    await store.put("debates", keys[0], '"again"')
    assert list(store.rows("debates")) == [(key, f'"{key}"') for key in keys]
    assert store.get("debates", keys[0]) == f'"{keys[0]}"'
    assert store.get("verdicts", keys[0]) is None
    assert list(store.rows("ratings")) == []
    assert store.find("debates", ["absent", *keys]) == {key: f'"{key}"' for key in keys}
    assert store.find("verdicts", keys) == store.find("debates", []) == {}
    store.close()


async def test_usage_adds_up_by_model_and_operation(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    await store.add_calls(
        [row("1"), row("2"), row("3", operation="choose", usage=Usage(7, 1)), row("4", model="scripted/b")]
    )
    usage = store.usage()
    assert usage["scripted/a"].operations["sample"].calls == 2
    assert usage["scripted/a"].operations["sample"].tokens == Usage(20, 10, 6, 4)
    assert (usage["scripted/a"].calls, usage["scripted/a"].tokens) == (3, Usage(27, 11, 6, 4))
    assert (usage["scripted/b"].calls, usage["scripted/b"].tokens) == (1, Usage(10, 5, 3, 2))
    store.close()


async def test_what_is_awaited_is_committed(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    store = Store(path)
    await asyncio.gather(*(store.add_calls([row(f"{task}-{index}") for index in range(3)]) for task in range(300)))
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT count(*) FROM calls").fetchone() == (900,)
    other.close()
    store.close()


async def test_a_cancelled_caller_loses_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    task = asyncio.create_task(store.add_calls([row("k")]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await store.put("ratings", "after", "1")
    assert "k" in store.calls(["k"])
    store.close()


async def test_a_store_survives_closing(tmp_path: Path) -> None:
    path = tmp_path / "odd ?#% name" / "run.sqlite"
    store = Store(path)
    await store.put("verdicts", "d|judge|AB", "{}")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.get("verdicts", "d|judge|AB")
    with pytest.raises(StoreError, match="closed"):
        await store.put("verdicts", "e", "{}")
    again = Store(path)
    assert again.get("verdicts", "d|judge|AB") == "{}"
    again.close()


def test_a_second_writer_is_refused_with_folder_and_process(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    with pytest.raises(StoreError, match=f"{tmp_path} is in use by process {os.getpid()};"):
        Store(tmp_path / "run.sqlite")
    store.close()
    Store(tmp_path / "run.sqlite").close()


async def test_a_reader_reads_beside_the_writer_and_cannot_write(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    reader = Store(tmp_path / "run.sqlite", readonly=True)
    await store.put("ratings", "r", "1")
    assert reader.get("ratings", "r") == "1"
    with pytest.raises(StoreError, match="reading only"):
        await reader.put("ratings", "s", "1")
    reader.close()
    store.close()


def test_a_reader_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "run.sqlite", readonly=True)
    assert list(tmp_path.iterdir()) == []


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    other.close()
    before = path.read_bytes()
    for readonly in (False, True):
        with pytest.raises(StoreError, match=f"schema version {SCHEMA_VERSION + 1}"):
            Store(path, readonly=readonly)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be looked at as one" * 20, None])
def test_other_files_are_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "run.sqlite"
    if content is None:
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE somebody_elses (x)")
        other.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a"):
        Store(path)
    assert path.read_bytes() == before


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(StoreError, match="cannot write in the run folder"):
        Store(tmp_path / "taken" / "run.sqlite")


HALF = "\ud83d"


async def test_half_a_character_in_a_payload_is_cleaned_and_in_a_key_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    async with asyncio.timeout(20):
        await store.put("debates", "k", f'"{HALF} half"')
        await store.add_calls([row("c", reply=f'"{HALF}"')])
        for attempt in (store.put("debates", f"k{HALF}", '"x"'), store.add_calls([row("fine"), row(HALF)])):
            with pytest.raises(StoreError, match="half of a character; take that out of"):
                await attempt
        await store.put("debates", "l", '"later"')
    assert list(store.rows("debates")) == [("k", '"? half"'), ("l", '"later"')]
    assert {key: found.reply for key, found in store.calls(["c", "fine"]).items()} == {"c": '"?"'}
    for look in (lambda: store.get("debates", HALF), lambda: store.calls([HALF])):
        with pytest.raises(StoreError, match="half of a character"):
            look()
    store.close()


@pytest.mark.parametrize("values", [("k", HALF), ("k", 2**63), ("k", object()), ("k",)])
async def test_a_write_that_fails_in_any_way_is_told_and_the_next_is_written(
    tmp_path: Path, values: tuple[str | int, ...]
) -> None:
    path = tmp_path / "run.sqlite"
    Store(path).close()
    connection = connect(path)
    writer = Writer(connection, path)
    insert = "INSERT INTO debates VALUES (NULL, ?, ?)"
    async with asyncio.timeout(20):
        with pytest.raises(StoreError, match="cannot write the store"):
            await writer.write(insert, [("before", "1"), values])
        await writer.write(insert, [("after", "2")])
    writer.close()
    assert connection.execute("SELECT key FROM debates").fetchall() == [("after",)]
    connection.close()
