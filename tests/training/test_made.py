from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from pydantic import ValidationError

from debate.dossiers.dossier import recall
from debate.errors import ConfigError, SourceError
from debate.question import Question
from debate.quotes import Quote, hold_to, parse_argument, to_markup
from debate.record import Debate, Recorded, from_json, to_json
from debate.sources import load
from debate.transcript import Turn
from training import wordings
from training.baseline import marks_baseline
from training.made import KINDS, MadeConfig, make_debates
from training.named_evidence import exchange_names, named_evidence

DOSSIERS = load("dossiers:400?seed=11")
ALL_KINDS = MadeConfig(rounds=2, protocols={"simultaneous": 0.7, "consultancy": 0.3})


@pytest.fixture(scope="module")
def made() -> list[Recorded]:
    return make_debates(DOSSIERS, ALL_KINDS)


@pytest.fixture(scope="module")
def many() -> list[Recorded]:
    return make_debates(load("dossiers:1000?seed=6"), MadeConfig())


def turns(recorded: Sequence[Recorded], *, right: bool) -> list[Turn]:
    """First speeches of the right or the wrong side."""
    return [
        turn
        for item in recorded
        for turn in item.debate.transcript.turns
        if turn.round == 1 and (turn.answer == item.debate.transcript.question.gold) == right
    ]


def pattern(turn: Turn) -> str:
    return "".join("v" if quote.verified else "u" for quote in turn.argument.quotes)


def test_every_speech_is_one_that_a_debater_could_have_written(made: list[Recorded]) -> None:
    for item in made:
        transcript = item.debate.transcript
        question = transcript.question
        for turn in transcript.turns:
            assert turn.answer is not None
            argument = turn.argument
            seat = transcript.seat_of(turn.answer)
            literal = (question.text, *question.answers)
            again = parse_argument(to_markup(argument, seat=seat), question.story, seat=seat, literal=literal)
            assert again.render(seat) == argument.render(seat)
            assert [(quote.text, quote.verified, quote.span) for quote in again.quotes] == [
                (quote.text, quote.verified, quote.span) for quote in argument.quotes
            ]
            assert hold_to(argument, question.story) is argument
            own = question.answers[turn.answer]
            assert own in argument.plain()
            assert turn.candidates[0].argument == argument
            assert 25 <= argument.words <= 60 or turn.flaws


def test_few_speeches_are_outside_the_words(made: list[Recorded]) -> None:
    flaws = [flaw for item in made for turn in item.debate.transcript.turns for flaw in turn.flaws]
    speeches = sum(len(item.debate.transcript.turns) for item in made)
    assert sum("words" in flaw for flaw in flaws) < 0.02 * speeches


def test_debates_are_kept_like_any_other_and_are_the_same_again(made: list[Recorded]) -> None:
    assert [from_json(Debate, to_json(item.debate)) for item in made] == [item.debate for item in made]
    assert make_debates(DOSSIERS, ALL_KINDS) == made
    assert make_debates(DOSSIERS[50:60], ALL_KINDS) == made[50:60]
    assert len({item.debate.id for item in made}) == len(made)
    assert make_debates(DOSSIERS[:9], ALL_KINDS.model_copy(update={"seed": 1})) != made[:9]


def test_what_the_kinds_quote(many: list[Recorded]) -> None:
    counts: Counter[str] = Counter()
    for item in many:
        question, kind = item.debate.transcript.question, item.debate.tags["made"]
        counts[kind] += 1
        dossier = recall(question.id)
        gold = question.gold
        assert gold is not None
        quotes = {turn.answer: turn.argument.quotes for turn in item.debate.transcript.turns}
        true = {answer: {quote.text for quote in found if quote.verified} for answer, found in quotes.items()}
        false = {answer: [quote for quote in found if not quote.verified] for answer, found in quotes.items()}
        names = {answer: dossier.quote(answer) in true[answer] for answer in (0, 1)}
        match kind:
            case "both":
                assert names[0]
                assert names[1]
            case "forged":
                assert names[gold]
                label = dossier.labels[1 - gold].lower()
                assert any(label in quote.text.lower() for quote in false[1 - gold])
            case "filler":
                assert names[gold]
                assert not names[1 - gold]
                assert true[1 - gold]
            case "bare":
                assert sorted(len(found) > 0 for found in quotes.values()) == [False, True]
        for answer in (0, 1):
            assert dossier.quote(1 - answer) not in true[answer]
    assert set(counts) == set(KINDS)
    assert counts["both"] == pytest.approx(600, abs=62)  # four standard deviations
    assert counts["forged"] == pytest.approx(250, abs=55)


