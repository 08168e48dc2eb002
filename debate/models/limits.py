"""Prices, budgets and the meter that holds a run to them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from debate.errors import BudgetError, ConfigError
from debate.models.base import Usage
from debate.store import ModelUsage

_FREE = ("embedded/", "hf/", "scripted/")


def is_free(model: str) -> bool:
    """Whether a model, by its name or label, costs nothing unless a price says so: it runs on this machine."""
    return model.startswith(_FREE)


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in dollars per million tokens.

    Attributes:
        input: Prompt tokens.
        output: Reply tokens, hidden reasoning tokens included.
        cached: Prompt tokens served from a cache, or None where they cost as much as others.
    """

    input: float
    output: float
    cached: float | None = None

    def cost(self, usage: Usage) -> float:
        """Price some tokens.

        Args:
            usage: Tokens.

        Returns:
            Dollars.
        """
        cached = self.input if self.cached is None else self.cached
        fresh = (usage.tokens_in - usage.cached) * self.input
        return (fresh + usage.cached * cached + usage.tokens_out * self.output) / 1e6


FREE = Price(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a whole run, resumed sessions included, may use; None is no limit.

    Attributes:
        max_calls: Finished calls; each draw of a sample is one.
        max_tokens: Prompt and reply tokens together.
        max_cost: Dollars.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        """Refuse negative budgets."""
        for name in ("max_calls", "max_tokens", "max_cost"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ConfigError(f"{name} is {value}; it must be 0 or more, or left out for no limit")


@dataclass(frozen=True, slots=True)
class Figures:
    """What was used.

    Attributes:
        calls: Finished calls, those of earlier sessions of the run included.
        replayed: Calls that this session answered from the store.
        tokens: Tokens of ``calls``.
        cost: Dollars for ``calls``, or None where a price is not known.
    """

    calls: int = 0
    replayed: int = 0
    tokens: Usage = field(default_factory=Usage)
    cost: float | None = 0.0


class Meter:
    """Counts calls, tokens and cost by model, and stops a run whose budget is spent.

    Args:
        budget: The limits.
        prices: By model name. Local and scripted models are free unless they are listed.
        earlier: What earlier sessions of the run used (``Store.usage()``); it counts against the budget.
    """

    def __init__(
        self, budget: Budget, prices: Mapping[str, Price], *, earlier: Mapping[str, ModelUsage] | None = None
    ) -> None:
        self._budget = budget
        self._prices = dict(prices)
        self._figures: dict[str, Figures] = {}
        self._pending = 0
        # Running totals: a check before every call must not walk over all models.
        self._calls = 0
        self._tokens = 0
        self._cost = 0.0
        for model, usage in (earlier or {}).items():
            self.count(model, usage.tokens, calls=usage.calls)

    def require_prices(self, models: Iterable[str]) -> None:
        """Refuse a cost budget that could not be kept.

        Args:
            models: The names of all models of the run.

        Raises:
            ConfigError: ``max_cost`` is set and the price of a model is not known.
        """
        unknown = sorted({model for model in models if self._price(model) is None})
        if self._budget.max_cost is not None and unknown:
            raise ConfigError(
                f"max_cost is {self._budget.max_cost}, but the price of {', '.join(unknown)} is not known; "
                "add it to the prices (dollars per million tokens) or leave max_cost out"
            )

    def check(self, calls: int = 1) -> None:
        """Raise if a budget is spent.

        Calls in flight count as made, so ``max_calls`` is never passed. Tokens and cost are known only afterwards:
        calls in flight when they run out are finished and counted.

        Args:
            calls: How many calls are about to be made.

        Raises:
            BudgetError: They must not be made.
        """
        budget, hint = self._budget, "; resume the run with a larger one to go on"
        if budget.max_calls is not None and self._calls + self._pending + calls > budget.max_calls:
            made = f"{self._calls} calls made, {self._pending} in flight, {calls} more wanted"
            raise BudgetError(f"max_calls {budget.max_calls} is spent ({made}){hint}")
        if budget.max_tokens is not None and self._tokens >= budget.max_tokens:
            raise BudgetError(f"max_tokens {budget.max_tokens} is spent ({self._tokens} tokens used){hint}")
        if budget.max_cost is not None and self._cost >= budget.max_cost:
            raise BudgetError(f"max_cost {budget.max_cost:g} is spent ({self._cost:.4f} dollars){hint}")

    @contextlib.contextmanager
    def calling(self, calls: int = 1) -> Iterator[None]:
        """Check the budget and hold room for calls while they are in flight.

        Args:
            calls: How many.

        Raises:
            BudgetError: A budget is spent.
        """
        self.check(calls)
        self._pending += calls
        try:
            yield
        finally:
            self._pending -= calls

    def count(self, model: str, usage: Usage, *, calls: int = 1) -> None:
        """Count finished calls."""
        old, price = self.figures(model), self._price(model)
        cost = None if price is None or old.cost is None else old.cost + price.cost(usage)
        self._figures[model] = Figures(old.calls + calls, old.replayed, old.tokens + usage, cost)
        self._calls += calls
        self._tokens += usage.tokens_in + usage.tokens_out
        self._cost += 0.0 if price is None else price.cost(usage)

    def replay(self, model: str, calls: int = 1) -> None:
        """Count calls that were answered from the store."""
        old = self.figures(model)
        self._figures[model] = replace(old, replayed=old.replayed + calls)

    def figures(self, model: str) -> Figures:
        """Return the figures of one model."""
        return self._figures.get(model, Figures())

    def by_model(self) -> dict[str, Figures]:
        """Return the figures of every model that was used, by name."""
        return dict(sorted(self._figures.items()))

    def total(self) -> Figures:
        """Add up all models; the cost is None where the price of one that was called is not known."""
        rows = list(self._figures.values())
        known = [row.cost for row in rows if row.cost is not None]
        return Figures(
            sum(row.calls for row in rows),
            sum(row.replayed for row in rows),
            sum((row.tokens for row in rows), start=Usage()),
            sum(known) if len(known) == len(rows) else None,
        )

    def _price(self, model: str) -> Price | None:
        return self._prices.get(model, FREE if is_free(model) else None)
