"""What is a name, and what only looks like one; shown by exchanging the seats, which moves names and nothing else."""

from __future__ import annotations

import pytest

from debate.names import Name
from debate.quotes import Quote, parse_argument, parse_plain, reverify

STORY = 'The hit was on side B of the record, she said. "Take Option (A)," he wrote. Debater A won. Speaker B hummed.'


def exchanged(text: str, story: str | None = STORY, literal: tuple[str, ...] = ()) -> str:
    return parse_argument(text, story, seat="A", literal=literal).render("B")


@pytest.mark.parametrize(
    "text",
    [
        "It was on side B of the record.",
        "Side B held it.",
        'It was on side "B".',
        "She took option A, not the rest.",
        "She took Option (A).",
        "The hum of speaker B filled it.",
        "In the film, position A is north.",
        "A's claim fails, and so does B's.",
        "Debaters A and B agree, and so would debater A or B.",
        'Neither Debater "A" nor "B" does; Answer A/B is open; Answer (A) or (B)?',
        "Give each debater a lie to tell, the speaker a hat, and a debater a day.",
        "The debater a says nothing of is unnamed.",
        "An option b, an answer a.",
    ],
)
def test_what_is_no_seat_stays_text(text: str) -> None:
    known = ("Which way is position A?", "It was on side A.", "It was on side B.")
    assert exchanged(text, literal=known) == text


@pytest.mark.parametrize(
    ("text", "swapped"),
    [
        ("It was on side A of the record.", "It was on side B of the record."),  # the story knows a side B only
        ("Debater A's claim, Consultant B’s", "Debater B's claim, Consultant A’s"),
        ("Debater A won, as the story says.", "Debater B won, as the story says."),  # whatever the story calls so
        ("What debater b said fails, debater b's too", "What debater A said fails, debater A's too"),
        ("debater a's claim; debater a says so, as does debater a.", "debater B's claim; debater B says so, as does "),
        ("“Debater “A”, Debater ‘B’, Debater *A*, Debater `B`", "“Debater B, Debater A, Debater B, Debater A"),
        ("Debater A and a witness; Debater B and Bo", "Debater B and a witness; Debater A and Bo"),
        ("Position A is mine.", "Position B is mine."),
    ],
)
def test_what_names_a_seat_follows_it(text: str, swapped: str) -> None:
    assert exchanged(text).startswith(swapped)
    assert exchanged(text, None).startswith(swapped)


def test_an_answer_end_and_the_next_answers_start_are_no_phrase() -> None:
    assert exchanged("On side A.", None, ("The far side", "A man did it.")) == "On side B."


def test_a_phrase_of_a_long_story_is_found() -> None:
    story = (
        "He walked on and on, and nothing came of it. " * 100 + "At last he turned to side A. " + "So it went. " * 100
    )
    assert exchanged("He turned to side A.", story) == "He turned to side A."
    assert exchanged("He turned to side B.", story) == "He turned to side A."


def test_what_a_judge_says_has_names_and_no_quotes() -> None:
    said = parse_plain(
        "Debater A, where does it say <quote>she lied</quote>? Or on side B?", seat="A", literal=(STORY,)
    )
    assert said.spans == (Name("self", "Debater"), ", where does it say ", '"she lied"', "? Or on side B?")
    assert said.render("B") == 'Debater B, where does it say "she lied"? Or on side B?'


def test_verifying_again_changes_quotes_alone() -> None:
    before = parse_argument("Debater B: <quote>side B of the record</quote>, <quote>not there</quote>", None, seat="A")
    spans = ("On side A. ", *before.spans)
    after = reverify(type(before)(spans), STORY)
    assert after.spans[:3] == ("On side A. ", Name("opponent", "Debater"), ": ")
    at = STORY.index("side B")
    assert after.quotes[0] == Quote("side B of the record", verified=True, span=(at, at + 20))
    assert not after.quotes[1].verified
    assert after.quotes[1].nearest is not None
    assert not reverify(after, "Another story.").quotes[0].verified
