from __future__ import annotations

import pytest

from debate.models.base import Message
from debate.models.scripted import ScriptedModel


@pytest.mark.parametrize("letters", [("A", "B"), ("A", "B", "C", "D")])
async def test_choices_without_any_probability_are_uniform_and_have_no_mass(letters: tuple[str, ...]) -> None:
    model = ScriptedModel(choose=lambda _messages, choices: [0.0] * len(choices))
    choice = await model.choose([Message("user", "Which?")], letters)
    assert choice.probabilities == (1 / len(letters),) * len(letters)
    assert choice.mass == 0
