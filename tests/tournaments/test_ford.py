"""The command ``tournaments.consensus`` with FORD, on scripted speakers whose debates can be worked out beforehand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from debate.config import parse
from debate.errors import DissoiError, SourceError
from debate.protocols.roundtable import Discussion
from debate.sources import load, load_debates
from tests.commands import assert_refuses, call
from tests.roundtables import HERE, roundtable
from tests.runs import Ended, cells, write
from tests.scripts import DOWN
from tournaments.consensus import COMMAND, VARIANTS
from tournaments.ford import chain_of, plan
from tournaments.ford_config import FordConfig


def run(folder: Path, config: dict[str, Any], *flags: object) -> Ended:
    """Hold a run in ``folder / "run"``."""
    path = write(folder / "config.yaml", config)
    return call(COMMAND, "--config", path, "--output", folder / "run", *flags)


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "run" / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()]


def metrics(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run" / "metrics.json").read_text(encoding="utf-8"))
    return found


def configured(*names: str, **changes: Any) -> FordConfig:
    config = parse(VARIANTS, roundtable(*names, **changes), where="test")
    assert isinstance(config, FordConfig)
    return config


@pytest.fixture(scope="module")
def firm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two who never agree, with a judge, in both orders."""
    folder = tmp_path_factory.mktemp("firm")
    judge = {"model": f"{HERE}:sleuth", "name": "the judge"}
    ended = run(folder, roundtable("stubborn", "contrary", judge=judge, order="both", turns=3))
    assert ended.code == 0, ended.err
    return folder


def test_what_became_of_every_sample_is_recorded(firm: Path) -> None:
    found = rows(firm)
    questions = load("shipped:choices")
    gold = {question.id: "ABCDE"[question.gold or 0] for question in questions}
    first, second = found[:6], found[6:]
    assert len(second) == 6
    assert {row["id"] for row in first} == {row["id"] for row in second}
    for row in first:
        assert row | {"index": 0, "id": "", "story": "", "gold": ""} == {
            "system": "ford",
            "run": "stubborn__contrary",
            "dataset": "shipped:choices",
            "index": 0,
            "id": "",
            "story": "",
            "gold": "",
            "predictions": ["A", "B", "A", "B", "A"],
            "consensus_round": None,
            "rounds": 3,
            "samples": 6,
            "judged": True,
            "verdict": "B",
        }
        assert row["gold"] == gold[row["id"]]
    assert {row["run"] for row in second} == {"contrary__stubborn"}
    assert all(row["predictions"] == ["B", "A", "B", "A", "B"] for row in second)


def test_figures_follow_from_the_answers(firm: Path) -> None:
    golds = [row["gold"] for row in rows(firm)[:6]]
    right = {letter: golds.count(letter) / 6 for letter in "AB"}
    given, reverse = metrics(firm)["chains"]
    assert given["alone"]["stubborn"][0] == pytest.approx(right["A"])
    assert given["alone"]["contrary"][0] == pytest.approx(right["B"])
    assert given["col_s"][0] == pytest.approx((right["A"] + right["B"]) / 2)
    assert given["col_h"][0] == 0
    assert given["majority"][0] == given["ford"][0] == pytest.approx(right["A"])  # AB ties, ABABA is for A
    assert reverse["ford"][0] == pytest.approx(right["B"])
    assert given["ford_judged"][0] == reverse["ford_judged"][0] == pytest.approx(right["B"])
    assert [share[0] for share in given["incon"]] == [1, 1, 1, 1]
    assert (given["debated"], given["agreed"], given["unread"], given["predictions"]) == (6, 0, 0, 30)
    assert all(one["dominance_of_agreed"] is None and one["dominance_of_debated"][0] == 0 for one in given["sway"])


def test_recorded_outcomes_give_the_run_s_own_figures(firm: Path) -> None:
    ended = call(COMMAND, "--outcomes", firm / "run", "--format", "json")
    assert ended.code == 0, ended.err
    again = json.loads(ended.out)
    assert again["chains"] == metrics(firm)["chains"]
    assert again["refused"] == []


def test_a_run_is_no_source_of_debates_with_assigned_answers(firm: Path) -> None:
    with pytest.raises(SourceError, match=r"run of ford.*tournaments\.consensus --outcomes"):
        load_debates(str(firm / "run"))


