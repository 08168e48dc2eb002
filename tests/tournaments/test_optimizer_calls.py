"""What optimizers take, counted for one speech."""

from __future__ import annotations

from typing import Any

import pytest

from debate.agents.judge import JudgeConfig
from debate.models.load import ModelConfig
from tests.runs import SCRIPTS
from tournaments.optimizer_calls import Reply, need
from tournaments.players import PlayerConfig

JUDGE = JudgeConfig(model=ModelConfig(name=f"{SCRIPTS}:judge"))
SAMPLED = {"opponent": "sampled", "replies": 3}


def player(*optimizer: dict[str, Any]) -> PlayerConfig:
    tree = {"name": "p", "model": f"{SCRIPTS}:debater", "optimizer": list(optimizer)}
    return PlayerConfig.model_validate(tree)


@pytest.mark.parametrize(
    ("critic", "choices"), [(None, 2), (f"{SCRIPTS}:judge", 2), (f"{SCRIPTS}:words_only_judge", 1)]
)
def test_where_the_preference_has_no_model_the_critics_chooses(critic: str | None, choices: int) -> None:
    own = {"kind": "tests.judged:any"}
    optimizer = {"kind": "critique_refine", "critiques": 3, "preference": own, "critic": critic}
    ((model, count),) = need(player(optimizer), judge=JUDGE).choices
    assert (None if model is None else model.name, count) == (critic, choices)


@pytest.mark.parametrize(("reply", "replies", "verdicts"), [("alike", 3, 6), ("each", 12, 6), ("none", 0, 2)])
def test_replies_by_who_has_heard_what(reply: Reply, replies: int, verdicts: int) -> None:
    found = need(player({"kind": "best_of_n", "n": 4, **SAMPLED}), judge=JUDGE, reply=reply)
    assert (found.samples, found.replies, found.scores) == (4, replies, ((JUDGE, 4 * verdicts),))


def test_what_two_optimizers_score_alike_is_scored_once() -> None:
    best, refine = {"kind": "best_of_n", "n": 4, **SAMPLED}, {"kind": "critique_refine", **SAMPLED}
    for other in ({}, {"case": "worst"}, {"preference": JUDGE.model_dump()}):
        found = need(player(best, refine | other), judge=JUDGE)
        assert (found.replies, sum(count for _, count in found.scores)) == (3, (4 + 1) * 6)
    found = need(player(best, refine | {"replies": 2}), judge=JUDGE)
    assert (found.replies, sum(count for _, count in found.scores)) == (3, 4 * 6 + 2 * 4)
