from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from debate.errors import BudgetError, ConfigError, ModelError
from debate.models.base import (
    Capabilities,
    Choice,
    Completion,
    Draw,
    Message,
    Messages,
    Sampling,
    Scores,
    ShortReplyError,
    Usage,
)
from debate.models.calls import LoggedModel, call_keys
from debate.models.limits import Budget, Meter, Price
from debate.models.scripted import ScriptedModel
from debate.store import Store

PROMPT = [Message("system", "Be brief."), Message("user", "Which — A or B?")]
SAMPLING = Sampling(max_tokens=20, temperature=0.5)


class Slow(ScriptedModel):
    """A model that waits for its gate, remembers what it is asked, and fails where told."""

    def __init__(self, *, n: bool = True, fail: Sequence[int] = (), short: bool = False) -> None:
        super().__init__(
            lambda messages, draw: f"{messages[-1].content} {draw.sample}",
            choose=lambda _messages, _choices: (0.1, 0.2),
            name="scripted/slow",
            capabilities=Capabilities(score=True, n=n),
        )
        self.asked: list[list[Draw]] = []
        self.fail = set(fail)
        self.short = short
        self.closed = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        self.asked.append(list(draws))
        await self.gate.wait()
        await asyncio.sleep(0)
        if self.fail & {draw.sample for draw in draws}:
            raise ModelError("told to fail")
        replies = await super().sample(messages, draws=draws, sampling=sampling)
        return replies[1:] if self.short else replies

    async def close(self) -> None:
        self.closed = True


def meter(**limits: float) -> Meter:
    return Meter(Budget(**limits), {})  # type: ignore[arg-type]  # ints where ints are due


def test_a_key_is_the_hash_of_the_canonical_json() -> None:
    parts = ["sample", "m", "d", list(PROMPT), [20, 0.5, 1.0, []]]
    text = '["sample","m","d",[["system","Be brief."],["user","Which \\u2014 A or B?"]],[20,0.5,1.0,[]],[7,"p",0,3,1]]'
    assert call_keys(parts, [Draw(7, "p", 0, 3, 1)]) == [hashlib.sha256(text.encode()).hexdigest()]
    assert json.loads(text)[-1] == list(Draw(7, "p", 0, 3, 1))


