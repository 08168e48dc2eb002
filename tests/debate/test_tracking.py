from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from debate.config import parse
from debate.errors import ConfigError
from debate.question import Question
from debate.quotes import parse_argument
from debate.record import Debate, Recorded
from debate.report.table import Column, Interval, Table
from debate.tracking import (
    TrackingConfig,
    _complaints,
    flatten_metrics,
    flatten_table,
    sample,
    transcripts_table,
)
from debate.transcript import Transcript, Turn
from debate.verdict import Verdict
from tests.offline import environment, read_offline, records

ROOT = Path(__file__).resolve().parents[2]
STORY = "The lamp was lit at nine. Nobody came to the door. The tins stood in a row."
ATTACK = "<script>alert(1)</script> ![x](http://evil.example/x) \ud800 <quote>lit at nine by the lamp</quote>"
KEY = "0123456789abcdef" * 3


def recorded(name: str, *, seats: tuple[int, int] = (0, 1), verdicts: tuple[Verdict, ...] = ()) -> Recorded:
    question = Question(f"q-{name}", "When was it lit?", ("At nine.", "At ten."), 0, STORY, "s", "test")
    turns = (
        Turn(1, "debater", 0, parse_argument("It says <quote>The lamp was lit at nine.</quote> So I am right.", STORY)),
        Turn(1, "debater", 1, parse_argument(ATTACK, STORY), thinking="SECRET THOUGHT"),
    )
    return Recorded(Debate(name, "simultaneous", Transcript(question, seats, turns), ("first", "second")), verdicts)


DEBATES = [
    recorded(
        "d1",
        verdicts=(
            Verdict("judge", (0, 1), (0.75, 0.25)),
            Verdict("judge", (1, 0), None, unparsed="no letter in the reply"),
        ),
    ),
    recorded("d2", verdicts=(Verdict("judge", (0, 1), (0.5, 0.5)), Verdict("judge", (1, 0), (0.125, 0.875)))),
]
LADDER = Table(
    "Ladder / <b>all</b>",
    (Column("player"), Column("Elo", kind="rating"), Column("n", kind="count")),
    [
        ["a", Interval(12.5, -3.0, 28.0), 4],
        ["b", "unbounded (900)", 5],
        ["c", Interval(1.0, -math.inf, math.inf), None],
    ],
)
METRICS = {
    "judge": "judge",
    "cross_play": {"accuracy": [0.75, 0.5, None], "flip_rate": None, "debates": 2},
    "players": {"a": {"elo": 12.5, "elo_interval": [-3.0, 28.0], "status": "ok"}},
    "few_clusters": True,
}


def test_metrics_become_single_values() -> None:
    assert flatten_metrics(METRICS) == {
        "judge": "judge",
        "cross_play/accuracy": 0.75,
        "cross_play/accuracy/low": 0.5,
        "cross_play/accuracy/high": None,
        "cross_play/flip_rate": None,
        "cross_play/debates": 2,
        "players/a/elo": 12.5,
        "players/a/elo_interval/low": -3.0,
        "players/a/elo_interval/high": 28.0,
        "players/a/status": "ok",
        "few_clusters": True,
    }
    assert flatten_metrics({"x": [1, 2, 3, 4], "y": ["s", "t"], "z": math.nan, "\ud800": "a\udfff", "e": {}}) == {
        "x/0": 1,
        "x/1": 2,
        "x/2": 3,
        "x/3": 4,
        "y/0": "s",
        "y/1": "t",
        "z": None,
        "?": "a?",
    }


def test_a_table_gets_columns_of_one_kind() -> None:
    columns, rows = flatten_table(LADDER)
    assert columns == ["player", "Elo", "Elo low", "Elo high", "Elo (text)", "n"]
    assert rows == [
        ["a", 12.5, -3.0, 28.0, None, 4],
        ["b", None, None, None, "unbounded (900)", 5],
        ["c", 1.0, None, None, None, None],
    ]
    twice = Table("t", (Column("x"), Column("x")), [[1, None], [2, True]])
    assert flatten_table(twice) == (["x", "x (2)"], [[1, None], [2, "yes"]])
    assert flatten_table(Table("empty", (Column("x"),), [])) == (["x"], [])


