"""Choosers: models that choose among a question's answers and say why, alone, in a debate, or at its end as a judge.

How the choice is read does not depend on how the model writes where it need not: ``letters`` and ``likelihood`` read it
from probabilities and have the explanation written afterwards, for models too small to keep to a form. The smallest
choose among listed answers by their places; ``likelihood`` lists none, and takes the answer that the question, and what
was said about it, make likelier than it is anyway (Holtzman et al. 2021, "Surface form competition").
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import Field

from debate.agents.debater import split_thinking
from debate.agents.judge import listed, parse_answer
from debate.agents.render import LETTERS, show_answers, show_story
from debate.config import Config
from debate.errors import ConfigError
from debate.markup import neutralise
from debate.models.base import Capabilities, Completion, Draw, Message, Model, Sampling
from debate.models.letters import CHOICE_DRAWS
from debate.prompts import Prompts
from debate.sentences import cut_at_sentence, is_ended, sentence_spans
from debate.together import together
from debate.view import View

Stage = Literal["alone", "debate", "judge"]
Reads = Literal["reply", "letters", "likelihood"]

# "Debater 2:" at the beginning of what another speaker would be taken to say.
_LABEL = re.compile(r"\b((?:judge|debater)(?:\s*\d+)?(?:\s*\(you\))?)\s*[:：]", re.IGNORECASE)
# "Answer: B. It was noon." as an answer line: a letter, then what may be that answer's own words.
_LINE = re.compile(r"[\W_]*(?:the\s+|my\s+|final\s+)*answer\s*(?:[:：]|\bis\b\s*[:：]?)\s*(.+)", re.IGNORECASE)
_LETTERED = re.compile(r"[\W_]*([A-Z])[\W_]+(.+)")


class ChooserConfig(Config):
    """How a model chooses and explains."""

    reads: Reads = Field(
        "reply",
        description="how its choice is read: reply: from the last line of what it writes, as published; letters: from "
        "the probabilities of the letters; likelihood: from how much likelier the question makes an answer's own "
        "words, for small local models",
    )
    max_words: int = Field(
        60, ge=1, description="most words of an explanation; what is longer is cut at a sentence end"
    )
    max_tokens: int = Field(200, ge=1, description="longest reply of a model, thinking included, in tokens")
    temperature: float = Field(0.0, ge=0, le=2, description="sampling temperature of what it writes; 0 as published")


class Heard(NamedTuple):
    """What somebody said, and what it is called before others, such as "Debater 2"."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """A choice and what was said for it.

    Attributes:
        answer: The index of the answer that was chosen, or None where none could be read.
        text: The explanation, harmless to show, without the line that names the answer.
        raw: All that the model wrote.
        unread: Why no answer could be read, or None.
        probabilities: Over the answers, where the choice was read from them.
    """

    answer: int | None
    text: str
    raw: str
    unread: str | None = None
    probabilities: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """Puts questions, and what was said about them, into messages.

    Attributes:
        prompts: Templates; those called ``roundtable_...`` are used.
        max_words: Most words of an explanation.
        character: What prompts begin with, or nothing.
    """

    prompts: Prompts
    max_words: int
    character: str = ""

    def ask(self, view: View, stage: Stage, heard: Sequence[Heard], own: str, task: str) -> list[Message]:
        """Make the messages; ``own`` is what the one who is asked is called in what was heard."""
        values = {
            "story_if_read": show_story(view),
            "question": view.question,
            "answers": show_answers(view),
            "task": task,
        }
        if stage != "judge":
            values["character"] = self._character
        if stage == "debate":
            values["speaker"] = own
        if stage != "alone":
            values["transcript"] = show_heard(heard, own)
        return self.prompts.fill(f"roundtable_{stage}", **values)

    def reply(self, view: View, stage: Stage) -> str:
        """Say that an explanation is wanted, and then an answer on a line of its own."""
        forms = "\nor\n".join(f"Answer: {letter}" for letter in LETTERS[: len(view.answers)])
        return f"{self._argue(stage)}\n\n{self._fill('line', forms=forms)}"

    def letter(self, view: View) -> str:
        """Say that a letter alone is wanted."""
        return self._fill("letter", letters=listed(LETTERS[: len(view.answers)]))

    def words(self, view: View, heard: Sequence[Heard], own: str) -> list[Message]:
        """Make the messages of which an answer's own words are the reply; no answer is listed."""
        said = f"{self._fill('said', transcript=show_heard(heard, own))}\n\n" if heard else ""
        return self.prompts.fill(
            "roundtable_words",
            character=self._character,
            story_if_read=show_story(view),
            said_if_heard=said,
            question=view.question,
        )

    def prior(self) -> list[Message]:
        """Make the messages of which any sentence is the reply."""
        return self.prompts.fill("roundtable_prior")

    def argue(self, view: View, stage: Stage, answer: int) -> str:
        """Say which answer was chosen, and that an explanation is wanted."""
        held = self._fill("held", choice=" ".join(view.answers[answer].split()))
        return f"{held}\n\n{self._argue(stage)}"

    @property
    def _character(self) -> str:
        return f"{self.character.strip()} " if self.character.strip() else ""

    def _argue(self, stage: Stage) -> str:
        return self._fill(f"argue_{stage}", max_words=str(self.max_words))

    def _fill(self, name: str, **values: str) -> str:
        return self.prompts.fill(f"roundtable_{name}", **values)[0].content


