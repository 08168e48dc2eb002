from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from debate.agents.critic import CritiqueChooser, ModelCritic
from debate.agents.debater import Debater, FreeDebater, Limits, Speech
from debate.agents.evidence import EvidenceFirstDebater
from debate.agents.extractive import ExtractiveDebater
from debate.agents.judge import LetterJudge
from debate.errors import ConfigError
from debate.models.base import Draw, Messages, Sampling
from debate.models.calls import LoggedModel
from debate.models.limits import Budget, Meter
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.protocols import Consultancy, Interactive
from debate.quotes import Argument, parse_argument
from debate.store import Store
from debate.view import View
from optimizers.best_of_n import BestOfN
from optimizers.critique_refine import CritiqueRefine, telltales
from optimizers.preference import JudgePreference, Preference
from tests.optimized import LIMITS, QUESTION, STORY, Known, Words, noise, said, view_of
from tests.stage import Stage

DRAW = Draw(seed=3, stream="player")
SAMPLING = Sampling(200)
PROMPTS = Prompts()


class Scene:
    """The models of an optimizer and every prompt that they got.

    Args:
        refine: What is written anew, of the speech before, the critique and the draw.
        favourite: A word of the critique that the chooser picks.
    """

    def __init__(
        self, refine: Callable[[str, str, Draw], str] = lambda speech, _c, _d: f"{speech}+", favourite: str = "advice 1"
    ) -> None:
        self.criticised: list[tuple[str, Draw]] = []
        self.refined: list[tuple[Messages, Draw]] = []
        self.chosen: list[str] = []
        self.prompts: list[str] = []
        self._refine = refine
        self._favourite = favourite
        self.critic_model = ScriptedModel(self._criticise, choose=self._choose, name="scripted/critic")
        self.model = ScriptedModel(self._write, name="scripted/writer")

    def optimizer(
        self, base: Debater, preference: Preference, *, k: int = 1, rounds: int = 1, limits: Limits = LIMITS
    ) -> CritiqueRefine:
        """Make the optimizer."""
        return CritiqueRefine(
            base,
            preference,
            critic=ModelCritic(self.critic_model, prompts=PROMPTS, sampling=SAMPLING),
            chooser=CritiqueChooser(self.critic_model, prompts=PROMPTS),
            model=self.model,
            prompts=PROMPTS,
            limits=limits,
            sampling=SAMPLING,
            critiques=k,
            rounds=rounds,
        )

    def _note(self, messages: Messages) -> str:
        self.prompts.append("\n".join(message.content for message in messages))
        return self.prompts[-1]

    def _criticise(self, messages: Messages, draw: Draw) -> str:
        self.criticised.append((self._note(messages), draw))
        return f"advice {draw.sample}"

    def _choose(self, messages: Messages, choices: Sequence[str]) -> list[float]:
        self.chosen.append(self._note(messages))
        values = [0.9 if f"Critique {one}: {self._favourite}" in self.chosen[-1] else 0.1 for one in choices]
        return [value / sum(values) for value in values]

    def _write(self, messages: Messages, draw: Draw) -> str:
        self._note(messages)
        self.refined.append((messages, draw))
        speech = re.fullmatch(r"<argument>(.*)</argument>", messages[-2].content, re.DOTALL)
        assert speech is not None
        critique = re.search(r"will not see:\n(.*)\n", messages[-1].content)
        assert critique is not None
        return f"<argument>{self._refine(speech[1], critique[1], draw)}</argument>"


def plus(text: str) -> float:
    """Each plus is a point."""
    return float(text.count("+"))


def minus(text: str) -> float:
    """Each plus costs a point."""
    return -plus(text)


def spoken(speech: Speech) -> str:
    return speech.candidates[speech.chosen].argument.plain()


async def test_the_refined_speech_is_given_if_it_is_better() -> None:
    scene = Scene()
    speech = await scene.optimizer(Words(["one"]), Known(plus)).argue(view_of(), DRAW)
    assert spoken(speech) == "one+"
    assert [(made.argument.plain(), made.score) for made in speech.candidates] == [("one", 0.0), ("one+", 1.0)]
    assert [made.critique for made in speech.candidates] == ["", "advice 0"]


@pytest.mark.parametrize("scores", [minus, lambda _text: 1.0, lambda _text: None])
async def test_else_the_first_one_is(scores: Callable[[str], float | None]) -> None:
    speech = await Scene().optimizer(Words(["one"]), Known(scores)).argue(view_of(), DRAW)
    assert spoken(speech) == "one"
    assert [made.argument.plain() for made in speech.candidates] == ["one", "one+"]  # both are kept


@pytest.mark.parametrize("unread", ["one", "one+"])
async def test_without_both_scores_nothing_is_known_to_be_better(unread: str) -> None:
    known = Known(lambda text: None if text == unread else plus(text))
    assert spoken(await Scene().optimizer(Words(["one"]), known).argue(view_of(), DRAW)) == "one"