async def test_every_part_of_a_call_is_in_its_key(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    seen = meter()
    model = LoggedModel(ScriptedModel(["a", "b"]), store, seen)
    other = ScriptedModel(["a", "b"])
    other.digest = "other weights"
    for variant in (
        model.sample(PROMPT, draws=[Draw()], sampling=SAMPLING),
        model.sample(PROMPT[1:], draws=[Draw()], sampling=SAMPLING),
        model.sample([Message("user", "Be brief."), PROMPT[1]], draws=[Draw()], sampling=SAMPLING),
        model.sample(PROMPT, draws=[Draw(stream="b")], sampling=SAMPLING),
        model.sample(PROMPT, draws=[Draw(attempt=1)], sampling=SAMPLING),
        model.sample(PROMPT, draws=[Draw()], sampling=Sampling(max_tokens=21, temperature=0.5)),
        model.sample(PROMPT, draws=[Draw()], sampling=Sampling(max_tokens=20, temperature=0.6)),
        model.sample(PROMPT, draws=[Draw()], sampling=Sampling(max_tokens=20, temperature=0.5, stop=("x",))),
        LoggedModel(other, store, seen).sample(PROMPT, draws=[Draw()], sampling=SAMPLING),
        LoggedModel(ScriptedModel(["a"], name="scripted/b"), store, seen).sample(
            PROMPT, draws=[Draw()], sampling=SAMPLING
        ),
        model.choose(PROMPT, ("A", "B")),
        model.choose(PROMPT, ("B", "A")),
        model.score(PROMPT, ("A", "B")),
    ):
        await variant
    assert (seen.total().calls, seen.total().replayed) == (13, 0)
    assert sum(usage.calls for usage in store.usage().values()) == 13
    store.close()


async def test_a_replay_equals_the_call(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    draws = Draw(seed=1, stream="p").take(4)

    async def session() -> tuple[list[Completion], Choice, Scores, Meter]:
        store, seen = Store(path), meter()
        model = LoggedModel(Slow(), store, seen)
        replies = await model.sample(PROMPT, draws=draws, sampling=SAMPLING)
        choice = await model.choose(PROMPT, ("A", "B"))
        scores = await model.score(PROMPT, ("yes", "no"))
        store.close()
        return replies, choice, scores, seen

    first, second = await session(), await session()
    assert first[:3] == second[:3]
    assert (first[3].total().calls, first[3].total().replayed) == (6, 0)
    assert (second[3].total().calls, second[3].total().replayed) == (0, 6)
    assert first[3].total().tokens == Usage(
        tokens_in=7 + 7 + 7 + 2, tokens_out=4 * 6 + 1
    )  # in words: the prompt has 7, a reply 6


async def test_only_missing_draws_are_asked_for(tmp_path: Path) -> None:
    store, slow = Store(tmp_path / "run.sqlite"), Slow()
    model = LoggedModel(slow, store, meter())
    draws = Draw().take(5)
    await model.sample(PROMPT, draws=[draws[1], draws[3]], sampling=SAMPLING)
    replies = await model.sample(PROMPT, draws=[*draws, draws[0]], sampling=SAMPLING)
    assert slow.asked == [[draws[1], draws[3]], [draws[0], draws[2], draws[4]]]
    assert [reply.text[-1] for reply in replies] == ["0", "1", "2", "3", "4", "0"]
    store.close()


@pytest.mark.parametrize("durable", [True, False])
async def test_equal_calls_in_flight_share_one(tmp_path: Path, durable: bool) -> None:  # noqa: FBT001 - parametrized
    store = Store(tmp_path / "run.sqlite") if durable else None
    slow, seen = Slow(), meter()
    model = LoggedModel(slow, store, seen)
    draws = Draw().take(3)
    replies = await asyncio.gather(
        model.sample(PROMPT, draws=draws[:2], sampling=SAMPLING),
        model.sample(PROMPT, draws=draws, sampling=SAMPLING),
        model.sample(PROMPT, draws=draws[1:], sampling=SAMPLING),
    )
    assert slow.asked == [draws[:2], draws[2:]]
    assert replies[1] == [*replies[0], replies[2][1]]
    assert seen.total().calls == 3
    if store:
        store.close()


async def test_a_failed_owner_gives_its_error_to_all_and_may_be_asked_again() -> None:
    slow = Slow(fail=[0])
    model = LoggedModel(slow, None, meter())
    calls = [model.sample(PROMPT, draws=[Draw()], sampling=SAMPLING) for _ in range(3)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [str(result) for result in results] == ["told to fail"] * 3
    slow.fail.clear()
    assert len(await model.sample(PROMPT, draws=[Draw()], sampling=SAMPLING)) == 1


async def test_a_cancelled_owner_leaves_its_call_to_the_others_and_to_the_store(tmp_path: Path) -> None:
    store, slow = Store(tmp_path / "run.sqlite"), Slow()
    model = LoggedModel(slow, store, meter())
    slow.gate.clear()
    owner, waiter = (asyncio.create_task(model.sample(PROMPT, draws=[Draw()], sampling=SAMPLING)) for _ in range(2))
    alone = asyncio.create_task(model.sample(PROMPT, draws=[Draw(sample=9)], sampling=SAMPLING))
    await asyncio.sleep(0.01)
    owner.cancel()
    alone.cancel()
    await asyncio.sleep(0)
    slow.gate.set()
    assert (await waiter)[0].text.endswith("0")
    await model.drain()
    assert owner.cancelled()
    assert alone.cancelled()
    assert len(slow.asked) == 2
    assert store.usage()["scripted/slow"].calls == 2
    store.close()


async def test_closing_tells_the_waiters() -> None:
    slow = Slow()
    model = LoggedModel(slow, None, meter())
    slow.gate.clear()
    waiter = asyncio.create_task(model.sample(PROMPT, draws=[Draw()], sampling=SAMPLING))
    await asyncio.sleep(0.01)
    await model.close()
    with pytest.raises(ModelError, match="closed while a call was in flight"):
        await waiter
    assert slow.closed


async def test_without_n_a_failed_draw_costs_no_other(tmp_path: Path) -> None:
    store, slow = Store(tmp_path / "run.sqlite"), Slow(n=False, fail=[2])
    model = LoggedModel(slow, store, meter())
    with pytest.raises(ModelError):
        await model.sample(PROMPT, draws=Draw().take(4), sampling=SAMPLING)
    await model.drain()
    assert store.usage()["scripted/slow"].calls == 3
    store.close()


async def test_a_short_reply_is_an_error() -> None:
    model = LoggedModel(Slow(short=True), None, meter())
    with pytest.raises(ModelError, match="gave 1 replies to a request for 2"):
        await model.sample(PROMPT, draws=Draw().take(2), sampling=SAMPLING)


async def test_what_a_short_reply_gave_is_kept_though_the_rest_fails(tmp_path: Path) -> None:
    class Short(Slow):
        async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
            if self.asked:
                raise ModelError("told to fail")
            raise ShortReplyError("two", (await super().sample(messages, draws=draws, sampling=sampling))[:2])

    store, seen, whole = Store(tmp_path / "run.sqlite"), meter(), Slow()
    draws = Draw().take(5)
    with pytest.raises(ModelError, match="told to fail"):
        await LoggedModel(Short(), store, seen).sample(PROMPT, draws=draws, sampling=SAMPLING)
    assert seen.total().calls == store.usage()["scripted/slow"].calls == 2
    replies = await LoggedModel(whole, store, seen).sample(PROMPT, draws=draws, sampling=SAMPLING)
    assert whole.asked == [draws[2:]]
    assert [reply.text[-1] for reply in replies] == ["0", "1", "2", "3", "4"]
    store.close()


async def test_max_calls_is_never_passed_and_counts_earlier_sessions(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    model = LoggedModel(Slow(), store, meter(max_calls=5))
    calls = [model.sample(PROMPT, draws=[Draw(sample=index)], sampling=SAMPLING) for index in range(9)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    assert len(errors) == 4
    assert all(isinstance(error, BudgetError) and "max_calls 5 is spent" in str(error) for error in errors)
    resumed = Meter(Budget(max_calls=6), {}, earlier=store.usage())
    again = LoggedModel(Slow(), store, resumed)
    await again.sample(PROMPT, draws=Draw().take(6), sampling=SAMPLING)
    assert (resumed.total().calls, resumed.total().replayed) == (6, 5)
    with pytest.raises(BudgetError, match="resume the run with a larger one"):
        await again.choose(PROMPT, ("A", "B"))
    store.close()


def test_cost_follows_the_price_list() -> None:
    seen = Meter(Budget(max_cost=3.0), {"openai/x": Price(input=2.0, output=8.0, cached=0.5)})
    seen.count("openai/x", Usage(tokens_in=1_000_000, tokens_out=100_000, cached=400_000))
    assert seen.total().cost == pytest.approx(0.6 * 2.0 + 0.4 * 0.5 + 0.1 * 8.0)
    seen.check()
    seen.count("openai/x", Usage(tokens_out=100_000))
    with pytest.raises(BudgetError, match="max_cost 3 is spent"):
        seen.check()
    seen.count("scripted/a", Usage(10, 10))
    assert seen.figures("scripted/a").cost == 0
    seen.count("openai/unknown", Usage(10, 10))
    assert seen.figures("openai/unknown").cost is None
    assert seen.total().cost is None


def test_max_tokens_counts_both_ways() -> None:
    seen = meter(max_tokens=30)
    seen.count("scripted/a", Usage(20, 9))
    seen.check()
    seen.count("scripted/a", Usage(1, 0))
    with pytest.raises(BudgetError, match="max_tokens 30 is spent"):
        seen.check()


def test_a_cost_budget_needs_prices() -> None:
    models = ["openai/b", "openai/a", "hf/x/y", "embedded/smollm2-135m", "scripted/s"]
    with pytest.raises(ConfigError, match="price of openai/a, openai/b is not known"):
        Meter(Budget(max_cost=1.0), {}).require_prices(models)
    Meter(Budget(), {}).require_prices(models)
    Meter(Budget(max_cost=1.0), {"openai/a": Price(1, 1), "openai/b": Price(1, 1)}).require_prices(models)
    with pytest.raises(ConfigError, match="max_calls is -1"):
        Budget(max_calls=-1)
