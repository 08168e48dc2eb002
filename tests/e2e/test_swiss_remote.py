"""The Swiss command against a real chat-completions server: another process, reached over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs import ROOT, Ended, assert_refused, cells, debates, finish, found, metrics, start
from tests.servers import ChatServer, running_chat_server

pytestmark = pytest.mark.e2e

KEY = "sk-very-secret-key-of-a-user"
OPENAI = ROOT / "configs" / "swiss" / "openai.yaml"
#: Small enough for a test: two rounds, three questions from three stories, and two in self-play.
SMALL = ("--stories", 3, "--per_story", 1, "--self_play.stories", 2, "--protocol.rounds", 2)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A server of its own for each test, so that it counts that test's requests alone."""
    with running_chat_server(api_key=KEY) as running:
        yield running


def swiss(server: ChatServer, *arguments: object) -> Ended:
    return finish(
        start("--config", OPENAI, *SMALL, *arguments, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=server.api_key)
    )


def assert_no_key(folder: Path, ended: Ended) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 10
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in ended.out + ended.err


def test_the_shipped_configuration_plays_against_a_server(server: ChatServer, tmp_path: Path) -> None:
    prices = {name: {"input": 0.4, "output": 1.6, "cached": 0.1} for name in ("openai/gpt-4.1-mini", "openai/debater")}
    flags = (
        *("--judge.model", "openai/gpt-4.1-mini", "--players.0.model", "openai/debater"),
        *("--players.1.model", "openai/debater", "--players.2.model", "openai/debater"),
        *("--prices", json.dumps(prices), "--budget.max_cost", 5, "--output", tmp_path / "run"),
    )
    plan = swiss(server, *flags, "--dry-run")
    assert plan.code == 0, plan.err
    assert server.report()["calls"] == 0
    ended = swiss(server, *flags)
    assert ended.code == 0, ended.err
    held = debates(tmp_path / "run")
    # A round robin of four: six matches, three questions, both assignments; four players on two questions of their own.
    assert len(held) == 6 * 3 * 2 + 4 * 2
    assert f"Plan: {6 * 3 * 2} debates and {4 * 2} in self-play" in plan.out
    # The letter judge reads logprobs, one request for each debate and order; this server says the same to every player
    # that asks the same, so that some debates are alike word for word and share their requests.
    assert server.calls("gpt-4.1-mini") == alike(held)
    request = server.report()["last"]["gpt-4.1-mini"]
    assert (request["logprobs"], request["max_tokens"]) == (True, 1)
    assert all(metrics(tmp_path / "run")[part]["unparsed"] == 0 for part in ("cross_play", "self_play"))
    # First speeches were asked for once for each player, question and side, later ones for each debate; speeches that
    # broke the limits were asked for again. The evidence-first player asks for its evidence and writes around it.
    assert server.calls("debater") == speeches(held)
    costs = {row[0]: row[1:] for row in cells(ended.out, "Cost")}
    planned = {row[0]: row[1] for row in cells(plan.out, "Plan: ")}
    assert planned["openai/gpt-4.1-mini"] == f"{2 * len(held)}"
    assert int(costs["openai/gpt-4.1-mini"][0]) == server.calls("gpt-4.1-mini")
    assert int(costs["openai/debater"][0]) == server.calls("debater")
    for row in costs.values():
        assert int(row[2].replace(",", "")) > 1000  # as the server's usage says
        assert row[-1].startswith("$")
        assert row[-1] != "$0.00"
    assert_no_key(tmp_path / "run", ended)
    # A resumed run asks for nothing.
    calls = server.report()["calls"]
    before = found(tmp_path / "run")
    again = finish(start("--resume", tmp_path / "run", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=server.api_key))
    assert again.code == 0, again.err
    assert server.report()["calls"] == calls
    assert found(tmp_path / "run") == before


def alike(held: list[dict[str, Any]]) -> int:
    """Count the different things that a judge had to read."""
    return len(
        {
            json.dumps(
                [
                    transcript["question"]["id"],
                    verdict["order"],
                    [[turn["round"], turn["answer"], turn["argument"]] for turn in transcript["turns"]],
                ]
            )
            for item in held
            for transcript in [item["debate"]["transcript"]]
            for verdict in item["verdicts"]
        }
    )


def speeches(held: list[dict[str, Any]]) -> int:
    """Count the requests that the speeches of a run took, were each asked for once."""
    requests = 0
    seen: set[tuple[object, ...]] = set()
    for item in held:
        debate = item["debate"]
        for turn in debate["transcript"]["turns"]:
            player = debate["players"][turn["answer"]]
            if player == "extractive":
                continue
            key: tuple[object, ...] = (player, debate["transcript"]["question"]["id"], turn["answer"], turn["round"])
            if player == "nano-evidence" and key not in seen:
                requests += 1  # which sentences to quote: that depends on no opponent
                seen.add(key)
            heard = [turn["argument"] for turn in debate["transcript"]["turns"] if turn["round"] < key[3]]
            key = (*key, json.dumps(heard))
            if key not in seen:
                seen.add(key)
                requests += sum("cut" not in candidate["flaws"] for candidate in turn["candidates"])
    return requests


def test_votes_are_asked_for_with_n_and_said_to_be_votes(server: ChatServer, tmp_path: Path) -> None:
    ended = swiss(
        server,
        *("--judge.model", "{name: openai/voter, capabilities: {logprobs: false}}", "--judge.votes", 4),
        *("--players", "[{name: extractive, kind: extractive}, {name: free, model: openai/debater}]"),
        *("--self_play", "null", "--max_unparsed", 1, "--output", tmp_path / "run"),
    )
    assert ended.code == 0, ended.err
    held = debates(tmp_path / "run")
    assert len(held) == 3 * 2
    assert "openai/voter gives no log-probabilities, so the letter judge becomes a vote of 4" in ended.out
    assert {verdict["judge"] for item in held for verdict in item["verdicts"]} == {"openai/voter (letter) by vote of 4"}
    # One request with n = 4 for each debate and order.
    assert server.calls("voter") == 2 * len(held)
    request = server.report()["last"]["voter"]
    assert request["n"] == 4
    assert "logprobs" not in request
    costs = {row[0]: row[1] for row in cells(ended.out, "Cost")}
    assert int(costs["openai/voter"]) == 4 * 2 * len(held)  # each vote counts as a call
    assert_no_key(tmp_path / "run", ended)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("401", "the server refused the API key (401); check OPENAI_API_KEY"),
        ("404", "no such model or address (404)"),
        ("quota", "the quota of the key in OPENAI_API_KEY is spent; add credit and resume the run"),
    ],
)
def test_a_server_that_refuses_stops_the_run_in_one_line(
    server: ChatServer, tmp_path: Path, fault: str, words: str
) -> None:
    ended = swiss(
        server,
        *("--judge.model", f"openai/fault-{fault}", "--output", tmp_path / "run"),
        *("--players", "[{name: one, kind: extractive}, {name: two, kind: extractive, quotes: 4}]"),
    )
    assert_refused(ended, words)
    assert KEY not in ended.err
    # What stopped it can be mended, and the run goes on.
    assert (tmp_path / "run" / "run.sqlite").is_file()
