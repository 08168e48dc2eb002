"""Tables that several commands print."""

from __future__ import annotations

from debate.models.base import Usage
from debate.models.limits import Budget, Figures, Meter, Price
from tournaments.tables import cost_table

PLAIN = ["model", "calls", "replayed", "tokens in", "tokens out", "cost"]


def shown(figures: dict[str, Figures]) -> list[dict[str, object]]:
    """The rows of the cost table, by column."""
    table = cost_table(figures, 1)
    titles = [column.title for column in table.columns]
    return [dict(zip(titles, row, strict=True)) for row in table.rows]


def test_cached_and_reasoning_tokens_have_columns_where_there_are_any() -> None:
    meter = Meter(Budget(), {"openai/m": Price(2.0, 8.0, 0.5)})
    meter.count("scripted/s", Usage(10, 5))
    assert list(shown(meter.by_model())[0]) == PLAIN
    meter.count("openai/m", Usage(1_000_000, 500_000, cached=400_000), calls=3)
    cached = shown(meter.by_model())
    assert list(cached[0]) == [*PLAIN[:4], "of them cached", *PLAIN[4:]]
    assert [row["of them cached"] for row in cached] == [400_000, 0]
    assert cached[0]["cost"] == "$5.40"  # 0.6 x 2 + 0.4 x 0.5 + 0.5 x 8
    meter.count("openai/m", Usage(0, 300, reasoning=200))
    both = shown(meter.by_model())
    assert list(both[0]) == [*PLAIN[:4], "of them cached", "tokens out", "of them hidden reasoning", "cost"]
    assert [row["of them hidden reasoning"] for row in both] == [200, 0]
    assert [row["tokens out"] for row in both] == [500_300, 5]


def test_nothing_was_asked() -> None:
    assert [column.title for column in cost_table({}, 0).columns] == PLAIN
