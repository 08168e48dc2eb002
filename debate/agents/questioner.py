"""The questioner: a judge that speaks during a debate or a consultancy, before it decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from pydantic import Field

from debate.agents.debater import Speech, draws_differ, split_thinking
from debate.agents.judge import ask_judge
from debate.config import Config
from debate.models.base import Completion, Draw, Model, Sampling
from debate.models.load import ModelField
from debate.prompts import Prompts
from debate.quotes import Argument, parse_plain
from debate.sentences import cut_at_sentence, is_ended, sentence_spans
from debate.transcript import Candidate
from debate.view import View

# "Judge:", "**Question 2:**", "Question for Debater A:". Whom it is for is kept: in a debate it may be one of two.
_LABEL = re.compile(
    r"[\W_]*(?:(?:the|my)\s+)?(?:judge(?:['’]s\s+question)?|question)(?:\s*\d{1,2})?"
    r"(?:\s*\(?(?:(?:for|to)\s+)?(?P<whom>(?:debater|consultant)\s+[AB]|both\s+debaters|the\s+consultant)\)?)?"
    r"\s*:[\s*_]*",
    re.IGNORECASE,
)


class QuestionerConfig(Config):
    """How the judge speaks, where the protocol lets it."""

    model: ModelField | None = Field(None, description="its model; none for the judge's own")
    max_words: int = Field(60, ge=5, le=300, description="most words of what it says")
    max_tokens: int = Field(200, ge=1, description="longest reply of its model, thinking included, in tokens")
    max_attempts: int = Field(2, ge=1, le=20, description="attempts at a reply that says something")
    temperature: float = Field(0.8, ge=0, le=2, description="sampling temperature")


class Questioner(Protocol):
    """A judge that speaks."""

    @property
    def name(self) -> str:
        """Names its stream of draws."""
        ...

    async def ask(self, view: View, draw: Draw) -> Speech:
        """Ask what would help most to decide.

        Args:
            view: A judge's view: no seat, no story.
            draw: The first draw of the turn.

        Returns:
            What is said; where no attempt said anything, an empty argument with the flaw. Names in it are as of a
            speaker in seat A.

        Raises:
            ModelError: The model failed for good.
        """
        ...


class ModelQuestioner:
    """Asks one thing at a time.

    What it says carries no quote marks and is never checked against the story: it could guess at the story's words
    otherwise, and read from the marks whether it guessed right.

    Args:
        model: Any model.
        name: Names its stream of draws.
        prompts: Templates; it uses ``judge_question`` and the setting's.
        config: Limits and sampling.
    """

    def __init__(self, model: Model, *, name: str, prompts: Prompts, config: QuestionerConfig) -> None:
        self.name = name
        self._model = model
        self._prompts = prompts
        self._config = config

    async def ask(self, view: View, draw: Draw) -> Speech:
        """Ask what would help most to decide; see Questioner."""
        config = self._config
        consultants = {turn.seat for turn in view.turns if turn.role == "consultant"}
        whom = "the consultant" if consultants else "one debater or both"
        messages = ask_judge("judge_question", view, self._prompts, whom=whom, max_words=str(config.max_words))
        sampling = Sampling(config.max_tokens, config.temperature)
        candidates: list[Candidate] = []
        for attempt in range(config.max_attempts if draws_differ(self._model.capabilities, sampling) else 1):
            draws = [draw._replace(attempt=draw.attempt + attempt)]
            (completion,) = await self._model.sample(messages, draws=draws, sampling=sampling)
            candidates.append(read_question(completion, config.max_words, literal=(view.question, *view.answers)))
            if candidates[-1].valid:
                break
        # Half a question, which is not valid, still says more than none.
        chosen = max(range(len(candidates)), key=lambda at: (candidates[at].valid, candidates[at].argument.words > 0))
        return Speech(tuple(candidates), chosen)


def read_question(reply: Completion, max_words: int, *, literal: Sequence[str] = ()) -> Candidate:
    """Read what the judge says from a reply: outside its thinking, without a label before it, up to its first question.

    Of a label, such as "Question for Debater A:", only whom it is for is kept.

    Args:
        reply: The model's reply.
        max_words: Most words; what is longer is cut at a sentence end.
        literal: Question and answers: a phrase in one of them is no name.

    Returns:
        The candidate, its names as of a speaker in seat A, with a flaw if it says nothing or breaks off.
    """
    said, thinking = split_thinking(reply.text)
    text = " ".join(said.split())
    label = _LABEL.match(text)
    if label:
        text = (f"{label['whom']}: " if label["whom"] else "") + text[label.end() :]
    asked = next((end for _, end in sentence_spans(text) if text[:end].rstrip("\"'”’").endswith("?")), len(text))
    cut = cut_at_sentence(text[:asked], max_words)
    argument = parse_plain(cut, seat="A", literal=literal)
    if not any(character.isalnum() for character in argument.plain()):
        return Candidate(reply.text, Argument(()), thinking, ("it asks nothing",))
    broken = (len(cut) < asked or reply.finish == "length") and not is_ended(cut)
    return Candidate(reply.text, argument, thinking, ("breaks off",) if broken else ())
