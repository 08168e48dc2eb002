"""How long prompts get, measured as the model that reads them counts, on its templates and the words of its stories."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

from debate.agents.critic import ask_critic
from debate.agents.debater import Limits, ask_to_argue
from debate.agents.examples import Example
from debate.agents.judge import ask_judge, listed
from debate.agents.passages import quotable
from debate.agents.render import LETTERS, show_answers
from debate.models.base import Message
from debate.models.load import ModelConfig, TokenCounter
from debate.prompts import Prompts
from debate.question import Question
from debate.quotes import Argument, Seat
from debate.view import Role, View, ViewTurn

# An argument's words are longer than a story's: the longest speech is taken to need so much more than story words do.
_MARGIN = 1.25
# What stands around a speech: a heading, a name, marks of a few quotes.
_AROUND = "Round 10\nDebater A: " + "<v_quote></v_quote> " * 3 + "\n\n"
# Where no story tells: what English prose takes in common vocabularies.
_TOKENS_PER_WORD = 1.5


class Reader:
    """Measures what one model reads.

    Args:
        model: The model; its weights are not loaded.
        questions: All questions, at least one.
        prompts: Templates.

    Attributes:
        context: Longest prompt plus reply, in tokens, or None where it is not known.
    """

    def __init__(self, model: ModelConfig, questions: Sequence[Question], prompts: Prompts) -> None:
        self._count = TokenCounter(model)
        self._prompts = prompts
        self._texts = {question.story_id: question.story or "" for question in questions}
        by_length = sorted(questions, key=lambda q: sum(map(len, (q.text, *q.answers))))
        self._typical, self._longest = by_length[len(by_length) // 2], by_length[-1]
        self._nothing = self._count([Message("user", "")])
        self.context = self._count.context

    @cached_property
    def stories(self) -> dict[str, int]:
        """Tokens of each story, by its id; a little more, since they are counted as a message."""
        return {name: self._count([Message("user", text)]) for name, text in self._texts.items()}

    @property
    def mean_story(self) -> float:
        """Tokens of a story, on average."""
        return sum(self.stories.values()) / len(self.stories)

    @cached_property
    def _per_word(self) -> list[float]:
        words = {name: len(text.split()) for name, text in self._texts.items()}
        rates = [(self.stories[name] - self._nothing) / count for name, count in words.items() if count]
        return rates or [_TOKENS_PER_WORD]

    @cached_property
    def _around(self) -> int:
        return self._count([Message("user", _AROUND)]) - self._nothing

    def speech(self, words: float) -> float:
        """Tokens that a speech of so many words takes in a prompt, on average over the stories."""
        return words * sum(self._per_word) / len(self._per_word) + self._around

    def longest_speech(self, words: float) -> int:
        """Tokens that a speech of so many words may take in a prompt."""
        return math.ceil(words * max(self._per_word) * _MARGIN) + self._around

    def numbered(self, max_words: int) -> float:
        """How much longer than itself a story is as a list of the sentences that may be quoted; at the least 1."""
        found = [1.0]
        for name, text in self._texts.items():
            quotes = enumerate(quotable(text, max_words), 1)
            listed_text = "\n".join(f"{number}. {quote.text}" for number, quote in quotes)
            found.append(self._count([Message("user", listed_text)]) / max(1, self.stories[name]))
        return max(found)

    def speaker_frame(self, role: Role, template: str, *, longest: bool) -> int:
        """Tokens of a speaker's prompt beside story, evidence and speeches.

        Args:
            role: Debater or consultant.
            template: ``debater_free``, ``consultant_free``, ``evidence_argue`` or ``evidence_pick``.
            longest: Of the longest question; else of one of middle length.
        """
        question = self._longest if longest else self._typical
        view = View(question.text, question.answers[:2], "", (), "A", role)
        values = {"question": view.question, "own_answer": view.own_answer, "other_answer": view.other_answer}
        if template == "evidence_pick":
            return self._count(self._prompts.fill(template, **values, sentences="", count="5"))
        tasks = [f"{role}_opening", f"{role}_reply", f"{role}_answer", *(["debater_second"] * (role == "debater"))]
        task = max((self._prompts.fill(name)[0].content for name in tasks), key=len)
        values |= {"speaker": view.speaker, "transcript": "", "task": task, "min_words": "100", "max_words": "200"}
        more = {"evidence": ""} if template == "evidence_argue" else {"story": "", "answers": show_answers(view)}
        return self._count(self._prompts.fill(template, **values, **more))

    def critic_frame(self, role: Role, template: str) -> int:
        """Tokens of a critic's prompt for the longest question, beside story, speeches and critiques.

        Args:
            role: Of the speaker.
            template: ``critic_speech`` or ``critic_choose``.
        """
        view = View(self._longest.text, self._longest.answers[:2], "", (), "A", role)
        own = {"critiques": "", "letters": listed(LETTERS)} if template == "critic_choose" else {}
        own = own or {"quotes": "", "max_words": "100"}
        return self._count(ask_critic(template, view, Argument(()), self._prompts, **own))

    @cached_property
    def refine_frame(self) -> int:
        """Tokens that the request to write a speech anew adds to a prompt, beside speech and critique."""
        values = {"speech": "", "quotes": "", "critique": "", "min_words": "100", "max_words": "200"}
        return self._count(self._prompts.fill("refine_speech", **values))

    def examples(self, examples: Sequence[Example], role: Role) -> int:
        """Tokens that example speeches on other stories take in a speaker's prompt."""
        question = self._typical
        view = View(question.text, question.answers[:2], "", (), "A", role)
        return self._count(ask_to_argue(view, self._prompts, Limits(), examples)) - self._count(
            ask_to_argue(view, self._prompts, Limits())
        )

    def judge_frame(self, roles: Sequence[Role], *, thinks: bool, informed: bool, longest: bool) -> int:
        """Tokens of a judge's prompt beside story and speeches.

        Args:
            roles: Of those whose speeches it reads, none for a judge that reads no speeches.
            thinks: Whether it replies at length; else its letters' probabilities are read.
            informed: Whether it reads the story.
            longest: Of the longest question; else of one of middle length.
        """

        def ask(view: View) -> list[Message]:
            letters = LETTERS[: len(view.answers)]
            if not thinks:
                return ask_judge("judge_letter", view, self._prompts, letters=listed(letters))
            forms = "\n".join(f"Answer: {letter}" for letter in letters)
            return ask_judge("judge_reason", view, self._prompts, forms=forms)

        return self._judging(ask, roles, informed=informed, longest=longest)

    def questioner_frame(self, roles: Sequence[Role], *, longest: bool) -> int:
        """Tokens of the prompt of a judge that speaks, beside the speeches; see ``judge_frame``."""

        def ask(view: View) -> list[Message]:
            return ask_judge("judge_question", view, self._prompts, whom="one debater or both", max_words="100")

        return self._judging(ask, roles, informed=False, longest=longest)

    def _judging(
        self, ask: Callable[[View], list[Message]], roles: Sequence[Role], *, informed: bool, longest: bool
    ) -> int:
        question = self._longest if longest else self._typical
        seats: tuple[Seat, Seat] = ("A", "B")
        silent = tuple(ViewTurn(1, role, seat, Argument(()), seat) for role, seat in zip(roles, seats, strict=False))
        return self._count(ask(View(question.text, question.answers, "" if informed else None, silent, None, "judge")))
