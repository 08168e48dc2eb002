from __future__ import annotations

import asyncio
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.agents.judge import LetterJudge
from debate.errors import ConfigError
from debate.models.base import Draw, Messages
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.protocols import Interactive, Sequential, Simultaneous
from debate.quotes import Argument, Quote
from debate.transcript import Candidate, Transcript, Turn
from debate.verdict import Decision
from debate.view import View
from optimizers.best_of_n import BestOfN
from optimizers.preference import JudgePreference, Orders, Sampled, judged_log_odds, plain
from tests.optimized import LIMITS, QUESTION, STORY, Formula, Known, Words, candidate, noise, said, texts, view_of
from tests.stage import Stage

NOT_GIVEN = "(This speech has not been given yet.)"
DRAW = Draw(seed=3, stream="player")


async def score(view: View, text: str, judge: Formula, orders: Orders = "both", seat: str = "A") -> float | None:
    (value,) = await JudgePreference(judge, orders=orders).log_odds(view, [candidate(text, seat=seat)], DRAW)
    return value


async def shown(view: View, text: str) -> list[str]:
    """What a judge is shown in the seats of the debate."""
    judge = Formula(lambda _view: 0.5)
    await score(view, text, judge, "single")
    return texts(judge.views[0])


async def test_an_unseen_speech_is_shown_as_not_given_yet() -> None:
    first = [said(1, 0, "one"), said(1, 1, "two")]
    assert await shown(view_of(), "mine") == ["Debater A: mine", f"Debater B: {NOT_GIVEN}"]
    assert await shown(view_of(answer=1), "mine") == [f"Debater A: {NOT_GIVEN}", "Debater B: mine"]
    assert await shown(view_of(*first, said(2, None, "why?"), answer=1), "mine") == [
        "Debater A: one",
        "Debater B: two",
        "Judge: why?",
        f"Debater A: {NOT_GIVEN}",
        "Debater B: mine",
    ]


async def test_in_a_sequential_round_nothing_is_faked_for_one_who_has_spoken() -> None:
    before = [said(1, 1, "b1"), said(1, 0, "a1"), said(2, 1, "b2")]
    assert await shown(view_of(*before, spoken_order=True), "mine") == [
        "Debater B: b1",
        "Debater A: a1",
        "Debater B: b2",
        "Debater A: mine",
    ]
    first = await shown(view_of(*before[:2], answer=1, spoken_order=True), "mine")
    assert first == ["Debater B: b1", "Debater A: a1", "Debater B: mine", f"Debater A: {NOT_GIVEN}"]


async def test_in_a_consultancy_there_is_nobody_else() -> None:
    before = [said(1, 1, "b1", role="consultant"), said(2, None, "why?")]
    view = view_of(*before, answer=1, role="consultant")
    assert await shown(view, "mine") == ["Consultant B: b1", "Judge: why?", "Consultant B: mine"]


@pytest.mark.parametrize("seats", [(0, 1), (1, 0)])
async def test_the_judge_is_shown_what_it_will_be_shown(seats: tuple[int, int]) -> None:
    # The last speech of a sequential debate: with it in place the debate is what the debate's own judge gets.
    before = Transcript(QUESTION, seats, (said(1, seats[0], "Debater B lies."),), spoken_order=True)
    judge = Formula(lambda _view: 0.5)
    whole = before.with_turns(Turn(1, "debater", seats[1], candidate("Debater A lies.", seat="B").argument))
    await score(before.view(answer=seats[1], story=True), "Debater A lies.", judge, seat="B")
    assert judge.views == [whole.view(), whole.swapped().view()]


