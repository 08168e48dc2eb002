"""The paper's field: what ``--dry-run`` counts is what the documentation derives."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from debate.config import parse, read_tree
from tests.runs import ROOT, cells, swiss
from tournaments.config import CompareConfig, SwissConfig
from tournaments.players import PlayerConfig

PAPER = ROOT / "configs" / "swiss" / "paper.yaml"
DOCS = (ROOT / "docs" / "optimizers.md").read_text(encoding="utf-8")


def calls_of(optimizers: list[dict[str, Any]]) -> int:
    """Calls of one speech, by the table of the documentation, with one verdict a score and two a choice."""
    n = next((one["n"] for one in optimizers if one["kind"] == "best_of_n"), 0)
    k = next((one["critiques"] for one in optimizers if one["kind"] == "critique_refine"), 0)
    if not n and not k:
        return 1
    chosen = n + n if n else 1 + 1
    return chosen + (k + 2 + 1 + 1 if k else 0)


def field() -> list[list[dict[str, Any]]]:
    players = read_tree(PAPER)["players"]
    listed = (player.get("optimizer", []) for player in players)
    return [one if isinstance(one, list) else [one] for one in listed]


def closed_form(cross_play: int, self_play: int) -> int:
    rounds, players, speeches = 4, 20, 3
    each = 2 * (cross_play + self_play) + (speeches - 1) * (rounds * 2 * cross_play + 2 * self_play)
    debates = rounds * players // 2 * 2 * cross_play + players * self_play
    return sum(map(calls_of, field())) * each + 2 * debates


def test_the_field_is_twenty_players_of_several_models_sizes_and_critiques() -> None:
    config = parse(SwissConfig, read_tree(PAPER), where="paper")
    assert (len(config.players), config.tournament_rounds, config.protocol.rounds) == (20, 4, 3)
    assert (config.speech.min_words, config.speech.max_words, config.speech.temperature) == (70, 150, 0.8)
    assert not config.is_round_robin
    optimizers = [one for player in config.players for one in player.optimizer]
    assert {one.orders for one in optimizers} == {"single"}
    assert {one.preference for one in optimizers} == {None}  # the judge's own model, as in the paper
    assert {one.n for one in optimizers if one.kind == "best_of_n"} >= {4, 8, 16}
    assert {one.critiques for one in optimizers if one.kind == "critique_refine"} == {2, 8}
    assert len({player.model.name for player in config.players if player.model is not None}) == 3
    assert any(not player.optimizer for player in config.players)


@pytest.mark.parametrize(("stories", "per_story", "own"), [(12, 2, 10), (5, 1, 3)])
def test_a_dry_run_counts_what_the_closed_form_gives(stories: int, per_story: int, own: int) -> None:
    plan = swiss(
        "--config",
        PAPER,
        "--dry-run",
        "--source",
        "shipped:stories",
        "--limit",
        "null",
        "--stories",
        stories,
        "--per_story",
        per_story,
        "--self_play",
        f"{{source: 'shipped:stories', fold: validation, stories: {own}, per_story: 1}}",
    )  # fmt: skip - flags by pairs
    assert plan.code == 0, plan.err
    cross_play = stories * per_story
    rows = {row[0]: int(row[1].replace(",", "")) for row in cells(plan.out, "Plan: ")}
    assert sorted(rows) == ["openai/gpt-4.1", "openai/gpt-4.1-mini", "openai/gpt-4.1-nano"]
    assert sum(rows.values()) == closed_form(cross_play, own)
    assert f"Plan: {80 * cross_play} debates and {20 * own} in self-play\n" in plan.out


def test_the_documentation_derives_these_numbers() -> None:
    assert sum(map(calls_of, field())) == 285
    for cross_play, self_play in ((24, 10), (40, 40)):
        found = closed_form(cross_play, self_play)
        assert found == 5290 * cross_play + 1750 * self_play
        assert f"{found:,}" in DOCS
    assert "= 5,290·Q + 1,750·S" in DOCS


def test_the_lines_of_the_documentation_are_configurations() -> None:
    found = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)]
    players, comparison = found
    assert [len(PlayerConfig.model_validate(tree).optimizer) for tree in players["players"]] == [0, 1, 1, 2, 1]
    config = parse(CompareConfig, comparison, where="docs")
    by_calls: dict[int, set[str]] = {}
    for variant in config.variants:
        by_calls.setdefault(variant.expert_calls, set()).add(variant.name)
    assert by_calls[4] == {"N=4", "K=2"}
    assert by_calls[8] == {"N=8", "N=5, K=2"}
    assert by_calls[16] == {"N=16", "N=13, K=2", "N=7, K=8"}
