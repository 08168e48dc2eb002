"""Baselines: a judge that decides without a debate; and settings, which tell a judge what it has before it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from debate.agents.judge import JudgeConfig, build_judge, setting_of
from debate.models.base import Draw, Messages
from debate.models.scripted import ScriptedModel
from debate.prompts import SHIPPED, Prompts
from debate.protocols import BASELINES, Baseline, DoubleConsultancy, Simultaneous, judge_reads_story
from debate.transcript import Transcript
from debate.view import View
from tests.runs import ROOT
from tests.stage import STORY, Stage, question


def text_of(template: str) -> str:
    return Prompts().fill(template)[0].content


async def test_nobody_speaks() -> None:
    assert BASELINES == ("blind", "expert")
    for name in BASELINES:
        protocol = Baseline(name)
        assert protocol.rounds == 0
        (seats,) = protocol.seatings(question())
        transcript = await protocol.hold(question(), (None, None), seats, Draw())
        assert transcript == Transcript(question(), seats)
        view = transcript.view(story=judge_reads_story(name))
        assert setting_of(view) == f"judge_{name}"
        assert (view.story == STORY) == (name == "expert")


async def ask(view: View, kind: str) -> str:
    """What a judge reads."""
    seen: list[str] = []

    def note(messages: Messages, _: object) -> str:
        seen.append("\n".join(message.content for message in messages))
        return "Answer: A"

    model = ScriptedModel(note, choose=lambda messages, choices: [len(note(messages, None)) / 99] * len(choices))
    await build_judge(JudgeConfig.model_validate({"model": "scripted/s", "kind": kind}), model, Prompts()).decide(
        view, Draw()
    )
    return seen[0]


@pytest.mark.parametrize("kind", ["letter", "reason"])
async def test_a_judge_reads_the_story_where_the_view_has_it_and_only_there(kind: str) -> None:
    stage = Stage()
    speakers = (stage.debater("left"), stage.debater("right"))
    debate = await Simultaneous(1).hold(question(), speakers, (0, 1), Draw())
    double = await DoubleConsultancy(1).hold(question(), speakers, (0, 1), Draw())
    blank = Transcript(question())
    settings = {
        "judge_blind": blank.view(),
        "judge_expert": blank.view(story=True),
        "judge_debate": debate.view(),
        "judge_informed": debate.view(story=True),
        "judge_double_consultancy": double.view(),
    }
    for name, view in settings.items():
        prompt = await ask(view, kind)
        assert setting_of(view) == name
        assert text_of(name) in prompt
        assert not [other for other in settings if other != name and text_of(other) in prompt]
        assert (f"<story>\n{STORY}\n</story>" in prompt) == (view.story is not None)
        assert ("Tomas rode off" in prompt) == (view.story is not None)
        assert ("<v_quote>Ana shut the gate</v_quote>" in prompt) == bool(view.turns)
        assert ("Nobody argues for either answer." in prompt) == (not view.turns)
        assert "secret" not in prompt


async def test_three_answers_and_more_have_their_letters() -> None:
    view = View("Which?", ("red", "green", "blue"), None, ())
    letter, reason = await ask(view, "letter"), await ask(view, "reason")
    assert "Answer A: red\nAnswer B: green\nAnswer C: blue" in letter
    assert "Reply with one letter, A, B or C." in letter
    assert "Answer: A\nor\nAnswer: B\nor\nAnswer: C" in reason
    five = View("Which?", ("red", "green", "blue", "white", "black"), None, ())
    assert "Reply with one letter, A, B, C, D or E." in await ask(five, "letter")
    two = View("Which?", ("red", "green"), None, ())
    assert "Reply with one letter, A or B." in await ask(two, "letter")


async def test_judges_of_three_answers_decide_on_all() -> None:
    view = View("Which?", ("red", "green", "blue"), None, ())
    models = {
        "letter": (
            ScriptedModel(choose=lambda _messages, choices: [0.1, 0.2, 0.5][: len(choices)]),
            (1 / 8, 1 / 4, 5 / 8),
        ),
        "reason": (ScriptedModel(["It is.\nAnswer: C"]), (0.0, 0.0, 1.0)),
        "vote": (ScriptedModel(["Answer: C", "Answer: A"]), (1 + 1 / 3, 1 / 3, 1 + 1 / 3)),
    }
    for kind, (model, expected) in models.items():
        config = JudgeConfig.model_validate({"model": "scripted/s", "kind": kind, "votes": 2})
        decision = await build_judge(config, model, Prompts()).decide(view, Draw())
        total = sum(expected)
        assert decision.probabilities == pytest.approx(tuple(value / total for value in expected))


def test_every_shipped_template_is_used_by_somebody() -> None:
    """A name that no module mentions, whole or as made of parts, would be a template that nobody reads."""
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for package in ("debate", "optimizers", "tournaments", "training")
        for path in (ROOT / package).rglob("*.py")
    )
    # Parts that are filled in stand for any word; a name of nothing else would be any name.
    patterns = {
        re.sub(r"\{[^{}]*\}", r"\\w+", name)
        for name in re.findall(r'f?"((?:\w|\{[^{}"]*\})*[a-z]_?(?:\w|\{[^{}"]*\})*)"', code)
    }
    made = {f"{role}_{task}" for role in ("debater", "consultant") for task in ("opening", "reply", "answer", "free")}
    made |= {"debater_second", "judge_blind", "judge_expert"}
    assert {"opening", "reply", "answer", "second", "free"} <= patterns  # the tasks that those names are made of
    named = re.compile("|".join(pattern for pattern in patterns if re.search(r"[a-z]{3}", pattern.replace("\\w", ""))))
    unused = {path.stem for path in Path(SHIPPED).glob("*.txt") if named.fullmatch(path.stem) is None} - made
    assert unused == set()
