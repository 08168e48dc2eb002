"""The plain baseline of a judge: a logistic regression on what can be counted without reading what is quoted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from debate.dossiers.balance import content_words
from debate.errors import ConfigError
from debate.metrics.intervals import Interval, cluster_mean
from debate.record import Recorded
from debate.transcript import Transcript
from debate.verdict import points

Floats = npt.NDArray[np.float64]

#: What is counted for each answer; the regression sees the differences between the two answers.
FEATURES = (
    "speeches for it",
    "verified quotes",
    "unverified quotes",
    "words",
    "words in verified quotes",
    "words in unverified quotes",
    "words shared with the question",
    "words shared with the own answer",
    "words shared with the other answer",
    "words of the answer",
    "characters of the answer",
    "words that answer and question share",
)
RIDGE = 1.0
_STEPS = 50


def marks_baseline(train: Sequence[Recorded], test: Sequence[Recorded]) -> Interval:
    """Measure how often marks, words and overlaps alone tell the right answer.

    Exchanging the answers turns the signs of the features and the label together, so the regression has no intercept,
    and both orders of a debate get the same verdict.

    Args:
        train: Debates with gold answers to fit on.
        test: Others, to measure on.

    Returns:
        Accuracy with a 95 % interval robust by story.

    Raises:
        ConfigError: One of the two has no debate with a gold answer.
    """
    fitted, measured = known(train), known(test)
    if not fitted or not measured:
        raise ConfigError("the baseline needs debates with gold answers to fit and to measure on")
    x = differences(fitted)
    # A ridge treats features alike only on one scale; a zero of a difference is a zero on any.
    scale = np.sqrt((x**2).mean(axis=0))
    scale[scale == 0] = 1
    weights = fit_logistic(x / scale, _signs(fitted), RIDGE)
    margins = _signs(measured) * (differences(measured) / scale @ weights)
    right = [points(0.5 + float(np.sign(margin)) / 2) for margin in margins]
    return cluster_mean(right, [item.debate.transcript.question.story_id for item in measured], bounds=(0.0, 1.0))


def known(recorded: Sequence[Recorded]) -> list[Recorded]:
    """Return the debates of which the right answer is known and that were finished."""
    return [
        item for item in recorded if item.debate.failed is None and item.debate.transcript.question.gold is not None
    ]


def differences(recorded: Sequence[Recorded]) -> Floats:
    """Count what there is to count, answer 0 less answer 1.

    Args:
        recorded: D debates.

    Returns:
        D × F numbers, F as in ``FEATURES``.
    """
    rows = [[_counts(item.debate.transcript, answer) for answer in (0, 1)] for item in recorded]
    counts_d2f = np.array(rows, dtype=float).reshape(len(rows), 2, len(FEATURES))
    return np.asarray(counts_d2f[:, 0] - counts_d2f[:, 1], dtype=np.float64)


def _counts(transcript: Transcript, answer: int) -> list[float]:
    question = transcript.question
    speeches = [turn.argument for turn in transcript.turns if turn.answer == answer]
    quotes = [quote for speech in speeches for quote in speech.quotes]
    said = content_words(" ".join(speech.plain() for speech in speeches))
    own, other, asked = map(content_words, (question.answers[answer], question.answers[1 - answer], question.text))
    verified = [len(quote.text.split()) for quote in quotes if quote.verified]
    unverified = [len(quote.text.split()) for quote in quotes if not quote.verified]
    return [
        len(speeches),
        len(verified),
        len(unverified),
        sum(speech.words for speech in speeches),
        sum(verified),
        sum(unverified),
        len(said & asked),
        len(said & own),
        len(said & other),
        len(question.answers[answer].split()),
        len(question.answers[answer]),
        len(own & asked),
    ]


def _signs(recorded: Sequence[Recorded]) -> Floats:
    return np.array([1.0 if item.debate.transcript.question.gold == 0 else -1.0 for item in recorded])


def fit_logistic(x: Floats, sign: Floats, ridge: float) -> Floats:
    """Fit a logistic regression without intercept by Newton's method.

    Minimises Σ_d log(1 + exp(−s_d w·x_d)) + ridge/2 |w|², which is convex, with steps halved until each gains.

    Args:
        x: D × F features.
        sign: D labels, 1 or −1.
        ridge: Of the weights, above 0.

    Returns:
        F weights.
    """

    def loss(weights: Floats) -> float:
        return float(np.logaddexp(0, -sign * (x @ weights)).sum() + ridge / 2 * weights @ weights)

    weights = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        wrong = 1 / (1 + np.exp(np.clip(sign * (x @ weights), -500, 500)))
        gradient = ridge * weights - x.T @ (sign * wrong)
        hessian = ridge * np.eye(x.shape[1]) + (x.T * (wrong * (1 - wrong))) @ x
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-6 and loss(weights - size * step) > loss(weights):
            size /= 2
        weights = weights - size * step
        if np.abs(step).max() < 1e-10:
            break
    return weights
