"""What a person sees of a debate now: the speeches that are revealed, and what is asked of the person next."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from debate.quotes import Seat
from debate.record import Debate
from debate.report.speech import Passage, speech_html
from debate.view import View, ViewTurn
from tournaments.room import Room
from tournaments.room_journal import Given
from tournaments.room_live import Asking, Failed, LiveDebates, Speaking

Kind = Literal["judge", "belief", "question", "speaking", "failed", "done"]


@dataclass(frozen=True, slots=True)
class ShownSpeech:
    """One speech on a page.

    Attributes:
        seat: The speaker's seat; None for the judge.
        to: The seat of whom the judge addresses, where that is one of two.
        speaker: How the speaker is called.
        html: What it said; empty where it said nothing.
        quotes: How many quotes it holds.
    """

    seat: Seat | None
    to: Seat | None
    speaker: str
    html: Markup
    quotes: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A debate as the person who judges it sees it: nothing that a model that judges would not be shown.

    Attributes:
        question: The question.
        answers: The answers, that of seat A first.
        rounds: The speeches by round, as far as they are revealed.
        layout: "facing" for two who speak to each other, "apart" for two consultants, "alone" for one.
        quotes: Whether anything is quoted.
    """

    question: str
    answers: tuple[str, ...]
    rounds: tuple[tuple[int, tuple[ShownSpeech, ...]], ...]
    layout: str
    quotes: bool

    @staticmethod
    def of(view: View, last: int | None = None, passages: list[Passage] | None = None) -> Shown:
        """Show a judge's view.

        Args:
            view: The view.
            last: The last round that is revealed; None for all.
            passages: Where the story is shown too: quoted passages are added here, and quotes link to them.
        """
        turns = [turn for turn in view.turns if last is None or turn.round <= last]
        speeches = [(turn.round, _speech(turn, passages)) for turn in turns]
        return Shown(
            view.question,
            view.answers,
            tuple(
                (number, tuple(speech for _, speech in group))
                for number, group in itertools.groupby(speeches, lambda pair: pair[0])
            ),
            _layout(view.turns),
            any(speech.quotes for _, speech in speeches),
        )


def _speech(turn: ViewTurn, passages: list[Passage] | None) -> ShownSpeech:
    quotes = turn.argument.quotes
    anchors: list[int | None] = []
    for quote in quotes:
        if passages is None or quote.span is None:
            anchors.append(None)
            continue
        passages.append(Passage(len(passages) + 1, *quote.span, f"{turn.speaker} in round {turn.round}"))
        anchors.append(len(passages))
    html = speech_html(turn.argument, turn.frame, anchors)
    return ShownSpeech(turn.seat, turn.to, turn.speaker, html, len(quotes))


def _layout(turns: Sequence[ViewTurn]) -> str:
    speakers = {(turn.seat, turn.role) for turn in turns if turn.seat is not None}
    if len(speakers) < 2:
        return "alone"
    return "apart" if {role for _, role in speakers} == {"consultant"} else "facing"


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a person stands with a debate.

    Attributes:
        kind: What comes next: the judgement, a belief after ``round``, a question before ``round``, waiting, nothing.
        shown: What is shown of the debate; None where there is nothing yet.
        round: See ``kind``; None for the judgement.
    """

    kind: Kind
    shown: Shown | None = None
    round: int | None = None


def stage_of(room: Room, given: Given, live: LiveDebates | None) -> Stage:
    """Tell where a person stands with a debate that it was given.

    Args:
        room: The room.
        given: The debate.
        live: The live debates of the room, or None where it has none.

    Returns:
        The stage. Rounds that are not revealed yet are not in it.
    """
    state = room.debate(given.debate) if given.of is None or live is None else live.state(given)
    if state is None or isinstance(state, Failed):
        return Stage("failed")
    if isinstance(state, Speaking):
        return Stage("speaking")
    if isinstance(state, Asking):
        heard = state.round - 1
        believed = not room.config.beliefs or heard in room.beliefs(given.judge, given.debate)
        shown = Shown.of(state.view)
        return Stage("question", shown, state.round) if believed else Stage("belief", shown, heard)
    return _recorded(room, given, state)


def _recorded(room: Room, given: Given, debate: Debate) -> Stage:
    view = room.seated(given.judge, debate).view()
    if room.final(given.judge, given.debate) is not None:
        return Stage("done", Shown.of(view))
    if room.config.beliefs and given.of is None:
        believed = room.beliefs(given.judge, given.debate)
        midway = sorted({turn.round for turn in view.turns})[:-1]
        left = [number for number in midway if number not in believed]
        if left:
            return Stage("belief", Shown.of(view, left[0]), left[0])
    return Stage("judge", Shown.of(view))
