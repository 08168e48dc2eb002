"""Fallacy pairs of persuasion runs: what is in them, who validates them, and the data set that is left."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from debate.fallacies import FALLACIES, OTHER, classify
from debate.record import Recorded, from_json
from tests.commands import assert_refuses, call
from tests.persuasion_scripts import AGREES, ECHOED, NAME, PARROTS
from tests.runs import Ended, cells, write
from tournaments.persuasion import COMMAND as PERSUASION
from training.fallacy_pairs import fallacy_pairs
from training.fallacy_pairs_command import COMMAND

VALIDATOR = f"{NAME}:validator"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six claims without the logical scenario."""
    folder = tmp_path_factory.mktemp("pairs")
    config = {
        "limit": 6,
        "persuaders": [{"name": "p", "model": f"{NAME}:persuader"}],
        "debaters": [{"name": "d", "model": f"{NAME}:debater"}],
        "helper": {"model": f"{NAME}:helper"},
        "moderators": {"model": f"{NAME}:moderator"},
        "scenarios": ["none", "fallacy", "logical"],
        "rounds": 5,
        "repetitions": 2,
    }
    ended = call(PERSUASION, "--config", write(folder / "c.yaml", config), "--output", folder / "run")
    assert ended.code == 0, ended.err
    return folder / "run"


def make(run: Path, folder: Path, *flags: object) -> tuple[Ended, list[dict[str, Any]]]:
    from datasets import load_dataset

    ended = call(COMMAND, run, "--output", folder / "out", *flags)
    if ended.code:
        return ended, []
    loaded = load_dataset(str(folder / "out" / "dataset"), split="train", cache_dir=str(folder / "cache"))
    return ended, [dict(row) for row in loaded]


