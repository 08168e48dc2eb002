"""The closed loop, planned: which stages there are, what each is given, who plays, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from debate.agents.judge import JudgeConfig
from debate.command import Invocation
from debate.config import parse
from debate.errors import ConfigError, FoldError, SourceError, StoreError
from debate.prompts import Prompts
from tests.loops import loop, trained_on
from tests.runs import ROOT
from training.loop import Iteration, Loop
from training.loop_config import LoopConfig, weakest
from training.loop_plan import Planned
from training.loop_questions import check_start, questions_by_use
from training.loop_run import open_root
from training.loop_stages import Recipes
from training.power import smallest_difference

BASE = Path("model")


def configured(**changes: Any) -> LoopConfig:
    return parse(LoopConfig, loop(BASE, **changes), where="test")


def followed(config: LoopConfig, elo: Mapping[str, float] | None = None) -> tuple[list[str], list[Iteration], Planned]:
    """Plan a loop; returns the stages' names, its iterations and all else."""

    def rate(_stages: Sequence[str], _judge: JudgeConfig) -> Mapping[str, float]:
        return elo or {}

    planned, iterations = Planned(), list[Iteration]()
    Loop(config, Recipes(config, Path("/run")), planned, rate).follow(iterations.append)
    return [stage.name for stage in planned.stages], iterations, planned


def config_of(planned: Planned, name: str) -> Any:
    return next(stage.config for stage in planned.stages if stage.name == name)


def test_the_stages_of_an_iteration_and_of_the_test() -> None:
    names, _, _ = followed(configured())
    assert names == [
        "held-out",
        "iteration-1/tournament",
        "debater-1-sft",
        "debater-1",
        "iteration-1/debates",
        "judge-1",
        "iteration-1/self-play",
        "iteration-1/concessions",
        "iteration-1/judged",
        "iteration-2/tournament",
        "iteration-2/ratings",
        "debater-2-sft",
        "debater-2",
        "iteration-2/debates",
        "judge-2",
        "iteration-2/self-play",
        "iteration-2/concessions",
        "iteration-2/judged",
        "test/tournament",
        "test/tournament-judged",
        "test/self-play",
        "test/self-play-judged",
        "test/concessions",
    ]


def test_each_goes_on_from_the_one_before() -> None:
    _, _, planned = followed(configured())
    assert config_of(planned, "debater-1-sft").start is None
    assert config_of(planned, "debater-1").start == "/run/debater-1-sft/adapter"
    assert config_of(planned, "debater-2-sft").start == "/run/debater-1/adapter"
    assert config_of(planned, "judge-1").start is None  # a scripted first judge has no adapter
    assert config_of(planned, "judge-2").start == "/run/judge-1/adapter"
    assert [entry.debates for entry in config_of(planned, "judge-2").data] == ["run:/run/iteration-2/debates"]
    assert config_of(planned, "iteration-2/tournament").judge.name == "judge-1"
    assert [one.name for one in config_of(planned, "iteration-2/ratings").judges] == ["first"]
    anew, _, planned = followed(configured(judge={**loop(BASE)["judge"], "fresh": True}))
    assert "judge-2" in anew
    assert config_of(planned, "judge-2").start is None
    assert [entry.debates for entry in config_of(planned, "judge-2").data] == [
        "run:/run/iteration-1/debates",
        "run:/run/iteration-2/debates",
    ]


def test_who_is_new_debates_itself_before_first_new_and_held_out_judge() -> None:
    _, iterations, planned = followed(configured())
    one, two = (config_of(planned, f"iteration-{number}/self-play") for number in (1, 2))
    assert [player.name for player in one.players] == ["extractive", "base", "scripted", "best", "debater-1"]
    assert [player.name for player in two.players] == ["debater-2"]
    assert {one.judge.name, two.judge.name} == {"first"}
    judged = config_of(planned, "iteration-2/judged")
    assert [one.name for one in judged.judges] == ["judge-2", "held-out"]
    assert judged.sources == ("/run/iteration-1/judged", "/run/iteration-2/self-play")
    assert iterations[1].validated == ("iteration-2/judged",)


