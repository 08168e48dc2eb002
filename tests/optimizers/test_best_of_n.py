from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.agents.debater import FreeDebater, Speech
from debate.agents.extractive import ExtractiveDebater
from debate.agents.judge import LetterJudge, VoteJudge
from debate.errors import ConfigError
from debate.models.base import Capabilities, Choice, Completion, Draw, Messages, Sampling
from debate.models.calls import LoggedModel
from debate.models.limits import Budget, Meter
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.protocols import Consultancy, Interactive, Simultaneous
from debate.store import Store
from debate.transcript import Candidate
from debate.view import View
from optimizers.best_of_n import BestOfN, best_of_each, results_first
from optimizers.preference import JudgePreference
from tests.optimized import LIMITS, QUESTION, Formula, Known, Words, noise, texts, view_of
from tests.stage import Stage

DRAW = Draw(seed=3, stream="player")


def said(speech: Speech) -> str:
    return speech.candidates[speech.chosen].argument.plain()


def of(scores: Sequence[float | None], n: int | None = None) -> tuple[BestOfN, list[str]]:
    """A debater whose i-th text has the i-th score."""
    names = [f"text {number}" for number in range(len(scores))]
    known = Known(dict(zip(names, scores, strict=True)))
    return BestOfN(Words(names), known, n=n or len(scores), limits=LIMITS), names


@given(st.lists(st.one_of(st.none(), st.integers(-3, 3).map(float)), min_size=1, max_size=12))
def test_the_choice_is_the_first_of_the_highest_scores(scores: list[float | None]) -> None:
    optimizer, names = of(scores)
    speech = asyncio.run(optimizer.argue(view_of(), DRAW))
    readable = [score for score in scores if score is not None]
    assert speech.chosen == (scores.index(max(readable)) if readable else 0)
    assert [made.score for made in speech.candidates] == scores
    assert [made.argument.plain() for made in speech.candidates] == names
    # A score that cannot be read is no flaw of the speech.
    assert all(made.valid for made in speech.candidates)


async def test_the_candidates_are_one_request_and_the_scores_another() -> None:
    base, known = Words([f"text {number}" for number in range(8)]), Known(lambda text: float(text[-1]))
    assert said(await BestOfN(base, known, n=8, limits=LIMITS).argue(view_of(), DRAW)) == "text 7"
    assert [(draw, n) for _view, draw, n in base.asked] == [(DRAW, 8)]
    assert [len(asked) for asked in known.asked] == [8]


async def test_order_of_arrival_does_not_matter() -> None:
    scores = {f"text {number}": noise("score", number) for number in range(16)}
    best = max(scores, key=lambda text: scores[text])

    class Late(ScriptedModel):
        def __init__(self, seed: int) -> None:
            super().__init__(
                lambda _messages, draw: f"<argument>text {draw.sample}</argument>",
                choose=self._lean,
                capabilities=Capabilities(n=False),
            )
            self.draw = random.Random(seed)
            self.finished: list[str] = []

        @staticmethod
        def _lean(messages: Messages, _choices: Sequence[str]) -> list[float]:
            text = next(text for text in reversed(scores) if f"{text}\n" in f"{messages[-1].content}\n")
            p = scores[text]
            return [p, 1 - p] if f"Debater A: {text}" in messages[-1].content else [1 - p, p]

        async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
            await asyncio.sleep(self.draw.random() / 200)
            return await super().sample(messages, draws=draws, sampling=sampling)

        async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
            await asyncio.sleep(self.draw.random() / 200)
            self.finished.append(messages[-1].content)
            return await super().choose(messages, choices)

    orders = set()
    for seed in range(3):
        inner = Late(seed)
        model = LoggedModel(inner, None, Meter(Budget(), {}))
        base = FreeDebater(model, name="p", prompts=Prompts(), limits=LIMITS, sampling=Sampling(99))
        judge = LetterJudge(model, name="j", prompts=Prompts())
        speech = await BestOfN(base, JudgePreference(judge), n=16, limits=LIMITS).argue(view_of(), DRAW)
        assert [made.argument.plain() for made in speech.candidates] == list(scores)
        assert said(speech) == best
        for text, made in zip(scores, speech.candidates, strict=True):
            assert made.score == pytest.approx(math.log(scores[text] / (1 - scores[text])))
        orders.add(tuple(inner.finished))
    assert len(orders) == 3  # they did arrive in other orders


@pytest.mark.parametrize("n", [1, 2, 4, 16])
async def test_the_best_of_n_uniform_scores_is_n_over_n_plus_one(n: int) -> None:
    draws = 2000
    scored = Known(lambda text: noise("uniform", text))
    base = Words(lambda _view, draw: f"{draw.repetition} {draw.sample}")
    optimizer = BestOfN(base, scored, n=n, limits=LIMITS)
    total = 0.0
    for repetition in range(draws):
        speech = await optimizer.argue(view_of(), DRAW._replace(repetition=repetition))
        score = speech.candidates[speech.chosen].score
        assert score is not None
        total += score
    deviation = math.sqrt(n / ((n + 1) ** 2 * (n + 2)))  # of the maximum of n uniform numbers
    assert abs(total / draws - n / (n + 1)) < 4 * deviation / math.sqrt(draws)