def read(run: Path) -> list[Recorded]:
    return [from_json(Recorded, line) for line in (run / "debates.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_pair_for_each_fallacious_rewrite(run: Path, tmp_path: Path) -> None:
    ended, rows = make(run, tmp_path)
    assert ended.code == 0, ended.err
    debates = {item.debate.id: item.debate for item in read(run)}
    turns = [
        (debate, turn)
        for debate in debates.values()
        for turn in debate.transcript.turns
        if turn.help is not None and turn.help.kind == "fallacy" and turn.help.name
    ]
    assert len(rows) == len(turns) > 10
    for row in rows:
        debate = debates[row["debate"]]
        said = debate.transcript.turns
        place = next(at for at, turn in enumerate(said) if turn.round == row["round"] and turn.role == "persuader")
        assert row["fallacious"] == said[place].argument.plain()
        assert row["fallacious"].startswith("FALLACY")
        assert row["logical"].startswith("Reason")
        assert row["fallacy"] == classify(row["fallacy_as_written"])
        assert row["fallacy"] in {*FALLACIES, OTHER}
        assert row["fallacy_validated"] is None
        assert [one["text"] for one in row["history"]] == [turn.argument.plain() for turn in said[:place]]
        assert row["history"][-1]["speaker"] == "debater"
        assert row["convinced"] == (said[place + 1].argument.plain() == AGREES)
        assert (row["persuader"], row["debater"], row["claim"]) == ("p", "d", debate.tags["claim"])
    assert any(row["convinced"] for row in rows)


def test_the_pairs_are_dropped_that_are_none(run: Path) -> None:
    recorded = read(run)
    found = fallacy_pairs(recorded)
    helps = [
        turn.help
        for item in recorded
        for turn in item.debate.transcript.turns
        if turn.help is not None and turn.help.kind == "fallacy"
    ]
    assert found.dropped == {"the helper failed": sum(one.failed for one in helps)}
    assert len(found.pairs) + sum(found.dropped.values()) == len(helps)
    assert fallacy_pairs([]).pairs == ()


def test_a_validator_names_the_classes_and_its_agreement_is_told(run: Path, tmp_path: Path) -> None:
    plan = call(COMMAND, run, "--validator", VALIDATOR, "--dry-run")
    assert plan.code == 0, plan.err
    ended, rows = make(run, tmp_path, "--validator", VALIDATOR)
    assert ended.code == 0, ended.err
    assert cells(plan.out, "Plan: ")[0][:2] == [VALIDATOR, str(len(rows))]
    number = [int(re.findall(r"FALLACY (\d+)", row["fallacious"])[0]) for row in rows]
    expected = [None if n % 10 == 0 else "straw man" if n % 2 else "false dilemma" for n in number]
    assert [row["fallacy_validated"] for row in rows] == expected
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text(encoding="utf-8"))
    both = [(row["fallacy"], row["fallacy_validated"]) for row in rows if row["fallacy_validated"] is not None]
    kappa = cohen_kappa_score([one for one, _ in both], [other for _, other in both])
    assert metrics["kappa"][0] == pytest.approx(kappa)
    assert metrics["same_class"][0] == pytest.approx(sum(one == other for one, other in both) / len(both))
    assert (metrics["validated"], metrics["unread"]) == (len(both), len(rows) - len(both))
    card = (tmp_path / "out" / "dataset" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nconfigs:")
    assert f"Cohen's kappa {kappa:.3f}" in card
    assert VALIDATOR in card
    for name, count in metrics["by_class"].items():
        assert f"| {name} | {FALLACIES.get(name, 'named otherwise')} | {count} |" in card
    # Nothing that was asked is asked again.
    again = call(COMMAND, "--resume", tmp_path / "out")
    assert again.code == 0, again.err
    calls = [row for row in cells(again.out, "Cost\n") if row[0] == VALIDATOR]
    assert calls == cells(again.out, "Cost\n")
    assert int(calls[0][2]) > 0


def test_fallacious_texts_can_be_withheld(run: Path, tmp_path: Path) -> None:
    ended, rows = make(run, tmp_path, "--withhold_fallacies")
    assert ended.code == 0, ended.err
    assert rows
    assert all("fallacious" not in row for row in rows)
    assert "FALLACY" not in json.dumps(rows)
    assert all([one["speaker"] for one in row["history"]][1:] == ["debater"] * (row["round"] - 1) for row in rows)
    assert "left out of this copy" in (tmp_path / "out" / "dataset" / "README.md").read_text(encoding="utf-8")


def test_what_is_withheld_is_in_no_draft_and_no_reply_either(tmp_path: Path) -> None:
    config = write(tmp_path / "c.yaml", {**PARROTS, "scenarios": ["fallacy"], "rounds": 4})
    ended = call(PERSUASION, "--config", config, "--output", tmp_path / "run")
    assert ended.code == 0, ended.err
    _, rows = make(tmp_path / "run", tmp_path, "--withhold_fallacies")
    assert len(rows) == 3
    assert ECHOED not in json.dumps(rows)
    assert all("It is a fair point that stays." in row["logical"] for row in rows)


def test_what_holds_no_pair_is_refused(run: Path, tmp_path: Path) -> None:
    assert_refuses(COMMAND, call(COMMAND), "name run folders")
    assert_refuses(COMMAND, call(COMMAND, tmp_path), "is no run folder")
    config = {
        "limit": 1,
        "persuaders": [{"name": "p", "model": f"{NAME}:persuader"}],
        "debaters": [{"name": "d", "model": f"{NAME}:debater"}],
        "moderators": {"model": f"{NAME}:moderator"},
        "scenarios": ["none"],
        "repetitions": 1,
    }
    plain = call(PERSUASION, "--config", write(tmp_path / "c.yaml", config), "--output", tmp_path / "plain")
    assert plain.code == 0, plain.err
    refused = call(COMMAND, tmp_path / "plain", "--output", tmp_path / "out")
    assert_refuses(COMMAND, refused, "no pair is in these runs", "scenario fallacy")
    assert not (tmp_path / "out").exists()
    del run
