"""The evidence-first debater: it chooses what to quote by likelihood, then writes around the quotes.

Poor quotes are the commonest error of correct debaters in Khan et al. (2024), and a small model asked to quote freely
quotes nothing; here the quotes come from the story itself, so they are always verified.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from debate.agents.debater import Limits, Speech, draws_differ, sample_valid, speak, split_thinking, task_for
from debate.agents.passages import MIN_WORDS, overlaps, quotable
from debate.agents.render import show_turns
from debate.errors import ConfigError
from debate.models.base import Capabilities, Completion, Draw, Message, Model, Sampling
from debate.prompts import Prompts
from debate.quotes import Argument, Name, Quote, parse_argument
from debate.sentences import cut_at_sentence, is_ended, sentence_spans
from debate.together import together
from debate.transcript import Candidate
from debate.view import View

# With less room than this beside its quotes a speech is one sentence of explanation.
SHORT_WORDS = 80
# Chosen on the stories of the judge fold, see docs/results/evidence.md.
OVERLAP = 4.0
# Longest sentence that is quoted; less where the limits of a speech leave less room.
MAX_QUOTE_WORDS = 30
# Words left for the answer and a sentence of explanation beside the quotes.
ROOM = 34
_MARK = re.compile(r"[(\[]\s*(\d{1,2})\s*[)\]]")
_NUMBER = re.compile(r"(?<!\d)\d{1,6}(?!\d)")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence of the story as evidence.

    Attributes:
        quote: The sentence, verified.
        gain: How much it raises log p(own answer) - log p(opponent's answer), in nats; None where the model was asked
            to pick instead.
        value: What it is ranked by, in nats: the gain and what shared words count; 0 where the model was asked.
    """

    quote: Quote
    gain: float | None
    value: float = 0.0


