"""The command ``python -m tournaments.rejudge``: other judges for recorded debates, and ratings over several runs."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from debate.card import Card, write_card
from debate.record import Recorded
from debate.sources import load, load_debates
from tests.commands import call
from tests.runs import EXTRACTIVE, ROOT, SCRIPTS, Ended, Run, cells, debates, hold, metrics, tournament, write
from tests.scripts import ASKED
from tests.tiny import save_model
from tournaments.consultancy import COMMAND as CONSULTANCY
from tournaments.matches import outcomes
from tournaments.ratings import fit
from tournaments.rejudge import COMMAND

LETTER = f"{SCRIPTS}:judge (letter)"
JUDGE = ["--judge.model", f"{SCRIPTS}:judge"]
VOTES = {"model": f"{SCRIPTS}:reasoning_judge", "kind": "vote", "votes": 3, "name": "votes"}


def rejudge(*arguments: object) -> Ended:
    """Run the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = COMMAND.main([str(argument) for argument in arguments])
    lines = [line for line in err.getvalue().splitlines() if not line.startswith("rejudge: ")]
    return Ended(code, out.getvalue(), "\n".join(lines))


def refused(ended: Ended, *words: str) -> None:
    """Hold that the command was refused in one clear line."""
    assert ended.code == 2, ended
    (line,) = ended.err.splitlines()
    assert line.startswith("tournaments.rejudge: ")
    for word in words:
        assert word in line


def verdicts(folder: Path, judge: str) -> dict[tuple[str, tuple[int, ...]], Any]:
    """What a judge gave in a run, by debate and order."""
    return {
        (item["debate"]["id"], tuple(verdict["order"])): (verdict["probabilities"], verdict["reasoning"])
        for item in debates(folder)
        for verdict in item["verdicts"]
        if verdict["judge"] == judge
    }


