"""Candidate pairs: of all that was sampled for one turn what a preference model likes best, and what it likes least."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from debate.agents.debater import Limits, ask_to_argue
from debate.config import Config
from debate.models.base import Message
from debate.prompts import Prompts, harmless
from debate.quotes import extract_argument
from debate.transcript import Candidate
from debate.view import View
from training.argument_rows import Fits, Spoken, by_one_of, speeches, written
from training.gather import Gathered
from training.passages import fit_story
from training.rows import SOURCE, PairRow, RowSet, check_some
from training.worth import TOO_LONG, Worth, settle


class PairConfig(Config):
    """Which candidates are worth preferring one to the other."""

    margin: float = Field(0.5, ge=0, description="least difference of their preference scores, in log-odds")
    players: tuple[str, ...] = Field((), description="only of players of these names; * stands for any part of one")
    min_words: int = Field(70, ge=1, description="fewest words that the prompt asks for")
    max_words: int = Field(150, ge=1, description="most words that the prompt asks for")
    verified: bool = Field(default=True, description="only where the story holds every quote of the better one")
    invalid: bool = Field(
        default=False, description="where fewer than two valid ones have scores, prefer a valid one to an invalid one"
    )
    balance: bool = Field(default=False, description="as many for the right answer as for the wrong one of a question")

    @property
    def limits(self) -> Limits:
        """What a free debater is asked to keep to."""
        return Limits(self.min_words, self.max_words)


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """Two candidates of one turn.

    Attributes:
        better: The better one.
        worse: The worse one.
        margin: By how much, in log-odds; 0 where the worse one is invalid and has no score.
    """

    better: Candidate
    worse: Candidate
    margin: float


def pair_of(candidates: Sequence[Candidate], config: PairConfig) -> Pair | str:
    """Choose two candidates of one turn.

    Args:
        candidates: All that were sampled for it.
        config: By how much they must differ.

    Returns:
        The pair; or why there is none.
    """
    scored = [(one.score, one) for one in candidates if one.valid and one.score is not None]
    if len(scored) > 1:
        high, better = max(scored, key=lambda pair: pair[0])
        low, worse = min(scored, key=lambda pair: pair[0])
        found = Pair(better, worse, high - low)
        if found.margin < config.margin or better.argument == worse.argument:
            return "scores too close"
    else:
        valid, flawed = ([one for one in candidates if one.valid is good] for good in (True, False))
        flawed = [one for one in flawed if "cut" not in one.flaws and one.raw.strip()]
        if not config.invalid or not valid or not flawed:
            return "fewer than two scored candidates"
        found = Pair(valid[0], flawed[0], 0.0)
    quotes = found.better.argument.quotes
    if not any(quote.verified for quote in quotes):
        return "no verified quote"
    if config.verified and not all(quote.verified for quote in quotes):
        return "an unverified quote"
    return found


def reply_of(candidate: Candidate, spoken: Spoken, *, as_written: bool) -> str:
    """Return a candidate as it was replied, or, where it was made otherwise, as a free debater would reply it."""
    return harmless(candidate.raw) if as_written else written(candidate.argument, spoken.seat)


def _replied(candidate: Candidate) -> bool:
    """Whether a model replied the whole argument, as a free debater does; others are made around what it replied."""
    return extract_argument(candidate.raw)[0] is not None


def pair_row_set(
    gathered: Sequence[Gathered], config: PairConfig, prompts: Prompts, *, fits: Fits | None = None
) -> RowSet[PairRow]:
    """Make the pairs that a debater is trained on, each once, and hold that there is one; see ``pair_rows``.

    Raises:
        SourceError: No pair is left.
    """
    found: list[Worth[PairRow]] = []
    dropped: Counter[str] = Counter()
    for part in gathered:
        spoken = [one for one in speeches(part.recorded) if one.item.debate.failed is None]
        more, lost = _worth(spoken, config, prompts, source=part.config.debates, fits=fits)
        found += more
        dropped.update(part.dropped)
        dropped.update(lost)
    rowset = settle(found, dropped, balanced=config.balance)
    check_some(rowset, "pair")
    return rowset


def pair_rows(
    spoken: Sequence[Spoken],
    config: PairConfig,
    prompts: Prompts,
    *,
    source: str = "unknown",
    fits: Fits | None = None,
) -> RowSet[PairRow]:
    """Make a pair of each turn whose candidates a preference model told apart.

    Args:
        spoken: Speeches, with their candidates.
        config: Which pairs.
        prompts: Templates of free debaters.
        source: What rows are tagged with as their source.
        fits: Whether a prompt with a reply is short enough: of a longer one the story is cut to passages around the
            quotes of both candidates. None cuts no story.

    Returns:
        Pairs, in the order of the turns, and what was left out by why.
    """
    return settle(*_worth(spoken, config, prompts, source=source, fits=fits), balanced=config.balance)


def _worth(
    spoken: Sequence[Spoken], config: PairConfig, prompts: Prompts, *, source: str, fits: Fits | None
) -> tuple[list[Worth[PairRow]], Counter[str]]:
    """Find the pairs of one source that are worth learning from, and what is left out by why."""
    dropped: Counter[str] = Counter()
    found: list[Worth[PairRow]] = []
    for one in spoken:
        if not by_one_of(one.item.debate.players[one.answer], config.players):
            dropped["another player"] += 1
            continue
        pair = pair_of(one.turn.candidates, config)
        row = (
            pair if isinstance(pair, str) else _row(one, pair, config.limits, prompts=prompts, source=source, fits=fits)
        )
        if isinstance(row, str):
            dropped[row] += 1
        else:
            found.append(Worth(row, row.margin, one.item.debate.transcript.question))
    return found, dropped


def _row(
    spoken: Spoken, pair: Pair, limits: Limits, *, prompts: Prompts, source: str, fits: Fits | None
) -> PairRow | str:
    as_written = _replied(pair.better)
    better, worse = (reply_of(one, spoken, as_written=as_written) for one in (pair.better, pair.worse))
    if better == worse:
        return "the same reply"
    ask = functools.partial(ask_to_argue, prompts=prompts, limits=limits)

    def fitting(view: View) -> bool:
        asked = ask(view)
        return fits is None or all(fits((*asked, Message("assistant", reply))) for reply in (better, worse))

    view = fit_story(spoken.view, [pair.better.argument, pair.worse.argument], fitting)
    if view is None:
        return TOO_LONG
    question = spoken.item.debate.transcript.question
    return PairRow(
        prompt=tuple(ask(view)),
        chosen=better,
        rejected=worse,
        margin=pair.margin,
        question=question.id,
        story=question.story_id,
        fold=question.fold,
        tags={SOURCE: source, **spoken.tags, **({} if view.story == question.story else {"story": "cut"})},
    )
