"""What an ablated judge sees of a debate: pure functions of the transcript, which stays as it is.

Marks are changed as spans, never as text: whatever a debater wrote, only the renderer turns spans into marks, and what
it would neutralise in a speech it still neutralises. No changed transcript is kept anywhere; a run keeps the debates as
they were held.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Literal, get_args

from debate.agents.render import one_line
from debate.names import Name
from debate.quotes import Argument, Quote
from debate.transcript import Transcript
from debate.view import View

Marks = Literal["full", "arguments", "quotes", "stripped", "swapped"]
Information = Literal["blind", "debate", "story", "both"]
MARKS: tuple[Marks, ...] = get_args(Marks)
INFORMATION: tuple[Information, ...] = get_args(Information)
#: What a judge sees of a debate.
See = Callable[[Transcript], View]

LEFT_OUT = "[...]"
"""Stands where a quote was, so that the sentence around it can be read; the same for verified quotes and others."""


def whole(transcript: Transcript) -> View:
    """See the debate as any judge does."""
    return transcript.view()


def first_rounds(rounds: int) -> See:
    """See the debate as it stood after so many rounds.

    Speakers of the protocols that ship are not told how many rounds there will be, so that is what a debate of so many
    rounds would have been.
    """

    def see(transcript: Transcript) -> View:
        turns = tuple(turn for turn in transcript.turns if turn.round <= rounds)
        return dataclasses.replace(transcript, turns=turns).view()

    return see


def with_marks(marks: Marks) -> See:
    """See the debate with its quotes or their marks changed.

    Args:
        marks: ``full``: as it is; ``arguments``: without the quotes; ``quotes``: nothing but them; ``stripped``: quotes
            as plain text in quotation marks; ``swapped``: what is verified is marked as not found, and the reverse.
    """
    change = _CHANGES[marks]

    def see(transcript: Transcript) -> View:
        # What a judge asked is not evidence, and stays.
        turns = tuple(
            turn if turn.answer is None else dataclasses.replace(turn, argument=change(turn.argument))
            for turn in transcript.turns
        )
        return dataclasses.replace(transcript, turns=turns).view()

    return see


def informed(information: Information) -> See:
    """See more or less than the debate.

    Args:
        information: ``blind``: question and answers alone; ``debate``: the debate; ``story``: the story alone;
            ``both``: debate and story, as much as the debaters know.
    """
    debate, story = information in {"debate", "both"}, information in {"story", "both"}

    def see(transcript: Transcript) -> View:
        shown = transcript if debate else dataclasses.replace(transcript, turns=())
        return shown.view(story=story)

    return see


def _without_quotes(argument: Argument) -> Argument:
    return Argument(tuple(LEFT_OUT if isinstance(span, Quote) else span for span in argument.spans))


def _quotes_alone(argument: Argument) -> Argument:
    def spaced() -> Iterator[str | Quote | Name]:
        for number, quote in enumerate(argument.quotes):
            if number:
                yield " "
            yield quote

    return Argument(tuple(spaced()))


def _stripped(argument: Argument) -> Argument:
    return Argument(tuple(f'"{span.text}"' if isinstance(span, Quote) else span for span in argument.spans))


def _swapped(argument: Argument) -> Argument:
    return Argument(tuple(_swap(span) if isinstance(span, Quote) else span for span in argument.spans))


def _swap(quote: Quote) -> Quote:
    # In what is marked as verified the renderer lets a speaker's name and a colon stand: there it is the story's own.
    text = quote.text if quote.verified else one_line(Argument((quote.text,)).render())
    return Quote(text, verified=not quote.verified)


_CHANGES: dict[Marks, Callable[[Argument], Argument]] = {
    "full": lambda argument: argument,
    "arguments": _without_quotes,
    "quotes": _quotes_alone,
    "stripped": _stripped,
    "swapped": _swapped,
}