def test_the_report_shows_each_debate_as_it_went(firm: Path) -> None:
    pages = sorted((firm / "run" / "debates").glob("*.html"))
    assert len(pages) == 12
    page = (firm / "run" / "debates" / "1.html").read_text(encoding="utf-8")
    for part in (
        "Alone",
        "Debate",
        "The first fits, I said it after 2.",
        "The second fits, said after 3.",
        "the right answer",
    ):
        assert part in page
    report = (firm / "run" / "report.html").read_text(encoding="utf-8")
    for part in ("Right answers", "INCON", "Dominance", "Speakers", "Cost"):
        assert part in report
    index = (firm / "run" / "assets" / "debates.js").read_text(encoding="utf-8")
    assert '"talk": true' in index.replace('"talk":true', '"talk": true')


def test_a_plan_is_an_upper_bound_that_is_met_where_nobody_agrees(firm: Path, tmp_path: Path) -> None:
    config = firm / "config.yaml"
    planned = call(COMMAND, "--config", config, "--dry-run")
    assert planned.code == 0, planned.err
    # alone once for both orders; then three turns in each order, the proponent twice; the judge on all twelve debates
    assert {row[0].rpartition(":")[2]: row[1] for row in cells(planned.out, "Plan")} == {
        "stubborn": str(6 + 6 * 2 + 6),
        "contrary": str(6 + 6 + 6 * 2),
        "sleuth": "12",
    }
    made = call(COMMAND, "--config", config, "--output", tmp_path / "run")
    spent = {row[0].rpartition(":")[2]: row[1] for row in cells(made.out, "Cost")}
    assert spent == {"stubborn": "24", "contrary": "24", "sleuth": "12"}


def test_who_gives_in_is_counted(tmp_path: Path) -> None:
    ended = run(tmp_path, roundtable("stubborn", "yielding"))
    assert ended.code == 0, ended.err
    assert {tuple(row["predictions"]) for row in rows(tmp_path)} == {("A", "B", "A", "A")}
    assert {row["consensus_round"] for row in rows(tmp_path)} == {2}
    (chain,) = metrics(tmp_path)["chains"]
    assert [share[0] for share in chain["incon"]] == [1, 1, 0, 0, 0, 0, 0]  # two models, so at most six turns
    first, second = chain["sway"]
    assert (first["dominance_of_agreed"][0], first["compromises"]) == (1, 0)
    assert (second["dominance_of_agreed"][0], second["compromises"], second["changes"]) == (0, 6, 6)
    assert chain["ford_judged"] is None


def test_three_speakers_have_nine_turns(tmp_path: Path) -> None:
    ended = run(tmp_path, roundtable("stubborn", "contrary", "yielding", limit=2))
    assert ended.code == 0, ended.err
    for row in rows(tmp_path):
        assert "".join(row["predictions"]) == "ABB" + "ABA" * 3
        assert row["rounds"] == 9


def test_near_identical_speakers_have_four_turns() -> None:
    twins = [{"name": name, "model": f"{HERE}:stubborn", "character": f"You are {name}."} for name in ("x", "y")]
    assert configured("stubborn", "contrary", speakers=twins).most_turns == 4
    assert configured("stubborn", "contrary").most_turns == 6
    assert configured("stubborn", "contrary", turns=0).most_turns == 0


def test_a_speaker_s_character_begins_its_prompts(tmp_path: Path) -> None:
    # A character that holds the first's argument makes the yielding speaker give in at once.
    speakers = [
        {"name": "x", "model": f"{HERE}:stubborn"},
        {"name": "y", "model": f"{HERE}:yielding", "character": "The first fits, you think."},
    ]
    ended = run(tmp_path, roundtable(speakers=speakers))
    assert ended.code == 0, ended.err
    assert {tuple(row["predictions"]) for row in rows(tmp_path)} == {("A", "A")}


