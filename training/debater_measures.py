"""What a player's speeches are worth before any judge hears them: do they quote, and does the quote bear on the answer?

Whether a quote supports the answer is asked of what the debater was not trained on: of the generator of a dossier or
the author of a shipped story, who know which sentences speak for which answer; and of a model's likelihood
(``debate.agents.evidence``), the only standard for other stories. Each is held against a sentence drawn from the same
story, so that a debater that quotes anything at all gains nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from pydantic import Field

from debate.agents.debater import Debater
from debate.agents.evidence import rank_by_likelihood
from debate.agents.judge import JudgeConfig
from debate.agents.passages import quotable
from debate.errors import ModelError, SourceError
from debate.metrics.intervals import Interval, cluster_mean
from debate.models.base import Draw, Model
from debate.models.limits import Budget, Meter
from debate.models.load import ModelConfig, Models
from debate.prompts import Prompts
from debate.protocols.base import drawn_seats, take_turn
from debate.question import Question
from debate.quotes import Quote
from debate.report import Column, Table
from debate.report.table import Cell
from debate.store import Store
from debate.together import together
from debate.transcript import Transcript, Turn
from debate.view import Role, View
from tournaments.comparison import mean_gap
from tournaments.config import QuestionsConfig
from tournaments.metrics import Values, interval
from tournaments.players import PlayerConfig, SpeechConfig, build_player
from training.argument_rows import copied_share
from training.named_evidence import NamedEvidence, named_evidence

LONGEST = 40
"""Most words of a sentence that is drawn to hold a quote against."""
_ANY = (-math.inf, math.inf)


class SpeechesConfig(QuestionsConfig):
    """Questions on which a player is measured: on each it speaks once for each answer."""

    role: Role = Field("debater", description="debater or consultant")


@dataclass(frozen=True, slots=True)
class Said:
    """One speech of the first round.

    Attributes:
        question: What it was about.
        answer: The answer index it argued for.
        view: What its speaker saw.
        turn: The speech, with all that was sampled for it; None where the model failed.
        gain: By how much its verified quotes raise the log-odds of its answer with a scorer, in nats, on average; None
            without a verified quote or a scorer.
        drawn_gain: The same of a sentence drawn from the story.
    """

    question: Question
    answer: int
    view: View
    turn: Turn | None
    gain: float | None = None
    drawn_gain: float | None = None

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """Its verified quotes, each once."""
        quotes = () if self.turn is None else self.turn.argument.quotes
        return tuple(dict.fromkeys(quote for quote in quotes if quote.verified))


@dataclass(frozen=True, slots=True)
class SpeechMeasures:
    """Figures of one player's speeches; intervals are 95 %, robust by story.

    Attributes:
        speeches: How many were sampled.
        stories: On how many stories.
        failed: How many of them the model failed on.
        valid: Share within the limits.
        quoting: Share with a verified quote.
        words: Mean words.
        quotes: Mean verified quotes, each counted once.
        copied: Mean share of words in quotes, or in five words in a row of the story.
        mostly_copied: Share of speeches more than half of which is copied.
        own: Share of the quoting speeches that quote a sentence known to speak for their own answer.
        other: Share of them that quote one known to speak for the other answer.
        over_drawn: ``own`` less the chance that, of as many sentences drawn from the story as it quotes, one is such a
            sentence.
        gain: Mean log-odds that quotes give their own answer, in nats.
        gain_over_drawn: The same less that of a drawn sentence, paired by speech.
        gain_wins: Share of speeches whose quotes give more than the drawn sentence; ties count one half.
    """

    speeches: int
    stories: int
    failed: int
    valid: Interval | None
    quoting: Interval | None
    words: float | None
    quotes: float | None
    copied: Interval | None
    mostly_copied: Interval | None
    own: Interval | None
    other: Interval | None
    over_drawn: Interval | None
    gain: Interval | None
    gain_over_drawn: Interval | None
    gain_wins: Interval | None

    def values(self) -> Values:
        """Return the figures as plain values, an interval as estimate, low and high end."""
        found: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            found[field.name] = interval(value) if isinstance(value, Interval) else value
        return found


def measure_speeches(said: Sequence[Said]) -> SpeechMeasures:
    """Measure one player's speeches.

    Args:
        said: Speeches on any questions.

    Returns:
        Its figures; None where there is nothing to measure.
    """
    made = [(one, one.turn) for one in said if one.turn is not None]
    quoting = [one for one, _ in made if one.quotes]
    copied = [copied_share(turn.argument, one.question.story or "") for one, turn in made]
    marked = [(one, marks) for one in quoting if (marks := _marks(one)) is not None]
    scored = [(one, one.gain, one.drawn_gain) for one in quoting if one.gain is not None and one.drawn_gain is not None]
    every = [one.question.story_id for one, _ in made]
    known = [one.question.story_id for one, _ in marked]
    held = [one.question.story_id for one, _, _ in scored]
    return SpeechMeasures(
        speeches=len(said),
        stories=len({one.question.story_id for one in said}),
        failed=len(said) - len(made),
        valid=_share([float(not turn.flaws) for _, turn in made], every),
        quoting=_share([float(bool(one.quotes)) for one, _ in made], every),
        words=fmean(turn.argument.words for _, turn in made) if made else None,
        quotes=fmean(len(one.quotes) for one, _ in made) if made else None,
        copied=_share(copied, every),
        mostly_copied=_share([float(share > 0.5) for share in copied], every),
        own=_share([float(marks.own) for _, marks in marked], known),
        other=_share([float(marks.other) for _, marks in marked], known),
        over_drawn=mean_gap([marks.own - marks.chance for _, marks in marked], known) if marked else None,
        gain=cluster_mean([gain for _, gain, _ in scored], held, bounds=_ANY) if scored else None,
        gain_over_drawn=mean_gap([gain - drawn for _, gain, drawn in scored], held, most=math.inf) if scored else None,
        gain_wins=_share([_point(gain - drawn) for _, gain, drawn in scored], held),
    )


def _share(values: Sequence[float], stories: Sequence[str]) -> Interval | None:
    return cluster_mean(values, stories, bounds=(0, 1)) if values else None


def _point(gap: float) -> float:
    return 0.5 if gap == 0 else float(gap > 0)


@dataclass(frozen=True, slots=True)
class _Marks:
    """Whether a speech quotes what speaks for its own answer, or the other; and how likely drawn sentences do."""

    own: bool
    other: bool
    chance: float


def _marks(one: Said) -> _Marks | None:
    """Hold a speech's quotes against what is known of its story; None where nothing is."""
    try:
        evidence = named_evidence(one.question)
    except SourceError:
        return None
    sentences = sentences_of(one.question)
    own = _speaks_for(evidence, one.answer)
    other = _speaks_for(evidence, 1 - one.answer)
    chance = chance_of_one(len(sentences), sum(map(own, sentences)), len(one.quotes))
    return _Marks(any(map(own, one.quotes)), any(map(other, one.quotes)), chance)


