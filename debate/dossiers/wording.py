"""Wordings: texts with alternatives and slots, parsed once and written out many times.

``[in the dark|by lamplight|]`` is one of its alternatives, of which one may be empty; alternatives do not nest. ``{a}``
is a slot and ``{a:his}`` a form of it; ``debate.dossiers.world`` says which slots and forms there are.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

from debate.dossiers.draws import Draws
from debate.errors import SourceError

_TOKEN = re.compile(r"\{([^{}]*)\}|\[([^\[\]]*)\]|([^{}\[\]]+)|(.)", re.DOTALL)
# Where a sentence may begin with a slot that is lower case elsewhere ("the Marigold").
_START = re.compile(r"(^\W*|(?<=[.!?])\s+\W*)([a-z])")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])(?!(?:one|once|uni|use|usual|eu|ewe|ubi|uto)\w*)")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a name or a thing: ``{name}`` or ``{name:form}``."""

    name: str
    form: str = ""


Piece = str | Slot
Run = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Wording:
    """A parsed text.

    Attributes:
        parts: Each a text, a slot, or a tuple of alternatives (each a run of texts and slots).
        text: As it was written, for messages.
    """

    parts: tuple[Piece | tuple[Run, ...], ...]
    text: str

    def pick(self, draws: Draws) -> Run:
        """Choose one of each group of alternatives."""
        run: list[Piece] = []
        for part in self.parts:
            if isinstance(part, tuple):
                run.extend(draws.choice(part))
            else:
                run.append(part)
        return tuple(run)

    def expansions(self) -> list[Run]:
        """Return every choice of alternatives, in a fixed order."""
        groups = [part if isinstance(part, tuple) else ((part,),) for part in self.parts]
        return [tuple(itertools.chain.from_iterable(chosen)) for chosen in itertools.product(*groups)]

    def slots(self) -> list[Slot]:
        """Return the slots it may hold, one for each place."""
        runs = itertools.chain.from_iterable(part if isinstance(part, tuple) else ((part,),) for part in self.parts)
        return [piece for run in runs for piece in run if isinstance(piece, Slot)]


def parse(text: str, where: str) -> Wording:
    """Parse a wording.

    Args:
        text: The text with its alternatives and slots.
        where: The file and template, for messages.

    Returns:
        The wording.

    Raises:
        SourceError: A bracket or brace has no partner.
    """
    text = " ".join(text.split())
    parts: list[Piece | tuple[Run, ...]] = []
    for slot, group, plain, stray in _TOKEN.findall(text):
        if stray:
            raise SourceError(f"{where}: {stray!r} has no partner, or is nested, in {text!r}; brackets do not nest")
        if plain:
            parts.append(plain)
        elif slot:
            parts.append(_slot(slot))
        else:
            parts.append(tuple(_run(alternative) for alternative in group.split("|")))
    return Wording(tuple(parts), text)


def _slot(text: str) -> Slot:
    name, _, form = text.partition(":")
    return Slot(name, form)


def _run(text: str) -> Run:
    pieces = re.split(r"\{([^{}]*)\}", text)
    return tuple(_slot(piece) if at % 2 else piece for at, piece in enumerate(pieces) if piece)


def write(run: Run, fill: Callable[[Slot], str]) -> str:
    """Write a run out.

    Args:
        run: Texts and slots.
        fill: Gives the text of a slot.

    Returns:
        The text, with capitals where sentences begin and ``an`` before vowels.
    """
    text = "".join(piece if isinstance(piece, str) else fill(piece) for piece in run)
    text = _START.sub(lambda match: match[1] + match[2].upper(), text)
    return _ARTICLE.sub(r"\1n ", text)
