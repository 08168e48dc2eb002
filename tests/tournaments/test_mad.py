"""The command ``tournaments.consensus`` with MAD on scripted models: what it prints, writes, plans and refuses."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from debate.config import parse
from debate.sources.items import load_items
from tests.commands import assert_refuses, call
from tests.runs import Ended, Run, cells, write
from tests.tit_for_tat import NAME
from tournaments.consensus import COMMAND, VARIANTS
from tournaments.mad import outcomes, plan
from tournaments.mad_config import MadConfig

ITEMS = {item.id: item for item in load_items("shipped:counterintuitive")}


def config(**changes: Any) -> dict[str, Any]:
    """Two debaters and a judge on six questions, forced, at two levels, in both orders."""
    return {
        "system": "mad",
        "limit": 6,
        "speakers": [
            {"name": "affirmative", "model": NAME.format("debater")},
            {"name": "negative", "model": NAME.format("second_debater")},
        ],
        "judge": {"model": NAME.format("judge"), "attempts": 1},
        "levels": [0, 2],
        "iterations": 3,
        "forced": True,
        "orders": "both",
        "samples": 5,
        "seed": 1,
    } | changes


def hold(folder: Path, *flags: object, **changes: Any) -> Ended:
    return call(COMMAND, "--config", write(folder / "c.yaml", config(**changes)), "--output", folder / "run", *flags)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("mad")
    ended = hold(folder)
    return Run(folder / "run", folder / "c.yaml", ended)


def is_right(name: str, answer: str) -> bool:
    """Scripted answers are the first right form or the trap, word for word."""
    assert answer in {ITEMS[name].right[0], ITEMS[name].trap}
    return answer == ITEMS[name].right[0]


def test_what_it_prints_and_writes(held: Run) -> None:
    assert held.ended.code == 0, held.ended.err
    titles = ["Answers", "By iteration, adaptive against forced", "Disagreement and degeneration of thought"]
    for title in (*titles, "Whom the judge supports", "Rulings", "Cost"):
        assert f"{title}\n" in held.ended.out
    names = {path.name for path in held.folder.iterdir()}
    assert {"config.yaml", "run.sqlite", "debates.jsonl", "outcomes.jsonl", "metrics.json", "report.html"} <= names
    debates = lines(held.folder / "debates.jsonl")
    # Six questions by four methods alone, and at two levels in two orders.
    assert (sum("speeches" in one for one in debates), sum("steps" in one for one in debates)) == (24, 24)
    assert len(list((held.folder / "debates").glob("*.html"))) == 48
    assert "rating-sheet.csv" not in names


def test_what_is_said_is_on_the_page_of_the_debate(held: Run) -> None:
    debate = next(one for one in lines(held.folder / "debates.jsonl") if "speeches" in one)
    page = (held.folder / "debates" / "1.html").read_text(encoding="utf-8")
    for speech in debate["speeches"]:
        assert speech["text"].splitlines()[0] in page
    for words in (
        debate["rulings"][0]["reason"],
        "Base answer",
        "Iteration 3",
        "tit for tat, level 0",
        "the right answer",
    ):
        assert words in page


def plain_mean(rows: list[bool]) -> float:
    assert rows
    return sum(rows) / len(rows)


def test_answers_are_those_of_the_debates(held: Run) -> None:
    debates = lines(held.folder / "debates.jsonl")
    found = {row["answered by"]: row for row in json.loads((held.folder / "metrics.json").read_text())["results"]}
    for name, row in found.items():
        if name.startswith("debate"):
            own = [one for one in debates if one.get("level") == int(name[-1])]
            finals = []
            for one in own:
                broke = [r for r in one["rulings"] if r["mode"] == "discriminative" and r["clear"]]
                end = broke[0] if broke else one["rulings"][-1]
                finals.append(is_right(one["item"]["id"], end["answer"]))
            expected, count = plain_mean(finals), 12
        else:
            own = [one for one in debates if one.get("method", "").replace("_", " ") == name]
            expected, count = plain_mean([is_right(one["item"]["id"], one["answer"]) for one in own]), 6
        assert row["n"] == count
        assert row["right"][0] == pytest.approx(expected)
        assert row["trap"][0] == pytest.approx(1 - expected)
        assert row["unparsed"][0] == 0
    assert list(found)[:2] == ["base", "chain of thought"]
    assert found["self consistency"]["calls each"] == 5
    for level in (0, 2):  # the base answer, each iteration's two speeches and ruling, an extraction where none broke
        calls = []
        for one in (one for one in debates if one.get("level") == level):
            broke = [r["iteration"] for r in one["rulings"] if r["mode"] == "discriminative" and r["clear"]]
            calls.append(1 + 3 * broke[0] if broke else 1 + 3 * 3 + 1)
        mean, low, high = found[f"debate, level {level}"]["calls each"]
        assert low < mean < high
        assert mean == pytest.approx(sum(calls) / 12)
    base, thought = found["base"]["right"][0], found["chain of thought"]["right"][0]
    assert found["chain of thought"]["more than base"][0] == pytest.approx(thought - base)


def test_iterations_compare_adaptive_and_forced_on_the_same_debates(held: Run) -> None:
    debates = [one for one in lines(held.folder / "debates.jsonl") if one.get("level") == 2]
    rows = [row for row in json.loads((held.folder / "metrics.json").read_text())["iterations"] if row["level"] == 2]
    assert [row["limit"] for row in rows] == [1, 2, 3]
    for row in rows:
        ended, adaptive, forced = [], [], []
        for one in debates:
            broke = [r for r in one["rulings"] if r["mode"] == "discriminative" and r["clear"]]
            extracted = next(r for r in one["rulings"] if r["mode"] == "extractive" and r["iteration"] == row["limit"])
            over = bool(broke) and broke[0]["iteration"] <= row["limit"]
            ended.append(over)
            forced.append(is_right(one["item"]["id"], extracted["answer"]))
            adaptive.append(is_right(one["item"]["id"], broke[0]["answer"]) if over else forced[-1])
        assert row["ended by then"][0] == pytest.approx(plain_mean(ended))
        assert row["adaptive, right"][0] == pytest.approx(plain_mean(adaptive))
        assert row["forced, right"][0] == pytest.approx(plain_mean(forced))
        more = plain_mean(adaptive) - plain_mean(forced)
        assert row["adaptive more than forced"][0] == pytest.approx(more)


def test_disagreement_is_that_of_the_speeches(held: Run) -> None:
    debates = lines(held.folder / "debates.jsonl")
    rows = json.loads((held.folder / "metrics.json").read_text())["disagreement"]
    for level in (0, 2):
        for number in (1, 2, 3):
            opposed, wrong = [], []
            for one in (one for one in debates if one.get("level") == level):
                answers = [s["answer"] for s in one["speeches"] if s["iteration"] == number]
                assert len(answers) == 2
                opposed.append(answers[0] != answers[1])
                if not is_right(one["item"]["id"], one["base"]["answer"]):
                    wrong.append(opposed[-1])
            row = next(r for r in rows if (r["who"], r["iteration"]) == (f"debate, level {level}", str(number)))
            assert row["opposed"][0] == pytest.approx(plain_mean(opposed))
            assert row["opposed, began wrong"][0] == pytest.approx(plain_mean(wrong))
            assert (row["n"], row["n, began wrong"]) == (len(opposed), len(wrong))
    alone = [one["steps"] for one in debates if one.get("method") == "self_reflection"]
    changed = [steps[2]["answer"] != steps[1]["answer"] for steps in alone]
    row = next(r for r in rows if (r["who"], r["iteration"]) == ("self reflection", "2"))
    assert row["opposed"][0] == pytest.approx(plain_mean(changed))


def test_recorded_outcomes_give_the_same_figures(held: Run) -> None:
    recorded = json.loads((held.folder / "metrics.json").read_text())
    recorded.pop("seconds")
    for place in (held.folder, held.folder / "outcomes.jsonl"):
        ended = call(COMMAND, "--outcomes", place, "--format", "json")
        assert ended.code == 0, ended.err
        assert json.loads(ended.out) == recorded
    shown = call(COMMAND, "--outcomes", held.folder).out
    assert shown == held.ended.out[: held.ended.out.index("Cost\n")]


def state(folder: Path) -> tuple[object, ...]:
    connection = sqlite3.connect(folder / "run.sqlite")
    (calls,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    connection.close()
    return calls, *((folder / name).read_text(encoding="utf-8") for name in ("debates.jsonl", "outcomes.jsonl"))


def test_a_stopped_run_goes_on_to_what_an_unstopped_one_finds(held: Run, tmp_path: Path) -> None:
    stopped = call(COMMAND, "--config", held.config, "--output", tmp_path / "run", "--budget.max_calls", 100)
    assert stopped.code == 2
    assert "max_calls 100 is spent" in stopped.err
    ended = call(COMMAND, "--resume", tmp_path / "run", "--budget.max_calls", 10_000)
    assert ended.code == 0, ended.err
    assert state(tmp_path / "run") == state(held.folder)
    other = call(COMMAND, "--resume", tmp_path / "run", "--iterations", 4)
    assert (other.code, "iterations: 3 -> 4" in other.err) == (2, True)


def test_an_adaptive_run_ends_where_the_forced_one_would_have(held: Run, tmp_path: Path) -> None:
    ended = hold(tmp_path, forced=False)
    assert ended.code == 0, ended.err
    metrics = [json.loads((folder / "metrics.json").read_text()) for folder in (held.folder, tmp_path / "run")]
    assert metrics[0]["results"] == metrics[1]["results"]
    last = [row for row in metrics[1]["iterations"] if row["limit"] == 3]
    assert [row["adaptive, right"] for row in last] == [
        row["adaptive, right"] for row in metrics[0]["iterations"] if row["limit"] == 3
    ]
    assert all(row["forced, right"] is None for row in metrics[1]["iterations"])


@pytest.mark.parametrize(
    "changes",
    [
        {"judge": {"model": NAME.format("judge"), "kind": "letter"}},
        {"judge": {"model": NAME.format("babbling_judge"), "attempts": 2}, "max_unparsed": 1, "forced": False},
        {"judge": {"model": NAME.format("babbling_judge"), "attempts": 1}, "max_unparsed": 1, "levels": [0, 1, 2, 3]},
        {"source": "shipped:ambiguity", "judge": {"model": NAME.format("babbling_judge")}, "max_unparsed": 1},
    ],
    ids=["letters", "adaptive", "levels", "texts"],
)
def test_a_plan_is_the_most_that_a_run_takes(tmp_path: Path, changes: dict[str, Any]) -> None:
    changes = {"limit": 2, "orders": "given", **changes}
    dry = hold(tmp_path, "--dry-run", **changes)
    assert dry.code == 0, dry.err
    assert not (tmp_path / "run").exists()
    ended = hold(tmp_path, **changes)
    assert ended.code == 0, ended.err
    planned = {row[0]: int(row[1].replace(",", "")) for row in cells(dry.out, "Plan: ")}
    made = {row[0]: int(row[1].replace(",", "")) for row in cells(ended.out, "Cost")}
    judge = changes["judge"]["model"]
    speaking = {name: count for name, count in planned.items() if name != judge}
    assert speaking == {name: count for name, count in made.items() if name != judge}
    if "babbling" in judge:  # it never finds an answer clear, so it is asked as often as can be
        assert planned[judge] == made[judge]
    else:
        assert planned[judge] >= made[judge] > 0


def test_debaters_of_any_number_and_one_model_of_the_judge(tmp_path: Path) -> None:
    speakers = [{"name": name, "model": NAME.format("debater")} for name in ("one", "two")]
    speakers.append({"name": "three", "model": NAME.format("judge")})
    ended = hold(tmp_path, speakers=speakers, levels=[1], baselines=[], base=NAME.format("debater"))
    assert ended.code == 0, ended.err
    out = ended.out
    assert "place 3 (three, one)" in out
    assert "the judge's own model" in out[out.index("Whom the judge supports") :].partition("Intervals")[0]
    assert [row[0] for row in cells(out, "Answers\n")] == ["base", "debate, level 1"]  # the debates' own base answers


def test_unread_rulings_fail_the_run_and_score_for_nobody(tmp_path: Path) -> None:
    ended = hold(tmp_path, limit=2, judge={"model": NAME.format("babbling_judge"), "attempts": 1})
    assert ended.code == 1
    assert "100.0% of the rulings are unparsed" in ended.err
    assert "not one JSON object" in ended.err
    found = {row["answered by"]: row for row in json.loads((tmp_path / "run" / "metrics.json").read_text())["results"]}
    assert (found["debate, level 0"]["right"], found["debate, level 0"]["unparsed"][0]) == (None, 1)


def test_answers_that_nobody_can_read_are_counted(tmp_path: Path) -> None:
    silent = NAME.format("silent_debater")
    speakers = [{"name": "a", "model": silent}, {"name": "b", "model": NAME.format("debater")}]
    ended = hold(tmp_path, limit=2, speakers=speakers)
    assert ended.code == 0, ended.err
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    found = {row["answered by"]: row for row in metrics["results"]}
    for name in ("base", "self consistency"):
        assert (found[name]["right"], found[name]["unparsed"][0]) == (None, 1)
    assert all(row["opposed"] is None and row["unknown"] for row in metrics["disagreement"])


def test_what_a_model_fails_in_is_told(tmp_path: Path) -> None:
    broken = NAME.format("broken")
    speakers = [{"name": "a", "model": NAME.format("debater")}, {"name": "b", "model": broken}]
    ended = hold(tmp_path, limit=2, speakers=speakers, levels=[1])
    assert ended.code == 1
    assert "4 of 12 debates and attempts failed" in ended.err
    assert "the scripted model always fails" in ended.err
    (tmp_path / "all").mkdir()
    none = hold(tmp_path / "all", limit=2, speakers=speakers, base=broken)
    assert none.code == 2
    assert "nothing could be finished; why: the scripted model always fails" in none.err


def test_translations_leave_a_sheet_that_people_fill_in(tmp_path: Path) -> None:
    ended = hold(tmp_path, source="shipped:ambiguity", limit=4, levels=[1], orders="given")
    assert ended.code == 0, ended.err
    assert "chrF, trap" in ended.out
    rows = json.loads((tmp_path / "run" / "metrics.json").read_text())["results"]
    (base,) = (row for row in rows if row["answered by"] == "base")
    made = [one for one in lines(tmp_path / "run" / "debates.jsonl") if one.get("method") == "base"]
    for at, to in enumerate(("", ", trap")):
        for name, metric in (("chrF", CHRF()), ("BLEU", BLEU(effective_order=True))):
            scores = []
            for one in made:
                reference = (one["item"]["right"][0], one["item"]["trap"])[at]
                scores.append(metric.sentence_score(one["answer"], [reference]).score)
            assert base[name + to][0] == pytest.approx(sum(scores) / 4)
    assert "analyse then translate" in ended.out
    folder = tmp_path / "run"
    sheet = list(csv.DictReader((folder / "rating-sheet.csv").read_text(encoding="utf-8-sig").splitlines()))
    key = list(csv.DictReader((folder / "rating-key.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert {row["row"] for row in sheet} == {row["row"] for row in key}
    assert len(key) == 4 * 5  # four baselines and the debate, on each text
    assert "debate, level 1" not in (folder / "rating-sheet.csv").read_text(encoding="utf-8-sig")
    texts = {item.id: item for item in load_items("shipped:ambiguity")}
    assert all(row["ambiguous words"] in {item.focus for item in texts.values()} for row in sheet)
    assert "People's ratings" not in call(COMMAND, "--outcomes", folder).out
    for name, vote in (("ann", "y"), ("bob", "n")):
        with (folder / f"rating-sheet-{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, sheet[0].keys())
            writer.writeheader()
            for row in sheet:
                right = row["translation"] == row["right reading"]
                said = "n" if not right else vote
                writer.writerow({**row, "reads it right (y/n)": said, "quality (1-5)": "5" if right else "2"})
    found = outcomes(folder / "outcomes.jsonl").metrics["ratings"]
    assert isinstance(found, list)
    whose = {row["row"]: row for row in sheet}
    for row in found:
        mine = [whose[one["row"]] for one in key if one["way"] == row["translated by"]]
        right = sum(one["translation"] == one["right reading"] for one in mine)
        assert row["ratings"] == 2 * len(mine)
        assert row["ambiguity accuracy"][0] == pytest.approx(right / (2 * len(mine)))
        assert row["quality, 1 to 5"][0] == pytest.approx((5 * right + 2 * (4 - right)) / 4)
    (folder / "rating-sheet-bob.csv").write_text(
        (folder / "rating-sheet-bob.csv").read_text().replace(",n,", ",perhaps,"), encoding="utf-8"
    )
    refused = call(COMMAND, "--outcomes", folder)
    assert (refused.code, "write y or n" in refused.err) == (2, True)


def test_a_sheet_that_was_filled_in_itself_is_kept_and_a_row_s_name_does_not_depend_on_the_others(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    texts: dict[str, Any] = {"source": "shipped:ambiguity", "levels": [1], "orders": "given", "forced": False}
    assert hold(tmp_path, limit=3, **texts).code == 0
    before = (folder / "rating-sheet.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(before.splitlines()))
    assert call(COMMAND, "--resume", folder).code == 0
    assert not list(folder.glob("rating-sheet-kept*"))  # nobody wrote in it
    filled = "\n".join([",".join(f'"{cell}"' for cell in row[:-2]) + ",y,4" for row in rows[1:]])
    head = before.splitlines()[0]
    (folder / "rating-sheet.csv").write_text(f"{head}\n{filled}\n", encoding="utf-8")
    assert call(COMMAND, "--resume", folder).code == 0
    assert (folder / "rating-sheet.csv").read_text(encoding="utf-8") == before
    found = outcomes(folder / "outcomes.jsonl").metrics["ratings"]
    assert isinstance(found, list)
    assert [row["quality, 1 to 5"][0] for row in found] == [4] * len(found)
    (tmp_path / "more").mkdir()
    assert hold(tmp_path / "more", limit=6, **texts).code == 0
    sheet = (tmp_path / "more" / "run" / "rating-sheet.csv").read_text(encoding="utf-8")
    assert {tuple(row) for row in rows} <= {tuple(row) for row in csv.reader(sheet.splitlines())}


def test_a_cell_that_a_spreadsheet_would_take_for_a_formula_is_made_text() -> None:
    from tournaments.rating_sheet import _csv

    assert _csv([("=1+1", "@x", "plain", "1")]) == "\ufeff'=1+1,'@x,plain,1\n"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--speakers.1.name", "Affirmative"], ["differ by case alone"]),
        (["--speakers.1.name", "none"], ["'none' has a meaning of its own"]),
        (["--speakers.1.name", "affirmative"], ["speaker named twice: affirmative"]),
        (["--levels", "[4]"], ["levels.0", "less than or equal to 3"]),
        (["--levels", "[1, 1]"], ["levels: one is named twice"]),
        (["--baselines", "[rerank]"], ["rerank is not for items of the task question", "self_consistency"]),
        (["--sample_temperature", "0"], ["set it above 0"]),
        (["--quality", "agrement"], ["did you mean 'agreement'?"]),
        (["--source", "shipped:counterintuitiv"], ["no source of open items"]),
        (["--iteration", "2"], ["unknown key", "did you mean iterations?"]),
        (["--speakers.0.optimizer", "[{kind: best_of_n}]"], ["leave optimizer out"]),
        (["--system", "maad"], ["ford, mad"]),
    ],
)  # fmt: skip
def test_wrong_configurations_are_refused_in_one_line(tmp_path: Path, flags: list[str], words: list[str]) -> None:
    assert_refuses(COMMAND, hold(tmp_path, *flags), *words)
    assert not (tmp_path / "run").exists()


def test_an_outcome_that_is_none_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    path.write_text('{"system": "mad", "kind": "debate", "item": "x"}\n', encoding="utf-8")
    assert_refuses(COMMAND, call(COMMAND, "--outcomes", path), "line 1", "is no outcome of MAD")


def test_equal_calls_for_self_consistency_by_default() -> None:
    made = parse(VARIANTS, {key: value for key, value in config().items() if key != "samples"}, where="t")
    assert isinstance(made, MadConfig)
    # The base answer; in three iterations two speeches and a ruling; an extraction.
    assert made.sample_count == 1 + 3 * (2 + 1) + 1
    planned = plan(made)
    # Beside the base answer and the samples: a chain of thought, three reflections, and half of the speeches.
    debater = 6 * (1 + 11 + 1 + 3) + 6 * 2 * 2 * 3
    assert planned.calls[NAME.format("debater")].calls == debater
    assert (planned.debates, planned.baselines) == (24, 24)
