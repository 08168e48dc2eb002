"""The closed loop as it runs, on a tiny model: what it leaves, what is tracked, and what a change does anew."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from debate.agents.judge import JudgeConfig
from debate.card import read_card
from debate.errors import FoldError
from debate.sources import load_debates
from tests.commands import assert_refuses, call
from tests.loops import loop, trained_on
from tests.offline import read_offline
from tests.runs import Ended, debates, write
from tests.tiny import save_model
from training.loop import COMMAND
from training.loop import Tested as Held
from training.loop_run import check_scored
from training.picture import ITERATIONS, SLOPES

pytestmark = [pytest.mark.model, pytest.mark.timeout(1200)]


class Looped(NamedTuple):
    folder: Path
    config: Path
    ended: Ended


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"), context=2048)


@pytest.fixture(scope="module")
def looped(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Looped:
    """A loop of two iterations, tracked offline."""
    folder = tmp_path_factory.mktemp("loop")
    config = write(folder / "c.yaml", loop(base, wandb={"mode": "offline", "transcripts": 3}))
    return Looped(folder / "run", config, call(COMMAND, "--config", config, "--output", folder / "run"))


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def test_it_leaves_figures_adapters_and_a_report(looped: Looped) -> None:
    assert looped.ended.code == 0, looped.ended.err
    one, two = lines(looped.folder)
    assert (one["iteration"], two["iteration"]) == (1, 2)
    for judge in ("first", "new", "held-out"):
        assert 0 <= one[f"judges/{judge}/accuracy"] <= 1
        assert one[f"judges/{judge}/calibration_error"] is not None
        assert one[f"judges/{judge}/flips"] is not None
    assert (one["newcomer/name"], two["newcomer/name"]) == ("debater-1", "debater-2")
    assert one["newcomer/words"] > 0
    assert one["newcomer/concedes"] is not None
    assert two["rated/name"] == "debater-1"
    assert two["rated/elo"] == two["players/debater-1/elo"]
    for name in ("debater-1", "debater-2", "judge-1", "judge-2", "held-out"):
        card = read_card(looped.folder / name / "adapter")
        assert card is not None
        assert card.kind == ("debater" if name.startswith("debater") else "judge")
    report = (looped.folder / "report.html").read_text(encoding="utf-8")
    for words in (
        "Elo against accuracy",
        "Trained and frozen judge",
        "Concessions",
        "was trained on any of the 5 test stories",
    ):
        assert words in report
    assert (looped.folder / "assets" / "plotly.min.js").is_file()


def test_the_accuracy_of_a_judge_is_that_of_its_verdicts(looped: Looped) -> None:
    found = debates(looped.folder / "iteration-1" / "judged")
    right = [
        verdict["probabilities"][item["debate"]["transcript"]["question"]["gold"]] > 0.5
        for item in found
        for verdict in item["verdicts"]
        if verdict["judge"] == "judge-1"
    ]
    assert lines(looped.folder)[0]["judges/new/accuracy"] == pytest.approx(sum(right) / len(right))
    judges = {verdict["judge"] for item in found for verdict in item["verdicts"]}
    assert judges == {"first", "judge-1", "held-out"}


def test_no_story_is_trained_on_and_judged(looped: Looped) -> None:
    """Held by what is recorded: stories on the judges' cards against the stories that they gave verdicts on."""
    seen = {}
    for name in ("judge-1", "judge-2", "held-out"):
        card = read_card(looped.folder / name / "adapter")
        assert card is not None
        seen[name] = {story.id for story in card.stories}
    assert seen["judge-1"] < seen["judge-2"]  # it went on from it
    for path in sorted(looped.folder.rglob("debates.jsonl")):
        for item in debates(path.parent):
            for verdict in item["verdicts"]:
                story = item["debate"]["transcript"]["question"]["story_id"]
                assert story not in seen.get(verdict["judge"], set()), path