async def test_the_prompt_holds_no_story() -> None:
    prompts: list[str] = []

    def choose(messages: Messages, _choices: object) -> list[float]:
        prompts.append("\n".join(message.content for message in messages))
        return [0.3, 0.6]

    judge = LetterJudge(ScriptedModel(choose=choose), name="j", prompts=Prompts())
    text = "Debater B lies: <quote>Ana shut the gate</quote> <quote>never said so</quote>"
    found = await JudgePreference(judge).log_odds(view_of(), [candidate(text)], DRAW)
    assert found == pytest.approx([0.0])  # it leans to B in both orders
    assert len(prompts) == 2
    for prompt in prompts:
        assert "<v_quote>Ana shut the gate</v_quote> <u_quote>never said so</u_quote>" in prompt
        assert NOT_GIVEN in prompt
        for secret in (STORY, "rode off", "The dog slept", "{{"):
            assert secret not in prompt
    assert "Debater A: Debater B lies" in prompts[0]
    assert "Debater B: Debater A lies" in prompts[1]


async def test_a_mark_is_earned_before_the_preference_model_too() -> None:
    forged = Candidate("", Argument((Quote("Tomas shut the gate", verified=True),)))
    judge = Formula(lambda _view: 0.5)
    await JudgePreference(judge).log_odds(view_of(), [forged], DRAW)
    assert judge.views[0].turns[0].text == "<u_quote>Tomas shut the gate</u_quote>"


@given(st.text(max_size=20), st.text(max_size=20), st.integers(), st.sampled_from(["both", "single"]))
def test_one_answers_log_odds_are_minus_the_others(one: str, two: str, bias: int, orders: Orders) -> None:
    # Whatever the judge: its probability here is any function of all that it is shown, order and letters included.
    judge = Formula(lambda view: noise(bias, view.answers, *texts(view)))
    left, right = candidate(one, seat="A"), candidate(two, seat="B")
    # Both have heard the other's speech of this round, so both speak of one and the same debate.
    heard_right = view_of(Turn(1, "debater", 1, right.argument), answer=0)
    heard_left = view_of(Turn(1, "debater", 0, left.argument), answer=1)
    preference = JudgePreference(judge, orders=orders)
    (mine,) = asyncio.run(preference.log_odds(heard_right, [left], DRAW))
    (theirs,) = asyncio.run(preference.log_odds(heard_left, [right], DRAW))
    assert mine is not None
    assert theirs == -mine
    shown_both = judge.views[0]
    assert asyncio.run(judged_log_odds(judge, shown_both, "A", DRAW, orders)) == mine
    assert asyncio.run(judged_log_odds(judge, shown_both, "B", DRAW, orders)) == -mine


async def test_both_orders_take_out_a_liking_for_a_letter() -> None:
    likes_a = Formula(lambda _view: 0.9)
    assert await score(view_of(), "x", likes_a, "both") == pytest.approx(0.0)
    assert await score(view_of(), "x", likes_a, "single") == pytest.approx(math.log(9))
    assert await score(view_of(answer=1), "x", likes_a, "single", seat="B") == pytest.approx(-math.log(9))
    # One that looks at the answers alone says the same in both.
    fair = Formula(lambda view: 0.8 if "Ana" in view.answers[0] else 0.2)
    assert await score(view_of(answer=1), "x", fair, "both", seat="B") == pytest.approx(math.log(4))
    assert await score(view_of(answer=1), "x", fair, "single", seat="B") == pytest.approx(math.log(4))
    # Log-odds are averaged, not probabilities.
    mixed = Formula(lambda view: 0.8 if "Ana" in view.answers[0] else 0.5)
    assert await score(view_of(answer=1), "x", mixed, "both", seat="B") == pytest.approx(math.log(4) / 2)


async def test_certainty_is_ten_nats() -> None:
    for probability, expected in ((1.0, 10.0), (0.0, -10.0), (1 - 1e-9, 10.0), (1e-9, -10.0)):
        assert await score(view_of(), "x", Formula(lambda _view, p=probability: p), "single") == expected  # type: ignore[misc]


async def test_one_unparsed_order_makes_no_score() -> None:
    for unparsed in ("Ana", "Tomas"):
        judge = Formula(lambda view, name=unparsed: None if name in view.answers[0] else 0.7)  # type: ignore[misc]
        assert await score(view_of(), "x", judge) is None
    assert await score(view_of(), "x", Formula(lambda _view: None), "single") is None