async def test_an_invalid_candidate_is_not_scored_and_never_wins() -> None:
    base = Words(["bad 9", "good 1", "bad 8", "good 2"])
    known = Known(lambda text: float(text[-1]))
    speech = await BestOfN(base, known, n=4, limits=LIMITS).argue(view_of(), DRAW)
    assert said(speech) == "good 2"
    assert known.asked == [["good 1", "good 2"]]
    assert [made.score for made in speech.candidates] == [None, 1.0, None, 2.0]
    # Not even where nothing can be read of the valid one.
    speech = await BestOfN(base, Known(lambda _text: None), n=4, limits=LIMITS).argue(view_of(), DRAW)
    assert said(speech) == "good 1"


async def test_where_none_is_valid_the_best_invalid_one_is_cut() -> None:
    base = Words(["bad one. And so"])
    known = Known(lambda _text: 1.0)
    speech = await BestOfN(base, known, n=3, limits=LIMITS).argue(view_of(), DRAW)
    assert said(speech) == "bad one."
    assert speech.candidates[speech.chosen].flaws == ("bad", "cut")
    assert len(speech.candidates) == 4  # all three are kept, and the one that was cut
    assert known.asked == [[]]


async def test_missing_ones_are_sampled_again_until_there_are_n_valid() -> None:
    def reply(_messages: Messages, draw: Draw) -> str:
        return "" if draw.attempt == 0 and draw.sample < 2 else f"<argument>a{draw.attempt} s{draw.sample}</argument>"

    base = FreeDebater(ScriptedModel(reply), name="p", prompts=Prompts(), limits=LIMITS, sampling=Sampling(99))
    known = Known({"a0 s2": 1.0, "a0 s3": 2.0, "a1 s0": 4.0, "a1 s1": 3.0})
    speech = await BestOfN(base, known, n=4, limits=LIMITS).argue(view_of(), DRAW)
    assert known.asked == [["a0 s2", "a0 s3", "a1 s0", "a1 s1"]]
    assert (len(speech.candidates), said(speech)) == (6, "a1 s0")


async def test_a_base_that_says_one_thing_gets_its_score() -> None:
    base = ExtractiveDebater(name="e", limits=LIMITS)
    optimizer = BestOfN(base, Known(lambda _text: 1.5), n=8, limits=LIMITS)
    speech = await optimizer.argue(view_of(), DRAW)
    assert [made.score for made in speech.candidates] == [1.5]
    assert optimizer.name == "e"


def test_no_best_of_nothing() -> None:
    with pytest.raises(ConfigError, match="best of 0"):
        BestOfN(Words(["x"]), Known({}), n=0, limits=LIMITS)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=20), st.integers(1, 5), st.integers(1, 5))
def test_the_winners_are_the_first_valid_ones_of_what_is_handed_on(
    made: list[tuple[bool, int]], n: int, groups: int
) -> None:
    found = [Candidate(str(at), Words(["x"])._make(view_of(), DRAW).argument) for at in range(len(made))]
    found = [
        Candidate(one.raw, one.argument, "", () if valid else ("bad",), float(score))
        for one, (valid, score) in zip(found, made, strict=True)
    ]
    winners = best_of_each(found, n, groups)
    counted = [place for place, one in enumerate(found) if one.valid][: n * groups]
    assert len(winners) == min(groups, len(counted))
    assert set(winners) <= set(counted)
    if counted:
        assert max(found[place].score or 0 for place in winners) == max(found[place].score or 0 for place in counted)
    handed = results_first(found, winners)
    assert sorted(one.raw for one in handed) == sorted(one.raw for one in found)
    assert [one.raw for one in handed if one.valid][: len(winners)] == [found[place].raw for place in winners]


async def test_a_winner_of_each_group_for_whoever_wraps_it() -> None:
    optimizer, _ = of([0.0, 5.0, 3.0, 1.0, 2.0, 4.0], n=3)
    found = await optimizer.candidates(view_of(), DRAW, 2)
    # Two groups of three: texts 0, 2, 4 and texts 1, 3, 5.
    assert [made.raw for made in found] == ["text 2", "text 1", "text 0", "text 3", "text 4", "text 5"]


async def test_best_of_two_of_best_of_three_is_best_of_six() -> None:
    inner, _ = of([0.0, 5.0, 3.0, 1.0, 2.0, 4.0], n=3)
    known = Known(lambda text: -float(text[-1]))
    speech = await BestOfN(inner, known, n=2, limits=LIMITS).argue(view_of(), DRAW)
    assert known.asked == [["text 2", "text 1"]]
    assert said(speech) == "text 1"
    assert len(speech.candidates) == 6


