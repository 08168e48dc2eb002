"""Dossiers: a question, the story that settles it, and where in the story each side finds its evidence."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from debate.dossiers.draws import Draws
from debate.dossiers.prose import tell
from debate.dossiers.template import KINDS, POOLS, Kind, Pool, Template, names, templates
from debate.dossiers.wording import Slot, write
from debate.dossiers.world import build
from debate.errors import SourceError
from debate.question import Fold, Question

Span = tuple[int, int]

# Of 100 stories of training templates, how many go to each fold.
SHARES: tuple[tuple[Fold, int], ...] = (("judge", 50), ("debater", 30), ("validation", 20))
_ID = re.compile(r"dossier-(?:(heldout)-)?(-?\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class Dossier:
    """One dossier with all that the generator knows about it. Agents get views of its question, never this.

    Attributes:
        question: The question with its story and gold answer.
        template: The id of its template.
        genre: The genre of its template.
        kind: What misleads: ``hearsay`` (against sight), ``plan`` (against what happened), ``state`` (an early one
            against a later one), ``claim`` (of an interested party, against an independent record).
        decisive: Where the sentence stands that settles the question for the gold answer (half-open character span).
        misleading: Where the true sentence stands that speaks for the wrong answer.
        labels: What each answer is called in the story, in the order of the answers.
        names: Everything in the story that was drawn from a list of names, longest first.
    """

    question: Question
    template: str
    genre: str
    kind: Kind
    decisive: Span
    misleading: Span
    labels: tuple[str, str]
    names: tuple[str, ...]

    def quote(self, answer: int) -> str:
        """Return the sentence that speaks for an answer."""
        start, end = self.decisive if answer == self.question.gold else self.misleading
        return (self.question.story or "")[start:end]


def generate(n: int, seed: int = 0, pool: Pool = "train", *, source: str | None = None) -> Iterator[Dossier]:
    """Generate dossiers 0 to ``n - 1``.

    Args:
        n: How many.
        seed: Chooses others.
        pool: Whether to use the training templates or the held-out ones.
        source: The source string for their questions to carry; by default the one that makes these.

    Yields:
        Dossiers; the same for the same seed and pool, whatever ``n`` is.
    """
    tail = "" if pool == "train" else f"&templates={pool}"
    for at in range(n):
        yield dossier(at, seed, pool, source=source or f"dossiers:{n}?seed={seed}{tail}")


def recall(question_id: str) -> Dossier:
    """Make the dossier of a question again from the question's id.

    Raises:
        SourceError: It is not the id of a dossier.
    """
    found = _ID.fullmatch(question_id)
    if not found:
        raise SourceError(
            f"{question_id!r} is not the id of a dossier, such as 'dossier-0-12' or 'dossier-heldout-0-12'"
        )
    return dossier(int(found[3]), int(found[2]), "heldout" if found[1] else "train")


def dossier(index: int, seed: int = 0, pool: Pool = "train", *, source: str | None = None) -> Dossier:
    """Make one dossier.

    Args:
        index: Its number, from 0 on.
        seed: Chooses others.
        pool: ``train`` or ``heldout``.
        source: The source string for its question to carry.

    Returns:
        The dossier.

    Raises:
        SourceError: The pool is unknown or its files are malformed.
    """
    if pool not in POOLS:
        raise SourceError(f"no templates {pool!r}; there are {' and '.join(POOLS)}")
    draws = Draws("dossier", pool, seed, index)
    template = _template(index, seed, pool)
    world = build(draws, names(), template.slots, template.answers, titles=template.titles)
    kind = draws.choice(KINDS)
    right, wrong = ("P", "Q") if draws.coin() else ("Q", "P")
    told = tell(template, world, kind, draws, right=right, wrong=wrong)
    order = (right, wrong) if draws.coin() else (wrong, right)
    ask = draws.choice(template.question).pick(draws)
    frame = draws.choice(template.answer).pick(draws)
    story_id = f"dossier-{'' if pool == 'train' else f'{pool}-'}{seed}-{index}"
    question = Question(
        id=story_id,
        text=write(ask, lambda slot: world.fill(slot, right, draws)),
        answers=tuple(write(frame, lambda slot, it=it: world.fill(slot, it, draws)) for it in order),  # type: ignore[misc]
        gold=order.index(right),
        story=told.text,
        story_id=story_id,
        source=source or f"dossiers:{index + 1}?seed={seed}" + ("" if pool == "train" else f"&templates={pool}"),
        fold=fold_of(story_id, pool),
        distractor=order.index(wrong),
    )
    first, second = (world.fill(Slot("it"), it, draws) for it in order)
    return Dossier(
        question,
        template.id,
        template.genre,
        kind,
        told.decisive,
        told.misleading,
        (first, second),
        tuple(world.names()),
    )


def fold_of(story_id: str, pool: Pool) -> Fold:
    """Return the fold of a story: ``test`` if its template is held out, else by a hash of its id in fixed shares."""
    if pool == "heldout":
        return "test"
    percent = int.from_bytes(hashlib.sha256(f"fold\0{story_id}".encode()).digest()[:8], "big") % 100
    for fold, share in SHARES:
        if percent < share:
            return fold
        percent -= share
    raise AssertionError("the shares of the folds do not add up to 100")


def _template(index: int, seed: int, pool: Pool) -> Template:
    """Deal the templates out: each comes once in every block of as many dossiers as there are templates."""
    deck = templates(pool)
    block, at = divmod(index, len(deck))
    return Draws("templates", pool, seed, block).shuffled(deck)[at]
