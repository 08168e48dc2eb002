"""Speed of the local engine on the embedded model, against a plain one-row loop.

Run ``python benchmarks/local.py [--quick] [--threads N]``. Every figure is the median of three (one with ``--quick``).
Ratios within one run hold on a busy machine, the rates themselves do not.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from debate.models.base import Draw, Message, Sampling
from debate.models.embedded import NAME, ensure_embedded
from debate.models.local import LocalModel

Kind = Literal["float32", "bfloat16"]
NEW = 120
WORDS = (
    *("the", "keeper", "saw", "fog", "roll", "over", "a", "bar", "while", "pilots", "counted", "boats", "and", "wrote"),
    *("each", "time", "down", "in", "his", "book"),
)


def messages_of(tokens: int, mark: int) -> list[Message]:
    """Return a prompt of about so many tokens; prompts of different marks share almost nothing."""
    words = [WORDS[(mark * 7 + index * (1 + mark % 5)) % len(WORDS)] for index in range(tokens - 45)]
    return [Message("user", f"Story {mark}: {' '.join(words)}. Tell at length what happened next.")]


def plain_rate(folder: Path, kind: Kind, threads: int | None, runs: int, new: int) -> float:
    """Return tokens per second of transformers' generate, one row at a time."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    model: Any = AutoModelForCausalLM.from_pretrained(str(folder), dtype=getattr(torch, kind))
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    chat = [message._asdict() for message in messages_of(600, 0)]
    ids = torch.tensor([tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)])
    rates = []
    for _ in range(runs):
        start = time.perf_counter()
        with torch.inference_mode():
            model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=True, min_new_tokens=new, max_new_tokens=new
            )
        rates.append(new / (time.perf_counter() - start))
    torch.set_num_threads(before)
    return statistics.median(rates)


async def median_seconds(runs: int, work: Callable[[int], Awaitable[object]]) -> float:
    """Return the median wall time of ``work``, which gets a new mark each time so that nothing is cached."""
    times = []
    for run in range(runs):
        start = time.perf_counter()
        await work(1000 * (run + 1))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


async def sample_rate(model: LocalModel, runs: int, *, prompts: int, tokens: int, n: int) -> float:
    """Return sampled tokens per second for so many prompts with n replies each, prompts computed included."""
    rates = []
    for run in range(runs):
        first = 1000 * run + 100
        sampling = Sampling(NEW, temperature=1.0)
        start = time.perf_counter()
        replies = await asyncio.gather(
            *(
                model.sample(messages_of(tokens, first + index), draws=Draw(run).take(n), sampling=sampling)
                for index in range(prompts)
            )
        )
        seconds = time.perf_counter() - start
        rates.append(sum(reply.usage.tokens_out for group in replies for reply in group) / seconds)
    return statistics.median(rates)


async def choose_rates(model: LocalModel, runs: int, transcripts: int) -> tuple[float, float]:
    """Return transcripts judged per second, batched and one by one."""

    async def batched(mark: int) -> None:
        await asyncio.gather(*(model.choose(messages_of(300, mark + i), ("A", "B")) for i in range(transcripts)))

    async def alone(mark: int) -> None:
        for i in range(transcripts):
            await model.choose(messages_of(300, mark + 500 + i), ("A", "B"))

    return transcripts / await median_seconds(runs, batched), transcripts / await median_seconds(runs, alone)


async def measure(kind: Kind, *, quick: bool, threads: int | None, table: Table) -> None:
    """Fill the table for one dtype."""
    folder = ensure_embedded()
    runs = 1 if quick else 3
    plain = plain_rate(folder, kind, threads, runs, 40 if quick else NEW)
    table.add_row(kind, "plain generate, 1 row, 600-token prompt", f"{plain:.0f} tokens/s", "1.0")
    model = LocalModel(str(folder), name=NAME, dtype=kind, threads=threads)
    await model.sample(messages_of(100, 1), draws=[Draw()], sampling=Sampling(8))  # the first call sets kernels up
    cases = [("n = 1", 1, 600, 1), ("n = 4", 1, 600, 4), ("n = 8", 1, 600, 8), ("n = 16", 1, 600, 16)]
    cases += [("16 different prompts", 16, 200, 1), ("32 different prompts", 32, 200, 1)]
    for label, prompts, tokens, n in cases[3:] if quick else cases:
        rate = await sample_rate(model, runs, prompts=prompts, tokens=tokens, n=n)
        table.add_row(kind, f"sample, {tokens}-token prompt, {label}", f"{rate:.0f} tokens/s", f"{rate / plain:.1f}")
    batched, alone = await choose_rates(model, runs, 16 if quick else 64)
    table.add_row(kind, "choose, 300-token transcripts, one by one", f"{alone:.1f}/s", "1.0")
    table.add_row(kind, "choose, 300-token transcripts, batched", f"{batched:.1f}/s", f"{batched / alone:.1f}")
    await model.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run of each, the largest cases only")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all cores)")
    options = parser.parse_args()
    table = Table("dtype", "case", "rate", "ratio")
    kinds: tuple[Kind, ...] = ("bfloat16", "float32")
    for kind in kinds:
        asyncio.run(measure(kind, quick=options.quick, threads=options.threads, table=table))
    Console().print(table)


if __name__ == "__main__":
    main()
