"""The command ``python -m tournaments.consultancy`` with scripted models: what it prints, writes, plans and refuses."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from debate.config import parse
from debate.metrics.recovery import gap_recovered
from debate.record import Recorded, from_json
from tests.commands import assert_refuses, call
from tests.runs import SCRIPTS, Ended, Run, cells, debates, metrics, swiss, tournament, write
from tournaments.config import ConsultancyConfig, SwissConfig
from tournaments.consultancy import COMMAND

PLAYERS = ["extractive", "first", "second"]


def config(**changes: Any) -> dict[str, Any]:
    """Three consultants and a judge that asks, on four questions of two stories, with both baselines."""
    return {
        "source": "shipped:stories",
        "fold": "debater",
        "stories": 2,
        "per_story": 2,
        "protocol": {"kind": "consultancy", "rounds": 2},
        "speech": {"min_words": 25, "max_words": 60, "max_tokens": 200},
        "players": [
            {"name": "first", "model": f"{SCRIPTS}:debater"},
            {"name": "second", "model": f"{SCRIPTS}:second_debater"},
            {"name": "extractive", "kind": "extractive"},
        ],
        "judge": {"model": f"{SCRIPTS}:asking_judge"},
        "baselines": ["blind", "expert"],
        "seed": 1,
    } | changes


def hold(folder: Path, *flags: object, **changes: Any) -> Ended:
    return call(COMMAND, "--config", write(folder / "c.yaml", config(**changes)), "--output", folder / "run", *flags)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("consultancy")
    ended = hold(folder)
    return Run(folder / "run", folder / "c.yaml", ended)


def read(folder: Path) -> list[Recorded]:
    return [from_json(Recorded, line) for line in (folder / "debates.jsonl").read_text(encoding="utf-8").splitlines()]


def test_what_it_prints(held: Run) -> None:
    assert held.ended.code == 0, held.ended.err
    out = held.ended.out
    head = out[out.index("Consultants\n") :].splitlines()[1]
    for column in ("win rate", "when right", "when wrong", "consultancies", "quotes a speech", "invalid speeches"):
        assert column in head
    rows = cells(out, "Consultants\n")
    assert sorted(row[1] for row in rows) == PLAYERS
    assert [row[0] for row in rows] == ["1", "2", "3"]
    shares = [float(row[2].split("%")[0]) for row in rows]
    assert shares == sorted(shares, reverse=True)
    for name in PLAYERS:
        assert f"consultancies of {name}" in out
    for words in ("blind, no debate", "expert, no debate", "PGR", "Cost", f"Report: {held.folder / 'report.html'}"):
        assert words in out


def test_every_question_is_argued_for_both_answers_and_half_are_right(held: Run) -> None:
    consultancies = [item for item in debates(held.folder) if item["debate"]["protocol"] == "consultancy"]
    counts: Counter[tuple[str, str, int]] = Counter()
    right: Counter[str] = Counter()
    seats: dict[str, set[tuple[int, ...]]] = {}
    for item in consultancies:
        debate = item["debate"]
        question = debate["transcript"]["question"]
        (answer,) = (at for at, name in enumerate(debate["players"]) if name is not None)
        counts[(debate["players"][answer], question["id"], answer)] += 1
        right[debate["players"][answer]] += answer == question["gold"]
        seats.setdefault(question["id"], set()).add(tuple(debate["transcript"]["seats"]))
        assert [(turn["round"], turn["role"]) for turn in debate["transcript"]["turns"]] == [
            (1, "consultant"),
            (2, "judge"),
            (2, "consultant"),
        ]
        assert sorted(verdict["order"] for verdict in item["verdicts"]) == [[0, 1], [1, 0]]
    assert set(counts.values()) == {1}
    assert len(counts) == 3 * 4 * 2
    assert right == dict.fromkeys(PLAYERS, 4)
    assert {len(kinds) for kinds in seats.values()} == {1}  # both assignments sit alike


def plain_rate(items: list[dict[str, Any]], name: str, *, right: bool, soft: bool = False) -> float:
    """The win rate of one assignment, from the lines of debates.jsonl, in plain loops."""
    won: list[float] = []
    for item in items:
        players, gold = item["debate"]["players"], item["debate"]["transcript"]["question"]["gold"]
        for answer in (0, 1):
            if players[answer] == name and (answer == gold) == right:
                shares = [verdict["probabilities"][answer] for verdict in item["verdicts"]]
                won += shares if soft else [1.0 if share > 0.5 else 0.0 if share < 0.5 else 0.5 for share in shares]
    assert len(won) == 8
    return sum(won) / len(won)


def test_metrics_are_those_of_the_debates(held: Run) -> None:
    found, items = metrics(held.folder), debates(held.folder)
    assert sorted(found["players"]) == PLAYERS
    for name, player in found["players"].items():
        rates = [plain_rate(items, name, right=right) for right in (True, False)]
        assert player["win_rate_right"][0] == pytest.approx(rates[0])
        assert player["win_rate_wrong"][0] == pytest.approx(rates[1])
        assert player["win_rate_both"][0] == pytest.approx(sum(rates) / 2)
        assert (player["debates"], player["verdicts"], player["unparsed"]) == (8, 16, 0)
        # A judge is right where it follows a consultant that is right, and where it does not follow one that is wrong.
        assert player["accuracy"][0] == pytest.approx((rates[0] + 1 - rates[1]) / 2)
    assert found["consultancies"]["debates"] == 24
    assert found["blind"]["debates"] == found["expert"]["debates"] == 4
    gap = gap_recovered(
        *(
            [item for item in read(held.folder) if item.debate.protocol == protocol]
            for protocol in ("consultancy", "blind", "expert")
        )
    )
    assert ("pgr" in found["consultancies"]) == (gap is not None)
    for name, player in found["players"].items():
        assert ("pgr" in player) == (gap is not None)
        if gap is not None:
            of_all = {what: found[what]["accuracy"][0] for what in ("blind", "expert")}
            own = (player["accuracy"][0] - of_all["blind"]) / (of_all["expert"] - of_all["blind"])
            assert player["pgr"][0] == pytest.approx(own), name
    if gap is not None:
        accuracy = {name: found[name]["accuracy"][0] for name in ("consultancies", "blind", "expert")}
        value = (accuracy["consultancies"] - accuracy["blind"]) / (accuracy["expert"] - accuracy["blind"])
        assert found["consultancies"]["pgr"][0] == pytest.approx(gap.value) == pytest.approx(value)


def test_the_folder_and_the_report(held: Run) -> None:
    names = {path.name for path in held.folder.iterdir()}
    assert {"config.yaml", "run.sqlite", "debates.jsonl", "metrics.json", "report.html", "debates"} <= names
    assert len(list((held.folder / "debates").glob("*.html"))) == len(debates(held.folder)) == 24 + 8
    page = (held.folder / "report.html").read_text(encoding="utf-8")
    for words in ("Consultancies", "win rate", "when wrong", "consultancies of extractive", "PGR"):
        assert words in page


def test_soft_rates_are_probabilities(tmp_path: Path) -> None:
    ended = hold(tmp_path, outcome="soft", baselines=[])
    assert ended.code == 0, ended.err
    assert "PGR" not in ended.out
    items = debates(tmp_path / "run")
    for name, player in metrics(tmp_path / "run")["players"].items():
        rates = [plain_rate(items, name, right=right, soft=True) for right in (True, False)]
        assert player["win_rate_both"][0] == pytest.approx(sum(rates) / 2)


def kept(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    connection = sqlite3.connect(folder / "run.sqlite")
    (calls,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    connection.close()
    return debates(folder), metrics(folder), calls


def test_a_stopped_run_goes_on_to_what_an_unstopped_one_finds(held: Run, tmp_path: Path) -> None:
    stopped = call(COMMAND, "--config", held.config, "--output", tmp_path / "run", "--budget.max_calls", 40)
    assert stopped.code == 2
    assert "max_calls 40 is spent" in stopped.err
    ended = call(COMMAND, "--resume", tmp_path / "run", "--budget.max_calls", 10_000)
    assert ended.code == 0, ended.err
    assert kept(tmp_path / "run") == kept(held.folder)
    again = call(COMMAND, "--resume", tmp_path / "run")
    assert again.code == 0, again.err
    assert kept(tmp_path / "run") == kept(held.folder)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"protocol": {"kind": "consultancy", "rounds": 3, "static": True}},
        {"protocol": {"kind": "consultancy", "rounds": 3, "questioner": {"model": f"{SCRIPTS}:reasoning_judge"}}},
        {"protocol": {"kind": "consultancy", "rounds": 1}, "baselines": ["expert"]},
        {"judge": {"model": f"{SCRIPTS}:words_only_judge", "votes": 3}},
        {
            "players": [
                {"name": "evidence", "kind": "evidence_first", "model": f"{SCRIPTS}:debater", "drafts": 2},
                {"name": "picking", "kind": "evidence_first", "model": f"{SCRIPTS}:picking_debater"},
                {"name": "roomy", "model": f"{SCRIPTS}:debater", "speech": {"min_words": 20, "max_words": 90}},
            ],
            "stories": 1,
        },
    ],
    ids=["asking", "static", "another asks", "one round", "votes", "evidence"],
)
def test_a_plan_counts_the_calls_that_are_made(tmp_path: Path, changes: dict[str, Any]) -> None:
    plan = hold(tmp_path, "--dry-run", **changes)
    assert plan.code == 0, plan.err
    assert not (tmp_path / "run").exists()
    ended = hold(tmp_path, **changes)
    assert ended.code == 0, ended.err
    planned = [row[:2] for row in cells(plan.out, "Plan: ")]
    assert planned
    assert planned == [row[:2] for row in cells(ended.out, "Cost")]
    items = debates(tmp_path / "run")
    silent = sum(item["debate"]["players"] == [None, None] for item in items)
    rest = f" and {silent} questions without a debate" if silent else ""
    assert f"Plan: {len(items) - silent} debates{rest}\n" in plan.out
    static = changes.get("protocol", {}).get("static", False) or changes.get("protocol", {}).get("rounds") == 1
    asked = [turn for item in items for turn in item["debate"]["transcript"]["turns"] if turn["role"] == "judge"]
    assert bool(asked) != static


@pytest.mark.parametrize("kind", ["simultaneous", "sequential", "interactive", "double_consultancy"])
def test_debates_are_refused_with_where_to_hold_them(tmp_path: Path, kind: str) -> None:
    refused = hold(tmp_path, protocol={"kind": kind})
    assert_refuses(COMMAND, refused, f"a {kind} has two speakers", "tournaments.swiss", "kind consultancy")
    assert not (tmp_path / "run").exists()


def test_a_tournament_of_consultancies_is_refused_with_where_to_hold_them(tmp_path: Path) -> None:
    path = write(tmp_path / "t.yaml", tournament(protocol={"kind": "consultancy"}))
    ended = swiss("--config", path, "--output", tmp_path / "run")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    for words in ("a consultancy has one", "tournaments.consultancy", "double_consultancy"):
        assert words in ended.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--protocol.kind", "consultency"], ["kind is one of", "did you mean 'consultancy'?"]),
        (["--protocol.kind", "interactive", "--protocol.static", "true"], ["static is for consultancies"]),
        (["--protocol.options.tone", "dry"], ["options are for a protocol of your own"]),
        (["--protocol.rounds", "0"], ["protocol.rounds"]),
        (["--baselines", "[blind, deaf]"], ["baselines.1", "'blind' or 'expert'"]),
        (["--self_play.stories", "2"], ["self_play", "unknown key"]),
        (["--players.1.name", "first"], ["player named twice: first"]),
    ],
)
def test_wrong_configurations_are_refused_in_one_line(tmp_path: Path, flags: list[str], words: list[str]) -> None:
    assert_refuses(COMMAND, hold(tmp_path, *flags), *words)
    assert not (tmp_path / "run").exists()


def test_a_consultant_that_fails_has_no_rate_and_a_field_of_such_says_why(tmp_path: Path) -> None:
    broken = {"name": "broken", "model": f"{SCRIPTS}:broken"}
    ended = hold(tmp_path, players=[broken, *config()["players"][2:]], baselines=[])
    assert ended.code == 1
    rows = cells(ended.out, "Consultants\n")
    assert [row[1] for row in rows] == ["extractive", "broken"]
    assert "8 of 16 debates failed" in ended.err
    assert "win_rate_both" not in metrics(tmp_path / "run")["players"]["broken"]
    (tmp_path / "all").mkdir()
    none = hold(tmp_path / "all", players=[broken], baselines=[])
    assert none.code == 2
    assert "no consultancy has a verdict" in none.err
    assert "the scripted model always fails" in none.err
    assert len(debates(tmp_path / "all" / "run")) == 8


def test_a_judge_that_asks_nothing_is_flagged_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(json.dumps(config()), encoding="utf-8")
    judge = {"model": f"{SCRIPTS}:judge"}  # its replies are empty
    ended = hold(tmp_path, judge=judge, baselines=[])
    assert ended.code == 0, ended.err
    asked = [
        turn
        for item in debates(tmp_path / "run")
        for turn in item["debate"]["transcript"]["turns"]
        if turn["role"] == "judge"
    ]
    assert {(tuple(turn["flaws"]), len(turn["candidates"])) for turn in asked} == {(("it asks nothing",), 2)}


@pytest.mark.parametrize("kind", ["consultancy", "double_consultancy"])
def test_consultants_may_say_more_than_debaters(kind: str) -> None:
    names = "a" if kind == "consultancy" else "ab"
    players = [{"name": name, "kind": "extractive"} for name in names]
    tree: dict[str, Any] = {"judge": {"model": "scripted/m:f"}, "players": players}
    config = ConsultancyConfig if kind == "consultancy" else SwissConfig
    assert parse(config, tree | {"protocol": {"kind": kind}}, where="t").speech.max_words == 300
    own = parse(config, tree | {"protocol": {"kind": kind}, "speech": {"max_words": 90}}, where="t")
    assert own.speech.max_words == 90
    if kind == "double_consultancy":
        assert parse(config, tree, where="t").speech.max_words == 150
    else:
        assert parse(config, tree, where="t").speech.max_words == 300
