"""Debates of several sources brought together, and chosen from."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from debate.errors import SourceError, StoreError
from debate.question import Question
from debate.quotes import Argument
from debate.record import Debate, Recorded
from debate.transcript import Transcript, Turn
from debate.verdict import Verdict
from tournaments.cast import CAST, Cast, Member, cast_of
from tournaments.gather import SOURCE, Source, choose_debates, gather

ALICE = Member({"kind": "free"})


def item(
    name: str,
    *,
    story: str = "s",
    words: str = "Plain.",
    players: tuple[str | None, str | None] = ("a", "b"),
    **more: Any,
) -> Recorded:
    """A debate with one verdict of judge j."""
    question = Question(f"q-{story}", "Who?", ("He.", "She."), 0, story * 3, story, "test", "debater")
    transcript = Transcript(question, (0, 1), (Turn(1, "debater", 0, Argument((words,))),))
    return Recorded(Debate(name, "simultaneous", transcript, players, **more), (verdict("j"),))


def verdict(judge: str) -> Verdict:
    return Verdict(judge, (0, 1), (0.75, 0.25))


def source(name: str, *items: Recorded, players: dict[str, Member] | None = None) -> Source:
    return Source(name, items, Cast(players or {}))


def ids(items: Sequence[Recorded]) -> list[str]:
    return [one.debate.id for one in items]


def test_the_same_debate_counts_once_with_all_verdicts_and_others_keep_apart() -> None:
    again = dataclasses.replace(item("other id"), verdicts=(verdict("j"), verdict("k")))
    other = item("1", words="Quite plain.")
    found = gather([source("one", item("1"), item("2", words="Other.")), source("two", again, other)])
    assert ids(found.recorded) == ["1", "2", "two | 1"]
    assert [one.judge for one in found.recorded[0].verdicts] == ["j", "k"]
    assert [one.debate.tags[SOURCE] for one in found.recorded] == ["one", "one", "two"]
    assert found.notes == ("1 debates are in several sources; each counts once, with the verdicts of all of them.",)


def test_what_one_source_repeats_stays_repeated() -> None:
    found = gather([source("one", item("1"), item("2")), source("two", item("3", story="t"))])
    assert ids(found.recorded) == ["1", "2", "3"]


def asked(item: Recorded) -> tuple[str, str]:
    question = item.debate.transcript.question
    return question.id, question.story_id


def about(item: Recorded, **changes: Any) -> Recorded:
    """The same debate on a question that differs."""
    transcript = item.debate.transcript
    question = dataclasses.replace(transcript.question, **changes)
    transcript = dataclasses.replace(transcript, question=question)
    return dataclasses.replace(item, debate=dataclasses.replace(item.debate, transcript=transcript))


def test_ids_of_other_questions_and_stories_bear_their_sources_name() -> None:
    text = " ".join(f"word{n}" for n in range(200))
    first = about(item("1"), story=text)
    other_edition = about(item("2"), story=text + " The end.", text="Why?")
    unrelated = about(item("3"), story=text[::-1])
    other_gold = about(first, gold=1)
    found = gather([source("one", first), source("two", other_edition, unrelated), source("three", other_gold, first)])
    assert [asked(one) for one in found.recorded] == [
        ("q-s", "s"),
        ("two | q-s", "s"),  # the same story, with two words more
        (f"two | q-s | {asked(found.recorded[2])[0].rpartition(' ')[2]}", "two | s"),
        ("three | q-s", "s"),
    ]
    two, three, stories, _ = found.notes
    apart = "have ids that stand for other questions too, so they are named apart, such as"
    assert two == f"2 questions of two {apart} 'two | q-s'."
    assert three == f"1 questions of three {apart} 'three | q-s'."
    assert stories == f"1 stories of two {apart.replace('questions', 'stories')} 'two | s'."
    # Brought together again, in any order, what is the same is called alike.
    again = gather([source("all", *found.recorded), source("two", other_edition, unrelated)])
    assert [asked(one) for one in again.recorded] == [asked(one) for one in found.recorded]
    turned = gather([source("two", other_edition, unrelated), source("all", *found.recorded)])
    assert len(turned.recorded) == 4
    assert len({asked(one)[0] for one in turned.recorded}) == 4
    assert len({asked(one)[1] for one in turned.recorded}) == 2


def test_a_story_without_a_text_is_its_id() -> None:
    one, two = about(item("1"), story=None), about(item("2"), story=None, text="Why?")
    found = gather([source("one", one), source("two", two)])
    assert [asked(one) for one in found.recorded] == [("q-s", "s"), ("two | q-s", "s")]


def test_what_one_source_has_under_two_ids_stays_two() -> None:
    items = [item("1"), about(item("2"), id="other", story_id="t")]
    found = gather([source("one", *items), source("two", *items)])
    assert [asked(one) for one in found.recorded] == [("q-s", "s"), ("other", "t")]


def test_failed_debates_are_left_out() -> None:
    found = gather([source("one", item("1"), item("2", failed="no server"))])
    assert ids(found.recorded) == ["1"]
    assert found.notes == ("1 debates that were never finished are left out.",)
    with pytest.raises(SourceError, match="no finished debate"):
        gather([source("one", item("2", failed="no server"))])


def test_players_of_one_name_are_one_if_configured_alike() -> None:
    other = Member({"kind": "extractive"})
    sources = [
        source("one", item("1"), players={"a": ALICE, "b": ALICE}),
        source("two", item("2", story="t"), players={"a": ALICE, "b": other}),
        source("three", item("3", story="u"), players={"a": ALICE, "b": ALICE}),
        source("four", item("4", story="v")),  # says nothing of its players
    ]
    found = gather(sources)
    assert [one.debate.players for one in found.recorded] == [
        ("a (one)", "b (one)"),
        ("a (one)", "b (two)"),
        ("a (one)", "b (one)"),
        ("a (four)", "b (four)"),
    ]
    assert found.cast.players == {"a (one)": ALICE, "b (one)": ALICE, "b (two)": other}
    assert "b (one) and b (two) and b (four)" in " ".join(found.notes)
    assert [one.debate.players for one in gather(sources[:1]).recorded] == [("a", "b")]


def test_members_are_one_if_all_that_both_know_is_alike() -> None:
    known = Member({"kind": "free"}, "w1", {"debater_free": "1", "debater_reply": "2"})
    assert known.same(Member({"kind": "free"}, "w1", {"debater_free": "1", "debater_new": "3"}))
    assert known.same(Member({"kind": "free"}, None, {}))
    assert not known.same(Member({"kind": "free"}, "w2"))
    assert not known.same(Member({"kind": "free"}, "w1", {"debater_free": "9"}))
    assert not known.same(Member({"kind": "free", "quotes": 2}, "w1"))


def config(folder: Path, **changes: Any) -> Path:
    """A run's folder with its configuration alone."""
    folder.mkdir()
    tree = {
        "players": [{"name": "a", "model": "openai/x"}, {"name": "b", "kind": "extractive"}],
        "speech": {"max_words": 90},
        "judge": {"model": "openai/y", "votes": 3},
        "provenance": {"prompts": {"debater_free": "1", "judge_letter": "2"}},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(tree | changes), encoding="utf-8")
    return folder


