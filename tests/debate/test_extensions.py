from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from debate.agents.judge import JudgeConfig, build_judge
from debate.config import parse
from debate.errors import ConfigError
from debate.extensions import check_kind, extension_digests, load_extension
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from tests.runs import EXTRACTIVE
from tournaments.config import FieldConfig


def test_a_kind_is_known_or_an_import_path() -> None:
    known = ("letter", "reason")
    assert check_kind("letter", known) == "letter"
    assert check_kind("my_package.judges:Judge", known) == "my_package.judges:Judge"
    with pytest.raises(ValueError, match="did you mean 'letter'"):
        check_kind("lettre", known)
    for wrong in ("judge", "my judge:Judge", "my_judge:", ":Judge", "my_judge:Judge.make", "a:b:c"):
        with pytest.raises(ValueError, match="MODULE:FUNCTION"):
            check_kind(wrong, known)


@pytest.mark.parametrize("path", ["no_such_module:judge", "no_such_package.judges:Judge", "tests.scripts:nobody"])
def test_an_extension_that_is_not_there_is_told_of(path: str) -> None:
    with pytest.raises(ConfigError, match="cannot be imported"):
        load_extension(path)
    with pytest.raises(ConfigError, match="cannot be imported"):
        extension_digests([path])


def test_an_extension_can_be_called() -> None:
    with pytest.raises(ConfigError, match="is a tuple; a function or class"):
        load_extension("tests.scripts:FILLER")


def test_extensions_are_found_in_the_current_folder_and_told_apart_by_their_text(tmp_path: Path) -> None:
    code = """
from debate.extensions import extension_digests, load_extension
print(extension_digests(["letter", "here:judge"]), load_extension("here:judge")())
"""
    seen = []
    for text in ("one", "two"):
        (tmp_path / "here.py").write_text(f"def judge():\n    return '{text}'\n")
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        seen.append(done.stdout)
    assert [line.split()[-1] for line in seen] == ["one", "two"]
    assert seen[0].startswith("{'here:judge': '")
    assert seen[0].split()[1] != seen[1].split()[1]


def test_only_a_judge_of_ones_own_can_do_without_a_model() -> None:
    own = parse(JudgeConfig, {"kind": "my_judge:Judge"}, where="judge")
    assert own.label == "my_judge:Judge"
    with pytest.raises(ConfigError, match="a letter judge needs a model, such as embedded/smollm2-135m"):
        parse(JudgeConfig, {}, where="judge")
    letter = parse(JudgeConfig, {"model": "scripted/x"}, where="judge")
    assert build_judge(letter, ScriptedModel(), Prompts()).name == "scripted/x (letter)"
    with pytest.raises(ConfigError, match="needs a model"):
        build_judge(letter, None, Prompts())


def test_a_judge_without_a_model_cannot_speak_where_the_protocol_wants_it_to() -> None:
    field = {"players": EXTRACTIVE, "judge": {"kind": "my_judge:Judge"}}
    silent = parse(FieldConfig, field, where="field")
    assert (silent.models, silent.judge_models, silent.questioner_model) == ([], [], None)
    with pytest.raises(ConfigError, match=r"set protocol\.questioner\.model, or judge\.model"):
        parse(FieldConfig, field | {"protocol": {"kind": "interactive"}}, where="field")
    speaking = {"kind": "interactive", "questioner": {"model": "scripted/x"}}
    asked = parse(FieldConfig, field | {"protocol": speaking}, where="field")
    assert [model.name for model in asked.judge_models] == ["scripted/x"]
    # A protocol of one's own may have no judge that speaks.
    assert parse(FieldConfig, field | {"protocol": {"kind": "mine:Debate"}}, where="field").questioner_model is None