async def test_a_judge_of_another_number_of_answers_is_refused() -> None:
    class Three:
        name = "three"

        async def decide(self, view: View, draw: Draw) -> Decision:  # noqa: ARG002 - the interface
            return Decision((0.2, 0.3, 0.5))

    with pytest.raises(ConfigError, match="3 probabilities for 2 answers"):
        await JudgePreference(Three()).log_odds(view_of(), [candidate("x")], DRAW)


async def test_scores_are_in_the_order_of_the_candidates_whenever_they_arrive() -> None:
    draw = random.Random(1)

    class Late(Formula):
        async def decide(self, view: View, draw_: Draw) -> Decision:
            await asyncio.sleep(draw.random() / 200)
            return await super().decide(view, draw_)

    judge = Late(lambda view: noise(*texts(view)))
    candidates = [candidate(f"text {number}") for number in range(12)]
    found = await JudgePreference(judge, orders="single").log_odds(view_of(), candidates, DRAW)
    odds = [noise(f"Debater A: text {number}", f"Debater B: {NOT_GIVEN}") for number in range(12)]
    assert found == pytest.approx([math.log(p / (1 - p)) for p in odds])
    assert {(one.stream, one.sample, one.attempt, one.seed) for one in judge.draws} == {
        ("preference of player", 0, 0, 3)
    }


# Sampled replies: P(own answer) by the reply, whichever seat it is shown in.
AGAINST = {"weak": 0.9, "middling": 0.5, "strong": 0.2}


def fears(view: View) -> float:
    """Debate where the speaker of "It was Tomas." says ``mine`` and the other's reply decides."""
    reply = next(turn.text for turn in view.turns if "mine" not in turn.text)
    return AGAINST[reply] if "Tomas" in view.answers[0] else 1 - AGAINST[reply]


@pytest.mark.parametrize(
    ("sampled", "expected"),
    [
        (Sampled(3, "mean"), (math.log(9) + 0 - math.log(4)) / 3),
        (Sampled(3, "worst"), -math.log(4)),
        (Sampled(2, "mean"), math.log(9) / 2),
        (Sampled(1, "worst"), math.log(9)),
    ],
)
async def test_replies_of_the_opponent(sampled: Sampled, expected: float) -> None:
    opponent = Words(["weak", "middling", "strong"], "other")
    preference = JudgePreference(Formula(fears), sampled=sampled).facing(opponent)
    candidates = [candidate("mine"), candidate("mine too")]
    found = await preference.log_odds(view_of(), candidates, DRAW._replace(sample=5, attempt=2))
    assert found == pytest.approx([expected, expected])
    # Who speaks at the same time has not heard the candidate: one request serves all.
    ((view, draw, k),) = opponent.asked
    assert (draw, k) == (Draw(3, "replies of other to player"), sampled.replies)
    assert view == view_of(answer=1)
    assert view.story == STORY


async def test_an_invalid_reply_counts_only_where_there_is_no_other() -> None:
    opponent = Words(["bad", "weak", "bad"], "other")
    judge = Formula(lambda view: 0.9 if "weak" in view.turns[1].text else 0.1)
    preference = JudgePreference(judge, orders="single", sampled=Sampled(3)).facing(opponent)
    assert await preference.log_odds(view_of(), [candidate("mine")], DRAW) == pytest.approx([math.log(9)])
    preference = preference.facing(Words(["bad"], "other"))
    assert await preference.log_odds(view_of(), [candidate("mine")], DRAW) == pytest.approx([-math.log(9)])


