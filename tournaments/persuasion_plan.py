"""The plan of a persuasion run: an upper bound of its calls, for nobody knows how soon debaters are convinced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from debate.agents.memory import Said, show_said
from debate.agents.moderator import TASKS
from debate.agents.talker import opening
from debate.claim import Claim
from debate.errors import ContextError
from debate.fallacies import FALLACIES
from debate.models.base import Message
from debate.models.load import ModelConfig, TokenCounter
from debate.prompts import Prompts
from tournaments.calls import Calls, hidden_tokens
from tournaments.persuasion_config import PersuasionConfig
from tournaments.plan import Plan

_TOKENS_A_WORD = 1.5  # rather too many: most tokenizers need 1.3 for English


def plan_persuasion(config: PersuasionConfig, claims: Sequence[Claim]) -> Plan:
    """Count what a run takes at most: every debate over all rounds.

    What scenarios share is counted once: the debater's first reply and the ruling on it, which come before any help,
    and the persuader's first draft. Attempts after invalid replies, summaries, and what a second moderator is asked
    come on top.

    Args:
        config: The configuration.
        claims: The claims.

    Returns:
        The plan.

    Raises:
        ContextError: A model's context is too short for the shortest prompt that it may get.
    """
    estimate, tally = _Estimate(config, claims), _Tally()
    held, later = len(claims) * config.repetitions, config.rounds - 1
    of_scenarios = len(config.scenarios) * held
    reply = config.talk.max_tokens
    for speaker in config.debaters:
        tally.add(speaker.model, held, estimate.talking(speaker.model, 1), reply)
    for persuader, debater in config.pairs if later else ():
        # The first draft is shared by the scenarios.
        drafts = held + (later - 1) * of_scenarios
        tally.add(persuader.model, drafts, estimate.talking(persuader.model, config.rounds + 1), reply)
        tally.add(debater.model, later * of_scenarios, estimate.talking(debater.model, config.rounds + 1), reply)
        helper = config.helper.model or persuader.model
        helped = later * held * len(config.helped)
        tally.add(helper, helped, estimate.helping(helper) if helped else 0, config.helper.max_tokens)
        if config.helper.kind == "score" and "fallacy" in config.scenarios:
            # Each choice is a call, and so is, once for each claim, the likelihood before anything was said.
            before = 0 if helper.label in tally.choosers else len(claims)
            tally.choosers.add(helper.label)
            tally.add(helper, later * held + before, estimate.helping(helper), 0)
    moderator = config.moderators
    rulings = len(config.debaters) * held + len(config.pairs) * later * of_scenarios
    # Of letters both orders are asked; two sentences are scored in one call.
    small = len(TASKS) * {"json": moderator.replicas, "letter": 2, "score": 1}[moderator.kind]
    asked = estimate.moderating(moderator.model)
    told = {"json": moderator.max_tokens, "letter": 1, "score": 0}[moderator.kind]
    tally.add(moderator.model, rulings * small, asked, told)
    if moderator.master == "model":
        tally.add(moderator.model, rulings, asked, moderator.max_tokens)
    return Plan(len(config.pairs) * of_scenarios, 0, 0, tally.calls, {}, {}, (_NOTE,))


@dataclass
class _Tally:
    """Calls by model, and the models whose first choice of a fallacy is counted."""

    calls: dict[str, Calls] = field(default_factory=dict)
    choosers: set[str] = field(default_factory=set)

    def add(self, model: ModelConfig, count: int, prompt: int, reply: int) -> None:
        """Count calls of so many prompt tokens and replies of at most so many."""
        if count:
            hidden = hidden_tokens(model) if reply else 0
            spent = Calls(count, count * prompt, count * (reply + hidden))
            self.calls[model.label] = self.calls.get(model.label, Calls()) + spent


_NOTE = (
    "An upper bound: a debate ends before its last round where the debater is convinced or nothing is left to say. "
    "Scenarios share what comes before the first help. Summaries of long debates come on top."
)


class _Estimate:
    """Estimates prompts in tokens, those in the middle of a debate that takes all rounds."""

    def __init__(self, config: PersuasionConfig, claims: Sequence[Claim]) -> None:
        self._config = config
        self._prompts = Prompts(Path(config.prompts) if config.prompts else None)
        # The longest claim stands for all.
        self._claim = max(claims, key=lambda claim: len(claim.topic) + len(claim.text) + len(claim.reason))
        self._message = min(config.talk.max_tokens, math.ceil(_TOKENS_A_WORD * config.talk.max_words))
        self._counters: dict[str, TokenCounter] = {}

    def talking(self, model: ModelConfig, round_: int) -> int:
        """What a speaker is shown in the mean round up to this one."""
        values = {"character": "", "summary": "", "max_words": str(self._config.talk.max_words)}
        claim = self._claim
        known = {"topic": claim.topic, "claim": claim.text, "reason": claim.reason}
        frame = self._prompts.fill("persuader", **values, **known)
        said = [Message("user", opening(claim, self._prompts).raw)]
        return self._fit(model, [*frame, *said], (round_ - 1) * self._message, self._config.talk.max_tokens)

    def helping(self, model: ModelConfig) -> int:
        """What a helper is shown: the dialogue, a draft and the list of fallacies."""
        claim = self._claim
        frame = self._prompts.fill(
            "helper_fallacy",
            topic=claim.topic,
            claim=claim.text,
            dialogue=self._dialogue(),
            draft="",
            classes="\n".join(f"- {name}: {meaning}" for name, meaning in FALLACIES.items()),
            max_words="100",
        )
        return self._fit(model, frame, (self._config.rounds + 1) * self._message, self._config.helper.max_tokens)

    def moderating(self, model: ModelConfig) -> int:
        """What a moderator is shown."""
        claim = self._claim
        frame = self._prompts.fill(
            "moderator_json",
            topic=claim.topic,
            claim=claim.text,
            dialogue=self._dialogue(),
            question=self._prompts.fill("moderator_convinced")[0].content,
        )
        reply = self._config.moderators.max_tokens if self._config.moderators.kind == "json" else 1
        return self._fit(model, frame, self._config.rounds * self._message, reply)

    def _dialogue(self) -> str:
        return show_said([Said("persuader", opening(self._claim, self._prompts).raw)])

    def _fit(self, model: ModelConfig, frame: Sequence[Message], said: int, reply: int) -> int:
        """Add what was said to a frame, no more than the context lets in."""
        key = model.model_dump_json()
        counter = self._counters.get(key) or self._counters.setdefault(key, TokenCounter(model))
        fixed = counter(frame)
        limits = [limit for limit in (counter.context, self._config.memory.context) if limit is not None]
        # The first and the last message stay whole, whatever is summarised.
        if limits and fixed + self._message + reply > min(limits):
            raise ContextError(
                f"model {model.label}: a prompt of {fixed} tokens, a message of {self._message} and a reply of {reply} "
                f"are more than its context of {min(limits)}; shorten messages (talk.max_words) or replies"
            )
        return fixed + (said if not limits else min(said, min(limits) - fixed - reply))
