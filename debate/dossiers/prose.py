"""Telling a dossier: passages in a balanced order, as paragraphs, with the spans of the evidence."""

from __future__ import annotations

from typing import NamedTuple

from debate.dossiers.draws import Draws
from debate.dossiers.template import Kind, Template, asides
from debate.dossiers.wording import Run, write
from debate.dossiers.world import World

# Aims for the number of words of a story; a story ends up at most one passage above its aim.
SHORTEST, LONGEST = 185, 330


class Told(NamedTuple):
    """A story and where its evidence stands (half-open character spans)."""

    text: str
    decisive: tuple[int, int]
    misleading: tuple[int, int]


class _Passage(NamedTuple):
    """A passage before it is written: its words, what ``{it}``, ``{P}`` and ``{Q}`` stand for, and what it is."""

    run: Run
    it: str = "P"
    mark: str = ""


def tell(template: Template, world: World, kind: Kind, draws: Draws, *, right: str, wrong: str) -> Told:
    """Tell the story of a dossier.

    Nothing but the evidence depends on which answer is right: passages that name both answers name each once, those
    that name one name either by a coin, and the two pieces of evidence are put into the same two places by a coin.

    Args:
        template: The plot.
        world: Who and what its names are.
        kind: What misleads.
        draws: Decides the rest.
        right: Which of ``P`` and ``Q`` the decisive evidence names.
        wrong: Which of them the misleading evidence names.

    Returns:
        The story.
    """
    one = template.evidence[kind]
    first = [_Passage(draws.choice(part).pick(draws)) for part in (template.opening, template.pair)]
    last = _Passage(draws.choice(template.closing).pick(draws))
    pieces = [
        _Passage(draws.weighted(one.decisive, one.tilt.decisive), right, "decisive"),
        _Passage(draws.weighted(one.misleading, one.tilt.misleading), wrong, "misleading"),
    ]
    words = sum(_length(passage.run) for passage in (*first, last, *pieces))
    middle = _middle(template, draws, draws.between(SHORTEST, LONGEST) - words)
    # Two different gaps of the middle, the earlier one for whichever piece the coin says.
    gaps = sorted(draws.shuffled(range(len(middle) + 1))[:2])
    for gap, piece in reversed(list(zip(gaps, draws.shuffled(pieces), strict=True))):
        middle.insert(gap, piece)
    return _write(_paragraphs(first, middle, last, draws), world, draws)


def _middle(template: Template, draws: Draws, words: int) -> list[_Passage]:
    """Choose passages that do not bear on the question until they have so many words, in any order."""
    solos = draws.shuffled(template.solo)[: draws.below(3)]
    common = draws.shuffled(asides(template.pool))[: draws.below(3)]
    # A passage about one answer is about either with the same chance.
    chosen = [_Passage(wording.pick(draws), draws.choice("PQ")) for wording in solos]
    chosen += [_Passage(wording.pick(draws)) for wording in common]
    missing = words - sum(_length(passage.run) for passage in chosen)
    for wording in draws.shuffled(template.filler):
        if missing <= 0:
            break
        chosen.append(_Passage(wording.pick(draws)))
        missing -= _length(chosen[-1].run)
    return draws.shuffled(chosen)


def _length(run: Run) -> int:
    """Return about how many words a run will have."""
    return len("".join(piece if isinstance(piece, str) else "name" for piece in run).split())


def _paragraphs(first: list[_Passage], middle: list[_Passage], last: _Passage, draws: Draws) -> list[list[_Passage]]:
    paragraphs = [first]
    rest = list(middle)
    while rest:
        size = min(len(rest), draws.between(2, 4))
        size = len(rest) if len(rest) - size == 1 else size
        paragraphs.append(rest[:size])
        rest = rest[size:]
    if draws.coin():
        paragraphs.append([last])
    else:
        paragraphs[-1].append(last)
    return paragraphs


def _write(paragraphs: list[list[_Passage]], world: World, draws: Draws) -> Told:
    """Write the passages out in order, so that everybody is named in full the first time and not again."""
    text = ""
    spans: dict[str, tuple[int, int]] = {}
    seen: set[str] = set()
    for paragraph in paragraphs:
        for at, passage in enumerate(paragraph):
            text += "\n\n" if text and not at else " " if at else ""
            written = write(passage.run, lambda slot, it=passage.it: world.mention(slot, it, seen, draws))  # type: ignore[misc]
            if passage.mark:
                spans[passage.mark] = (len(text), len(text) + len(written))
            text += written
    return Told(text, spans["decisive"], spans["misleading"])
