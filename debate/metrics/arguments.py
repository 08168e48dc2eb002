"""What is in each speech: words, quotes, what of it was said before in the debate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from debate.fingerprint import words
from debate.metrics.intervals import Interval, cluster_mean
from debate.quotes import Quote
from debate.record import Debate
from debate.transcript import Turn

GRAM = 3
"""So many words in a row that were said before are not new."""
_COUNT = (0.0, math.inf)
_SHARE = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Speech:
    """One speech for an answer.

    Attributes:
        player: Who spoke, or None where nobody is named.
        round: From 1 on.
        right: Whether it argued for the right answer; None where that is not known.
        story: What its debate is about; intervals are robust by story.
        words: How many, those of quotes among them.
        quotes: How many.
        verified: How many of the quotes the story holds.
        quote_words: Words of each quote.
        repeated: How many of the quotes were given before in the debate by the same side: at least half of a verified
            one lies in passages that it has quoted by then, or an unverified one has the same words.
        novelty: Share of its runs of three words that nobody has said in an earlier round of the debate; None in the
            first round, where there is nothing before it, and for a speech of fewer words.
    """

    player: str | None
    round: int
    right: bool | None
    story: str
    words: int
    quotes: int
    verified: int
    quote_words: tuple[int, ...]
    repeated: int
    novelty: float | None


def measure_speeches(debate: Debate) -> list[Speech]:
    """Measure the speeches of a debate.

    Args:
        debate: A debate or consultancy.

    Returns:
        One for each speech that argues for an answer, by round.
    """
    question = debate.transcript.question
    turns = sorted((turn for turn in debate.transcript.turns if turn.answer is not None), key=lambda turn: turn.round)
    quoted: dict[int, list[Quote]] = {}
    said: set[tuple[str, ...]] = set()
    fresh: set[tuple[str, ...]] = set()
    found: list[Speech] = []
    last = 0
    for turn in turns:
        answer = int(turn.answer or 0)
        if turn.round != last:  # who speaks in the same round need not have heard it
            said |= fresh
            fresh, last = set(), turn.round
        grams = _grams(turn)
        fresh |= grams
        before = quoted.setdefault(answer, [])
        repeated = 0
        for quote in turn.argument.quotes:
            repeated += _is_repeated(quote, before)
            before.append(quote)
        found.append(
            Speech(
                player=debate.players[answer],
                round=turn.round,
                right=None if question.gold is None else answer == question.gold,
                story=question.story_id,
                words=turn.argument.words,
                quotes=len(turn.argument.quotes),
                verified=sum(quote.verified for quote in turn.argument.quotes),
                quote_words=tuple(len(quote.text.split()) for quote in turn.argument.quotes),
                repeated=repeated,
                novelty=len(grams - said) / len(grams) if grams and said else None,
            )
        )
    return found


def _grams(turn: Turn) -> set[tuple[str, ...]]:
    text = words(turn.argument.plain())
    return {tuple(text[at : at + GRAM]) for at in range(len(text) - GRAM + 1)}


def _is_repeated(quote: Quote, before: Sequence[Quote]) -> bool:
    if quote.span is None:
        return words(quote.text) in [words(one.text) for one in before]
    start, end = quote.span
    covered, reached = 0, start
    for low, high in sorted(one.span for one in before if one.span is not None):
        low, high = max(low, reached), min(high, end)  # noqa: PLW2901 - the part that counts
        if high > low:
            covered, reached = covered + high - low, high
    return 2 * covered >= end - start


@dataclass(frozen=True, slots=True)
class ArgumentFigures:
    """What some speeches are made of, with 95 % intervals robust by story.

    Attributes:
        speeches: How many.
        words: Mean words of a speech.
        quotes: Mean quotes of a speech.
        verified: Share of the quotes that the story holds; None without a quote, as the next two.
        quote_words: Mean words of a quote.
        repeated: Share of the quotes that the same side gave before.
        novelty: Mean share of a speech's runs of three words that are new in the debate; None for first rounds.
    """

    speeches: int
    words: Interval
    quotes: Interval
    verified: Interval | None
    quote_words: Interval | None
    repeated: Interval | None
    novelty: Interval | None


def argument_figures(speeches: Sequence[Speech]) -> ArgumentFigures:
    """Sum up speeches.

    Args:
        speeches: At least one.

    Returns:
        Their figures; each quote counts alike in the shares of quotes, each speech in the rest.
    """

    def mean(values: Callable[[Speech], Iterable[float]], bounds: tuple[float, float]) -> Interval | None:
        rows = [(value, speech.story) for speech in speeches for value in values(speech)]
        return cluster_mean([value for value, _ in rows], [story for _, story in rows], bounds=bounds) if rows else None

    def share(count: Callable[[Speech], int]) -> Interval | None:
        return mean(lambda one: [1.0] * count(one) + [0.0] * (one.quotes - count(one)), _SHARE)

    length, quotes = mean(lambda one: [one.words], _COUNT), mean(lambda one: [one.quotes], _COUNT)
    if length is None or quotes is None:
        raise ValueError("no speeches to sum up")
    return ArgumentFigures(
        speeches=len(speeches),
        words=length,
        quotes=quotes,
        verified=share(lambda one: one.verified),
        quote_words=mean(lambda one: one.quote_words, _COUNT),
        repeated=share(lambda one: one.repeated),
        novelty=mean(lambda one: [] if one.novelty is None else [one.novelty], _SHARE),
    )