def longest_quote(max_words: int, quotes: int) -> int:
    """Return the most words of a quote in a speech, so that answer and explanation have room beside the quotes.

    Args:
        max_words: Most words of the speech.
        quotes: Quotes in it.
    """
    return max(MIN_WORDS, min(MAX_QUOTE_WORDS, (max_words - ROOM) // quotes))


async def rank_by_likelihood(
    model: Model, prompts: Prompts, view: View, quotes: Sequence[Quote], *, overlap: float = 0.0
) -> list[Evidence]:
    """Rank sentences by how much each moves the model from the opponent's answer to one's own.

    gain(s) = [log p(own | s, q) - log p(other | s, q)] - [log p(own | q) - log p(other | q)], q the question.

    A small model is moved by names as much as by matter, so the words a sentence shares with question and answer can be
    made to count too: the rank is by gain + ``overlap`` x shared words (``passages.overlaps``).

    The answers are scored in one fixed order, so both debaters of a question share the calls.

    Args:
        model: A model that scores.
        prompts: Templates; it uses ``evidence_score``.
        view: The debater's view.
        quotes: What to rank.
        overlap: Nats that one unit of shared words is worth; 0 ranks by gain alone.

    Returns:
        Evidence, strongest first, ties in story order.
    """
    answers = sorted((view.own_answer, view.other_answer))
    sign = 1 if answers[0] == view.own_answer else -1

    async def lean(evidence: str) -> float:
        messages = prompts.fill("evidence_score", question=view.question, evidence=evidence)
        first, second = (await model.score(messages, answers)).values
        return sign * (first - second)

    bare, *leans = await asyncio.gather(
        lean(""), *(lean(f'The story says: "{_unquote(quote.text)}"\n\n') for quote in quotes)
    )
    values = [lean + overlap * shared for lean, shared in zip(leans, overlaps(view, quotes), strict=True)]
    ranked = sorted(range(len(quotes)), key=lambda index: (-values[index], index))
    return [Evidence(quotes[index], leans[index] - bare, values[index] - bare) for index in ranked]


async def rank_by_asking(
    model: Model, prompts: Prompts, view: View, quotes: Sequence[Quote], *, count: int, draw: Draw
) -> list[Evidence]:
    """Ask a model without ``score`` to pick numbered sentences.

    Args:
        model: Any model.
        prompts: Templates; it uses ``evidence_pick``.
        view: The debater's view.
        quotes: What to pick from.
        count: Sentences wanted.
        draw: The draw of the turn.

    Returns:
        The sentences picked, strongest first; those not picked follow in story order.
    """
    messages = prompts.fill(
        "evidence_pick",
        sentences="\n".join(f"{number}. {quote.text}" for number, quote in enumerate(quotes, 1)),
        question=view.question,
        own_answer=view.own_answer,
        other_answer=view.other_answer,
        count=str(count),
    )
    completions = await model.sample(
        messages, draws=[draw], sampling=Sampling(max_tokens=16 + 8 * count, temperature=0)
    )
    picked = (int(number) - 1 for number in _NUMBER.findall(completions[0].text))
    order = list(dict.fromkeys(index for index in picked if 0 <= index < len(quotes)))
    order += [index for index in range(len(quotes)) if index not in order]
    return [Evidence(quotes[index], None) for index in order]


def draw_evidence(ranked: Sequence[Evidence], count: int, spread: float, draw: Draw) -> list[Evidence]:
    """Choose what one candidate quotes: the strongest, or by chance, so that there is something to choose among.

    Args:
        ranked: Evidence, strongest first.
        count: Quotes wanted.
        spread: Nats: a sentence is drawn with a probability in proportion to exp(value / spread), without replacement
            (Gumbel top-k). 0 gives every candidate the strongest.
        draw: Of the candidate; the first one always has the strongest.

    Returns:
        Evidence, strongest first.
    """
    if spread <= 0 or draw.sample == 0:
        return list(ranked[:count])
    noise = random.Random(f"evidence\0{tuple(draw)}")
    keys = [item.value / spread - math.log(noise.expovariate(1) or math.ulp(0)) for item in ranked]
    chosen = sorted(range(len(ranked)), key=lambda place: (-keys[place], place))[:count]
    return [ranked[place] for place in sorted(chosen)]


def assemble(reply: str, evidence: Sequence[Quote], view: View, max_words: int) -> Argument:
    """Splice verified quotes into what the model wrote around them.

    ``[1]``, ``[2]``, ... in the reply are the places of the quotes. A reply without such marks explains the first
    quote: the answer is stated, the quote follows, then the explanation, then the other quotes. Quotes that a marked
    reply leaves out come last.

    Args:
        reply: What the model wrote.
        evidence: The quotes, numbered from 1.
        view: The debater's view.
        max_words: Most words of the whole argument; only the model's own text is cut, at a sentence end (with what
            marks stand in the part that is cut).

    Returns:
        The argument.
    """
    literal = (view.story or "", view.question, *view.answers)
    reply = _whole_sentences(reply)
    reply = cut_at_sentence(reply, max_words - sum(len(quote.text.split()) for quote in evidence))
    used = [int(match[1]) for match in _MARK.finditer(reply) if 1 <= int(match[1]) <= len(evidence)]
    spans: list[str | Quote | Name] = []
    if not used:
        others = [part for quote in evidence[1:] for part in (" The story also says: ", quote)]
        room = max_words - Argument((view.own_answer, " ", *evidence[:1], *others)).words
        text = parse_argument(cut_at_sentence(reply, room), None, seat=view.seat, literal=literal)
        spans = [f"{view.own_answer} ", *evidence[:1]]
        if text.spans:
            spans.append(" ")
        spans += [span.text if isinstance(span, Quote) else span for span in text.spans]
        return Argument(_merge([*spans, *others]))
    position, seen = 0, set()
    for match in _MARK.finditer(reply):
        number = int(match[1])
        if not 1 <= number <= len(evidence):
            continue
        before = parse_argument(reply[position : match.start()], None, seat=view.seat, literal=literal)
        spans += [span.text if isinstance(span, Quote) else span for span in before.spans]
        if number not in seen:  # a second mention of the same quote would only cost words
            spans.append(evidence[number - 1])
        seen.add(number)
        position = match.end()
    after = parse_argument(reply[position:], None, seat=view.seat, literal=literal)
    spans += [span.text if isinstance(span, Quote) else span for span in after.spans]
    for number, quote in enumerate(evidence, 1):
        if number not in seen:
            spans += [" ", quote]
    return Argument(_merge(spans))


def _merge(spans: Sequence[str | Quote | Name]) -> tuple[str | Quote | Name, ...]:
    """Join neighbouring texts, and leave no blank at the ends."""
    merged: list[str | Quote | Name] = []
    for span in spans:
        if isinstance(span, str) and merged and isinstance(merged[-1], str):
            merged[-1] += span
        else:
            merged.append(span)
    if merged and isinstance(merged[0], str):
        merged[0] = merged[0].lstrip()
    if merged and isinstance(merged[-1], str):
        merged[-1] = merged[-1].rstrip()
    return tuple(span for span in merged if span != "")


def _whole_sentences(text: str) -> str:
    """Drop a last sentence that has no end: it was cut at the token limit."""
    text = " ".join(text.split())
    spans = sentence_spans(text)
    ended = [end for _, end in spans if is_ended(text[:end])]
    return text[: ended[-1]] if ended else text


def _unquote(text: str) -> str:
    return text.replace('"', "'").strip("'") if text.startswith(('"', "'")) else text.replace('"', "'")


def repeats(text: str, size: int = 5) -> bool:
    """Tell whether a text says the same ``size`` words twice, as a model in a loop does."""
    words = [word.strip(".,;:!?\"'").lower() for word in text.split()]
    grams = [tuple(words[index : index + size]) for index in range(len(words) - size + 1)]
    return len(set(grams)) < len(grams)


def useful_drafts(drafts: int, capabilities: Capabilities, sampling: Sampling) -> int:
    """How many drafts are worth sampling of those asked for: one where they are all alike, or none can be preferred."""
    return drafts if capabilities.score and draws_differ(capabilities, sampling) else 1


class EvidenceFirstDebater:
    """Picks the story sentences that most favour its answer, then says why they do.

    Args:
        model: Any model; one that scores ranks the sentences by likelihood, another is asked to pick.
        name: The player's name.
        prompts: Templates; it uses ``evidence_score`` or ``evidence_pick``, and ``evidence_write``.
        limits: Words and attempts.
        sampling: How it writes.
        quotes: Quotes in a speech.
        drafts: Explanations sampled for each candidate; the one that most raises the own answer by the model's own
            likelihood is kept. Of a model that does not score, or at temperature 0, only one is sampled.
        overlap: Nats that shared words are worth beside the likelihood, see ``rank_by_likelihood``.
        spread: How far candidates after the first stray from the strongest quotes, in nats, see ``draw_evidence``.

    Raises:
        ConfigError: There is a spread and the model does not score.
    """

    def __init__(
        self,
        model: Model,
        *,
        name: str,
        prompts: Prompts,
        limits: Limits,
        sampling: Sampling,
        quotes: int = 1,
        drafts: int = 1,
        overlap: float = OVERLAP,
        spread: float = 0.0,
    ) -> None:
        if spread > 0 and not model.capabilities.score:
            raise ConfigError(
                f"player {name!r}: spread is in nats of the model's likelihood, and {model.name} does not score given "
                "texts; leave spread out, or use a local model"
            )
        self.name = name
        self._model = model
        self._prompts = prompts
        self._limits = limits
        self._sampling = sampling
        self._quotes = quotes
        self._drafts = useful_drafts(drafts, model.capabilities, sampling)
        self._max_quote_words = longest_quote(limits.max_words, quotes)
        self._overlap = overlap
        self._spread = spread

    async def candidates(self, view: View, draw: Draw, n: int) -> tuple[Candidate, ...]:
        """Sample candidates; see Debater."""
        ranked = await self._rank_evidence(view, draw)
        if not ranked:  # no story, or nothing in it that can be quoted
            flaws = self._limits.flaws(Argument((view.own_answer,)))
            return (Candidate("", Argument((view.own_answer,)), "", (*flaws, "no sentence to quote")),)

        async def make(draws: Sequence[Draw]) -> list[Candidate]:
            alike: dict[tuple[Quote, ...], list[Draw]] = {}
            for one in draws:
                chosen = draw_evidence(ranked, self._quotes, self._spread, one)
                alike.setdefault(tuple(item.quote for item in chosen), []).append(one)
            made = await together(self._write(view, quotes, own) for quotes, own in alike.items())
            found = dict(zip((one for own in alike.values() for one in own), itertools.chain(*made), strict=True))
            return [found[one] for one in draws]

        again = draws_differ(self._model.capabilities, self._sampling)
        return await sample_valid(make, draw, n, self._limits, again=again)

    async def argue(self, view: View, draw: Draw) -> Speech:
        """Make the next speech; see Debater."""
        return speak(await self.candidates(view, draw, 1), self._limits, view.story)

    def _ask_for_text(self, view: View, quotes: Sequence[Quote]) -> list[Message]:
        """Ask for a sentence on the first quote where there is room for no more, else for an argument around all."""
        listed = "\n".join(f'Evidence [{number}]: "{_unquote(quote.text)}"' for number, quote in enumerate(quotes, 1))
        taken = Argument((view.own_answer, " ", *quotes)).words
        if self._limits.max_words - taken < SHORT_WORDS:
            first = listed.partition("\n")[0]
            return self._prompts.fill(
                "evidence_write", question=view.question, own_answer=view.own_answer, evidence=first
            )
        return self._prompts.fill(
            "evidence_argue",
            question=view.question,
            speaker=view.speaker,
            own_answer=view.own_answer,
            other_answer=view.other_answer,
            evidence=listed,
            transcript=show_turns(view),
            task=task_for(view, self._prompts),
            min_words=str(max(1, self._limits.min_words - taken)),
            max_words=str(self._limits.max_words - taken),
        )

    async def _write(self, view: View, quotes: Sequence[Quote], draws: Sequence[Draw]) -> list[Candidate]:
        """Write around some quotes, once for each draw, in one request."""
        each = [
            one._replace(sample=one.sample * self._drafts + draft) for one in draws for draft in range(self._drafts)
        ]
        completions = await self._model.sample(self._ask_for_text(view, quotes), draws=each, sampling=self._sampling)
        groups = [completions[at : at + self._drafts] for at in range(0, len(completions), self._drafts)]
        return await together(self._best_draft(view, quotes, group) for group in groups)

    async def _rank_evidence(self, view: View, draw: Draw) -> list[Evidence]:
        """Rank what it has not quoted yet."""
        spoken = {quote.text for turn in view.turns if turn.seat == view.seat for quote in turn.argument.quotes}
        fresh = quotable(view.story or "", self._max_quote_words, spoken=spoken)
        if not fresh:
            return []
        if self._model.capabilities.score:
            return await rank_by_likelihood(self._model, self._prompts, view, fresh, overlap=self._overlap)
        return await rank_by_asking(self._model, self._prompts, view, fresh, count=self._quotes, draw=draw)

    async def _best_draft(self, view: View, quotes: Sequence[Quote], drafts: Sequence[Completion]) -> Candidate:
        """Turn drafts into one candidate: valid before invalid, then the one that most raises the own answer."""
        candidates = [self._candidate(view, quotes, draft.text) for draft in drafts]
        valid = [candidate for candidate in candidates if candidate.valid] or candidates
        if len(valid) == 1 or not self._model.capabilities.score:
            return valid[0]
        gains = await asyncio.gather(*(self._gain(view, split_thinking(candidate.raw)[0]) for candidate in valid))
        return valid[max(range(len(valid)), key=lambda index: (gains[index], -index))]

    async def _gain(self, view: View, text: str) -> float:
        messages = self._prompts.fill(
            "evidence_score", question=view.question, evidence=f"{' '.join(text.split())}\n\n"
        )
        own, other = (await self._model.score(messages, [view.own_answer, view.other_answer])).values
        return own - other

    def _candidate(self, view: View, quotes: Sequence[Quote], reply: str) -> Candidate:
        said, thinking = split_thinking(reply)
        argument = assemble(said, quotes, view, self._limits.max_words)
        flaws = self._limits.flaws(argument)
        if thinking and not said.strip():
            flaws = (*flaws, "nothing but thinking")
        if repeats(said):
            flaws = (*flaws, "repeats itself")
        if said.strip() and not is_ended(_MARK.sub("", _whole_sentences(said))):
            flaws = (*flaws, "breaks off")
        return Candidate(reply, argument, thinking, flaws)
