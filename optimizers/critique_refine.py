"""Critique-and-refine: a debater that has its speech criticised and writes it anew, if that is better."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Sequence
from typing import NamedTuple

from debate.agents.critic import MAX_CRITIQUES, Critic, CritiqueChooser, show_checks
from debate.agents.debater import (
    Debater,
    Limits,
    Speech,
    ask_to_argue,
    draws_differ,
    read_candidate,
    sample_valid,
    speak,
)
from debate.errors import ConfigError
from debate.models.base import Draw, Message, Model, Sampling
from debate.prompts import Prompts
from debate.quotes import Argument, Quote, to_markup
from debate.together import together
from debate.transcript import Candidate
from debate.view import View
from optimizers.best_of_n import results_first
from optimizers.preference import Preference, faced, plain, rounds_within

# What only one who was criticised, or who writes a second time, has reason to say.
_TELLTALE = re.compile(
    r"\b(?:critiqu(?:es?|ed|ing)|critics?|criticisms?|feedback|reviewers?|revis(?:e|ed|ing|ions?)|rewrit(?:e|ten|ing)|"
    r"redraft(?:s|ed)?|(?:first|earlier|previous|improved|refined|updated|new|final) (?:draft|version))\b",
    re.IGNORECASE,
)
# What the prompt calls it: a story about critiques excuses nobody.
_CRITIQUE = re.compile(r"critiqu|feedback", re.IGNORECASE)


def telltales(refined: Argument, original: Argument, view: View) -> tuple[str, ...]:
    """Find words of a refined speech that show that it was criticised.

    Args:
        refined: The new speech; its verified quotes are the story's words and do not count.
        original: The speech before.
        view: The speaker's view: words that the question, the answers or earlier speeches hold do not count either,
            nor those of the story, such as a critic in it; "critique" and "feedback" do.

    Returns:
        The words, in order, each once.
    """
    said = " ".join(
        "\n" if isinstance(span, Quote) and span.verified else Argument((span,)).plain() for span in refined.spans
    )
    others = (original.plain(), view.question, *view.answers, *(turn.argument.plain() for turn in view.turns))
    known = {found.casefold() for text in others for found in _TELLTALE.findall(text)}
    known |= {word.casefold() for word in _TELLTALE.findall(view.story or "") if not _CRITIQUE.match(word)}
    found = (word.casefold() for word in _TELLTALE.findall(said))
    return tuple(dict.fromkeys(word for word in found if word not in known))


class _Chain(NamedTuple):
    """What became of one speech: itself, scored; all refinements sampled; and the place of the one kept, if any."""

    start: Candidate
    refinements: tuple[Candidate, ...]
    kept: int | None


class CritiqueRefine:
    """Has each speech criticised, follows the most helpful critique, and keeps what the preference model likes better.

    The refined speech is written from the story like a free debater's, whatever the base is, and keeps to the same
    limits; its quotes are verified anew. One that mentions the critique (``telltales``) is invalid and sampled again.
    It takes the place of the speech before only if both scores can be read and its own is higher. Where no speech of
    the base is valid, or no critique says anything, nothing is refined.

    Everything sampled is kept on the turn: the base's speeches, then refinements in order. A valid one has its
    ``score``, unless its preference could not be read.

    Composition: ``candidates`` takes the first n valid speeches of its base, refines each, and puts what became of them
    first and whatever else was sampled behind. See ``BestOfN``.

    Args:
        base: Who makes the first speech.
        preference: Who says which speech is better.
        critic: Who criticises.
        chooser: Who picks one of several critiques; None where there is one.
        model: Who writes anew; usually the base's own model.
        prompts: Templates; it uses those of a free debater and ``refine_speech``.
        limits: Words and attempts of a refinement; the base's own.
        sampling: How it is written.
        critiques: Critiques of a speech, K.
        rounds: How often a speech is criticised.

    Raises:
        ConfigError: There is no model, or no chooser for several critiques, or a number is out of range.
    """

    def __init__(
        self,
        base: Debater,
        preference: Preference,
        *,
        critic: Critic,
        chooser: CritiqueChooser | None,
        model: Model | None,
        prompts: Prompts,
        limits: Limits,
        sampling: Sampling,
        critiques: int = 1,
        rounds: int = 1,
    ) -> None:
        if model is None:
            raise ConfigError(
                f"{base.name!r} has no model that could write a speech anew; give it one, or leave critique out"
            )
        if not 1 <= critiques <= MAX_CRITIQUES or rounds < 1:
            raise ConfigError(
                f"{base.name!r}: {critiques} critiques and {rounds} rounds; there are 1 to {MAX_CRITIQUES} critiques "
                "and 1 or more rounds"
            )
        if critiques > 1 and chooser is None:
            raise ConfigError(f"{base.name!r}: somebody must choose among {critiques} critiques; give a chooser")
        self.name = base.name
        self._base = base
        self._preference = preference
        self._critic = critic
        self._chooser = chooser
        self._model = model
        self._prompts = prompts
        self._limits = limits
        self._sampling = sampling
        self._critiques = critiques
        self._rounds = rounds

    def plain(self) -> Debater:
        """Return the debater that is innermost."""
        return plain(self._base)

    @property
    def rounds_within(self) -> int:
        """Rounds of critique, those of the base too; see ``rounds_within``."""
        return self._rounds + rounds_within(self._base)

    def facing(self, opponent: Debater) -> CritiqueRefine:
        """Return a copy that knows its opponent; see ``debate.protocols.base.Facing``."""
        told = copy.copy(self)
        told._preference, told._base = faced(self._preference, self._base, opponent)  # noqa: SLF001 - its own copy
        return told

    async def candidates(self, view: View, draw: Draw, n: int) -> tuple[Candidate, ...]:
        """Refine n speeches, all at once: what became of them, then the rest; see Debater."""
        return results_first(*await self._improved(view, draw, n))

    async def argue(self, view: View, draw: Draw) -> Speech:
        """Make the next speech; see Debater."""
        found, results = await self._improved(view, draw, 1)
        return Speech(found, results[0]) if results else speak(found, self._limits, view.story)

    async def _improved(self, view: View, draw: Draw, n: int) -> tuple[tuple[Candidate, ...], list[int]]:
        """Refine n speeches; give everything sampled, in order, and the places of the results."""
        found = list(await self._base.candidates(view, draw, n))
        starts = [place for place, candidate in enumerate(found) if candidate.valid][:n]
        chains = await together(
            self._refine(view, found[place], draw._replace(sample=draw.sample + number, attempt=0))
            for number, place in enumerate(starts)
        )
        results = []
        for place, chain in zip(starts, chains, strict=True):
            found[place] = chain.start
            results.append(place if chain.kept is None else len(found) + chain.kept)
            found += chain.refinements
        return tuple(found), results

    async def _refine(self, view: View, start: Candidate, draw: Draw) -> _Chain:
        sampled: list[Candidate] = []
        kept: int | None = None
        (score,) = await self._preference.log_odds(view, [start], draw)
        start = current = dataclasses.replace(start, score=score)
        # One that is around another goes on counting: else it would draw, and pay for, the same critiques.
        before = rounds_within(self._base)
        for round_ in range(before + 1, before + self._rounds + 1):
            critique = await self._pick_critique(view, current, draw, round_)
            if critique is None:
                continue
            found = await self._write_anew(view, current, critique, draw, round_)
            *failed, last = found
            sampled += failed
            if last.valid:
                (score,) = await self._preference.log_odds(view, [last], draw)
                last = dataclasses.replace(last, score=score)
            sampled.append(last)
            if last.score is not None and current.score is not None and last.score > current.score:
                kept, current = len(sampled) - 1, last
        return _Chain(start, tuple(sampled), kept)

    async def _pick_critique(self, view: View, speech: Candidate, draw: Draw, round_: int) -> str | None:
        """Have a speech criticised and pick the most helpful critique; None if there is none."""
        # Each speech and round has draws of its own, so that equal speeches are not criticised in equal words.
        first = draw._replace(
            stream=f"critiques {round_} of {draw.stream}", sample=draw.sample * self._critiques, attempt=0
        )
        critiques = await self._critic.critique(view, speech.argument, first.take(self._critiques))
        if len(critiques) < 2 or self._chooser is None:
            return critiques[0] if critiques else None
        choosing = draw._replace(stream=f"choice {round_} of {draw.stream}")
        return critiques[await self._chooser.choose(view, speech.argument, critiques, choosing)]

    async def _write_anew(
        self, view: View, speech: Candidate, critique: str, draw: Draw, round_: int
    ) -> tuple[Candidate, ...]:
        """Sample until one refinement is valid or the attempts are used up; the valid one is the last."""
        messages = self._ask(view, speech.argument, critique)

        async def make(draws: Sequence[Draw]) -> list[Candidate]:
            completions = await self._model.sample(messages, draws=draws, sampling=self._sampling)
            read = (read_candidate(completion, view, self._limits) for completion in completions)
            checked = (self._unless_it_tells(candidate, speech.argument, view) for candidate in read)
            return [dataclasses.replace(candidate, critique=critique) for candidate in checked]

        again = draws_differ(self._model.capabilities, self._sampling)
        first = draw._replace(stream=f"refinement {round_} of {draw.stream}")
        return await sample_valid(make, first, 1, self._limits, again=again)

    def _unless_it_tells(self, candidate: Candidate, original: Argument, view: View) -> Candidate:
        told = telltales(candidate.argument, original, view)
        flaws = (f"it tells of its critique: {', '.join(told)}",) if told else ()
        return dataclasses.replace(candidate, flaws=(*candidate.flaws, *flaws))

    def _ask(self, view: View, argument: Argument, critique: str) -> list[Message]:
        """Put the speech before the model as its own reply to a free debater's prompt, and the critique after it."""
        return [
            *ask_to_argue(view, self._prompts, self._limits),
            *self._prompts.fill(
                "refine_speech",
                speech=to_markup(argument, seat=view.seat or "A"),
                quotes=show_checks(argument),
                critique=critique,
                min_words=str(self._limits.min_words),
                max_words=str(self._limits.max_words),
            ),
        ]