def chance_of_one(sentences: int, wanted: int, drawn: int) -> float:
    """Compute how likely one of the wanted sentences is among some drawn at random, none of them twice.

    Args:
        sentences: How many there are to draw from.
        wanted: How many of them are wanted.
        drawn: How many are drawn, at most all.

    Returns:
        1 − C(sentences − wanted, drawn) / C(sentences, drawn); 0 where there are none.
    """
    drawn = min(drawn, sentences)
    return 1 - math.comb(sentences - wanted, drawn) / math.comb(sentences, drawn)


def _speaks_for(evidence: NamedEvidence, answer: int) -> Callable[[Quote], bool]:
    """A test of a quote: at least half of it, or of the sentence, is what both have in common."""
    spans = [quote.span for quote in evidence.quotes[answer] if quote.span is not None]

    def found(quote: Quote) -> bool:
        if quote.span is None:
            return False
        start, end = quote.span
        return any(2 * (min(end, last) - max(start, first)) >= min(end - start, last - first) for first, last in spans)

    return found


def sentences_of(question: Question) -> list[Quote]:
    """Return the sentences of a question's story that a debater might quote."""
    return quotable(question.story or "", LONGEST)


def drawn_sentence(question: Question, answer: int) -> Quote | None:
    """Draw a sentence of the story, the same one for every player."""
    sentences = sentences_of(question)
    if not sentences:
        return None
    noise = hashlib.sha256(f"sentence\0{question.id}\0{answer}".encode()).digest()
    return sentences[int.from_bytes(noise[:8], "big") % len(sentences)]


async def score_quotes(one: Said, scorer: Model, prompts: Prompts) -> Said:
    """Have a model say what a speech's quotes are worth to its answer, and what a drawn sentence is.

    Args:
        one: The speech.
        scorer: A model that scores and was not trained to argue.
        prompts: Templates.

    Returns:
        The speech with both gains; as it is where it has no verified quote.
    """
    drawn = drawn_sentence(one.question, one.answer)
    if not one.quotes or drawn is None:
        return one
    ranked = await rank_by_likelihood(scorer, prompts, one.view, [*one.quotes, drawn])
    gains = {entry.quote: entry.gain or 0.0 for entry in ranked}
    return Said(one.question, one.answer, one.view, one.turn, fmean(gains[quote] for quote in one.quotes), gains[drawn])


