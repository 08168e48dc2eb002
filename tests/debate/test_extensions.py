"""Debaters, judges and protocols of one's own, by import path, in a user's folder."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from debate.errors import ConfigError
from debate.extensions import check_kind, extension_digests, is_extension, load_extension
from tests.commands import assert_refuses, call
from tests.runs import EXTRACTIVE, SCRIPTS, Ended, cells, debates, swiss, write
from tournaments.swiss import COMMAND

OWN = '''
from debate.agents.debater import Speech, speak
from debate.protocols.base import both, drawn_seats, take_turn
from debate.quotes import parse_argument
from debate.transcript import Candidate, Transcript
from debate.verdict import Decision


class Stubborn:
    """Says one thing, with its option in it."""

    def __init__(self, config, parts):
        self.name, self.limits, self.model = config.name, parts.limits, parts.model
        self.word = config.options["word"]

    async def candidates(self, view, draw, n):
        argument = parse_argument(f"{self.word} it is: {view.own_answer}", view.story, seat=view.seat)
        return (Candidate("", argument),) * n

    async def argue(self, view, draw):
        return speak(await self.candidates(view, draw, 1), self.limits)


class Counter:
    """Judges by which side wrote more."""

    def __init__(self, config, model, prompts):
        if not config.options.get("nameless"):
            self.name = config.label

    async def decide(self, view, draw):
        said = [sum(len(t.text) for t in view.turns if t.seat == seat) for seat in "AB"]
        return Decision(tuple(part / sum(said) for part in said))


class Relay:
    """Seat A alone speaks in odd rounds, seat B in even ones."""

    def __init__(self, config, questioner):
        self.name, self.rounds, self.asks = config.options.get("name", "relay"), config.rounds, questioner

    def seatings(self, question):
        return drawn_seats(question)

    async def hold(self, question, speakers, seats, draw):
        speakers = both(speakers, self.name)
        transcript = Transcript(question, seats, spoken_order=True)
        for round_ in range(1, self.rounds + 1):
            answer = seats[(round_ - 1) % 2]
            transcript = transcript.with_turns(await take_turn(speakers[answer], transcript, answer, round_, draw))
        return transcript


number = 3
'''


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder, in which the command is started, with own.py in it."""
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def config(**changes: Any) -> dict[str, Any]:
    return {
        "source": "shipped:stories",
        "fold": "debater",
        "stories": 2,
        "per_story": 1,
        "protocol": {"kind": "simultaneous", "rounds": 2},
        "speech": {"min_words": 3, "max_words": 60},
        "players": [{"name": "mule", "kind": "own:Stubborn", "options": {"word": "Verily"}}, *EXTRACTIVE],
        "judge": {"model": f"{SCRIPTS}:judge"},
    } | changes


def hold(folder: Path, *flags: object, **changes: Any) -> Ended:
    path = write(folder / "c.yaml", config(**changes))
    return swiss("--config", path, "--output", folder / "run", *flags)


def test_an_own_debater_speaks_with_its_options(home: Path) -> None:
    ended = hold(home)
    assert ended.code == 0, ended.err
    said = [
        "".join(span for span in turn["argument"]["spans"] if isinstance(span, str))
        for item in debates(home / "run")
        for turn in item["debate"]["transcript"]["turns"]
        if item["debate"]["players"][turn["answer"]] == "mule"
    ]
    assert len(said) == 2 * 2 * 2 * 2  # two opponents, two questions, two assignments, two rounds
    assert all(text.startswith("Verily it is: ") for text in said)


def test_an_own_judge_decides(home: Path) -> None:
    ended = hold(home, judge={"kind": "own:Counter", "name": "longer"})
    assert ended.code == 0, ended.err
    verdicts = [verdict for item in debates(home / "run") for verdict in item["verdicts"]]
    assert {verdict["judge"] for verdict in verdicts} == {"longer"}
    assert all(verdict["mass"] is None for verdict in verdicts)
    for item in debates(home / "run"):
        ab, ba = item["verdicts"]
        assert ab["probabilities"] == pytest.approx(ba["probabilities"])  # it does not go by the letter
        assert math.isclose(sum(ab["probabilities"]), 1)


def test_a_judge_without_a_name_is_refused(home: Path) -> None:
    refused = hold(home, judge={"kind": "own:Counter", "options": {"nameless": True}})
    assert_refuses(COMMAND, refused, "'own:Counter'", "no name or no method decide")
    assert not (home / "run").exists()


def test_an_own_protocol_is_held_and_planned(home: Path) -> None:
    players = [{"name": name, "model": f"{SCRIPTS}:debater"} for name in ("one", "two")]
    changes: dict[str, Any] = {"protocol": {"kind": "own:Relay", "rounds": 4}, "players": players}
    plan = hold(home, "--dry-run", **changes)
    assert plan.code == 0, plan.err
    ended = hold(home, **changes)
    assert ended.code == 0, ended.err
    assert f"Plan: {len(debates(home / 'run'))} debates\n" in plan.out
    assert cells(plan.out, "Plan: ")
    for item in debates(home / "run"):
        assert item["debate"]["protocol"] == "relay"
        transcript = item["debate"]["transcript"]
        first, second = transcript["seats"]
        assert [(turn["round"], turn["answer"]) for turn in transcript["turns"]] == [
            (1, first),
            (2, second),
            (3, first),
            (4, second),
        ]


