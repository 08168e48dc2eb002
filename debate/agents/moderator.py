"""Moderators: judges over a dialogue that say after each round whether the debater is convinced, and whether to go on.

They see the transcript, and nobody of the two ever sees them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self, get_args

from pydantic import Field, model_validator

from debate.agents.form import Filled, Form, fill_in
from debate.agents.memory import Build, Memory, Said, show_said
from debate.claim import Claim
from debate.config import Config
from debate.models.base import Draw, Message, Model, Sampling
from debate.models.load import ModelField, capabilities_of
from debate.prompts import Prompts
from debate.together import together
from debate.verdict import points

Task = Literal["convinced", "on_topic", "pleasantries"]
TASKS: tuple[Task, ...] = get_args(Task)
#: What the verdicts of moderators are filed under.
MODERATORS: Final = "moderators"

_ANSWER = Form({"answer": ("yes", "no"), "reason": ()})
_DECISION = Form({"decision": ("go on", "stop"), "reason": ()})
_LETTERS = ("A", "B")
_SENTENCE_TOKENS = 32  # a moderator's sentence, when it is scored
_MOST_ODDS = 30.0
_NEEDS = {"letter": "give probabilities of letters", "score": "score given texts"}


class ModeratorConfig(Config):
    """The moderators."""

    model: ModelField = Field(description="their model")
    second: ModelField | None = Field(
        None, description="the model that is asked where the first refuses a topic; none to count it as unread"
    )
    kind: Literal["json", "letter", "score"] = Field(
        "json",
        description="json: a structured reply with a reason; letter: the probability of yes, over both orders of yes "
        "and no; score: the likelihood of a sentence that says yes against one that says no, for local models that are "
        "too small for either",
    )
    replicas: int = Field(1, ge=1, le=15, description="replies to each small task, of which the majority counts")
    master: Literal["model", "rule"] = Field(
        "model",
        description="model: decides on the transcript and the small tasks' answers; rule: stops as soon as one of them "
        "is a reason to",
    )
    max_tokens: int = Field(200, ge=1, description="longest reply, thinking included, in tokens")
    max_attempts: int = Field(3, ge=1, le=20, description="attempts at a reply that can be read")
    temperature: float = Field(0.0, ge=0, le=2, description="sampling temperature")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        able = capabilities_of(self.model)
        if self.kind != "json" and (self.replicas > 1 or self.second is not None):
            raise ValueError(
                f"{self.kind} moderators draw nothing and refuse nothing, so replicas and second are for kind json; "
                "leave them out"
            )
        if not (self.kind == "json" or (able.letters if self.kind == "letter" else able.score)):
            raise ValueError(f"moderator {self.model.label} cannot {_NEEDS[self.kind]}; set kind to json")
        if self.replicas % 2 == 0:
            raise ValueError(f"{self.replicas} replicas have no majority where they are split; give an odd number")
        if self.replicas > 1 and self.temperature == 0 and able.temperature:
            raise ValueError(f"{self.replicas} replicas at temperature 0 are the same reply; set temperature")
        return self


@dataclass(frozen=True, slots=True)
class Finding:
    """What a small task found.

    Attributes:
        share: How much of it says yes, in [0, 1]: (yes + 1/2) / (n + 1) of n replicas beside each other, 0 or 1 of one,
            the probability of a letter or of a sentence against its opposite; None where nothing could be read.
        why: Reasons given, or why nothing could be read.
        refused: Replies in which the first model refused.
        unread: Replicas of which no reply could be read.
    """

    share: float | None
    why: str
    refused: int = 0
    unread: int = 0

    @property
    def yes(self) -> bool | None:
        """The answer; even odds are no yes. None where nothing could be read."""
        return None if self.share is None else points(self.share) == 1

    @property
    def word(self) -> str:
        """The answer as a word."""
        return "unknown" if self.yes is None else "yes" if self.yes else "no"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the moderators say after a round.

    Attributes:
        findings: By task.
        stops: Whether the dialogue is over.
        why: The master's reason.
        refused: Times that the first model refused to decide.
        unread: 1 where the master's reply could not be read, and the rule decided in its place.
    """

    findings: Mapping[Task, Finding]
    stops: bool
    why: str
    refused: int = 0
    unread: int = 0

    @property
    def all_refused(self) -> int:
        """Times that the first model refused anything."""
        return self.refused + sum(finding.refused for finding in self.findings.values())

    @property
    def all_unread(self) -> int:
        """Replies of small tasks and master that could not be read."""
        return self.unread + sum(finding.unread for finding in self.findings.values())

    @property
    def text(self) -> str:
        """All of it for readers."""
        lines = [f"{task.replace('_', ' ').capitalize()}: {one.word}. {one.why}" for task, one in self.findings.items()]
        return "\n".join([*lines, f"Master: {'stop' if self.stops else 'go on'}. {self.why}"])


