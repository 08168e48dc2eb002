"""The command ``python -m debate.run`` with scripted models: what it prints, keeps, plans and refuses."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from debate.quotes import parse_argument
from debate.run import COMMAND
from debate.sources import load
from debate.watching import Watcher
from tests.commands import assert_refuses, call
from tests.runs import SCRIPTS, Ended, cells, debates, write

RIGHT = "The right answer is: "


def config(**changes: Any) -> dict[str, Any]:
    return {
        "source": "shipped:stories",
        "fold": "debater",
        "protocol": {"kind": "simultaneous", "rounds": 2},
        "speech": {"min_words": 25, "max_words": 60, "max_tokens": 200},
        "players": [{"name": "one", "model": f"{SCRIPTS}:debater"}, {"name": "two", "kind": "extractive"}],
        "judge": {"model": f"{SCRIPTS}:asking_judge"},
        "seed": 1,
    } | changes


def hold(folder: Path, *flags: object, **changes: Any) -> Ended:
    return call(COMMAND, "--config", write(folder / "c.yaml", config(**changes)), "--output", folder / "run", *flags)


def kept_calls(folder: Path) -> int:
    connection = sqlite3.connect(folder / "run.sqlite")
    (count,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    connection.close()
    return int(count)


def test_speeches_then_verdicts_then_the_right_answer(tmp_path: Path) -> None:
    ended = hold(tmp_path)
    assert (ended.code, ended.errors) == (0, [])
    (item,) = debates(tmp_path / "run")
    question = item["debate"]["transcript"]["question"]
    lines = ended.out.splitlines()
    assert lines[1] == question["text"]
    assert lines[2:4] == [f"{question['answers'][0]}  [one]", f"{question['answers'][1]}  [two]"]
    headings = [line for line in lines if line.startswith(("Round", "Verdict", "Both orders", RIGHT))]
    assert sorted(line[:17] for line in headings[:2]) == ["Round 1, Debater A"[:17], "Round 1, Debater B"[:17]]
    assert [line.split()[0] for line in headings] == ["Round"] * 4 + ["Verdict"] * 2 + ["Both", "The"]
    assert {line.partition(" for: ")[2] for line in headings[:4]} == set(question["answers"])
    assert lines[-2:] == [f"{RIGHT}{question['answers'][question['gold']]}", f"Kept in {tmp_path / 'run'}"]
    # As docs/run.md says: the debate, and no figures.
    left = {path.name for path in (tmp_path / "run").iterdir() if not path.name.startswith("run.sqlite")}
    assert left == {"config.yaml", "models.json", "debates.jsonl"}
    # Both verdicts as they are kept, and what is said with the marks that the judge sees.
    for verdict in item["verdicts"]:
        for text, share in zip(question["answers"], verdict["probabilities"], strict=True):
            assert f"{share:6.1%}  {text}" in lines
    means = [sum(pair) / 2 for pair in zip(*(verdict["probabilities"] for verdict in item["verdicts"]), strict=True)]
    at = lines.index("Both orders together")
    assert lines[at + 1 : at + 3] == [f"{m:6.1%}  {t}" for m, t in zip(means, question["answers"], strict=True)]
    assert ended.out.count("<v_quote>") >= 4
    assert "I look for the strongest line." not in ended.out  # what was thought is not said


def test_prompts_and_replies_on_demand(tmp_path: Path) -> None:
    ended = hold(tmp_path, "--show", "prompts", protocol={"kind": "interactive", "rounds": 2})
    assert ended.code == 0, ended.err
    out = ended.out
    assert out.count(f">>> {SCRIPTS}:debater: 1 replies of at most 200 tokens") == 2
    assert out.count(f">>> {SCRIPTS}:asking_judge: 1 replies of at most 200 tokens") == 1
    assert out.count(f">>> {SCRIPTS}:asking_judge: one of A, B") == 2
    assert out.count("<<< (stop) I look for the strongest line.") == 2
    assert out.count("mass 0.900") == 2
    assert "[system]\nYou are a skilled debater." in out
    assert "The judge asks\nWhat does line " in out
    story = debates(tmp_path / "run")[0]["debate"]["transcript"]["question"]["story"]
    assert story.split("\n")[0] in out
    assert out.rstrip().splitlines()[-2].startswith(RIGHT)


def test_a_question_by_its_id_and_sides_swapped(tmp_path: Path) -> None:
    wanted = [question for question in load("shipped:stories") if question.fold == "debater"][7]
    ended = hold(tmp_path, "--question", wanted.id, "--swap", "true")
    assert ended.code == 0, ended.err
    (item,) = debates(tmp_path / "run")
    assert item["debate"]["transcript"]["question"]["id"] == wanted.id
    assert item["debate"]["players"] == ["two", "one"]
    assert f"{item['debate']['transcript']['question']['answers'][0]}  [two]" in ended.out


def test_an_unknown_question_is_refused_with_some_that_there_are(tmp_path: Path) -> None:
    assert_refuses(COMMAND, hold(tmp_path, "--question", "nowhere"), "no question 'nowhere'", "it has ")
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_shown_again_without_a_call(tmp_path: Path) -> None:
    first = hold(tmp_path, protocol={"kind": "interactive", "rounds": 2})
    calls, kept = kept_calls(tmp_path / "run"), debates(tmp_path / "run")
    again = call(COMMAND, "--resume", tmp_path / "run", "--budget.max_calls", calls)
    assert again.code == 0, again.err
    assert (kept_calls(tmp_path / "run"), debates(tmp_path / "run")) == (calls, kept)
    assert again.out[again.out.index("\nVerdict of") :] == first.out[first.out.index("\nVerdict of") :]
    for item in kept[0]["debate"]["transcript"]["turns"]:
        said = next(span for span in item["argument"]["spans"] if isinstance(span, str) and len(span) > 8).strip()
        assert said in first.out
        assert said in again.out
    assert_refuses(COMMAND, hold(tmp_path), "exists already", "--resume")


def test_a_run_that_a_budget_stopped_goes_on(tmp_path: Path) -> None:
    stopped = hold(tmp_path, "--budget.max_calls", 1)
    assert stopped.code == 2
    assert "max_calls 1 is spent" in stopped.err
    ended = call(COMMAND, "--resume", tmp_path / "run", "--budget.max_calls", 99)
    assert ended.code == 0, ended.err
    (tmp_path / "whole").mkdir()
    whole = hold(tmp_path / "whole")
    assert debates(tmp_path / "run") == debates(tmp_path / "whole" / "run")
    assert ended.out.replace(str(tmp_path / "run"), "") == whole.out.replace(str(tmp_path / "whole" / "run"), "")


@pytest.mark.parametrize(
    "protocol",
    [
        {"kind": "simultaneous", "rounds": 3},
        {"kind": "sequential", "rounds": 2},
        {"kind": "interactive", "rounds": 3},
        {"kind": "consultancy", "rounds": 3},
        {"kind": "consultancy", "rounds": 2, "static": True},
        {"kind": "double_consultancy", "rounds": 3},
    ],
    ids=lambda protocol: f"{protocol['kind']}{protocol.get('static', '')}",
)
def test_a_plan_counts_the_calls_that_are_made(tmp_path: Path, protocol: dict[str, Any]) -> None:
    players = [{"name": name, "model": f"{SCRIPTS}:debater"} for name in ("one", "two")]
    changes = {"protocol": protocol, "players": players[: 1 if protocol["kind"] == "consultancy" else 2]}
    changes["baselines"] = ["blind", "expert"]
    plan = hold(tmp_path, "--dry-run", **changes)
    assert plan.code == 0, plan.err
    assert not (tmp_path / "run").exists()
    ended = hold(tmp_path, **changes)
    assert ended.code == 0, ended.err
    planned = sum(int(row[1]) for row in cells(plan.out, "Plan: "))
    assert planned == kept_calls(tmp_path / "run")
    held = debates(tmp_path / "run")
    assert f"Plan: {len(held) - 2} debates and 2 questions without a debate" in plan.out
    assert [item["debate"]["protocol"] for item in held[-2:]] == ["blind", "expert"]
    assert ended.out.count("without a debate (blind), shown first") == 2
    assert ended.out.rstrip().splitlines()[-2].startswith(RIGHT)


def test_the_seatings_of_a_sequential_debate_are_not_mingled(tmp_path: Path) -> None:
    players = [{"name": name, "model": f"{SCRIPTS}:debater"} for name in ("one", "two")]
    ended = hold(tmp_path, protocol={"kind": "sequential", "rounds": 2}, players=players)
    spoken = [line.split(" for: ")[0] for line in ended.out.splitlines() if line.startswith("Round")]
    once = [f"Round {n}, Debater {seat} ({who})" for n in (1, 2) for seat, who in (("A", "one"), ("B", "two"))]
    twice = [f"Round {n}, Debater {seat} ({who})" for n in (1, 2) for seat, who in (("A", "two"), ("B", "one"))]
    assert spoken == once + twice


def test_a_consultancy_has_one_player(tmp_path: Path) -> None:
    one = config()["players"][:1]
    ended = hold(tmp_path, protocol={"kind": "consultancy", "rounds": 2}, players=one)
    assert ended.code == 0, ended.err
    (item,) = debates(tmp_path / "run")
    assert item["debate"]["players"] == ["one", None]
    assert "[nobody speaks for it]" in ended.out
    assert ended.out.count("The judge asks Consultant ") == 1
    other = tmp_path / "other"
    other.mkdir()
    swapped = hold(other, "--swap", "true", protocol={"kind": "consultancy", "rounds": 2}, players=one)
    assert swapped.code == 0, swapped.err
    assert debates(other / "run")[0]["debate"]["players"] == [None, "one"]
    assert_refuses(COMMAND, hold(tmp_path, players=one), "simultaneous", "2 speakers", "1 players")
    refused = hold(tmp_path, protocol={"kind": "consultancy", "rounds": 2})
    assert_refuses(COMMAND, refused, "consultancy", "1 speakers", "2 players")


def test_a_debate_that_fails_and_a_verdict_that_is_none_say_why(tmp_path: Path) -> None:
    players = [{"name": "broken", "model": f"{SCRIPTS}:broken"}, *config()["players"][1:]]
    ended = hold(tmp_path, players=players)
    assert ended.code == 1
    assert "The debate failed: the scripted model always fails" in ended.out
    (tmp_path / "b").mkdir()
    judge = {"model": f"{SCRIPTS}:wordless_debater", "kind": "reason"}
    ended = hold(tmp_path / "b", judge=judge)
    assert ended.code == 1
    assert ended.out.count("unparsed: no single answer on the last line: 'I am right.'") == 2
    assert "Both orders together" not in ended.out


EVIL = "\x1b[31mred\x1b]8;;http://x\x07 [bold]x[/bold] [link=http://y]y[/link] :smile: \u202eevil \x00\r\x9bm \ud800"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_control_characters_and_markup_do_nothing(kind: type[io.StringIO]) -> None:
    file = kind()
    watcher = Watcher(file)
    watcher.line(EVIL)
    watcher.heading(EVIL)
    watcher.argument(parse_argument(f"{EVIL} <quote>{EVIL}</quote>", "A story.", seat="A"), "A")
    found = file.getvalue()
    ours = ["\x1b[1m", "\x1b[0m", "\x1b[31m"]  # bold, reset, and the red of a quote that is not in the story
    for code in ours if file.isatty() else []:
        found = found.replace(code, "")
    assert not set(found) & set("\x1b\x00\r\x07\x9b\u202e\ud800")
    assert found.count("[bold]x[/bold]") == 4
    assert found.count("[link=http://y]y[/link]") == 4
    assert found.count(":smile:") == 4
    found.encode()


def test_what_a_file_cannot_encode_is_no_crash() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    watcher = Watcher(file)
    watcher.line("Zoë said\u00a0“no”.")
    watcher.argument(parse_argument("Zoë did.", None), "A")
    file.flush()
    assert raw.getvalue() == b"Zo? said ?no?.\nZo? did.\n"


def test_a_story_of_markup_and_control_strings_goes_through_the_whole_command(tmp_path: Path) -> None:
    row = {
        "question": "[red]Who?[/red] \x1b[2J",
        "answers": ["[bold]He[/bold] \x1b[2J", "She {{story}}"],
        "gold": 1,
        "story": "The keeper [b]shut[/b] the gate at noon. " * 12,
    }
    (tmp_path / "own.jsonl").write_text(json.dumps(row), encoding="utf-8")
    ended = hold(tmp_path, "--show", "prompts", source=f"questions:{tmp_path / 'own.jsonl'}", fold=None)
    assert ended.code == 0, ended.err
    assert "\x1b" not in ended.out
    assert "[red]Who?[/red]" in ended.out
    assert "[bold]He[/bold]" in ended.out
    assert f"{RIGHT}She {{{{story}}}}" in ended.out