async def test_each_round_goes_on_from_the_better_speech() -> None:
    scene = Scene(lambda speech, _critique, draw: f"{speech}{'+' if ' 2 ' not in draw.stream else '-'}")
    known = Known(lambda text: plus(text) - 2 * text.count("-"))
    speech = await scene.optimizer(Words(["one"]), known, rounds=3).argue(view_of(), DRAW)
    assert [made.argument.plain() for made in speech.candidates] == ["one", "one+", "one+-", "one++"]
    assert spoken(speech) == "one++"
    assert known.asked == [["one"], ["one+"], ["one+-"], ["one++"]]  # no score is asked for twice
    # The same speech is criticised and written anew with new draws.
    assert [draw.stream for _prompt, draw in scene.criticised] == [f"critiques {r} of player" for r in (1, 2, 3)]
    assert [draw.stream for _messages, draw in scene.refined] == [f"refinement {r} of player" for r in (1, 2, 3)]


async def test_the_critique_that_is_picked_is_followed() -> None:
    scene = Scene(lambda speech, critique, _draw: f"{speech}+ {critique}", favourite="advice 2")
    speech = await scene.optimizer(Words(["one"]), Known(plus), k=4).argue(view_of(), DRAW)
    assert spoken(speech) == "one+ advice 2"
    assert [draw.sample for _prompt, draw in scene.criticised] == [0, 1, 2, 3]
    assert len(scene.chosen) == 2
    assert len(scene.refined) == 1


async def test_one_critique_needs_no_choice_and_none_no_refinement() -> None:
    scene = Scene()
    await scene.optimizer(Words(["one"]), Known(plus)).argue(view_of(), DRAW)
    assert (len(scene.criticised), scene.chosen) == (1, [])
    scene.critic_model = ScriptedModel(["<think>nothing to say</think>"])
    speech = await scene.optimizer(Words(["one"]), Known(plus), k=3).argue(view_of(), DRAW)
    assert [made.argument.plain() for made in speech.candidates] == ["one"]


async def test_where_no_speech_is_valid_none_is_refined() -> None:
    scene = Scene()
    speech = await scene.optimizer(Words(["bad one. And"]), Known(plus)).argue(view_of(), DRAW)
    assert spoken(speech) == "bad one."
    assert scene.prompts == []


VIEWS = [
    view_of(said(1, 0, "a1"), said(1, 1, "b1"), said(2, None, "Is that all?")),
    view_of(said(1, 0, "a1", role="consultant"), said(2, None, "Is that all?"), role="consultant"),
]


@pytest.mark.parametrize("view", VIEWS, ids=["debater", "consultant"])
async def test_what_critic_chooser_and_writer_are_shown(view: View) -> None:
    scene = Scene()
    base = Words(["Debater B errs: <quote>Ana shut the gate</quote> <quote>Tomas shut the gate at noon</quote>"])
    await scene.optimizer(base, Known(plus), k=2).argue(view, DRAW)
    for prompt in scene.prompts:
        assert STORY in prompt
        assert "Judge: Is that all?" in prompt
        assert "Debater B errs" in prompt
        assert "{{" not in prompt
        assert "}}" not in prompt
    for prompt in [scene.criticised[0][0], *scene.chosen]:
        assert "What the judge has just asked: Is that all?" in prompt
    messages, draw = scene.refined[0]
    assert draw == Draw(3, "refinement 1 of player")
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert PROMPTS.fill(f"{view.role}_free", **dict.fromkeys(_names(f"{view.role}_free"), ""))[0] == messages[0]
    assert PROMPTS.fill(f"{view.role}_answer")[0].content in messages[1].content
    # As it wrote it, not as a judge sees it; what is known of its quotes stands apart.
    assert "<quote>Ana shut the gate</quote> <quote>Tomas shut the gate at noon</quote>" in messages[2].content
    assert '"Tomas shut the gate at noon" is not in the story; the passage most like it is "' in messages[3].content
    assert "advice 1" in messages[3].content
    assert "1 to 60 words" in messages[3].content


def _names(template: str) -> set[str]:
    text = "".join(path.read_text() for path in _shipped() if path.stem == template)
    return set(re.findall(r"\{\{(\w+)\}\}", text))


def _shipped() -> list[Path]:
    from debate.prompts import SHIPPED

    return list(SHIPPED.glob("*.txt"))


