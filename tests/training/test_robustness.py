"""The robustness benchmark as it runs, on a tiny model: what it leaves, does anew, and keeps apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from debate.card import read_card
from debate.sources import load_debates
from tests.commands import assert_refuses, call
from tests.persuasion_scripts import NAME
from tests.runs import Ended, cells, write
from tests.tiny import save_model
from training.robustness import COMMAND
from training.rows_folder import read_rows

pytestmark = pytest.mark.model

ENOUGH = ("--budget.max_calls", "100000")


class Held(NamedTuple):
    folder: Path
    config: Path
    ended: Ended


def config(base: Path, **changes: Any) -> dict[str, Any]:
    model = {"name": f"hf/{base}", "dtype": "float32", "device": "cpu"}
    fit = {"dtype": "float32", "device": "cpu", "batch": 4, "log_steps": 1, "save_steps": 1}
    made = {"kinds": {"both": 1.0}}
    return {
        "base": model,
        "benchmark": 3,
        "persuader": {"name": "p", "model": f"{NAME}:persuader"},
        "helper": {"model": f"{NAME}:able_helper"},
        "moderators": {"model": f"{NAME}:fickle_moderator"},
        "rounds": 3,
        "repetitions": 2,
        "talk": {"max_tokens": 8, "max_words": 30, "max_attempts": 1},
        "lessons": {"claims": 10, "rounds": 2},
        "judge": {
            "data": [{"debates": "dossiers:60?seed=2", "fold": "judge", "limit": 4, "made": made}],
            "fit": fit,
        },
        "mitigation": {"fit": fit},
        "max_failed": 1,  # a tiny model may end before its first word
        "seed": 1,
    } | changes


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"), context=2048)


@pytest.fixture(scope="module")
def held(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Held:
    folder = tmp_path_factory.mktemp("robustness")
    path = write(folder / "c.yaml", config(base))
    stopped = call(COMMAND, "--config", path, "--output", folder / "run", "--budget.max_calls", 300)
    assert stopped.code == 2
    assert "is spent" in stopped.err
    return Held(folder / "run", path, call(COMMAND, "--resume", folder / "run", *ENOUGH))


def metrics(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    return found


def test_one_table_of_three_debaters(held: Held) -> None:
    assert held.ended.code == 0, held.ended.err
    rows = {row[0]: row[1:] for row in cells(held.ended.out, "Does judge training buy")}
    wanted = {
        "convinced, no helper",
        "convinced, fallacious helper",
        "fallacy convinces, logic fails",
        "what a fallacy adds to logic",
        "no longer convinced, fallacious helper",
        "tells sound from fallacious",
        "words of a reply",
    }
    assert wanted <= set(rows)
    figures = metrics(held.folder)["figures"]
    assert list(figures["convinced, no helper"]["values"]) == ["base", "judge", "mitigation"]
    assert list(figures["convinced, no helper"]["less_base"]) == ["judge", "mitigation"]
    report = (held.folder / "report.html").read_text(encoding="utf-8")
    assert "Does judge training buy resistance to fallacies?" in report
    # The report and the figures are for sharing: no text of a debate is in them.
    for text in (report, (held.folder / "metrics.json").read_text(encoding="utf-8")):
        assert "fallacy 1" not in text.casefold()
        assert "Reason " not in text


def test_its_figures_are_those_of_the_debates(held: Held) -> None:
    figures = metrics(held.folder)["figures"]
    for name in ("base", "judge", "mitigation"):
        debates = [item.debate for item in load_debates(str(held.folder / f"benchmark-{name}"))]
        for scenario, title in (("none", "no helper"), ("fallacy", "fallacious helper"), ("logical", "logical helper")):
            won = [one.tags["stop"] == "convinced" for one in debates if one.tags["scenario"] == scenario]
            assert figures[f"convinced, {title}"]["values"][name][0] == pytest.approx(sum(won) / 6)
    decided = load_debates(str(held.folder / "sound"))
    for name in ("base", "judge", "mitigation"):
        right = []
        for item in decided:
            gold = item.debate.transcript.question.gold
            assert gold is not None
            own = [one.probabilities for one in item.verdicts if one.judge == name]
            assert len(own) == 2
            share = sum(one[gold] for one in own if one is not None) / 2
            right.append(0.5 if share == 0.5 else float(share > 0.5))
        found = figures["tells sound from fallacious"]["values"][name][0]
        assert found == pytest.approx(sum(right) / len(right))


def test_no_claim_is_both_trained_on_and_measured(held: Held) -> None:
    """Held by what is recorded: the adapter's card and rows against the benchmark's debates."""
    card = read_card(held.folder / "mitigation" / "adapter")
    assert card is not None
    trained = {story.id for story in card.stories}
    measured = {
        item.debate.transcript.question.story_id for item in load_debates(str(held.folder / "benchmark-mitigation"))
    }
    assert len(measured) == 3
    assert trained
    topics = [{name.rpartition("-")[0] for name in part} for part in (trained, measured)]
    assert not topics[0] & topics[1]
    rows = read_rows(held.folder / "mitigation" / "rows")
    assert {row.story for row in rows.rows} == trained
    assert rows.folds == {"judge": len(rows.rows)}
    sound = load_debates(str(held.folder / "sound"))
    assert {item.debate.transcript.question.fold for item in sound} == {"test"}
    assert {item.debate.transcript.question.story_id for item in sound} <= measured


def test_what_is_done_is_not_done_again_and_a_change_does_what_depends_on_it(held: Held) -> None:
    before = metrics(held.folder)
    again = call(COMMAND, "--resume", held.folder)
    assert again.code == 0, again.err
    assert "benchmark-base: " not in again.out
    assert metrics(held.folder) == before
    changed = call(COMMAND, "--resume", held.folder, "--mitigation.fit.learning_rate", "1e-4", *ENOUGH)
    assert changed.code == 0, changed.err
    done = [line.partition(":")[0] for line in changed.out.splitlines() if line.endswith(" s")]
    assert [name for name in done if name in {"mitigation", "benchmark-mitigation", "sound"}] == done
    assert set(done) == {"mitigation", "benchmark-mitigation", "sound"}


def test_a_plan_names_every_stage_and_makes_nothing(base: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "c.yaml", config(base))
    plan = call(COMMAND, "--config", path, "--output", tmp_path / "run", "--dry-run")
    assert plan.code == 0, plan.err
    assert [row[0] for row in cells(plan.out, "Plan\n")] == [
        "benchmark-base",
        "lessons",
        "pairs",
        "judge",
        "mitigation",
        "benchmark-judge",
        "benchmark-mitigation",
        "held-out-pairs",
        "sound",
        "all",
    ]
    assert not (tmp_path / "run").exists()


def test_an_adapter_that_was_trained_on_the_benchmark_is_refused(held: Held, base: Path, tmp_path: Path) -> None:
    """With another seed the benchmark draws claims that the mitigation has learned from."""
    given = config(base, judge={"trained": str(held.folder / "mitigation" / "adapter")})
    refusals = []
    for seed in range(1, 13):
        path = write(tmp_path / "c.yaml", {**given, "seed": seed})
        ended = call(COMMAND, "--config", path, "--output", tmp_path / "run", "--dry-run")
        if ended.code:
            assert_refuses(COMMAND, ended, "was trained on", "of these 3 stories")
        refusals.append(ended.code)
    assert refusals[0] == 0
    assert 2 in refusals