def test_the_weakest_leaves_and_anchors_stay() -> None:
    elo = {"extractive": -90.0, "base": -80.0, "scripted": -5.0, "best": 9.0, "debater-1": -50.0}
    _, iterations, planned = followed(configured(size=4), elo)
    assert [one.left for one in iterations] == ["scripted", "debater-1"]
    players = [player.name for player in config_of(planned, "iteration-2/tournament").players]
    assert players == ["extractive", "base", "best", "debater-1"]
    everybody = {player.name for player in config_of(planned, "test/tournament").players}
    assert everybody == {*elo, "debater-2"}
    assert weakest({"a": 1.0, "b": None, "c": 1.0}, ()) == "c"
    assert weakest({"a": 1.0, "b": None}, ("a",)) is None


def test_best_of_n_chooses_by_the_judge_of_its_player_s_iteration() -> None:
    best = {"name": "debater", "model": loop(BASE)["base"], "optimizer": {"kind": "best_of_n", "n": 2}}
    config = configured(newcomer=best, debater={"methods": [], "start": "shipped:debater"})
    names, _, planned = followed(config)
    assert not [name for name in names if name.startswith("debater")]
    players = {player.name: player for player in config_of(planned, "test/tournament").players}
    likes = {name: players[name].optimizer[0].preference for name in ("best", "debater-1", "debater-2")}
    assert [None if like is None else like.name for like in likes.values()] == ["first", "judge-1", "judge-2"]
    model = players["debater-2"].model
    assert model is not None
    assert model.adapter == "shipped:debater"


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({"judge": {**loop(BASE)["judge"], "train": False}}, "judge-1 iteration-1/debates iteration-2/ratings"),
        ({"debater": {**loop(BASE)["debater"], "methods": ["sft"]}}, "debater-1-sft"),
        ({"debater": {**loop(BASE)["debater"], "methods": ["dpo"]}}, "debater-1-sft"),
        ({"concessions": None}, "iteration-1/concessions test/concessions"),
    ],
)
def test_ablations_leave_stages_out(changes: dict[str, Any], gone: str) -> None:
    names, _, _ = followed(configured(**changes))
    assert not set(gone.split()) & set(names)
    assert "debater-1" in names


def test_consultants_argue_alone() -> None:
    names, _, planned = followed(configured(protocol={"kind": "consultancy", "rounds": 1, "static": True}))
    commands = {stage.command.name for stage in planned.stages if stage.name in names}
    assert "tournaments.consultancy" in commands
    assert not {"tournaments.swiss", "tournaments.self_play"} & commands


def test_no_story_is_used_for_two_things() -> None:
    found = questions_by_use(configured())
    used = [story for of in found.values() for story in {question.story_id for question in of}]
    assert len(used) == len(set(used))
    assert len(found["debater"]) == len(found["judge"]) == 4  # two stories an iteration
    folds = loop(BASE)["folds"]
    shared = {**folds, "test": {**folds["test"], "skip": 0}}
    with pytest.raises(ConfigError, match=r"folds\.test shares 2 stories with folds\.rating"):
        questions_by_use(configured(folds=shared))
    few = {**folds, "judge": {"source": "dossiers:6?seed=1", "fold": "judge", "stories": 2}}
    with pytest.raises(SourceError, match="left for iteration 2; name a larger source"):
        questions_by_use(configured(folds=few, iterations=4))


def test_a_held_out_judge_must_not_learn_from_what_it_will_judge() -> None:
    judge = loop(BASE)["judge"]
    data = [{"debates": "dossiers:60?seed=1", "fold": "validation"}]
    with pytest.raises(ConfigError, match=r"folds\.validation shares .* with judge\.held_out"):
        questions_by_use(configured(judge={**judge, "held_out": {"data": data}}))


@pytest.mark.parametrize("use", ["debater", "judge", "validation", "rating", "test"])
def test_a_judge_that_knows_a_story_is_refused_before_the_first_stage(use: str, tmp_path: Path) -> None:
    groups = questions_by_use(configured())
    check_start(configured(), groups)
    model = trained_on(tmp_path / "knows", BASE, groups[use][-1:])
    lessons = loop(BASE)["judge"]
    with pytest.raises(FoldError, match="was trained on 1 of these"):
        check_start(configured(judge=lessons | {"first": {"judge": {"model": model}}}), groups)
    apart = (
        configured(judge=lessons | {"held_out": {"judge": {"model": model}}}),
        configured(concessions={"model": model}),
    )
    for config in apart:  # these judge the last three alone
        if use in {"debater", "judge"}:
            check_start(config, groups)
        else:
            with pytest.raises(FoldError, match="was trained on 1 of these"):
                check_start(config, groups)