def test_the_sample_follows_from_seed_and_ids_alone() -> None:
    debates = [recorded(f"d{number:02}") for number in range(40)]
    drawn = [item.debate.id for item in sample(debates, 8, seed=1)]
    assert len(set(drawn)) == 8
    assert drawn == sorted(drawn)
    shuffled = list(debates)
    random.Random(7).shuffle(shuffled)
    assert [item.debate.id for item in sample(shuffled, 8, seed=1)] == drawn
    assert set(drawn) < {item.debate.id for item in sample(debates, 9, seed=1)}
    assert [item.debate.id for item in sample(debates, 8, seed=2)] != drawn
    assert len(sample(debates, 100, seed=1)) == 40


def test_every_debate_is_drawn_equally_often() -> None:
    debates = [recorded(f"d{number}") for number in range(5)]
    counts = dict.fromkeys((item.debate.id for item in debates), 0)
    for seed in range(1000):
        for item in sample(debates, 2, seed):
            counts[item.debate.id] += 1
    # Binomial(1000, 0.4): mean 400, standard deviation 15.5.
    assert all(abs(count - 400) < 4 * 15.5 for count in counts.values()), counts


def test_transcripts_hold_what_the_judge_sees_in_the_seats_of_the_debate() -> None:
    swapped = recorded("d3", seats=(1, 0), verdicts=(Verdict("judge", (1, 0), (0.25, 0.75)),))
    columns, rows = flatten_table(transcripts_table([*DEBATES, swapped]))
    first, second, third = (dict(zip(columns, row, strict=True)) for row in rows)
    assert [row["debate"] for row in (first, second, third)] == ["d1", "d2", "d3"]
    assert (first["answer A"], first["answer B"], first["player A"], first["player B"], first["gold"]) == (
        "At nine.",
        "At ten.",
        "first",
        "second",
        "A",
    )
    assert (third["answer A"], third["player A"], third["gold"]) == ("At ten.", "second", "B")
    # The probability is of answer A, which is answer 1 where the seats are exchanged.
    assert third["P(A), judge, A shown first"] == 0.75
    assert first["P(A), judge, A shown first"] == 0.75
    assert first["P(A), judge, A shown second"] is None
    assert first["P(A), judge, A shown second (text)"] == "no letter in the reply"
    assert second["P(A), judge, A shown second"] == 0.125
    text = str(first["transcript"])
    assert text.startswith("Round 1\nDebater A: It says <v_quote>The lamp was lit at nine.</v_quote>")
    assert "<u_quote>" in text
    assert "SECRET" not in json.dumps(rows)
    assert not any(tag in text for tag in ("<script", "\ud800"))
    json.dumps(rows).encode()


@pytest.mark.parametrize("project", ["", "a/b", "x" * 129, "50%"])
def test_a_project_name_that_wandb_refuses_is_refused_before_the_run(project: str) -> None:
    with pytest.raises(ConfigError, match="project"):
        parse(TrackingConfig, {"project": project}, where="wandb")


def test_what_wandb_complains_of_is_told_in_one_line() -> None:
    heard = "wandb: setting up\nwandb: \x1b[41mERROR\x1b[0m upload  failed\nwandb: ERROR again\n"
    assert _complaints(heard) == "upload failed"
    assert _complaints("wandb: done\n") == ""