async def say(
    debater: Debater, questions: Sequence[Question], *, seed: int = 0, role: Role = "debater", concurrency: int = 64
) -> list[Said]:
    """Have a player speak first on each question, once for each answer.

    Args:
        debater: The player.
        questions: Of two answers.
        seed: Of its draws.
        role: As what it speaks.
        concurrency: Speeches under way at a time.

    Returns:
        The speeches, in the order of the questions.
    """

    async def speak(question: Question, answer: int) -> Said:
        transcript = Transcript(question, drawn_seats(question)[0])
        view = transcript.view(answer=answer, story=True, role=role)
        try:
            turn = await take_turn(debater, transcript, answer, 1, Draw(seed), role=role)
        except ModelError:
            return Said(question, answer, view, None)
        return Said(question, answer, view, turn)

    slots = asyncio.Semaphore(concurrency)
    return await together((speak(question, answer) for question in questions for answer in (0, 1)), slots)


async def measure_player(
    player: PlayerConfig,
    questions: Mapping[str, tuple[Role, Sequence[Question]]],
    *,
    speech: SpeechConfig,
    scorer: ModelConfig | None,
    prompts: Prompts,
    store: Store | None = None,
    seed: int = 0,
) -> dict[str, list[Said]]:
    """Open a player as every command does, and have it speak on sets of questions.

    Args:
        player: The player, with its model and adapter.
        questions: By the name of their set, with the role in which it speaks.
        speech: Limits and sampling.
        scorer: The model that says what quotes are worth, or None.
        prompts: Templates.
        store: Where finished calls are kept; None keeps none.
        seed: Of its draws.

    Returns:
        By set, the speeches.

    Raises:
        ConfigError: The player cannot be made.
        ModelAccessError: A model cannot be had.
    """
    models = Models(store, Meter(Budget(), {}))
    try:
        debater = build_player(
            player, speech=speech, models=models, prompts=prompts, judge=JudgeConfig(model=player.model)
        )
        found: dict[str, list[Said]] = {}
        for name, (role, asked) in questions.items():
            said = await say(debater, asked, seed=seed, role=role)
            if scorer is not None:
                said = await together(score_quotes(one, models.get(scorer), prompts) for one in said)
            found[name] = said
        return found
    finally:
        await models.close()


def compare_speeches(before: Sequence[Said], after: Sequence[Said], *, title: str = "Speeches") -> Table:
    """Compare a player before and after training on the same questions.

    Args:
        before: Its speeches before.
        after: Those after, in the same order.
        title: The table's.

    Returns:
        A row a figure: before, after, and, of shares of all speeches, the difference paired by speech.
    """
    one, two = measure_speeches(before), measure_speeches(after)
    quoting = _gap(before, after, lambda said: float(bool(said.quotes)))
    valid = _gap(before, after, lambda said: float(said.turn is not None and not said.turn.flaws))
    shares: list[tuple[str, Interval | None, Interval | None, Interval | None]] = [
        ("with a verified quote", one.quoting, two.quoting, quoting),
        ("valid", one.valid, two.valid, valid),
        ("words copied", one.copied, two.copied, None),
        ("more than half copied", one.mostly_copied, two.mostly_copied, None),
        ("quote speaks for the own answer", one.own, two.own, None),
        ("quote speaks for the other answer", one.other, two.other, None),
        ("own answer, over drawn sentences", one.over_drawn, two.over_drawn, None),
        ("raises the own answer more than a drawn sentence", one.gain_wins, two.gain_wins, None),
    ]
    numbers: list[tuple[str, Interval | float | None, Interval | float | None]] = [
        ("words", one.words, two.words),
        ("verified quotes, each once", one.quotes, two.quotes),
        ("likelihood of the own answer, nats", one.gain, two.gain),
        ("the same over a drawn sentence", one.gain_over_drawn, two.gain_over_drawn),
    ]
    rows: list[list[Cell]] = [[name, *(_shown(value, percent=True) for value in values)] for name, *values in shares]
    rows += [[name, *(_shown(value, percent=False) for value in values), None] for name, *values in numbers]
    note = (
        f"{two.speeches} speeches on {two.stories} stories, one for each answer of a question. Which sentences speak "
        "for an answer is known of dossiers and shipped stories; drawn sentences are of the same story, as many as are "
        "quoted. What is said "
        "of quotes is of the speeches that have a verified one. Intervals are 95 %, robust by story."
    )
    columns = [Column("figure"), Column("before"), Column("after"), Column("difference")]
    return Table(title, columns, rows, note=note)


def _gap(before: Sequence[Said], after: Sequence[Said], value: Callable[[Said], float]) -> Interval | None:
    pairs = [(value(new) - value(old), new.question.story_id) for old, new in zip(before, after, strict=True)]
    return mean_gap([gap for gap, _ in pairs], [story for _, story in pairs]) if pairs else None


def _shown(value: Interval | float | None, *, percent: bool) -> Cell:
    if isinstance(value, Interval):
        return value.format(percent=percent)
    return None if value is None else f"{value:.2f}"
