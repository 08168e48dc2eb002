"""Helpers: they rewrite a persuader's draft, with a fallacy or with fair argument, before it is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from pydantic import Field

from debate.agents.debater import Speech, cut_argument
from debate.agents.form import Form, fill_in
from debate.agents.memory import Memory, Said, show_said
from debate.claim import Claim
from debate.config import Config
from debate.fallacies import FALLACIES
from debate.models.base import Draw, Message, Model, Sampling
from debate.models.load import ModelField
from debate.prompts import Prompts
from debate.quotes import Argument, parse_plain
from debate.transcript import Help

HelperKind = Literal["fallacy", "logical"]
#: What each helper's reply is: what it chose, and the rewritten message.
FORMS: Final[dict[HelperKind, Form]] = {
    "fallacy": Form({"fallacy": tuple(FALLACIES), "argument": ()}, open=frozenset({"fallacy"})),
    "logical": Form({"reasoning": (), "argument": ()}),
}


class HelperConfig(Config):
    """How drafts are rewritten, in the scenarios in which they are."""

    model: ModelField | None = Field(None, description="its model; none for the persuader's own")
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

    def ask(self, claim: Claim, said: Sequence[Said], draft: Argument, summary: str = "") -> list[Message]:
        """Put what the helper is to do into messages; see ``rewrite``."""
        values = {
            "topic": claim.topic,
            "claim": claim.text,
            "dialogue": show_said(said, summary),
            "draft": draft.plain(),
            "max_words": str(self._max_words),
        }
        if self.kind == "fallacy":
            values["classes"] = "\n".join(f"- {name}: {meaning}" for name, meaning in FALLACIES.items())
        return self._prompts.fill(f"helper_{self.kind}", **values)