def test_a_cast_is_what_the_configuration_says(tmp_path: Path) -> None:
    cast = cast_of(config(tmp_path / "one"))
    assert set(cast.players) == {"a", "b"}
    assert set(cast.judges) == {"openai/y (letter)", "openai/y (letter) by vote of 3"}
    assert cast.players["a"].prompts == {"debater_free": "1"}
    assert cast.judges["openai/y (letter)"].prompts == {"judge_letter": "2"}
    assert cast.players["b"].prompts == {}  # it has no model to prompt
    # Where a model is served makes no other player; a limit or its weights do.
    served = [{"name": "a", "model": {"name": "openai/x", "base_url": "http://localhost:8000/v1"}}]
    assert cast_of(config(tmp_path / "two", players=served)).players["a"].same(cast.players["a"])
    hotter = cast_of(config(tmp_path / "three", speech={"max_words": 90, "temperature": 1.2})).players
    assert not hotter["a"].same(cast.players["a"])
    assert hotter["b"].same(cast.players["b"])  # it samples nothing
    for name, digest in (("four", "aa:torch:cpu"), ("five", "aa:torch:cuda"), ("six", "bb:torch:cpu")):
        models = json.dumps({"openai/x": {"digest": digest}})
        (config(tmp_path / name) / "models.json").write_text(models, encoding="utf-8")
    four, five, six = (cast_of(tmp_path / name).players["a"] for name in ("four", "five", "six"))
    assert four.same(five)  # the same weights elsewhere
    assert not four.same(six)
    (tmp_path / "one" / CAST).write_text("{", encoding="utf-8")
    with pytest.raises(StoreError, match=r"cannot read .*cast\.json"):
        cast_of(tmp_path / "one")


def test_a_limit_is_spread_over_stories_and_a_larger_one_adds_to_it() -> None:
    items = [item(f"{story}{n}", story=story, players=(f"p{n}", f"r{n}")) for story in "abcd" for n in range(5)]
    silent = Recorded(
        dataclasses.replace(items[0].debate, id="blind", protocol="blind", players=(None, None)), items[0].verdicts
    )
    small = choose_debates([*items, silent], limit=6, seed=3)
    large = choose_debates([*reversed(items), silent], limit=11, seed=3)
    spoken = [one for one in small if one.debate.id != "blind"]
    assert sorted(Counter(one.debate.id[0] for one in spoken).values()) == [1, 1, 2, 2]
    assert "blind" in ids(small)  # a question of the chosen debates
    assert set(ids(small)) < set(ids(large))
    assert ids(choose_debates(items, limit=6, seed=4)) != ids(spoken)
    assert choose_debates(items, limit=99) == items
    assert choose_debates(items, fold="debater") == items


def test_a_limit_draws_both_assignments_of_a_pair_and_of_a_consultant() -> None:
    pairs: list[tuple[str | None, str | None]] = [("a", "b"), ("a", "c"), ("b", "c"), ("a", None), ("b", None)]
    items = [
        item(f"{story} {at} {turned}", story=story, players=pair[::-1] if turned else pair)
        for story in "abc"
        for at, pair in enumerate(pairs)
        for turned in (False, True)
    ]
    for limit in range(1, 30):
        chosen = choose_debates(items, limit=limit, seed=limit)
        assert len(chosen) == limit + limit % 2  # a group is two, and the last is whole
        left = {name.rpartition(" ")[0] for name in ids(chosen)}
        assert len(left) == len(chosen) / 2


def test_tags_choose_and_say_what_there_is() -> None:
    items = [item("1", tags={"setting": "human debate"}), item("2", tags={"setting": "AI debate"}), item("3")]
    assert ids(choose_debates(items, tags={"setting": "AI debate"})) == ["2"]
    with pytest.raises(SourceError, match="value 'x'; its values are: AI debate, human debate, none"):
        choose_debates(items, tags={"setting": "x"})
    with pytest.raises(SourceError, match="none of the 3 debates is on a story of fold 'test'; folds are debater"):
        choose_debates(items, fold="test")
