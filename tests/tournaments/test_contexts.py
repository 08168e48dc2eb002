"""What a plan finds in the models' contexts, held against debates in which all say as much as they may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from debate.sources import load
from tests.runs import SCRIPTS, assert_refused, debates, hold
from tests.scripts import CONTEXT

LONG = {"min_words": 25, "max_words": 400, "max_tokens": 700}
EQUAL = {"min_words": 70, "max_words": 200, "max_tokens": 400}
SHORT = {"min_words": 25, "max_words": 60, "max_tokens": 200}


def field(first: dict[str, Any], second: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Two free debaters whose speeches have these limits; the first one's model is narrow."""
    players = [
        {"name": "first", "model": f"{SCRIPTS}:narrow_debater", "speech": first},
        {"name": "second", "model": f"{SCRIPTS}:wordy_debater", "speech": second},
    ]
    return {"players": players, "stories": 2, "self_play": None, **changes}


def failures(folder: Path) -> list[str]:
    return [item["debate"]["failed"] for item in debates(folder / "run") if item["debate"]["failed"]]


@pytest.mark.parametrize("protocol", ["simultaneous", "sequential", "interactive", "double_consultancy"])
@pytest.mark.parametrize(("first", "second"), [(EQUAL, EQUAL), (SHORT, LONG), (LONG, SHORT)])
def test_stories_leave_room_for_all_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    monkeypatch.setenv(CONTEXT, "8200")
    source = long_story(tmp_path)
    judge = {"model": f"{SCRIPTS}:asking_judge"}
    changes = field(first, second, protocol={"kind": protocol, "rounds": 4}, judge=judge, **source)
    ended = hold(tmp_path, "--long_stories", "window", **changes)
    assert not failures(tmp_path)
    assert ended.code == 0, ended.err
    held = debates(tmp_path / "run")
    assert held
    assert not any(turn["flaws"] for item in held for turn in item["debate"]["transcript"]["turns"])


def test_a_context_without_room_for_the_others_speeches_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONTEXT, "2600")
    assert_refused(
        hold(tmp_path, "--long_stories", "window", **field(SHORT, LONG, protocol={"rounds": 3})),
        "player 'first': its model's context of 2600 tokens leaves no room",
        "3 rounds of up to 60 and 400 words",
    )


@pytest.mark.parametrize(
    ("context", "kind", "self_play", "refused"),
    [
        (1500, "letter", None, False),
        (1500, "letter", {"fold": "validation", "stories": 1}, True),  # the one of 400 words against itself
        (1500, "reason", None, True),  # 512 tokens for its reply
        (1000, "letter", None, True),
    ],
)
def test_a_judge_has_room_for_every_debate_or_the_tournament_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: int, kind: str, self_play: Any, *, refused: bool
) -> None:
    monkeypatch.setenv(CONTEXT, str(context))
    changes = field(SHORT, LONG, protocol={"rounds": 1}, judge={"model": f"{SCRIPTS}:narrow_judge", "kind": kind})
    changes["players"][0]["model"] = f"{SCRIPTS}:wordy_debater"
    ended = hold(tmp_path, **changes | {"self_play": self_play})
    if refused:
        assert_refused(ended, f"judge '{SCRIPTS}:narrow_judge ({kind})': 1 rounds", f"context of {context}")
    else:
        assert ended.code == 0, ended.err
        assert not failures(tmp_path)


def test_a_judge_that_is_to_read_a_story_has_room_for_it_or_the_story_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = field(SHORT, SHORT, baselines=["expert"], judge={"model": f"{SCRIPTS}:narrow_judge"})
    changes["players"][0]["model"] = f"{SCRIPTS}:wordy_debater"
    monkeypatch.setenv(CONTEXT, "900")
    changes["protocol"] = {"rounds": 1}
    ended = hold(tmp_path, **changes)
    assert_refused(ended, "baseline expert: 2 stories exceed the", "leave the baseline out")
    monkeypatch.setenv(CONTEXT, "20000")
    assert hold(tmp_path, **changes).code == 0
    named = {item["debate"]["transcript"]["question"]["story_id"] for item in debates(tmp_path / "run")}
    assert all(story in ended.err for story in named)