def test_both_sides_show_the_same_marks_as_often(many: list[Recorded]) -> None:
    counts = [Counter(pattern(turn) for turn in turns(many, right=right)) for right in (True, False)]
    for shown in ("v", "uv", "vu", "vv", ""):
        one, other = counts[0][shown], counts[1][shown]
        assert abs(one - other) < 4 * np.sqrt(one + other)  # four standard deviations of a difference of counts
    assert set(counts[0]) == set(counts[1]) == {"v", "uv", "vu", "vv", ""}


def test_marks_words_and_overlaps_tell_next_to_nothing(many: list[Recorded]) -> None:
    unseen = make_debates(load("dossiers:500?seed=4&templates=heldout"), MadeConfig())
    assert marks_baseline(many[:500], many[500:]).value <= 0.62
    assert marks_baseline(many, unseen).value <= 0.57


def classify(texts: Sequence[tuple[str, str]], gold: Sequence[int]) -> float:
    """Accuracy on the second half of a regression on the words of both sides, fitted on the first."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    counter = CountVectorizer(ngram_range=(1, 2), min_df=5, binary=True)
    counter.fit([text for pair in texts for text in pair])
    first, second = (counter.transform([pair[side] for pair in texts]).toarray().astype(float) for side in (0, 1))
    x, y = first - second, np.array(gold) == 0
    half = len(y) // 2
    model = LogisticRegression(C=0.05, fit_intercept=False).fit(x[:half], y[:half])
    return float((model.predict(x[half:]) == y[half:]).mean())


def prose(turn: Turn) -> str:
    return " ".join(span if isinstance(span, str) else "Debater" for span in turn.argument.spans if not_quote(span))


def not_quote(span: object) -> bool:
    return not isinstance(span, Quote)


def test_wordings_tell_nothing_and_quotes_tell(many: list[Recorded]) -> None:
    gold = [item.debate.transcript.question.gold or 0 for item in many]
    sides = []
    for item in many:
        by_answer = sorted(item.debate.transcript.turns, key=lambda turn: turn.answer or 0)
        question = item.debate.transcript.question
        sides.append([(prose(turn).replace(question.answers[turn.answer or 0], ""), turn) for turn in by_answer])
    told = classify([(one[0], other[0]) for one, other in sides], gold)
    assert told == pytest.approx(0.5, abs=0.09)  # four standard deviations of 500
    quoted = [tuple(" ".join(quote.text for quote in turn.argument.quotes) for _, turn in pair) for pair in sides]
    assert classify([(one, other) for one, other in quoted], gold) > 0.65


def test_shuffled_quotes_say_nothing(many: list[Recorded]) -> None:
    shuffled = make_debates([item.debate.transcript.question for item in many], MadeConfig(quotes="shuffled"))
    # The same patterns of marks, in the same pairs; only whose they are has changed.
    pairs = [
        Counter(tuple(sorted(pattern(turn) for turn in item.debate.transcript.turns)) for item in recorded)
        for recorded in (many, shuffled)
    ]
    assert pairs[0] == pairs[1]
    for item in shuffled[:200]:
        story = item.debate.transcript.question.story or ""
        for turn in item.debate.transcript.turns:
            assert item.debate.transcript.question.answers[turn.answer or 0] in turn.argument.plain()
            for quote in turn.argument.quotes:
                # Of two stories of one template a stock sentence may stand in both.
                assert quote.span is None
                if quote.verified and len(quote.text.split()) > 14:
                    assert quote.text not in story
    gold = [item.debate.transcript.question.gold or 0 for item in shuffled]
    quoted = []
    for item in shuffled:
        by_answer = sorted(item.debate.transcript.turns, key=lambda turn: turn.answer or 0)
        one, other = (" ".join(quote.text for quote in turn.argument.quotes) for turn in by_answer)
        quoted.append((one, other))
    assert classify(quoted, gold) == pytest.approx(0.5, abs=0.09)
    assert marks_baseline(shuffled[:500], shuffled[500:]).value == pytest.approx(0.5, abs=0.09)


def test_few_stories_cannot_be_shuffled() -> None:
    with pytest.raises(ConfigError, match="cannot be shuffled: 1 of them"):
        make_debates(DOSSIERS[:1], MadeConfig(quotes="shuffled"))


def test_consultants_are_right_half_the_time() -> None:
    made = make_debates(DOSSIERS, MadeConfig(protocols={"consultancy": 1.0}, rounds=2))
    assigned = Counter(item.debate.tags["assigned"] for item in made)
    assert assigned["right"] == pytest.approx(200, abs=40)
    for item in made:
        gold, spoken = item.debate.transcript.question.gold, item.debate.transcript.turns
        assert [turn.role for turn in spoken] == ["consultant", "consultant"]
        answer = spoken[0].answer
        assert item.debate.players == (("made", None) if answer == 0 else (None, "made"))
        assert (item.debate.tags["assigned"] == "right") == (answer == gold)
        assert "Debater" not in item.debate.transcript.turns[0].argument.render("A")


def test_shipped_stories_are_argued_from_their_authors_evidence() -> None:
    questions = load("shipped:stories")
    made = make_debates(questions, MadeConfig())
    assert len(made) == len(questions)
    assert {item.debate.tags["made"] for item in made} == {"both", "filler", "bare"}
    for item in made:
        named = named_evidence(item.debate.transcript.question).quotes
        if item.debate.tags["made"] == "both":
            for turn in item.debate.transcript.turns:
                assert {quote.text for quote in named[turn.answer or 0]} & {q.text for q in turn.argument.quotes}


def test_other_sources_are_refused_with_what_to_do() -> None:
    question = Question("q", "Who?", ("Ana.", "Tomas."), 0, "A story.", "s", "questions:mine.jsonl")
    with pytest.raises(SourceError, match=r"'q' of 'questions:mine.jsonl'.*dossiers:N or shipped:stories"):
        make_debates([question], MadeConfig())
    with pytest.raises(SourceError, match="not the id of a dossier"):
        make_debates([Question("q", "Who?", ("Ana.", "Tomas."), 0, "A story.", "s", "dossiers:3")], MadeConfig())
    with pytest.raises(SourceError, match="known to be right"):
        make_debates([Question("q", "Who?", ("Ana.", "Tomas."), None, "A story.", "s", "dossiers:3")], MadeConfig())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"min_words": 61}, "min_words 61 is more than max_words 60"),
        ({"max_words": 50}, "what is left out tells who is right"),
        ({"kinds": {"both": 0}}, "no shares"),
        ({"protocols": {"simultaneous": -1, "consultancy": 2}}, "no shares"),
        ({"protocols": {"sequential": 1}}, "simultaneous"),
        ({"rounds": 4}, "less than or equal to 3"),
    ],
)
def test_wrong_configurations(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MadeConfig.model_validate(values)


def test_names_are_exchanged_at_once() -> None:
    names = {"the Gap": "Lake Hut", "Lake Hut": "the Gap"}
    assert exchange_names("The Gap got the fuel, not Lake Hut.", names) == "Lake Hut got the fuel, not the Gap."
    assert exchange_names('"Lake Hut," he said.', names) == '"The Gap," he said.'
    people = {"Ana": "Mr Roy", "Mr Roy": "Ana", "Ana Lind": "Tom Roy", "Tom Roy": "Ana Lind"}
    assert exchange_names("Ana Lind and Mr Roy saw Anabel.", people) == "Tom Roy and Ana saw Anabel."


def test_wordings_are_many_and_say_what_they_may() -> None:
    assert len(wordings.CLAIMS) >= 30
    assert len(wordings.FOLLOW_UPS) >= 20
    assert len(wordings.DOUBTS) + len(wordings.REPROACHES) >= 20
    assert all("{answer}" in text for text in (*wordings.CLAIMS, *wordings.RESTATEMENTS))
    assert all("{opponent}" in text for text in wordings.REPROACHES)
    every = [text for name in dir(wordings) if name.isupper() for text in getattr(wordings, name)]
    assert len(set(every)) == len(every)
    assert not any(re.search(r"[{}]", re.sub(r"\{(answer|opponent|it)\}", "", text)) for text in every)
