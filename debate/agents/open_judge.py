"""The judge of open debates: it says whether a right answer is clear, and it extracts one (Liang et al. 2023).

Both modes read the whole history. In the discriminative mode, after each iteration, the judge says whether the right
answer is clear by now, and which it is: then the debate ends. In the extractive mode it must settle on one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from pydantic import Field

from debate.agents.form import Form, fill_in
from debate.agents.render import LETTERS
from debate.config import Config
from debate.metrics.grades import is_one_answer
from debate.models.base import Draw, Message, Model, Sampling
from debate.models.load import ModelField
from debate.open_debate import Mode, OpenDebate, Ruling, show_form, show_speeches, show_task
from debate.prompts import Prompts

_NONE = "none"


class OpenJudgeConfig(Config):
    """The judge of open debates."""

    model: ModelField = Field(description="its model: a name, or a mapping")
    kind: Literal["form", "letter"] = Field(
        "form",
        description="form: it fills in a form, with an answer of its own; letter: it chooses among the debaters' last "
        "answers by the probabilities of letters, in both orders, for models that cannot fill in forms",
    )
    max_tokens: int = Field(400, ge=1, description="longest reply of a form, in tokens")
    attempts: int = Field(2, ge=1, le=10, description="most replies until a form can be read")


class OpenJudge(Protocol):
    """Whoever rules on open debates."""

    async def rule(self, debate: OpenDebate, mode: Mode, draw: Draw) -> Ruling:
        """Rule on all that has been said.

        Args:
            debate: The debate so far; only the item's text and the speeches may be shown to a model.
            mode: Whether a right answer is clear, or which it is.
            draw: Tells samples apart.

        Returns:
            The ruling, unparsed with the reason where nothing could be read.

        Raises:
            ModelError: The model failed for good.
        """
        ...


class FormJudge:
    """Fills in a form, held to a JSON schema where the server can.

    Args:
        model: Any model.
        prompts: Templates; it uses ``mad_discriminate`` and ``mad_extract``.
        config: Limits.
    """

    def __init__(self, model: Model, *, prompts: Prompts, config: OpenJudgeConfig) -> None:
        self._model = model
        self._prompts = prompts
        self._config = config

    async def rule(self, debate: OpenDebate, mode: Mode, draw: Draw) -> Ruling:
        """Rule by a form; see OpenJudge."""
        iteration = debate.iterations
        filled = await fill_in(
            self._model,
            form_prompt(debate, mode, self._prompts),
            form_of(mode, debate.speakers),
            prompts=self._prompts,
            sampling=Sampling(self._config.max_tokens, temperature=0),
            draw=draw._replace(stream=f"judge, {mode}"),
            attempts=self._config.attempts,
        )
        calls = len(filled.replies)
        if filled.values is None:
            said, why = filled.replies[-1].text, filled.flaws[-1]
            return Ruling(iteration, mode, clear=False, reason=said, unparsed=why, calls=calls)
        return dataclasses.replace(read_form(filled.values, mode, iteration), calls=calls)


def form_of(mode: Mode, speakers: Sequence[str]) -> Form:
    """The form of a mode: the reason first, so that a model weighs before it decides."""
    clear: dict[str, tuple[str, ...]] = {"clear": ("yes", "no")} if mode == "discriminative" else {}
    return Form({"reason": (), **clear, "side": (*speakers, _NONE), "answer": ()})


def form_prompt(debate: OpenDebate, mode: Mode, prompts: Prompts) -> list[Message]:
    """Ask for a form on the whole history."""
    values = {"iteration": str(debate.iterations)} if mode == "discriminative" else {}
    sides = " or ".join(f'"{name}"' for name in debate.speakers)
    template = "mad_discriminate" if mode == "discriminative" else "mad_extract"
    return prompts.fill(
        template, **_shown(debate, prompts), form=show_form(debate.item, prompts), sides=sides, **values
    )


def read_form(values: Mapping[str, str], mode: Mode, iteration: int) -> Ruling:
    """Read a filled form; one that finds an answer clear and gives none, or extracts none, is unparsed."""
    answer = None if values["answer"].casefold().strip(" .") == _NONE else values["answer"]
    side = None if values["side"] == _NONE else values["side"]
    clear = mode == "extractive" or values["clear"] == "yes"
    if clear and answer is None:
        what = "it found an answer clear" if mode == "discriminative" else "it was to extract an answer"
        return Ruling(iteration, mode, clear=False, reason=values["reason"], unparsed=f"{what} and gave none")
    if not clear:
        return Ruling(iteration, mode, clear=False, reason=values["reason"])
    return Ruling(iteration, mode, clear=True, side=side, answer=answer, reason=values["reason"])


class LetterJudge:
    """Chooses among the debaters' last answers by the letters' probabilities; equal answers are one choice.

    Answers are lettered in the order in which they were first given and in the reverse of it, and the mean decides, so
    that no letter favours a side. In the discriminative mode there is a last choice, that it is not clear yet.

    Args:
        model: A model that can ``choose``.
        prompts: Templates; it uses ``mad_choose`` and ``mad_option_open``.
    """

    def __init__(self, model: Model, *, prompts: Prompts) -> None:
        self._model = model
        self._prompts = prompts

    async def rule(self, debate: OpenDebate, mode: Mode, draw: Draw) -> Ruling:  # noqa: ARG002 - nothing is sampled
        """Rule by letters; see OpenJudge."""
        groups = last_answers(debate)
        open_ = Ruling(debate.iterations, mode, clear=False, calls=0)
        if not groups:
            return dataclasses.replace(open_, unparsed="no debater has given an answer that could be read")
        shares = [0.0] * (len(groups) + (mode == "discriminative"))
        if len(shares) == 1:  # nothing to choose among
            return dataclasses.replace(open_, clear=True, side=_sole(groups[0]), answer=groups[0].answer)
        places = tuple(range(len(groups)))
        orders = {places, places[::-1]}  # one where there is one answer
        for order in sorted(orders):
            options = [groups[at].answer for at in order]
            messages = letter_prompt(debate, options, self._prompts, undecided=len(shares) > len(groups))
            choice = await self._model.choose(messages, LETTERS[: len(shares)])
            open_ = dataclasses.replace(open_, calls=open_.calls + choice.calls)
            if choice.mass <= 0:
                return dataclasses.replace(open_, unparsed="the letters have no probability")
            for letter, at in enumerate([*order, *range(len(groups), len(shares))]):
                shares[at] += choice.probabilities[letter] / len(orders)
        names = [*(" and ".join(group.speakers) for group in groups), "not clear yet"]
        told = "; ".join(f"{name}: {share:.3f}" for name, share in zip(names, shares, strict=False))
        open_ = dataclasses.replace(open_, reason=told)
        best = [at for at, share in enumerate(shares) if share > max(shares) - 1e-9]
        if len(best) > 1:
            return dataclasses.replace(open_, unparsed="two choices are equally likely")
        if best[0] == len(groups):
            return open_
        chosen = groups[best[0]]
        return dataclasses.replace(open_, clear=True, side=_sole(chosen), answer=chosen.answer)


class Held(NamedTuple):
    """An answer and who holds it."""

    answer: str
    speakers: tuple[str, ...]


def _sole(held: Held) -> str | None:
    """Whoever holds an answer alone."""
    return held.speakers[0] if len(held.speakers) == 1 else None


def last_answers(debate: OpenDebate) -> list[Held]:
    """The last answer of every debater that has given one, equal ones once, in speaking order."""
    last = {speech.speaker: speech.answer for speech in debate.speeches if speech.answer is not None}
    groups: list[Held] = []
    for speaker in debate.speakers:
        answer = last.get(speaker)
        if answer is None:
            continue
        at = next((at for at, held in enumerate(groups) if is_one_answer(debate.item, held.answer, answer)), None)
        if at is None:
            groups.append(Held(answer, (speaker,)))
        else:
            groups[at] = groups[at]._replace(speakers=(*groups[at].speakers, speaker))
    return groups


def letter_prompt(debate: OpenDebate, options: Sequence[str], prompts: Prompts, *, undecided: bool) -> list[Message]:
    """Ask which of some answers is right, each with a letter; ``undecided`` adds that it is not clear yet."""
    texts = [f"The answer is: {' '.join(text.split())}" for text in options]
    if undecided:
        texts.append(prompts.fill("mad_option_open")[0].content)
    lettered = "\n".join(f"{letter}: {text}" for letter, text in zip(LETTERS, texts, strict=False))
    return prompts.fill("mad_choose", **_shown(debate, prompts), options=lettered)


def _shown(debate: OpenDebate, prompts: Prompts) -> dict[str, str]:
    return {
        "task": show_task(debate.item, prompts),
        "history": show_speeches(debate.speeches, debate.speakers),
        "count": str(len(debate.speakers)),
        "speakers": ", ".join(debate.speakers),
    }


def build_open_judge(config: OpenJudgeConfig, model: Model, prompts: Prompts) -> OpenJudge:
    """Make the judge that a configuration describes."""
    if config.kind == "letter":
        return LetterJudge(model, prompts=prompts)
    return FormJudge(model, prompts=prompts, config=config)
