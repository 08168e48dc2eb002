"""Argument rows: speeches that won, each with the prompt that a free debater would have been sent in its place.

A speech of any kind of player becomes a row of the ``free`` kind: its prompt is built by the function that ``free``
players use, on what its speaker had heard; its completion is the speech as a model would write it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from pydantic import Field

from debate.agents.debater import Limits, ask_to_argue
from debate.config import Config
from debate.errors import ConfigError
from debate.fingerprint import words
from debate.models.base import Message, Messages
from debate.prompts import Prompts
from debate.quotes import Argument, Seat, to_markup
from debate.record import Recorded
from debate.transcript import Transcript, Turn
from debate.verdict import Verdict
from debate.view import View
from training.gather import Gathered
from training.passages import fit_story
from training.rows import SOURCE, Row, RowSet, check_some
from training.worth import TOO_LONG, Worth, settle

GRAM = 5
"""So many words in a row that the story holds too are copied, in quotation marks or not."""

_TIE = 1e-9  # probabilities are rounded

Fits = Callable[[Messages], bool]
"""Whether a prompt with its reply is short enough to be trained on."""


class ArgumentConfig(Config):
    """Which speeches are worth learning from."""

    judge: str | None = Field(
        None,
        description="whose verdicts say who won; none: the people's who ended published debates, or the only judge's",
    )
    won: bool = Field(default=True, description="only speeches of the side that the judge believed in every order")
    margin: float = Field(
        0.0, ge=0, lt=0.5, description="by how much the judge's probability of the own answer exceeds 1/2 at the least"
    )
    players: tuple[str, ...] = Field((), description="only of players of these names; * stands for any part of one")
    min_quotes: int = Field(1, ge=0, description="fewest verified quotes")
    min_words: int = Field(70, ge=1, description="fewest words, and what the prompt asks for")
    max_words: int = Field(150, ge=1, description="most words, and what the prompt asks for")
    verified: bool = Field(default=True, description="only speeches all of whose quotes the story holds")
    max_copied: float = Field(
        0.5, ge=0, le=1, description=f"largest share of words in quotes or in {GRAM} words in a row of the story"
    )
    balance: bool = Field(
        default=True,
        description="as many speeches for the right answer as for the wrong one, within each question, the best ones",
    )

    @property
    def limits(self) -> Limits:
        """What a free debater is asked to keep to."""
        return Limits(self.min_words, self.max_words)


class Spoken(NamedTuple):
    """One speech where it was given.

    Attributes:
        item: Its debate, with the verdicts.
        at: Its place among the transcript's turns.
    """

    item: Recorded
    at: int

    @property
    def turn(self) -> Turn:
        """The speech."""
        return self.item.debate.transcript.turns[self.at]

    @property
    def answer(self) -> int:
        """The answer index that it argues for."""
        answer = self.turn.answer
        assert answer is not None  # noqa: S101 - speeches() yields no judge's turn
        return answer

    @property
    def seat(self) -> Seat:
        """Where its speaker sat."""
        return self.item.debate.transcript.seat_of(self.answer)

    @property
    def right(self) -> bool | None:
        """Whether it argues for the right answer; None where that is not known."""
        gold = self.item.debate.transcript.question.gold
        return None if gold is None else gold == self.answer

    @property
    def view(self) -> View:
        """What its speaker saw."""
        return heard(self.item.debate.transcript, self.at).view(answer=self.answer, story=True, role=self.turn.role)

    @property
    def written(self) -> str:
        """The speech as its speaker would have written it."""
        return written(self.turn.argument, self.seat)

    @property
    def tags(self) -> Mapping[str, str]:
        """What is known of it, for its row."""
        debate = self.item.debate
        assigned = {None: "unknown", True: "right", False: "wrong"}[self.right]
        return {
            "debate": debate.id,
            "protocol": debate.protocol,
            "player": debate.players[self.answer] or "unknown",
            "round": str(self.turn.round),
            "seat": self.seat,
            "assigned": assigned,
        }


def written(argument: Argument, seat: Seat) -> str:
    """Write an argument as a free debater in this seat would reply it."""
    return f"<argument>{to_markup(argument, seat=seat)}</argument>"


def speeches(recorded: Iterable[Recorded]) -> Iterator[Spoken]:
    """Yield all speeches of debates, in order; what a judge said is none."""
    for item in recorded:
        for at, turn in enumerate(item.debate.transcript.turns):
            if turn.answer is not None:
                yield Spoken(item, at)


def heard(transcript: Transcript, at: int) -> Transcript:
    """Cut a transcript to what the speaker of a turn had heard.

    Who speaks in turn has heard all that was said before; who speaks at once with the opponent the earlier rounds, and
    what the judge said in this one; a consultant only its own consultancy, in which nobody else is addressed.

    Args:
        transcript: The whole.
        at: The place of the turn, a debater's or a consultant's.

    Returns:
        The part.
    """
    turn = transcript.turns[at]
    before = transcript.turns[:at]
    if turn.role == "consultant":
        own = (one for one in before if (one.to if one.answer is None else one.answer) in {None, turn.answer})
        before = tuple(dataclasses.replace(one, to=None) for one in own)
    elif not transcript.spoken_order:
        before = tuple(one for one in transcript.turns if _earlier(one, turn))
    return dataclasses.replace(transcript, turns=before)


def _earlier(one: Turn, turn: Turn) -> bool:
    return one.round < turn.round or (one.round == turn.round and one.answer is None)


def pick_judge(recorded: Sequence[Recorded], judge: str | None) -> str | None:
    """Find out whose verdicts count.

    Args:
        recorded: The debates.
        judge: The configured name, or None.

    Returns:
        The name; None where each debate has the live judge who ended it.

    Raises:
        ConfigError: No debate has a verdict of this judge, or of several nobody says which counts.
    """
    names = sorted({verdict.judge for item in recorded for verdict in item.verdicts})
    if judge is not None:
        if judge not in names:
            raise ConfigError(
                f"no debate has a verdict of judge {judge!r}; there are {', '.join(names) or 'none at all'}"
            )
        return judge
    if any("judge" in item.debate.tags for item in recorded):
        return None
    if len(names) != 1:
        raise ConfigError(
            f"the debates have verdicts of {len(names)} judges ({', '.join(names) or 'nobody judged them'}); name one "
            "with arguments.judge, or set arguments.won: false to take every speech"
        )
    return names[0]


def margin_of(item: Recorded, answer: int, judge: str | None) -> float | str:
    """Measure by how much a judge believed one side, in the order in which it believed it least.

    Args:
        item: A debate with its verdicts.
        answer: The side's answer index.
        judge: The judge, whose verdicts on both orders count; None for the live judge, a person who saw one order.

    Returns:
        Its probability less 1/2, from -1/2 to 1/2; or why there is none.
    """
    if judge is None:
        found: list[Verdict] = [] if item.final is None else [item.final]
        if not found:
            return "no final verdict"
    else:
        found = [verdict for verdict in item.verdicts if verdict.judge == judge and verdict.round is None]
        if {verdict.order for verdict in found} != {(0, 1), (1, 0)}:
            return "no verdict in both orders"
    shares = [verdict.probabilities[answer] for verdict in found if verdict.probabilities is not None]
    return min(shares) - 0.5 if len(shares) == len(found) else "unparsed verdict"


def copied_share(argument: Argument, story: str) -> float:
    """Measure the share of an argument's words that are copied: in quotes, or in 5 words in a row of the story.

    Args:
        argument: Any argument.
        story: The story.

    Returns:
        From 0 to 1.
    """
    said: list[str] = []
    copied: list[bool] = []
    for span in argument.spans:
        if isinstance(span, str):
            found = words(span)
            copied += [False] * len(found)
        else:
            found = words(Argument((span,)).plain())
            copied += [span in argument.quotes] * len(found)
        said += found
    held = _grams(story)
    for at in range(len(said) - GRAM + 1):
        if tuple(said[at : at + GRAM]) in held:
            copied[at : at + GRAM] = [True] * GRAM
    return sum(copied) / len(copied) if copied else 0.0


@functools.lru_cache(maxsize=128)
def _grams(story: str) -> frozenset[tuple[str, ...]]:
    text = words(story)
    return frozenset(tuple(text[at : at + GRAM]) for at in range(len(text) - GRAM + 1))


def flaw_of(spoken: Spoken, config: ArgumentConfig) -> str | None:
    """Say why a speech is not worth learning from, whoever won; None if it is."""
    turn, debate = spoken.turn, spoken.item.debate
    argument, story = turn.argument, debate.transcript.question.story
    texts = [quote.text for quote in argument.quotes if quote.verified]
    given = {
        quote.text
        for one in debate.transcript.turns[: spoken.at]
        if one.answer == turn.answer
        for quote in one.argument.quotes
    }
    if not story:
        return "no story"
    flaws = {
        "another player": not by_one_of(debate.players[spoken.answer], config.players),
        "marked as flawed": bool(turn.flaws),
        "outside the word limits": not config.min_words <= argument.words <= config.max_words,
        "too few verified quotes": len(texts) < config.min_quotes,
        "an unverified quote": config.verified and len(texts) < len(argument.quotes),
        "a quote given twice": len(set(texts)) < len(texts) or bool(given & set(texts)),
        "copied from the story": copied_share(argument, story) > config.max_copied,
    }
    return next((why for why, flawed in flaws.items() if flawed), None)


def by_one_of(player: str | None, names: Sequence[str]) -> bool:
    """Whether a player is one of those named, all of whom are where none is."""
    return not names or any(fnmatchcase(player or "", name) for name in names)


def argument_row_set(
    gathered: Sequence[Gathered],
    config: ArgumentConfig,
    prompts: Prompts,
    *,
    fits: Fits | None = None,
) -> RowSet[Row]:
    """Make the rows that a debater is trained on, each once, and hold that there is one; see ``argument_rows``.

    Args:
        gathered: Debates of one or more sources.
        config: Which speeches.
        prompts: Templates of free debaters.
        fits: See ``argument_rows``.

    Raises:
        ConfigError: The judge is not known.
        SourceError: No row is left.
    """
    found: list[Worth[Row]] = []
    dropped: Counter[str] = Counter()
    for part in gathered:
        more, lost = _worth(part.recorded, config, prompts, source=part.config.debates, fits=fits)
        found += more
        dropped.update(part.dropped)
        dropped.update(lost)
    rowset = settle(found, dropped, balanced=config.balance)
    check_some(rowset, "argument")
    return rowset


def argument_rows(
    recorded: Sequence[Recorded],
    config: ArgumentConfig,
    prompts: Prompts,
    *,
    source: str = "unknown",
    fits: Fits | None = None,
) -> RowSet[Row]:
    """Make rows of the speeches that are worth learning from.

    Args:
        recorded: Debates with verdicts.
        config: Which speeches.
        prompts: Templates of free debaters.
        source: What rows are tagged with as their source.
        fits: Whether a prompt with its reply is short enough: of a longer one the story is cut to passages around the
            quotes. None cuts no story.

    Returns:
        Rows, in the order of the debates, and what was left out by why.

    Raises:
        ConfigError: The judge is not known.
    """
    return settle(*_worth(recorded, config, prompts, source=source, fits=fits), balanced=config.balance)


def _worth(
    recorded: Sequence[Recorded], config: ArgumentConfig, prompts: Prompts, *, source: str, fits: Fits | None
) -> tuple[list[Worth[Row]], Counter[str]]:
    """Find the speeches of one source that are worth learning from, and what is left out by why."""
    judge = pick_judge(recorded, config.judge) if config.won else None
    dropped: Counter[str] = Counter()
    found: list[Worth[Row]] = []
    for spoken in speeches(recorded):
        margin = _choose(spoken, config, judge)
        if isinstance(margin, str):
            dropped[margin] += 1
            continue
        view = fit_story(spoken.view, [spoken.turn.argument], _fitting(spoken, prompts, config.limits, fits))
        if view is None:
            dropped[TOO_LONG] += 1
            continue
        row = _row(spoken, view, prompts, config.limits, source)
        if config.won:
            row = dataclasses.replace(row, tags={**row.tags, "margin": f"{margin:.4f}"})
        found.append(Worth(row, margin, spoken.item.debate.transcript.question))
    return found, dropped


def _choose(spoken: Spoken, config: ArgumentConfig, judge: str | None) -> float | str:
    """The margin of a speech that is worth learning from, or why it is not."""
    if spoken.item.debate.failed is not None:
        return "a failed debate"
    margin: float | str = margin_of(spoken.item, spoken.answer, judge) if config.won else 0.0
    if isinstance(margin, str):
        return margin
    if config.won and (margin <= _TIE or margin < config.margin - _TIE):
        return "not won by the margin"
    return flaw_of(spoken, config) or margin


def _row(spoken: Spoken, view: View, prompts: Prompts, limits: Limits, source: str) -> Row:
    question = spoken.item.debate.transcript.question
    return Row(
        prompt=tuple(ask_to_argue(view, prompts, limits)),
        completion=spoken.written,
        question=question.id,
        story=question.story_id,
        fold=question.fold,
        tags={SOURCE: source, **spoken.tags, **({} if view.story == question.story else {"story": "cut"})},
    )


def _fitting(spoken: Spoken, prompts: Prompts, limits: Limits, fits: Fits | None) -> Callable[[View], bool]:
    reply = Message("assistant", spoken.written)
    return lambda view: fits is None or fits((*ask_to_argue(view, prompts, limits), reply))
