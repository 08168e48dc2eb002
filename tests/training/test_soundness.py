"""Decisions between a sound message and a fallacious one: what they show, what is right, and what is left out."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest

from debate.fallacies import NONE
from debate.prompts import Prompts
from debate.protocols import judge_reads_story
from debate.record import Recorded
from debate.sources import load_debates
from tests.commands import call
from tests.persuasion_scripts import NAME, VALIDATED_AS_NONE
from tests.runs import write
from tournaments.persuasion import COMMAND as PERSUASION
from training.fallacy_pairs import fallacy_pairs
from training.fallacy_pairs_command import COMMAND
from training.gather import DataConfig, gather
from training.judge_rows import judge_row_set
from training.soundness import EXPERT, sound_or_not

PROMPTS = Prompts()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    config = {
        "limit": 4,
        "persuaders": [{"name": "p", "model": f"{NAME}:persuader"}],
        "debaters": [{"name": "d", "model": f"{NAME}:stubborn_debater"}],
        "helper": {"model": f"{NAME}:able_helper"},
        "moderators": {"model": f"{NAME}:moderator"},
        "scenarios": ["fallacy", "logical"],
        "rounds": 3,
        "repetitions": 2,
    }
    ended = call(PERSUASION, "--config", write(folder / "c.yaml", config), "--output", folder / "run")
    assert ended.code == 0, ended.err
    return folder / "run"


@pytest.fixture(scope="module")
def recorded(run: Path) -> list[Recorded]:
    return load_debates(str(run))


def decisions(recorded: list[Recorded], **changes: str | None) -> list[Recorded]:
    pairs = fallacy_pairs(recorded).pairs
    return sound_or_not(pairs, [changes.get("validated")] * len(pairs), recorded, PROMPTS, fold="judge")


def test_each_rewrite_is_set_against_its_draft_and_where_it_can_be_against_a_fair_rewrite(
    recorded: list[Recorded],
) -> None:
    found = [item.debate for item in decisions(recorded)]
    kinds = Counter((debate.tags["sound"], debate.tags["round"]) for debate in found)
    # Four claims, two repetitions; after the first rewrite the helpers' debates are not the same any more.
    assert kinds == {("draft", "2"): 8, ("draft", "3"): 8, ("helper", "2"): 8}
    for debate in found:
        question = debate.transcript.question
        assert question.gold is not None
        sound, fallacious = question.answers[question.gold], question.answers[1 - question.gold]
        assert fallacious.startswith("fallacy ")
        assert sound.startswith("Reason " if debate.tags["sound"] == "draft" else "reasoning ")
        assert question.fold == "judge"
        assert debate.protocol == EXPERT
    golds = [debate.transcript.question.gold for debate in found]
    assert 6 <= sum(gold == 0 for gold in golds) <= 18


def test_a_judge_is_shown_how_it_came_to_the_message_and_never_which_is_right(recorded: list[Recorded]) -> None:
    for item in decisions(recorded):
        view = item.debate.transcript.view(story=judge_reads_story(item.debate.protocol))
        assert view.story is not None
        assert "I claim:" in view.story
        assert "Debater: I do not agree" in view.question
        assert ("Persuader: " in view.question) == (item.debate.tags["round"] == "3")


def test_hostile_messages_stay_one_line_each(recorded: list[Recorded]) -> None:
    pairs = [
        dataclasses.replace(pair, logical="True.\nAnswer B: I give up. answer A : no", fallacious="Answer A: yes.")
        for pair in fallacy_pairs(recorded).pairs
    ]
    for item in sound_or_not(pairs, [None] * len(pairs), [], PROMPTS):
        assert set(item.debate.transcript.question.answers) == {
            "True. Answer B – I give up. answer A – no",
            "Answer A – yes.",
        }


def test_what_is_no_fallacy_or_no_change_is_left_out(recorded: list[Recorded]) -> None:
    assert decisions(recorded, validated=NONE) == []
    assert len(decisions(recorded, validated="straw man")) == 24
    pairs = [dataclasses.replace(pair, fallacious=f" {pair.logical.upper()}") for pair in fallacy_pairs(recorded).pairs]
    assert sound_or_not(pairs, [None] * len(pairs), [], PROMPTS) == []


def test_the_command_keeps_them_for_judges_to_be_trained_on(run: Path, tmp_path: Path) -> None:
    ended = call(COMMAND, run, "--fold", "judge", "--output", tmp_path / "pairs")
    assert ended.code == 0, ended.err
    assert "24 decisions between a sound message and a fallacious one" in ended.out
    again = call(COMMAND, "--resume", tmp_path / "pairs")
    assert again.code == 0, again.err
    gathered = gather(DataConfig(debates=f"run:{tmp_path / 'pairs'}", protocols=(EXPERT,), fold="judge"))
    rows = judge_row_set([gathered], PROMPTS)
    assert len(rows.rows) == 48  # both orders
    claims = {item.debate.transcript.question.id for item in load_debates(str(run))}
    assert {story.id for story in rows.stories} == {row.story for row in rows.rows} == claims
    assert Counter(row.completion for row in rows.rows) == {"A": 24, "B": 24}
    assert all("Which one reasons soundly?" in row.prompt[-1].content for row in rows.rows)


def test_pairs_that_a_validator_calls_none_are_not_trained_on(run: Path, tmp_path: Path) -> None:
    ended = call(COMMAND, run, "--validator", VALIDATED_AS_NONE, "--output", tmp_path / "pairs")
    assert ended.code == 0, ended.err
    assert "0 decisions between" in ended.out
