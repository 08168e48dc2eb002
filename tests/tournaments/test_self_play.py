"""The command ``python -m tournaments.self_play`` with scripted models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tests.commands import assert_refuses, call
from tests.runs import SCRIPTS, Ended, cells, debates, metrics, swiss, tournament, write
from tournaments.self_play import COMMAND


def config(**changes: Any) -> dict[str, Any]:
    tree = tournament()
    kept = ("source", "fold", "stories", "per_story", "protocol", "speech", "judge", "seed")
    players = [{"name": "first", "model": f"{SCRIPTS}:debater"}, {"name": "extractive", "kind": "extractive"}]
    return {name: tree[name] for name in kept} | {"players": players, "baselines": ["blind"]} | changes


def hold(folder: Path, *flags: object, **changes: Any) -> Ended:
    return call(COMMAND, "--config", write(folder / "c.yaml", config(**changes)), "--output", folder / "run", *flags)


def test_every_player_debates_itself_once_on_every_question(tmp_path: Path) -> None:
    ended = hold(tmp_path)
    assert ended.code == 0, ended.err
    held = [item["debate"] for item in debates(tmp_path / "run")]
    spoken = [debate for debate in held if debate["transcript"]["turns"]]
    assert all(debate["players"][0] == debate["players"][1] for debate in spoken)
    counts = Counter((debate["players"][0], debate["transcript"]["question"]["id"]) for debate in spoken)
    assert len(counts) == 6  # two players, three questions
    assert set(counts.values()) == {1}
    assert sum(debate["protocol"] == "blind" for debate in held) == 3
    assert "self-play of extractive" in ended.out
    assert [row[0] for row in cells(ended.out, "Speeches\n")] == ["extractive", "first"]
    found = metrics(tmp_path / "run")
    assert found["players"]["first"]["debates"] == 3
    assert found["self_play"]["verdicts"] == 12


def test_they_are_the_self_play_of_a_tournament(tmp_path: Path) -> None:
    """The same questions, players, judge and seed give the same debates and verdicts."""
    own = {"source": "shipped:stories", "fold": "debater", "stories": 3, "per_story": 1}
    cross = {"fold": "validation", "self_play": own, "players": config()["players"]}
    assert swiss("--config", write(tmp_path / "s.yaml", tournament(**cross)), "--output", tmp_path / "swiss").code == 0
    assert hold(tmp_path, baselines=[]).code == 0

    def shown(run: str) -> dict[str, Any]:
        found = [item for item in debates(tmp_path / run) if len(set(item["debate"]["players"])) == 1]
        return {item["debate"]["id"]: item for item in found}

    assert shown("run") == shown("swiss")


def test_plan_and_refusals(tmp_path: Path) -> None:
    evidence = {"name": "evidence", "kind": "evidence_first", "model": f"{SCRIPTS}:debater"}
    plan = hold(tmp_path, "--dry-run", players=[*config()["players"][1:], evidence])
    assert plan.code == 0, plan.err
    assert plan.out.startswith("Plan: 0 debates and 6 in self-play and 3 questions without a debate")
    assert not (tmp_path / "run").exists()
    refused = hold(tmp_path, protocol={"kind": "consultancy", "rounds": 1, "static": True})
    assert_refuses(COMMAND, refused, "self-play has two speakers", "tournaments.consultancy")
