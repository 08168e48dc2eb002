"""Progress of long work: a rich bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

from debate.models.limits import Meter

_PLAIN_SECONDS = 20.0
_BAR_SECONDS = 0.5


class Progress:
    """Shows debates done, calls a second, tokens, cost and the time left.

    Calls, tokens and cost are those of the whole run, earlier sessions included; calls a second are this session's. The
    time left goes by calls, since debates end late: their calls are batched together.

    Args:
        title: What is being done.
        debates: Debates in all.
        calls: Calls in all, as planned.
        meter: Whose figures are shown.
    """

    def __init__(self, title: str, debates: int, calls: int, meter: Meter) -> None:
        self._title = title
        self._debates = debates
        self._calls = calls
        self._done = 0
        self._meter = meter
        self._start = time.monotonic()
        self._earlier = meter.total().calls
        self._bar: _Bar | None = None
        self._ended = threading.Event()
        self._beat = threading.Thread(target=self._show, name="progress", daemon=True)

    def __enter__(self) -> Self:
        """Start showing."""
        if sys.stderr.isatty():
            self._bar = _Bar(self._title, self._debates)
        self._beat.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop showing; the last line stays, unless nothing was done before an error, which then speaks for itself."""
        self._ended.set()
        self._beat.join()
        if self._bar is not None:
            self._bar.update(self._done, self._figures())
            self._bar.stop()
        elif kind is None or self._done:
            self._print()

    def advance(self) -> None:
        """Count one debate as done."""
        self._done += 1

    def _show(self) -> None:
        while not self._ended.wait(_PLAIN_SECONDS if self._bar is None else _BAR_SECONDS):
            if self._bar is None:
                self._print()
            else:
                self._bar.update(self._done, self._figures())

    def _figures(self) -> str:
        total = self._meter.total()
        made = total.calls - self._earlier
        rate = made / max(time.monotonic() - self._start, 1e-9)
        tokens = f"{total.tokens.tokens_in + total.tokens.tokens_out:,} tokens"
        parts = {"from caches": total.tokens.cached, "of hidden reasoning": total.tokens.reasoning}
        told = ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)
        tokens += f" ({told})" if told else ""
        cost = "cost unknown" if total.cost is None else f"${total.cost:.2f}"
        left = max(0, self._calls - total.calls)
        time_left = f", about {left / rate:.0f} s left" if made > 0 and left and self._done < self._debates else ""
        return f"{total.calls:,} calls, {rate:.1f} a second, {tokens}, {cost}{time_left}"

    def _print(self) -> None:
        elapsed = time.monotonic() - self._start
        sys.stderr.write(
            f"{self._title}: {self._done} of {self._debates} debates in {elapsed:.0f} s; {self._figures()}\n"
        )
        sys.stderr.flush()


class _Bar:
    """A rich progress bar."""

    def __init__(self, title: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._rich = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._task = self._rich.add_task(title, total=total, figures="")
        self._rich.start()

    def update(self, done: int, figures: str) -> None:
        self._rich.update(self._task, completed=done, figures=figures)

    def stop(self) -> None:
        self._rich.stop()
