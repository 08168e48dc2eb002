"""Grading open answers without a model: numbers and units are compared as quantities, other answers as words.

An answer is right if it is one of the accepted ones:

- **Numbers.** Every quantity of the answer must be the accepted one, so "18 or 24" is not 18, and neither is "not 18"
  or "more than 18". Notation does not matter (0.8, 4/5, 80 %, four out of five), units of one dimension are converted
  (0.048 km is 48 m), and a number without a unit, or with one that is not known, is taken in the accepted one's. An
  accepted form that begins with ``~`` also accepts correct roundings to two digits or more: ``~1/3`` accepts 0.33 and
  33 %, but not 0.3. The trap is always read so.
- **Words.** Case, punctuation and articles do not matter. The accepted words may stand within a sentence, unless it
  denies something or names the trap too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from debate.metrics.quantities import NO_NUMBER, Quantity, plain, quantities

#: A rounding that changes a number by more than this share of it has too few digits.
_MOST_ROUNDED = Fraction(1, 50)
_RELATION = re.compile(r"=|≈|≃|≅|~|\\approx|\\simeq")
_ASIDE = re.compile(r"(?<![\d.])\((?!\s*or\b)[^()]*\)")
_DENIAL = re.compile(r"\b(?:not|no|never|neither|nor|cannot|without)\b|n['’]t\b")
#: What makes another thing of the number behind it.
_TURNED = re.compile(
    r"(?:(?:\b(?:not|never|nor|neither)|n['’]t) (?:(?:exactly|quite|just|really|equal to|day) )?"
    r"|(?<!no )(?<!not )\b(?:more|less|fewer|greater|higher|lower|longer|shorter) than "
    r"|\b(?:over|under|above|below|twice|double|half of) )(?=[-.]?\d)"
)
_ARTICLE = re.compile(r"\b(?:the|an?)\b")
_MARK = re.compile(r"[^\w\s]|_")


class Grade(NamedTuple):
    """What an answer is.

    Attributes:
        right: Whether it is an accepted one.
        trapped: Whether it is the trap instead.
    """

    right: bool
    trapped: bool


def grade_answer(answer: str, right: Sequence[str], trap: str) -> Grade:
    """Grade an answer (the rules are in the module's docstring).

    Args:
        answer: What somebody answered, without the reasoning.
        right: Accepted answers.
        trap: The answer of a hasty reader.

    Returns:
        The grade.
    """
    good = any(_accepts(form, answer, against=trap) for form in right)
    return Grade(good, not good and any(_accepts(f"~{trap}", answer, against=form) for form in right))


def is_same(one: str, other: str) -> bool:
    """Whether two open answers say the same: equal quantities, up to a correct rounding, or equal words."""
    if plain(one) == plain(other):
        return True
    first, second = _found(one), _found(other)
    if first and second:
        return all(_matches(a, b, rounded=True) or _matches(b, a, rounded=True) for a in first for b in second)
    return not first and not second and _words(one) == _words(other)


def _accepts(form: str, answer: str, *, against: str) -> bool:
    rounded, form = form.startswith("~"), form.removeprefix("~")
    wanted = quantities(form)
    if any(quantity.dimension == NO_NUMBER for quantity in wanted):
        return _holds(plain(answer), plain(form))
    if wanted:
        given = _found(answer)
        if _TURNED.search(plain(_ASIDE.sub(" ", answer))):
            return False
        return bool(given) and all(_matches(wanted[0], quantity, rounded=rounded) for quantity in given)
    words, said = _words(form), _words(answer)
    if said == words:
        return True
    other = _words(against.removeprefix("~"))
    denials = len(_DENIAL.findall(plain(answer))) - len(_DENIAL.findall(plain(form)))
    return _holds(said, words) and denials <= 0 and not _holds(said.replace(words, " "), other)


def _found(answer: str) -> list[Quantity]:
    """The quantities that an answer ends on: of "3 + 4 = 7 (or so)" the 7, whatever is said in brackets."""
    last = _RELATION.split(answer)[-1]
    for text in (_ASIDE.sub(" ", last), last, answer):
        found = quantities(text)
        if found:
            return found
    return []


def _matches(wanted: Quantity, given: Quantity, *, rounded: bool) -> bool:
    if NO_NUMBER in {wanted.dimension, given.dimension}:
        return False
    if wanted.dimension and given.dimension and wanted.dimension != given.dimension:
        return False
    if wanted.dimension == given.dimension:
        scales = [wanted.worth / given.worth]
    elif "share" in {wanted.dimension, given.dimension}:
        # 80 % is 0.8; and a bare number where percent were asked for may be one.
        scales = [wanted.worth / given.worth, *([Fraction(1)] if wanted.dimension else [])]
    else:
        scales = [Fraction(1)]
    return any(_equals(wanted.value * scale, given, rounded=rounded) for scale in scales)


def _equals(value: Fraction, given: Quantity, *, rounded: bool) -> bool:
    """Whether a number is a value, or a correct rounding of it to the places that it has."""
    off = abs(given.value - value)
    if not off:
        return True
    if not rounded or given.places is None:
        return False
    return off <= Fraction(1, 2) / Fraction(10) ** given.places and off <= _MOST_ROUNDED * abs(value)


def _words(text: str) -> str:
    return " ".join(_ARTICLE.sub(" ", _MARK.sub(" ", plain(text))).split())


def _holds(text: str, words: str) -> bool:
    return f" {words} " in f" {text} "