def ladder(folder: Path) -> list[dict[str, str]]:
    """The rows of ``ratings.csv``."""
    with (folder / "ratings.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def assert_close(one: Any, other: Any) -> None:
    """Hold that two trees of figures are the same but for rounding: sums over debates in another order."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key, value in one.items():
            assert_close(value, other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_close(a, b)
    else:
        assert one == (pytest.approx(other, abs=1e-9) if isinstance(one, float) else other)


def found(folder: Path) -> tuple[object, ...]:
    """What a resumed run must share with one that was never stopped."""
    return debates(folder), ladder(folder), metrics(folder)


# --- more judges -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged(done: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The small tournament, judged again by a judge that votes."""
    folder = tmp_path_factory.mktemp("rejudge")
    config = write(
        folder / "config.yaml", {"sources": [str(done.folder)], "judges": [VOTES], "seed": 1, "max_unparsed": 1}
    )
    return Run(folder / "run", config, rejudge("--config", config, "--output", folder / "run"))


def test_verdicts_are_those_that_a_tournament_gets_from_the_judge(done: Run, judged: Run, tmp_path: Path) -> None:
    assert judged.ended.code == 0, judged.ended.err
    assert hold(tmp_path, judge=VOTES, max_unparsed=1).code == 0
    ours = verdicts(judged.folder, "votes")
    assert len(ours) == 140
    assert ours == verdicts(tmp_path / "run", "votes")
    theirs = [row for row in ladder(judged.folder) if row["judge"] == "votes"]
    assert [{**row, "judge": "votes"} for row in ladder(tmp_path / "run")] == theirs
    # The judge that the tournament had stands beside it, untouched.
    assert verdicts(judged.folder, LETTER) == verdicts(done.folder, LETTER)
    kept = [{key: value for key, value in row.items() if key != "judge"} for row in ladder(judged.folder)]
    assert kept[:5] == ladder(done.folder)


def test_tables_compare_the_judges(done: Run, judged: Run) -> None:
    out = judged.ended.out
    for title in ("Judges compared", "Judges two by two", "Elo by judge", f"Ladder: {LETTER}", "Ladder: votes"):
        assert f"{title}\n" in out
    for words in ("By assigned side: votes", "Judge: votes", "kappa", "mean |Δp|", "Spearman of Elo", "Cost"):
        assert words in out
    measured = metrics(judged.folder)
    assert list(measured["judges"]) == [LETTER, "votes"]
    original = metrics(done.folder)
    for part in ("players", "cross_play", "self_play"):
        assert_close(measured["judges"][LETTER][part], original[part])
    assert list(measured["judges"]["votes"]["groups"]) == ["all", "simultaneous", "simultaneous, self-play"]
    (pair,) = measured["pairs"].values()
    assert pair["players"] == 5
    # By hand, from the exports: the debates of which all four verdicts name an answer.
    means: list[dict[str, list[float]]] = [{}, {}]
    for judge, mean in zip((LETTER, "votes"), means, strict=True):
        for (name, _), (probabilities, _) in verdicts(judged.folder, judge).items():
            mean.setdefault(name, []).extend([] if probabilities is None else probabilities[:1])
    gaps = [abs(sum(one) - sum(means[1][name])) / 2 for name, one in means[0].items() if len(means[1][name]) == 2]
    assert pair["debates"] == len(gaps) < 70
    assert pair["distance"][0] == pytest.approx(sum(gaps) / len(gaps))
    assert set(measured["more_than_the_first"]) == {"votes"}
    assert (judged.folder / "report.html").is_file()
    assert len(list((judged.folder / "debates").glob("*.html"))) == 70


def test_several_judges_at_once_are_those_asked_one_by_one(done: Run, judged: Run, tmp_path: Path) -> None:
    other = {"model": f"{SCRIPTS}:judge", "name": "other"}
    config = {"sources": [f"run:{done.folder}"], "judges": [VOTES, other], "seed": 1, "max_unparsed": 1, "keep": False}
    ended = rejudge("--config", write(tmp_path / "c.yaml", config), "--output", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert verdicts(tmp_path / "run", "votes") == verdicts(judged.folder, "votes")
    assert verdicts(tmp_path / "run", LETTER) == {}
    assert list(metrics(tmp_path / "run")["judges"]) == ["votes", "other"]
    again = {key: value[0] for key, value in verdicts(tmp_path / "run", "other").items()}
    assert again == {key: value[0] for key, value in verdicts(done.folder, LETTER).items()}


def test_baselines_are_judged_again_with_the_story_where_it_belongs(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"self_play": None, "baselines": ["blind", "expert"], "stories": 4, "per_story": 2}
    assert hold(tmp_path, players=EXTRACTIVE, **changes).code == 0
    ended = rejudge(tmp_path / "run", *JUDGE, "--judge.name", "again", "--output", tmp_path / "more")
    assert ended.code == 0, ended.err
    measured = metrics(tmp_path / "more")["judges"]
    for name in ("blind", "expert"):
        assert measured["again"][name] == measured[LETTER][name] == metrics(tmp_path / "run")[name]
    assert measured["again"]["groups"].keys() == {"simultaneous"}
    assert "PGR" in ended.out
    pgr = metrics(tmp_path / "run")["cross_play"]["pgr"]
    for judge in ("again", LETTER):
        assert measured[judge]["groups"]["simultaneous"]["pgr"] == pgr


def test_consultants_have_their_figures(tmp_path: Path) -> None:
    config = tournament(
        protocol={"kind": "consultancy", "rounds": 1},
        players=[EXTRACTIVE[0], {"name": "b", "kind": "extractive", "quotes": 1}],
        speech={"min_words": 5, "max_words": 60},
        baselines=["blind", "expert"],
        stories=4,
        per_story=2,
    )
    del config["self_play"]
    ended = call(CONSULTANCY, "--config", write(tmp_path / "c.yaml", config), "--output", tmp_path / "run")
    assert ended.code == 0, ended.err
    theirs = metrics(tmp_path / "run")
    ended = rejudge(tmp_path / "run", *JUDGE, "--judge.name", "again", "--output", tmp_path / "more")
    assert ended.code == 0, ended.err
    ours = metrics(tmp_path / "more")["judges"]
    rates = [f"win_rate_{side}" for side in ("both", "right", "wrong")]
    for judge in (LETTER, "again"):
        assert ours[judge]["consultants"].keys() == {"a", "b"}
        for name, found in ours[judge]["consultants"].items():
            assert found["consultancies"] == theirs["players"][name]["debates"]
            assert_close({key: found[key] for key in rates}, {key: theirs["players"][name][key] for key in rates})
        group = ours[judge]["groups"]["consultancy"]
        assert_close(group["pgr"], theirs["consultancies"]["pgr"])
        assert {key: group[key] for key in rates} == {key: ours[judge][key] for key in rates}
    assert all("pgr" in player for player in theirs["players"].values())


def test_the_plan_counts_the_calls_that_are_made(done: Run, tmp_path: Path) -> None:
    flags = [done.folder, *JUDGE, "--judge.name", "again", "--limit", 10, "--output", tmp_path / "run"]
    plan = rejudge(*flags, "--dry-run")
    assert plan.code == 0
    assert "Plan: 10 debates" in plan.out
    assert "10 of 70 debates were chosen" in plan.out
    assert not (tmp_path / "run").exists()
    ended = rejudge(*flags)
    assert ended.code == 0, ended.err
    (planned,), (made,) = cells(plan.out, "Plan:"), cells(ended.out, "Cost")
    assert planned[1] == "20"
    assert int(made[1]) + int(made[2]) <= 20  # two debates with the same speeches are one call
    held = debates(tmp_path / "run")
    assert len(held) == 10
    # One debate of every story before a second of any: five stories, two of each.
    stories = Counter(item["debate"]["transcript"]["question"]["story_id"] for item in held)
    assert sorted(stories.values()) == [2, 2, 2, 2, 2]
    assert rejudge(done.folder, "--limit", 10, "--seed", 0, "--dry-run").out.count("Plan: 10 debates") == 1


def test_a_letter_judge_without_log_probabilities_votes_and_the_plan_says_so(done: Run, tmp_path: Path) -> None:
    flags = [done.folder, "--judge.model", f"{SCRIPTS}:words_only_judge", "--limit", 4, "--output", tmp_path / "run"]
    plan = rejudge(*flags, "--dry-run")
    assert "gives no log-probabilities, so the letter judge" in plan.out
    (planned,) = cells(plan.out, "Plan:")
    ended = rejudge(*flags)
    assert ended.code == 0, ended.err
    (made,) = cells(ended.out, "Cost")
    assert planned[1] == made[1] == "40"  # four debates, two orders, five votes
    assert list(metrics(tmp_path / "run")["judges"]) == [LETTER, f"{SCRIPTS}:words_only_judge (letter) by vote of 5"]


def test_a_run_of_rejudge_is_a_source_itself(done: Run, judged: Run, tmp_path: Path) -> None:
    assert {item.debate.id for item in load_debates(str(judged.folder))} == {
        i["debate"]["id"] for i in debates(done.folder)
    }
    assert [q.id for q in load(f"run:{judged.folder}")] == [q.id for q in load(f"run:{done.folder}")]
    ended = rejudge(judged.folder, *JUDGE, "--judge.name", "third", "--seed", 1, "--output", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert list(metrics(tmp_path / "run")["judges"]) == [LETTER, "votes", "third"]
    for judge in (LETTER, "votes"):
        assert verdicts(tmp_path / "run", judge) == verdicts(judged.folder, judge)
    # With the run that it was made from, every debate still counts once.
    both = rejudge(judged.folder, done.folder, "--output", tmp_path / "both")
    assert both.code == 0, both.err
    assert "70 debates are in several sources; each counts once" in both.out
    assert debates(tmp_path / "both") == [
        {**item, "debate": {**item["debate"], "tags": {"source": "run"}}} for item in debates(judged.folder)
    ]


# --- what is refused and what fails ----------------------------------------------------------------------------------


def test_a_judge_with_anothers_name_is_refused_and_the_same_one_is_not_asked_again(done: Run, tmp_path: Path) -> None:
    named = ["--judge.name", LETTER, "--output", tmp_path / "run"]
    refused(
        rejudge(done.folder, "--judge.model", f"{SCRIPTS}:asking_judge", *named), LETTER, "judge.name", "keep: false"
    )
    assert not (tmp_path / "run").exists()
    ended = rejudge(done.folder, *JUDGE, "--output", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert "140" not in ended.out[ended.out.index("\nCost\n") :]
    assert verdicts(tmp_path / "run", LETTER) == verdicts(done.folder, LETTER)
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    assert connection.execute("SELECT count(*) FROM calls").fetchone() == (0,)
    connection.close()


def test_names_of_people_who_judged_published_debates_are_kept_for_them(tmp_path: Path, done: Run) -> None:
    output = ["--output", tmp_path / "run"]
    for name in ("as published", "Ana (offline, stepped)"):
        refused(rejudge(done.folder, *JUDGE, "--judge.name", name, *output), f"{name!r} is kept for people", "another")
    # A copy of the run in which a person judged one of the debates as it went.
    live = tmp_path / "live"
    shutil.copytree(done.folder, live)
    connection = sqlite3.connect(live / "run.sqlite")
    key, payload = connection.execute("SELECT key, payload FROM debates LIMIT 1").fetchone()
    debate = json.loads(payload) | {"tags": {"judge": "Ana"}}
    connection.execute("UPDATE debates SET payload = ? WHERE key = ?", (json.dumps(debate), key))
    connection.commit()
    connection.close()
    for more in ([], ["--dry-run"], ["--keep", "false"]):
        refused(rejudge(live, *JUDGE, "--judge.name", "Ana", *more, *output), "'Ana' has the name of somebody", "live")
    assert not (tmp_path / "run").exists()


def test_wrong_sources_and_no_judge_are_refused(done: Run, tmp_path: Path) -> None:
    output = ["--output", tmp_path / "run"]
    refused(rejudge(tmp_path / "nowhere", *output), "no source of debates", "nowhere")
    refused(rejudge(done.folder, f"run:{done.folder}", *output), "given 2 times as a source")
    refused(rejudge(done.folder, "--keep", "false", *output), "no judge")
    refused(rejudge(done.folder, "--fold", "judge", *output), "none of the 70 debates", "debater, validation")
    refused(rejudge(done.folder, "--tags.setting", "x", *output), "no debate has the tag 'setting'")
    refused(rejudge(*output), "no sources", "name run folders, or nyu:FILE, as arguments")
    twice = write(tmp_path / "c.yaml", {"sources": [str(done.folder)], "judges": [VOTES, VOTES]})
    refused(rejudge("--config", twice, *output), "judge named twice: votes")
    assert not (tmp_path / "run").exists()
    bare = tmp_path / "bare"
    shutil.copytree(done.folder, bare)
    connection = sqlite3.connect(bare / "run.sqlite")
    connection.execute("DELETE FROM verdicts")
    connection.commit()
    connection.close()
    refused(rejudge(bare, *output), "no debate of these sources has a verdict", "--judge.model")


def test_a_judge_trained_on_the_stories_is_refused(done: Run, tmp_path: Path) -> None:
    save_model(tmp_path / "trained")
    seen = Card.stories_of([load_debates(str(done.folder))[0].debate.transcript.question])
    write_card(tmp_path / "trained", Card(kind="judge", base="hf/base", stories=seen, data="0" * 64))
    flags = ["--judge.model", f"hf/{tmp_path / 'trained'}", "--output", tmp_path / "run"]
    for dry in ([], ["--dry-run"]):
        refused(rejudge(done.folder, *flags, *dry), "was trained on 1 of these 5 stories", seen[0].id)
    assert not (tmp_path / "run").exists()


def test_a_story_in_two_folds_is_refused(tmp_path: Path) -> None:
    question = load("shipped:stories")[0]
    row = {"question": question.text, "answers": list(question.answers), "gold": question.gold, "story": question.story}
    folders = []
    for fold, rounds in (("debater", 1), ("test", 2)):
        place = tmp_path / fold
        place.mkdir()
        (place / "own.jsonl").write_text(json.dumps({**row, "fold": fold}), encoding="utf-8")
        source = {"source": f"questions:{place / 'own.jsonl'}", "fold": None, "stories": None}
        protocol = {"kind": "simultaneous", "rounds": rounds}
        ended = hold(place, players=EXTRACTIVE, self_play=None, protocol=protocol, **source)
        assert ended.code == 0, ended.err
        folders.append(place / "run")
    for dry in ([], ["--dry-run"]):
        refused(rejudge(*folders, *dry, "--output", tmp_path / "run"), "is in fold debater", "is in fold test")
    assert not (tmp_path / "run").exists()


def test_unparsed_verdicts_count_by_judge_and_those_that_came_along_do_not(done: Run, tmp_path: Path) -> None:
    config = {
        "sources": [str(done.folder)],
        "judges": [{"model": f"{SCRIPTS}:judge", "name": "fine"}, {**VOTES, "kind": "reason", "name": "thinks"}],
        "seed": 1,
    }
    ended = rejudge("--config", write(tmp_path / "c.yaml", config), "--output", tmp_path / "run")
    assert ended.code == 1
    measured = metrics(tmp_path / "run")["judges"]["thinks"]
    lost = measured["groups"]["all"]["unparsed"]
    assert 20 < lost < 50  # a quarter of 140
    assert f"judge thinks: {lost} of 140 verdicts are unparsed, more than max_unparsed 0.02" in ended.err
    assert len(ended.err.splitlines()) == 1
    cross = measured["cross_play"]
    assert measured["outcomes"] == cross["verdicts"] - cross["unparsed"]  # a win for nobody
    again = rejudge(tmp_path / "run", *JUDGE, "--judge.name", "fourth", "--output", tmp_path / "again")
    assert again.code == 0, again.err  # whoever asked for those has been told
    assert metrics(tmp_path / "again")["judges"]["thinks"]["groups"]["all"]["unparsed"] == lost


def test_debates_on_which_a_judge_fails_fail_for_that_judge_alone(done: Run, tmp_path: Path) -> None:
    config = {
        "sources": [str(done.folder)],
        "judges": [
            {"model": f"{SCRIPTS}:failing", "kind": "reason", "name": "fails"},
            {"model": f"{SCRIPTS}:judge", "name": "fine"},
        ],
        "max_unparsed": 1,
    }
    ended = rejudge("--config", write(tmp_path / "c.yaml", config), "--output", tmp_path / "run")
    assert ended.code == 1
    assert "judge fails: " in ended.err
    assert "of 70 debates failed" in ended.err
    assert "as its script says" in ended.err
    assert len(verdicts(tmp_path / "run", "fine")) == 140
    assert all(item["debate"]["failed"] is None for item in debates(tmp_path / "run"))


# --- ratings over several runs ---------------------------------------------------------------------------------------


def halves(folder: Path, **changes: Any) -> tuple[Path, Path, Path]:
    """Hold a tournament on four questions, and on the first and last two of them by themselves."""
    rows = [
        {
            "id": question.id,
            "question": question.text,
            "answers": list(question.answers),
            "gold": question.gold,
            "story": question.story,
            "story_id": question.story_id,
        }
        for question in load("shipped:stories")[::4][:4]
    ]
    found = []
    for name, part in (("union", rows), ("one", rows[:2]), ("two", rows[2:])):
        place = folder / name
        place.mkdir()
        (place / "own.jsonl").write_text("\n".join(map(json.dumps, part)), encoding="utf-8")
        source = f"questions:{place / 'own.jsonl'}"
        ended = hold(place, **{"source": source, "fold": None, "stories": None, "self_play": None, **changes})
        assert ended.code == 0, ended.err
        found.append(place.rename(folder / f"tournament-{name}") / "run")
    return found[0], found[1], found[2]


def test_ratings_over_two_halves_are_those_of_one_fit_over_both(tmp_path: Path) -> None:
    union, one, two = halves(tmp_path, players=tournament()["players"][:3])
    ended = rejudge(one, two, "--output", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert [{"judge": LETTER, **row} for row in ladder(union)] == ladder(tmp_path / "run")
    own = fit(outcomes([*load_debates(str(one)), *load_debates(str(two))], "hard"))
    assert {row["player"]: row["elo"] for row in ladder(tmp_path / "run")} == {
        name: f"{rating.elo:.4f}" for name, rating in own.players.items()
    }
    assert verdicts(tmp_path / "run", LETTER) == verdicts(union, LETTER)
    assert "Cost" not in ended.out  # nobody was asked
    (row,) = [line for line in ended.out.splitlines() if line.startswith("simultaneous, tournament-one")]
    assert row.split()[2] == "12"  # three matches, both assignments of two questions


def test_two_players_of_one_name_are_named_apart(done: Run, tmp_path: Path) -> None:
    players = [*tournament()["players"][:2], {"name": "extractive", "kind": "extractive", "quotes": 4}]
    changes: dict[str, Any] = {"protocol": {"kind": "simultaneous", "rounds": 1}, "self_play": None}
    speech = {"min_words": 25, "max_words": 90, "max_tokens": 200}
    assert hold(tmp_path, players=players, **changes).code == 0
    ended = rejudge(done.folder, tmp_path / "run", "--output", tmp_path / "both")
    assert ended.code == 0, ended.err
    # "run" is the name of both folders, so the one above tells them apart.
    above, mine = (folder.parent.name for folder in (done.folder, tmp_path / "run"))
    new = [f"extractive ({above}/run)", f"extractive ({mine}/run)"]
    note = f"player 'extractive' is not configured alike in all sources, so it is named apart: {new[0]} and {new[1]}."
    assert note in ended.out
    names = {row["player"] for row in ladder(tmp_path / "both")}
    assert names == {"first", "second", "evidence", "extractive-three", *new}
    # Ids that both runs have used stand for different debates, of two rounds and of one: the second's bear its name.
    ids = [item["debate"]["id"] for item in debates(tmp_path / "both")]
    assert len(ids) == len(set(ids)) == 70 + 18
    assert any(name.startswith(f"{mine}/run | ") for name in ids)
    # Other limits of a speech make another player too, also where they are the tournament's.
    shutil.rmtree(tmp_path / "run")
    assert hold(tmp_path, players=tournament()["players"][:2], speech=speech, **changes).code == 0
    ended = rejudge(done.folder, tmp_path / "run", "--output", tmp_path / "more")
    assert {row["player"] for row in ladder(tmp_path / "more")} >= {f"first ({above}/run)", f"second ({mine}/run)"}
    # A run that is made from those knows them apart still.
    again = rejudge(tmp_path / "both", done.folder, "--output", tmp_path / "again")
    assert again.code == 0, again.err
    assert {row["player"] for row in ladder(tmp_path / "again")} == {*names, "extractive"}


def test_runs_that_use_the_same_ids_for_other_questions(tmp_path: Path) -> None:
    questions = load("shipped:stories")[1::3][:12]
    for name, part in (("one", questions[:6]), ("two", questions[6:12])):
        place = tmp_path / name
        place.mkdir()
        stories = list(dict.fromkeys(question.story_id for question in part))
        rows = [
            {
                "id": f"q{at}",
                "question": question.text,
                "answers": list(question.answers),
                "gold": question.gold,
                "story": question.story,
                "story_id": f"s{stories.index(question.story_id)}",
            }
            for at, question in enumerate(part)
        ]
        (place / "own.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        source = {"source": f"questions:{place / 'own.jsonl'}", "fold": None, "stories": None, "per_story": None}
        ended = hold(place, players=EXTRACTIVE, self_play=None, baselines=["blind", "expert"], **source)
        assert ended.code == 0, ended.err
        place.joinpath("run").rename(tmp_path / f"run-{name}")
    ended = rejudge(tmp_path / "run-one", tmp_path / "run-two", "--output", tmp_path / "both")
    assert ended.code == 0, ended.err
    assert "6 questions of run-two have ids that stand for other questions too, so they are named apart" in ended.out
    ours = metrics(tmp_path / "both")["judges"][LETTER]
    for name in ("one", "two"):
        theirs = metrics(tmp_path / f"run-{name}")["cross_play"]
        assert_close(ours["groups"][f"simultaneous, run-{name}"]["pgr"], theirs["pgr"])
    # One of the stories is in both parts, under different ids; told by its text it is one.
    assert ours["stories"] == len({question.story for question in questions})
    held = [item["debate"]["transcript"]["question"] for item in debates(tmp_path / "both")]
    assert {question["id"] for question in held} == {f"{run}q{at}" for run in ("", "run-two | ") for at in range(6)}
    # The run is a source of twelve questions, and gathered with one of its own sources it knows that one's again.
    assert len(load(f"run:{tmp_path / 'both'}")) == 12
    again = rejudge(tmp_path / "both", tmp_path / "run-two", "--output", tmp_path / "again")
    assert again.code == 0, again.err
    assert "named apart" not in again.out
    assert metrics(tmp_path / "again")["judges"][LETTER]["stories"] == ours["stories"]


# --- going on --------------------------------------------------------------------------------------------------------


def test_a_budget_stops_and_a_larger_one_goes_on_without_the_source(done: Run, judged: Run, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(done.folder, source)
    config = {**yaml.safe_load(judged.config.read_text(encoding="utf-8")), "sources": [str(source)]}
    flags = ["--config", write(tmp_path / "c.yaml", config), "--output", tmp_path / "run"]
    stopped = rejudge(*flags, "--budget.max_calls", 100)
    assert stopped.code == 2
    assert "max_calls 100 is spent" in stopped.err
    shutil.rmtree(source)
    resumed = rejudge("--resume", tmp_path / "run", "--budget.max_calls", 10_000)
    assert resumed.code == 0, resumed.err
    assert found(tmp_path / "run")[1:] == found(judged.folder)[1:]
    for judge in (LETTER, "votes"):
        assert verdicts(tmp_path / "run", judge) == verdicts(judged.folder, judge)
    assert [row[:2] for row in cells(resumed.out, "Cost")] == [row[:2] for row in cells(judged.ended.out, "Cost")]
    refused(rejudge("--resume", tmp_path / "run", "--seed", 2), "seed: 1 -> 2")


def origin(folder: Path) -> dict[str, str]:
    """The hashes of what a run was made from."""
    data: dict[str, str] = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))["provenance"]["data"]
    return data


def test_a_run_says_by_hash_what_it_judged_and_goes_on_with_nothing_else(done: Run, tmp_path: Path) -> None:
    # Three debates have lost a verdict of a judge that is asked again.
    source, other, moved = tmp_path / "source", tmp_path / "other", tmp_path / "elsewhere" / "source"
    shutil.copytree(done.folder, source)
    connection = sqlite3.connect(source / "run.sqlite")
    connection.execute("DELETE FROM verdicts WHERE key IN (SELECT key FROM verdicts LIMIT 3)")
    connection.commit()
    connection.close()
    shutil.copytree(source, moved)
    shutil.copytree(source, other)
    connection = sqlite3.connect(other / "run.sqlite")
    key, payload = connection.execute("SELECT key, payload FROM debates LIMIT 1").fetchone()
    debate = json.loads(payload)
    debate["transcript"]["turns"][0]["argument"]["spans"][0] = "Something else."
    connection.execute("UPDATE debates SET payload = ? WHERE key = ?", (json.dumps(debate), key))
    connection.commit()
    connection.close()
    found = {}
    for name, place in (("whole", done.folder), ("source", source), ("other", other), ("moved", moved)):
        ended = rejudge(place, "--judge.model", f"{SCRIPTS}:judge", "--output", tmp_path / f"from-{name}")
        assert ended.code == 0, ended.err
        found[name] = origin(tmp_path / f"from-{name}")
    assert len({digests["debates"] for digests in found.values()}) == 1  # all on the same questions
    assert len({digests["recorded"] for digests in found.values()}) == 3
    assert found["source"] == found["moved"]
    # A run that was stopped within its judge's verdicts knows which of them came with the debates.
    flags = [source, "--judge.model", f"{SCRIPTS}:judge", "--output", tmp_path / "run"]
    assert rejudge(*flags, "--concurrency", 1, "--budget.max_calls", 1).code == 2
    for _ in range(2):
        resumed = rejudge("--resume", tmp_path / "run", "--budget.max_calls", 10)
        assert resumed.code == 0, resumed.err
    assert debates(tmp_path / "run") == debates(tmp_path / "from-source")
    # Its own copies are what it judged; one that was changed is found.
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    connection.execute("UPDATE debates SET payload = ? WHERE key = ?", (json.dumps(debate), key))
    connection.commit()
    connection.close()
    refused(rejudge("--resume", tmp_path / "run"), "data.recorded")


@pytest.mark.faults
def test_killed_again_and_again_it_ends_as_if_never_stopped(done: Run, tmp_path: Path) -> None:
    config = {
        "sources": [str(done.folder)],
        "judges": [{"model": f"{SCRIPTS}:slow_judge"}, {"model": f"{SCRIPTS}:slow_judge", "name": "same again"}],
        "concurrency": 4,
    }
    path, run, log = write(tmp_path / "c.yaml", config), tmp_path / "run", tmp_path / "asked"
    log.touch()
    assert rejudge("--config", path, "--output", tmp_path / "whole").code == 0
    for kill in range(3):
        arguments = ["--resume", run] if (run / "config.yaml").exists() else ["--config", path, "--output", run]
        before = len(log.read_text().splitlines())
        with subprocess.Popen(
            [sys.executable, "-m", "tournaments.rejudge", *map(str, arguments)],
            cwd=ROOT,
            env={**os.environ, ASKED: str(log)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            deadline = time.monotonic() + 60
            while len(log.read_text().splitlines()) < before + 10 + 10 * kill:
                assert process.poll() is None, "the run ended before it was killed"
                assert time.monotonic() < deadline
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            assert process.wait(timeout=60) == -signal.SIGKILL
    assert rejudge("--resume", run).code == 0
    assert found(run) == found(tmp_path / "whole")
    # A kill costs the calls that were in flight and no other: at most eight each time, two orders of four debates.
    asked = log.read_text().splitlines()
    assert len(asked) - len(set(asked)) <= 3 * 8


# --- published debates -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(check_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The published debates that the paper counts, judged again."""
    folder = tmp_path_factory.mktemp("nyu")
    flags = ["--tags.included_in_paper", "true", *JUDGE, "--output", folder / "run"]
    ended = rejudge(f"nyu:{check_data / 'nyu-human-debates.tar.gz'}", *flags)
    return Run(folder / "run", folder / "run" / "config.yaml", ended)


@pytest.mark.external
def test_the_published_verdicts_stand_beside_the_new_ones(published: Run) -> None:
    assert published.ended.code == 0, published.ended.err
    measured = metrics(published.folder)
    assert list(measured["judges"]) == ["as published", LETTER]
    groups = measured["judges"]["as published"]["groups"]
    names = {"human debate": 154, "human consultancy": 96, "AI debate, self-play": 87, "AI consultancy": 76}
    assert {name: groups[name]["debates"] for name in names} == names
    right = {name: f"{100 * groups[name]['accuracy'][0]:.2f}" for name in names}
    # As published, but for one consultancy: its judge ended on one half, which counts as half right here and as wrong
    # there: 71 of 96 are 73.96 %, and 71.5 are 74.48 %.
    assert right == {
        "human debate": "84.42",
        "human consultancy": "74.48",
        "AI debate, self-play": "78.16",
        "AI consultancy": "80.26",
    }
    ours = measured["judges"][LETTER]["groups"]["all"]
    assert (ours["debates"], ours["verdicts"]) == (413, 826)
    assert measured["more_than_the_first"][LETTER][2] < 0  # a judge that draws lots is worse than people
    assert "Consultancies: as published" in published.ended.out


@pytest.mark.external
def test_all_published_verdicts_are_kept(published: Run, check_data: Path, tmp_path: Path) -> None:
    mine = {item.debate.id: item for item in load_debates(str(published.folder))}
    theirs = load_debates(f"nyu:{check_data / 'nyu-human-debates.tar.gz'}")
    kept = [item for item in theirs if item.debate.id in mine]
    assert len(kept) == len(mine) == 413

    def known(item: Recorded) -> set[object]:
        return {(verdict.judge, verdict.order, verdict.round, verdict.probabilities) for verdict in item.verdicts}

    for item in kept:
        assert known(item) < known(mine[item.debate.id])  # those of the new judge are there too
        assert mine[item.debate.id].final == item.final
    assert rejudge("--resume", published.folder).code == 0  # its copies are what it judged
    ended = rejudge(published.folder, "--limit", 6, *JUDGE, "--judge.name", "again", "--output", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert list(metrics(tmp_path / "run")["judges"]) == ["as published", LETTER, "again"]


# --- help ------------------------------------------------------------------------------------------------------------


def test_help_imports_no_heavy_library() -> None:
    script = (
        "import sys; from tournaments.rejudge import COMMAND; code = COMMAND.main(['--help']);"
        "heavy = {'torch', 'transformers', 'openai', 'scipy', 'plotly', 'wandb', 'httpx'} & set(sys.modules);"
        "print('heavy:', sorted(heavy)); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "heavy: []"
    assert "usage: python -m tournaments.rejudge [--config FILE] SOURCES ... [flags]" in done.stdout