@pytest.mark.parametrize(("kind", "enough"), [("interactive", 3600), ("double_consultancy", 2200)])
def test_a_judge_that_speaks_has_room_for_what_it_has_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, enough: int
) -> None:
    protocol = {"kind": kind, "rounds": 3, "questioner": {"model": f"{SCRIPTS}:narrow_judge"}}
    changes = field(LONG, LONG, protocol=protocol)
    changes["players"][0]["model"] = f"{SCRIPTS}:wordy_debater"
    monkeypatch.setenv(CONTEXT, "1500")
    assert_refused(hold(tmp_path, **changes), "protocol.questioner", "context of 1500", "protocol.questioner.model")
    monkeypatch.setenv(CONTEXT, str(2 * enough))
    assert hold(tmp_path, **changes).code == 0
    assert not failures(tmp_path)


def long_story(folder: Path) -> dict[str, Any]:
    """One long story, so that a window of it takes all the room that there is."""
    story = "\n\n".join(dict.fromkeys(question.story or "" for question in load("shipped:stories")))
    row = {"question": "Who is it about?", "answers": ["The keeper.", "The pilot."], "gold": 0, "story": story}
    (folder / "own.jsonl").write_text(json.dumps(row), encoding="utf-8")
    return {"source": f"questions:{folder / 'own.jsonl'}", "fold": None}


REFINE = {"kind": "critique_refine", "critiques": 8}
NARROW = {"model": f"{SCRIPTS}:narrow_judge"}


@pytest.mark.parametrize(
    ("model", "optimizer"),
    [
        ("narrow_debater", REFINE),
        ("narrow_debater", [{"kind": "best_of_n", "n": 2}, {**REFINE, "critiques": 1}]),
        ("wordy_debater", {**REFINE, "critic": f"{SCRIPTS}:narrow_debater"}),
        ("wordy_debater", {**REFINE, "preference": NARROW}),
    ],
    ids=["own", "best of 2 first", "critic", "chooser"],
)
@pytest.mark.parametrize("protocol", ["simultaneous", "interactive"])
def test_stories_leave_room_for_critiques_and_refinements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, model: str, optimizer: Any
) -> None:
    monkeypatch.setenv(CONTEXT, "6000")
    changes = field(SHORT, SHORT, protocol={"kind": protocol, "rounds": 3}, **long_story(tmp_path))
    changes["players"][0] |= {"model": f"{SCRIPTS}:{model}", "optimizer": optimizer}
    changes["judge"] = {"model": f"{SCRIPTS}:asking_judge"}
    assert_refused(hold(tmp_path, **changes), "'first': 1 stories exceed", "long_stories: window")
    ended = hold(tmp_path, "--long_stories", "window", **changes)
    assert not failures(tmp_path)
    assert ended.code == 0, ended.err


def test_a_critic_reads_the_story_even_where_the_player_reads_sentence_by_sentence(tmp_path: Path) -> None:
    player = {"name": "first", "kind": "evidence_first", "model": f"{SCRIPTS}:short_debater"}
    changes = field(SHORT, SHORT, protocol={"rounds": 1}, **long_story(tmp_path))
    changes["players"][0] = player
    assert hold(tmp_path, "--dry-run", **changes).code == 0
    changes["players"][0] = player | {"optimizer": REFINE}
    assert_refused(hold(tmp_path, "--dry-run", **changes), "'first': 1 stories exceed", "long_stories: window")


def test_no_room_beside_critiques_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTEXT, "2500")
    changes = field(SHORT, SHORT, protocol={"rounds": 1})
    changes["players"][0] |= {"model": f"{SCRIPTS}:wordy_debater", "optimizer": {**REFINE, "critiques": 20}}
    changes["players"][0]["optimizer"]["preference"] = NARROW
    assert_refused(hold(tmp_path, **changes), "'first'", "context of 2500", "its critiques")


def test_a_preference_model_has_room_for_every_debate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTEXT, "1000")
    changes = field(SHORT, LONG, protocol={"rounds": 1})
    optimizer = {"kind": "best_of_n", "n": 2, "preference": NARROW}
    changes["players"][0] |= {"model": f"{SCRIPTS}:wordy_debater", "optimizer": optimizer}
    assert_refused(hold(tmp_path, **changes), f"judge '{SCRIPTS}:narrow_judge (letter)': 1 rounds", "context of 1000")
