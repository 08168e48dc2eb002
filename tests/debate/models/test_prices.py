from __future__ import annotations

from pathlib import Path

import pytest

from debate.errors import ConfigError
from debate.models.base import Usage
from debate.models.limits import Budget, Meter, Price
from debate.models.load import ModelConfig
from debate.models.prices import PriceConfig, listed_prices, price_table, read_prices


@pytest.fixture(autouse=True)
def at_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_list_prices_are_those_that_were_announced() -> None:
    # https://openai.com/index/gpt-4-1/, 14 April 2025: dollars per million tokens.
    assert listed_prices()["openai/gpt-4.1"] == PriceConfig(input=2.0, cached=0.5, output=8.0)
    assert listed_prices()["openai/gpt-4.1-mini"] == PriceConfig(input=0.4, cached=0.1, output=1.6)
    assert listed_prices()["openai/gpt-4.1-nano"] == PriceConfig(input=0.1, cached=0.025, output=0.4)
    for price in listed_prices().values():
        assert price.cached is None or price.cached < price.input < price.output


def test_list_prices_are_for_models_at_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "openai/gpt-4.1-mini"
    mini = {name: Price(0.4, 1.6, 0.1)}
    assert price_table([ModelConfig(name=name)], {}, None) == mini
    assert price_table([ModelConfig(name=name, base_url="https://api.openai.com/v1")], {}, None) == mini
    unpriced = [
        ModelConfig(name=name, base_url="http://localhost:8000/v1"),
        ModelConfig(name=name, base_url=("https://api.openai.com/v1", "http://localhost:8000/v1")),
        ModelConfig(name=name, adapter="mine"),
        ModelConfig(name="openai/gpt-4.1-next"),
        ModelConfig(name="scripted/a:b"),
    ]
    assert price_table(unpriced, {}, None) == {}
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert price_table([ModelConfig(name=name)], {}, None) == {}


def test_a_snapshot_has_its_own_price_or_its_models() -> None:
    names = ("openai/gpt-4o-2024-05-13", "openai/gpt-4o-2024-08-06")
    assert price_table([ModelConfig(name=name) for name in names], {}, None) == {
        names[0]: Price(5, 15),
        names[1]: Price(2.5, 10, 1.25),
    }


def test_a_file_goes_before_the_list_and_the_configuration_before_the_file(tmp_path: Path) -> None:
    names = [f"openai/gpt-4.1{size}" for size in ("", "-mini", "-nano")]
    file = tmp_path / "prices.yaml"
    file.write_text(
        f"as_of: 2026-11-01\nprices:\n  {names[1]}: {{input: 1, output: 2}}\n  {names[2]}: {{input: 3, output: 4}}\n"
        "  own/model: {input: 0, output: 0}\n",
        encoding="utf-8",
    )
    own = {names[2]: PriceConfig(input=5, output=6, cached=1)}
    table = price_table([ModelConfig(name=name) for name in names], own, str(file))
    assert table == {
        names[0]: Price(2, 8, 0.5),
        names[1]: Price(1, 2),
        names[2]: Price(5, 6, 1),
        "own/model": Price(0, 0),
    }
    meter = Meter(Budget(max_cost=1), table)
    meter.require_prices([*names, "own/model"])
    meter.count(names[0], Usage(1_000_000, 100_000, cached=500_000))
    assert meter.total().cost == pytest.approx(1.0 + 0.25 + 0.8)
    with pytest.raises(ConfigError, match="price of other/model is not known"):
        meter.require_prices([names[0], "other/model"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{prices: {}, openai/x: {input: 1, output: 2}}", "openai/x: unknown key"),
        ("prices: {openai/x: {input: 1}}", r"prices\.openai/x\.output: missing"),
        ("prices: {openai/x: {input: -1, output: 2}}", r"prices\.openai/x\.input: .*greater than or equal to 0"),
    ],
)
def test_a_malformed_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"prices\.yaml: {words}"):
        read_prices(file)
