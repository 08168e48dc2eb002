"""The command ``python -m tournaments.persuasion`` with scripted models: what it prints, keeps, plans and refuses."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from debate.record import Recorded, from_json
from tests.commands import assert_refuses, call
from tests.persuasion_scripts import AGREES, ECHOED, NAME, PARROTS, THANKS, WANDERS
from tests.runs import Ended, Run, cells, metrics, write
from tournaments.persuasion import COMMAND
from tournaments.withheld import WITHHELD

SCENARIOS = ["none", "fallacy", "logical"]


def config(**changes: Any) -> dict[str, Any]:
    """One persuader and one debater on five claims, twice in each scenario."""
    return {
        "claims": "shipped:claims",
        "limit": 5,
        "persuaders": [{"name": "p", "model": f"{NAME}:persuader"}],
        "debaters": [{"name": "d", "model": f"{NAME}:debater"}],
        "helper": {"model": f"{NAME}:helper"},
        "moderators": {"model": f"{NAME}:moderator"},
        "rounds": 4,
        "repetitions": 2,
        "seed": 1,
    } | changes


def hold(folder: Path, *flags: object, **changes: Any) -> Ended:
    return call(COMMAND, "--config", write(folder / "c.yaml", config(**changes)), "--output", folder / "run", *flags)


def read(folder: Path) -> list[Recorded]:
    return [from_json(Recorded, line) for line in (folder / "debates.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("persuasion")
    ended = hold(folder)
    return Run(folder / "run", folder / "c.yaml", ended)


def said(item: Recorded) -> list[str]:
    """What the debater said, in order."""
    return [turn.argument.plain() for turn in item.debate.transcript.turns if turn.role == "debater"]


def test_every_claim_is_debated_in_every_scenario_and_repetition(held: Run) -> None:
    assert held.ended.code == 0, held.ended.err
    items = read(held.folder)
    counts = Counter((item.debate.transcript.question.id, item.debate.tags["scenario"]) for item in items)
    assert len(counts) == 5 * 3
    assert set(counts.values()) == {2}
    for item in items:
        replies = said(item)
        # The scripted debater says plainly where it stands, so its last words tell why the debate ended.
        expected = {AGREES: "convinced", THANKS: "pleasantries", WANDERS: "off_topic"}.get(replies[-1], "rounds")
        assert item.debate.tags["stop"] == expected
        assert item.debate.tags["rounds"] == str(len(replies))
        assert not {AGREES, THANKS, WANDERS} & set(replies[:-1])
        final = item.verdicts[-1].probabilities
        assert final is not None
        assert (final[0] > 0.5) == (expected == "convinced")
        helps = [turn.help for turn in item.debate.transcript.turns if turn.role == "persuader"]
        assert helps[0] is None
        if item.debate.tags["scenario"] == "none":
            assert not any(helps)
        for one in helps[1:] if item.debate.tags["scenario"] != "none" else []:
            assert one is not None
            assert one.kind == item.debate.tags["scenario"]
            assert one.draft.plain().startswith("Reason ")
            assert len(one.replies) == len(one.flaws)


def test_scenarios_share_what_comes_before_any_help_and_repetitions_differ(held: Run) -> None:
    first: dict[tuple[str, int], set[str]] = {}
    for item in read(held.folder):
        key = (item.debate.transcript.question.id, item.debate.repetition)
        first.setdefault(key, set()).add(said(item)[0])
    assert all(len(replies) == 1 for replies in first.values())
    assert len({next(iter(replies)) for replies in first.values()} - {AGREES, THANKS, WANDERS}) > 5


def test_figures_are_those_of_the_debates(held: Run) -> None:
    found = metrics(held.folder)
    (pair,) = found["pairs"]
    assert (pair["persuader"], pair["debater"], list(pair["scenarios"])) == ("p", "d", SCENARIOS)
    items = read(held.folder)
    won = {
        (item.debate.tags["scenario"], item.debate.transcript.question.id, item.debate.repetition): said(item)[-1]
        == AGREES
        for item in items
    }
    for scenario, figures in pair["scenarios"].items():
        own = {key[1:]: one for key, one in won.items() if key[0] == scenario}
        assert figures["success"][0] == pytest.approx(sum(own.values()) / 10)
        for repetition, rate in enumerate(figures["success_by_repetition"]):
            assert rate == pytest.approx(sum(one for key, one in own.items() if key[1] == repetition) / 5)
        assert (figures["debates"], figures["missing"], sum(figures["stops"].values())) == (10, 0, 10)
    keys = {key[1:] for key in won}
    alone = sum(won["fallacy", *key] and not won["logical", *key] for key in keys)
    assert pair["fallacy_only"][0] == pytest.approx(alone / 10)
    late = [item for item in items if len(said(item)) > 2]
    assert pair["opinion_changed_debates"] == len(late)
    assert pair["opinion_changed_convinced"] == sum(said(item)[-1] == AGREES for item in late)
    # Whatever a helper writes for them ends in a class.
    assert set(pair["by_class"]) <= {"straw man", "false dilemma", "ad populum", "other"}


def test_what_it_prints_and_reports(held: Run) -> None:
    out = held.ended.out
    rows = cells(out, "Debaters that were convinced at the end\n")
    assert [row[2] for row in rows] == ["no helper", "fallacious helper", "logical helper"]
    for words in ("What fallacies add", "convinced within so many rounds", "p to d: fallacies", "Why debates ended"):
        assert words in out
    page = (held.folder / "report.html").read_text(encoding="utf-8")
    for words in ("Persuasion", "fallacy alone convinces", "Cost"):
        assert words in page
    assert "heatmap" not in (held.folder / "report.html").read_text(encoding="utf-8")
    pages = [path.read_text(encoding="utf-8") for path in sorted((held.folder / "debates").glob("*.html"))]
    assert len(pages) == 30
    rewritten = [text for text in pages if "Rewritten:" in text]
    assert rewritten
    assert all("What was drafted" in text and "The helper" in text for text in rewritten)
    assert all("p (persuader)" in text and "moderators" in text for text in pages)


def test_recorded_outcomes_of_a_run_are_its_metrics(held: Run) -> None:
    ended = call(COMMAND, "--outcomes", held.folder, "--format", "json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out) == metrics(held.folder)
    table = call(COMMAND, "--outcomes", held.folder)
    assert cells(table.out, "Debaters that were") == cells(held.ended.out, "Debaters that were")


LETTERS = {"model": f"{NAME}:moderator", "kind": "letter", "master": "rule"}
SCORES = {"model": f"{NAME}:scoring_moderator", "kind": "score", "master": "rule"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"rounds": 1},
        {"rounds": 2, "scenarios": ["fallacy"]},
        {"moderators": LETTERS, "helper": {"model": f"{NAME}:scoring_helper", "kind": "score"}},
        {"moderators": SCORES, "scenarios": ["none", "logical"]},
    ],
)
def test_a_plan_counts_the_calls_of_debates_that_take_all_rounds(tmp_path: Path, changes: dict[str, Any]) -> None:
    stubborn = [{"name": "d", "model": f"{NAME}:stubborn_debater"}]
    changes = {"debaters": stubborn, "helper": {"model": f"{NAME}:able_helper"}, "limit": 3} | changes
    plan = hold(tmp_path, "--dry-run", **changes)
    assert plan.code == 0, plan.err
    assert not (tmp_path / "run").exists()
    ended = hold(tmp_path, **changes)
    assert ended.code == 0, ended.err
    planned = {row[0]: row[1] for row in cells(plan.out, "Plan: ")}
    made = {row[0]: row[1] for row in cells(ended.out, "Cost\n")}
    assert planned == made
    assert f"Plan: {len(read(tmp_path / 'run'))} debates\n" in plan.out


def test_a_plan_is_an_upper_bound(held: Run, tmp_path: Path) -> None:
    plan = hold(tmp_path, "--dry-run")
    planned = {row[0]: int(row[1].replace(",", "")) for row in cells(plan.out, "Plan: ")}
    made = {row[0]: int(row[1].replace(",", "")) for row in cells(held.ended.out, "Cost\n")}
    assert planned.keys() == made.keys()
    # The scripted helper has to be asked again now and then, which a plan does not foresee.
    assert all(made[name] < planned[name] for name in planned if "helper" not in name)
    assert "An upper bound" in plan.out


def kept(folder: Path) -> tuple[list[Recorded], dict[str, Any], int]:
    connection = sqlite3.connect(folder / "run.sqlite")
    (calls,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    connection.close()
    return read(folder), metrics(folder), calls


def test_a_stopped_run_goes_on_to_what_an_unstopped_one_finds(held: Run, tmp_path: Path) -> None:
    stopped = call(COMMAND, "--config", held.config, "--output", tmp_path / "run", "--budget.max_calls", 90)
    assert stopped.code == 2
    assert "max_calls 90 is spent" in stopped.err
    ended = call(COMMAND, "--resume", tmp_path / "run", "--budget.max_calls", 10_000)
    assert ended.code == 0, ended.err
    assert kept(tmp_path / "run") == kept(held.folder)
    again = call(COMMAND, "--resume", tmp_path / "run")
    assert again.code == 0, again.err
    assert kept(tmp_path / "run") == kept(held.folder)
    other = call(COMMAND, "--resume", tmp_path / "run", "--rounds", 5)
    assert_refuses(COMMAND, other, "rounds: 4 -> 5")


def test_a_grid_has_every_persuader_talk_to_every_debater(tmp_path: Path) -> None:
    two = {
        "persuaders": [
            {"name": "p", "model": f"{NAME}:persuader"},
            {"name": "q", "model": f"{NAME}:second_persuader", "temperature": 0.3, "character": "You are blunt."},
        ],
        "debaters": [{"name": "d", "model": f"{NAME}:debater"}, {"name": "e", "model": f"{NAME}:second_debater"}],
        "scenarios": ["none", "fallacy"],
        "limit": 2,
    }
    refused = hold(tmp_path, **two)
    assert_refuses(COMMAND, refused, "2 persuaders: set grid")
    ended = hold(tmp_path, "--grid", **two)
    assert ended.code == 0, ended.err
    found = metrics(tmp_path / "run")["pairs"]
    assert [(pair["persuader"], pair["debater"]) for pair in found] == [("p", "d"), ("p", "e"), ("q", "d"), ("q", "e")]
    assert all(pair["more_than_logical"] is None and pair["fallacy_only"] is None for pair in found)
    figures = (tmp_path / "run" / "assets" / "figures.js").read_text(encoding="utf-8")
    assert figures.count('"heatmap"') == 2
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Success, fallacious helper" in page


def test_fallacious_texts_can_be_kept_out_of_what_is_written(held: Run, tmp_path: Path) -> None:
    ended = hold(tmp_path, "--withhold_fallacies")
    assert ended.code == 0, ended.err
    assert metrics(tmp_path / "run") == metrics(held.folder)
    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "run" / "debates").glob("*.html")]
    text = (tmp_path / "run" / "debates.jsonl").read_text(encoding="utf-8")
    assert "FALLACY" in (held.folder / "debates.jsonl").read_text(encoding="utf-8")
    assert all("FALLACY" not in one for one in (text, *pages))
    assert WITHHELD in text
    assert "LOGICAL" in text
    # Names of fallacies stay, and so do drafts and replies.
    for mine, theirs in zip(read(tmp_path / "run"), read(held.folder), strict=True):
        assert said(mine) == said(theirs)
        for turn, other in zip(mine.debate.transcript.turns, theirs.debate.transcript.turns, strict=True):
            assert (turn.help is None) == (other.help is None)
            if turn.help is not None and other.help is not None:
                assert (turn.help.name, turn.help.draft) == (other.help.name, other.help.draft)
    # It may be asked for when a run is gone on with, and the store still has what was said.
    again = call(COMMAND, "--resume", tmp_path / "run", "--withhold_fallacies", "false")
    assert again.code == 0, again.err
    assert read(tmp_path / "run") == read(held.folder)


def test_what_others_take_over_of_a_fallacy_word_for_word_is_withheld_too(tmp_path: Path) -> None:
    """In replies, later drafts, summaries and rulings; what the draft itself holds is nobody's fallacy."""
    (tmp_path / "open").mkdir()
    whole = hold(tmp_path / "open", **PARROTS)
    assert whole.code == 0, whole.err
    text = (tmp_path / "open" / "run" / "debates.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert text.count(ECHOED) > 10
    assert f"in short: {ECHOED}" in text
    ended = hold(tmp_path, "--withhold_fallacies", **PARROTS)
    assert ended.code == 0, ended.err
    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "run" / "debates").glob("*.html")]
    fallacy, logical = (tmp_path / "run" / "debates.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(ECHOED not in one for one in (fallacy, *pages))
    assert "It is a fair point that stays." in fallacy
    assert "LOGICAL" in logical


def test_a_refusing_moderator_is_counted_and_the_second_decides(tmp_path: Path) -> None:
    shy = {"model": f"{NAME}:shy_moderator", "second": f"{NAME}:second_moderator"}
    ended = hold(tmp_path, moderators=shy)
    assert ended.code == 0, ended.err
    items = read(tmp_path / "run")
    refused = {item.debate.transcript.question.text: int(item.debate.tags["refused"]) for item in items}
    assert any(refused.values())
    assert not all(refused.values())
    assert all(item.debate.tags["unread"] == "0" for item in items)
    for item in items:  # each of four tasks in each round, or none
        assert int(item.debate.tags["refused"]) in {0, 4 * int(item.debate.tags["rounds"])}
    found = metrics(tmp_path / "run")
    assert found["pairs"][0]["scenarios"]["none"]["stops"].get("unread") is None
    total = sum(int(item.debate.tags["refused"]) for item in items)
    assert found["trouble"] | {"rewrites": 0} == {
        "refused": total,
        "unread": 0,
        "rewrites": 0,
        "failed_rewrites": sum(
            turn.help.failed for item in items for turn in item.debate.transcript.turns if turn.help is not None
        ),
    }
    assert f"The first moderator refused {total} times" in ended.out


def test_what_no_moderator_can_tell_is_no_success_and_fails_the_run(tmp_path: Path) -> None:
    ended = hold(tmp_path, moderators={"model": f"{NAME}:mumbling_moderator"}, limit=2)
    assert ended.code == 1
    assert "12 of 12 verdicts are unparsed" in ended.err
    for figures in metrics(tmp_path / "run")["pairs"][0]["scenarios"].values():
        assert figures["success"][0] == 0
        assert figures["success_of_read"] is None
        assert figures["stops"] == {"unread": 4}
    assert all(len(said(item)) == 4 for item in read(tmp_path / "run"))  # it went on to the last round


@pytest.mark.parametrize(("kind", "model"), [("letter", "moderator"), ("score", "scoring_moderator")])
def test_letters_and_likelihoods_come_to_the_same(held: Run, tmp_path: Path, kind: str, model: str) -> None:
    ended = hold(tmp_path, moderators={"model": f"{NAME}:{model}", "kind": kind, "master": "rule"})
    assert ended.code == 0, ended.err
    assert metrics(tmp_path / "run") == metrics(held.folder)


def test_the_majority_of_replicas_comes_to_the_same(held: Run, tmp_path: Path) -> None:
    three = {"model": f"{NAME}:moderator", "replicas": 3, "temperature": 1}
    ended = hold(tmp_path, moderators=three)
    assert ended.code == 0, ended.err
    assert metrics(tmp_path / "run") == metrics(held.folder)
    shares = {verdict.probabilities for item in read(tmp_path / "run") for verdict in item.verdicts}
    assert shares == {(3.5 / 4, 1 - 3.5 / 4), (0.5 / 4, 1 - 0.5 / 4)}


def test_a_helper_that_scores_names_a_fallacy_and_writes_plainly(tmp_path: Path) -> None:
    ended = hold(tmp_path, helper={"model": f"{NAME}:scoring_helper", "kind": "score"}, limit=2)
    assert ended.code == 0, ended.err
    helps = [turn.help for item in read(tmp_path / "run") for turn in item.debate.transcript.turns if turn.help]
    # "straw man" is always the likeliest; the dialogue makes "slippery slope" likelier than it was.
    assert {(one.kind, one.name) for one in helps} == {("fallacy", "slippery slope"), ("logical", "fair argument")}
    assert not any(one.failed for one in helps)
    assert list(metrics(tmp_path / "run")["pairs"][0]["by_class"]) == ["slippery slope"]


def test_a_short_context_is_kept_to(tmp_path: Path) -> None:
    memory = {"context": 660, "summary_tokens": 20}
    short = {"max_words": 20, "max_tokens": 40}
    moderators = {"model": f"{NAME}:moderator", "kind": "letter", "master": "rule"}
    stubborn = [{"name": "d", "model": f"{NAME}:stubborn_debater"}]
    # Words count as tokens here. Ten rounds are some 250 words, which do not fit beside the list of fallacies.
    ended = hold(
        tmp_path,
        memory=memory,
        talk=short,
        moderators=moderators,
        debaters=stubborn,
        helper={"model": f"{NAME}:able_helper", "max_tokens": 40},
        rounds=10,
        repetitions=1,
        limit=1,
    )
    assert ended.code == 0, ended.err
    assert {item.debate.tags["rounds"] for item in read(tmp_path / "run")} == {"10"}
    tight = hold(tmp_path, "--dry-run", memory={"context": 150, "summary_tokens": 20}, talk=short)
    assert_refuses(COMMAND, tight, "more than its context of 150", "talk.max_words")


def test_a_debate_in_which_a_model_fails_is_data(tmp_path: Path) -> None:
    broken = [{"name": "d", "model": f"{NAME}:debater"}, {"name": "b", "model": "scripted/tests.scripts:broken"}]
    ended = hold(tmp_path, debaters=broken, limit=2)
    assert ended.code == 1
    assert "12 of 24 debates failed" in ended.err
    items = read(tmp_path / "run")
    assert [item.debate.failed is None for item in items] == [True] * 12 + [False] * 12
    assert [pair["debater"] for pair in metrics(tmp_path / "run")["pairs"]] == ["d"]
    (tmp_path / "all").mkdir()
    none = hold(tmp_path / "all", debaters=broken[1:], limit=1)
    assert none.code == 2
    assert "no debate was finished" in none.err
    assert "the scripted model always fails" in none.err


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"talk": {"temperature": 0}}, ["temperature 0", "repetitions are the same debate"]),
        ({"persuaders": [{"name": "p", "model": f"{NAME}:persuader", "optimizer": "best_of_n"}]}, ["optimizer"]),
        ({"scenarios": ["none", "none"]}, ["scenario named twice"]),
        ({"scenarios": ["fallacies"]}, ["scenarios.0", "'fallacy'"]),
        ({"claims": "shipped:stories"}, ["no claims called 'stories'"]),
        ({"moderators": {"model": f"{NAME}:moderator", "replicas": 2, "temperature": 1}}, ["no majority"]),
        ({"helper": {"model": f"{NAME}:helper", "kind": "score"}}, ["does not score given texts"]),
        ({"helpers": {}}, ["helpers: unknown key; did you mean helper?"]),
    ],
)
def test_wrong_configurations_are_refused_in_one_line(
    tmp_path: Path, changes: dict[str, Any], words: list[str]
) -> None:
    assert_refuses(COMMAND, hold(tmp_path, **changes), *words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["give one with --config FILE"]),
        (["--outcomes", "nowhere.jsonl"], ["no file nowhere.jsonl"]),
        (["--outcomes", "x", "--output", "y"], ["leave out --output"]),
        (["--outcomes", "x", "--format", "xml"], ["format", "'text' or 'json'"]),
    ],
)
def test_wrong_outcomes_are_refused(arguments: list[str], words: list[str]) -> None:
    assert_refuses(COMMAND, call(COMMAND, *arguments), *words)


def test_another_file_or_run_is_no_persuasion(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    assert_refuses(COMMAND, call(COMMAND, "--outcomes", tmp_path / "x.jsonl"), "line 1", "no 'Convinced?'")
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    assert_refuses(COMMAND, call(COMMAND, "--outcomes", tmp_path / "empty.jsonl"), "holds no outcomes")
    assert_refuses(COMMAND, call(COMMAND, "--outcomes", tmp_path), "is no run folder")
    row = {"Topic_ID": "a", "iteration": "one", "debater": "g", "helper": "No_Helper", "number_of_rounds": 1}
    (tmp_path / "odd.jsonl").write_text(json.dumps({**row, "Stop_reason": None, "Convinced?": True}), encoding="utf-8")
    assert_refuses(COMMAND, call(COMMAND, "--outcomes", tmp_path / "odd.jsonl"), "line 1", "no 'iteration N'")