def test_a_run_that_was_stopped_goes_on_without_making_a_finished_call_again(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    assert run(whole, roundtable("stubborn", "yielding")).code == 0
    stopped = run(tmp_path, roundtable("stubborn", "yielding"), "--budget.max_calls", 9, "--concurrency", 1)
    assert stopped.code == 2
    assert "max_calls 9 is spent" in stopped.err
    resumed = call(COMMAND, "--resume", tmp_path / "run", "--budget.max_calls", 24)
    assert resumed.code == 0, resumed.err  # 6 questions of 4 answers each: not one call more than a whole run takes
    assert rows(tmp_path) == rows(whole)
    assert metrics(tmp_path)["chains"] == metrics(whole)["chains"]
    assert sum(int(row[1]) for row in cells(resumed.out, "Cost")) == 24


def test_a_finished_run_is_reported_again_without_a_call(firm: Path) -> None:
    before = rows(firm)
    again = call(COMMAND, "--resume", firm / "run")
    assert again.code == 0, again.err
    assert rows(firm) == before


def test_too_many_answers_that_cannot_be_read_fail_the_run(tmp_path: Path) -> None:
    ended = run(tmp_path, roundtable("stubborn", "mumbling", turns=1))
    assert ended.code == 1
    assert (
        "6 of 18 answers could not be read, more than max_unparsed 0.02: no single answer on the last line" in ended.err
    )
    assert all(row["predictions"] == ["A", None, "A"] for row in rows(tmp_path))
    (chain,) = metrics(tmp_path)["chains"]
    assert chain["unread"] == 6
    assert cells(ended.out, "Right answers")[0][-1] == "6 of 18"
    assert (
        run(tmp_path, roundtable("stubborn", "mumbling"), "--output", tmp_path / "more", "--max_unparsed", 1).code == 0
    )


def test_small_models_are_read_by_probabilities(tmp_path: Path) -> None:
    speakers = [
        {"name": "letters", "model": f"{HERE}:weighing", "reads": "letters"},
        {"name": "words", "model": f"{HERE}:weighing", "reads": "likelihood"},
    ]
    ended = run(tmp_path, roundtable(speakers=speakers, turns=1, limit=40))
    assert ended.code == 0, ended.err
    assert "read from probabilities (letters and likelihood)" in ended.out
    for question, row in zip(_chosen(tmp_path), rows(tmp_path), strict=True):
        lengths = [len(answer) for answer in question.answers]
        assert row["predictions"][0] == "ABCDE"[len(lengths) - 1]
        assert row["predictions"][1] == "ABCDE"[lengths.index(max(lengths))]


def _chosen(folder: Path) -> list[Any]:
    questions = {question.id: question for question in load("shipped:choices")}
    return [questions[row["id"]] for row in rows(folder)]


def test_any_number_of_answers_can_be_chosen_from(tmp_path: Path) -> None:
    ended = run(tmp_path, roundtable("stubborn", "contrary", limit=40, turns=1))
    assert ended.code == 0, ended.err
    assert {len(question.answers) for question in _chosen(tmp_path)} == {2, 3, 4, 5}


def test_a_failed_debate_is_data_and_no_sample_of_any_share(tmp_path: Path) -> None:
    speakers = [{"name": "x", "model": f"{HERE}:stubborn"}, {"name": "y", "model": f"{HERE}:failing"}]
    ended = run(tmp_path, roundtable(speakers=speakers, limit=40))
    assert ended.code == 1
    assert "debates failed, more than max_failed 0.02: it is broken" in ended.err
    asked, failed = 40, metrics(tmp_path)["failed"]
    assert 0 < failed < asked
    assert len(rows(tmp_path)) == asked - failed
    assert {row["samples"] for row in rows(tmp_path)} == {asked - failed}


def test_a_failed_debate_is_tried_again_when_the_run_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = roundtable("stubborn", "flaky_one", limit=20)
    (tmp_path / "whole").mkdir()
    assert run(tmp_path / "whole", config).code == 0
    monkeypatch.setenv(DOWN, "1")
    ended = run(tmp_path, config)
    assert (ended.code, metrics(tmp_path)["failed"]) == (1, 20 - len(rows(tmp_path)))
    assert 0 < len(rows(tmp_path)) < 20
    monkeypatch.delenv(DOWN)
    resumed = call(COMMAND, "--resume", tmp_path / "run")
    assert resumed.code == 0, resumed.err
    assert rows(tmp_path) == rows(tmp_path / "whole")


def test_lost_and_doubled_samples_are_a_fault_of_the_program() -> None:
    config = configured("stubborn", "contrary")
    questions = load("shipped:choices")[:3]
    held = [Discussion(question.id, question, ("x", "y"), failed="so") for question in questions]
    assert chain_of(config, questions, held) is None
    for wrong in (held[:2], [*held, held[0]], [held[0], held[0], held[1]]):
        with pytest.raises(DissoiError, match="lost or doubled"):
            chain_of(config, questions, wrong)


def speaker(name: str, model: str = f"{HERE}:stubborn", **more: Any) -> dict[str, Any]:
    return {"name": name, "model": model, **more}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"system": "frod"}, ("system: 'frod' is none of", "ford")),
        (
            {"speakers": [speaker("x", optimizer={"kind": "best_of_n", "n": 4}), speaker("y")]},
            ("optimizer", "assigned"),
        ),
        ({"speakers": [speaker("x"), speaker("x")]}, ("named twice: x",)),
        ({"speakers": [speaker("x__y"), speaker("z")]}, ("'__'",)),
        ({"speakers": [speaker("x")]}, ("speakers", "at least 2")),
        ({"speakers": [speaker("x"), speaker("y", "openai/gpt-4.1", reads="likelihood")]}, ("speaker 'y'", "reply")),
        ({"judge": {"model": "openai/o3", "reads": "letters"}}, ("judge", "letters")),
        ({"choise": {}}, ("choise: unknown key; did you mean choice?",)),
    ],
)
def test_wrong_configurations_are_refused(tmp_path: Path, changes: dict[str, Any], words: tuple[str, ...]) -> None:
    ended = run(tmp_path, roundtable("stubborn", "contrary", **changes))
    assert ended.code == 2
    for word in words:
        assert word in ended.err


