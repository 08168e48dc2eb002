"""The published human and GPT-4 debates, held against the accuracies published with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from debate.quotes import MIN_CHARACTERS, MIN_WORDS
from debate.sources import load
from debate.sources.nyu import Recorded, load_debates

pytestmark = pytest.mark.external


@pytest.fixture(scope="module")
def archive(check_data: Path) -> Path:
    return check_data / "nyu-human-debates.tar.gz"


@pytest.fixture(scope="module")
def recorded(archive: Path) -> list[Recorded]:
    return load_debates(archive)


def on_gold(records: list[Recorded]) -> list[float]:
    probabilities = []
    for record in records:
        gold = record.debate.transcript.question.gold
        if record.final is not None and record.final.probabilities is not None and gold is not None:
            probabilities.append(record.final.probabilities[gold])
    return probabilities


@pytest.mark.parametrize(
    ("setting", "rooms", "accuracy", "mean"),
    [
        ("human debate", 154, "84.42", "0.7941"),
        ("human consultancy", 96, "73.96", "0.6973"),
        ("AI debate", 87, "78.16", "0.7539"),
        ("AI consultancy", 76, "80.26", "0.7650"),
    ],
)
def test_accuracy_of_the_rooms_in_the_paper(
    recorded: list[Recorded], setting: str, rooms: int, accuracy: str, mean: str
) -> None:
    counted = [
        record
        for record in recorded
        if record.debate.tags["included_in_paper"] == "true"
        and record.debate.tags["status"] == "Complete"
        and record.debate.tags["setting"] == setting
    ]
    probabilities = on_gold(counted)
    assert len(counted) == len(probabilities) == rooms
    assert f"{100 * sum(p > 0.5 for p in probabilities) / rooms:.2f}" == accuracy
    assert f"{sum(probabilities) / rooms:.4f}" == mean


@pytest.mark.parametrize(("form", "rooms", "accuracy"), [("debate", 313, "84.66"), ("consultancy", 204, "75.00")])
def test_accuracy_of_all_rooms_that_the_judge_ended(
    recorded: list[Recorded], form: str, rooms: int, accuracy: str
) -> None:
    ended = [record for record in recorded if record.debate.tags["form"] == form and record.final is not None]
    probabilities = on_gold(ended)
    assert len(probabilities) == rooms
    assert f"{100 * sum(p > 0.5 for p in probabilities) / rooms:.2f}" == accuracy


def test_speeches_and_quotes_of_the_debates(recorded: list[Recorded]) -> None:
    debates = [record.debate for record in recorded if record.debate.tags["form"] == "debate" and record.final]
    speeches = [turn for debate in debates for turn in debate.transcript.turns if turn.role == "debater"]
    quotes = [quote for speech in speeches for quote in speech.argument.quotes]
    assert len(speeches) == 1854
    assert len(quotes) == 4411
    # People could mark any range, so some are shorter than what we let a quote be; one holds no word at all.
    unverified = [quote.text for quote in quotes if not quote.verified]
    short = [text for text in unverified if len(text.split()) < MIN_WORDS and len(text) < MIN_CHARACTERS]
    assert len(short) == 264
    assert [text for text in unverified if text not in short] == [", ' ''"]


def test_verified_quotes_are_the_storys_text(recorded: list[Recorded]) -> None:
    for record in recorded:
        story = record.debate.transcript.question.story or ""
        for turn in record.debate.transcript.turns:
            for quote in turn.argument.quotes:
                if quote.verified:
                    assert quote.span is not None
                    assert " ".join(story[slice(*quote.span)].split()) == quote.text


def test_rooms_are_read_whole(recorded: list[Recorded]) -> None:
    assert len(recorded) == 631
    by_name = {record.debate.id: record for record in recorded}
    room = by_name["a-pail-of-air-0"]  # the values below were read off the published file by eye
    transcript = room.debate.transcript
    question = transcript.question
    assert question.text == "What are the layers of frozen material, from bottom to top?"
    assert question.gold is not None
    assert question.answers[question.gold] == "Water, carbon dioxide, nitrogen, oxygen, helium"
    assert question.answers[transcript.seats[0]] == "Water, nitrogen, carbon dioxide, oxygen, helium"
    assert room.debate.players[transcript.seats[0]] == "Crispy Crumbleton"
    assert room.debate.players[transcript.seats[1]] == "Tazzy Tumbleweed"
    assert room.debate.tags["judge"] == "Osmanth Oatcake"
    first = next(turn for turn in transcript.turns if turn.answer == transcript.seats[0])
    assert len(first.argument.quotes) == 3
    live = [verdict for verdict in room.verdicts if verdict.judge == "Osmanth Oatcake"]
    assert [(verdict.round, verdict.probabilities[question.gold]) for verdict in live if verdict.probabilities] == [
        (0, 0.71),
        (1, 0.64),
        (None, 0.99),
    ]
    offline = [verdict for verdict in room.verdicts if verdict.judge == "Lulu Lemonade (offline, stepped)"]
    assert [verdict.round for verdict in offline] == [0, 1, None]
    consultancy = by_name["ambition-8"].debate
    assert consultancy.protocol == "consultancy"
    assert sorted(player or "" for player in consultancy.players) == ["", "Gigglesworth Grapevine"]


def test_rooms_on_one_question_share_it(archive: Path, recorded: list[Recorded]) -> None:
    questions = {question.id: question for question in load(f"nyu:{archive}")}
    assert len(questions) == 342
    assert len({question.story_id for question in questions.values()}) == 96
    for record in recorded:
        mine = record.debate.transcript.question
        assert (questions[mine.id].answers, questions[mine.id].gold) == (mine.answers, mine.gold)


def test_a_judge_that_names_a_debater_names_the_same_one_when_the_seats_are_exchanged(recorded: list[Recorded]) -> None:
    named = 0
    for record in recorded:
        transcript = record.debate.transcript
        said, exchanged = (
            [turn.text for turn in seen.view().turns if turn.seat is None]
            for seen in (transcript, transcript.swapped())
        )
        if re.search(r"\b(?:debater|consultant) [AB]\b", " ".join(said), re.IGNORECASE):
            named += 1
            assert said != exchanged
    assert named == 41
