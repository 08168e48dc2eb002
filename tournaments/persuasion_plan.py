"""The plan of a persuasion run: an upper bound of its calls, for nobody knows how soon debaters are convinced."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    estimate = _Estimate(config, claims)
    held = len(claims) * config.repetitions
    later = config.rounds - 1
    calls: dict[str, Calls] = {}

    def add(model: ModelConfig, count: int, prompt: int, reply: int, *, prompts: int | None = None) -> None:
        hidden = hidden_tokens(model)
        spent = Calls(count, (count if prompts is None else prompts) * prompt, count * (reply + hidden))
        calls[model.label] = calls.get(model.label, Calls()) + spent

    for speaker in config.debaters:
        add(speaker.model, held, estimate.talking(speaker.model, 1), config.talk.max_tokens)
    for talkers in config.pairs:
        of_scenarios = len(config.scenarios) * held
        # The first draft is shared; without a second round there is none.
        drafts = (held + (later - 1) * of_scenarios) if later else 0
        middle = estimate.talking(talkers.persuader.model, config.rounds + 1)
        add(talkers.persuader.model, drafts, middle, config.talk.max_tokens)
        add(
            talkers.debater.model,
            later * of_scenarios,
            estimate.talking(talkers.debater.model, config.rounds + 1),
            config.talk.max_tokens,
        )
        helper = config.helper.model or talkers.persuader.model
        add(helper, later * len(config.helped) * held, estimate.helping(helper), config.helper.max_tokens)
    rulings = len(config.debaters) * held + len(config.pairs) * later * len(config.scenarios) * held
    moderator = config.moderators
    letters = moderator.kind == "letter"
    small = len(TASKS) * (2 if letters else moderator.replicas)
    asked = estimate.moderating(moderator.model)
    add(moderator.model, rulings * small, asked, 1 if letters else moderator.max_tokens)
    if moderator.master == "model":
        add(moderator.model, rulings, asked, moderator.max_tokens)
    debates = len(config.pairs) * len(config.scenarios) * held
    return Plan(debates, 0, 0, {name: one for name, one in calls.items() if one.calls}, {}, {}, (_NOTE,))


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
        reply = 1 if self._config.moderators.kind == "letter" else self._config.moderators.max_tokens
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
