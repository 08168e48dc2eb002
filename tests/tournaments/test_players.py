"""Players as configurations describe them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tournaments.players import PlayerConfig


def test_drafts_of_a_model_behind_a_server_are_refused() -> None:
    tree = {"name": "p", "kind": "evidence_first", "model": "openai/gpt-4.1-mini"}
    with pytest.raises(ValidationError, match=r"drafts are chosen.*openai/gpt-4.1-mini does not give.*leave drafts"):
        PlayerConfig.model_validate(tree | {"drafts": 2})
    assert PlayerConfig.model_validate(tree).drafts == 1
    assert PlayerConfig.model_validate(tree | {"drafts": 2, "model": "embedded/smollm2-135m"}).drafts == 2


def test_a_spread_is_for_debaters_that_rank_quotes_by_likelihood() -> None:
    tree = {"name": "p", "kind": "evidence_first", "model": "openai/gpt-4.1-mini", "spread": 2}
    with pytest.raises(ValidationError, match=r"spread is in nats.*openai/gpt-4.1-mini does not give.*leave spread"):
        PlayerConfig.model_validate(tree)
    with pytest.raises(ValidationError, match=r"spread is for kind evidence_first.*free does not"):
        PlayerConfig.model_validate(tree | {"kind": "free"})
    assert PlayerConfig.model_validate(tree | {"model": "embedded/smollm2-135m"}).spread == 2
