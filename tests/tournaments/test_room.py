"""A judge room without its pages: names, who is given what, in which order, and what a judgement becomes."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path

import pytest

from debate.errors import ConfigError
from debate.record import read_records
from debate.verdict import Verdict
from tests.rooms import WHY, Opened, debate, debates
from tournaments.room import STEPS, Ballot, JudgedAlreadyError, judge_of


@pytest.mark.parametrize(
    ("name", "judge"),
    [
        ("Ann", "human/ann"),
        ("  Ann \t Lee ", "human/ann lee"),
        ("ＡＮＮ", "human/ann"),
        ("Zoë O'Neil-7", "human/zoë o'neil-7"),
        ("नेहा", "human/नेहा"),  # signs for vowels are no letters to regular expressions
        ("İpek", "human/i\u0307pek"),
    ],
)
def test_a_person_is_a_judge_of_its_name(name: str, judge: str) -> None:
    assert judge_of(name) == judge


@pytest.mark.parametrize(
    "name", ["", " ", "a" * 41, "<b>", "a|b", "a/b", "-a", "a\nb\x00", "as published\x1b", "{{a}}", "_a", "\u0301a"]
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="choose"):
        judge_of(name)


def test_confidence_goes_in_steps_of_five_without_one_half() -> None:
    assert STEPS[0] == 95
    assert STEPS[-1] == 5
    assert len(STEPS) == 18
    assert 50 not in STEPS


async def test_a_judgement_is_a_verdict_in_the_frame_of_the_question(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates(12))
    room = opened.room
    found = {}
    while (given := await room.next_for("human/ann")) is not None:
        found[given.debate] = await room.judge("human/ann", given.debate, Ballot(80, WHY))
    assert len(found) == 12
    orders = Counter(verdict.order for verdict in found.values())
    assert set(orders) == {(0, 1), (1, 0)}
    for verdict in found.values():
        assert verdict.probabilities == ((0.8, 0.2) if verdict.order == (0, 1) else (0.2, 0.8))
        assert (verdict.judge, verdict.reasoning, verdict.round) == ("human/ann", WHY, None)
    kept = {item.debate.id: item.verdicts for item in read_records(opened.store)}
    assert {key: (verdict,) for key, verdict in found.items()} == kept
    # Another person sees other orders.
    assert any(room.order("human/bob", key) != verdict.order for key, verdict in found.items())
    opened.close()


async def test_a_debate_is_judged_once_and_the_same_sent_twice_is_one(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates())
    given = await opened.room.next_for("human/ann")
    assert given is not None
    first = await opened.room.judge("human/ann", given.debate, Ballot(80, WHY))
    assert await opened.room.judge("human/ann", given.debate, Ballot(80, WHY)) == first
    for other in (Ballot(20, WHY), Ballot(80, f"{WHY} No.")):
        with pytest.raises(JudgedAlreadyError):
            await opened.room.judge("human/ann", given.debate, other)
    with pytest.raises(JudgedAlreadyError):
        await opened.room.judge("human/ann", given.debate, Ballot(80, WHY), round_=1)
    assert len(list(opened.store.rows("verdicts"))) == 1
    opened.close()


async def test_a_room_that_is_opened_again_knows_all_and_goes_on(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates())
    one = await opened.room.next_for("human/ann")
    assert one is not None
    await opened.room.judge("human/ann", one.debate, Ballot(80, WHY))
    two = await opened.room.next_for("human/ann")
    assert two is not None
    await opened.room.judge("human/ann", two.debate, Ballot(35, ""), round_=1)
    opened.close()
    again = await Opened.begin(tmp_path, debates())
    assert await again.room.next_for("human/ann") == two
    assert again.room.given("human/ann", 1) == one
    assert again.room.final("human/ann", one.debate) is not None
    assert [belief.round for belief in again.room.beliefs("human/ann", two.debate).values()] == [1]
    with pytest.raises(JudgedAlreadyError):
        await again.room.judge("human/ann", one.debate, Ballot(75, WHY))
    again.close()


async def test_a_belief_is_kept_beside_the_judgement(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates(1))
    given = await opened.room.next_for("human/ann")
    assert given is not None
    for round_, share in ((1, 35), (2, 65)):
        await opened.room.judge("human/ann", given.debate, Ballot(share, ""), round_=round_)
    final = await opened.room.judge("human/ann", given.debate, Ballot(90, WHY))
    (item,) = read_records(opened.store)
    assert [verdict.round for verdict in item.verdicts] == [1, 2, None]
    assert item.verdicts[-1] == final
    opened.close()


async def test_a_person_gets_one_debate_on_a_question_unless_the_room_repeats_them(tmp_path: Path) -> None:
    recorded = [debate(number, question=number // 2) for number in range(6)]
    for repeat, count in ((False, 3), (True, 6)):
        folder = tmp_path / str(repeat)
        folder.mkdir()
        opened = await Opened.begin(folder, recorded, repeat=repeat)
        got = []
        while (given := await opened.room.next_for("human/ann")) is not None:
            got.append(given.debate)
            await opened.room.judge("human/ann", given.debate, Ballot(80, WHY))
        assert len(set(got)) == count
        opened.close()


async def test_the_same_question_with_another_id_and_wrong_answer_is_not_given_again(tmp_path: Path) -> None:
    first, second = debates(1)[0], debates(1)[0].debate
    question = dataclasses.replace(second.transcript.question, id="other", answers=("Ana0.", "Somebody else."))
    second = dataclasses.replace(second, id="d9", transcript=dataclasses.replace(second.transcript, question=question))
    # What is told of one would give away the other.
    opened = await Opened.begin(tmp_path, [first, dataclasses.replace(first, debate=second)], feedback=True)
    given = await opened.room.next_for("human/ann")
    assert given is not None
    await opened.room.judge("human/ann", given.debate, Ballot(80, WHY))
    assert await opened.room.next_for("human/ann") is None
    opened.close()


async def test_debates_are_filled_before_others_are_begun(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates(6), people=2)
    counts: Counter[str] = Counter()
    for person in ("human/a", "human/b", "human/c", "human/d"):
        for _ in range(3):
            given = await opened.room.next_for(person)
            assert given is not None
            counts[given.debate] += 1
            await opened.room.judge(person, given.debate, Ballot(80, WHY))
    assert sorted(counts.values()) == [2] * 6
    opened.close()


async def test_what_is_open_stays_open_and_is_skipped_where_it_cannot_be_judged(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates(2))
    first = await opened.room.next_for("human/ann")
    assert first is not None
    assert await opened.room.next_for("human/ann") == first
    second = await opened.room.next_for("human/ann", skip=frozenset({first.debate}))
    assert second is not None
    assert (second.number, second.debate != first.debate) == (2, True)
    opened.close()


async def test_questions_without_a_debate_are_given_only_where_asked_for_and_never_with_the_story(
    tmp_path: Path,
) -> None:
    def silent(name: str) -> object:
        item = debate(7, rounds=0)
        held = dataclasses.replace(item.debate, id=name, protocol=name, players=(None, None))
        return dataclasses.replace(item, debate=held)

    recorded = [silent("blind"), silent("expert"), debate(1)]
    for blind, size in ((False, 1), (True, 2)):
        folder = tmp_path / str(blind)
        folder.mkdir()
        opened = await Opened.begin(folder, recorded, blind=blind)  # type: ignore[arg-type]
        assert opened.room.size == size
        opened.close()


async def test_judgements_that_came_with_the_debates_count(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates(1))
    verdict = Verdict("human/ann", (1, 0), (0.2, 0.8), reasoning="before")
    key = "kept from another room"
    await opened.store.put("verdicts", f"{debates(1)[0].debate.id.replace('|', chr(92) + '|')} | {key}", json.dumps({
        "judge": verdict.judge, "order": [1, 0], "probabilities": [0.2, 0.8], "reasoning": "before",
    }))  # fmt: skip
    opened.close()
    again = await Opened.begin(tmp_path, debates(1))
    assert await again.room.next_for("human/ann") is None
    assert await again.room.next_for("human/bob") is not None
    again.close()


def test_feedback_and_repeats_are_refused_together(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="gives away"):
        Opened.of(tmp_path, [], feedback=True, repeat=True)