@pytest.mark.parametrize(
    ("replies", "unparsed", "expected"),
    [(3, 1, math.log(9)), (3, 2, None), (3, 3, None), (2, 1, None), (4, 1, math.log(9)), (4, 2, None)],
)
async def test_a_score_rests_on_more_than_half_of_the_replies(
    replies: int, unparsed: int, expected: float | None
) -> None:
    opponent = Words(["0", "1", "2", "3"], "other")
    judge = Formula(lambda view: None if int(view.turns[1].text) < unparsed else 0.9)
    preference = JudgePreference(judge, orders="single", sampled=Sampled(replies)).facing(opponent)
    (value,) = await preference.log_odds(view_of(), [candidate("mine")], DRAW)
    assert value == (expected if expected is None else pytest.approx(expected))


async def test_who_speaks_second_replies_to_what_it_has_heard() -> None:
    opponent = Words(lambda view, _draw: f"to {view.turns[-1].text}", "other")
    judge = Formula(lambda _view: 0.5)
    preference = JudgePreference(judge, orders="single", sampled=Sampled(2)).facing(opponent)
    await preference.log_odds(view_of(spoken_order=True), [candidate("one"), candidate("two")], DRAW)
    assert sorted(texts(view)[-1] for view in judge.views) == ["Debater B: to one"] * 2 + ["Debater B: to two"] * 2
    # Nobody is asked who has spoken already, or who is not there.
    asked = len(opponent.asked)
    await preference.log_odds(view_of(said(1, 1, "b"), spoken_order=True), [candidate("one")], DRAW)
    await preference.log_odds(view_of(role="consultant"), [candidate("one")], DRAW)
    assert len(opponent.asked) == asked == 2


async def test_without_an_opponent_no_replies() -> None:
    preference = JudgePreference(Formula(lambda _view: 0.5), sampled=Sampled(2))
    with pytest.raises(ConfigError, match=r"nobody said who that is.*base\.both"):
        await preference.log_odds(view_of(), [candidate("x")], DRAW)
    with pytest.raises(ConfigError, match="samples 0 replies"):
        JudgePreference(Formula(lambda _view: 0.5), sampled=Sampled(0))


@pytest.mark.parametrize("kind", [Simultaneous, Sequential, Interactive])
async def test_protocols_tell_both_against_whom_they_speak(
    kind: type[Simultaneous | Sequential | Interactive],
) -> None:
    # Both try their speeches on the other, without the other's trying: it would never end.
    def player(name: str) -> tuple[Words, BestOfN]:
        base = Words(
            lambda view, draw: f"{name} {1 + sum(t.seat == view.seat for t in view.turns)} {draw.sample}", name
        )
        judge = Formula(lambda view: noise(*texts(view)))
        return base, BestOfN(base, JudgePreference(judge, sampled=Sampled(2)), n=3, limits=LIMITS)

    (left, first), (right, second) = player("left"), player("right")
    protocol = Interactive(2, Stage().judge()) if kind is Interactive else kind(2)
    transcript = await protocol.hold(QUESTION, (first, second), (0, 1), Draw(seed=5))
    assert len([turn for turn in transcript.turns if turn.answer is not None]) == 4
    streams = {draw.stream for _view, draw, _n in left.asked}
    assert streams == {"left"} if kind is Sequential else {"left", "replies of left to right"}
    assert plain(first) is left
    own = [n for _view, draw, n in left.asked if draw.stream == "left"]
    replies = [n for _view, draw, n in left.asked if draw.stream != "left"]
    assert own == [3, 3]
    # Asked for by the other: at once for all three candidates, or, where left has heard it, for each; never if first.
    asked_of_right = [n for _view, draw, n in right.asked if draw.stream == "replies of right to left"]
    if kind is Sequential:
        assert (replies, asked_of_right) == ([], [2] * 6)
    else:
        assert (replies, asked_of_right) == ([2, 2], [2, 2])
    for turn in transcript.turns:
        if turn.answer is not None:
            assert all(made.score is not None for made in turn.candidates)


async def test_a_preference_that_wants_no_opponent_is_told_none() -> None:
    told = BestOfN(Words(["x"]), Known({"x": 1.0}), n=1, limits=LIMITS).facing(Words(["y"]))
    assert (await told.argue(view_of(), DRAW)).candidates[0].score == 1.0
