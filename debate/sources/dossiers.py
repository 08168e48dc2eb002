"""``dossiers:N?seed=S&templates=POOL``: N generated stories with a question each (``debate.dossiers`` makes them)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from debate.errors import SourceError
from debate.question import Question
from debate.sources.rows import hint, listed

OPTIONS = ("seed", "templates")
MOST = 1_000_000


def load_questions(number: str, source: str, options: Mapping[str, str]) -> Iterator[Question]:
    """Generate questions.

    Args:
        number: How many, from 1 to a million.
        source: The source string, for the questions to carry.
        options: ``seed``, a whole number (0 by default); ``templates``, ``train`` (the default: folds judge, debater
            and validation) or ``heldout`` (fold test).

    Yields:
        Questions of two answers. The first ones are the same for a larger number.

    Raises:
        SourceError: A number or an option is wrong.
    """
    from debate.dossiers.dossier import generate  # compiles all templates: only where they are asked for
    from debate.dossiers.template import POOLS

    n = _whole(number)
    if n is None or not 1 <= n <= MOST:
        raise SourceError(f"{source!r}: {number!r} is not a number of dossiers; write one from 1 to {MOST}")
    seed = _whole(options.get("seed", "0"))
    if seed is None:
        raise SourceError(f"{source!r}: seed is {options['seed']!r}; write a whole number")
    wanted = options.get("templates", POOLS[0])
    pool = next((pool for pool in POOLS if pool == wanted), None)
    if pool is None:
        raise SourceError(f"{source!r}: no templates {wanted!r}{hint(wanted, POOLS)} (known: {listed(POOLS)})")
    for dossier in generate(n, seed, pool, source=source):
        yield dossier.question


def _whole(text: str) -> int | None:
    """Return a whole number written in plain digits, or None."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= 18 else None
