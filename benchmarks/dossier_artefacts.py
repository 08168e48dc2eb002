"""Can gold be told without understanding? `python benchmarks/dossier_artefacts.py [dossiers] [--seed S]`.

Features of each answer (its words, its quote's marks and length, where and how often the story names it, ...) are
differenced between the two answers, and a logistic regression without intercept predicts which is right, on templates
that it was not trained on. A row stands for both orders of the answers: exchanging them turns the signs of the features
and the label together, so a model without intercept gives both the same verdict. The bar is 55 % for every set and for
all together. The words of the quotes, names left out, are the control that should pass it: they say which kind of
evidence it is.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from debate.dossiers.balance import content_words
from debate.dossiers.dossier import Dossier, generate
from debate.sentences import sentence_spans

Features = dict[str, float]
BAR = 0.55
_WORD = re.compile(r"[A-Za-z0-9']+")


class Result(NamedTuple):
    """How often a classifier was right.

    Attributes:
        accuracy: Share of the dossiers.
        low: Lower end of its 95 % interval (Wilson).
        high: Upper end.
        highest: Accuracy on the template where it was highest, and that template.
    """

    accuracy: float
    low: float
    high: float
    highest: tuple[float, str]


def answer_words(dossier: Dossier, answer: int) -> Features:
    """Words of an answer, its length and rank by the alphabet, and its overlap with the question; no story."""
    text, question = dossier.question.answers[answer], dossier.question.text
    other = dossier.question.answers[1 - answer]
    counts: Features = {f"word {word.lower()}": 1.0 for word in _WORD.findall(text)}
    return counts | {
        "answer words": len(text.split()),
        "answer characters": len(text),
        "answer shared with question": len(content_words(text) & content_words(question)),
        "answer before the other": float(text < other),
        "answer first letter": float(ord(dossier.labels[answer][0].lower())),
        "answer index": float(answer),
    }


def quote_marks(dossier: Dossier, answer: int) -> Features:
    """Counts of punctuation marks, capitals and digits in the quote."""
    quote = dossier.quote(answer)
    marks: Features = {f"mark {mark}": float(quote.count(mark)) for mark in ",;:-'\"?"}
    words = quote.split()
    return marks | {
        "capitals": sum(word.strip('"')[:1].isupper() for word in words),
        "digits": sum(map(str.isdigit, quote)),
        "begins with a speech mark": float(quote.startswith('"')),
        "begins with the answer": float(quote.strip('"').lower().startswith(dossier.labels[answer].lower())),
        "names": sum(quote.count(name) for name in dossier.names),
    }


def quote_lengths(dossier: Dossier, answer: int) -> Features:
    """Length of the quote in words and characters, and the mean and greatest length of its words."""
    quote = dossier.quote(answer)
    lengths = [len(word) for word in _WORD.findall(quote)]
    return {
        "quote words": len(quote.split()),
        "quote characters": len(quote),
        "mean word": sum(lengths) / len(lengths),
        "longest word": max(lengths),
    }


def overlaps(dossier: Dossier, answer: int) -> Features:
    """Words shared by quote and question, quote and answers; where in the quote the answer is named."""
    quote, label = dossier.quote(answer), dossier.labels[answer]
    words = content_words(quote)
    return {
        "quote shared with question": len(words & content_words(dossier.question.text)),
        "quote shared with own answer": len(words & content_words(dossier.question.answers[answer])),
        "quote shared with other answer": len(words & content_words(dossier.question.answers[1 - answer])),
        "answer at": quote.lower().find(label.lower()) / len(quote),
        "answer named": quote.lower().count(label.lower()),
    }


def mentions(dossier: Dossier, answer: int) -> Features:
    """How often, how early and how late the story names the answer."""
    story, label = (dossier.question.story or "").lower(), dossier.labels[answer].lower()
    other = dossier.labels[1 - answer].lower()
    return {
        "times named": story.count(label),
        "first named": story.find(label) / len(story),
        "last named": story.rfind(label) / len(story),
        "named first": float(story.find(label) < story.find(other)),
        "named last": float(story.rfind(label) > story.rfind(other)),
    }


def places(dossier: Dossier, answer: int) -> Features:
    """Where the quote stands in the story and in its paragraph, and how long its neighbours are."""
    story = dossier.question.story or ""
    start, end = dossier.decisive if answer == dossier.question.gold else dossier.misleading
    spans = sentence_spans(story)
    at = spans.index((start, end))
    before, after = spans[at - 1], spans[min(at + 1, len(spans) - 1)]
    return {
        "from start": start / len(story),
        "sentence": at,
        "sentence share": at / len(spans),
        "starts a paragraph": float(story[:start].endswith("\n\n")),
        "ends a paragraph": float(story[end:].startswith("\n\n")),
        "sentence before": before[1] - before[0],
        "sentence after": after[1] - after[0],
    }


def quoted_words(dossier: Dossier, answer: int) -> Features:
    """The control: words and pairs of words of the quote, with everything left out that was drawn by name."""
    quote = dossier.quote(answer)
    for name in (*dossier.labels, *dossier.names):
        quote = re.sub(rf"\b{re.escape(name)}\b", "_", quote, flags=re.IGNORECASE)
    words = [word.lower() for word in re.findall(r"[A-Za-z']+|_|\"", quote)]
    counts = Counter([*words, *(f"{first} {second}" for first, second in itertools.pairwise(words))])
    return {f"said {word}": float(count) for word, count in counts.items() if word.strip("_ ")}


Maker = Callable[[Dossier, int], Features]
SETS: dict[str, Maker] = {
    "question and answers": answer_words,
    "marks in the quotes": quote_marks,
    "lengths of the quotes": quote_lengths,
    "overlaps": overlaps,
    "mentions": mentions,
    "places": places,
}


def together(dossier: Dossier, answer: int) -> Features:
    """All artefact features of an answer."""
    return {name: value for make in SETS.values() for name, value in make(dossier, answer).items()}


def differences(dossiers: Sequence[Dossier], make: Maker) -> list[Features]:
    """Features of answer 0 less those of answer 1, one row a dossier."""
    rows = []
    for dossier in dossiers:
        first, second = make(dossier, 0), make(dossier, 1)
        keys = first.keys() | second.keys()
        rows.append({key: first.get(key, 0.0) - second.get(key, 0.0) for key in sorted(keys)})
    return rows


def groups_of(dossiers: Sequence[Dossier]) -> list[str]:
    """Return the template of each dossier, the groups of the cross-validation."""
    return [dossier.template for dossier in dossiers]


def evaluate(
    dossiers: Sequence[Dossier], make: Maker, *, folds: int = 9, unseen: bool = True, train: Sequence[Dossier] = ()
) -> Result:
    """Cross-validate a logistic regression.

    Args:
        dossiers: What to predict.
        make: The features of one answer.
        folds: Into how many parts they are split.
        unseen: Whether the templates of a part are left out of its training, or dossiers of any template are mixed.
        train: If given, no cross-validation: train on these instead.

    Returns:
        Its accuracy over all parts.
    """
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, KFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    rows = differences([*dossiers, *train], make)
    labels = np.array([dossier.question.gold == 0 for dossier in (*dossiers, *train)])
    groups = groups_of(dossiers)
    n = len(dossiers)
    right = np.zeros(n, dtype=bool)
    if train:
        splits = [(np.arange(n, len(rows)), np.arange(n))]
    elif unseen:
        splits = list(GroupKFold(min(folds, len(set(groups)))).split(rows, labels, groups))
    else:
        splits = list(KFold(folds, shuffle=True, random_state=0).split(rows))
    for fitted, held in splits:
        # Scaled by the largest value and not centred, so that exchanging the answers only turns signs.
        model = make_pipeline(
            DictVectorizer(), MaxAbsScaler(), LogisticRegression(fit_intercept=False, C=1.0, max_iter=500)
        )
        model.fit([rows[at] for at in fitted], labels[fitted])
        right[held] = model.predict([rows[at] for at in held]) == labels[held]
    return Result(float(right.mean()), *wilson(right), _highest(right, groups))


def evaluate_trees(dossiers: Sequence[Dossier], *, folds: int = 9) -> Result:
    """Do what ``evaluate`` does on unseen templates with boosted trees, which see more than differences of means.

    Args:
        dossiers: What to predict, from all artefact features but the words of question and answers.
        folds: Into how many parts the templates are split.

    Returns:
        Their accuracy; both orders of the answers are trained on, and the order with the surer verdict counts.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.model_selection import GroupKFold

    rows = [
        {name: value for name, value in row.items() if not name.startswith("word ")}
        for row in differences(dossiers, together)
    ]
    values = DictVectorizer(sparse=False).fit_transform(rows)
    labels = np.array([dossier.question.gold == 0 for dossier in dossiers])
    groups = groups_of(dossiers)
    right = np.zeros(len(labels), dtype=bool)
    for fitted, held in GroupKFold(folds).split(values, labels, groups):
        model = HistGradientBoostingClassifier(max_iter=100, learning_rate=0.05, max_depth=4, random_state=0)
        model.fit(np.vstack([values[fitted], -values[fitted]]), np.concatenate([labels[fitted], ~labels[fitted]]))
        first = model.predict_proba(values[held])[:, 1] > model.predict_proba(-values[held])[:, 1]
        right[held] = first == labels[held]
    return Result(float(right.mean()), *wilson(right), _highest(right, groups))


