from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from debate.config import (
    NOT_IN_DIGEST,
    Config,
    Tree,
    Variants,
    describe,
    differences,
    digest,
    parse,
    read_tree,
    results_tree,
    set_path,
)
from debate.errors import ConfigError
from debate.models.load import ModelField


class OptimizerConfig(Config):
    n: int = Field(4, ge=1, description="candidates")
    kind: Literal["best_of_n", "none"] = "none"


class PlayerConfig(Config):
    name: str
    model: ModelField | None = None
    optimizer: OptimizerConfig = OptimizerConfig()


class BudgetConfig(Config):
    max_calls: int | None = Field(None, description="calls", json_schema_extra=NOT_IN_DIGEST)


class RunConfig(Config):
    seed: int = Field(0, description="seed")
    players: tuple[PlayerConfig, ...] = Field(min_length=1)
    optimizer: OptimizerConfig = OptimizerConfig()
    budget: BudgetConfig = Field(BudgetConfig(), description="limits", json_schema_extra=NOT_IN_DIGEST)
    judge: ModelField | None = None


def read(tmp_path: Path, text: str) -> Tree:
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")
    return read_tree(path)


def load(tree: Tree) -> RunConfig:
    return parse(RunConfig, tree, where="c.yaml")


def message(tree: Tree) -> str:
    with pytest.raises(ConfigError) as caught:
        load(tree)
    return str(caught.value)


def test_a_key_written_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"c\.yaml, line 4: key 'seed' appears twice, first on line 2"):
        read(tmp_path, "# comment\nseed: 1\nplayers: []\nseed: 2\n")
    with pytest.raises(ConfigError, match=r"line 3: key 'name' appears twice, first on line 2"):
        read(tmp_path, "players:\n- name: a\n  name: b\n")


def test_anchors_and_merges_are_yaml(tmp_path: Path) -> None:
    text = "base: &base {a: 1, b: 2}\nmore: &more\n  <<: *base\n  b: 3\nother: {<<: *base, c: 4}\n"
    assert read(tmp_path, text) == {
        "base": {"a": 1, "b": 2},
        "more": {"a": 1, "b": 3},
        "other": {"a": 1, "b": 2, "c": 4},
    }