class Chooser:
    """A model that chooses among answers.

    Args:
        model: Any model that can do what ``config.reads`` asks of it.
        name: Its name; draws of different names are independent.
        config: How it chooses and explains.
        asking: How it is asked.

    Raises:
        ConfigError: The model cannot do what is asked.
    """

    def __init__(self, model: Model, *, name: str, config: ChooserConfig, asking: Asking) -> None:
        reason = cannot_read(config.reads, model.capabilities)
        if reason is not None:
            raise ConfigError(f"speaker {name!r}: {model.name} {reason}")
        self.name = name
        self._model = model
        self._config = config
        self._asking = asking

    async def choose(self, view: View, stage: Stage, heard: Sequence[Heard], own: str, draw: Draw) -> Opinion:
        """Choose an answer, and say why.

        Args:
            view: Question, answers and story; it holds no gold index.
            stage: Alone, in a debate, or as its judge.
            heard: What was said, in order; none alone.
            own: What the chooser itself is called in it.
            draw: Tells samples apart.

        Returns:
            The choice; where the model's words name none, an opinion without one.

        Raises:
            ModelError: The model failed for good.
        """
        draw = draw._replace(stream=f"{stage} {self.name}")

        def ask(task: str) -> list[Message]:
            return self._asking.ask(view, stage, heard, own, task)

        if self._config.reads == "reply":
            reply = await self._write(ask(self._asking.reply(view, stage)), draw)
            return read_reply(reply, view.answers, self._config.max_words)
        if self._config.reads == "likelihood":
            shares = await self._likelihoods(view, self._asking.words(view, heard, own))
        else:
            choice = await self._model.choose(ask(self._asking.letter(view)), LETTERS[: len(view.answers)])
            shares = choice.probabilities if choice.mass > 0 else ()
        if not shares:
            return Opinion(None, "", "", "the letters are not among the model's likeliest first tokens")
        best = max(range(len(shares)), key=shares.__getitem__)
        reply = await self._write(ask(self._asking.argue(view, stage, best)), draw)
        said = shown(reply, view.answers, self._config.max_words, lined=False)
        return Opinion(best, said, reply.text, None, shares)

    async def _likelihoods(self, view: View, asked: Sequence[Message]) -> tuple[float, ...]:
        given, prior = await together(
            self._model.score(messages, view.answers) for messages in (asked, self._asking.prior())
        )
        return shares_of(given.values, prior.values)

    async def _write(self, messages: Sequence[Message], draw: Draw) -> Completion:
        sampling = Sampling(self._config.max_tokens, self._config.temperature)
        (reply,) = await self._model.sample(messages, draws=[draw], sampling=sampling)
        return reply


def cannot_read(reads: Reads, able: Capabilities) -> str | None:
    """Say why a model's choices cannot be read so, or return None where they can."""
    if able.reward:
        return "is a reward model, which chooses nothing"
    if reads == "letters" and not able.letters:
        return "gives no probabilities of letters; set reads to reply"
    if reads == "likelihood" and not able.score:
        return "gives no likelihoods (no server does); set reads to reply or letters"
    return None


