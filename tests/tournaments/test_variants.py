"""Variants of a player: when a judge is the preference model."""

from __future__ import annotations

from typing import Any

import pytest

from debate.agents.judge import JudgeConfig
from tournaments.variants import match_of

MINI: dict[str, Any] = {"name": "openai/gpt-4.1-mini"}


@pytest.mark.parametrize(
    ("preference", "judge", "match"),
    [
        ({"model": MINI}, {"model": MINI}, "matched"),
        ({"model": MINI}, {"model": MINI, "name": "my judge"}, "matched"),
        # Where it runs, and how patiently, is nothing that a verdict depends on.
        ({"model": MINI | {"base_url": "http://one/v1"}}, {"model": MINI | {"base_url": "http://two/v1"}}, "matched"),
        ({"model": MINI}, {"model": MINI | {"concurrency": 2, "timeout_s": 9, "max_retries": 1}}, "matched"),
        ({"model": MINI, "votes": 9, "max_tokens": 9, "temperature": 0}, {"model": MINI}, "matched"),
        ({"model": MINI}, {"model": MINI, "kind": "reason"}, "same model"),
        ({"model": MINI, "kind": "vote"}, {"model": MINI, "kind": "vote", "votes": 9}, "same model"),
        ({"model": MINI | {"capabilities": {"logprobs": False}}}, {"model": MINI}, "same model"),
        ({"model": MINI | {"base_url": "http://one/v1"}}, {"model": MINI, "kind": "vote"}, "same model"),
        ({"model": MINI}, {"model": MINI | {"adapter": "judge"}}, "held out"),
        ({"model": MINI}, {"model": "openai/gpt-4o-mini"}, "held out"),
        ({"kind": "own:Long"}, {"kind": "own:Long", "name": "long"}, "matched"),
        ({"kind": "own:Long"}, {"kind": "own:Short"}, "held out"),
        ({"kind": "own:Long", "options": {"words": 5}}, {"kind": "own:Long", "options": {"words": 9}}, "same model"),
        ({"kind": "own:Long"}, {"model": MINI}, "held out"),
    ],
)
def test_a_judge_is_the_preference_model_if_nothing_that_decides_differs(
    preference: dict[str, Any], judge: dict[str, Any], match: str
) -> None:
    one, other = JudgeConfig.model_validate(preference), JudgeConfig.model_validate(judge)
    assert match_of(one, other) == match_of(other, one) == match