async def test_in_a_consultancy_and_with_a_judge_that_asks() -> None:
    def player(name: str) -> BestOfN:
        def say(view: View, draw: Draw) -> str:
            return f"{name} {len([turn for turn in view.turns if turn.seat == view.seat])} {draw.sample}"

        # It likes the third candidate of each speech, whatever seat it is shown in.
        judge = Formula(lambda view: 0.9 if ("Tomas" in view.answers[0]) == likes(view) else 0.1)
        return BestOfN(Words(say, name), JudgePreference(judge), n=4, limits=LIMITS)

    def likes(view: View) -> bool:
        last = [turn for turn in view.turns if turn.seat and "not been given" not in turn.text][-1]
        tomas = view.answers["AB".index(last.seat or "A")] == "It was Tomas."
        return tomas == last.text.endswith("2")

    stage = Stage()
    transcript = await Consultancy(2, stage.judge()).hold(QUESTION, (player("c"), None), (1, 0), Draw())
    assert [turn.argument.plain() for turn in transcript.turns if turn.answer is not None] == ["c 0 2", "c 1 2"]
    transcript = await Interactive(2, stage.judge()).hold(QUESTION, (player("l"), player("r")), (1, 0), Draw())
    assert [turn.argument.plain() for turn in transcript.turns if turn.answer is not None][:2] == ["r 0 2", "l 0 2"]
    assert len(stage.of("judge")) == 2


class Stopped(Exception):  # noqa: N818 - what stops a process is no error of ours
    """Somebody pulled the plug."""


class Counted(ScriptedModel):
    """A model that writes down what it finished, and stops everything after so many calls.

    Args:
        limit: Calls until it stops.
        n: Whether it takes several draws in one request.
    """

    def __init__(self, limit: int, *, n: bool) -> None:
        super().__init__(
            lambda messages, draw: f"<argument>{draw.stream} {draw.sample}</argument> Answer: {self._letter(messages)}",
            choose=lambda messages, _choices: [noise(messages), 1 - noise(messages)],
            capabilities=Capabilities(n=n),
        )
        self.limit = limit
        self.done: list[object] = []

    @staticmethod
    def _letter(messages: Messages) -> str:
        return "AB"[noise(messages) > 0.5]

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        await self._call(*((tuple(messages), draw) for draw in draws))
        return await super().sample(messages, draws=draws, sampling=sampling)

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        await self._call((tuple(messages), "choose"))
        return await super().choose(messages, choices)

    async def _call(self, *calls: object) -> None:
        await asyncio.sleep(0)
        if len(self.done) >= self.limit:
            raise Stopped
        self.done += calls


@pytest.mark.parametrize("n", [True, False])
@pytest.mark.parametrize("limit", [5, 16, 17, 25, 47])
async def test_resumed_in_the_middle_of_a_turn_it_repeats_nothing(tmp_path: Path, limit: int, *, n: bool) -> None:
    async def turn(store: Store | None, model: Counted) -> Speech:
        logged = LoggedModel(model, store, Meter(Budget(), {}))
        base = FreeDebater(logged, name="p", prompts=Prompts(), limits=LIMITS, sampling=Sampling(99))
        judge = VoteJudge(logged, name="j", prompts=Prompts(), sampling=Sampling(99), votes=1)
        try:
            return await BestOfN(base, JudgePreference(judge), n=16, limits=LIMITS).argue(view_of(), DRAW)
        finally:
            await logged.drain()

    never = Counted(999, n=n)
    whole = await turn(None, never)
    assert len(never.done) == 16 + 32

    store = Store(tmp_path / "run.sqlite")
    before, after = Counted(limit, n=n), Counted(999, n=n)
    with pytest.raises(Stopped):
        await turn(store, before)
    store.close()
    store = Store(tmp_path / "run.sqlite")
    resumed = await turn(store, after)
    store.close()
    assert before.done
    assert not set(before.done) & set(after.done)
    assert len(before.done) + len(after.done) == len(never.done)
    assert set(before.done) | set(after.done) == set(never.done)
    assert resumed == whole


async def test_players_of_one_name_differ_by_nothing_but_the_choice() -> None:
    # What is sampled does not depend on the optimizer, so N = 1 and N = 8 of a name share their first sample.
    base = Words([f"text {number}" for number in range(8)])
    known = Known(lambda text: float(text[-1]))
    debate = await Simultaneous(1).hold(
        QUESTION, (BestOfN(base, known, n=8, limits=LIMITS), base), (0, 1), Draw(seed=1)
    )
    first, second = (turn.candidates for turn in debate.turns)
    assert first[0].raw == second[0].raw == "text 0"
    assert texts(debate.view()) == ["Debater A: text 7", "Debater B: text 0"]