@pytest.mark.parametrize("name", ["judge-2", "debater-1", "debater-1-sft"])
def test_an_adapter_called_like_one_that_will_be_trained_is_refused_before_the_first_stage(
    name: str, tmp_path: Path
) -> None:
    model = trained_on(tmp_path / name, BASE, ())
    config = configured(judge=loop(BASE)["judge"] | {"held_out": {"judge": {"model": model}}})
    with pytest.raises(ConfigError, match=rf"would both be called .*{name}.*give their folders different names"):
        check_start(config, questions_by_use(config))


def test_all_that_a_loop_trains_is_known_beforehand() -> None:
    first = [{"debates": "dossiers:9", "made": {}}]
    for changes in ({}, {"debater": loop(BASE)["debater"] | {"methods": ["dpo"], "first": first}, "iterations": 3}):
        config = configured(**changes)
        _, _, planned = followed(config)
        assert sorted(config.trained) == sorted(stage.name for stage in planned.stages if stage.launch)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"anchors": ["nobody"]}, "there is no player 'nobody'"),
        ({"size": 3}, "has no room for 3 anchors"),
        (
            {"newcomer": {"name": "debater", "model": "scripted/tests.scripts:debater"}},
            "newcomer.model must be the base",
        ),
        ({"debater": {"methods": []}}, "needs an optimizer of kind best_of_n"),
        ({"debater": {"methods": ["sft", "sft"]}}, "name one twice"),
        ({"debater": {"methods": ["sft"]}}, "asked for 5 to 60"),
        ({"players": loop(BASE)["players"][:3], "anchors": ["base"]}, "no player has the optimizer best_of_n"),
        ({"judge": {"first": {}}}, "give judge, or data"),
        ({"players": [{"name": "debater-1", "kind": "extractive"}, *loop(BASE)["players"]]}, "player named twice"),
        ({"folds": {**loop(BASE)["folds"], "judge": {"fold": "test", "stories": 2}}}, "it must be judge"),
        ({"folds": {**loop(BASE)["folds"], "debater": {"fold": "debater"}}}, "debater: set stories"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        configured(**changes)


def test_the_smallest_difference_is_that_of_the_paired_test() -> None:
    """One player: 2.80 times the standard error of a paired difference of shares (Miettinen 1968), √(d / n)."""
    assert smallest_difference(150, 1, discordant=0.3) == pytest.approx(2.8016 * (0.3 / 150) ** 0.5, rel=1e-4)
    # Players that are alike on every story are as good as one.
    assert smallest_difference(150, 7, alike=1.0) == pytest.approx(smallest_difference(150, 1))
    assert smallest_difference(150, 7, alike=0.0) == pytest.approx(smallest_difference(1050, 1))


def test_a_folder_of_a_loop_that_was_killed_at_its_very_start_is_free(tmp_path: Path) -> None:
    config, prompts = configured(), Prompts()
    (tmp_path / "loop.lock").touch()
    with open_root(config, Invocation(output=tmp_path), {}, prompts):
        assert (tmp_path / "config.yaml").is_file()
    with (
        pytest.raises(StoreError, match=r"exists already; .* --resume"),
        open_root(config, Invocation(output=tmp_path), {}, prompts),
    ):
        pass
    with open_root(config, Invocation(resume=tmp_path), {}, prompts) as root:
        assert root == tmp_path.resolve()


@pytest.mark.parametrize("command", ["loop", "dashboards"])
def test_a_command_imports_no_heavy_library_before_it_needs_it(command: str) -> None:
    heavy = {"torch", "transformers", "trl", "datasets", "wandb", "wandb_workspaces", "plotly", "scipy"}
    look = f"import sys, training.{command}; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, cwd=ROOT, check=True)
    assert not done.stdout.split()
