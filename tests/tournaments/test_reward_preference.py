"""Reward models as preferences of optimizers, in the commands: planned, kept, resumed, refused where they cannot be."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.commands import call
from tests.runs import SCRIPTS, Ended, assert_refused, cells, debates, hold, metrics, swiss, tournament, write
from tests.tiny import save_adapter, save_model, save_reward
from tournaments.compare_optimizers import COMMAND as COMPARE
from tournaments.optimizing import OptimizerConfig

REWARD = {"kind": "reward", "model": f"{SCRIPTS}:reward"}


def optimized(**optimizer: Any) -> dict[str, Any]:
    """A small tournament in which one player has an optimizer."""
    likes = {"kind": "best_of_n", "n": 3, "preference": REWARD} | optimizer
    players = [
        {"name": "first", "model": f"{SCRIPTS}:rising_debater", "optimizer": likes},
        {"name": "second", "kind": "extractive"},
    ]
    return {"players": players, "stories": 2, "rounds": 1, "self_play": None}


def refusing(folder: Path, **changes: Any) -> Ended:
    return swiss("--config", write(folder / "c.yaml", tournament(**changes)), "--output", folder / "run")


@pytest.mark.parametrize("kind", ["simultaneous", "sequential"])
@pytest.mark.parametrize(
    "optimizer", [{}, {"kind": "critique_refine", "n": None, "critiques": 3}], ids=["best", "refine"]
)
def test_a_plan_counts_one_score_a_candidate(tmp_path: Path, kind: str, optimizer: dict[str, Any]) -> None:
    own = {name: value for name, value in ({"n": 3} | optimizer).items() if value is not None}
    changes = optimized()
    changes["players"][0]["optimizer"] = {"kind": "best_of_n", "preference": REWARD} | own
    changes["protocol"] = {"kind": kind, "rounds": 2}
    plan = swiss("--config", write(tmp_path / "c.yaml", tournament(**changes)), "--dry-run")
    assert plan.code == 0, plan.err
    ended = hold(tmp_path, **changes)
    assert ended.code == 0, ended.err
    planned = {row[0]: row[1] for row in cells(plan.out, "Plan: ")}
    assert planned == {row[0]: row[1] for row in cells(ended.out, "Cost")}
    scored = sum(
        one["score"] is not None
        for item in debates(tmp_path / "run")
        for turn in item["debate"]["transcript"]["turns"]
        for one in turn["candidates"]
    )
    assert 0 < int(planned[REWARD["model"]].replace(",", "")) <= scored


def test_the_best_of_n_is_the_best_by_reward_and_scores_are_kept(tmp_path: Path) -> None:
    ended = hold(tmp_path, **optimized())
    assert ended.code == 0, ended.err
    for item in debates(tmp_path / "run"):
        for turn in item["debate"]["transcript"]["turns"]:
            found = [one for one in turn["candidates"] if one["score"] is not None]
            if found:
                said = [one for one in found if one["argument"] == turn["argument"]]
                assert said[0]["score"] == max(one["score"] for one in found)
                assert len(found) == 3
    store = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    rows = store.execute("SELECT operation FROM calls WHERE model = ?", [REWARD["model"]]).fetchall()
    store.close()
    (planned,) = (row[1] for row in cells(ended.out, "Cost") if row[0] == REWARD["model"])
    assert rows == [("score",)] * int(planned)
    again = swiss("--resume", tmp_path / "run")
    assert again.code == 0, again.err
    assert [row[:2] for row in cells(again.out, "Cost")] == [row[:2] for row in cells(ended.out, "Cost")]


def test_a_budget_counts_rewards(tmp_path: Path) -> None:
    ended = hold(tmp_path, **optimized(), budget={"max_calls": 5})
    assert ended.code != 0
    assert "max_calls" in ended.err


def test_optimizers_are_compared_under_a_reward_model_and_a_judge(tmp_path: Path) -> None:
    config = {
        "source": "shipped:stories",
        "fold": "debater",
        "stories": 4,
        "per_story": 2,
        "protocol": {"kind": "simultaneous", "rounds": 1},
        "speech": {"min_words": 25, "max_words": 60, "max_tokens": 200},
        "player": {"name": "smol", "model": f"{SCRIPTS}:rising_debater"},
        "n": [1, 4],
        "critiques": [0, 2],
        "preferences": [REWARD, {"model": f"{SCRIPTS}:counting_judge"}],
        "judges": [{"model": f"{SCRIPTS}:counting_judge"}],
    }
    ended = call(COMPARE, "--config", write(tmp_path / "c.yaml", config), "--output", tmp_path / "run")
    assert ended.code == 0, ended.err
    (found,) = metrics(tmp_path / "run")["judges"].values()
    chosen = found["variants"][f"N=4 by {SCRIPTS}:reward (reward)"]
    assert chosen["the_judge_is"] == "held out"
    assert chosen["win_rate"][0] > 0.9
    refused = call(COMPARE, "--config", write(tmp_path / "c.yaml", config | {"orders": "single"}))
    assert refused.code == 2
    assert "a reward model reads the speech itself" in refused.err


@pytest.mark.parametrize(
    "optimizer",
    [
        {"kind": "best_of_n", "n": 3, "preference": REWARD},
        {"kind": "best_of_n", "n": 3, "opponent": "sampled", "case": "worst"},
        {"kind": "critique_refine", "critiques": 3, "critic": f"{SCRIPTS}:judge"},
        {"kind": "critique_refine", "orders": "single", "rounds": 2},
    ],
)
def test_a_configuration_with_every_key_written_out_is_the_same_one(optimizer: dict[str, Any]) -> None:
    config = OptimizerConfig.model_validate(optimizer)
    assert OptimizerConfig.model_validate(config.model_dump(mode="json")) == config


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"judge": REWARD}, ["judge.kind", "letter, reason, vote"]),
        (optimized(opponent="sampled"), ["reads the speech itself"]),
        (optimized(orders="single"), ["reads the speech itself"]),
        (optimized(preference={"kind": "reward"}), ["needs a model"]),
        (optimized(preference={"kind": "rewards", "model": "x/y"}), ["did you mean 'reward'"]),
        (optimized(preference={"kind": "reward", "model": "openai/gpt-4.1-mini"}), ["behind a server"]),
        (optimized(preference={"kind": "reward", "model": "embedded/smollm2-135m"}), ["model.adapter"]),
        (optimized(preference={"kind": "reward", "model": f"{SCRIPTS}:judge"}), ["is no reward model"]),
        (optimized(preference={"kind": "letter", "model": f"{SCRIPTS}:reward"}), ["neither speaks nor judges"]),
        ({"judge": {"model": f"{SCRIPTS}:reward"}}, ["neither speaks nor judges"]),
        (
            {"players": [{"name": "a", "model": f"{SCRIPTS}:reward"}, {"name": "b", "kind": "extractive"}]},
            ["neither speaks nor judges"],
        ),
    ],
)
def test_what_makes_no_sense_gets_one_clear_line(tmp_path: Path, changes: dict[str, Any], words: list[str]) -> None:
    assert_refused(refusing(tmp_path, **changes), *words)
    assert not (tmp_path / "run").exists()


def test_adapters_are_told_apart_before_there_is_a_run(tmp_path: Path) -> None:
    base = save_model(tmp_path / "base", context=4096)
    save_reward(base, tmp_path / "likes")
    save_adapter(base, tmp_path / "judge")

    def model(adapter: str) -> dict[str, object]:
        return {"name": f"hf/{base}", "adapter": str(tmp_path / adapter), "device": "cpu"}

    for changes, words in (
        (optimized(preference={"kind": "reward", "model": model("judge")}), ["base+judge is no reward model"]),
        ({"judge": {"model": model("likes")}}, ["base+likes is a reward model"]),
        (optimized(preference={"kind": "reward", "model": model("nowhere")}), ["nowhere", "missing"]),
    ):
        assert_refused(refusing(tmp_path, **changes), *words)
        assert not (tmp_path / "run").exists()


def test_a_tournament_with_a_reward_model_of_real_weights(tmp_path: Path) -> None:
    base = save_model(tmp_path / "base", context=4096)
    save_reward(base, tmp_path / "likes", seed=3)
    model = {"name": f"hf/{base}", "adapter": str(tmp_path / "likes"), "device": "cpu", "dtype": "float32"}
    ended = hold(tmp_path, **optimized(preference={"kind": "reward", "model": model}))
    assert ended.code == 0, ended.err
    scores = [
        one["score"]
        for item in debates(tmp_path / "run")
        for turn in item["debate"]["transcript"]["turns"]
        for one in turn["candidates"]
        if one["score"] is not None
    ]
    assert len(set(scores)) > 3
    assert all(math.isfinite(score) and abs(score) <= 10 for score in scores)