async def test_a_refinement_is_parsed_and_held_to_the_limits_as_any_candidate() -> None:
    limits = Limits(min_words=4, max_words=12, min_quotes=1, max_attempts=3)
    tries = [
        "+ No quote in it at all.",
        "+ <quote>Ana shut the gate</quote>" + " and so on" * 4,
        "+ As Debater B knows: <quote>Ana shut the gate</quote> <quote>Tomas did</quote>",
    ]
    scene = Scene(lambda _speech, _critique, draw: tries[draw.attempt])
    base = Words(["It was so: <quote>The dog slept on the step.</quote>"])
    speech = await scene.optimizer(base, Known(plus), limits=limits).argue(view_of(), DRAW)
    _first, short, long, good = speech.candidates
    assert short.flaws == ("0 quotes, fewer than 1",)
    assert long.flaws == ("17 words, more than 12",)
    assert (good.flaws, speech.chosen) == ((), 3)
    assert [made.score for made in speech.candidates] == [0.0, None, None, 1.0]
    assert good.argument.render("B").strip("+ ") == (
        "As Debater A knows: <v_quote>Ana shut the gate</v_quote> <u_quote>Tomas did</u_quote>"
    )


async def test_an_invalid_refinement_is_never_given() -> None:
    limits = Limits(min_words=1, max_words=12, min_quotes=1, max_attempts=2)
    scene = Scene(lambda _speech, _critique, _draw: "+++ no quote")
    base = Words(["It was so: <quote>The dog slept on the step.</quote>"])
    speech = await scene.optimizer(base, Known(plus), limits=limits).argue(view_of(), DRAW)
    assert speech.chosen == 0
    assert [made.valid for made in speech.candidates] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Following the critique, I quote more.", ("critique",)),
        ("Your Feedback and the CRITIQUES are taken up. Feedback!", ("feedback", "critiques")),
        ("The reviewer asks for more.", ("reviewer",)),
        ("Here is my revised case.", ("revised",)),
        ("In this improved version I quote.", ("improved version",)),
        ("He shut it at noon.", ()),
        ("It is critical that he saw it.", ()),
        ("<quote>The dog slept on the step.</quote> <quote>my revised speech</quote>", ("revised",)),
    ],
)
def test_words_that_tell_of_a_critique(text: str, told: tuple[str, ...]) -> None:
    assert telltales(parse_argument(text, STORY), Argument(("It was Ana.",)), view_of()) == told


def test_words_that_were_there_before_tell_nothing() -> None:
    refined = Argument(("The reviewer revised it after a critique.",))
    assert telltales(refined, Argument(("The Reviewer revised a critique",)), view_of()) == ()
    assert telltales(refined, Argument(("The reviewer",)), view_of(said(1, 1, "revised"))) == ("critique",)
    # A story about reviewers excuses the reviewer; what the prompt calls it, only what others have said.
    about = parse_argument(
        "<quote>A reviewer revised his critique of it.</quote>", "A reviewer revised his critique of it."
    )
    story = View("Who?", ("a", "b"), "A reviewer revised his critique of it.", (), "A")
    assert telltales(refined, Argument(("x",)), story) == ("critique",)
    assert telltales(about, Argument(("x",)), story) == ()


async def test_a_refinement_that_mentions_the_critique_is_sampled_again() -> None:
    scene = Scene(lambda speech, _critique, draw: f"{speech}+ {'As the critique says.' if not draw.attempt else 'So.'}")
    speech = await scene.optimizer(Words(["one"]), Known(plus)).argue(view_of(), DRAW)
    assert speech.candidates[1].flaws == ("it tells of its critique: critique",)
    assert spoken(speech) == "one+ So."
    # Where it always does, the first speech stays.
    scene = Scene(lambda speech, _critique, _draw: f"{speech}+ As the critique says.")
    assert spoken(await scene.optimizer(Words(["one"]), Known(plus)).argue(view_of(), DRAW)) == "one"


async def test_best_of_n_over_critique_refine_chooses_among_refined_speeches() -> None:
    base = Words(["one", "two", "three"])
    # Refining helps all but the second.
    scene = Scene(lambda speech, _critique, _draw: f"{speech}{'-' if speech == 'two' else '+'}")
    known = Known(lambda text: {"o": 1.0, "t": 2.0}[text[0]] + plus(text) - text.count("-"))
    inner = scene.optimizer(base, known)
    speech = await BestOfN(inner, known, n=3, limits=LIMITS).argue(view_of(), DRAW)
    assert [n for _view, _draw, n in base.asked] == [3]
    handed_on = ["one+", "two", "three+"]
    assert known.asked[-1] == handed_on
    assert [made.argument.plain() for made in speech.candidates] == [*handed_on, "one", "three", "two-"]
    assert spoken(speech) == "three+"
    # Each speech has draws of its own.
    assert sorted(draw.sample for _prompt, draw in scene.criticised) == [0, 1, 2]
    assert sorted(draw.sample for _messages, draw in scene.refined) == [0, 1, 2]