def _highest(right: npt.NDArray[np.bool_], groups: Sequence[str]) -> tuple[float, str]:
    per = {group: float(right[[other == group for other in groups]].mean()) for group in set(groups)}
    return max((share, group) for group, share in per.items())


def wilson(right: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    n, share, z = len(right), float(right.mean()), 1.959964
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    return centre - half, centre + half


def near_duplicates(dossiers: Sequence[Dossier], size: int = 8) -> tuple[float, float, float]:
    """Compare stories by the word n-grams that they share.

    Args:
        dossiers: A sample.
        size: Words in an n-gram.

    Returns:
        Of all pairs of one template: the mean and the greatest Jaccard similarity, and the share of pairs above 0.5.
    """
    shingles = []
    for dossier in dossiers:
        words = (dossier.question.story or "").lower().split()
        shingles.append({" ".join(words[at : at + size]) for at in range(len(words) - size + 1)})
    scores = [
        len(first & second) / len(first | second)
        for at, first in enumerate(shingles)
        for other, second in enumerate(shingles[:at])
        if dossiers[at].template == dossiers[other].template
    ]
    return float(np.mean(scores)), max(scores), float(np.mean(np.array(scores) > 0.5))


def sample(n: int, seed: int) -> list[Dossier]:
    """Return ``n`` dossiers, two thirds of training templates and one third of held-out ones."""
    return [*generate(n - n // 3, seed), *generate(n // 3, seed, "heldout")]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dossiers", nargs="?", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    dossiers = sample(chosen.dossiers, chosen.seed)
    train = [one for one in dossiers if one.question.fold != "test"]
    heldout = [one for one in dossiers if one.question.fold == "test"]
    print(f"{len(dossiers)} dossiers, seed {chosen.seed}, {len(set(groups_of(dossiers)))} templates")
    print(f"{'features':32} {'tested on':20} {'right':>6}  {'95 % interval':15}  highest template")
    lines: list[tuple[str, str, Result]] = []
    for name, make in [*SETS.items(), ("all of these", together)]:
        lines.append((name, "unseen templates", evaluate(dossiers, make)))
        lines.append((name, "seen templates", evaluate(dossiers, make, unseen=False)))
    lines.append(("all of these, boosted trees", "unseen templates", evaluate_trees(dossiers)))
    lines.append(("control: words of the quotes", "seen templates", evaluate(dossiers, quoted_words, unseen=False)))
    lines.append(("control: words of the quotes", "unseen templates", evaluate(dossiers, quoted_words)))
    lines.append(("control: words of the quotes", "training to held-out", evaluate(heldout, quoted_words, train=train)))
    for name, where, result in lines:
        interval = f"{result.low:.3f} to {result.high:.3f}"
        print(
            f"{name:32} {where:20} {result.accuracy:6.3f}  {interval:15}  {result.highest[0]:.3f} {result.highest[1]}"
        )
    for name, some in (("training", train), ("held-out", heldout)):
        mean, highest, above = near_duplicates(some[:900])
        print(
            f"word 8-grams shared by pairs of one {name} template: mean {mean:.3f}, highest {highest:.3f}, "
            f"over 0.5: {above:.5f}"
        )


if __name__ == "__main__":
    main()