def python(code: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


LOG = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from test_tracking import *
from debate.tracking import check, log_run
check(TrackingConfig())
settings = {{"seed": 1, "judge": {{"model": {{"base_url": "http://user:password@host/v1"}}}}, "odd": "a\\ud800"}}
config = parse(TrackingConfig, {config!r}, where="wandb")
log_run(config, run_folder=Path({folder!r}), command="tournaments.swiss", settings=settings, tables=[LADDER],
        metrics=METRICS, recorded=DEBATES, seed=1)
print("wandb" in sys.modules)
"""


def track(folder: Path, env: Mapping[str, str], **config: object) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    return python(LOG.format(here=str(Path(__file__).parent), config=config, folder=str(folder)), env)


def test_disabled_does_nothing_and_does_not_import_wandb(tmp_path: Path) -> None:
    done = track(tmp_path / "run", environment(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
    assert list((tmp_path / "run").iterdir()) == []


def test_offline_keeps_all_in_the_run_folder_and_a_resumed_run_goes_on_with_its_id(tmp_path: Path) -> None:
    # A stray mode in the environment decides nothing.
    env = environment(tmp_path, WANDB_MODE="disabled", WANDB_API_KEY=KEY, WANDB_CACHE_DIR=str(tmp_path / "cache"))
    done = track(tmp_path / "run", env, mode="offline", project="p", group="g", transcripts=1)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (folder,) = (tmp_path / "run" / "wandb").glob("offline-run-*")
    assert done.stdout.splitlines() == [f"wandb: kept in {folder}; send it with `wandb sync {folder}`", "True"]

    kept = read_offline(folder)
    assert kept.exit_code == 0
    assert kept.project == "p"
    assert kept.run_id == (tmp_path / "run" / "wandb-id.txt").read_text().strip()
    assert kept.config["seed"] == 1
    assert kept.config["judge"] == {"model": {"base_url": "http://host/v1"}}
    assert kept.config["odd"] == "a?"
    expected = flatten_metrics(METRICS)
    assert {key: kept.summary[key] for key in expected} == expected
    tables = {key for key, value in kept.summary.items() if isinstance(value, dict) and "nrows" in value}
    assert tables == {"Ladder _ _b_all_b_", "transcripts"}  # the title names a file
    ladder = kept.table("Ladder _ _b_all_b_")
    assert (ladder["columns"], ladder["data"]) == flatten_table(LADDER)
    transcripts = kept.table("transcripts")
    columns, rows = flatten_table(transcripts_table(sample(DEBATES, 1, 1)))
    assert (transcripts["columns"], transcripts["data"]) == (columns, rows)
    assert kept.summary["transcripts"]["nrows"] == 1
    # Nothing of the machine, the code or the key goes along, and no table lies elsewhere.
    assert all(name.startswith("media/table/") for name in kept.files)
    assert kept.host == ""
    everything = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    for secret in (KEY, "password", "SECRET"):
        assert secret.encode() not in everything, secret
    elsewhere = [path for path in tmp_path.rglob("*") if path.is_file() and tmp_path / "run" not in path.parents]
    assert not any(b"lamp was lit" in path.read_bytes() for path in elsewhere)

    again = track(tmp_path / "run", env, mode="offline", project="p", transcripts=0)
    assert again.returncode == 0, again.stderr
    runs = [read_offline(path) for path in sorted((tmp_path / "run" / "wandb").glob("offline-run-*"))]
    assert [run.run_id for run in runs] == [kept.run_id] * 2
    assert "transcripts" in runs[0].summary
    assert "transcripts" not in runs[1].summary


def test_what_cannot_be_kept_is_a_warning(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "wandb-id.txt").mkdir()  # where the id should stand
    done = track(folder, environment(tmp_path), mode="offline")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True\n"
    assert done.stderr.startswith("tournaments.swiss: tracking in wandb (offline) failed: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.faults
def test_a_server_that_does_not_answer_keeps_the_run_offline(tmp_path: Path) -> None:
    env = environment(tmp_path, WANDB_API_KEY=KEY, WANDB_BASE_URL="http://127.0.0.1:9", WANDB_INIT_TIMEOUT="1")
    done = track(tmp_path / "run", env, mode="online", project="p")
    assert done.returncode == 0, done.stderr
    (warning,) = done.stderr.splitlines()
    assert warning.startswith("tournaments.swiss: tracking in wandb (online) failed: ")
    assert warning.endswith("; keeping it offline")
    assert KEY not in done.stderr + done.stdout
    kept = read_offline(next((tmp_path / "run" / "wandb").glob("offline-run-*")))
    assert kept.exit_code == 0
    assert kept.summary["players/a/elo"] == 12.5


CHECK = """
import os
from debate.errors import ConfigError
from debate.tracking import TrackingConfig, check

def tried():
    try:
        check(TrackingConfig(mode="online"))
    except ConfigError as error:
        print(error)
    else:
        print("fine")

tried()
os.environ["WANDB_API_KEY"] = "not-a-whole-key"
tried()
check(TrackingConfig(mode="offline"))
os.environ["WANDB_API_KEY"] = {key!r}
tried()
del os.environ["WANDB_API_KEY"]
with open(os.environ["NETRC"], "w") as file:
    file.write("machine api.wandb.ai login user password {key}")
tried()
"""


def test_online_needs_a_whole_key_from_environment_or_login_and_asks_for_none(tmp_path: Path) -> None:
    done = python(CHECK.format(key=KEY), environment(tmp_path, WANDB_MODE="offline"))
    assert (done.returncode, done.stderr) == (0, "")
    nothing, half, *whole = done.stdout.splitlines()
    assert nothing.startswith("wandb.mode: online needs an API key, and there is none; set WANDB_API_KEY")
    assert "--wandb.mode offline" in nothing
    assert half.startswith("wandb.mode: online needs a valid API key: ")
    assert "not-a-whole-key" not in half
    assert whole == ["fine", "fine"]


SERIES = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from test_tracking import *
from debate.report.figure import dots, Dot
from debate.tracking import Folder, Series, log_run, or_offline
folder = Path({folder!r})
(folder / "judge" / "adapter").mkdir(parents=True, exist_ok=True)
(folder / "judge" / "adapter" / "weights.bin").write_bytes(b"weights")
config = or_offline(parse(TrackingConfig, {config!r}, where="wandb"), "training.loop")
lines = [{{"step": step, "loss": 1 / step, "eval_loss": None}} for step in {steps!r}]
log_run(config, run_folder=folder, command="training.loop", settings={{}}, tables=[LADDER], metrics=METRICS,
        recorded=[], seed=1, series=[Series("judge", "step", lines)], figures=[dots("Elo", [Dot("a", 1.0, 0.0, 2.0)])],
        folders=[Folder("judge-1", "adapter", folder / "judge" / "adapter"), Folder("none", "dataset", folder / "no")])
"""


def follow(folder: Path, env: Mapping[str, str], steps: list[int], mode: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    code = SERIES.format(here=str(Path(__file__).parent), config={"mode": mode}, folder=str(folder), steps=steps)
    return python(code, env)


def history(folder: Path) -> list[dict[str, object]]:
    """The lines that an offline run logged."""
    (log,) = folder.glob("run-*.wandb")
    found = []
    for record in records(log):
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            found.append({item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items})
    return found


def test_series_have_steps_of_their_own_so_that_a_lower_step_after_a_resume_is_kept(tmp_path: Path) -> None:
    env = environment(tmp_path)
    for steps in ([1, 2, 3], [2, 3, 4]):  # a training that was gone on with tells of a step again
        done = follow(tmp_path / "run", env, steps, "offline")
        assert done.returncode == 0, done.stderr
    runs = sorted((tmp_path / "run" / "wandb").glob("offline-run-*"))
    assert len({read_offline(run).run_id for run in runs}) == 1
    for run, steps in zip(runs, ([1, 2, 3], [2, 3, 4]), strict=True):
        lines = [line for line in history(run) if "judge/step" in line]
        assert [line["judge/step"] for line in lines] == steps
        assert [line["judge/loss"] for line in lines] == pytest.approx([1 / step for step in steps])
    (log,) = runs[0].glob("run-*.wandb")
    metrics = [record.metric for record in records(log) if record.WhichOneof("record_type") == "metric"]
    along = {metric.glob_name or metric.name: metric.step_metric for metric in metrics}
    assert along["judge/*"] == "judge/step"


def test_figures_are_kept_and_folders_are_artifacts(tmp_path: Path) -> None:
    done = follow(tmp_path / "run", environment(tmp_path), [1], "offline")
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "run" / "wandb").glob("offline-run-*")
    kept = read_offline(run)
    drawn = json.loads((run / "files" / kept.summary["Elo"]["path"]).read_text(encoding="utf-8"))
    assert drawn["data"][0]["x"] == [1.0]
    assert drawn["data"][0]["marker"]["color"].startswith("#")  # a colour, not its name in the style sheet
    assert kept.artifacts["judge-1"] == "adapter"
    assert "none" not in kept.artifacts


def test_without_a_key_one_line_says_how_to_log_in_and_the_run_goes_on_offline(tmp_path: Path) -> None:
    done = follow(tmp_path / "run", environment(tmp_path), [1], "online")
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert "WANDB_API_KEY" in line
    assert "wandb login" in line
    assert line.endswith("going on offline")
    assert list((tmp_path / "run" / "wandb").glob("offline-run-*"))
