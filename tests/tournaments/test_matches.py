from __future__ import annotations

import asyncio
import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from debate.agents.debater import Debater, FreeDebater, Limits
from debate.agents.extractive import ExtractiveDebater
from debate.agents.judge import JudgeConfig, build_judge
from debate.errors import BudgetError, DissoiError, ModelError, StoreError
from debate.models.base import Draw, Messages, Sampling
from debate.models.calls import LoggedModel
from debate.models.limits import Budget, Meter
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.protocols import DebateProtocol, Sequential, Simultaneous
from debate.question import Question
from debate.record import Debate, Recorded
from debate.store import Store
from debate.transcript import Transcript
from debate.verdict import Decision, Verdict
from tournaments.matches import Arena, mean_scores, outcomes
from tournaments.ratings import Outcome
from tournaments.setups import Setup, match_setups, self_play_setups

STORY = "Ana shut the gate at noon. Tomas rode off without a word. The dog slept on the step."
LIMITS = Limits(min_words=1, max_words=60, min_quotes=0, max_attempts=1)


def question(number: int, gold: int | None = 0) -> Question:
    return Question(
        f"q{number}", f"Question {number}?", ("It was Ana.", "It was Tomas."), gold, STORY, f"s{number // 2}", "test"
    )


QUESTIONS = [question(number, number % 2) for number in range(3)]


class Desk:
    """Players p, r and t of one scripted model and a letter judge of another, with every call noted."""

    def __init__(self, store: Store, *, budget: Budget = Budget(), fail: str = "", judge_fails: str = "") -> None:  # noqa: B008 - frozen
        self.samples: list[tuple[str, Draw]] = []
        self.choices: list[str] = []
        self.fail = fail
        self.judge_fails = judge_fails
        self.meter = Meter(budget, {}, earlier=store.usage())
        self.store = store
        self.writer = LoggedModel(ScriptedModel(self._write, name="scripted/writer"), store, self.meter)
        self.reader = LoggedModel(ScriptedModel(choose=self._choose, name="scripted/reader"), store, self.meter)

    def _write(self, messages: Messages, draw: Draw) -> str:
        prompt = messages[-1].content
        if self.fail and self.fail in prompt:
            raise ModelError(f"the server refused {self.fail}")
        self.samples.append((prompt, draw))
        side = prompt.split("Your answer is: ")[1].split("\n")[0]
        return (
            f"thought<argument>{side} says {draw.stream}, as <quote>Ana shut the gate</quote> {len(prompt)}.</argument>"
        )

    def _choose(self, messages: Messages, _choices: object) -> list[float]:
        prompt = messages[-1].content
        if self.judge_fails and self.judge_fails in prompt:
            raise ModelError(f"the judge refused {self.judge_fails}")
        self.choices.append(prompt)
        return [0.6, 0.2] if "Answer A: It was Ana." in prompt else [0.3, 0.5]

    def arena(self, protocol: DebateProtocol, *, slots: int = 4) -> Arena:
        debaters: Mapping[str, Debater] = {
            name: FreeDebater(self.writer, name=name, prompts=Prompts(), limits=LIMITS, sampling=Sampling(200))
            for name in ("p", "r", "t")
        } | {"x": ExtractiveDebater(name="x", limits=LIMITS)}
        judge = build_judge(JudgeConfig.model_validate({"model": "scripted/reader"}), self.reader, Prompts())
        return Arena(protocol, debaters, judge, self.store, 5, asyncio.Semaphore(slots))


def test_a_match_has_both_assignments() -> None:
    setups = match_setups("p", "r", QUESTIONS, Simultaneous())
    assert [(setup.question.id, setup.players) for setup in setups] == [
        (one.id, players) for one in QUESTIONS for players in (("p", "r"), ("r", "p"))
    ]
    # Both assignments of a question sit alike, so each player has each seat once.
    assert all(setups[at].seats == setups[at + 1].seats for at in range(0, len(setups), 2))
    both = match_setups("p", "r", QUESTIONS, Sequential(), repetition=2)
    assert len(both) == 12
    assert {setup.seats for setup in both} == {(0, 1), (1, 0)}
    assert {setup.repetition for setup in both} == {2}
    own = self_play_setups("p", QUESTIONS, Simultaneous())
    assert [(setup.question.id, setup.players) for setup in own] == [(one.id, ("p", "p")) for one in QUESTIONS]


