from __future__ import annotations

from pathlib import Path

import pytest

from debate.models.base import Usage
from debate.models.limits import Budget, Meter, Price
from debate.progress import Progress
from debate.store import CallRow, Store

NAME = "openai/some"


def shown(capsys: pytest.CaptureFixture[str], meter: Meter, usage: Usage | None) -> str:
    with Progress("test", 4, 10, meter) as progress:
        progress.advance()
        if usage is not None:
            meter.count(NAME, usage)
    return capsys.readouterr().err


def test_tokens_from_caches_and_of_reasoning_are_shown_where_there_are_any(capsys: pytest.CaptureFixture[str]) -> None:
    meter = Meter(Budget(), {})
    line = shown(capsys, meter, Usage(1000, 200))
    assert "1 of 4 debates" in line
    assert "1 calls" in line
    assert "1,200 tokens, cost unknown" in line
    assert "3,400 tokens (512 from caches), " in shown(capsys, meter, Usage(2000, 200, cached=512))
    line = shown(capsys, meter, Usage(0, 2000, reasoning=1900))
    assert "5,400 tokens (512 from caches, 1,900 of hidden reasoning), " in line


async def test_figures_of_a_resumed_run_are_those_of_the_whole_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "run.sqlite")
    usage = Usage(10**6, 10**5, cached=5 * 10**5)
    await store.add_calls([CallRow(str(number), "sample", NAME, "{}", usage) for number in range(3)])
    meter = Meter(Budget(), {NAME: Price(1, 10, 0.5)}, earlier=store.usage())
    store.close()
    # A million tokens of which half are cached cost 0.75 dollars and the reply one; three such calls, and one more now.
    line = shown(capsys, meter, usage)
    assert "4 calls" in line
    assert "4,400,000 tokens (2,000,000 from caches), $7.00" in line
