"""The journal of a judge room: what is acknowledged is on the disk, half a line is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from debate.errors import StoreError
from tournaments.room_journal import Asked, Event, Given, Journal, Tagged, last_tags, read_journal

EVENTS: list[Event] = [
    Given("human/ana", 1, 'd "1" | a'),
    Given("human/ana", 2, "d2 | live human/ana", of="d2"),
    Asked("human/ana", "d2 | live human/ana", 2, "Why \u2028 <b>?\nAnd \ud800"),
    Tagged("human/bo", "human/ana", "d1", ("missed_quote", "other"), "note"),
]


async def filled(path: Path) -> None:
    journal = Journal(path)
    for event in EVENTS:
        await journal.add(event)
    journal.close()


async def test_events_come_back(tmp_path: Path) -> None:
    path = tmp_path / "room.jsonl"
    await filled(path)
    read = read_journal(path)
    assert [type(event) for event in read] == [type(event) for event in EVENTS]
    assert [read[0], read[1], read[3]] == [EVENTS[0], EVENTS[1], EVENTS[3]]
    assert isinstance(read[2], Asked)
    assert read[2].text == "Why \u2028 <b>?\nAnd ?"  # no encoding has half of a character
    assert Journal(path).events == read


async def test_half_a_line_at_the_end_is_cut_off_and_the_next_event_stands_on_its_own(tmp_path: Path) -> None:
    path = tmp_path / "room.jsonl"
    await filled(path)
    whole = path.read_bytes()
    for cut in (1, 5, 40):
        path.write_bytes(whole[:-cut])
        assert len(read_journal(path)) == 3
        journal = Journal(path)
        await journal.add(EVENTS[0])
        journal.close()
        assert [type(event) for event in read_journal(path)] == [Given, Given, Asked, Given]


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "room.jsonl"
    assert read_journal(path) == []
    for text in ('{"kind": "given"}\n', "[]\n", '{"kind": "other"}\n', "no json\n", '{"kind": "given", "judge": 3}\n'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(StoreError, match="line 1"):
            read_journal(path)


def test_of_several_tags_of_one_person_on_one_judgement_the_last_counts() -> None:
    first = Tagged("human/bo", "human/ana", "d1", ("other",))
    other = Tagged("human/cy", "human/ana", "d1", ())
    last = Tagged("human/bo", "human/ana", "d1", ("attribution",))
    assert list(last_tags([first, other, last]).values()) == [last, other]
