"""Generated dossiers: the same everywhere, well formed, and nothing on their surface tells which answer is right."""

from __future__ import annotations

import collections
import hashlib
import re

import pytest

from benchmarks import dossier_artefacts
from debate.dossiers.balance import FEATURES
from debate.dossiers.dossier import SHARES, Dossier, generate, recall
from debate.dossiers.template import KINDS, POOLS, Pool, templates
from debate.dossiers.wording import Slot
from debate.errors import SourceError
from debate.question import Question
from debate.quotes import quote_span
from debate.sentences import sentence_spans
from debate.sources import load, select


@pytest.fixture(scope="module")
def dossiers() -> list[Dossier]:
    return dossier_artefacts.sample(1800, 11)


def story(dossier: Dossier) -> str:
    assert dossier.question.story is not None
    return dossier.question.story


def digest(questions: list[Question]) -> str:
    parts = [part for one in questions for part in (one.id, one.text, *one.answers, str(one.gold), str(one.story))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def test_the_source_gives_questions() -> None:
    source = "dossiers:40?seed=3"
    questions = load(source)
    assert len(questions) == len({one.id for one in questions}) == len({one.story_id for one in questions}) == 40
    assert {one.source for one in questions} == {source}
    assert questions[7].id == questions[7].story_id == "dossier-3-7"
    assert all(len(one.answers) == 2 and {one.gold, one.distractor} == {0, 1} for one in questions)
    assert {one.fold for one in questions} == {"judge", "debater", "validation"}
    assert {one.fold for one in select(questions, fold="debater")} == {"debater"}
    heldout = load("dossiers:5?seed=-3&templates=heldout")
    assert [one.id for one in heldout] == [f"dossier-heldout--3-{at}" for at in range(5)]
    assert {one.fold for one in heldout} == {"test"}
    assert load("dossiers:1")[0].id == "dossier-0-0"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("dossiers:", "names no N?seed=S; write dossiers:N?seed=S"),
        ("dossiers:0", "'0' is not a number of dossiers; write one from 1 to 1000000"),
        ("dossiers:-4", "'-4' is not a number"),
        ("dossiers:many", "'many' is not a number"),
        ("dossiers:5?seed=one", "seed is 'one'; write a whole number"),
        ("dossiers:5?sed=1", "unknown option 'sed'; did you mean 'seed'? (known: seed, templates)"),
        ("dossiers:5?templates=held", "no templates 'held'; did you mean 'heldout'? (known: heldout, train)"),
    ],
)
def test_wrong_sources_say_what_to_do(source: str, message: str) -> None:
    with pytest.raises(SourceError) as error:
        load(source)
    assert message in str(error.value)


def test_dossiers_are_the_same_whatever_their_number_and_everywhere() -> None:
    few, many = load("dossiers:20?seed=5"), load("dossiers:60?seed=5")
    assert digest(list(few)) == digest(list(many[:20]))
    assert digest(list(few)) != digest(list(load("dossiers:20?seed=6")))
    # Made on CPython 3.11, x86-64, Linux. It changes with every change of the texts, and only then.
    assert digest(list(load("dossiers:60?seed=1"))) == "8193734ca41290db"
    assert digest(list(load("dossiers:60?seed=1&templates=heldout"))) == "c782b6d1a42ca579"


def test_a_dossier_is_made_again_from_its_question() -> None:
    for pool in POOLS:
        made = list(generate(4, 9, pool, source="x"))[-1]
        again = recall(made.question.id)
        assert (story(again), again.decisive, again.misleading) == (story(made), made.decisive, made.misleading)
    with pytest.raises(SourceError, match="'bench-three-1' is not the id of a dossier"):
        recall("bench-three-1")


def test_there_are_enough_templates_and_genres() -> None:
    train, heldout = (templates(pool) for pool in POOLS)
    assert len(train) >= 16
    assert len(heldout) >= 8
    genres: dict[Pool, set[str]] = {pool: {one.genre for one in templates(pool)} for pool in POOLS}
    assert len(genres["train"]) + len(genres["heldout"]) >= 8
    assert not genres["train"] & genres["heldout"]
    assert len({one.id for one in (*train, *heldout)}) == len(train) + len(heldout)


def test_no_wording_is_shared_by_training_and_held_out_templates() -> None:
    def sentences(pool: Pool) -> set[str]:
        runs = [
            run
            for template in templates(pool)
            for one in template.evidence.values()
            for run in (*one.decisive, *one.misleading)
        ]
        texts = ("".join(piece if isinstance(piece, str) else "_" for piece in run) for run in runs)
        words = [re.findall(r"[a-z']+|_", text.lower()) for text in texts]
        return {" ".join(run[at : at + 7]) for run in words for at in range(len(run) - 6)}

    assert len(sentences("train") & sentences("heldout")) == 0


