"""Helpers: they rewrite a persuader's draft, with a fallacy or with fair argument, before it is said.

One that replies with a form chooses and writes at once. One that scores (for small local models, whose forms can seldom
be read) chooses the fallacy whose name the dialogue makes more likely than it was, and its whole reply is the rewrite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from pydantic import Field

from debate.agents.debater import Speech, cut_argument, split_thinking, trim_argument
from debate.agents.form import Form, fill_in
from debate.agents.memory import Memory, Said, show_said
from debate.claim import Claim
from debate.config import Config
from debate.fallacies import FALLACIES
from debate.models.base import Draw, Message, Model, Sampling
from debate.models.load import ModelField
from debate.prompts import Prompts
from debate.quotes import Argument, parse_plain
from debate.together import together
from debate.transcript import Help

HelperKind = Literal["fallacy", "logical"]
#: What each helper's reply is: what it chose, and the rewritten message.
FORMS: Final[dict[HelperKind, Form]] = {
    "fallacy": Form({"fallacy": tuple(FALLACIES), "argument": ()}, open=frozenset({"fallacy"})),
    "logical": Form({"reasoning": (), "argument": ()}),
}
_FAIR: Final = "fair argument"
_NAME_TOKENS = 16  # the longest name of a fallacy


class HelperConfig(Config):
    """How drafts are rewritten, in the scenarios in which they are."""

    model: ModelField | None = Field(None, description="its model; none for the persuader's own")
    kind: Literal["json", "score"] = Field(
        "json",
        description="json: a structured reply that names the fallacy; score: the fallacy by likelihood, then plain "
        "text, for local models that are too small for JSON",
    )
    max_tokens: int = Field(600, ge=1, description="longest reply, thinking included, in tokens")
    max_attempts: int = Field(3, ge=1, le=20, description="attempts at a reply that can be read")
    temperature: float = Field(0.8, ge=0, le=2, description="sampling temperature")


class Rewritten(NamedTuple):
    """What is said instead of a draft, and how it came about."""

    argument: Argument
    help: Help


class Helper:
    """Rewrites drafts.

    Args:
        model: Any model; one that is ``json_schema`` is held to the form.
        kind: With a fallacy that it names, or with fair argument.
        prompts: Templates; it uses ``helper_<kind>``.
        config: Attempts and sampling.
        memory: Fits what was said into the model's context.
        max_words: Most words; what is longer is cut at a sentence end.
    """

    def __init__(
        self, model: Model, *, kind: HelperKind, prompts: Prompts, config: HelperConfig, memory: Memory, max_words: int
    ) -> None:
        self.kind: HelperKind = kind
        self._model = model
        self._prompts = prompts
        self._config = config
        self._memory = memory
        self._max_words = max_words

    async def rewrite(self, claim: Claim, said: Sequence[Said], draft: Speech, draw: Draw) -> Rewritten:
        """Rewrite a draft.

        Args:
            claim: What the persuader argues for.
            said: The dialogue so far, the debater's last message at its end.
            draft: What the persuader would say.
            draw: Seed and repetition.

        Returns:
            The rewritten message; where no reply can be read, the draft itself, with a help that failed.

        Raises:
            ModelError: The model failed for good.
        """
        draw = draw._replace(stream=f"{self.kind} helper")
        drafted = draft.candidates[draft.chosen].argument

        if self._config.kind == "score":
            return await self._rewrite_plainly(claim, said, drafted, draw)

        def build(summary: str, shown: Sequence[Said]) -> list[Message]:
            return self.ask(claim, shown, drafted, summary)

        config = self._config
        fitted = await self._memory.fit(self._model, said, build, reply=config.max_tokens, draw=draw)
        filled = await fill_in(
            self._model,
            fitted.messages,
            FORMS[self.kind],
            prompts=self._prompts,
            sampling=Sampling(config.max_tokens, config.temperature),
            draw=draw,
            attempts=config.max_attempts,
            room=fitted.room,
        )
        replies = tuple(reply.text for reply in filled.replies)
        if filled.values is None:
            return Rewritten(drafted, Help(self.kind, drafted, "", replies, filled.flaws))
        name, text = (parse_plain(value) for value in filled.values.values())
        argument = cut_argument(text, self._max_words)
        if not argument.words:  # nothing but characters that nobody sees
            return Rewritten(drafted, Help(self.kind, drafted, "", replies, (*filled.flaws[:-1], "it says nothing")))
        named = name.plain().strip() or "unnamed"
        return Rewritten(argument, Help(self.kind, drafted, named, replies, filled.flaws))

    async def _rewrite_plainly(self, claim: Claim, said: Sequence[Said], drafted: Argument, draw: Draw) -> Rewritten:
        """Choose by likelihood, and take the whole reply for the rewrite."""
        name = await self._choose(claim, said, draw) if self.kind == "fallacy" else _FAIR
        known = {"fallacy": name, "meaning": FALLACIES[name]} if self.kind == "fallacy" else {}

        def build(summary: str, shown: Sequence[Said]) -> list[Message]:
            return self._prompts.fill(
                f"helper_plain_{self.kind}", **self._shown(claim, shown, drafted, summary), **known
            )

        config = self._config
        fitted = await self._memory.fit(self._model, said, build, reply=config.max_tokens, draw=draw)
        replies, flaws = [], []
        for attempt in range(config.max_attempts):
            draws = [draw._replace(attempt=attempt)]
            sampling = Sampling(config.max_tokens, config.temperature)
            (reply,) = await self._model.sample(fitted.messages, draws=draws, sampling=sampling)
            argument = trim_argument(cut_argument(parse_plain(split_thinking(reply.text)[0].strip()), self._max_words))
            replies.append(reply.text)
            flaws.append("" if argument.words else "it says nothing")
            if argument.words:
                return Rewritten(argument, Help(self.kind, drafted, name, tuple(replies), tuple(flaws)))
        return Rewritten(drafted, Help(self.kind, drafted, "", tuple(replies), tuple(flaws)))

    async def _choose(self, claim: Claim, said: Sequence[Said], draw: Draw) -> str:
        """Choose the fallacy whose name the dialogue makes more likely than the claim alone does."""
        names = tuple(FALLACIES)

        def build(summary: str, shown: Sequence[Said]) -> list[Message]:
            dialogue = show_said(shown, summary)
            return self._prompts.fill("helper_pick", topic=claim.topic, claim=claim.text, dialogue=dialogue)

        fitted = await self._memory.fit(self._model, said, build, reply=_NAME_TOKENS, draw=draw)
        after, before = await together(self._model.score(asked, names) for asked in (fitted.messages, build("", ())))
        gains = [one - other for one, other in zip(after.values, before.values, strict=True)]
        return names[gains.index(max(gains))]

    def ask(self, claim: Claim, said: Sequence[Said], draft: Argument, summary: str = "") -> list[Message]:
        """Put what a helper that replies with a form is to do into messages; see ``rewrite``."""
        values = self._shown(claim, said, draft, summary)
        if self.kind == "fallacy":
            values["classes"] = "\n".join(f"- {name}: {meaning}" for name, meaning in FALLACIES.items())
        return self._prompts.fill(f"helper_{self.kind}", **values)

    def _shown(self, claim: Claim, said: Sequence[Said], draft: Argument, summary: str) -> dict[str, str]:
        return {
            "topic": claim.topic,
            "claim": claim.text,
            "dialogue": show_said(said, summary),
            "draft": draft.plain(),
            "max_words": str(self._max_words),
        }
