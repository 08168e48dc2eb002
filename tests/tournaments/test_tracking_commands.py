"""``--wandb.mode`` of every command that makes a run, each in a process of its own that finds nothing of the user's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from debate.tracking import flatten_metrics
from tests.offline import Offline, environment, read_offline
from tests.runs import EXTRACTIVE, SCRIPTS, debates, metrics, write

SMALL = {
    "source": "shipped:stories",
    "fold": "debater",
    "stories": 3,
    "per_story": 1,
    "speech": {"min_words": 15, "max_words": 60},
    "judge": {"model": f"{SCRIPTS}:judge", "name": "scripted judge"},
    "seed": 1,
}
DEBATE = {**SMALL, "players": EXTRACTIVE, "protocol": {"kind": "simultaneous", "rounds": 1}}
CONFIGS = {
    "tournaments.swiss": DEBATE,
    "tournaments.consultancy": {**SMALL, "players": EXTRACTIVE, "protocol": {"kind": "consultancy", "static": True}},
    "debate.run": DEBATE,
}
REJUDGE = "tournaments.rejudge"


class Tracked(NamedTuple):
    """A run that was tracked offline: its folder, and what it kept for wandb."""

    folder: Path
    kept: Offline


def start(name: str, home: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start a command with ``--wandb.mode offline`` in ``home``, where the user's own folder is too."""
    flags = ("--output", home / name, "--wandb.mode", "offline", "--wandb.transcripts", 2)
    return subprocess.Popen(
        [sys.executable, "-m", name, *map(str, (*arguments, *flags))],
        cwd=home,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def finish(process: subprocess.Popen[str], folder: Path) -> Tracked:
    """Wait for a command, and read what it kept."""
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    (kept,) = (folder / "wandb").glob("offline-run-*")
    assert f"wandb: kept in {kept}; send it with `wandb sync {kept}`" in out.splitlines()
    return Tracked(folder, read_offline(kept))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tracked]:
    """A tracked run of each command, held side by side; then one that judges the debates of the first again."""
    home = tmp_path_factory.mktemp("tracked")
    started = {
        name: start(name, home, "--config", write(home / f"{name}.yaml", config)) for name, config in CONFIGS.items()
    }
    tracked = {name: finish(process, home / name) for name, process in started.items()}
    judge = ("--judge.model", f"{SCRIPTS}:judge", "--judge.name", "second judge")
    process = start(REJUDGE, home, tracked["tournaments.swiss"].folder, *judge)
    return {**tracked, REJUDGE: finish(process, home / REJUDGE)}


@pytest.mark.e2e
@pytest.mark.parametrize("name", [*CONFIGS, REJUDGE])
def test_every_command_keeps_its_figures_its_configuration_and_some_transcripts(
    name: str, runs: dict[str, Tracked]
) -> None:
    run = runs[name]
    assert run.kept.exit_code == 0
    assert run.kept.project == "dissoi"
    assert run.kept.config["seed"] == (0 if name == REJUDGE else 1)
    transcripts = run.kept.table("transcripts")
    rows = [dict(zip(transcripts["columns"], row, strict=True)) for row in transcripts["data"]]
    held = {item["debate"]["id"]: item for item in debates(run.folder)}
    assert len(rows) == min(2, len(held))
    for row in rows:
        turns = held[row["debate"]]["debate"]["transcript"]["turns"]
        assert row["transcript"].count("<v_quote>") >= len(turns) > 0
        assert all(0 <= value <= 1 for title, value in row.items() if title.startswith("P(A)"))
        assert any(title.startswith("P(A), ") for title in row)
    if name != "debate.run":  # a single debate has no figures
        expected = flatten_metrics(metrics(run.folder))
        assert {key: run.kept.summary[key] for key in expected} == expected


@pytest.mark.e2e
def test_a_tournament_keeps_elo_and_the_judges_accuracy(runs: dict[str, Tracked]) -> None:
    run = runs["tournaments.swiss"]
    summary = run.kept.summary
    assert summary["players/a/elo"] == pytest.approx(-summary["players/b/elo"])
    ratings = (run.folder / "ratings.csv").read_text(encoding="utf-8").splitlines()
    columns = ratings[0].split(",")
    for row in (dict(zip(columns, line.split(","), strict=True)) for line in ratings[1:]):
        assert summary[f"players/{row['player']}/elo"] == pytest.approx(float(row["elo"]), rel=1e-4)
    right = [
        verdict["probabilities"][item["debate"]["transcript"]["question"]["gold"]] > 0.5
        for item in debates(run.folder)
        for verdict in item["verdicts"]
    ]
    assert summary["cross_play/accuracy"] == pytest.approx(sum(right) / len(right))
    ladder = run.kept.table("Ladder")
    assert {row[ladder["columns"].index("player")] for row in ladder["data"]} == {"a", "b"}


@pytest.mark.e2e
def test_consultancies_keep_the_win_rates(runs: dict[str, Tracked]) -> None:
    summary = runs["tournaments.consultancy"].kept.summary
    for player in ("a", "b"):
        both, right, wrong = (summary[f"players/{player}/win_rate_{side}"] for side in ("both", "right", "wrong"))
        assert both == pytest.approx((right + wrong) / 2)


UNTRACKED = """
import importlib
import sys
for mode in ("disabled", "online"):
    for name in {names}:
        command = importlib.import_module(name).COMMAND
        config, folder = f"{{name}}.yaml", f"{{name}}-{{mode}}"
        code = command.main(["--config", config, "--output", folder, "--wandb.mode", mode])
        print(mode, name, code, sorted({{module.partition(".")[0] for module in sys.modules}} & {{"wandb"}}))
"""


def test_no_wandb_unless_asked_for_and_online_without_a_key_is_refused_before_there_is_a_run(tmp_path: Path) -> None:
    for name, config in CONFIGS.items():
        write(tmp_path / f"{name}.yaml", config)
    done = subprocess.run(
        [sys.executable, "-c", UNTRACKED.format(names=tuple(CONFIGS))],
        cwd=tmp_path,
        env=environment(tmp_path, WANDB_MODE="offline"),  # a stray mode in the environment decides nothing
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    ended = [line for line in done.stdout.splitlines() if line.startswith(("disabled ", "online "))]
    assert ended == [
        *(f"disabled {name} 0 []" for name in CONFIGS),
        *(f"online {name} 2 ['wandb']" for name in CONFIGS),
    ]
    refused = [line for line in done.stderr.splitlines() if "wandb" in line]
    assert [line.partition("; set ")[0] for line in refused] == [
        f"{name}: wandb.mode: online needs an API key, and there is none" for name in CONFIGS
    ]
    assert done.stderr.splitlines()[-3:] == refused
    for name in CONFIGS:
        assert not (tmp_path / f"{name}-online").exists()
        assert (tmp_path / f"{name}-disabled" / "debates.jsonl").exists()
        assert not (tmp_path / f"{name}-disabled" / "wandb").exists()