def test_questions_whose_answers_are_not_known_are_refused(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"goal": "x", "sol1": "a", "sol2": "b"}\n', encoding="utf-8")
    ended = run(tmp_path, roundtable("stubborn", "contrary", source=f"piqa:{tmp_path / 'q.jsonl'}"))
    assert_refuses(COMMAND, ended, "right answers of 1 questions are not known", "labels=FILE")


def test_outcomes_that_cannot_be_measured_say_why(tmp_path: Path) -> None:
    file = tmp_path / "o.jsonl"

    def refuse(*lines: dict[str, Any]) -> str:
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        ended = call(COMMAND, "--outcomes", file)
        assert ended.code == 2
        return ended.err

    row = {"run": "x__y", "dataset": "d", "index": 0, "gold": "A", "predictions": ["A", "A"], "consensus_round": 0}
    assert "holds no outcomes" in refuse()
    assert "system 'chess'" in refuse(row | {"system": "chess"})
    assert "1 samples where 2 began: 1 lost" in refuse(row | {"samples": 2})
    assert "unknown field 'predicitons'" in refuse(row | {"predicitons": []})
    assert "more than once" in refuse(row, row)
    assert "its last 2 predictions differ" in refuse(row | {"predictions": ["A", "B"]})
    assert "never agreed, but its predictions are one after round 0" in refuse(row | {"consensus_round": None})
    # two runs of one data set, of different sizes, and nothing that says which is whole
    other = row | {"run": "x__z"}
    assert "nothing says how many began" in refuse(row, row | {"index": 1}, other)


def test_plans_do_not_count_what_cannot_be_asked() -> None:
    planned = plan(configured("stubborn", "contrary", limit=40, turns=0))
    assert (planned.debates, planned.total_calls) == (40, 80)


def test_a_plan_of_letters_counts_the_choice_and_the_explanation() -> None:
    speakers = [{"name": name, "model": f"{HERE}:weighing"} for name in ("x", "y")]
    planned = plan(configured(speakers=speakers, choice={"reads": "letters"}, turns=1, limit=10))
    assert planned.total_calls == 10 * (2 * 2 + 2)
    # how likely the answers are anyway is asked once
    planned = plan(configured(speakers=speakers, choice={"reads": "likelihood"}, turns=1, limit=10))
    assert planned.total_calls == 10 * (2 * 3 + 2)


def test_the_orders_are_the_given_and_the_reverse() -> None:
    config = configured("stubborn", "contrary", order="reversed")
    assert [[one.name for one in order] for order in config.orders] == [["contrary", "stubborn"]]
    both = configured("stubborn", "contrary", "yielding", order="both")
    assert [[one.name for one in order] for order in both.orders] == [
        ["stubborn", "contrary", "yielding"],
        ["yielding", "contrary", "stubborn"],
    ]


def test_a_speaker_may_choose_otherwise_than_the_others() -> None:
    speakers = [
        {"name": "x", "model": f"{HERE}:weighing", "reads": "letters", "temperature": 0.5},
        {"name": "y", "model": f"{HERE}:weighing"},
    ]
    config = configured(speakers=speakers, choice={"max_words": 9})
    first, second = (config.how(one) for one in config.speakers)
    assert (first.reads, first.temperature, first.max_words) == ("letters", 0.5, 9)
    assert (second.reads, second.temperature, second.max_words) == ("reply", 0.0, 9)
