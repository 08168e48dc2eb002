"""Debates to train and measure on: recorded in runs, published, or made on the spot."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from debate.card import Card, SeenStory
from debate.config import Config
from debate.errors import SourceError
from debate.folds import check_folds
from debate.question import Fold, Question
from debate.record import Recorded
from debate.sources import load, load_debates, select
from tournaments.gather import choose_debates
from tournaments.identities import Identities
from training.made import MadeConfig, make_debates
from training.rows import listed

Show = Literal["debate", "question"]


class DataConfig(Config):
    """One source of debates, and what is taken from it."""

    debates: str = Field(
        min_length=1,
        description="run:DIR or nyu:FILE, debates that are recorded; or a source of questions (dossiers:N?seed=S, "
        "shipped:stories) on which debates are made on the spot",
    )
    fold: Fold | None = Field(None, description="only debates on stories of this fold; none for all")
    limit: int | None = Field(None, ge=1, description="at most about so many debates; none for all")
    tags: dict[str, str] = Field({}, description="of recorded debates only those with these tags")
    protocols: tuple[str, ...] | None = Field(
        None,
        min_length=1,
        description="of recorded debates only these protocols; none for all in which somebody speaks",
    )
    seed: int = Field(0, description="draws the debates that a limit leaves")
    made: MadeConfig = Field(MadeConfig(), description="how debates are made on the spot")
    partial: bool = Field(default=False, description="rows also of debates cut off after each round")
    show: Show = Field("debate", description="question: question and answers alone, as a blind judge is shown them")

    @property
    def recorded(self) -> bool:
        """Whether the debates are recorded, and not made on the spot."""
        kind, colon, _ = self.debates.partition(":")
        return kind in {"run", "nyu"} or not colon or Path(self.debates).expanduser().is_dir()


@dataclass(frozen=True, slots=True)
class Gathered:
    """Debates of one source, all finished and with a gold answer.

    Attributes:
        config: What was asked for.
        recorded: The debates, with whatever verdicts they came with.
        dropped: How many debates or questions were left out, by why.
    """

    config: DataConfig
    recorded: tuple[Recorded, ...]
    dropped: Mapping[str, int]

    @property
    def sources(self) -> Mapping[str, int]:
        """How many debates each source gave."""
        return {self.config.debates: len(self.recorded)}

    @property
    def shown(self) -> tuple[Recorded, ...]:
        """The debates as judges are shown them: the questions alone, where the entry says so."""
        return tuple(as_shown(item, self.config.show) for item in self.recorded)

    @property
    def questions(self) -> list[Question]:
        """The questions of the debates, each once."""
        questions = (item.debate.transcript.question for item in self.recorded)
        return list({(question.id, question.story_id): question for question in questions}.values())

    @property
    def stories(self) -> tuple[SeenStory, ...]:
        """The stories of the debates, as a model card names them."""
        return Card.stories_of(self.questions)


def as_shown(item: Recorded, show: Show) -> Recorded:
    """Return a debate as a judge is to be shown it.

    Args:
        item: A debate.
        show: ``question``: what the blind baseline on its question is, whatever was said; ``debate``: as it is.

    Returns:
        The debate; without verdicts where it is another one now.
    """
    if show == "debate":
        return item
    transcript = dataclasses.replace(item.debate.transcript, turns=())
    return Recorded(dataclasses.replace(item.debate, protocol="blind", transcript=transcript), ())


def gather(config: DataConfig) -> Gathered:
    """Load or make the debates of one source.

    Debates that were never finished are left out, and those on questions without a gold answer.

    Args:
        config: What is wanted.

    Returns:
        One or more debates.

    Raises:
        SourceError: The source cannot be loaded, or nothing is left; the message says why.
        StoreError: A run's store cannot be read.
        FoldError: A story of the source is in two folds.
    """
    return _recorded(config) if config.recorded else _made(config)


def _made(config: DataConfig) -> Gathered:
    questions = load(config.debates)
    known = [question.pair() for question in questions if question.gold is not None]
    dropped: Counter[str] = Counter({"no gold answer": len(questions) - len(known)})
    _check_left(known, config, dropped)
    chosen = select(known, fold=config.fold, limit=config.limit, seed=config.seed)
    dropped += _filtered(known, len(chosen), config)
    return Gathered(config, tuple(make_debates(chosen, config.made)), _counts(dropped))


def _recorded(config: DataConfig) -> Gathered:
    dropped: Counter[str] = Counter()
    known = []
    for item in load_debates(config.debates):
        why = _why_not(item, config.protocols)
        if why is None:
            known.append(item)
        else:
            dropped[why] += 1
    _check_left(known, config, dropped)
    chosen = choose_debates(known, fold=config.fold, tags=config.tags, limit=config.limit, seed=config.seed)
    tagged = [item for item in known if all(item.debate.tags.get(tag) == value for tag, value in config.tags.items())]
    dropped["other tags"] = len(known) - len(tagged)
    dropped += _filtered([item.debate.transcript.question for item in tagged], len(chosen), config)
    return Gathered(config, tuple(chosen), _counts(dropped))


def _why_not(item: Recorded, protocols: Sequence[str] | None) -> str | None:
    """Why a debate is left out, or None."""
    if item.debate.failed is not None:
        return "never finished"
    if item.debate.transcript.question.gold is None:
        return "no gold answer"
    if protocols is None:
        return None if item.debate.transcript.turns else "nobody speaks"
    return None if item.debate.protocol in protocols else f"protocol {item.debate.protocol}"


def _filtered(questions: Sequence[Question], chosen: int, config: DataConfig) -> Counter[str]:
    """How many debates on these questions the fold and the limit have left out."""
    of_fold = sum(config.fold in {None, question.fold} for question in questions)
    return Counter({"another fold": len(questions) - of_fold, "beyond the limit": of_fold - chosen})


def _check_left(known: Sequence[object], config: DataConfig, dropped: Mapping[str, int]) -> None:
    if not known:
        raise SourceError(
            f"{config.debates!r} leaves nothing to train or measure on ({listed(_counts(dropped))}); "
            "give finished debates on questions with a gold answer"
        )


def _counts(dropped: Mapping[str, int]) -> dict[str, int]:
    return {reason: count for reason, count in dropped.items() if count}


def gather_all(configs: Iterable[DataConfig]) -> list[Gathered]:
    """Load or make the debates of several sources, whatever each is used for.

    Args:
        configs: Training, validation and test data alike: what is one story in any of them must be in one fold.

    Returns:
        One for each, in order. A question or story whose id stands for something else in an earlier source has the
        source's name before it.

    Raises:
        DissoiError: See ``gather``; or a story is in two folds.
    """
    identities = Identities()
    found = [_identified(gather(config), identities) for config in configs]
    check_folds([question for part in found for question in part.questions])
    return found


def _identified(part: Gathered, identities: Identities) -> Gathered:
    def named(item: Recorded) -> Recorded:
        transcript = item.debate.transcript
        question = identities.name(transcript.question, part.config.debates)
        if question is transcript.question:
            return item
        debate = dataclasses.replace(item.debate, transcript=dataclasses.replace(transcript, question=question))
        return dataclasses.replace(item, debate=debate)

    return dataclasses.replace(part, recorded=tuple(named(item) for item in part.recorded))
