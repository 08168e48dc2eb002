"""Choosing wordings so that nothing on the surface of a sentence tells which answer it supports.

People who write evidence of two kinds write one kind longer, or with more commas. So wordings are not drawn evenly:
each is drawn with a weight exp(-s · λ · features), s = 1 for decisive and -1 for misleading wordings, with the λ for
which both sides of a template have the same mean of every feature (exponential tilting: of all weights that do so,
those nearest to even ones). λ has a part for all kinds of evidence, held loosely, and one for each kind, held more
tightly, since a kind has too few wordings to balance everything. Equal means leave a logistic regression, which starts
from the mean difference, nothing to learn; ``benchmarks/dossier_artefacts.py`` measures what ridge and floor leave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from debate.dossiers.wording import Run, Slot

Array = npt.NDArray[np.float64]

FEATURES = (
    "words",
    "characters",
    "commas",
    "no comma",
    "three commas or more",
    "begins with speech",
    "speech marks",
    "capitals",
    "people",
    "nobody",
    "hyphens",
    "colons",
    "apostrophes",
    "word length",
    "longest word",
    "question words",
    "answer words",
    "place of the answer",
    "first word is the answer",
)
# They keep λ finite where no weights balance a feature; every wording also keeps a share of its even weight.
RIDGE = 0.003
KIND_RIDGE = 0.1
FLOOR = 0.08
_SCALE = 1_000_000
_WORD = re.compile(r"[A-Za-z']+")
_COMMON = frozenset(
    [
        "a",
        "an",
        "and",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "did",
        "do",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "him",
        "his",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "of",
        "off",
        "on",
        "or",
        "out",
        "she",
        "so",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "they",
        "this",
        "to",
        "up",
        "was",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whose",
        "with",
        "would",
    ]
)


class Side(NamedTuple):
    """The wordings of one kind of evidence on one side.

    Attributes:
        features: Shape (wordings, features).
        even: The weights to start from, which sum to 1.
    """

    features: Array
    even: Array


class Tilt(NamedTuple):
    """Running sums of whole-number weights.

    Attributes:
        decisive: For the decisive wordings of a kind, in their order.
        misleading: For the misleading ones.
    """

    decisive: tuple[int, ...]
    misleading: tuple[int, ...]


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that are not common function words, in lower case."""
    return frozenset(_WORD.findall(text.lower())) - _COMMON


def features(
    run: Run,
    questions: Sequence[frozenset[str]],
    answers: Sequence[frozenset[str]],
    *,
    surnames: Mapping[str, float],
    things: Mapping[str, str],
) -> list[float]:
    """Measure a wording before its names are known.

    Args:
        run: The wording.
        questions: The content words of each wording of the question.
        answers: The content words of each wording of the answers.
        surnames: How likely each person is to be named by two words, by slot.
        things: A thing of usual length for each slot of the template.

    Returns:
        One number for each of ``FEATURES``.
    """
    text = "".join(_stand_in(piece, things) if isinstance(piece, Slot) else piece for piece in run)
    before = "".join("" if isinstance(piece, Slot) else piece for piece in run[: _place(run)])
    plain = "".join(" " if isinstance(piece, Slot) else piece for piece in run)
    words = content_words(plain)
    people = [
        surnames[slot.name] for slot in run if isinstance(slot, Slot) and _is_name(slot) and slot.name in surnames
    ]
    n_words = len(text.split()) + sum(people)
    return [
        n_words,
        len(text) + 7 * sum(people),
        float(text.count(",")),
        float("," not in text),
        float(text.count(",") >= 3),
        float(text.startswith('"')),
        float(text.count('"')),
        sum(word.strip('"')[:1].isupper() for word in text.split()) + sum(people),
        len(people) + sum(people),
        float(not people),
        float(text.count("-")),
        float(text.count(";") + text.count(":")),
        float(text.count("'")),
        sum(map(len, _WORD.findall(text))) / len(_WORD.findall(text)),
        float(max(map(len, _WORD.findall(text)))),
        sum(len(words & question) for question in questions) / len(questions),
        sum(len(words & answer) for answer in answers) / len(answers),
        len(before) / len(text),
        float(not before.strip()),
    ]


def _is_name(slot: Slot) -> bool:
    return slot.form in {"", "full"}


def _stand_in(slot: Slot, things: Mapping[str, str]) -> str:
    return things.get(slot.name, "Xxxxxx" if _is_name(slot) else "him")


def _place(run: Run) -> int:
    return next(at for at, piece in enumerate(run) if isinstance(piece, Slot) and piece.name == "it")


def tilt(kinds: Sequence[tuple[Side, Side]]) -> tuple[list[Tilt], Array]:
    """Find the weights with which both sides look alike, over all kinds of evidence of one template and within each.

    Args:
        kinds: For each kind its decisive and its misleading side.

    Returns:
        The weights, one a kind, as whole numbers, so that rounding errors of a machine cannot change a draw; and the
        difference of the means over all kinds that is left, in standard deviations, shape (features,).
    """
    both = np.concatenate([side.features for kind in kinds for side in kind])
    centre, spread = both.mean(axis=0), both.std(axis=0)
    spread[spread == 0] = 1.0
    width = len(centre)
    ridge = np.repeat([RIDGE, KIND_RIDGE], [width, width * len(kinds)])
    sides: list[tuple[Array, Array]] = []
    for at, kind in enumerate(kinds):
        for sign, side in zip((1.0, -1.0), kind, strict=True):
            # Columns: the features for the slopes of all kinds, then one block a kind for the slopes of that kind.
            values = np.zeros((len(side.even), len(ridge)))
            values[:, :width] = sign * (side.features - centre) / spread
            values[:, width * (at + 1) : width * (at + 2)] = values[:, :width]
            sides.append((values, side.even))
    slopes = _minimise(sides, ridge, len(kinds))
    shares = [(1 - FLOOR) * _weights(values, even, slopes) + FLOOR * even for values, even in sides]
    left = np.zeros(width)
    for share, (values, _) in zip(shares, sides, strict=True):
        left += share @ values[:, :width] / len(kinds)
    runs = [tuple(accumulate(max(1, round(float(share) * _SCALE)) for share in weights)) for weights in shares]
    return [Tilt(runs[at], runs[at + 1]) for at in range(0, len(runs), 2)], left


def _minimise(sides: Sequence[tuple[Array, Array]], ridge: Array, n_kinds: int) -> Array:
    """Minimise the sum of log partition functions and ridge, which is convex, by Newton steps of bounded length."""
    slopes = np.zeros(len(ridge))
    for _ in range(100):
        gradient, curvature = ridge * slopes, np.diag(ridge)
        for values, even in sides:
            weights = _weights(values, even, slopes)
            mean = weights @ values
            gradient = gradient - mean / n_kinds
            curvature = curvature + ((values.T * weights) @ values - np.outer(mean, mean)) / n_kinds
        step = np.linalg.solve(curvature, gradient)
        largest = float(np.abs(step).max())
        slopes = slopes - step * min(1.0, 1.0 / max(largest, 1e-12))
        if largest < 1e-10:
            break
    return slopes


def _weights(values: Array, even: Array, slopes: Array) -> Array:
    logits = np.log(even) - values @ slopes
    weights: Array = np.exp(logits - logits.max())
    total = float(weights.sum())
    return weights / total
