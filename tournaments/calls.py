"""Calls to a model, counted beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from debate.agents.judge import JudgeConfig
from debate.models.letters import CHOICE_DRAWS
from debate.models.load import ModelConfig, capabilities_of
from tournaments.contexts import thinks


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls to one model.

    Attributes:
        calls: How many.
        tokens_in: Prompt tokens, estimated.
        tokens_out: Reply tokens, hidden reasoning included, if every reply is as long as it may be.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Calls) -> Calls:
        """Add up."""
        return Calls(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


def hidden_tokens(model: ModelConfig) -> int:
    """Room for a model's hidden reasoning in each reply, in tokens."""
    return model.reasoning_tokens if capabilities_of(model).reasoning else 0


def judging_calls(judge: JudgeConfig, verdicts: int, prompt: int) -> Calls:
    """Count the calls of a judge; none for one without a model.

    Args:
        judge: The judge.
        verdicts: How many, both orders counted.
        prompt: Tokens of a prompt.
    """
    if judge.model is None:
        return Calls()
    if not thinks(judge):
        able = capabilities_of(judge.model)
        drawn = 1 if able.logprobs else CHOICE_DRAWS  # replies of one token, and their prompts
        return Calls(verdicts * drawn, verdicts * prompt * (1 if able.n else drawn), verdicts * drawn)
    samples = judge.votes if judge.kind in {"letter", "vote"} else 1
    return Calls(
        verdicts * samples, verdicts * prompt, verdicts * samples * (judge.max_tokens + hidden_tokens(judge.model))
    )