def test_a_verdict_of_a_judge_that_knows_the_story_is_found_at_the_end(
    looped: Looped, base: Path, tmp_path: Path
) -> None:
    own, cross = "test/self-play-judged", "test/tournament-judged"
    known = [item.debate.transcript.question for item in load_debates(str(looped.folder / own))][:1]
    for at, (questions, words) in enumerate(((known, "was trained on 1 of these 5 stories"), ([], ""))):
        model = trained_on(tmp_path / f"adapter-{at}", base, questions)
        judge = JudgeConfig.model_validate({"name": "judge-2", "model": model})
        tested = Held(cross, own, None, (judge,), ())
        with pytest.raises(FoldError, match=words) if words else contextlib.nullcontext():
            assert "5 test stories" in check_scored(looped.folder, tested)


def test_each_iteration_is_a_run_of_one_group(looped: Looped) -> None:
    kept = {}
    for part in ("iteration-1", "iteration-2", "test"):
        (folder,) = (looped.folder / part / "wandb").glob("offline-run-*")
        kept[part] = read_offline(folder)
    assert len({run.run_id for run in kept.values()}) == 3
    assert {run.group for run in kept.values()} == {"run"}  # the folder's name
    made = ("debater-1-sft", "debater-1", "judge-1")
    wanted = dict.fromkeys(made, "adapter") | dict.fromkeys((f"{name}-rows" for name in made), "dataset")
    assert wanted.items() <= kept["iteration-1"].artifacts.items()
    first = kept["iteration-1"]
    assert first.summary["loop/iteration"] == 1
    assert first.summary["judge/loss"] is not None
    table = first.table(ITERATIONS)
    assert [row[table["columns"].index("iteration")] for row in table["data"]] == [1, 1, 1]
    transcripts = first.table("transcripts")
    assert len(transcripts["data"]) == 3
    assert {title for title in transcripts["columns"] if title.startswith("P(A), judge-1")}
    assert kept["test"].table(SLOPES)["data"]
    assert any(name.startswith("media/plotly/Elo against accuracy (first)") for name in kept["test"].files)


def test_a_finished_loop_asks_nothing_again_and_another_test_is_refused(looped: Looped) -> None:
    before = (looped.folder / "stages.json").read_text()
    again = call(COMMAND, "--resume", looped.folder)
    assert again.code == 0, again.err
    assert json.loads((looped.folder / "stages.json").read_text())["stages"] == json.loads(before)["stages"]
    runs = [*looped.folder.glob("*/wandb/offline-run-*")]
    assert len(runs) == 3  # nothing is tracked twice


@pytest.mark.parametrize("change", [("--debater.dpo.learning_rate", "0.001"), ("--folds.test.stories", "2")])
def test_stories_that_were_looked_at_are_no_test_of_another_configuration(
    looped: Looped, change: tuple[str, str]
) -> None:
    """Nor are some of them."""
    other = call(COMMAND, "--resume", looped.folder, *change)
    assert_refuses(COMMAND, Ended(other.code, "", other.err), "were looked at already", "folds.test")


def test_a_consultancy_is_closed_too(base: Path, tmp_path: Path) -> None:
    judge = loop(base)["judge"] | {"train": False, "held_out": None}
    debater = loop(base)["debater"] | {"methods": ["sft"]}
    protocol = {"kind": "consultancy", "rounds": 1, "static": True}
    changed = loop(base, protocol=protocol, judge=judge, debater=debater, iterations=1, concessions=None)
    ended = call(COMMAND, "--config", write(tmp_path / "c.yaml", changed), "--output", tmp_path / "run")
    assert ended.code == 0, ended.err
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert set(metrics["test"]) == {"first"}
    players = metrics["test"]["first"]["players"]
    assert all(0 <= player["win rate"][0] <= 1 for player in players.values())
    assert "debater-1" in players


@pytest.mark.parametrize(
    "flags",
    [
        ("--judge.train", "false"),
        ("--debater.methods", "[sft]"),
        ("--debater.methods", "[dpo]"),
        ("--debater.methods", "[]", "--newcomer.optimizer", "{kind: best_of_n, n: 8}"),
        ("--protocol", "{kind: consultancy, rounds: 1}"),
    ],
    ids=lambda flags: " ".join(flags[:2]),
)
def test_every_ablation_has_a_plan(base: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    planned = call(COMMAND, "--config", write(tmp_path / "c.yaml", loop(base)), "--dry-run", *flags)
    assert planned.code == 0, planned.err
    assert "test/self-play-judged" in planned.out
    assert "Smallest effects" in planned.out
    assert not [path for path in tmp_path.iterdir() if path.name != "c.yaml"]
