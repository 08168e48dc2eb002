"""The local engine where memory runs out or something breaks, on a tiny random model."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from debate.errors import ModelAccessError, ModelError
from debate.models.base import Choice, Completion, Draw, Message, Sampling, Scores
from tests.tiny import save_model

if TYPE_CHECKING:
    from torch import Tensor

    from debate.models.engine import Engine
    from debate.models.runner import Row, Runner

PROMPTS = [[Message("user", text)] for text in ("fog sea bell", "who boat", "lamp lamp A B fog", "sea sea C")]
SAMPLING = Sampling(6, temperature=1.0, stop=("never said",))
SECONDS = 60  # longer than any of this takes; a reply that is lost would never come

Fault = Callable[[], None]
Judge = Callable[["Runner", Sequence["Row"]], None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("tiny"))


def faults(*errors: Exception) -> Fault:
    """Raise these errors at the first calls, one each."""
    left = list(errors)

    def fault() -> None:
        if left:
            raise left.pop(0)

    return fault


@asynccontextmanager
async def running(
    folder: Path, *, decode: Fault | None = None, evaluate: Judge | None = None, huge: int = 0, max_batch: int = 8
) -> AsyncIterator[Engine]:
    """Run an engine.

    Args:
        folder: Its model.
        decode: Called before tokens become text, or None.
        evaluate: Called with the runner and the rows before each pass, or None.
        huge: For so many prompts the model claims keys and values that no machine has room for.
        max_batch: Most replies together.
    """
    import torch

    from debate.models.engine import Engine
    from debate.models.runner import Runner
    from debate.models.texts import Texts

    class FaultyTexts(Texts):
        def decode(self, tokens: Sequence[int]) -> str:
            if decode is not None:
                decode()
            return super().decode(tokens)

    class HugeRunner(Runner):
        def evaluate(self, rows: Sequence[Row]) -> list[tuple[Tensor, Tensor | None]]:
            nonlocal huge
            if evaluate is not None:
                evaluate(self, rows)
            outcomes: list[tuple[Tensor, Tensor | None]] = []
            for logits, kv in super().evaluate(rows):
                if kv is not None and huge:
                    huge -= 1
                    outcomes.append((logits, kv[:, :, :, :1].expand(-1, -1, -1, 1 << 45, -1)))
                else:
                    outcomes.append((logits, kv))
            return outcomes

    runner = HugeRunner(folder, torch.float32, torch.device("cpu"), 1 << 20)
    engine = Engine(runner, FaultyTexts(folder), max_batch=max_batch, max_bytes=1 << 20, threads=1)
    yield engine
    await asyncio.to_thread(engine.close)


async def sample(engine: Engine, messages: Sequence[Message], n: int = 3, sampling: Sampling = SAMPLING) -> list[str]:
    from debate.models.requests import Answer, SampleRequest

    answer: Answer[list[Completion]] = Answer()
    engine.submit(SampleRequest(messages, tuple(Draw(seed=5).take(n)), sampling, answer))
    return [completion.text for completion in await asyncio.wait_for(answer.future, SECONDS)]


async def choose(engine: Engine, messages: Sequence[Message]) -> Choice:
    from debate.models.requests import Answer, ChooseRequest

    answer: Answer[Choice] = Answer()
    engine.submit(ChooseRequest(messages, ("A", "B"), answer))
    return await asyncio.wait_for(answer.future, SECONDS)


async def score(engine: Engine, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
    from debate.models.requests import Answer, ScoreRequest

    answer: Answer[Scores] = Answer()
    engine.submit(ScoreRequest(messages, tuple(continuations), answer))
    return await asyncio.wait_for(answer.future, SECONDS)


async def everything(engine: Engine) -> list[list[str]]:
    return list(await asyncio.gather(*(sample(engine, messages) for messages in PROMPTS)))


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> list[list[str]]:
    """What the replies are where nothing goes wrong."""

    async def all_replies() -> list[list[str]]:
        async with running(folder) as engine:
            return await everything(engine)

    return asyncio.run(all_replies())


@pytest.mark.parametrize("skipped", [0, 1, 5, 20])
async def test_replies_outlive_a_lack_of_memory_while_they_start_or_go_on(
    folder: Path, undisturbed: list[list[str]], skipped: int
) -> None:
    calls = 0

    def decode() -> None:
        nonlocal calls
        calls += 1
        if calls == skipped + 1:
            raise MemoryError

    async with running(folder, decode=decode) as engine:
        assert await everything(engine) == undisturbed


async def test_whatever_breaks_while_replies_start_reaches_all_who_wait(
    folder: Path, undisturbed: list[list[str]]
) -> None:
    async with running(folder, decode=faults(ValueError("broken"))) as engine:
        outcomes = await asyncio.gather(*(sample(engine, messages) for messages in PROMPTS), return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} <= {ModelError, list}
        assert any("broken" in str(outcome) for outcome in outcomes)
        assert await everything(engine) == undisturbed  # and later requests are served


@pytest.mark.parametrize("huge", [1, 2, 4])
async def test_replies_outlive_a_lack_of_memory_for_their_prompts(
    folder: Path, undisturbed: list[list[str]], huge: int
) -> None:
    async with running(folder, huge=huge, max_batch=64) as engine:
        assert await everything(engine) == undisturbed
        assert await everything(engine) == undisturbed


async def test_a_prompt_that_never_fits_fails_alone(folder: Path, undisturbed: list[list[str]]) -> None:
    async with running(folder, huge=3, max_batch=2) as engine:  # 2, 1, then there is nothing left to halve
        with pytest.raises(ModelError, match="memory"):
            await sample(engine, PROMPTS[0])
        await choose(engine, PROMPTS[1])
        huge_left = await asyncio.gather(*(sample(engine, messages) for messages in PROMPTS), return_exceptions=True)
        assert sum(isinstance(outcome, ModelError) for outcome in huge_left) == 1
        assert await everything(engine) == undisturbed


async def test_a_lone_prompt_gets_the_room_of_stored_beginnings(folder: Path) -> None:
    long = [Message("user", " ".join(["fog", "sea"] * 25 + [word])) for word in ("bell", "boat", "lamp", "who")]
    stored: list[int] = []

    def evaluate(runner: Runner, _rows: Sequence[Row]) -> None:
        stored.append(runner.store.bytes)
        if len(stored) > 2 and runner.store.bytes:
            raise MemoryError

    async with running(folder) as engine, running(folder, evaluate=evaluate) as full:
        for message in long[:3]:
            one, other = await choose(full, [message]), await choose(engine, [message])
            assert one.probabilities == pytest.approx(other.probabilities, abs=1e-4)
        assert stored[2] > 0  # it was tried, with the beginning that the second prompt shares with the first
        assert stored[3:] == [0]


async def test_a_lone_prompt_gets_the_room_of_decoding_replies(folder: Path) -> None:
    tries = 0

    def evaluate(_runner: Runner, rows: Sequence[Row]) -> None:
        nonlocal tries
        if any(not row.keep for row in rows):  # the judge's, not the replies' prompt
            tries += 1
            if tries <= 2:
                raise MemoryError

    sampling = Sampling(100, temperature=1.0)
    async with running(folder) as engine, running(folder, evaluate=evaluate) as full:
        under_way = [asyncio.ensure_future(sample(one, PROMPTS[0], 4, sampling)) for one in (engine, full)]
        await sample(full, PROMPTS[0], 1)  # by now they decode
        assert await choose(full, PROMPTS[1]) == await choose(engine, PROMPTS[1])
        assert tries == 3
        expected, got = await asyncio.gather(*under_way)
        assert got == expected


async def test_a_lone_prompt_that_never_fits_is_given_up(folder: Path, undisturbed: list[list[str]]) -> None:
    tries = 0

    def evaluate(_runner: Runner, rows: Sequence[Row]) -> None:
        nonlocal tries
        if any(len(row.tokens) > 40 for row in rows):
            tries += len(rows) == 1
            raise MemoryError

    long = [Message("user", "fog sea bell " * 20)]
    async with running(folder, evaluate=evaluate) as engine:
        outcomes = await asyncio.gather(choose(engine, long), everything(engine), return_exceptions=True)
        assert isinstance(outcomes[0], ModelError)
        assert "MemoryError" in str(outcomes[0])
        assert outcomes[1] == undisturbed
        assert 2 <= tries <= 3


async def test_empty_and_odd_prompts_fail_alone(folder: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    odd = Path(shutil.copytree(folder, tmp_path / "odd"))
    tokenizer = AutoTokenizer.from_pretrained(str(odd))
    tokenizer.add_tokens(["strange"])  # and the model's embeddings stay as they are
    tokenizer.save_pretrained(str(odd))
    half = chr(0xD83D)  # of a pair of surrogates
    async with running(odd) as engine:
        outcomes = await asyncio.gather(
            choose(engine, PROMPTS[0]),
            choose(engine, []),
            sample(engine, []),
            choose(engine, [Message("user", "fog strange")]),
            score(engine, PROMPTS[0], ["sea", "strange sea"]),
            choose(engine, [Message("user", f"fog {half}")]),
            score(engine, PROMPTS[0], ["sea", ""]),
            sample(engine, PROMPTS[1]),
            return_exceptions=True,
        )
    failed = [isinstance(outcome, ModelError) for outcome in outcomes]
    assert failed == [False, True, True, True, True, True, False, False]
    assert all("no tokens" in str(outcome) for outcome in outcomes[1:3])
    assert all("token 12 is not one of the model's 12" in str(outcome) for outcome in outcomes[3:5])
    assert isinstance(outcomes[6], Scores)
    assert outcomes[6].values[1] == 0


async def test_short_answers_do_not_wait_for_long_ones(folder: Path) -> None:
    greedy = Sampling(110, temperature=0)
    async with running(folder, max_batch=4) as engine:
        long = asyncio.ensure_future(sample(engine, PROMPTS[0], 2, greedy))
        await choose(engine, PROMPTS[1])
        short = await sample(engine, PROMPTS[2], 1, Sampling(2, temperature=0))
        assert not long.done()
        assert await sample(engine, PROMPTS[2], 1, Sampling(2, temperature=0)) == short
        await long


def test_the_oldest_row_is_in_the_next_pass_however_many_sort_before_it(folder: Path) -> None:
    import torch

    from debate.models.engine import Engine
    from debate.models.runner import Row, Runner
    from debate.models.texts import Texts

    def row(end: int) -> Row:
        tokens = np.array([3] * 40 + [end] * 60, np.int64)  # all begin alike, so they are one group
        return Row(tokens, 1, keep=False, done=lambda _logits, _kv: None, failed=lambda _error: None)

    runner = Runner(folder, torch.float32, torch.device("cpu"), 1 << 20)
    engine = Engine(runner, Texts(folder), max_batch=8, max_bytes=1 << 20, threads=1)
    try:
        oldest = row(9)
        engine._pass_tokens = 128
        engine._rows = [oldest, *(row(5) for _ in range(5)), *(row(end) for end in (4, 6, 7, 8))]
        first = engine._choose_pass()
        assert any(one is oldest for one in first)
        assert len(first) < 10
    finally:
        engine._rows = []
        engine.close()


def test_stored_beginnings_keep_within_their_room(folder: Path) -> None:
    import torch

    from debate.models.prefixes import PrefixStore
    from debate.models.runner import Runner

    shape = Runner(folder, torch.float32, torch.device("cpu"), 1 << 20).shape
    store = PrefixStore(100 * shape.bytes_per_token)
    for first in range(20):
        tokens = np.full(40, first, np.int64)
        store.put(tokens, shape.empty(40))
        assert 0 < store.bytes <= store.limit
        assert store.find(tokens).tokens == 40
    assert [store.find(np.full(40, first, np.int64)).tokens for first in (17, 18, 19)] == [0, 40, 40]
    store.put(np.full(60, 30, np.int64), shape.empty(60))  # more than half the room
    assert store.find(np.full(60, 30, np.int64)).tokens == 0


def test_prompts_under_way_count_against_the_room(folder: Path) -> None:
    import torch

    from debate.models.generation import Generation, Reply
    from debate.models.runner import Runner
    from debate.models.texts import Texts

    runner = Runner(folder, torch.float32, torch.device("cpu"), 1 << 20)
    one = 64 * runner.shape.bytes_per_token  # a prompt of up to 64 tokens
    generation = Generation(runner, Texts(folder), 64, 5 * one)
    replies: list[Completion] = []
    for index in range(12):
        reply = Reply(Sampling(3), Draw(), 0, replies.append, lambda error: pytest.fail(str(error)))
        generation.add(np.full(40, index, dtype=np.int64), [reply], 0)
    rows: list[Row] = []
    most = 0
    with torch.inference_mode():
        while generation.waiting or generation.busy or rows:
            rows += generation.admit()
            assert len(rows) <= 5
            if rows:  # prompts come out of one pass each, and more are admitted in between
                row = rows.pop(0)
                ((logits, kv),) = runner.evaluate([row])
                row.done(logits, kv)
                generation.start()
            elif generation.busy:
                generation.step()
            most = max(most, generation.bytes)
    assert len(replies) == 12
    assert 4 * one < most <= 5 * one


def test_long_prompts_after_many_short_ones_take_no_more_room_than_they_need(folder: Path) -> None:
    import torch

    from debate.models.runner import Runner
    from debate.models.slots import Slots

    shape = Runner(folder, torch.float32, torch.device("cpu"), 1 << 20).shape
    most = 1 << 20
    slots = Slots(shape, 4, most)

    def add(length: int) -> None:
        assert slots.bytes_with([length]) <= most
        slots.add_prompt(np.arange(length), shape.empty(length), 0)
        assert slots.bytes <= most

    most_short = most // (64 * shape.bytes_per_token)
    for _ in range(most_short):
        add(64)
    while len(slots.prompt_lengths) > 1:
        slots.drop_prompt(0)
    add(most // (2 * shape.bytes_per_token))


LONGROPE = {"short_factor": [1.0] * 4, "long_factor": [4.0] * 4, "original_max_position_embeddings": 64}


@pytest.mark.parametrize(
    ("key", "rope"),
    [
        ("rope_parameters", {"rope_type": "longrope", "rope_theta": 10000.0, **LONGROPE}),
        ("rope_scaling", {"rope_type": "longrope", **LONGROPE}),
        ("rope_scaling", {"type": "longrope", **LONGROPE}),
        ("rope_parameters", {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}),
    ],
)
def test_positions_that_depend_on_the_batch_are_refused(
    folder: Path, tmp_path: Path, key: str, rope: dict[str, object]
) -> None:
    import torch

    from debate.models.runner import Runner

    scaled = Path(shutil.copytree(folder, tmp_path / "scaled"))
    config = json.loads((scaled / "config.json").read_text())
    config.pop("rope_parameters", None)
    (scaled / "config.json").write_text(json.dumps(config | {key: rope}))
    if "longrope" in rope.values():
        with pytest.raises(ModelAccessError, match=r"longrope positions.*not supported by the local engine; serve it"):
            Runner(scaled, torch.float32, torch.device("cpu"), 1 << 20)
    else:
        Runner(scaled, torch.float32, torch.device("cpu"), 1 << 20)