class Moderators:
    """Three small tasks and a master, all on the transcript: nobody says anything that the two could hear.

    Args:
        model: Any model.
        second: Who is asked where the first refuses, or None.
        prompts: Templates; they use ``moderator_<kind>``, one for each task, and ``moderator_master``.
        config: Kind, replicas and sampling.
        memory: Fits what was said into the model's context.
    """

    def __init__(
        self, model: Model, second: Model | None, *, prompts: Prompts, config: ModeratorConfig, memory: Memory
    ) -> None:
        self._models = (model, *([] if second is None else [second]))
        self._prompts = prompts
        self._config = config
        self._memory = memory

    async def rule(self, claim: Claim, said: Sequence[Said], draw: Draw) -> Ruling:
        """Say where the dialogue stands.

        Args:
            claim: What the persuader argues for.
            said: The dialogue so far, the debater's last message at its end.
            draw: Seed and repetition.

        Returns:
            The ruling.

        Raises:
            ModelError: A model failed for good.
        """
        answers = await together(self._find(task, claim, said, draw) for task in TASKS)
        findings = dict(zip(TASKS, answers, strict=True))
        causes = [task for task in TASKS if findings[task].yes is (task != "on_topic")]
        by_rule = Ruling(
            findings,
            bool(causes),
            f"By rule: {', '.join('off topic' if task == 'on_topic' else task for task in causes) or 'no reason'}.",
        )
        if self._config.master == "rule":
            return by_rule
        build = functools.partial(self._ask_master, claim, findings)
        filled, refused = await self._fill(build, said, _DECISION, draw._replace(stream="master moderator"))
        if filled.values is None:
            return Ruling(findings, by_rule.stops, f"Unread. {by_rule.why}", refused, 1)
        return Ruling(findings, filled.values["decision"] == "stop", filled.values["reason"], refused)

    async def _find(self, task: Task, claim: Claim, said: Sequence[Said], draw: Draw) -> Finding:
        draw = draw._replace(stream=f"moderator {task}")
        if self._config.kind != "json":
            read = self._choose if self._config.kind == "letter" else self._score
            return await read(task, claim, said, draw)
        build = functools.partial(self._ask, task, claim, ("yes", "no"))
        draws = draw.take(self._config.replicas)
        replies = await together(self._fill(build, said, _ANSWER, draw) for draw in draws)
        given = [filled.values for filled, _ in replies if filled.values is not None]
        refused, unread = sum(count for _, count in replies), len(replies) - len(given)
        if 2 * len(given) <= len(replies):
            flaws = dict.fromkeys(flaw for filled, _ in replies for flaw in filled.flaws if flaw)
            return Finding(None, f"No reply could be read: {'; '.join(flaws)}.", refused, unread)
        yes = sum(values["answer"] == "yes" for values in given)
        share = float(yes) if len(given) == 1 else (yes + 0.5) / (len(given) + 1)
        return Finding(share, " / ".join(values["reason"] for values in given), refused, unread)

    async def _fill(self, build: Build, said: Sequence[Said], form: Form, draw: Draw) -> tuple[Filled, int]:
        """Ask the first model, and the second where it refuses; returns the form and how many refused."""
        config, refused = self._config, 0
        sampling = Sampling(config.max_tokens, config.temperature)
        for model in self._models:
            fitted = await self._memory.fit(model, said, build, reply=config.max_tokens, draw=draw)
            filled = await fill_in(
                model,
                fitted.messages,
                form,
                prompts=self._prompts,
                sampling=sampling,
                draw=draw,
                attempts=config.max_attempts,
                room=fitted.room,
            )
            if not filled.refused:
                break
            refused += 1
        return filled, refused

    async def _choose(self, task: Task, claim: Claim, said: Sequence[Said], draw: Draw) -> Finding:
        """Take the probability of yes, over both orders of the answers: a small model likes the first letter."""
        model, shares = self._models[0], []
        for words in (("yes", "no"), ("no", "yes")):
            build = functools.partial(self._ask, task, claim, words)
            fitted = await self._memory.fit(model, said, build, reply=1, draw=draw)
            choice = await model.choose(fitted.messages, _LETTERS)
            if choice.mass <= 0:
                return Finding(None, "The letters are not among the model's likeliest first tokens.", unread=1)
            shares.append(choice.probabilities[words.index("yes")])
        share = math.fsum(shares) / len(shares)
        return Finding(share, f"Probability of yes {share:.2f} (yes first {shares[0]:.2f}, no first {shares[1]:.2f}).")

    async def _score(self, task: Task, claim: Claim, said: Sequence[Said], draw: Draw) -> Finding:
        """Compare the likelihoods of a sentence that says yes and of one that says no."""
        question, yes, no = (message.content for message in self._prompts.fill(f"moderator_{task}_score"))

        def build(summary: str, shown: Sequence[Said]) -> list[Message]:
            values = {"topic": claim.topic, "claim": claim.text, "dialogue": show_said(shown, summary)}
            return self._prompts.fill("moderator_score", **values, question=question)

        model = self._models[0]
        fitted = await self._memory.fit(model, said, build, reply=_SENTENCE_TOKENS, draw=draw)
        scores = await model.score(fitted.messages, (yes, no))
        odds = scores.values[0] - scores.values[1]
        share = 1 / (1 + math.exp(-max(-_MOST_ODDS, min(_MOST_ODDS, odds))))
        return Finding(share, f"{yes if share > 0.5 else no} (log-odds of yes {odds:+.2f}).")

    def _ask(
        self, task: Task, claim: Claim, words: tuple[str, str], summary: str, said: Sequence[Said]
    ) -> list[Message]:
        """Put a small task into messages; of letter moderators ``words`` are what A and B stand for."""
        values = {
            "topic": claim.topic,
            "claim": claim.text,
            "dialogue": show_said(said, summary),
            "question": self._prompts.fill(f"moderator_{task}")[0].content,
        }
        if self._config.kind == "letter":
            values |= {"first": words[0], "second": words[1]}
        return self._prompts.fill(f"moderator_{self._config.kind}", **values)

    def _ask_master(
        self, claim: Claim, findings: Mapping[Task, Finding], summary: str, said: Sequence[Said]
    ) -> list[Message]:
        words = {task: finding.word for task, finding in findings.items()}
        return self._prompts.fill(
            "moderator_master", topic=claim.topic, claim=claim.text, dialogue=show_said(said, summary), **words
        )
