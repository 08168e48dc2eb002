"""Price tables: OpenAI's list prices, which come with the code, and files of a user's own."""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field

from debate.config import Config, parse, read_tree
from debate.models.limits import Price
from debate.models.load import ModelConfig, addresses, kind_of
from debate.models.remote import is_openai

_LISTED = Path(__file__).with_name("prices.yaml")
_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")


class PriceConfig(Config):
    """What a model costs, in dollars per million tokens."""

    input: float = Field(ge=0, description="prompt tokens")
    output: float = Field(ge=0, description="reply tokens")
    cached: float | None = Field(None, ge=0, description="prompt tokens from a cache; default as input")


class PriceFile(Config):
    """A file of prices."""

    prices: dict[str, PriceConfig] = Field(description="by model name")
    as_of: dt.date | None = Field(None, description="when they were looked up")
    source: str | None = Field(None, description="where")


def read_prices(path: Path) -> dict[str, PriceConfig]:
    """Read a file of prices, like the ``prices.yaml`` beside this module.

    Args:
        path: The file.

    Returns:
        Prices by model name.

    Raises:
        ConfigError: It cannot be read or is malformed.
    """
    return dict(parse(PriceFile, read_tree(path), where=str(path)).prices)


@functools.cache
def listed_prices() -> Mapping[str, PriceConfig]:
    """Return OpenAI's list prices by model name."""
    return read_prices(_LISTED)


def price_table(models: Iterable[ModelConfig], own: Mapping[str, PriceConfig], file: str | None) -> dict[str, Price]:
    """Gather what is known of a run's prices.

    Args:
        models: All models of the run. Those at OpenAI's own address have its list prices; a dated snapshot has those
            of its model where it has none of its own.
        own: Prices of the configuration; they go first.
        file: A file of prices, which go second, or None.

    Returns:
        Prices by model name, as ``ModelConfig.label`` writes it.

    Raises:
        ConfigError: The file cannot be read or is malformed.
    """
    found: dict[str, PriceConfig] = {}
    for model in models:
        if model.adapter is None and kind_of(model.name) == "remote" and all(map(is_openai, addresses(model))):
            listed = listed_prices()
            price = listed.get(model.name) or listed.get(_DATE.sub("", model.name))
            if price is not None:
                found[model.label] = price
    found |= read_prices(Path(file).expanduser()) if file is not None else {}
    found |= own
    return {name: Price(price.input, price.output, price.cached) for name, price in found.items()}