async def test_critique_refine_over_best_of_n_refines_the_winner() -> None:
    base = Words(["one", "three", "two"])
    scene = Scene()
    known = Known(lambda text: plus(text) + ("one", "two", "three").index(text.strip("+")))
    speech = await scene.optimizer(BestOfN(base, known, n=3, limits=LIMITS), known, k=2).argue(view_of(), DRAW)
    assert [n for _view, _draw, n in base.asked] == [3]
    assert [made.argument.plain() for made in speech.candidates] == ["three", "one", "two", "three+"]
    assert [made.score for made in speech.candidates] == [2.0, 0.0, 1.0, 3.0]
    assert spoken(speech) == "three+"
    assert len(scene.refined) == 1


@pytest.mark.parametrize("between", [1, 3])
async def test_critique_refine_over_critique_refine_is_criticised_anew(between: int) -> None:
    # Nothing is better, so the outer one is given the very speech that the inner one was.
    scene, known = Scene(lambda speech, _critique, _draw: speech), Known(lambda _text: 1.0)
    inner = scene.optimizer(Words(["one", "two", "three"]), known, k=2, rounds=2)
    within = inner if between == 1 else BestOfN(inner, known, n=between, limits=LIMITS)
    outer = scene.optimizer(within, known, k=2)
    assert spoken(await outer.facing(Words(["x"])).argue(view_of(), DRAW)) == "one"
    assert len(scene.criticised) == len(set(scene.criticised)) == 2 * (2 * between + 1)
    draws = [draw for _messages, draw in scene.refined]
    assert len(draws) == len(set(draws)) == 2 * between + 1


@pytest.mark.parametrize("protocol", ["interactive", "consultancy"])
async def test_free_and_evidence_first_debaters_in_whole_debates(tmp_path: Path, protocol: str) -> None:
    scene = Scene(lambda speech, _critique, draw: f"{speech} {draw.stream[:10]}")
    writer = ScriptedModel(
        lambda _messages, draw: f"<argument>It was he {draw.sample}: <quote>Tomas rode off</quote></argument>"
    )
    picker = ScriptedModel(["This shows that it was she."], name="scripted/picker")
    free = FreeDebater(writer, name="free", prompts=PROMPTS, limits=LIMITS, sampling=SAMPLING)
    evidence = EvidenceFirstDebater(picker, name="evidence", prompts=PROMPTS, limits=LIMITS, sampling=SAMPLING)
    with_store = Store(tmp_path / "run.sqlite")
    judged = LoggedModel(
        ScriptedModel(choose=lambda messages, _c: [noise(messages[-1].content), 1 - noise(messages[-1].content)]),
        with_store,
        Meter(Budget(), {}),
    )
    preference = JudgePreference(LetterJudge(judged, name="j", prompts=PROMPTS))
    first, second = (scene.optimizer(base, preference, k=2, rounds=2) for base in (free, evidence))
    stage = Stage()
    if protocol == "interactive":
        transcript = await Interactive(2, stage.judge()).hold(QUESTION, (first, second), (1, 0), Draw(seed=1))
    else:
        transcript = await Consultancy(2, stage.judge()).hold(QUESTION, (None, second), (1, 0), Draw(seed=1))
    turns = [turn for turn in transcript.turns if turn.answer is not None]
    assert len(turns) == (4 if protocol == "interactive" else 2)
    better = 0
    for turn in turns:
        scores = [made.score for made in turn.candidates if made.valid]
        assert len(scores) == 3
        said_score = next(made.score for made in turn.candidates if made.argument == turn.argument)
        known = [score for score in scores if score is not None]
        assert said_score == max(known)  # each round's is kept only if it is better than what was kept before
        better += turn.argument != turn.candidates[0].argument
        assert "critique" not in turn.argument.plain()
    assert better  # some refinement was kept
    with_store.close()


def test_what_cannot_be_is_refused() -> None:
    scene = Scene()
    critic = ModelCritic(scene.critic_model, prompts=PROMPTS, sampling=SAMPLING)

    def make(*, model: bool = True, chooser: bool = True, critiques: int = 2, rounds: int = 1) -> CritiqueRefine:
        return CritiqueRefine(
            ExtractiveDebater(name="e", limits=LIMITS),
            Known({}),
            critic=critic,
            chooser=CritiqueChooser(scene.critic_model, prompts=PROMPTS) if chooser else None,
            model=scene.model if model else None,
            prompts=PROMPTS,
            limits=LIMITS,
            sampling=SAMPLING,
            critiques=critiques,
            rounds=rounds,
        )

    assert make().name == "e"
    assert make(chooser=False, critiques=1).name == "e"
    with pytest.raises(ConfigError, match="'e' has no model"):
        make(model=False)
    with pytest.raises(ConfigError, match="choose among 2 critiques"):
        make(chooser=False)
    for critiques, rounds in ((0, 1), (27, 1), (2, 0)):
        with pytest.raises(ConfigError, match="critiques and"):
            make(critiques=critiques, rounds=rounds)
