"""Continuous batching: replies leave the batch when they end, and waiting ones take their places."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from debate.errors import ModelError
from debate.models.base import Completion, Draw, Sampling, Usage
from debate.models.gumbel import Noise, pick
from debate.models.prefixes import ID_BITS, Tokens, adapters_of, ids_of
from debate.models.runner import Row, Runner
from debate.models.slots import Slots
from debate.models.texts import Texts, cut, tail_tokens


@dataclass(slots=True)
class Reply:
    """One reply to sample.

    Attributes:
        sampling: How.
        draw: Which draw.
        tokens_in: Prompt tokens to report with it.
        done: Called with the completion.
        failed: Called with the error instead.
        tokens: What it has so far.
        noise: Its noise, made when it starts.
    """

    sampling: Sampling
    draw: Draw
    tokens_in: int
    done: Callable[[Completion], None]
    failed: Callable[[Exception], None]
    tokens: list[int] = field(default_factory=list)
    noise: Noise | None = None


@dataclass(slots=True)
class Prompt:
    """One prompt and the replies to it.

    Attributes:
        tokens: Token ids, marked with the adapter.
        waiting: Replies that have not started.
        met: How many leading tokens a recent sequence shares with it.
        logits: Float32 logits of the first token (vocabulary,), once computed.
        running: Replies in the batch.
    """

    tokens: Tokens
    waiting: deque[Reply]
    met: int = 0
    logits: Tensor | None = None
    running: int = 0

    @property
    def mark(self) -> int:
        """What marks a token as its adapter's, added to the token's id."""
        return int(adapters_of(self.tokens[0])) << ID_BITS


class Generation:
    """All sampling of one model.

    Args:
        runner: Runs the model.
        texts: Its tokenizer.
        max_rows: Most replies in the batch.
        max_bytes: Most bytes of prompts' keys and values; one prompt always fits.
    """

    def __init__(self, runner: Runner, texts: Texts, max_rows: int, max_bytes: int) -> None:
        self._runner = runner
        self._texts = texts
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._slots = Slots(runner.shape, max_rows, max_bytes)
        self._waiting: deque[Prompt] = deque()
        self._coming: list[Prompt] = []  # those that are being computed; nobody adds replies to them
        self._open: list[Prompt] = []  # in the order of prompt slots
        self._rows: list[tuple[Reply, Prompt]] = []  # in the order of reply slots

    @property
    def busy(self) -> bool:
        """Whether replies are in the batch."""
        return bool(self._rows)

    @property
    def bytes(self) -> int:
        """Bytes of the prompts' keys and values."""
        return self._slots.bytes

    @property
    def half_full(self) -> bool:
        """Whether at least half of the batch's places are taken."""
        return 2 * len(self._rows) >= self._max_rows

    @property
    def waiting(self) -> bool:
        """Whether prompts wait to be computed."""
        return bool(self._waiting)

    def add(self, tokens: Tokens, replies: list[Reply], met: int) -> None:
        """Add replies to a prompt, sharing it with equal prompts that wait or run."""
        for prompt in (*self._open, *self._waiting):
            if len(prompt.tokens) == len(tokens) and bool((prompt.tokens == tokens).all()):
                prompt.waiting.extend(replies)
                return
        self._waiting.append(Prompt(tokens, deque(replies), met))

    def admit(self) -> list[Row]:
        """Return the rows of waiting prompts for which there is room now; the caller computes them."""
        taken = sum(len(prompt.waiting) for prompt in (*self._open, *self._coming))
        free = self._max_rows - len(self._rows) - taken
        rows = []
        while self._waiting and free > 0:
            prompt = self._waiting[0]
            lengths = [len(other.tokens) for other in (*self._coming, prompt)]
            alone = len(lengths) == 1 and not self._open
            if not alone and self._slots.bytes_with(lengths) > self._max_bytes:
                break
            self._waiting.popleft()
            rows.append(self._row(prompt))
            self._coming.append(prompt)
            free -= len(prompt.waiting)
        return rows

    def _row(self, prompt: Prompt) -> Row:
        def done(logits: Tensor, kv: Tensor | None) -> None:
            if kv is None:
                raise RuntimeError("a prompt's keys and values were not kept")
            self._slots.add_prompt(prompt.tokens, kv, prompt.met, len(self._coming) - 1)
            prompt.logits = logits[-1].float()
            self._open.append(prompt)
            self._arrived(prompt)

        def failed(error: Exception) -> None:
            self._arrived(prompt)
            for reply in prompt.waiting:
                reply.failed(error)

        def again() -> None:
            self._arrived(prompt)
            self._waiting.appendleft(prompt)

        return Row(prompt.tokens, 1, keep=True, done=done, failed=failed, met=prompt.met, again=again)

    def _arrived(self, prompt: Prompt) -> None:
        self._coming = [other for other in self._coming if other is not prompt]

    def start(self) -> None:
        """Sample the first token of as many waiting replies as there is room for.

        Should that fail, those that have not started wait again, so that ``shrink`` and ``fail`` find every reply.
        """
        while True:
            room = self._max_rows - len(self._rows)
            starting: deque[tuple[int, Prompt, Reply]] = deque()
            for slot, prompt in enumerate(self._open):
                while prompt.waiting and len(starting) < room:
                    starting.append((slot, prompt, prompt.waiting.popleft()))
            if not starting:
                break
            try:
                self._start(starting)
            finally:
                for _, prompt, reply in reversed(starting):
                    prompt.waiting.appendleft(reply)
        self._close_prompts()

    def _start(self, starting: deque[tuple[int, Prompt, Reply]]) -> None:
        """Start replies, and take each out of ``starting`` once it is in the batch or has ended."""
        device = self._runner.device
        for _, prompt, reply in starting:
            reply.tokens = []
            reply.noise = Noise(ids_of(prompt.tokens).tolist(), reply.sampling, reply.draw, device)
        logits = torch.stack([prompt.logits for _, prompt, _ in starting if prompt.logits is not None])
        for token in self._pick(logits, [reply for _, _, reply in starting]):
            slot, prompt, reply = starting[0]
            if self._goes_on(reply, token):
                self._slots.add_reply(slot)
                self._rows.append((reply, prompt))
                prompt.running += 1
            starting.popleft()

    def step(self) -> None:
        """Sample one more token of every reply in the batch, then let waiting ones join."""
        logits = self._runner.step(self._slots, [reply.tokens[-1] + prompt.mark for reply, prompt in self._rows])
        tokens = self._pick(logits, [reply for reply, _ in self._rows])
        # Backwards: the last slot moves into the place of one that leaves, and it has been seen by then.
        for slot in range(len(self._rows) - 1, -1, -1):
            reply, prompt = self._rows[slot]
            if not self._goes_on(reply, tokens[slot]):
                prompt.running -= 1
                self._slots.drop_reply(slot)
                self._rows[slot] = self._rows[-1]
                self._rows.pop()
        self.start()

    def shrink(self) -> bool:
        """Halve the batch after running out of memory; started replies start again, and come out the same.

        Returns:
            Whether there was anything left to halve.
        """
        if self._max_rows == 1:
            return False
        self._max_rows //= 2
        for reply, prompt in self._rows:
            prompt.waiting.append(reply)
            prompt.running = 0
        self._waiting.extendleft(prompt for prompt in reversed(self._open) if prompt.waiting)
        self._rows, self._open = [], []
        self._slots = Slots(self._runner.shape, self._max_rows, self._max_bytes)
        return True

    def fail(self, error: Exception) -> None:
        """Fail every reply, started or not."""
        for reply, _ in self._rows:
            reply.failed(error)
        for prompt in (*self._open, *self._waiting):
            for reply in prompt.waiting:
                reply.failed(error)
        self._rows, self._open = [], []
        self._waiting.clear()
        self._slots = Slots(self._runner.shape, self._max_rows, self._max_bytes)

    def _pick(self, logits: Tensor, replies: list[Reply]) -> list[int]:
        noises = [reply.noise for reply in replies if reply.noise is not None]
        return pick(logits, [reply.sampling for reply in replies], noises)

    def _goes_on(self, reply: Reply, token: int) -> bool:
        """Take a token; where it ends the reply, finish it and return False."""
        if token < 0:
            reply.failed(ModelError("the model's logits are not finite; try dtype float32"))
            return False
        if token in self._texts.ends:
            self._finish(reply, self._texts.decode(reply.tokens), stopped=True)
            return False
        reply.tokens.append(token)
        stop = reply.sampling.stop
        if stop and cut(self._texts.decode(reply.tokens[-tail_tokens(stop) :]), stop) is not None:
            text = self._texts.decode(reply.tokens)
            before = cut(text, stop)
            if before is not None:
                self._finish(reply, before, stopped=True)
                return False
        if len(reply.tokens) >= reply.sampling.max_tokens:
            self._finish(reply, self._texts.decode(reply.tokens), stopped=False)
            return False
        return True

    @staticmethod
    def _finish(reply: Reply, text: str, *, stopped: bool) -> None:
        usage = Usage(reply.tokens_in, len(reply.tokens))
        reply.done(Completion(text, "stop" if stopped else "length", usage))

    def _close_prompts(self) -> None:
        for slot in range(len(self._open) - 1, -1, -1):
            prompt = self._open[slot]
            if not prompt.waiting and not prompt.running:
                self._slots.drop_prompt(slot)
                self._open[slot] = self._open[-1]
                self._open.pop()
