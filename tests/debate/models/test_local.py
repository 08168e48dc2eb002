"""The local engine against plain transformers, on the embedded model."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import pytest_asyncio

from debate.errors import ContextError, ModelAccessError, ModelError
from debate.models.base import Choice, Completion, Draw, Message, Sampling, Scores
from debate.models.embedded import ensure_embedded
from debate.models.local import LocalBase, LocalModel

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = [pytest.mark.model, pytest.mark.asyncio(loop_scope="module")]

STORY = (
    "The lighthouse keeper counted the boats at dusk. Eleven had left in the morning and ten came back before fog. "
    "He lit the lamp, wrote the time in his book, and sent the boy to wake the pilot. The pilot swore, put on his "
    "coat and rowed out past the bar with a lantern at the bow. Near midnight a bell was heard from the north channel, "
    "and the boy said it was the Marianne, whose bell was cracked. "
)


def ask(text: str) -> list[Message]:
    return [Message("system", "You answer briefly."), Message("user", text)]


TAILS = ("Which boat was late?", "Who lit the lamp?", "Who swore at the boy? Say why.")
SHARED = [ask(STORY + tail) for tail in TAILS]
MIXED = [
    ask("Is the sea salt? Answer A for yes or B for no."),
    *SHARED,
    ask("Write one line about fog."),
    ask(STORY + "Answer A if the pilot slept all night, else B."),
]
CONTINUATIONS = ("The Marianne was late.", " It was the boy", "Fog", "No boat was late, and the pilot slept all night.")


class Plain(NamedTuple):
    """The same weights in transformers as they come: the independent source of every value here."""

    model: Any
    tokenizer: Any

    def prompt(self, messages: list[Message]) -> Tensor:
        chat = [message._asdict() for message in messages]
        ids: Tensor = self.tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt")[
            "input_ids"
        ]
        return ids

    def logits(self, ids: Tensor) -> Tensor:
        import torch

        with torch.inference_mode():
            logits: Tensor = self.model(ids).logits[0].float()
        return logits


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        return ensure_embedded()
    except ModelAccessError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def plain(folder: Path) -> Iterator[Plain]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on a busy machine two threads wait for each other at every small operation
    model: Any = AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32)
    yield Plain(model.eval(), AutoTokenizer.from_pretrained(str(folder)))
    torch.set_num_threads(threads)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(folder: Path) -> AsyncIterator[LocalModel]:
    local = LocalModel(
        LocalBase(str(folder), name="embedded/test", reproducible=True, max_batch=8, threads=1), name="embedded/test"
    )
    yield local
    await local.close()


async def test_greedy_equals_transformers_generate(model: LocalModel, plain: Plain) -> None:
    sampling = Sampling(12, temperature=0)
    replies = await asyncio.gather(*(model.sample(messages, draws=[Draw()], sampling=sampling) for messages in MIXED))
    for messages, [reply] in zip(MIXED, replies, strict=True):
        ids = plain.prompt(messages)
        new = plain.model.generate(ids, do_sample=False, max_new_tokens=12)[0, ids.shape[1] :]
        assert reply.text == plain.tokenizer.decode(new, skip_special_tokens=True)
        assert reply.usage.tokens_in == ids.shape[1] == model.count_tokens(messages)


async def test_choose_equals_a_plain_softmax(model: LocalModel, plain: Plain) -> None:
    choices = await asyncio.gather(*(model.choose(messages, ("A", "B")) for messages in MIXED))
    vocabulary = range(len(plain.tokenizer))
    forms = [[token for token in vocabulary if plain.tokenizer.decode([token]).strip() == name] for name in ("A", "B")]
    for messages, choice in zip(MIXED, choices, strict=True):
        softmax = plain.logits(plain.prompt(messages))[-1].softmax(-1)
        masses = [float(softmax[tokens].sum()) for tokens in forms]
        assert choice.mass == pytest.approx(sum(masses), rel=1e-3)
        assert choice.probabilities == pytest.approx([mass / sum(masses) for mass in masses], abs=1e-4)


async def test_score_equals_a_plain_log_softmax(model: LocalModel, plain: Plain) -> None:
    import torch

    results = await asyncio.gather(*(model.score(messages, CONTINUATIONS) for messages in SHARED))
    for messages, scores in zip(SHARED, results, strict=True):
        prompt = plain.prompt(messages)
        for text, value in zip(CONTINUATIONS, scores.values, strict=True):
            ids = torch.tensor([plain.tokenizer.encode(text, add_special_tokens=False)])
            logs = plain.logits(torch.cat([prompt, ids], 1)).log_softmax(-1)[prompt.shape[1] - 1 : -1]
            assert value == pytest.approx(float(logs.gather(-1, ids[0, :, None]).sum()), abs=2e-3)


async def test_scores_of_many_prompts_in_one_pass(model: LocalModel, plain: Plain) -> None:
    import torch

    sentences = [sentence.strip() for sentence in STORY.split(".") if sentence.strip()]
    prompts = [ask(f'Which boat was late? The story says: "{text}." Answer in a sentence.') for text in sentences]
    prompts += [ask("Who lit the lamp? Answer in a sentence."), *SHARED[:1]]
    sampling = Sampling(2, temperature=0)
    for some in ((0, 1), (2,)):  # the second time the prompts are met again, with other continuations
        texts = [CONTINUATIONS[index] for index in some]
        results, _, _ = await asyncio.gather(
            asyncio.gather(*(model.score(messages, texts) for messages in prompts)),
            model.sample(MIXED[0], draws=[Draw()], sampling=sampling),
            model.choose(MIXED[-1], ("A", "B")),
        )
        for messages, scores in zip(prompts, results, strict=True):
            prompt = plain.prompt(messages)
            for text, value in zip(texts, scores.values, strict=True):
                ids = torch.tensor([plain.tokenizer.encode(text, add_special_tokens=False)])
                logs = plain.logits(torch.cat([prompt, ids], 1)).log_softmax(-1)[prompt.shape[1] - 1 : -1]
                assert value / ids.numel() == pytest.approx(float(logs.gather(-1, ids[0, :, None]).mean()), abs=1e-4)


async def test_a_batch_equals_one_by_one(model: LocalModel) -> None:
    sampling = Sampling(8, temperature=1.0)
    draws = Draw(seed=3).take(2)

    async def all_of(index: int) -> tuple[list[Completion], Choice, Scores]:
        return (
            await model.sample(MIXED[index], draws=draws, sampling=sampling),
            await model.choose(MIXED[index], ("A", "B")),
            await model.score(MIXED[index], CONTINUATIONS[:2]),
        )

    batched = await asyncio.gather(*(all_of(index) for index in range(len(MIXED))))
    for index in reversed(range(len(MIXED))):
        texts, choice, scores = batched[index]
        again = [(await model.sample(MIXED[index], draws=[draw], sampling=sampling))[0].text for draw in draws]
        assert again == [reply.text for reply in texts]
        alone = await model.choose(MIXED[index], ("A", "B"))
        assert alone.probabilities == pytest.approx(choice.probabilities, abs=1e-4)
        values = (await model.score(MIXED[index], CONTINUATIONS[:2])).values
        assert values == pytest.approx(scores.values, abs=1e-4)


async def test_draws_and_their_tokens(model: LocalModel) -> None:
    sampling = Sampling(12, temperature=1.0)
    draws = [*Draw().take(10), Draw(sample=4)]
    replies = await model.sample(MIXED[4], draws=draws, sampling=sampling)
    texts = [reply.text for reply in replies]
    assert texts[10] == texts[4]
    assert len(set(texts)) >= 8
    assert [reply.usage.tokens_in for reply in replies] == [model.count_tokens(MIXED[4])] + [0] * 10
    assert all(reply.usage.tokens_out <= 12 for reply in replies)


async def test_stop_texts_and_length(model: LocalModel) -> None:
    sampling = Sampling(30, temperature=0)
    [whole] = await model.sample(MIXED[4], draws=[Draw()], sampling=sampling)
    words = whole.text.split()
    mark = f"{words[2]} {words[3][:2]}"  # ends inside a token
    [cut] = await model.sample(MIXED[4], draws=[Draw()], sampling=Sampling(30, temperature=0, stop=("§", mark)))
    assert cut.text == whole.text[: whole.text.index(mark)]
    assert cut.finish == "stop"
    [short] = await model.sample(MIXED[4], draws=[Draw()], sampling=Sampling(3, temperature=0))
    assert (short.finish, short.usage.tokens_out) == ("length", 3)
    assert whole.text.startswith(short.text)


async def test_a_bad_request_fails_alone(model: LocalModel) -> None:
    context = model.capabilities.context
    assert context is not None
    long = ask("fog " * context)
    sampling = Sampling(4, temperature=0)
    outcomes = await asyncio.gather(
        model.choose(MIXED[0], ("A", "B")),
        model.choose(long, ("A", "B")),
        model.sample(long, draws=[Draw()], sampling=sampling),
        model.score(long, ["A"]),
        model.sample(MIXED[0], draws=[Draw()], sampling=Sampling(context, temperature=0)),
        model.choose(MIXED[0], ("neither a token nor two",)),
        model.sample(MIXED[0], draws=[Draw()], sampling=sampling),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes[1:5]] == [ContextError] * 4
    assert isinstance(outcomes[5], ModelError)
    assert not isinstance(outcomes[0], BaseException)
    assert not isinstance(outcomes[6], BaseException)


async def test_first_tokens_follow_the_softmax(model: LocalModel, plain: Plain) -> None:
    from scipy.stats import chisquare

    n = 600
    messages = MIXED[0]
    for temperature, top_p in ((1.0, 1.0), (1.3, 0.7)):
        sampling = Sampling(1, temperature=temperature, top_p=top_p)
        replies = await model.sample(messages, draws=Draw(seed=11).take(n), sampling=sampling)
        counts = Counter(reply.text for reply in replies)
        softmax = (plain.logits(plain.prompt(messages))[-1] / temperature).softmax(-1)
        ordered, tokens = softmax.sort(descending=True)
        inside = int((ordered.cumsum(-1) < top_p).sum()) + 1
        expected: dict[str, float] = defaultdict(float)
        for probability, token in zip(ordered[:inside].tolist(), tokens[:inside].tolist(), strict=True):
            expected[plain.tokenizer.decode([token], skip_special_tokens=True)] += probability
        total = sum(expected.values())
        if top_p < 1:
            assert set(counts) <= set(expected)
        common = [text for text, value in expected.items() if value / total * n >= 5]
        observed = [counts[text] for text in common]
        wanted = [expected[text] / total * n for text in common]
        if n - sum(wanted) > 1e-6 * n:
            observed.append(n - sum(observed))
            wanted.append(n - sum(wanted))
        assert chisquare(observed, wanted).pvalue > 1e-3


async def test_a_closed_model_says_so(folder: Path) -> None:
    local = LocalModel(LocalBase(str(folder), name="embedded/test", reproducible=True), name="embedded/test")
    waiting = asyncio.ensure_future(local.sample(MIXED[1], draws=[Draw()], sampling=Sampling(2000, temperature=1)))
    await asyncio.sleep(0.1)
    await local.close()
    with pytest.raises(ModelError, match="closed"):
        await waiting
    with pytest.raises(ModelError, match="closed"):
        await local.choose(MIXED[0], ("A", "B"))


async def test_a_missing_model_is_named() -> None:
    with pytest.raises(ModelAccessError, match="no model in this folder"):
        LocalBase("./nowhere", name="hf/nowhere")