def test_both_sides_can_quote_a_sentence_that_names_their_answer_only(dossiers: list[Dossier]) -> None:
    for dossier in dossiers:
        text = story(dossier)
        spans = sentence_spans(text)
        assert dossier.decisive in spans
        assert dossier.misleading in spans
        assert dossier.quote(dossier.question.gold or 0) == text[slice(*dossier.decisive)]
        for answer in (0, 1):
            quote = dossier.quote(answer).lower()
            own, other = (dossier.labels[at].lower() for at in (answer, 1 - answer))
            assert len(re.findall(rf"\b{re.escape(own)}\b", quote)) == 1, (dossier.template, quote)
            assert not re.search(rf"\b{re.escape(other)}\b", quote), (dossier.template, quote)
            assert own in dossier.question.answers[answer].lower()
        for span in (dossier.decisive, dossier.misleading):
            verified = quote_span(text, *span)
            assert verified.verified
            assert verified.span == span


def test_stories_are_prose_of_the_right_length_and_no_two_are_alike(dossiers: list[Dossier]) -> None:
    texts = [story(dossier) for dossier in dossiers]
    assert len(set(texts)) == len(texts)
    lengths = [len(text.split()) for text in texts]
    assert min(lengths) >= 150
    assert max(lengths) <= 400
    for text in texts:
        assert not re.search(r"[{}\[\]|_]|  | [,.;]|\.\.|,,|\ba [aeio]", text.replace("a one", "")), text
        assert all(text[start].isupper() or text[start] in "\"'" for start, _ in sentence_spans(text)), text
        assert 3 <= text.count("\n\n") + 1 <= 14
    mean, highest, above = dossier_artefacts.near_duplicates(dossiers[:400])
    assert mean < 0.2
    assert highest < 0.5
    assert above == 0


def test_kinds_folds_and_coins_are_balanced(dossiers: list[Dossier]) -> None:
    kinds = collections.Counter(dossier.kind for dossier in dossiers)
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) > len(dossiers) / 4 * 0.85
    # Coin flips: 1,800 of them lie within 0.46 to 0.54 but once in a thousand times, and the seed is fixed.
    first = [story(one).lower().find(label.lower()) for one in dossiers for label in one.labels]
    golds = [one.question.gold or 0 for one in dossiers]
    coins = {
        "gold is answer 0": [gold == 0 for gold in golds],
        "decisive comes first": [one.decisive < one.misleading for one in dossiers],
        "gold is named first": [first[2 * at + gold] < first[2 * at + 1 - gold] for at, gold in enumerate(golds)],
        "gold comes first by the alphabet": [
            one.labels[gold] < one.labels[1 - gold] for one, gold in zip(dossiers, golds, strict=True)
        ],
    }
    for name, coin in coins.items():
        assert 0.46 < sum(coin) / len(coin) < 0.54, name
    folds = collections.Counter(one.question.fold for one in dossiers)
    for fold, share in SHARES:
        assert folds[fold] / (len(dossiers) - folds["test"]) == pytest.approx(share / 100, abs=0.05)


@pytest.mark.parametrize("pool", POOLS)
def test_the_wordings_of_every_template_look_alike_on_both_sides(pool: Pool) -> None:
    for template in templates(pool):
        for feature, left in zip(FEATURES, template.residual, strict=True):
            assert abs(left) < 0.15, f"{template.id}: {feature} tells the sides apart; vary the wordings"


def test_no_artefact_gives_the_answer_away(dossiers: list[Dossier]) -> None:
    """A small version of benchmarks/dossier_artefacts.py; the interval of 1,800 dossiers is 2.3 points to each side."""
    for name, make in [*dossier_artefacts.SETS.items(), ("all", dossier_artefacts.together)]:
        assert dossier_artefacts.evaluate(dossiers, make, folds=4).accuracy <= 0.575, name
    control = dossier_artefacts.evaluate(dossiers, dossier_artefacts.quoted_words, folds=3, unseen=False)
    assert control.accuracy > 0.9


@pytest.mark.parametrize("pool", POOLS)
def test_nobody_is_both_an_eyewitness_and_a_teller_of_hearsay(pool: Pool) -> None:
    for template in templates(pool):
        one = template.evidence["hearsay"]
        seen, told = (
            {piece.name for run in side for piece in run if isinstance(piece, Slot)} & set("bcdefgh")
            for side in (one.decisive, one.misleading)
        )
        assert not seen & told, template.id
