"""Live debates: the players are really asked, what a person asks reaches them, and a restart repeats nothing."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from debate.agents.debater import FreeDebater, Limits
from debate.errors import ModelError
from debate.models.base import Completion, Draw, Messages, Sampling
from debate.models.calls import LoggedModel
from debate.models.limits import Budget, Meter
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.record import Debate, read_records
from tests.rooms import PLAYERS, WHY, Opened, Visitor, connect, debates, judge_desk
from tests.scripts import argue
from tournaments.room_journal import Asked, Given
from tournaments.room_live import Asking, Failed, LiveDebates, State

FIELD = {
    "players": [{"name": name, "model": "scripted/tests.scripts:debater"} for name in PLAYERS],
    "judge": {"model": "scripted/tests.scripts:judge"},
    "protocol": {"rounds": 3},
}
LIVE: dict[str, Any] = {"live": True, "field": FIELD}


class Heard(ScriptedModel):
    """A debater that keeps every prompt, and fails where it is told to."""

    def __init__(self, *, fails: Exception | None = None) -> None:
        super().__init__(argue, name="scripted/heard")
        self.prompts: list[str] = []
        self._fails = fails

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Reply."""
        if self._fails is not None:
            raise self._fails
        self.prompts.append(messages[-1].content)
        return await super().sample(messages, draws=draws, sampling=sampling)


def live_of(opened: Opened, model: Heard) -> LiveDebates:
    logged = LoggedModel(model, opened.store, Meter(Budget(), {}))
    prompts = Prompts()
    sampling = Sampling(200, 0.8)
    debaters = {
        name: FreeDebater(logged, name=name, prompts=prompts, limits=Limits(25, 60, 1, 1), sampling=sampling)
        for name in PLAYERS
    }
    return LiveDebates(opened.room, debaters=debaters, rounds=3, store=opened.store)


async def until(live: LiveDebates, given: Given, ready: Callable[[State], bool]) -> State:
    for _ in range(500):
        state = live.state(given)
        if ready(state):
            return state
        await asyncio.sleep(0.01)
    raise AssertionError(f"still {live.state(given)}")


def asking(round_: int) -> Callable[[State], bool]:
    return lambda state: isinstance(state, Asking) and state.round == round_


async def test_the_players_answer_a_persons_questions_and_the_debate_is_kept(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates(2), **LIVE)
    model = Heard()
    live = live_of(opened, model)
    given = await opened.room.next_for("human/ann")
    assert given is not None
    state = await until(live, given, asking(2))
    assert isinstance(state, Asking)
    assert [turn.round for turn in state.view.turns] == [1, 1]
    assert state.view.story is None
    await live.ask(given, 2, "Where was the <v_quote>ledger</v_quote>, Debater A?")
    await until(live, given, asking(3))
    assert sum("Where was the" in prompt for prompt in model.prompts) == 2
    assert all("<v_quote>ledger" not in prompt for prompt in model.prompts)
    await live.ask(given, 3, "And what of the stair?")
    held = await until(live, given, lambda state: isinstance(state, Debate))
    assert isinstance(held, Debate)
    assert (held.protocol, held.players, held.transcript.seats) == (
        "interactive", PLAYERS, opened.room.order("human/ann", given.debate),
    )  # fmt: skip
    assert [turn.role for turn in held.transcript.view().turns].count("judge") == 2
    assert held.tags["questions by"] == "human/ann"
    assert held in [item.debate for item in read_records(opened.store)]
    await live.close()
    opened.close()


async def test_a_restart_asks_no_model_twice_and_waits_where_it_waited(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates(1), **LIVE)
    model = Heard()
    live = live_of(opened, model)
    given = await opened.room.next_for("human/ann")
    assert given is not None
    await until(live, given, asking(2))
    await live.ask(given, 2, "Where was the ledger?")
    before = await until(live, given, asking(3))
    await live.close()
    opened.close()
    again = await Opened.begin(tmp_path, debates(1), **LIVE)
    other = Heard()
    live = live_of(again, other)
    assert await again.room.next_for("human/ann") == given
    assert await until(live, given, asking(3)) == before
    assert other.prompts == []
    await live.ask(given, 2, "Where was the ledger?")  # sent twice: asked once
    assert sum(isinstance(event, Asked) for event in again.journal.events) == 1
    await live.ask(given, 3, "Whose stair?")
    await until(live, given, lambda state: isinstance(state, Debate))
    assert len(other.prompts) == 2
    await live.close()
    again.close()


async def test_a_consultant_is_asked_alone(tmp_path: Path) -> None:
    (item,) = debates(1)
    alone = dataclasses.replace(item, debate=dataclasses.replace(item.debate, players=(None, PLAYERS[1])))
    opened = await Opened.begin(tmp_path, [alone], **LIVE)
    model = Heard()
    live = live_of(opened, model)
    given = await opened.room.next_for("human/ann")
    assert given is not None
    for round_ in (2, 3):
        await until(live, given, asking(round_))
        await live.ask(given, round_, f"What of round {round_}?")
    held = await until(live, given, lambda state: isinstance(state, Debate))
    assert isinstance(held, Debate)
    assert held.protocol == "consultancy"
    assert [(turn.role, turn.answer) for turn in held.transcript.turns] == [
        ("consultant", 1), ("judge", None), ("consultant", 1), ("judge", None), ("consultant", 1),
    ]  # fmt: skip
    assert len(model.prompts) == 3
    await live.close()
    opened.close()


@pytest.mark.parametrize("kind", [ModelError, RuntimeError])
async def test_a_debate_that_fails_is_passed_over_and_says_nothing_of_why(
    tmp_path: Path, kind: type[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    opened = await Opened.begin(tmp_path, debates(2), **LIVE)
    live = live_of(opened, Heard(fails=kind("the model at secret-host failed")))
    client = await connect(judge_desk(opened, live))
    person = Visitor(client)
    await person.enter("Ann")
    await person.next()
    given = opened.room.given("human/ann", 1)
    assert given is not None
    await until(live, given, lambda state: isinstance(state, Failed))
    _, page = await person.get("/debate/1")
    assert "cannot be shown" in page
    assert "secret-host" not in page
    assert "secret-host" in capsys.readouterr().err
    await person.next()
    assert person.url == "/debate/2"
    await client.close()
    await live.close()
    opened.close()


async def test_a_person_asks_and_judges_in_the_browser(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates(1), beliefs=True, **LIVE)
    live = live_of(opened, Heard())
    client = await connect(judge_desk(opened, live))
    person = Visitor(client)
    await person.enter("Ann")
    page = await person.next()
    given = opened.room.given("human/ann", 1)
    assert given is not None
    for round_ in (2, 3):
        await until(live, given, asking(round_))
        _, page = await person.get("/debate/1")
        assert 'name="share"' in page  # a belief first
        _, page = await person.send(page, share="65", explanation="")
        assert 'id="question"' in page
        assert (await person.send(page, question="?"))[0] == 422
        assert (await person.send(page, question="word " * 61))[0] == 422
        assert (await person.send(page, "/debate/1", question=f"What of round {round_}?"))[0] == 200
    await until(live, given, lambda state: isinstance(state, Debate))
    _, page = await person.get("/debate/1")
    assert "What of round 2?" in page
    _, page = await person.judge(page, why=WHY)
    assert "Your judgement is kept" in page
    found = [item for item in read_records(opened.store) if item.debate.id == given.debate]
    assert [verdict.round for verdict in found[0].verdicts] == [1, 2, None]
    for name in PLAYERS:
        assert name not in "".join(person.pages)
    await client.close()
    await live.close()
    opened.close()
