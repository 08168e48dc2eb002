"""The plan of a Swiss tournament, held against what the tournament then does."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.runs import (
    EXTRACTIVE,
    SCRIPTS,
    Ended,
    assert_refused,
    cells,
    debates,
    hold,
    metrics,
    swiss,
    tournament,
    write,
)
from tests.servers import ChatServer, chat_server_fixture
from tournaments.calls import Calls
from tournaments.plan import Plan

__all__ = ["chat_server_fixture"]  # pytest finds the fixture `chat_server` by this import


def plan_and_run(folder: Path, **changes: Any) -> tuple[list[list[str]], Ended]:
    """Print the plan, hold the tournament, and hold that debates, and calls of each model, are as planned."""
    config = write(folder / "config.yaml", tournament(**changes))
    plan = swiss("--config", config, "--output", folder / "run", "--dry-run")
    assert plan.code == 0, plan.err
    assert not (folder / "run").exists()
    ended = swiss("--config", config, "--output", folder / "run")
    assert ended.code == 0, ended.err
    planned = [[row[0], row[1]] for row in cells(plan.out, "Plan: ")]
    assert planned
    assert planned == [[row[0], row[1]] for row in cells(ended.out, "Cost")]
    held = debates(folder / "run")
    silent = sum(item["debate"]["players"] == [None, None] for item in held)
    own = sum(len(set(item["debate"]["players"])) == 1 for item in held) - silent
    counts = [f"{len(held) - own - silent} debates"]
    counts += [f"{own} in self-play"] if own else []
    counts += [f"{silent} questions without a debate"] if silent else []
    assert f"Plan: {' and '.join(counts)}\n" in plan.out
    return planned, ended


def test_a_plan_counts_the_debates_and_calls_that_are_made(tmp_path: Path) -> None:
    plan_and_run(tmp_path)


def test_a_plan_of_a_sequential_tournament(tmp_path: Path) -> None:
    plan_and_run(tmp_path, protocol={"kind": "sequential", "rounds": 2}, stories=2)
    seatings = Counter(
        (*item["debate"]["players"], *item["debate"]["transcript"]["seats"]) for item in debates(tmp_path / "run")
    )
    # Two questions a match; of self-play questions there are two, too.
    assert set(seatings.values()) == {2}
    assert len(seatings) == 2 * (5 * 4 + 5)
    for item in debates(tmp_path / "run"):
        transcript = item["debate"]["transcript"]
        assert [turn["answer"] for turn in transcript["turns"]] == transcript["seats"] * 2


@pytest.mark.parametrize("kind", ["interactive", "double_consultancy"])
def test_a_plan_in_which_the_judge_speaks(tmp_path: Path, kind: str) -> None:
    judge = {"model": f"{SCRIPTS}:asking_judge"}
    planned, _ = plan_and_run(tmp_path, protocol={"kind": kind, "rounds": 2}, judge=judge, stories=2)
    assert f"{SCRIPTS}:asking_judge" in dict(planned)
    for item in debates(tmp_path / "run"):
        turns = item["debate"]["transcript"]["turns"]
        asked = [turn for turn in turns if turn["role"] == "judge"]
        assert [turn["round"] for turn in asked] == ([2] if kind == "interactive" else [2, 2])
        assert {turn["to"] for turn in asked} == ({None} if kind == "interactive" else {0, 1})
        assert not any(turn["flaws"] for turn in asked)


def test_a_plan_with_baselines(tmp_path: Path) -> None:
    _, ended = plan_and_run(tmp_path, baselines=["blind", "expert"])
    held = debates(tmp_path / "run")
    silent = [item["debate"] for item in held if item["debate"]["players"] == [None, None]]
    assert sorted(debate["protocol"] for debate in silent) == ["blind"] * 5 + ["expert"] * 5
    assert not any(debate["transcript"]["turns"] for debate in silent)
    assert "PGR" in ended.out
    found = metrics(tmp_path / "run")
    asked: dict[str, set[str]] = {"cross_play": set(), "self_play": set()}
    for item in held:
        players, question = item["debate"]["players"], item["debate"]["transcript"]["question"]["id"]
        if players != [None, None]:
            asked["self_play" if players[0] == players[1] else "cross_play"].add(question)
    for group, questions in asked.items():
        right = Counter(
            item["debate"]["protocol"]
            for item in held
            for question in [item["debate"]["transcript"]["question"]]
            for verdict in item["verdicts"]
            if question["id"] in questions and verdict["probabilities"][question["gold"]] > 0.5
        )
        # Where blind and expert are equally right on these questions there is no gap to recover.
        assert ("pgr" in found[group]) == (right["blind"] != right["expert"])
    accuracy = {name: found[name]["accuracy"][0] for name in ("blind", "expert")}
    by_name = {name: [item for item in held if item["debate"]["protocol"] == name] for name in accuracy}
    for name, items in by_name.items():
        golds = [item["debate"]["transcript"]["question"]["gold"] for item in items]
        hits = [v["probabilities"][g] > 0.5 for item, g in zip(items, golds, strict=True) for v in item["verdicts"]]
        assert accuracy[name] == pytest.approx(sum(hits) / len(hits))


@pytest.mark.parametrize(
    "optimizer",
    [
        {"kind": "best_of_n", "n": 3},
        {"kind": "best_of_n", "n": 3, "orders": "single", "preference": {"model": f"{SCRIPTS}:asking_judge"}},
        {"kind": "best_of_n", "n": 2, "opponent": "sampled", "replies": 2},
        [
            {"kind": "best_of_n", "n": 2, "opponent": "sampled", "replies": 2},
            {"kind": "critique_refine", "opponent": "sampled", "replies": 2, "case": "worst"},
        ],
        {"kind": "critique_refine", "critiques": 1},
        {"kind": "critique_refine", "critiques": 3, "critic": f"{SCRIPTS}:second_debater", "rounds": 2},
        [{"kind": "critique_refine", "critiques": 2}, {"kind": "best_of_n", "n": 2}],
        [{"kind": "best_of_n", "n": 2}, {"kind": "critique_refine", "critiques": 2}],
        [{"kind": "critique_refine"}, {"kind": "best_of_n", "n": 2}, {"kind": "critique_refine"}],
        [{"kind": "best_of_n", "n": 2}, {"kind": "critique_refine", "preference": {"model": f"{SCRIPTS}:judge"}}],
    ],
    ids=lambda optimizer: "+".join(one["kind"] for one in optimizer) if isinstance(optimizer, list) else None,
)
@pytest.mark.parametrize("kind", ["simultaneous", "double_consultancy"])
def test_a_plan_with_optimizers(tmp_path: Path, optimizer: Any, kind: str) -> None:
    players = [
        {"name": name, "model": f"{SCRIPTS}:refining_debater", "optimizer": optimizer} for name in ("one", "two")
    ]
    protocol = {"kind": kind, "rounds": 2, **({"static": True} if kind == "double_consultancy" else {})}
    plan_and_run(tmp_path, players=players, protocol=protocol, stories=2, self_play=None)
    turns = [turn for item in debates(tmp_path / "run") for turn in item["debate"]["transcript"]["turns"]]
    assert not any(turn["flaws"] for turn in turns)
    assert all(any(one["score"] is not None for one in turn["candidates"]) for turn in turns)


@pytest.mark.parametrize("self_play", [None, {"fold": "validation", "stories": 1, "per_story": 1}])
@pytest.mark.parametrize("kinds", [["best_of_n"], ["critique_refine"], ["best_of_n", "critique_refine"]], ids="+".join)
def test_a_plan_of_a_sequential_tournament_with_sampled_replies(
    tmp_path: Path, kinds: list[str], self_play: Any
) -> None:
    # Whoever speaks second in a round samples no replies; whoever speaks first, some to each of its candidates. The
    # preference model is another one than the judge, else the score of the last speech would be the verdict too.
    sampled = {"opponent": "sampled", "replies": 2, "preference": {"model": f"{SCRIPTS}:asking_judge"}}
    optimizer = [{"kind": kind, **({"n": 3} if kind == "best_of_n" else {}), **sampled} for kind in kinds]
    players = [
        {"name": name, "model": f"{SCRIPTS}:refining_debater", "optimizer": optimizer} for name in ("one", "two")
    ]
    protocol = {"kind": "sequential", "rounds": 2}
    plan_and_run(tmp_path, players=players, protocol=protocol, stories=2, self_play=self_play)


def test_a_plan_with_fresh_questions(tmp_path: Path) -> None:
    # With four players nobody rests, so the plan is exact.
    players = tournament()["players"][:4]
    plan_and_run(tmp_path, players=players, questions="fresh", stories=3, per_story=2, self_play=None)
    held = debates(tmp_path / "run")
    # Three rounds of two matches, two questions each, both assignments: no question is met in two rounds.
    assert len(held) == 3 * 2 * 2 * 2
    by_question: dict[str, list[frozenset[str]]] = {}
    for item in held:
        question = item["debate"]["transcript"]["question"]["id"]
        by_question.setdefault(question, []).append(frozenset(item["debate"]["players"]))
    assert len(by_question) == 6
    for pairs in by_question.values():
        assert len(pairs) == 4
        assert len(set(pairs)) == 2
        assert len(frozenset.union(*pairs)) == 4  # nobody is in both matches of a round


def test_twelve_players_meet_in_a_real_swiss_without_rematches(tmp_path: Path) -> None:
    players = [
        {"name": f"p{index}", "model": f"{SCRIPTS}:{'second_' if index % 2 else ''}debater"} for index in range(12)
    ]
    plan_and_run(tmp_path, players=players, stories=2, protocol={"rounds": 1}, self_play=None)
    met = Counter(frozenset(item["debate"]["players"]) for item in debates(tmp_path / "run"))
    # ceil(log2 12) + 2 = 6 rounds of six matches, each of two questions and two assignments.
    assert set(met.values()) == {4}
    assert len(met) == 36
    assert all(sum(f"p{index}" in pair for pair in met) == 6 for index in range(12))


def test_a_plan_prices_what_it_can(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"judge": {"model": {"name": "openai/gpt-4.1-mini", "base_url": "http://own/v1"}}}
    config = write(tmp_path / "a.yaml", tournament(**changes))
    assert "Cost: unknown (no price given)" in swiss("--config", config, "--dry-run").out
    assert_refused(
        swiss("--config", config, "--dry-run", "--budget.max_cost", "1"), "max_cost is 1.0", "openai/gpt-4.1-mini"
    )
    changes["prices"] = {"openai/gpt-4.1-mini": {"input": 0.4, "output": 1.6}}
    priced = swiss("--config", write(tmp_path / "b.yaml", tournament(**changes)), "--dry-run", "--budget.max_cost", "1")
    tokens_in, tokens_out = (
        int(cell.replace(",", "")) for cell in next(row for row in cells(priced.out, "Plan") if "openai" in row[0])[2:]
    )
    assert f"Cost: about ${(0.4 * tokens_in + 1.6 * tokens_out) / 1e6:.2f}" in priced.out


def test_a_plan_of_players_that_cannot_score_and_a_judge_without_log_probabilities(tmp_path: Path) -> None:
    players = [
        {"name": "picking", "kind": "evidence_first", "model": f"{SCRIPTS}:picking_debater", "drafts": 2},
        {"name": "scoring", "kind": "evidence_first", "model": f"{SCRIPTS}:debater"},
        *EXTRACTIVE,
    ]
    planned, ended = plan_and_run(tmp_path, players=players, judge={"model": f"{SCRIPTS}:words_only_judge"})
    assert len(planned) == 3
    assert "becomes a vote of" in ended.out


@pytest.mark.parametrize("n", [True, False])
def test_a_plan_counts_each_letter_that_a_judge_is_held_to(
    chat_server: ChatServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n: bool,  # noqa: FBT001 - parametrized
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", chat_server.api_key)
    able = {"logprobs": False, "structured": True, "n": n}
    model = {"name": "openai/m", "base_url": chat_server.base_url, "capabilities": able}
    planned, _ = plan_and_run(tmp_path, players=EXTRACTIVE, judge={"model": model}, self_play=None, stories=2)
    assert ["openai/m", f"{2 * 16 * len(debates(tmp_path / 'run')):,}"] in planned


def test_a_plan_has_room_for_hidden_reasoning(tmp_path: Path) -> None:
    def tokens_out(**capabilities: bool) -> tuple[int, int]:
        model = {"name": "openai/some-model", "capabilities": {"logprobs": False, **capabilities}}
        config = write(tmp_path / "config.yaml", tournament(judge={"model": model}))
        (row,) = [row for row in cells(swiss("--config", config, "--dry-run").out, "Plan") if "openai" in row[0]]
        return int(row[1].replace(",", "")), int(row[3].replace(",", ""))

    calls, plain = tokens_out(reasoning=False)
    assert tokens_out(reasoning=True) == (calls, plain + 8192 * calls)


def test_stories_over_a_context_are_refused_or_windowed(tmp_path: Path) -> None:
    text = "\n\n".join(f"The keeper counted boat number {index} from his window at dusk." for index in range(400))
    rows = [
        {"question": "How many?", "answers": ["All boats.", "No boats."], "gold": 0, "story": text, "story_id": "long"},
        {"question": "Who?", "answers": ["The keeper.", "The boy."], "gold": 0, "story": text[:1500]},
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    players = [{"name": "short", "model": f"{SCRIPTS}:short_debater"}, *EXTRACTIVE]
    changes: dict[str, Any] = {"source": f"questions:{tmp_path / 'own.jsonl'}", "fold": None, "self_play": None}
    assert_refused(hold(tmp_path, **changes, players=players), "'short': 1 stories exceed", "long_stories: window")
    assert not (tmp_path / "run").exists()
    ended = hold(tmp_path, "--long_stories", "window", **changes, players=players)
    assert ended.code == 0, ended.err
    assert "there they read a window of the story" in ended.out


@pytest.mark.parametrize(
    ("name", "cost"), [("embedded/smollm2-135m+judge", 0.0), ("hf/a/b+c", 0.0), ("openai/x", None)]
)
def test_a_model_on_this_machine_costs_nothing_with_an_adapter_too(name: str, cost: float | None) -> None:
    assert Plan(1, 0, 0, {name: Calls(1, 10, 10)}, {}, {}).cost({}) == cost


def test_two_questions_of_one_id_are_refused(tmp_path: Path) -> None:
    for file, story in (("cross", "Ana shut the gate at noon."), ("own", "Tomas sold the mill in spring.")):
        rows = [
            {"id": f"q{n}", "question": "Who?", "answers": ["Ana", "Tomas"], "gold": 0, "story": f"{story} {file} {n}."}
            for n in range(2)
        ]
        (tmp_path / f"{file}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    own = {"source": f"questions:{tmp_path}/own.jsonl"}
    changes: dict[str, Any] = {"fold": None, "stories": None, "players": EXTRACTIVE, "self_play": own}
    refused = hold(tmp_path, source=f"questions:{tmp_path}/cross.jsonl", **changes)
    assert_refused(refused, "'q0'", "own.jsonl", "id of its own")
