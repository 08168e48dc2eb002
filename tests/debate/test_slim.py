"""Debates as a run holds them in memory: equal to what was read, with one object for what is there twice."""

from __future__ import annotations

import dataclasses

from debate.question import Question
from debate.quotes import parse_argument
from debate.record import Debate, from_json, slim, to_json
from debate.transcript import Candidate, Transcript, Turn

QUESTION = Question("q", "Who?", ("Ann", "Bob"), 0, "Ann went to the sea. Bob stayed at home.", "s", "here")


def spoken(text: str, *, flaws: tuple[str, ...] = ()) -> Candidate:
    return Candidate(f"raw {text}", parse_argument(text, QUESTION.story), f"thought of {text}", flaws)


def debate(*turns: Turn) -> Debate:
    """A debate as it comes from a store: nothing in it is the same object as anything else."""
    return from_json(Debate, to_json(Debate("d", "simultaneous", Transcript(QUESTION, turns=turns), ("a", "b"))))


def test_a_slim_debate_is_equal_and_shares_question_and_spoken_candidates() -> None:
    first, second = spoken("<quote>Ann went to the sea</quote>"), spoken("No.", flaws=("no quote",))
    read = debate(*(Turn.choose((first, second), index, round_=1, answer=index) for index in (0, 1)))
    found = slim(read, QUESTION)
    assert found == read
    assert found.transcript.question is QUESTION
    for index, turn in enumerate(found.transcript.turns):
        assert turn.argument is turn.candidates[index].argument
        assert turn.thinking is turn.candidates[index].thinking
        assert turn.flaws is turn.candidates[index].flaws


def test_what_differs_stays_as_it_was() -> None:
    kept = spoken("One thing.")
    turns = (
        Turn(1, "debater", 0, parse_argument("Another.", None), candidates=(kept,)),
        Turn(1, "debater", 1, kept.argument, "another thought", candidates=(kept,)),
        Turn(2, "judge", None, parse_argument("Why?", None)),
    )
    read = debate(*turns)
    assert slim(read, QUESTION) == read
    other = dataclasses.replace(QUESTION, gold=1)
    assert slim(read, other) == read
    assert slim(read, other).transcript.question is read.transcript.question
