"""Progress of long work: a rich bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from debate.models.limits import Meter

_PLAIN_SECONDS = 20.0


class Progress:
    """Shows units done, calls a second, tokens, cost and the time left.

    Args:
        title: What is being done.
        total: Units of work, or None while it is not known.
        meter: Whose figures are shown.
    """

    def __init__(self, title: str, total: int | None, meter: Meter) -> None:
        self._title = title
        self._total = total
        self._done = 0
        self._meter = meter
        self._start = time.monotonic()
        self._earlier = meter.total().calls
        self._last = self._start
        self._bar: _Bar | None = None

    def __enter__(self) -> Self:
        """Start showing."""
        if sys.stderr.isatty():
            self._bar = _Bar(self._title, self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop showing; the last line stays, unless nothing was done before an error, which then speaks for itself."""
        if self._bar is not None:
            self._bar.stop()
        elif kind is None or self._done:
            self._print()

    def advance(self) -> None:
        """Count one unit as done."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._done, self._figures())
        elif time.monotonic() - self._last >= _PLAIN_SECONDS:
            self._print()

    def _figures(self) -> str:
        total = self._meter.total()
        rate = (total.calls - self._earlier) / max(time.monotonic() - self._start, 1e-9)
        tokens = total.tokens.tokens_in + total.tokens.tokens_out
        cost = "cost unknown" if total.cost is None else f"${total.cost:.2f}"
        return f"{rate:.1f} calls/s, {tokens:,} tokens, {cost}"

    def _print(self) -> None:
        self._last = time.monotonic()
        elapsed = self._last - self._start
        left = ""
        if self._total and 0 < self._done < self._total:
            left = f", about {elapsed / self._done * (self._total - self._done):.0f} s left"
        of = f" of {self._total}" if self._total else ""
        sys.stderr.write(f"{self._title}: {self._done}{of} debates in {elapsed:.0f} s, {self._figures()}{left}\n")
        sys.stderr.flush()


class _Bar:
    """A rich progress bar."""

    def __init__(self, title: str, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._rich = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._rich.add_task(title, total=total, figures="")
        self._rich.start()

    def update(self, done: int, figures: str) -> None:
        self._rich.update(self._task, completed=done, figures=figures)

    def stop(self) -> None:
        self._rich.stop()
