from __future__ import annotations

import pytest

from tests.sides import debated
from tournaments.cast import Cast, Member
from tournaments.families import family_of
from tournaments.gather import Gathered
from tournaments.self_preference import preference_table, self_preferences


def of(name: str | None) -> Member:
    return Member({"model": None if name is None else {"name": name, "adapter": None}})


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai/gpt-4.1-mini", "gpt"),
        ("hf/Qwen/Qwen2.5-7B-Instruct", "qwen"),
        ("openai/Qwen/Qwen3-8B", "qwen"),
        ("embedded/smollm2-135m", "smollm"),
        ("hf/models/my-llama/", "my"),
        ("scripted/tests.scripts:judge", None),
        ("hf/135m", None),
        (None, None),
    ],
)
def test_families_are_told_by_the_models_name(name: str | None, family: str | None) -> None:
    assert family_of(of(name)) == family


def test_a_judge_is_held_against_those_of_other_families() -> None:
    players = {"ours": of("openai/gpt-4.1"), "theirs": of("hf/Qwen/Qwen3-8B"), "plain": of(None)}
    judges = {"gpt": of("openai/gpt-4o"), "qwen": of("hf/Qwen/Qwen2.5"), "small": of("embedded/smollm2-135m")}
    meets = {
        # Probabilities of answer 0; "ours" defends it in the first two, answer 1 in the third.
        "1": (("ours", "theirs"), (0.9, 0.8), (0.4, 0.2), (0.6, 0.6)),
        "2": (("ours", "plain"), (0.9, 0.2), (0.4,), (0.9, 0.9)),
        "3": (("theirs", "ours"), (0.1, 0.2), (0.3, 0.9), (0.9, 0.9)),
        "4": (("ours", "ours"), (0.9, 0.9), (0.1,), (0.1,)),  # both are
        "5": (("theirs", "plain"), (0.9, 0.9), (0.9,), (0.1,)),  # neither is of gpt
    }
    items = [
        debated(name, {"gpt": gpt, "qwen": qwen, "small": small}, players=pair, story=name)
        for name, (pair, gpt, qwen, small) in meets.items()
    ]
    found = self_preferences(Gathered(items, Cast(players, judges)))
    assert set(found) == {"gpt", "qwen"}
    gpt = found["gpt"]
    assert (gpt.family, gpt.debates, gpt.chosen.n) == ("gpt", 3, 3)
    # Chosen in both orders, in one of two, in both; by the others, whose means are 1/2, 1/2 and 1/4 ...
    assert gpt.chosen.value == pytest.approx((1 + 0.5 + 1) / 3)
    others = ((0 + 1) / 2, (0 + 1) / 2, (0.5 + 0) / 2)
    assert gpt.others is not None
    assert gpt.others.value == pytest.approx(sum(others) / 3)
    assert gpt.excess is not None
    assert gpt.excess.value == pytest.approx((2.5 - sum(others)) / 3)
    assert preference_table(found).rows[0][:3] == ["gpt", "gpt", 3]


def test_without_another_judge_strength_is_no_preference() -> None:
    players = {"ours": of("openai/gpt-4.1"), "theirs": of("hf/Qwen/Qwen3-8B")}
    items = [debated("1", {"gpt": (0.9,)}, players=("ours", "theirs"))]
    found = self_preferences(Gathered(items, Cast(players, {"gpt": of("openai/gpt-4o")})))
    assert found["gpt"].chosen.value == 1
    assert found["gpt"].others is None
    assert found["gpt"].excess is None
    assert self_preferences(Gathered(items, Cast())) == {}
