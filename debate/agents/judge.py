"""Judges: they read a view of a debate and give probabilities over the answers shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, Protocol, Self

from pydantic import AfterValidator, Field, JsonValue, field_validator, model_validator

from debate.agents.render import LETTERS, show_answers, show_material, show_nameless, show_story
from debate.config import Config
from debate.errors import ConfigError
from debate.extensions import check_kind, is_extension, load_extension
from debate.judge_names import check_judge_name
from debate.models.base import Completion, Draw, Message, Model, Sampling
from debate.models.load import ModelField
from debate.prompts import Prompts
from debate.verdict import Decision
from debate.view import View

Asks = Literal["judge", "concession"]
"""What is asked of a judge: which answer is right, or which answer those who spoke argued for."""


class Judge(Protocol):
    """Anything that decides on a view."""

    @property
    def name(self) -> str:
        """What its verdicts are filed under."""
        ...

    async def decide(self, view: View, draw: Draw) -> Decision:
        """Decide on what the view shows.

        Args:
            view: A judge's view: no seat, usually no story.
            draw: Tells samples apart, for judges that sample.

        Returns:
            Probabilities over the answers in the order shown, or unparsed with the reason.

        Raises:
            ModelError: The model failed for good.
        """
        ...


def setting_of(view: View) -> str:
    """Name the template that tells a judge what it has before it: a debate, a consultancy, or no speeches at all."""
    if view.story is not None:
        return "judge_informed" if view.turns else "judge_expert"
    if not view.turns:
        return "judge_blind"
    seats = {turn.seat for turn in view.turns if turn.role == "consultant"}
    return ("judge_debate", "judge_consultancy", "judge_double_consultancy")[len(seats)]


def ask_judge(task: str, view: View, prompts: Prompts, **values: str) -> list[Message]:
    """Put what a judge has before it, and what it is to do, into messages.

    Args:
        task: The template: ``judge_letter``, ``judge_reason`` or ``judge_question``.
        view: A judge's view.
        prompts: Templates.
        **values: For the placeholders that only this template has; or ``material``, in place of the debate as judges
            are shown it.

    Returns:
        Messages.
    """
    shown = {
        "setting": prompts.fill(setting_of(view))[0].content,
        "story_if_read": show_story(view),
        "question": view.question,
        "answers": show_answers(view),
        "material": show_material(view),
    }
    return prompts.fill(task, **(shown | values))


def listed(letters: Sequence[str]) -> str:
    """Write out letters as alternatives: "A or B", "A, B or C"."""
    return f"{', '.join(letters[:-1])} or {letters[-1]}"


def letter_prompt(view: View, prompts: Prompts, asks: Asks = "judge") -> list[Message]:
    """Put what a letter judge is asked into messages; its reply is the letter of an answer.

    Args:
        view: A judge's view.
        prompts: Templates; ``judge_letter`` and the setting's (``setting_of``) are used.
        asks: What it is asked; another question has a template ``<asks>_letter``.

    Returns:
        Messages.
    """
    letters = listed(LETTERS[: len(view.answers)])
    return ask_judge(f"{asks}_letter", view, prompts, letters=letters, **_shown_for(asks, view))


def reason_prompt(view: View, prompts: Prompts, asks: Asks = "judge") -> list[Message]:
    """Put what a judge that reasons is asked into messages; its reply ends in a line ``Answer: X``.

    Args:
        view: A judge's view.
        prompts: Templates; ``judge_reason`` and the setting's (``setting_of``) are used.
        asks: As for ``letter_prompt``.

    Returns:
        Messages.
    """
    forms = "\nor\n".join(f"Answer: {letter}" for letter in LETTERS[: len(view.answers)])
    return ask_judge(f"{asks}_reason", view, prompts, forms=forms, **_shown_for(asks, view))


def _shown_for(asks: Asks, view: View) -> dict[str, str]:
    """What is shown in place of the debate: who is asked for whom somebody argues must not be told by the seat."""
    return {"material": show_nameless(view)} if asks == "concession" else {}


class LetterJudge:
    """Reads the probability of each answer letter from one forward pass.

    Args:
        model: A model that can ``choose``.
        name: What its verdicts are filed under.
        prompts: Templates; it uses ``judge_letter`` and the setting's (``setting_of``).
        asks: What it is asked, see ``letter_prompt``.
    """

    def __init__(self, model: Model, *, name: str, prompts: Prompts, asks: Asks = "judge") -> None:
        self.name = name
        self._model = model
        self._prompts = prompts
        self._asks: Asks = asks

    async def decide(self, view: View, draw: Draw) -> Decision:  # noqa: ARG002 - nothing is sampled
        """Decide by the letters' probabilities; see Judge."""
        choice = await self._model.choose(letter_prompt(view, self._prompts, self._asks), LETTERS[: len(view.answers)])
        if choice.mass <= 0:
            return Decision(
                None,
                0.0,
                unparsed="the answer letters are not among the model's likeliest first tokens, or have no probability; "
                "reword the prompt or judge by vote",
            )
        return Decision(choice.probabilities, choice.mass)


