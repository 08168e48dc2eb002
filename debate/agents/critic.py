"""Critics: they read a speech before it is given, and the story, and say what would make it more convincing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from debate.agents.debater import split_thinking
from debate.agents.judge import listed, parse_answer
from debate.agents.render import LETTERS, show_answers, show_turns
from debate.errors import ConfigError
from debate.models.base import Draw, Message, Model, Sampling
from debate.prompts import Prompts
from debate.quotes import Argument
from debate.sentences import cut_at_sentence
from debate.together import together
from debate.view import View

#: As many critiques of one speech as there are letters to choose among them by.
MAX_CRITIQUES = len(LETTERS)
#: Longest critique, in words, if nothing else is said.
CRITIQUE_WORDS = 100
#: Longest reply of one that names a critique without giving probabilities, in tokens, thinking included.
CHOICE_TOKENS = 512
# A reply that is one letter and nothing else, as it was asked for.
_BARE = re.compile(r"\W*([A-Z])\W*")


class Critic(Protocol):
    """Anything that criticises a speech before it is given."""

    async def critique(self, view: View, argument: Argument, draws: Sequence[Draw]) -> list[str]:
        """Criticise a speech.

        Args:
            view: The view of its speaker, with the story.
            argument: The speech.
            draws: One for each critique wanted.

        Returns:
            Critiques in the order of the draws; one that says nothing is left out.

        Raises:
            ModelError: The model failed for good.
        """
        ...


class ModelCritic:
    """Criticises by a prompt that holds the story, what was said, the judge's current question and the speech.

    Args:
        model: Any model.
        prompts: Templates; it uses ``critic_speech``.
        sampling: How it writes; at temperature 0 all critiques of a speech are the same.
        max_words: Longest critique; what is longer is cut at a sentence end.
    """

    def __init__(self, model: Model, *, prompts: Prompts, sampling: Sampling, max_words: int = CRITIQUE_WORDS) -> None:
        self._model = model
        self._prompts = prompts
        self._sampling = sampling
        self._max_words = max_words

    async def critique(self, view: View, argument: Argument, draws: Sequence[Draw]) -> list[str]:
        """Sample critiques, all in one request; see Critic."""
        messages = ask_critic(
            "critic_speech",
            view,
            argument,
            self._prompts,
            quotes=show_checks(argument),
            max_words=str(self._max_words),
        )
        completions = await self._model.sample(messages, draws=draws, sampling=self._sampling)
        said = (" ".join(split_thinking(completion.text)[0].split()) for completion in completions)
        return [cut_at_sentence(text, self._max_words) for text in said if any(map(str.isalnum, text))]


class CritiqueChooser:
    """Picks the critique that would help most, by the probability of its letter.

    The critiques are listed in their order and in the reverse one, and the probabilities of both are added up, so that
    a model that likes the first letter gains nobody. A model that cannot ``choose`` names a letter once, in the given
    order, at temperature 0.

    Args:
        model: Any model.
        prompts: Templates; it uses ``critic_choose``.
        max_tokens: Longest reply of a model that cannot ``choose``, thinking included.
    """

    def __init__(self, model: Model, *, prompts: Prompts, max_tokens: int = CHOICE_TOKENS) -> None:
        self._model = model
        self._prompts = prompts
        self._sampling = Sampling(max_tokens, temperature=0)

    async def choose(self, view: View, argument: Argument, critiques: Sequence[str], draw: Draw) -> int:
        """Pick a critique.

        Args:
            view: The view of the speaker, with the story.
            argument: The speech.
            critiques: One or more, at most ``MAX_CRITIQUES``.
            draw: For a model that cannot ``choose``.

        Returns:
            The place of the critique; the first of those that tie, and the first where nothing can be read. The only
            one there is takes no call.

        Raises:
            ConfigError: There are more critiques than letters.
            ModelError: The model failed for good.
        """
        if len(critiques) > MAX_CRITIQUES:
            raise ConfigError(f"{len(critiques)} critiques are more than the {MAX_CRITIQUES} letters; ask for fewer")
        if len(critiques) == 1:
            return 0
        letters = LETTERS[: len(critiques)]
        if not self._model.capabilities.letters:
            messages = self._ask(view, argument, critiques)
            (completion,) = await self._model.sample(messages, draws=[draw], sampling=self._sampling)
            return _read_letter(completion.text, len(critiques)) or 0
        shares = [0.0] * len(critiques)
        orders = (range(len(critiques)), range(len(critiques) - 1, -1, -1))
        choices = await together(
            self._model.choose(self._ask(view, argument, [critiques[at] for at in order]), letters) for order in orders
        )
        for order, choice in zip(orders, choices, strict=True):
            if choice.mass > 0:
                for at, probability in zip(order, choice.probabilities, strict=True):
                    shares[at] += probability
        return max(range(len(critiques)), key=shares.__getitem__)

    def _ask(self, view: View, argument: Argument, critiques: Sequence[str]) -> list[Message]:
        shown = "\n\n".join(
            f"Critique {letter}: {critique}" for letter, critique in zip(LETTERS, critiques, strict=False)
        )
        letters = listed(LETTERS[: len(critiques)])
        return ask_critic("critic_choose", view, argument, self._prompts, critiques=shown, letters=letters)


def ask_critic(task: str, view: View, argument: Argument, prompts: Prompts, **values: str) -> list[Message]:
    """Put what a critic has before it, and what it is to do, into messages.

    Args:
        task: The template: ``critic_speech`` or ``critic_choose``.
        view: The view of the speaker, with the story.
        argument: The speech.
        prompts: Templates.
        **values: For the placeholders that only this template has.

    Returns:
        Messages.
    """
    return prompts.fill(
        task,
        story=view.story or "",
        question=view.question,
        answers=show_answers(view),
        speaker=view.speaker,
        own_answer=view.own_answer,
        other_answer=view.other_answer,
        transcript=show_turns(view),
        asked=current_question(view) or "nothing.",
        speech=argument.render(view.seat),
        **values,
    )


def current_question(view: View) -> str:
    """Return what the judge has asked before the speech that is due now; empty if it asked nothing."""
    latest = max((turn.round for turn in view.turns), default=0)
    asked = (turn.text for turn in view.turns if turn.seat is None and turn.round == latest)
    return " ".join(" ".join(text.split()) for text in asked if text.strip())


def show_checks(argument: Argument) -> str:
    """Say which quotes of a speech the story does not hold, and what it says instead: a critic may know, no judge does.

    Args:
        argument: The speech.

    Returns:
        One sentence, or a line for each quote that was not found.
    """
    false = [quote for quote in argument.quotes if not quote.verified]
    if not false:
        return "all of them are in the story, word for word." if argument.quotes else "there is none."
    lines = [
        f'"{quote.text}" is not in the story'
        + (f'; the passage most like it is "{" ".join(quote.nearest.split())}".' if quote.nearest else ".")
        for quote in false
    ]
    return "\n".join(["", *lines])


def _read_letter(text: str, count: int) -> int | None:
    said = split_thinking(text)[0].strip()
    bare = _BARE.fullmatch(said)
    if bare is None:
        return parse_answer(said, count)
    place = LETTERS.index(bare[1])
    return place if place < count else None
