"""Few-shot players: the file of examples, what the player is then shown, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from debate.errors import ConfigError
from debate.models.base import Draw, Messages
from debate.models.load import ModelConfig
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.question import Question
from debate.sources import load
from debate.transcript import Transcript
from tests.runs import SCRIPTS, assert_refused, cells, hold, swiss
from tournaments.config import SwissConfig
from tournaments.few_shot import read_examples
from tournaments.players import PlayerConfig, SpeechConfig, build_player

STORY = "Old Marek mended the net by the lamp. In the morning the boat was gone from the quay."
EXAMPLE: dict[str, Any] = {
    "question": "What was gone?",
    "answers": ["The boat.", "The net."],
    "story": STORY,
    "argument": "My answer is right. The story says <quote>the boat was gone from the quay</quote>, in so many words, "
    "and a net that is mended by a lamp in the evening is not gone at all the morning after.",
}


def write_examples(folder: Path, *rows: object, name: str = "examples.yaml") -> str:
    (folder / name).write_text(json.dumps(rows or [EXAMPLE]), encoding="utf-8")
    return str(folder / name)


class Listening:
    """A model source that keeps every prompt."""

    def __init__(self) -> None:
        self.heard: list[Messages] = []

    def get(self, config: ModelConfig) -> ScriptedModel:
        def reply(messages: Messages, draw: Draw) -> str:  # noqa: ARG001 - the interface
            self.heard.append(messages)
            return "<argument>It is so: <quote>Ana shut the gate at noon</quote>.</argument>"

        return ScriptedModel(reply, name=config.name)


async def test_the_player_is_shown_the_examples_as_its_own_earlier_speeches(tmp_path: Path) -> None:
    second = EXAMPLE | {"question": "When was it gone?", "answers": ["At night.", "In the morning."], "seat": "B"}
    config = PlayerConfig(
        name="few", model=ModelConfig(name="scripted/m:f"), examples=write_examples(tmp_path, EXAMPLE, second)
    )
    models = Listening()
    speech = SpeechConfig(min_words=5, max_words=60)
    player = build_player(config, speech=speech, models=models, prompts=Prompts(), judge=None)  # type: ignore[arg-type]  # no optimizer asks for one
    story = "Ana shut the gate at noon. Tomas rode off without a word."
    question = Question("q", "Who shut the gate?", ("Tomas.", "Ana."), 1, story, "s", "test")
    made = await player.argue(Transcript(question, (0, 1)).view(answer=1, story=True), Draw(stream="few"))
    assert made.candidates[made.chosen].valid
    (messages,) = models.heard
    said = [message.content for message in messages if message.role == "assistant"]
    assert [text.count("<quote>the boat was gone from the quay</quote>") for text in said] == [1, 1]
    asked = [message.content for message in messages if message.role == "user"]
    assert ["What was gone?" in text for text in asked] == [True, False, False]
    assert story in asked[-1]
    assert story not in asked[0]


@pytest.mark.parametrize(("kind", "model"), [("evidence_first", f"{SCRIPTS}:debater"), ("extractive", None)])
def test_other_kinds_take_no_examples(kind: str, model: str | None) -> None:
    tree = {"name": "p", "kind": kind, "examples": "x.yaml", **({} if model is None else {"model": model})}
    with pytest.raises(ValidationError, match=rf"examples are for kind free.*{kind} takes none"):
        PlayerConfig.model_validate(tree)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "a list of speeches"),
        ("question: What?", "a list of speeches"),
        ("[{question: What}]", "0.answers"),
        (json.dumps([EXAMPLE | {"answer": 1}]), "0.answer"),
        ("[{", "not YAML or JSON"),
    ],
)
def test_what_is_no_list_of_examples_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "e.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        read_examples(str(tmp_path / "e.yaml"))


def players(path: str) -> list[dict[str, Any]]:
    return [
        {"name": "few", "model": f"{SCRIPTS}:debater", "examples": path},
        {"name": "none", "model": f"{SCRIPTS}:second_debater"},
    ]


def test_a_tournament_with_few_shot_players(tmp_path: Path) -> None:
    path = write_examples(tmp_path)
    changes: dict[str, Any] = {"players": players(path), "stories": 1, "self_play": None}
    plan = hold(tmp_path, "--dry-run", **changes)
    rows = {row[0]: [int(cell.replace(",", "")) for cell in row[1:]] for row in cells(plan.out, "Plan: ")}
    few, none = (rows[f"{SCRIPTS}:{name}"] for name in ("debater", "second_debater"))
    assert few[0] == none[0]
    assert few[1] > none[1] + few[0] * len(f"{STORY} {EXAMPLE['argument']}".split())  # every prompt has the example
    ended = hold(tmp_path, **changes)
    assert ended.code == 0, ended.err
    assert f"examples {path}" in (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8")
    write_examples(tmp_path, EXAMPLE | {"question": "What was it that was gone?"})
    refused = swiss("--resume", tmp_path / "run")
    assert refused.code == 2
    assert "examples" in refused.err


def test_a_missing_file_is_refused_before_there_is_a_run(tmp_path: Path) -> None:
    refused = hold(tmp_path, players=players(str(tmp_path / "none.yaml")), stories=1, self_play=None)
    assert_refused(refused, "none.yaml", "cannot be read")
    assert not (tmp_path / "run").exists()


def test_examples_that_are_no_use_are_refused_before_there_is_a_run(tmp_path: Path) -> None:
    shipped = load("shipped:stories")[0]
    story = shipped.story or ""
    sentence = next(part for part in story.replace("\n", " ").split(". ") if len(part.split()) > 6)
    argument = f"It is so, as anybody can see. <quote>{sentence}</quote> {'And that is what it says. ' * 4}"
    same = {"question": "Who?", "answers": ["Ana.", "Tomas."], "story": story, "argument": argument}
    short = EXAMPLE | {"argument": "<quote>the boat was gone</quote>"}
    false = EXAMPLE | {"argument": EXAMPLE["argument"].replace("the boat was gone", "the goat was gone")}
    for row, words in ((same, "is being debated"), (short, "fewer than 25"), (false, "is not in its story")):
        path = write_examples(tmp_path, row)
        refused = hold(tmp_path, players=players(path), fold=None, stories=None, per_story=None, self_play=None)
        assert_refused(refused, words)
        assert not (tmp_path / "run").exists()


def test_samples_and_critiques_at_temperature_0_are_refused_with_advice(tmp_path: Path) -> None:
    player = {"name": "a", "model": f"{SCRIPTS}:debater", "optimizer": {"kind": "best_of_n", "n": 4}}
    rest: dict[str, Any] = {"players": [player, {"name": "b", "kind": "extractive"}], "stories": 1, "self_play": None}
    speech = {"min_words": 25, "max_words": 60, "temperature": 0}
    refused = hold(tmp_path, **rest, speech=speech)
    assert_refused(refused, "best of 4 at temperature 0", "speech.temperature")
    refined = player | {"optimizer": {"kind": "critique_refine", "critiques": 3}}
    refused = hold(tmp_path, **rest | {"players": [refined, rest["players"][1]]}, speech=speech)
    assert_refused(refused, "3 critiques at temperature 0", "critiques to 1")
    refined["optimizer"] = {"kind": "critique_refine", "critiques": 1}
    assert hold(tmp_path, "--dry-run", **rest | {"players": [refined, rest["players"][1]]}, speech=speech).code == 0
    own = player | {"speech": speech | {"temperature": 0.8}}
    tree = {**rest, "players": [own, rest["players"][1]], "speech": speech, "judge": {"model": f"{SCRIPTS}:judge"}}
    SwissConfig.model_validate(tree)
    SwissConfig.model_validate(
        tree | {"players": [player | {"optimizer": {"kind": "best_of_n", "n": 1}}, own | {"name": "c"}]}
    )
