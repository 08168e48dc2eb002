from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.sentences import cut_at_sentence, is_ended, sentence_spans

PROSE = st.lists(
    st.sampled_from(
        [
            "Ana",
            "left",
            "Mr.",
            "J.",
            "home.",
            "why?",
            '"Stop!"',
            "she",
            "\n\n",
            "(Yes.)",
            "…",
            "3.5",
            "No.",
            "etc.",
            ".",
        ]
    ),
    max_size=30,
).map(" ".join)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("Ana left.", ["Ana left."]),
        ("Ana left. Tomas stayed! Why?", ["Ana left.", "Tomas stayed!", "Why?"]),
        ("Mr. Smith met Dr. J. R. Bell. They spoke.", ["Mr. Smith met Dr. J. R. Bell.", "They spoke."]),
        ('"Stop!" she said. "Why?" he asked.', ['"Stop!" she said.', '"Why?" he asked.']),
        ("“Go.” He went.", ["“Go.”", "He went."]),
        ("It cost $3.50 in all. Cheap.", ["It cost $3.50 in all.", "Cheap."]),
        ("A title\n\nThe story began", ["A title", "The story began"]),
        ("Wait… what? Yes.", ["Wait… what?", "Yes."]),
        ("So did I. Then we left.", ["So did I.", "Then we left."]),
        ("He said no. Then he left.", ["He said no.", "Then he left."]),
        ("See No. 5 and Fig. 2 here. Good.", ["See No. 5 and Fig. 2 here.", "Good."]),
        ("(He left.) She stayed.", ["(He left.)", "She stayed."]),
    ],
)
def test_known_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.one_of(st.text(), PROSE))
def test_spans_are_in_order_and_cover_every_character_that_shows(text: str) -> None:
    position = 0
    for start, end in sentence_spans(text):
        assert position <= start < end <= len(text)
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()


@given(st.one_of(st.text(), PROSE), st.integers(-2, 20))
def test_a_cut_is_a_beginning_within_the_words(text: str, words: int) -> None:
    cut = cut_at_sentence(text, words)
    assert text.startswith(cut)
    assert len(cut.split()) <= max(0, words)
    if len(text.split()) <= words:
        assert cut == text
    elif words > 0:
        assert cut.strip()  # never cut to nothing


def test_a_cut_ends_at_a_sentence() -> None:
    text = "One two three. Four five six. Seven eight nine."
    assert cut_at_sentence(text, 8) == "One two three. Four five six."
    assert cut_at_sentence(text, 6) == "One two three. Four five six."
    assert cut_at_sentence(text, 5) == "One two three."
    assert cut_at_sentence(text, 2) == "One two"
    assert cut_at_sentence(text, 0) == ""


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("He left.", True),
        ("He said “no.” ", True),
        ("(Why?)", True),
        ("Well…", True),
        ("The story says:", False),
        ("He le", False),
        ("", False),
    ],
)
def test_ended(text: str, ended: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_ended(text) is ended


def test_long_texts_take_linear_time() -> None:
    assert len(sentence_spans("He left. " * 50_000)) == 50_000
    assert sentence_spans("." * 100_000) == ((0, 100_000),)