@pytest.mark.parametrize(
    "text",
    [
        "? [a, b]\n: 1\n",
        "? {a: 1}\n: 1\n",
        "a: [1\n",
        "a: \x01\n",
        "a: 2024-13-45\n",
        "a: !!python/name:os.system\n",
        "a: 1\n---\nb: 2\n",
        "- 1\n",
        "just text\n",
        "a: *nowhere\n",
        "\ta: 1",
    ],
)
def test_what_is_no_mapping_is_one_error_with_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"c\.yaml") as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        read_tree(tmp_path / "absent.yaml")
    with pytest.raises(ConfigError, match="cannot read"):
        read_tree(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    with pytest.raises(ConfigError, match="cannot read"):
        read_tree(tmp_path / "latin.yaml")
    assert read(tmp_path, "") == {}


@pytest.mark.parametrize(
    ("dotted", "text", "expected"),
    [
        ("seed", "3", {"seed": 3}),
        ("seed", "3.5", {"seed": 3.5}),
        ("new.deep.key", "[1, x]", {"new": {"deep": {"key": [1, "x"]}}}),
        ("players.1.name", "z", {"players": [{"name": "a"}, {"name": "z"}]}),
        ("players.0", "{name: y}", {"players": [{"name": "y"}, {"name": "b"}]}),
        ("players.2", "{name: c}", {"players": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}),
        ("empty.x", "true", {"empty": {"x": True}}),
    ],
)
def test_a_path_sets_one_value(dotted: str, text: str, expected: Tree) -> None:
    tree: Tree = {"seed": 1, "players": [{"name": "a"}, {"name": "b"}], "empty": None}
    wanted = {**tree, **expected}
    set_path(tree, dotted, text)
    assert tree == wanted


@pytest.mark.parametrize(
    ("dotted", "text"),
    [
        ("players.3", "x"),
        ("players.2.name", "x"),
        ("players.-1", "x"),
        ("players.name", "x"),
        ("seed.deep", "x"),
        ("seed.deep.deeper", "x"),
        ("seed", "[1"),
        ("seed", "2024-13-45"),
        ("seed", "{a: 1, a: 2}"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(dotted: str, text: str) -> None:
    tree: Tree = {"seed": 1, "players": [{"name": "a"}, {"name": "b"}]}
    with pytest.raises(ConfigError, match=f"^--{dotted.removesuffix('.name')}") as caught:
        set_path(tree, dotted, text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("dotted", "text"),
    [("base_url", "http://x"), ("concurrency", "2"), ("capabilities.logprobs", "false")],
)
def test_the_short_form_of_a_model_takes_further_keys(dotted: str, text: str) -> None:
    tree: Tree = {"players": [{"name": "a", "model": "openai/m"}], "judge": None}
    assert load(tree).players[0].model is not None
    set_path(tree, f"players.0.model.{dotted}", text)
    model = load(tree).players[0].model
    assert model is not None
    assert model.name == "openai/m"
    assert str(model.model_dump(mode="json")[dotted.split(".", maxsplit=1)[0]]).lower().find(text) >= 0


def test_a_flag_may_replace_a_whole_model() -> None:
    tree: Tree = {"players": [{"name": "a", "model": {"name": "openai/m", "base_url": "http://x"}}]}
    set_path(tree, "players.0.model", "hf/other")
    model = load(tree).players[0].model
    assert model is not None
    assert (model.name, model.base_url) == ("hf/other", None)


PLAYERS = [{"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("tree", "line"),
    [
        ({"optimiser": {"n": 2}}, "c.yaml: optimiser: unknown key; did you mean optimizer?"),
        ({"optimizer": {"m": 2}}, "c.yaml: optimizer.m: unknown key"),
        ({"optimizer": {"knid": 2}}, "c.yaml: optimizer.knid: unknown key; did you mean optimizer.kind?"),
        (
            {"players": [PLAYERS[0], {"name": "b", "optimiser": {}}]},
            "c.yaml: players.1.optimiser: unknown key; did you mean players.1.optimizer?",
        ),
        (
            {"players": [PLAYERS[0], {"name": "b", "optimizer": {"kidn": 1}}]},
            "c.yaml: players.1.optimizer.kidn: unknown key; did you mean players.1.optimizer.kind?",
        ),
        (
            {"players": [{"name": "b", "model": {"name": "m", "bas_url": "x"}}]},
            "c.yaml: players.0.model.bas_url: unknown key; did you mean players.0.model.base_url?",
        ),
        ({"max_calls": 3}, "c.yaml: max_calls: unknown key; did you mean budget.max_calls?"),
        ({"zzzz": 1}, "c.yaml: zzzz: unknown key"),
        ({"judge": {"name": "m", "zzzz": 1}}, "c.yaml: judge.zzzz: unknown key"),
        ({"str": 1}, "c.yaml: str: unknown key"),
        ({"PlayerConfig": 1}, "c.yaml: PlayerConfig: unknown key"),
        ({"players": []}, "c.yaml: players: Tuple should have at least 1 item after validation, not 0"),
        ({"players": [{}]}, "c.yaml: players.0.name: missing; set it in the configuration or by a flag"),
        ({"seed": "x"}, "c.yaml: seed: Input should be a valid integer, unable to parse string as an integer, got 'x'"),
        ({"optimizer": {"n": 0}}, "c.yaml: optimizer.n: Input should be greater than or equal to 1, got 0"),
    ],
)
def test_one_clear_line_for_a_wrong_value(tree: Tree, line: str) -> None:
    found = message({"players": PLAYERS, **tree})
    assert found.split("; did")[0] == line.split("; did", maxsplit=1)[0]
    if "did you mean" in line:
        assert found == line
    assert "\n" not in found


def test_a_line_for_each_wrong_value() -> None:
    assert message({"sed": 1, "optimizer": {"n": 0}}).splitlines() == [
        "c.yaml: players: missing; set it in the configuration or by a flag",
        "c.yaml: optimizer.n: Input should be greater than or equal to 1, got 0",
        "c.yaml: sed: unknown key; did you mean seed?",
    ]


def test_nothing_changes_after_loading() -> None:
    config: Any = load({"players": PLAYERS})
    with pytest.raises(ValueError, match="frozen"):
        config.seed = 3


def test_the_digest_leaves_out_what_may_change() -> None:
    model = {"name": "openai/m", "base_url": "http://one", "concurrency": 4, "timeout_s": 1}
    one = load({"players": [{"name": "a", "model": model}], "budget": {"max_calls": 3}})
    two = load({"players": [{"name": "a", "model": "openai/m"}], "judge": None})
    tree = results_tree(one)
    assert "budget" not in tree
    assert not {"base_url", "concurrency", "timeout_s", "max_retries"} & tree["players"][0]["model"].keys()
    assert tree["players"][0]["model"]["name"] == "openai/m"
    assert digest(tree) == digest(results_tree(two))
    three = load({"players": [{"name": "a", "model": "openai/n"}]})
    assert digest(tree) != digest(results_tree(three))
    assert len(digest(tree)) == 64
    assert digest({"b": 1, "a": [1, None]}) == digest({"a": [1, None], "b": 1})


def test_differences_name_keys() -> None:
    one = {"seed": 1, "players": [{"name": "a"}, {"name": "b"}], "same": [1], "short": [1]}
    two = {"seed": 2, "players": [{"name": "a"}, {"name": "c", "model": "m"}], "same": [1], "short": [1, 2]}
    assert differences(one, one) == []
    assert differences(one, two) == [
        'players.1.model: null -> "m"',
        'players.1.name: "b" -> "c"',
        "seed: 1 -> 2",
        "short: [1] -> [1, 2]",
    ]


def test_help_lists_every_key() -> None:
    text = describe(RunConfig)
    for key in ("--seed", "--players.0.name", "--players.0.model.base_url", "--optimizer.n", "--budget.max_calls"):
        assert f"  {key}  " in text
    assert "--players.0.name   (required)" in text
    assert "--optimizer.n  candidates (default 4)" in text


class OtherConfig(Config):
    system: str
    weight: int = Field(2, description="the weight")


class FileConfig(Config):
    file: str


VARIANTS: Variants[Config] = Variants("system", {"run": RunConfig, "other": OtherConfig}, {"file": FileConfig})


def test_a_key_says_which_of_several_configurations_a_tree_is() -> None:
    assert parse(VARIANTS, {"system": "other"}, where="t") == OtherConfig(system="other")
    assert parse(VARIANTS, {"file": "x"}, where="t") == FileConfig(file="x")
    with pytest.raises(ConfigError, match="t: weigth: unknown key; did you mean weight"):
        parse(VARIANTS, {"system": "other", "weigth": 3}, where="t")


@pytest.mark.parametrize(
    ("tree", "words"), [({}, "missing"), ({"system": "ruin"}, "'ruin'"), ({"system": []}, "none of")]
)
def test_a_tree_of_none_of_them_is_refused(tree: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match="run, other") as caught:
        parse(VARIANTS, tree, where="t")
    assert words in str(caught.value)


def test_help_describes_each_of_them() -> None:
    text = describe(VARIANTS)
    for part in ("With system other:", "--weight  the weight (default 2)", "With file:"):
        assert part in text
