"""The worker thread of a local model: takes requests of all coroutines, batches whatever waits, answers."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from debate.errors import ContextError, ModelError
from debate.models.base import Choice, Completion, Scores, Usage
from debate.models.generation import Generation, Reply
from debate.models.lora import Lora
from debate.models.prefixes import Tokens, common, in_groups, marked
from debate.models.requests import ChooseRequest, Request, RewardRequest, SampleRequest, ScoreRequest
from debate.models.runner import Row, Runner
from debate.models.texts import Texts

# Tokens of one packed pass: more is no faster and takes longer to let others in.
PASS_TOKENS = 2048
# Most bytes of one packed pass's logits, were they float32.
PASS_LOGITS_BYTES = 256 << 20
# Most passes before decoding replies get a step.
MOST_PASSES = 8
# Rows that are looked at together for shared beginnings.
PLANNED_ROWS = 256
# Coroutines that were started together arrive within this time of the first.
GATHER_S = 0.002


@dataclass(frozen=True, slots=True)
class Attachment:
    """An adapter on its way to the worker."""

    number: int
    loras: Mapping[str, Lora]
    head: Tensor | None


class Engine:
    """One model, and the adapters beside its weights, on one worker thread.

    Args:
        runner: Runs the model; used on the worker thread only.
        texts: Its tokenizer.
        max_batch: Most replies that decode together.
        max_bytes: Most bytes of decoding prompts' keys and values.
        threads: CPU threads of the model.
    """

    def __init__(self, runner: Runner, texts: Texts, *, max_batch: int, max_bytes: int, threads: int) -> None:
        self._runner = runner
        self._texts = texts
        self._threads = threads
        self._generation = Generation(runner, texts, max_batch, max_bytes)
        self._rows: list[Row] = []
        self._heads: dict[int, Tensor] = {}
        self._unattached: dict[int, Exception] = {}
        self._passes = 0  # since the last decoding step
        self._pass_tokens = PASS_TOKENS
        self._pass_logits = max(1, PASS_LOGITS_BYTES // (4 * runner.vocabulary))
        self._queue: queue.SimpleQueue[Request | Attachment | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="local-model", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> None:
        """Take a request; its answer comes through ``request.answer``.

        Raises:
            ModelError: The engine is closed.
        """
        self._put(request)

    def attach(self, number: int, loras: Mapping[str, Lora], head: Tensor | None = None) -> None:
        """Put a LoRA adapter beside the weights, for requests that are submitted from now on.

        Args:
            number: Names it in requests.
            loras: What it changes.
            head: (hidden,) of a reward model: what a last position's final state is worth.

        Raises:
            ModelError: The engine is closed.
        """
        self._put(Attachment(number, loras, head))

    def _put(self, item: Request | Attachment) -> None:
        with self._gate:  # nothing may enter the queue behind the closing mark
            if self._closed:
                raise ModelError("local model: it is closed; make a new one")
            self._queue.put(item)

    def close(self) -> None:
        """Fail what has not finished, and join the worker thread."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        torch.set_num_threads(self._threads)
        with torch.inference_mode():
            while True:
                taken, closing = self._take()
                if closing:
                    self._fail_all(ModelError("local model: closed before it answered"), taken)
                    return
                for item in taken:
                    self._enter(item)
                try:
                    self._work()
                except Exception as error:  # noqa: BLE001 - the thread must outlive any failure of a pass
                    self._recover(error)

    def _take(self) -> tuple[list[Request | Attachment], bool]:
        """Return what waits, and whether to close; wait for something where there is nothing else to do."""
        taken: list[Request | Attachment] = []
        closing = False
        if not (self._rows or self._generation.busy or self._generation.waiting):
            first = self._queue.get()
            if first is None:
                return [], True
            taken.append(first)
            time.sleep(GATHER_S)
        while not self._queue.empty():
            request = self._queue.get()
            if request is None:
                closing = True
            else:
                taken.append(request)
        return taken, closing

    def _work(self) -> None:
        """Do one packed pass, if rows wait for one, and one decoding step, unless more prompts should join it first.

        A step costs little more for a full batch than for a few replies, so passes come first until the batch is half
        full; prompts of replies are the first rows of a pass.
        """
        self._rows[:0] = self._generation.admit()
        if self._rows:
            self._evaluate(self._choose_pass())
            self._generation.start()
            self._passes += 1
        generation = self._generation
        if generation.busy and (not self._rows or generation.half_full or self._passes >= MOST_PASSES):
            generation.step()
            self._passes = 0

    def _choose_pass(self) -> list[Row]:
        """Take the rows of the next packed pass out of those that wait, those that share beginnings together."""
        waiting = self._rows[:PLANNED_ROWS]
        chosen: list[int] = []
        tokens = logits = 0
        before: Tokens = np.empty(0, np.int64)
        for index in in_groups([row.tokens for row in waiting]):
            row = waiting[index]
            new = len(row.tokens) - max(common(before, row.tokens), self._runner.known(row).tokens)
            # A row that shares most of its tokens would have to compute them again in the next pass.
            full = tokens + new > self._pass_tokens and 2 * new > len(row.tokens)
            if chosen and (full or tokens > 2 * self._pass_tokens or logits + row.wanted > self._pass_logits):
                break
            tokens += new
            logits += row.wanted
            before = row.tokens
            chosen.append(index)
        rows = [waiting[index] for index in chosen]
        for index in sorted(chosen, reverse=True):
            del self._rows[index]
        return rows

    def _evaluate(self, rows: list[Row], tried: int = 0) -> None:
        """Run a packed pass. If it fails, its halves are tried, so that a bad row fails alone.

        A lone row that memory ran out for is tried again once stored beginnings are gone, and a last time once the
        decoding replies are too; these start again in a smaller batch.
        """
        failure: Exception | None = None
        try:
            outcomes = self._runner.evaluate(rows)
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to some of the rows
            failure = error.with_traceback(None)  # a traceback would keep the pass's memory
        if failure is not None:
            full = out_of_memory(failure)
            if full:
                self._pass_tokens = max(128, self._pass_tokens // 2)
                self._free()
            half = len(rows) // 2
            if half:
                self._evaluate(rows[:half])
                self._evaluate(rows[half:])
            elif full and (tried == 0 or (tried == 1 and self._generation.busy and self._generation.shrink())):
                self._evaluate(rows, tried + 1)
            else:
                rows[0].failed(failure)
            return
        for row, (logits, kv) in zip(rows, outcomes, strict=True):
            try:
                row.done(logits, kv)
            except Exception as error:  # noqa: BLE001 - the row's own trouble
                failure = error.with_traceback(None)
                if row.again is not None and out_of_memory(failure) and self._generation.shrink():
                    row.again()
                    self._free()
                else:
                    row.failed(failure)

    def _recover(self, error: Exception) -> None:
        if out_of_memory(error) and self._generation.shrink():
            self._free()
            return
        self._fail_all(error, [])

    def _free(self) -> None:
        self._runner.store.clear()
        if self._runner.device.type == "cuda":
            torch.cuda.empty_cache()

    def _fail_all(self, error: Exception, items: list[Request | Attachment]) -> None:
        for item in items:
            if not isinstance(item, Attachment):
                item.answer.fail(error)
        for row in self._rows:
            row.failed(error)
        self._rows.clear()
        self._generation.fail(error)

    def _enter(self, request: Request | Attachment) -> None:
        """Turn a request into rows and replies; one that cannot be answered fails here, alone."""
        if isinstance(request, Attachment):
            self._attach(request)
            return
        if request.answer.future.cancelled():
            return
        if request.adapter in self._unattached:
            why = self._unattached[request.adapter]
            request.answer.fail(ModelError(f"the adapter could not be put beside the model: {why}"))
            return
        try:
            if isinstance(request, RewardRequest):
                self._enter_reward(request)
                return
            prompt = marked(self._checked(self._texts.prompt(request.messages)), request.adapter)
            match request:
                case SampleRequest():
                    self._enter_sample(request, prompt)
                case ChooseRequest():
                    self._enter_choose(request, prompt)
                case ScoreRequest():
                    self._enter_score(request, prompt)
        except Exception as error:  # noqa: BLE001 - the request's own trouble: template, tokenizer, context
            request.answer.fail(error)

    def _attach(self, adapter: Attachment) -> None:
        try:
            self._runner.attach(adapter.number, adapter.loras)
            if adapter.head is not None:
                self._heads[adapter.number] = adapter.head.to(self._runner.device)
        except Exception as error:  # noqa: BLE001 - the thread must outlive it; who asks for the adapter is told
            self._unattached[adapter.number] = error

    def _enter_sample(self, request: SampleRequest, prompt: Tokens) -> None:
        if request.sampling.max_tokens < 1:
            raise ModelError(f"max_tokens is {request.sampling.max_tokens}; ask for at least 1 token")
        self._check_context(len(prompt), request.sampling.max_tokens)
        answer = request.answer
        completions: list[Completion | None] = [None] * len(request.draws)

        def done_at(index: int) -> Callable[[Completion], None]:
            def done(completion: Completion) -> None:
                completions[index] = completion
                finished = [one for one in completions if one is not None]
                if len(finished) == len(completions):
                    answer.give(finished)

            return done

        replies = [
            Reply(request.sampling, draw, len(prompt) if index == 0 else 0, done_at(index), answer.fail)
            for index, draw in enumerate(request.draws)
        ]
        if not replies:
            answer.give([])
            return
        self._generation.add(prompt, replies, self._runner.store.met(prompt))

    def _enter_choose(self, request: ChooseRequest, prompt: Tokens) -> None:
        self._check_context(len(prompt), 1)
        forms = [self._texts.forms(choice) for choice in request.choices]
        answer = request.answer

        def done(logits: Tensor, _kv: Tensor | None) -> None:
            probabilities = torch.softmax(logits[-1].float(), -1)
            values = [float(probabilities[tokens].sum()) for tokens in forms]
            mass = sum(values)
            if not mass >= 0:  # not a number
                raise ModelError(f"choices {request.choices} have probability {mass}; the verdict is undefined")
            shares = tuple(value / mass if mass else 1 / len(values) for value in values)
            answer.give(Choice(shares, min(mass, 1.0), Usage(len(prompt), 1)))

        met = self._runner.store.met(prompt)
        self._rows.append(Row(prompt, 1, keep=False, done=done, failed=answer.fail, met=met))

    def _enter_score(self, request: ScoreRequest, prompt: Tokens) -> None:
        continuations = [self._checked(self._texts.encode(text)) for text in request.continuations]
        total = len(prompt) + sum(len(tokens) for tokens in continuations)
        self._check_context(len(prompt), max((len(tokens) for tokens in continuations), default=0))
        answer = request.answer
        values = [0.0] * len(continuations)
        missing = {index for index, tokens in enumerate(continuations) if len(tokens)}
        if not missing:
            answer.give(Scores(tuple(values), Usage(total)))
            return
        met = self._runner.store.met(prompt)

        def row(index: int, tokens: Tokens) -> Row:
            def done(logits: Tensor, _kv: Tensor | None) -> None:
                logits = logits.float()
                target = torch.as_tensor(tokens, device=logits.device)[:, None]
                values[index] = float((logits.gather(-1, target)[:, 0] - torch.logsumexp(logits, -1)).sum())
                if not math.isfinite(values[index]):
                    raise ModelError(f"a continuation has log-probability {values[index]}; try dtype float32")
                missing.discard(index)
                if not missing:
                    answer.give(Scores(tuple(values), Usage(total)))

            sequence = np.concatenate([prompt, marked(tokens[:-1], request.adapter)])
            return Row(sequence, len(tokens), keep=False, done=done, failed=answer.fail, met=met)

        self._rows.extend(row(index, tokens) for index, tokens in enumerate(continuations) if len(tokens))

    def _enter_reward(self, request: RewardRequest) -> None:
        head, answer = self._heads[request.adapter], request.answer
        values = [0.0] * len(request.completions)
        missing = set(range(len(values)))

        def row(index: int, tokens: Tokens) -> Row:
            def done(states: Tensor, _kv: Tensor | None) -> None:
                values[index] = float(states[-1].float() @ head)
                if not math.isfinite(values[index]):
                    raise ModelError(f"a completion has reward {values[index]}; try dtype float32")
                missing.discard(index)
                if not missing:
                    answer.give(Scores(tuple(values), Usage(total)))

            met = self._runner.store.met(tokens)
            return Row(tokens, 1, keep=False, done=done, failed=answer.fail, met=met, states=True)

        read = [self._checked(self._texts.exchange(request.messages, text)) for text in request.completions]
        total = sum(map(len, read))
        self._check_context(max(map(len, read), default=0), 0)
        if not read:
            answer.give(Scores((), Usage()))
        self._rows.extend(row(index, marked(tokens, request.adapter)) for index, tokens in enumerate(read))

    def _checked(self, ids: Tokens) -> Tokens:
        """Refuse tokens that the model has no embedding of: on a GPU they would end the process's use of it."""
        if len(ids) and int(ids.max()) >= self._runner.vocabulary:
            raise ModelError(
                f"token {int(ids.max())} is not one of the model's {self._runner.vocabulary}; the tokenizer is that of "
                "another model"
            )
        return ids

    def _check_context(self, prompt: int, reply: int) -> None:
        if prompt + reply > self._runner.context:
            raise ContextError(
                f"prompt of {prompt} tokens and reply of up to {reply} exceed the model's context of "
                f"{self._runner.context}; shorten the story or the debate, or use a model with a longer context"
            )


def out_of_memory(error: Exception) -> bool:
    """Tell whether an error means that memory ran out, on a GPU or on the CPU."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)