def test_ids_are_unique() -> None:
    setups = [
        Setup(one, players, seats, repetition)
        for one in QUESTIONS
        for players in (
            ("p", "r"),
            ("r", "p"),
            ("p", "p"),
            ("a | b", "c"),
            ("a", "b | c"),
            ("a \\", "c"),
            ("a", "\\ | c"),
        )
        for seats in ((0, 1), (1, 0))
        for repetition in (0, 1)
    ]
    assert len({setup.key("p") for setup in setups}) == len(setups)
    assert Setup(question(0), ("p", "r")).key("sequential") == "sequential | q0 | p | r | AB | 0"


async def test_every_debate_is_judged_in_both_orders(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    desk = Desk(store)
    setups = match_setups("p", "r", QUESTIONS, Simultaneous(2))
    found = await desk.arena(Simultaneous(2)).play(setups)
    assert [item.debate.id for item in found] == [setup.key("simultaneous") for setup in setups]
    for item, setup in zip(found, setups, strict=True):
        assert item.debate.players == setup.players
        assert item.debate.protocol == "simultaneous"
        assert item.debate.failed is None
        said = [(turn.round, turn.answer) for turn in item.debate.transcript.turns]
        assert said == [(round_, answer) for round_ in (1, 2) for answer in setup.seats]
        for turn in item.debate.transcript.turns:
            speaker = setup.players[turn.answer or 0]
            answer = setup.question.answers[turn.answer or 0]
            assert turn.argument.plain().startswith(f"{answer} says {speaker}, as")
            assert turn.thinking == "thought"
        assert [verdict.order for verdict in item.verdicts] == [setup.seats, setup.seats[::-1]]
        # 0.6 of 0.8 on the first letter where Ana is first, 0.5 of 0.8 on the second where she is second
        by_order = {verdict.order: verdict.probabilities for verdict in item.verdicts}
        assert by_order == {(0, 1): pytest.approx((0.75, 0.25)), (1, 0): pytest.approx((0.625, 0.375))}
        assert {verdict.judge for verdict in item.verdicts} == {"scripted/reader (letter)"}
    assert len(desk.choices) == 2 * len(setups)
    assert not [prompt for prompt in desk.choices if "thought" in prompt]
    store.close()


@pytest.mark.parametrize("protocol", [Simultaneous(2), Sequential(1)])
async def test_a_second_run_makes_no_calls_and_gives_the_same(tmp_path: Path, protocol: DebateProtocol) -> None:
    setups = match_setups("p", "x", QUESTIONS, protocol) + self_play_setups("p", QUESTIONS, protocol)
    store = Store(tmp_path / "run.sqlite")
    first = list(await Desk(store).arena(protocol).play(setups))
    store.close()
    store = Store(tmp_path / "run.sqlite")
    desk = Desk(store)
    assert list(await desk.arena(protocol, slots=1).play(setups)) == first
    assert (desk.samples, desk.choices) == ([], [])
    store.close()


async def test_kept_records_equal_those_of_the_calls_alone(tmp_path: Path) -> None:
    setups = match_setups("p", "r", QUESTIONS, Simultaneous(1))
    one, two = Store(tmp_path / "one.sqlite"), Store(tmp_path / "two.sqlite")
    together = await Desk(one).arena(Simultaneous(1)).play(setups)
    in_turn = await Desk(two).arena(Simultaneous(1), slots=1).play(iter(setups))
    assert list(together) == list(in_turn)
    one.close()
    two.close()


async def test_first_round_arguments_are_sampled_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    desk = Desk(store)
    arena = desk.arena(Simultaneous(1))
    for pair in (("p", "r"), ("r", "t"), ("t", "p")):
        await arena.play(match_setups(*pair, QUESTIONS, Simultaneous(1)))
    # 3 players, 3 questions, 2 sides, however many opponents; each player draws in its own stream
    assert len(desk.samples) == 3 * 3 * 2
    assert Counter(draw.stream for _, draw in desk.samples) == {"p": 6, "r": 6, "t": 6}
    assert len({prompt for prompt, _ in desk.samples}) == 3 * 2
    assert len(desk.choices) == 3 * 3 * 2 * 2  # three matches, three questions, two assignments, two orders
    store.close()


async def test_later_rounds_are_sampled_for_each_opponent(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    desk = Desk(store)
    arena = desk.arena(Simultaneous(2))
    for pair in (("p", "r"), ("r", "t"), ("t", "p")):
        await arena.play(match_setups(*pair, QUESTIONS, Simultaneous(2)))
    # round 1 as above; round 2: three matches, three questions, two assignments, two speakers
    assert len(desk.samples) == 18 + 36
    store.close()


async def test_self_play_draws_both_sides(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    desk = Desk(store)
    found = await desk.arena(Simultaneous(1)).play(self_play_setups("p", QUESTIONS, Simultaneous(1)))
    assert len(found) == 3
    assert len(desk.samples) == 6
    assert outcomes(found, "hard") == []
    store.close()


async def test_a_sequential_debate_is_held_in_both_seatings(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    desk = Desk(store)
    found = await desk.arena(Sequential(1)).play(match_setups("p", "r", QUESTIONS[:1], Sequential(1)))
    assert [item.debate.transcript.seats for item in found] == [(0, 1), (1, 0), (0, 1), (1, 0)]
    assert [[turn.answer for turn in item.debate.transcript.turns] for item in found] == [
        [0, 1],
        [1, 0],
        [0, 1],
        [1, 0],
    ]
    assert {item.debate.transcript.spoken_order for item in found} == {True}
    seconds = [prompt for prompt, _ in desk.samples if "Round 1" in prompt]
    assert len(seconds) == 4  # the second speaker has heard the first
    store.close()


async def test_a_failed_debate_is_data(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    desk = Desk(store, fail="Question 1?")
    setups = match_setups("p", "r", QUESTIONS, Simultaneous(2))
    found = await desk.arena(Simultaneous(2)).play(setups)
    assert [item.debate.id for item in found] == [setup.key("simultaneous") for setup in setups]
    for item in found:
        failed = item.debate.transcript.question.id == "q1"
        assert item.debate.failed == ("the server refused Question 1?" if failed else None)
        assert len(item.verdicts) == (0 if failed else 2)
    assert len(outcomes(found, "hard")) == 2 * 2 * 2
    # what failed is tried again, what is done is not
    again = Desk(store)
    assert not [item for item in await again.arena(Simultaneous(2)).play(setups) if item.debate.failed]
    assert {prompt.split("Question: ")[1].split("\n")[0] for prompt, _ in again.samples} == {"Question 1?"}
    store.close()


async def test_a_judge_that_fails_leaves_a_debate_that_failed(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    setups = match_setups("p", "r", QUESTIONS, Simultaneous(1))
    for _ in range(2):  # the second time the debates are kept already
        found = await Desk(store, judge_fails="Question 2?").arena(Simultaneous(1)).play(setups)
        failed = [item for item in found if item.debate.failed]
        assert [item.debate.transcript.question.id for item in failed] == ["q2", "q2"]
        assert {(item.debate.failed, len(item.verdicts)) for item in failed} == {("the judge refused Question 2?", 0)}
        assert {len(item.debate.transcript.turns) for item in failed} == {2}  # what was said is not lost
    store.close()


async def test_a_spent_budget_is_one_error_and_can_be_resumed(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    setups = match_setups("p", "r", QUESTIONS, Simultaneous(2))
    desk = Desk(store, budget=Budget(max_calls=9))
    with pytest.raises(BudgetError, match="max_calls 9 is spent") as caught:
        await desk.arena(Simultaneous(2), slots=6).play(setups)
    assert isinstance(caught.value, DissoiError)
    assert not isinstance(caught.value, ExceptionGroup)
    await desk.writer.drain()
    await desk.reader.drain()
    made = len(desk.samples) + len(desk.choices)
    assert made <= 9
    rest = Desk(store)
    found = list(await rest.arena(Simultaneous(2)).play(setups))
    whole = Store(tmp_path / "whole.sqlite")
    fresh = Desk(whole)
    assert found == list(await fresh.arena(Simultaneous(2)).play(setups))
    assert made + len(rest.samples) + len(rest.choices) == len(fresh.samples) + len(fresh.choices)
    whole.close()
    store.close()


async def test_a_closed_store_stops_everything(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    desk = Desk(store)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        await desk.arena(Simultaneous(1)).play(match_setups("p", "r", QUESTIONS, Simultaneous(1)))


async def test_half_a_surrogate_pair_is_no_crash(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    meter = Meter(Budget(), {})
    model = LoggedModel(ScriptedModel(["\ud800<argument>So \udfff it was.</argument>"]), store, meter)
    player = FreeDebater(model, name="p", prompts=Prompts(), limits=LIMITS, sampling=Sampling(99))
    voter = LoggedModel(ScriptedModel(["Because \ud800\nAnswer: B"], name="scripted/v"), store, meter)
    judge = build_judge(JudgeConfig.model_validate({"model": "scripted/v", "kind": "reason"}), voter, Prompts())
    arena = Arena(Simultaneous(1), {"p": player}, judge, store, 0, asyncio.Semaphore(2))
    setups = self_play_setups("p", QUESTIONS[:1], Simultaneous(1))
    first = list(await arena.play(setups))
    assert [verdict.reasoning for verdict in first[0].verdicts] == ["Because ?\nAnswer: B"] * 2
    assert list(await arena.play(setups)) == first
    store.close()


async def test_progress_is_told_of_every_debate(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    setups = match_setups("p", "r", QUESTIONS, Simultaneous(1))
    for _ in range(2):  # the second time all but those that failed are kept
        told = itertools.count()
        arena = dataclasses.replace(
            Desk(store, fail="Question 0?").arena(Simultaneous(1)), progress=functools.partial(next, told)
        )
        await arena.play(setups)
        assert next(told) == len(setups)
    store.close()


def judged(
    players: tuple[str | None, str | None], *shown: tuple[float, float] | None, gold: int | None = 0, number: int = 0
) -> Recorded:
    """Hand-made: what the judge gave to letters A and B in the orders AB and BA."""
    transcript = Transcript(question(number, gold))
    verdicts = tuple(
        Verdict.of(Decision(pair, unparsed=None if pair else "none"), judge="j", order=order)
        for pair, order in zip(shown, ((0, 1), (1, 0)), strict=False)
    )
    return Recorded(Debate("d", "simultaneous", transcript, players), verdicts)


def test_outcomes_are_in_the_frame_of_the_first_player() -> None:
    # p defends answer 0, which is right; the judge gives it 0.7 in seat A and 0.2 in seat B.
    item = judged(("p", "r"), (0.7, 0.3), (0.8, 0.2))
    assert outcomes([item], "soft") == [
        Outcome("p", "r", 0.7, "q0", "s0", "A", "p"),
        Outcome("p", "r", 0.2, "q0", "s0", "B", "p"),
    ]
    assert [row.score_a for row in outcomes([item], "hard")] == [1.0, 0.0]
    # The other assignment: r defends answer 0; gold is answer 1, so p is right.
    (row, _) = outcomes([judged(("r", "p"), (0.7, 0.3), (0.8, 0.2), gold=1, number=3)], "hard")
    assert row == Outcome("r", "p", 1.0, "q3", "s1", "A", "p")
    assert outcomes([judged(("p", "r"), (0.7, 0.3), gold=None)], "hard")[0].right is None


def test_ties_are_half_a_point_each() -> None:
    (row,) = outcomes([judged(("p", "r"), (0.5, 0.5))], "hard")
    assert row.score_a == 0.5
    assert mean_scores([row]) == {"p": 0.5, "r": 0.5}


def test_what_gives_no_outcome() -> None:
    assert outcomes([judged(("p", "p"), (0.7, 0.3), (0.8, 0.2))], "hard") == []
    assert outcomes([judged(("p", None), (0.7, 0.3)), judged((None, "p"), (0.7, 0.3))], "soft") == []
    assert outcomes([judged(("p", "r"))], "hard") == []
    (row,) = outcomes([judged(("p", "r"), None, (0.8, 0.2))], "hard")
    assert (row.seat_a, row.score_a) == ("B", 0.0)


def test_scores_are_means_so_who_has_debated_more_is_not_ahead() -> None:
    rows = outcomes([judged(("p", "r"), (0.7, 0.3), (0.8, 0.2)), judged(("t", "p"), (0.9, 0.1), (0.1, 0.9))], "hard")
    assert mean_scores(rows) == {"p": 0.25, "r": 0.5, "t": 1.0}
    assert mean_scores([*rows, *rows]) == mean_scores(rows)
    assert mean_scores([]) == {}