class ReasonJudge:
    """Thinks first, then names one answer in its last line.

    Args:
        model: Any model.
        name: What its verdicts are filed under.
        prompts: Templates; it uses ``judge_reason`` and the setting's (``setting_of``).
        sampling: How it thinks.
        asks: What it is asked, see ``letter_prompt``.
    """

    def __init__(self, model: Model, *, name: str, prompts: Prompts, sampling: Sampling, asks: Asks = "judge") -> None:
        self.name = name
        self._model = model
        self._prompts = prompts
        self._sampling = sampling
        self._asks: Asks = asks

    async def decide(self, view: View, draw: Draw) -> Decision:
        """Decide by the last line; see Judge."""
        asked = reason_prompt(view, self._prompts, self._asks)
        completions = await self._model.sample(asked, draws=[draw], sampling=self._sampling)
        text = completions[0].text
        letter = _read(completions[0], len(view.answers))
        if letter is None:
            why = _CUT.get(completions[0].finish) or f"no single answer on the last line: {_last_line(text)[:200]!r}"
            return Decision(None, reasoning=text, unparsed=why)
        return Decision(tuple(float(index == letter) for index in range(len(view.answers))), reasoning=text)


class VoteJudge:
    """Reasons k times and counts: probability (votes + 1/m) / (k + 1) for each of m answers.

    For two answers that is (k_A + 1/2) / (k + 1). Samples that were cut off or name no single answer are left out of
    k; if half of them or more are, the decision is unparsed.

    Args:
        model: Any model that samples.
        name: What its verdicts are filed under.
        prompts: Templates; it uses ``judge_reason`` and the setting's (``setting_of``).
        sampling: How it thinks; the temperature should not be 0.
        votes: Samples to take.
        asks: What it is asked, see ``letter_prompt``.
    """

    def __init__(
        self, model: Model, *, name: str, prompts: Prompts, sampling: Sampling, votes: int, asks: Asks = "judge"
    ) -> None:
        self.name = name
        self._model = model
        self._prompts = prompts
        self._sampling = sampling
        self._votes = votes
        self._asks: Asks = asks

    async def decide(self, view: View, draw: Draw) -> Decision:
        """Decide by a count of votes; see Judge."""
        asked = reason_prompt(view, self._prompts, self._asks)
        completions = await self._model.sample(asked, draws=draw.take(self._votes), sampling=self._sampling)
        return count_votes([_read(completion, len(view.answers)) for completion in completions], completions, view)


def count_votes(letters: Sequence[int | None], completions: Sequence[Completion], view: View) -> Decision:
    """Turn parsed votes into a decision, as VoteJudge says."""
    known = [letter for letter in letters if letter is not None]
    reasoning = "\n\n".join(f"Vote {number}: {completion.text}" for number, completion in enumerate(completions, 1))
    if 2 * len(known) <= len(letters):
        cut = Counter(_CUT[completion.finish] for completion in completions if completion.finish in _CUT)
        why = [f"only {len(known)} of {len(letters)} votes named one answer"]
        why += [f"{count} of them: {reason}" for reason, count in sorted(cut.items())]
        return Decision(None, reasoning=reasoning, unparsed="; ".join(why))
    answers = len(view.answers)
    return Decision(
        tuple((known.count(index) + 1 / answers) / (len(known) + 1) for index in range(answers)), reasoning=reasoning
    )


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


# Why a reply that did not end by itself is no verdict: what it would have said is not known.
_CUT = {
    "length": "the reply was cut at max_tokens; allow more",
    "filter": "the reply was stopped by the server's content filter",
}


def _read(completion: Completion, answers: int) -> int | None:
    """Read the answer of a reply that ended by itself; any other names none, whatever its last line says."""
    return None if completion.finish in _CUT else parse_answer(completion.text, answers)


_DECISION = re.compile(
    r"(?:the\s+)?(?:my\s+)?(?:final\s+)?(?:answer|decision|verdict|choice)\s*(?::|\s+is\b\s*:?)\s*(.*)", re.IGNORECASE
)
# The letter by itself, with marks that open and close, then nothing more or a reason that says it is one: "A man left"
# begins with an article, "A is not supported" is a claim, and what follows a colon or a full stop may be anything.
_ANSWER = re.compile(
    r"[(\[{]?\s*([A-Za-z])\s*[)\]}]?"
    r"(?:[\s.,;:!)\]}'’-]*|(?:[.,;]?\s+(?=(?:because|since|as)\b)|,?\s+-+\s+|\s*[\u2013\u2014]\s*)(.+))",
    re.IGNORECASE,
)
# Another letter in the reason; a small "a" is an article unless nothing or a mark follows.
_LETTER = re.compile(r"(?<![\w'’])([A-Z]|[b-z]|a(?=\s*(?:$|[^\w\s])))(?![\w'’])")
_DECORATION = re.compile(r"[*_`#<>\"“”]+")