@pytest.mark.parametrize("taken", ["expert", "blind", "simultaneous"])
def test_an_own_protocol_has_a_name_of_its_own(home: Path, taken: str) -> None:
    refused = hold(home, protocol={"kind": "own:Relay", "options": {"name": taken}})
    assert_refuses(COMMAND, refused, "'own:Relay'", f"'{taken}'", "name of its own")
    assert not (home / "run").exists()


def test_a_changed_extension_is_noticed_on_resume(home: Path) -> None:
    assert hold(home).code == 0
    assert swiss("--resume", home / "run").code == 0
    (home / "own.py").write_text(OWN.replace("it is:", "it was:"), encoding="utf-8")
    assert_refuses(COMMAND, swiss("--resume", home / "run"), "extensions.own:Stubborn")
    (home / "own.py").write_text(OWN, encoding="utf-8")
    assert swiss("--resume", home / "run").code == 0


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("nowhere:Stubborn", ["'nowhere:Stubborn' cannot be imported", "No module named 'nowhere'", "MODULE:FUNCTION"]),
        ("nowhere.at.all:Stubborn", ["cannot be imported", "No module named 'nowhere'"]),
        ("own.inside:Stubborn", ["cannot be imported", "'own' is not a package"]),
        ("own:Stuborn", ["'own:Stuborn' cannot be imported", "Stuborn"]),
        ("own:number", ["'own:number' is of type int", "a function or class"]),
        ("broken:Stubborn", ["'broken:Stubborn' cannot be imported", "SyntaxError", "mend broken"]),
        ("failing:Stubborn", ["'failing:Stubborn' cannot be imported", "ZeroDivisionError", "mend failing"]),
        ("lacking:Stubborn", ["'lacking:Stubborn' cannot be imported", "No module named 'absent_library'"]),
    ],
)
@pytest.mark.parametrize("what", ["players.0.kind", "judge.kind", "protocol.kind"])
def test_wrong_paths_are_refused_with_advice_and_leave_nothing(
    home: Path, what: str, kind: str, words: list[str]
) -> None:
    (home / "broken.py").write_text("def (:\n", encoding="utf-8")
    (home / "failing.py").write_text("1 / 0\n", encoding="utf-8")
    (home / "lacking.py").write_text("import absent_library\n", encoding="utf-8")
    refused = hold(home, f"--{what}", kind)
    assert_refuses(COMMAND, refused, *words)
    assert not (home / "run").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--players.0.kind", "free"], ["'mule'", "options are for a debater of your own"]),
        (["--players.0.kind", "fre"], ["kind is one of free", "did you mean 'free'?"]),
        (["--judge.kind", "own:a b"], ["judge.kind", "kind is one of letter, reason, vote, or MODULE:FUNCTION"]),
        (["--protocol.kind", ":Relay"], ["protocol.kind", "kind is one of simultaneous"]),
        (["--judge.options.word", "a"], ["options are for a judge of your own; letter has none"]),
    ],
)
def test_wrong_kinds_are_refused_with_advice(home: Path, flags: list[str], words: list[str]) -> None:
    assert_refuses(COMMAND, hold(home, *flags), *words)
    assert not (home / "run").exists()


def test_digests_tell_files_apart(home: Path) -> None:
    (home / "other.py").write_text("def make(config, parts):\n    return None\n", encoding="utf-8")
    found = extension_digests(["own:Stubborn", "free", "own:Counter", "other:make", "own:Stubborn"])
    assert sorted(found) == ["other:make", "own:Counter", "own:Stubborn"]
    assert found["own:Counter"] == found["own:Stubborn"] != found["other:make"]
    assert extension_digests(["letter", "simultaneous"]) == {}
    assert extension_digests(["builtins:print"]) == {}  # it has no file
    with pytest.raises(ConfigError, match="cannot be imported"):
        extension_digests(["nowhere.at.all:f"])


def test_what_is_an_extension() -> None:
    assert load_extension("math:sqrt") is math.sqrt
    assert is_extension("a.b:c")
    assert not is_extension("free")
    assert check_kind("a.b:c", ("free",)) == "a.b:c"
    for kind in ("a-b:c", "a:b:c", "a:", ":b", "a..b:c", "FREE"):
        with pytest.raises(ValueError, match="kind is one of free, or MODULE:FUNCTION"):
            check_kind(kind, ("free",))


def test_an_own_debater_debates_alone_by_the_other_commands(home: Path) -> None:
    from debate.run import COMMAND as RUN
    from tournaments.consultancy import COMMAND as CONSULTANCY

    path = write(home / "c.yaml", config(protocol={"kind": "consultancy", "rounds": 2}))
    ended = call(CONSULTANCY, "--config", path, "--output", home / "consultancy")
    assert ended.code == 0, ended.err
    assert "mule" in ended.out
    path = write(home / "d.yaml", config(players=config()["players"][:2]))
    ended = call(RUN, "--config", path, "--output", home / "debate")
    assert ended.code == 0, ended.err
    assert ended.out.count("\nVerily it is: ") == 2
