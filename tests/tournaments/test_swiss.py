"""The command ``python -m tournaments.swiss`` with scripted models: what it prints, writes, plans, refuses, resumes."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.runs import (
    ROOT,
    SCRIPTS,
    Ended,
    assert_refused,
    cells,
    debates,
    finish,
    found,
    metrics,
    start,
    swiss,
    tournament,
    write,
)
from tests.scripts import WEIGHTS

PLAYERS = ["evidence", "extractive", "extractive-three", "first", "second"]
EXTRACTIVE = [{"name": "a", "kind": "extractive"}, {"name": "b", "kind": "extractive", "quotes": 3}]


class Run(NamedTuple):
    """A finished run."""

    folder: Path
    config: Path
    ended: Ended


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("swiss")
    config = write(folder / "config.yaml", tournament())
    return Run(folder / "run", config, swiss("--config", config, "--output", folder / "run"))


def hold(folder: Path, *flags: object, **changes: Any) -> Ended:
    """Hold a tournament in ``folder / "run"``."""
    config = write(folder / "config.yaml", tournament(**changes))
    return swiss("--config", config, "--output", folder / "run", *flags)


# --- what it prints and writes ---------------------------------------------------------------------------------------


def test_the_ladder_shows_all_that_was_promised(done: Run) -> None:
    assert done.ended.code == 0, done.ended.err
    assert done.ended.errors == []
    out = done.ended.out
    head = out[out.index("Ladder") :].splitlines()[1]
    for column in (
        "player",
        "Elo",
        "matches",
        "quotes a speech",
        "verified",
        "words",
        "invalid speeches",
    ):
        assert column in head
    sides = out[out.index("\nBy assigned side\n") + 1 :].splitlines()
    for column in ("player", "Elo when right", "Elo when wrong", "wins when right", "wins when wrong"):
        assert column in sides[1]
    judged = out[out.index("\nJudge\n") + 1 :].splitlines()
    for column in ("judge right", "gold shown first", "gold shown second", "orders combined", "flips", "unparsed"):
        assert column in judged[1]
    for name in PLAYERS:
        assert any(line.startswith(f"self-play of {name} ") for line in judged)
    assert sorted(line.split()[1] for line in out[out.index("Ladder") :].splitlines()[3:8]) == PLAYERS
    for words in ("Judge", "lean to the first", "unparsed", "Cost", "calls", "tokens in", "tokens out", "Time of"):
        assert words in out
    assert "too few clusters" in out.lower()  # three stories are fewer than ten
    assert f"Report: {done.folder / 'report.html'}" in out


def test_the_folder_holds_configuration_store_exports_and_report(done: Run) -> None:
    tree = yaml.safe_load((done.folder / "config.yaml").read_text(encoding="utf-8"))
    origin = tree.pop("provenance")
    assert tree["judge"]["kind"] == "letter"  # resolved: defaults are written out
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if head.returncode == 0:
        assert origin["revision"].removesuffix("+changes") == head.stdout.strip()
    assert origin["versions"]["numpy"] == __import__("numpy").__version__
    assert {len(value) for value in origin["data"].values()} == {64}
    with (done.folder / "ratings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["player"] for row in rows) == PLAYERS
    assert all(float(row["low"]) < float(row["elo"]) < float(row["high"]) for row in rows)
    measured = metrics(done.folder)
    assert sorted(measured["players"]) == PLAYERS
    cross, own = measured["cross_play"], measured["self_play"]
    assert cross.keys() == own.keys()
    for part in (cross, own):
        assert part["failed_debates"] == part["unparsed"] == 0
        assert part["verdicts"] == 2 * part["debates"]
    held = debates(done.folder)
    # Ten matches, both assignments of three questions; each player on two questions against itself.
    assert len(held) == 10 * 2 * 3 + 5 * 2
    assert (cross["debates"], own["debates"]) == (10 * 2 * 3, 5 * 2)
    for player in measured["players"].values():
        assert {player[key]["status"] for key in ("when_right", "when_wrong")} <= {"ok", "undefeated", "winless"}
    assert len(list((done.folder / "debates").glob("*.html"))) == len(held)
    assert "<html" in (done.folder / "report.html").read_text(encoding="utf-8")
    connection = sqlite3.connect(done.folder / "run.sqlite")
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("debates", "verdicts")]  # noqa: S608 - two names
    connection.close()
    assert counts == [len(held), 2 * len(held)]


def test_everybody_argues_both_sides_of_every_question_and_both_orders_are_judged(done: Run) -> None:
    cross: Counter[tuple[str, ...]] = Counter()
    own: Counter[str] = Counter()
    for item in debates(done.folder):
        players = item["debate"]["players"]
        question = item["debate"]["transcript"]["question"]["id"]
        assert sorted(verdict["order"] for verdict in item["verdicts"]) == [[0, 1], [1, 0]]
        assert [turn["round"] for turn in item["debate"]["transcript"]["turns"]] == [1, 1, 2, 2]
        assert all(not turn["flaws"] for turn in item["debate"]["transcript"]["turns"])
        if players[0] == players[1]:
            own[players[0]] += 1
        else:
            cross[(*players, question)] += 1
    assert set(cross.values()) == {1}
    assert len({key[:2] for key in cross}) == 5 * 4  # a round robin, and both assignments
    assert own == dict.fromkeys(PLAYERS, 2)


def test_opening_speeches_do_not_depend_on_the_opponent(done: Run) -> None:
    openings: dict[tuple[str, str, int], set[str]] = {}
    for item in debates(done.folder):
        for turn in item["debate"]["transcript"]["turns"]:
            if turn["round"] == 1:
                question, side = item["debate"]["transcript"]["question"]["id"], turn["answer"]
                key = (item["debate"]["players"][side], question, side)
                openings.setdefault(key, set()).add(json.dumps(turn["argument"]))
    assert len(openings) == 5 * 2 * (3 + 2)
    assert all(len(texts) == 1 for texts in openings.values())


def test_a_second_run_and_a_resumed_one_find_the_same(done: Run, tmp_path: Path) -> None:
    assert swiss("--config", done.config, "--output", tmp_path / "again").code == 0
    assert found(tmp_path / "again") == found(done.folder)
    before = found(done.folder)
    again = swiss("--resume", done.folder)
    assert again.code == 0
    assert found(done.folder) == before
    ladder = done.ended.out[: done.ended.out.index("Cost")]
    assert again.out.startswith(ladder)


def test_a_player_without_a_verdict_is_named(tmp_path: Path) -> None:
    players = [*tournament()["players"][2:], {"name": "mute", "model": f"{SCRIPTS}:broken"}]
    ended = hold(tmp_path, players=players, protocol={"rounds": 1})
    assert ended.code == 1
    assert "Without a single verdict, so not rated: mute." in ended.out


# --- plans -----------------------------------------------------------------------------------------------------------


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
    own = sum(len(set(item["debate"]["players"])) == 1 for item in held)
    assert f"Plan: {len(held) - own} debates and {own} in self-play" in plan.out
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
    changes: dict[str, Any] = {"judge": {"model": "openai/gpt-4.1-mini"}}
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


# --- what it refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--judge.modl", "x/y"], ["judge.modl", "unknown key", "judge.model"]),
        (["--players.0.quots", "2"], ["players.0.quots", "players.0.quotes"]),
        (["--players.1.name", "first"], ["player named twice: first"]),
        (["--players.0.kind", "fre"], ["players.0.kind", "'fre'"]),
        (["--judge.model", "gpt-4.1-mini"], ["judge.model", "KIND/NAME"]),
        (["--judge.model", "scripted/tests.scripts:nobody"], ["scripted/MODULE:FUNCTION", "nobody"]),
        (["--judge.model.capabilities.context", "9"], ["judge.model", "context"]),
        (["--source", "stories"], ["unknown source 'stories'"]),
        (["--source", "quality:absent.jsonl"], ["absent.jsonl"]),
        (["--fold", "tests"], ["fold", "'tests'"]),
        (["--self_play.fold", "debater"], ["self_play shares", "with cross-play"]),
        (["--questions", "fresh"], ["3 questions", "5 rounds"]),
        (["--rounds", "0"], ["rounds", "greater than or equal to 1"]),
        (["--seed"], ["--seed needs a value"]),
        (["seed=3"], ["'seed' is not a flag"]),
    ],
)
def test_wrong_configurations_are_refused_in_one_line(tmp_path: Path, flags: list[str], words: list[str]) -> None:
    assert_refused(hold(tmp_path, *flags), *words)
    assert not (tmp_path / "run").exists()


def test_other_wrong_files_are_refused_in_one_line(tmp_path: Path) -> None:
    lacking = {key: value for key, value in tournament().items() if key != "judge"}
    assert_refused(swiss("--config", write(tmp_path / "a.yaml", lacking)), "a.yaml", "judge: missing")
    (tmp_path / "b.yaml").write_text("players: [{name: one\n", encoding="utf-8")
    assert_refused(swiss("--config", tmp_path / "b.yaml"), "b.yaml", "not YAML")
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    assert_refused(hold(tmp_path, "--source", f"questions:{tmp_path / 'empty.jsonl'}"), "holds no questions")
    assert_refused(swiss("--config", tmp_path / "none.yaml"), "cannot read", "none.yaml")
    assert_refused(swiss("--resume", tmp_path / "nothing"), "nothing is no run folder")


def test_a_missing_key_and_a_silent_server_are_refused_in_one_line(tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", tournament(judge={"model": {"name": "openai/gpt-4.1", "max_retries": 0}}))
    flags = ["--config", config, "--output", tmp_path / "run"]
    keyless = finish(start(*flags, OPENAI_API_KEY="", OPENAI_BASE_URL=""))
    assert_refused(keyless, "openai/gpt-4.1", "set OPENAI_API_KEY")
    assert not (tmp_path / "run").exists()  # so that the next try finds nothing in its way
    silent = finish(start(*flags, OPENAI_API_KEY="sk-secret", OPENAI_BASE_URL="http://127.0.0.1:9/v1"))
    assert_refused(silent, "cannot connect", "http://127.0.0.1:9/v1")


def test_a_run_is_not_overwritten_nor_resumed_with_another_configuration(done: Run, tmp_path: Path) -> None:
    before = found(done.folder)
    assert_refused(swiss("--config", done.config, "--output", done.folder), "exists already", "--resume")
    other = swiss("--resume", done.folder, "--seed", 2)
    assert_refused(other, "seed: 1 -> 2")
    assert "data" not in other.err
    assert found(done.folder) == before
    (tmp_path / "config.yaml").write_text("players: 3\njudge: {model: embedded/smollm2-135m}\n", encoding="utf-8")
    assert_refused(swiss("--config", done.config, "--resume", tmp_path), "players")


def test_data_that_changed_since_are_named(tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    rows = [
        {"id": str(index), "question": "Who?", "answers": ["He.", "She."], "story": f"Nobody saw ship number {index}."}
        for index in range(2)
    ]
    own.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    limits = {"min_words": 1, "max_words": 60}
    ended = hold(tmp_path, source=f"questions:{own}", fold=None, self_play=None, players=EXTRACTIVE, speech=limits)
    assert ended.code == 0, ended.err
    own.write_text(own.read_text(encoding="utf-8").replace("She", "They"), encoding="utf-8")
    assert_refused(swiss("--resume", tmp_path / "run"), "data.cross_play")


# --- runs that fail --------------------------------------------------------------------------------------------------


def test_too_many_unparsed_verdicts_fail_with_examples_and_all_outputs(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"judge": {"model": f"{SCRIPTS}:reasoning_judge", "kind": "reason"}}
    ended = hold(tmp_path, **changes)
    assert ended.code == 1
    (line,) = ended.errors
    measured = metrics(tmp_path / "run")
    unparsed = measured["cross_play"]["unparsed"] + measured["self_play"]["unparsed"]
    assert 20 < unparsed < 50  # a quarter of 140
    assert f"{unparsed} of 140 verdicts are unparsed, more than max_unparsed 0.02" in line
    assert "'I cannot tell who is right.'" in line
    assert (tmp_path / "run" / "report.html").is_file()
    assert (tmp_path / "run" / "ratings.csv").is_file()
    # An unparsed verdict is a win for nobody.
    assert metrics(tmp_path / "run")["outcomes"] == 120 - sum(
        verdict["probabilities"] is None
        for item in debates(tmp_path / "run")
        for verdict in item["verdicts"]
        if len(set(item["debate"]["players"])) == 2
    )
    assert swiss("--resume", tmp_path / "run", "--max_unparsed", "0.5").code == 2  # it decides results


def test_too_many_failed_debates_fail_with_reasons_and_all_outputs(tmp_path: Path) -> None:
    players = [*tournament()["players"][2:], {"name": "failing", "model": f"{SCRIPTS}:failing"}]
    ended = hold(tmp_path, players=players)
    assert ended.code == 1
    (line,) = ended.errors
    failed = [item for item in debates(tmp_path / "run") if item["debate"]["failed"]]
    assert all("failing" in item["debate"]["players"] for item in failed)
    measured = metrics(tmp_path / "run")
    assert measured["cross_play"]["failed_debates"] + measured["self_play"]["failed_debates"] == len(failed) > 5
    assert f"{len(failed)} of {len(debates(tmp_path / 'run'))} debates failed, more than max_failed 0.02" in line
    assert "as its script says" in line
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_run_without_any_verdict_says_why_and_keeps_its_debates(tmp_path: Path) -> None:
    players = [{"name": "one", "model": f"{SCRIPTS}:broken"}, {"name": "two", "model": f"{SCRIPTS}:broken"}]
    ended = hold(tmp_path, players=players, self_play=None)
    assert ended.code == 2
    (line,) = ended.errors
    assert "nobody can be rated" in line
    assert "the scripted model always fails" in line
    assert len(debates(tmp_path / "run")) == 6


def test_speeches_outside_the_limits_are_kept_and_counted(tmp_path: Path) -> None:
    players = [{"name": "wordless", "model": f"{SCRIPTS}:wordless_debater"}, *EXTRACTIVE]
    ended = hold(tmp_path, players=players, protocol={"rounds": 1}, self_play=None)
    assert ended.code == 0, ended.err
    (row,) = [line for line in ended.out.splitlines() if " wordless " in line]
    assert row.split()[-1] == "100.0%"
    turns = [
        turn
        for item in debates(tmp_path / "run")
        for turn in item["debate"]["transcript"]["turns"]
        if item["debate"]["players"][turn["answer"]] == "wordless"
    ]
    assert {len(turn["candidates"]) for turn in turns} == {3}  # every attempt is kept


def test_certain_verdicts_have_no_lean(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"judge": {"model": f"{SCRIPTS}:reasoning_judge", "kind": "reason"}}
    ended = hold(tmp_path, **changes, max_unparsed=1, self_play=None, players=EXTRACTIVE)
    (row,) = [line for line in ended.out.splitlines() if line.startswith("cross-play ")]
    assert metrics(tmp_path / "run")["cross_play"]["log_odds_shift"] is None
    assert row.split()[-3] == "–"  # before the unparsed share and the mass on letters, of which there is none either


# --- prompts, models and code of a run that is gone on with ----------------------------------------------------------


def test_an_edited_template_is_noticed_on_resume(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    template = tmp_path / "prompts" / "judge_letter.txt"
    text = (ROOT / "debate" / "prompts" / "judge_letter.txt").read_text(encoding="utf-8")
    template.write_text(text.replace("=== user", "=== user\nListen well."), encoding="utf-8")
    changes: dict[str, Any] = {"prompts": str(tmp_path / "prompts"), "players": EXTRACTIVE, "self_play": None}
    ended = hold(tmp_path, **changes)
    assert ended.code == 0, ended.err
    assert swiss("--resume", tmp_path / "run").code == 0
    template.write_text(text.replace("=== user", "=== user\nListen badly."), encoding="utf-8")
    assert_refused(swiss("--resume", tmp_path / "run"), "prompts.judge_letter")


def test_wrong_prompt_folders_are_refused_before_there_is_a_run(tmp_path: Path) -> None:
    assert_refused(hold(tmp_path, prompts=str(tmp_path / "prompts")), "prompts is not a folder")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "judge_letter.txt").write_text("=== user\n{{question}}\n", encoding="utf-8")
    refused = hold(tmp_path, prompts=str(tmp_path / "prompts"))
    assert_refused(refused, "judge_letter.txt", "missing ['answer_a', 'answer_b', 'transcript']")
    assert not (tmp_path / "run").exists()


def test_other_weights_are_noticed_on_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    players = [{"name": "one", "model": f"{SCRIPTS}:changing"}, *EXTRACTIVE]
    assert hold(tmp_path, players=players, self_play=None).code == 0
    assert json.loads((tmp_path / "run" / "models.json").read_text())[f"{SCRIPTS}:changing"] == "one"
    monkeypatch.setenv(WEIGHTS, "two")
    refused = swiss("--resume", tmp_path / "run")
    assert_refused(refused, f"{SCRIPTS}:changing", "weights, device, number type", "one -> two")
    monkeypatch.delenv(WEIGHTS)
    assert swiss("--resume", tmp_path / "run").code == 0


def test_another_revision_of_the_code_is_warned_of(done: Run, tmp_path: Path) -> None:
    shutil.copytree(done.folder, tmp_path / "run")
    tree = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text(encoding="utf-8"))
    if tree["provenance"]["revision"] is None:
        pytest.skip("this is no checkout, so there is no revision to differ")
    tree["provenance"]["revision"] = "0123abc"
    write(tmp_path / "run" / "config.yaml", tree)
    ended = swiss("--resume", tmp_path / "run")
    assert ended.code == 0
    (line,) = ended.errors
    assert "was started by another revision of the code: 0123abc -> " in line


def test_ratings_are_kept_by_what_they_were_made_from(done: Run, tmp_path: Path) -> None:
    shutil.copytree(done.folder, tmp_path / "run")
    assert swiss("--resume", tmp_path / "run").code == 0
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    ((key, payload),) = connection.execute("SELECT key, payload FROM ratings").fetchall()
    connection.close()
    assert len(key) == 64
    with (tmp_path / "run" / "ratings.csv").open(encoding="utf-8", newline="") as file:
        table = [(row["player"], row["elo"], row["status"]) for row in csv.DictReader(file)]
    assert [(row["player"], f"{row['elo']:.4f}", row["status"]) for row in json.loads(payload)] == table


# --- budgets ---------------------------------------------------------------------------------------------------------


def test_a_budget_stops_cleanly_and_a_larger_one_goes_on(done: Run, tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", tournament())
    stopped = swiss("--config", config, "--output", tmp_path / "run", "--budget.max_calls", 100)
    assert stopped.code == 2
    (line,) = stopped.errors
    assert "max_calls 100 is spent" in line
    assert "resume" in line
    again = swiss("--resume", tmp_path / "run")  # the budget is the run's own, until another is given
    assert again.code == 2
    for budget in (250, 10_000):
        ended = swiss("--resume", tmp_path / "run", "--budget.max_calls", budget)
    assert ended.code == 0, ended.err
    assert found(tmp_path / "run") == found(done.folder)
    # No call was made twice.
    assert [row[:2] for row in cells(ended.out, "Cost")] == [row[:2] for row in cells(done.ended.out, "Cost")]


# --- help ------------------------------------------------------------------------------------------------------------


def test_help_imports_no_heavy_library() -> None:
    script = (
        "import sys; from tournaments.swiss import COMMAND; code = COMMAND.main(['--help']);"
        "heavy = {'torch', 'transformers', 'openai', 'scipy', 'plotly', 'wandb', 'httpx', 'httpx2'} & set(sys.modules);"
        "print('heavy:', sorted(heavy)); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "heavy: []"
    for flag in ("--config", "--output", "--resume", "--dry-run", "--seed", "--players.0.model", "--budget.max_calls"):
        assert flag in done.stdout
