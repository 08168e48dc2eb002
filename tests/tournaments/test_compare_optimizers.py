"""The command ``python -m tournaments.compare_optimizers`` with scripted models: what it finds and refuses."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from debate.config import parse
from tests.commands import assert_refuses, call
from tests.runs import SCRIPTS, Ended, Run, cells, debates, metrics, write
from tournaments.compare_optimizers import COMMAND
from tournaments.config import CompareConfig

LIKES, OTHER = f"{SCRIPTS}:counting_judge (letter)", f"{SCRIPTS}:judge (letter)"
VARIANTS = ["N=1", "N=2", "N=8", "K=2", "N=5, K=2"]


def config(**changes: Any) -> dict[str, Any]:
    """A player whose speeches name a random number of reasons, and a preference model that counts them."""
    return {
        "source": "shipped:stories",
        "fold": "debater",
        "stories": 12,
        "per_story": 2,
        "protocol": {"kind": "simultaneous", "rounds": 1},
        "speech": {"min_words": 25, "max_words": 60, "max_tokens": 200},
        "player": {"name": "smol", "model": f"{SCRIPTS}:refining_debater"},
        "n": [1, 2, 8],
        "critiques": [0, 2],
        "together": [[5, 2]],
        "preferences": [{"model": f"{SCRIPTS}:counting_judge"}],
        "judges": [{"model": f"{SCRIPTS}:counting_judge"}, {"model": f"{SCRIPTS}:judge"}],
        "seed": 1,
    } | changes


def hold(folder: Path, *flags: object, **changes: Any) -> Ended:
    return call(COMMAND, "--config", write(folder / "c.yaml", config(**changes)), "--output", folder / "run", *flags)


def small(**changes: Any) -> dict[str, Any]:
    """Two rounds, and a player whose every sample is better than the one before, so that no two variants agree."""
    player = {"name": "smol", "model": f"{SCRIPTS}:rising_debater"}
    return {"stories": 2, "per_story": 1, "protocol": {"rounds": 2}, "player": player, **changes}


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("compare")
    ended = hold(folder)
    return Run(folder / "run", folder / "c.yaml", ended)


def test_every_variant_debates_the_base_and_itself_on_the_same_questions(held: Run) -> None:
    assert held.ended.code == 0, held.ended.err
    counts = Counter(tuple(item["debate"]["players"]) for item in debates(held.folder))
    wanted = {(name, name): 24 for name in VARIANTS}
    for name in VARIANTS[1:]:
        wanted |= {(name, "N=1"): 24, ("N=1", name): 24}
    assert counts == wanted
    for item in debates(held.folder):
        orders = Counter(verdict["judge"] for verdict in item["verdicts"])
        assert orders == {LIKES: 2, OTHER: 2}


def test_win_rates_before_the_preference_model_are_those_of_the_highest_of_n(held: Run) -> None:
    found = metrics(held.folder)["judges"]
    rates = {name: found[LIKES]["variants"][name]["win_rate"] for name in VARIANTS}
    assert rates["N=1"] is None
    # The highest of N uniform numbers is above another one with probability N / (N + 1); a refinement is one more.
    for name, n in {"N=2": 2, "N=8": 8, "K=2": 2, "N=5, K=2": 6}.items():
        assert rates[name][0] == pytest.approx(n / (n + 1), abs=0.12)
        low, high = rates[name][1:]
        assert low < rates[name][0] < high
        both = [found[LIKES]["variants"][name][f"win_rate_{side}"][0] for side in ("right", "wrong")]
        assert rates[name][0] == pytest.approx(sum(both) / 2)
        # The other judge has no taste, so what it is given does not move it.
        low, high = found[OTHER]["variants"][name]["win_rate"][1:]
        assert low < 0.55
        assert high > 0.45
        assert found[LIKES]["variants"][name]["the_judge_is"] == "matched"
        assert found[OTHER]["variants"][name]["the_judge_is"] == "held out"
    order = [rates[name][0] for name in ("N=2", "N=8")]
    assert order == sorted(order)
    elo = [found[LIKES]["variants"][name][f"elo_{side}"] for side in ("right", "wrong") for name in ("N=1", "N=8")]
    assert elo[0] < elo[1]
    assert elo[2] < elo[3]
    assert found[LIKES]["variants"]["N=1"]["status_right"] == "ok"


def test_the_gap_is_the_difference_of_the_two_win_rates(held: Run) -> None:
    found = metrics(held.folder)
    assert [row["variant"] for row in found["over_optimisation"]] == VARIANTS[1:]
    for row in found["over_optimisation"]:
        assert row["judge"] == OTHER
        rates = [found["judges"][judge]["variants"][row["variant"]]["win_rate"][0] for judge in (LIKES, OTHER)]
        assert row["matched"][0] == pytest.approx(rates[0])
        assert row["held_out"][0] == pytest.approx(rates[1])
        assert row["gap"][0] == pytest.approx(rates[0] - rates[1])


def test_scores_and_self_play_are_those_of_the_debates(held: Run) -> None:
    found = metrics(held.folder)
    scores: dict[str, list[float]] = {name: [] for name in VARIANTS}
    right: dict[str, list[bool]] = {name: [] for name in VARIANTS}
    for item in debates(held.folder):
        players, transcript = item["debate"]["players"], item["debate"]["transcript"]
        if players[0] == players[1]:
            gold = transcript["question"]["gold"]
            mine = [verdict for verdict in item["verdicts"] if verdict["judge"] == LIKES]
            right[players[0]] += [verdict["probabilities"][gold] > 0.5 for verdict in mine]
        for turn in transcript["turns"]:
            name = players[turn["answer"]]
            if (name == "N=1") == (players[0] == players[1]):
                said = [one for one in turn["candidates"] if one["argument"] == turn["argument"]]
                scores[name].append(said[0]["score"])
                assert said[0]["score"] == max(one["score"] for one in turn["candidates"])
    for name in VARIANTS:
        assert found["variants"][name]["preference_score"][0] == pytest.approx(sum(scores[name]) / len(scores[name]))
        accuracy = found["judges"][LIKES]["variants"][name]["self_play_accuracy"][0]
        assert accuracy == pytest.approx(sum(right[name]) / len(right[name]))
    assert scores["N=1"] != scores["N=8"]


def test_what_a_speech_takes(held: Run) -> None:
    found = metrics(held.folder)["variants"]
    # One sample and one verdict in each order for each candidate; K = 2 adds two critiques, two orders of choosing
    # among them, a refinement and its two verdicts.
    assert {name: found[name]["measured"]["calls"] for name in VARIANTS} == {
        "N=1": 1 + 2,
        "N=2": 2 + 4,
        "N=8": 8 + 16,
        "K=2": (1 + 2) + (2 + 2) + (1 + 2),
        "N=5, K=2": (5 + 10) + (2 + 2) + (1 + 2),
    }
    for name in VARIANTS:
        one = found[name]
        assert one["expert_calls"] + one["preference_calls"] == one["measured"]["calls"]
        assert one["speeches"]["verified"] == 1
        assert one["speeches"]["unscored"] == 0
    assert [found[name]["expert_calls"] for name in VARIANTS] == [1, 2, 8, 4, 8]
    assert found["N=8"]["equal_expert_calls"] == ["N=5, K=2"]
    out = [found[name]["measured"]["tokens_out"] for name in ("N=1", "N=2", "N=8")]
    assert out == sorted(out)


def test_variants_share_samples(held: Run) -> None:
    openings: dict[tuple[str, int], dict[str, list[str]]] = {}
    for item in debates(held.folder):
        players, transcript = item["debate"]["players"], item["debate"]["transcript"]
        for turn in transcript["turns"]:
            key = (transcript["question"]["id"], turn["answer"])
            openings.setdefault(key, {})[players[turn["answer"]]] = [one["raw"] for one in turn["candidates"]]
    for drawn in openings.values():
        assert drawn["N=1"] == drawn["N=8"][:1] == drawn["K=2"][:1]
        assert drawn["N=2"] == drawn["N=8"][:2]
        assert set(drawn["N=5, K=2"][:5]) == set(drawn["N=8"][:5])


def test_what_is_printed_and_left(held: Run) -> None:
    out = held.ended.out
    for words in (f"Before {LIKES}", f"Before {OTHER}", "Over-optimisation", "expert calls", "Cost", "in one stream"):
        assert words in out
    assert {"config.yaml", "run.sqlite", "debates.jsonl", "metrics.json", "report.html"} <= {
        path.name for path in held.folder.iterdir()
    }
    assert f"Win rate against N = 1 before {OTHER}" in (held.folder / "report.html").read_text(encoding="utf-8")


PREFERENCES = [{"model": f"{SCRIPTS}:counting_judge"}, {"model": f"{SCRIPTS}:second_counting_judge"}]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n": [1, 2, 4], "critiques": [0, 2, 3], "together": [[2, 2], [4, 3]], "orders": "single"},
        {"preferences": PREFERENCES, "n": [3, 5], "critiques": [], "together": []},
        {"protocol": {"rounds": 1}, "opponent": "sampled", "replies": 2, "critiques": []},
        {"protocol": {"kind": "interactive", "rounds": 2}, "critiques": [2], "judges": [PREFERENCES[1]]},
        {"critic": f"{SCRIPTS}:second_rising_debater", "n": [1]},
        {"protocol": {"kind": "double_consultancy", "rounds": 2}, "judges": [{"model": f"{SCRIPTS}:asking_judge"}]},
    ],
    ids=["default", "more", "two preference models", "sampled", "interactive", "critic", "double consultancy"],
)
def test_a_plan_counts_the_calls_that_are_made(tmp_path: Path, changes: dict[str, Any]) -> None:
    plan = hold(tmp_path, "--dry-run", **small(**changes))
    assert plan.code == 0, plan.err
    assert not (tmp_path / "run").exists()
    ended = hold(tmp_path, **small(**changes))
    assert ended.code == 0, ended.err
    planned = [row[:2] for row in cells(plan.out, "Plan: ")]
    assert planned
    assert planned == [row[:2] for row in cells(ended.out, "Cost")]
    own = sum(len(set(item["debate"]["players"])) == 1 for item in debates(tmp_path / "run"))
    assert f"Plan: {len(debates(tmp_path / 'run')) - own} debates and {own} in self-play\n" in plan.out


def test_a_plan_of_a_sequential_comparison_is_never_less_than_what_is_made(tmp_path: Path) -> None:
    # Variants that answer the same opening of the base share what the plan counts for each.
    changes = small(protocol={"kind": "sequential", "rounds": 2}, opponent="sampled", replies=2, stories=1)
    plan, ended = hold(tmp_path, "--dry-run", **changes), hold(tmp_path, **changes)
    assert ended.code == 0, ended.err
    planned, made = (
        {row[0]: int(row[1].replace(",", "")) for row in cells(table, title)}
        for table, title in ((plan.out, "Plan: "), (ended.out, "Cost"))
    )
    assert planned.keys() == made.keys()
    for model, calls in made.items():
        assert calls <= planned[model] <= 1.2 * calls


def test_two_preference_models_have_bases_that_say_the_same(tmp_path: Path) -> None:
    ended = hold(tmp_path, **small(preferences=PREFERENCES, n=[2], critiques=[], together=[]))
    assert ended.code == 0, ended.err
    found = metrics(tmp_path / "run")
    second = f"by {SCRIPTS}:second_counting_judge (letter)"
    assert list(found["variants"]) == ["N=1", f"N=2 by {LIKES}", f"N=1 {second}", f"N=2 {second}"]
    said = {
        (item["debate"]["players"][0], item["debate"]["transcript"]["question"]["id"]): [
            turn["argument"] for turn in item["debate"]["transcript"]["turns"]
        ]
        for item in debates(tmp_path / "run")
        if len(set(item["debate"]["players"])) == 1
    }
    for (name, question), turns in said.items():
        if name == "N=1":
            assert turns == said[(f"N=1 {second}", question)]
    rows = found["judges"][LIKES]["variants"]
    assert rows[f"N=1 {second}"]["win_rate"] is None
    assert rows[f"N=2 {second}"]["the_judge_is"] == "held out"
    assert rows[f"N=2 by {LIKES}"]["the_judge_is"] == "matched"


def kept(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    connection = sqlite3.connect(folder / "run.sqlite")
    (calls,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    connection.close()
    return debates(folder), metrics(folder), calls


def test_a_stopped_run_goes_on_to_what_an_unstopped_one_finds(tmp_path: Path) -> None:
    whole = hold(tmp_path, **small())
    assert whole.code == 0, whole.err
    stopped = call(COMMAND, "--config", tmp_path / "c.yaml", "--output", tmp_path / "two", "--budget.max_calls", 150)
    assert stopped.code == 2
    assert "max_calls 150 is spent" in stopped.err
    for _ in range(2):  # the second time nothing is left to do
        ended = call(COMMAND, "--resume", tmp_path / "two", "--budget.max_calls", 100_000)
        assert ended.code == 0, ended.err
        assert kept(tmp_path / "two") == kept(tmp_path / "run")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"player": {"name": "x", "kind": "extractive"}}, ["'x' has no model"]),
        ({"n": [1], "critiques": [0], "together": []}, ["nothing beside N = 1"]),
        ({"protocol": {"kind": "consultancy"}}, ["consultancy has one speaker"]),
        ({"judges": [{"model": f"{SCRIPTS}:judge"}] * 2}, ["judge named twice"]),
        ({"preferences": [{"model": f"{SCRIPTS}:judge"}] * 2}, ["preference named twice"]),
        ({"speech": {"temperature": 0}}, ["best of 8 at temperature 0"]),
        ({"player": {**config()["player"], "optimizer": {"kind": "best_of_n"}}}, ["player.optimizer"]),
        ({"together": [[4, 0]]}, ["together.0"]),
        ({"replies": 3}, ["replies and case are for opponent: sampled"]),
    ],
    ids=lambda value: None if isinstance(value, dict) else value[0],
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    tmp_path: Path, changes: dict[str, Any], words: list[str]
) -> None:
    assert_refuses(COMMAND, hold(tmp_path, **changes), *words)
    assert not (tmp_path / "run").exists()


def test_sizes_are_each_there_once_and_the_base_always() -> None:
    tree = config(n=[4, 2, 4], critiques=[8, 0, 2], together=[[4, 2], [4, 2]])
    found = parse(CompareConfig, tree, where="t")
    assert found.sizes == [(1, 0), (2, 0), (4, 0), (1, 2), (1, 8), (4, 2)]
    assert {variant.player.name for variant in found.variants} == {"smol"}


def test_a_player_whose_model_fails_is_said_to(tmp_path: Path) -> None:
    player = {"name": "smol", "model": f"{SCRIPTS}:broken"}
    ended = hold(tmp_path, player=player, stories=1, critiques=[], together=[])
    assert ended.code == 2
    assert "no debate has a verdict" in ended.err
    assert "the scripted model always fails" in ended.err
    assert len(debates(tmp_path / "run")) == 2 * 2 * 2 + 3 * 2