def calls_per_choice(reads: Reads, stage: Stage, able: Capabilities) -> int:
    """Calls that one choice with its explanation takes.

    Args:
        reads: How it is read.
        stage: When; how likely answers are anyway is asked once for each question and model.
        able: What the model can do: letters whose probabilities are not told are counted in replies.
    """
    if reads == "reply":
        return 1
    if reads == "letters":
        return 1 + (1 if able.logprobs else CHOICE_DRAWS)
    return 2 if stage == "debate" else 3


def shares_of(given: Sequence[float], prior: Sequence[float]) -> tuple[float, ...]:
    """Turn log-probabilities of answers into shares: softmax of log p(answer | question) - log p(answer).

    Args:
        given: Natural log-probability of each answer's words as the reply to the question.
        prior: The same as the reply to nothing in particular.

    Returns:
        Shares that sum to 1; they order the answers, and are no probabilities of being right.
    """
    gains = [after - before for after, before in zip(given, prior, strict=True)]
    weights = [math.exp(gain - max(gains)) for gain in gains]
    return tuple(weight / sum(weights) for weight in weights)


def show_heard(heard: Sequence[Heard], own: str) -> str:
    """Write out what was said, a line for each speaker; one's own lines say so."""
    lines = (f"{one.speaker}{' (you)' if one.speaker == own else ''}: {one.text}" for one in heard)
    return "\n".join(lines)


def shown(reply: Completion, answers: Sequence[str], max_words: int, *, lined: bool = True) -> str:
    """Make of a reply what others are shown: one harmless line of so many words, without the line of the answer.

    Args:
        reply: The reply; of one that was cut, the sentence that breaks off is left out where others stand before it.
        answers: The answers, in order.
        max_words: Most words.
        lined: Whether the reply was to end in a line with the answer; else a reply of one line is all explanation.

    Returns:
        Text in which no mark, tag or speaker's label is left that others could take for more than words.
    """
    lines = [line for line in split_thinking(reply.text)[0].splitlines() if line.strip()]
    if lines and (lined or len(lines) > 1) and read_line(lines[-1], answers) is not None:
        lines.pop()
    said = _LABEL.sub(r"\1 –", " ".join(neutralise(" ".join(lines)).split()))
    ends = [end for _, end in sentence_spans(said)]
    if reply.finish == "length" and len(ends) > 1 and not is_ended(said):
        said = said[: ends[-2]]
    return cut_at_sentence(said, max_words)


def read_reply(reply: Completion, answers: Sequence[str], max_words: int) -> Opinion:
    """Read a reply that ends in a line with the answer.

    Args:
        reply: The model's reply.
        answers: The answers, in order.
        max_words: Most words of the explanation.

    Returns:
        The opinion; without an answer where the reply was cut, or its last line names none or more than one.
    """
    text = shown(reply, answers, max_words)
    if reply.finish != "stop":
        why = "it was cut at max_tokens" if reply.finish == "length" else "the server's content filter stopped it"
        return Opinion(None, text, reply.text, why)
    lines = [line for line in split_thinking(reply.text)[0].splitlines() if line.strip()]
    answer = read_line(lines[-1], answers) if lines else None
    if answer is None:
        last = lines[-1].strip()[:120] if lines else ""
        return Opinion(None, text, reply.text, f"no single answer on the last line: {last!r}")
    return Opinion(answer, text, reply.text)


def read_line(line: str, answers: Sequence[str]) -> int | None:
    """Read the answer that a line names: by its letter, by its own words, or by both where they agree.

    Args:
        line: The last line of a reply, such as "Answer: B" or "Answer: (B) It was noon."
        answers: The answers, in order.

    Returns:
        Its index, or None where the line names none, more than one, or a letter with another answer's words.
    """
    by_letter = parse_answer(line, len(answers))
    if by_letter is not None:
        return by_letter
    found = _LINE.fullmatch(line.strip())
    if found is None:
        return None
    words = [_plain(answer) for answer in answers]
    if words.count(_plain(found[1])) == 1:
        return words.index(_plain(found[1]))
    lettered = _LETTERED.fullmatch(found[1].strip())
    if lettered is None or lettered[1] not in LETTERS[: len(answers)]:
        return None
    index = LETTERS.index(lettered[1])
    return index if _plain(lettered[2]) == words[index] else None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