def parse_answer(text: str, answers: int) -> int | None:
    """Read the decision from the last line of a judge's reply: ``Answer: X``, in any case, bold, bracketed or stopped.

    Only the last line counts, so a letter quoted from a debater earlier on cannot pass for the verdict. A colon or "is"
    stands before the letter; behind it nothing but marks, or a reason after "because", "since", "as" or a dash. A
    sentence about an answer ("Answer A is not supported", "Answer: A is incorrect") is no decision.

    Args:
        text: The whole reply.
        answers: How many answers there are; letters count from A.

    Returns:
        The index of the letter, or None if the last line names no answer, more than one, or none that exists.
    """
    line = _DECORATION.sub("", _last_line(text)).strip()
    decision = _DECISION.fullmatch(line)
    found = _ANSWER.fullmatch(decision[1].strip()) if decision else None
    if found is None:
        return None
    index = ord(found[1].upper()) - ord("A")
    if index >= answers:
        return None
    # "A because B is wrong" may mean either: another valid letter, standing alone, makes it two answers.
    others = {ord(letter.upper()) - ord("A") for letter in _LETTER.findall(found[2] or "")}
    return index if not {other for other in others if other < answers} - {index} else None


KINDS = ("letter", "reason", "vote")


class JudgeConfig(Config):
    """A judge."""

    model: ModelField | None = Field(
        None, description="its model: a name, or a mapping; only a judge of your own can do without"
    )
    kind: Annotated[str, AfterValidator(lambda kind: check_kind(kind, KINDS))] = Field(
        "letter",
        description="letter: probability of the answer letters; reason: thinks, then decides; vote: reasons k times; "
        "or MODULE:FUNCTION",
    )
    name: str | None = Field(None, min_length=1, max_length=80, description="what its verdicts are filed under")
    votes: int = Field(5, ge=1, le=100, description="samples of a vote")
    max_tokens: int = Field(512, ge=1, description="longest reasoning, in tokens")
    temperature: float | None = Field(
        None, ge=0, le=2, description="of reason and vote; none: reason thinks at 0, votes are drawn at 0.8"
    )
    options: dict[str, JsonValue] = Field({}, description="whatever a judge of your own takes")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.options and not is_extension(self.kind):
            raise ValueError(f"options are for a judge of your own; {self.kind} has none")
        if self.model is None and not is_extension(self.kind):
            raise ValueError(f"a {self.kind} judge needs a model, such as embedded/smollm2-135m")
        if self.kind == "vote" and self.votes > 1 and self.temperature == 0:
            # Some servers (vLLM) refuse several samples at temperature 0.
            raise ValueError(
                f"{self.votes} votes at temperature 0 are as many times the same vote; set temperature, "
                "or kind to reason"
            )
        return self

    @field_validator("name")
    @classmethod
    def _own_name(cls, name: str | None) -> str | None:
        if name is not None:
            check_judge_name(name)
        return name

    @property
    def sampling(self) -> Sampling:
        """How a judge that reasons or votes writes."""
        usual = 0.0 if self.kind == "reason" else 0.8
        return Sampling(self.max_tokens, usual if self.temperature is None else self.temperature)

    @property
    def label(self) -> str:
        """The judge's name: its own, or model and kind."""
        return self.name or (self.kind if self.model is None else f"{self.model.label} ({self.kind})")


def build_judge(config: JudgeConfig, model: Model | None, prompts: Prompts, asks: Asks = "judge") -> Judge:
    """Make the judge that a configuration describes.

    Where the model cannot choose (declared, never guessed), a letter judge becomes a vote; its name says so, so that no
    verdict is taken for another kind's.

    Args:
        config: The judge.
        model: Its model, or None where the configuration names none.
        prompts: Templates.
        asks: What it is asked, see ``letter_prompt``; a judge of your own knows by itself what it asks.

    Returns:
        The judge. One of your own is made by ``FUNCTION(config, model, prompts)``.

    Raises:
        ConfigError: A judge of your own cannot be imported, is none, or has a name that is kept for others; or another
            has no model, or one that is a reward model.
    """
    if is_extension(config.kind):
        made: Judge = load_extension(config.kind)(config, model, prompts)
        if not isinstance(getattr(made, "name", None), str) or not callable(getattr(made, "decide", None)):
            raise ConfigError(f"judge {config.kind!r} has no name or no method decide; see debate.agents.judge.Judge")
        check_judge_name(made.name)
        return made
    if model is None:  # the configuration has checked this; a caller of its own may not have
        raise ConfigError(f"judge {config.label!r} needs a model")
    if model.capabilities.reward:
        raise ConfigError(f"judge {config.label!r}: {model.name} is a reward model, which does not judge")
    if config.kind == "letter" and model.capabilities.letters:
        return LetterJudge(model, name=config.label, prompts=prompts, asks=asks)
    if config.kind == "reason":
        return ReasonJudge(model, name=config.label, prompts=prompts, sampling=config.sampling, asks=asks)
    name = config.label if config.kind == "vote" else f"{config.label} by vote of {config.votes}"
    return VoteJudge(model, name=name, prompts=prompts, sampling=config.sampling, votes=config.votes, asks=asks)
