"""Persuasion: who hears what and when, why a dialogue ends, and what is kept of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import pytest

from debate.agents.helper import Helper, HelperConfig, HelperKind
from debate.agents.memory import Memory
from debate.agents.moderator import TASKS, Finding, ModeratorConfig, Moderators, Ruling
from debate.agents.talker import TalkConfig, Talker
from debate.claim import Claim
from debate.models.base import Capabilities, Draw, Messages
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.protocols.persuasion import Persuaded, Persuasion, Stop, said_in, stop_of
from debate.record import Debate, Recorded, from_json, to_json

PROMPTS = Prompts()
CLAIM = Claim("c", "Which drink?", "Tea is best", "It is warm.", "test")
YES_NO_UNREAD = (1.0, 0.0, None)


def ruling(convinced: float | None, on_topic: float | None, pleasantries: float | None, *, stops: bool) -> Ruling:
    shares = (convinced, on_topic, pleasantries)
    return Ruling({task: Finding(share, "") for task, share in zip(TASKS, shares, strict=True)}, stops, "")


@pytest.mark.parametrize("last", [False, True])
def test_stop_reason_and_stance_can_never_contradict_each_other(last: bool) -> None:  # noqa: FBT001 - parametrized
    for shares, stops in itertools.product(itertools.product(YES_NO_UNREAD, repeat=3), (True, False)):
        convinced, on_topic, pleasantries = shares
        stop = stop_of(ruling(convinced, on_topic, pleasantries, stops=stops), last=last)
        assert (stop is None) == (not stops and not last)
        if stop is not None:
            assert stop.convinced == (None if convinced is None else convinced == 1)
            assert (stop is Stop.CONVINCED) == (convinced == 1)


@pytest.mark.parametrize(
    ("shares", "stops", "last", "stop"),
    [
        ((0, 1, 0), False, False, None),
        ((0, 1, 0), False, True, Stop.ROUNDS),
        ((1, 1, 0), True, False, Stop.CONVINCED),
        ((1, 1, 1), True, False, Stop.CONVINCED),  # a convinced debater that says thank you is convinced
        ((1, 1, 0), False, False, None),  # the master has the last word
        ((1, 1, 0), False, True, Stop.CONVINCED),
        ((0, 1, 1), True, False, Stop.PLEASANTRIES),
        ((0, 0, 0), True, False, Stop.OFF_TOPIC),
        ((0, 0, 1), True, True, Stop.PLEASANTRIES),
        ((0, 1, 0), True, False, Stop.OTHER),
        ((0, None, 0), True, False, Stop.OTHER),
        ((None, 1, 1), True, False, Stop.UNREAD),
        ((0.5, 1, 0), False, True, Stop.ROUNDS),  # even odds are no yes
    ],
)
def test_why_it_ends(
    shares: tuple[float | None, float | None, float | None],
    stops: bool,  # noqa: FBT001 - parametrized
    last: bool,  # noqa: FBT001 - parametrized
    stop: Stop | None,
) -> None:
    assert stop_of(ruling(*shares, stops=stops), last=last) is stop


class Stage:
    """Everybody, with the prompts of all in the order of asking; the debater replies by a list, a reply a round."""

    def __init__(self, replies: Sequence[str], helps: Sequence[str] = ()) -> None:
        self.heard: list[tuple[str, Messages]] = []
        self._drafts = 0
        self._replies = replies
        self._helps = helps

    def _persuade(self, messages: Messages, draw: Draw) -> str:
        assert draw.stream == "persuader p"
        self.heard.append(("persuader", messages))
        self._drafts += 1
        return f"draft{self._drafts}"

    def _weigh(self, messages: Messages, draw: Draw) -> str:
        assert draw.stream == "debater d"
        self.heard.append(("debater", messages))
        return self._replies[sum(one.role == "user" for one in messages) - 1]

    def _help(self, messages: Messages, _draw: Draw) -> str:
        self.heard.append(("helper", messages))
        return self._helps[min(self._drafts, len(self._helps)) - 1]

    def _moderate(self, messages: Messages, _draw: Draw) -> str:
        self.heard.append(("moderator", messages))
        said = messages[1].content.rpartition("Debater: ")[2].split("\n")[0]
        answer = "yes" if "still speak" in messages[1].content else "no"
        if "accept the claim" in messages[1].content:
            answer = "yes" if said == "Agreed." else "no"
        if "do nothing any more" in messages[1].content:
            answer = "yes" if said == "Thanks." else "no"
        return json.dumps({"answer": answer, "reason": "So it says."})

    async def hold(self, kind: HelperKind | None = None, rounds: int = 3) -> Persuaded:
        able, memory = Capabilities(), Memory(prompts=PROMPTS)
        talk = TalkConfig(max_words=50)
        models = {
            name: ScriptedModel(reply, capabilities=able)
            for name, reply in (("p", self._persuade), ("d", self._weigh), ("h", self._help), ("m", self._moderate))
        }
        config = ModeratorConfig.model_validate({"model": "scripted/tests.scripts:judge", "master": "rule"})
        shared = {"prompts": PROMPTS, "config": talk, "memory": memory}
        helper = None
        if kind is not None:
            how = HelperConfig(max_attempts=1)
            helper = Helper(models["h"], kind=kind, prompts=PROMPTS, config=how, memory=memory, max_words=50)
        protocol = Persuasion(
            Talker(models["p"], name="p", role="persuader", **shared),  # type: ignore[arg-type]
            Talker(models["d"], name="d", role="debater", **shared),  # type: ignore[arg-type]
            helper,
            Moderators(models["m"], None, prompts=PROMPTS, config=config, memory=memory),
            PROMPTS,
            rounds,
        )
        assert protocol.scenario == (kind or "none")
        return await protocol.hold(CLAIM, Draw(1, repetition=2))

    def of(self, who: str) -> list[Messages]:
        return [messages for name, messages in self.heard if name == who]


async def test_they_alternate_and_stop_after_the_last_round() -> None:
    stage = Stage(["No.", "Still no.", "Never."])
    found = await stage.hold()
    assert [(turn.round, turn.role) for turn in found.transcript.turns] == [
        (1, "persuader"),
        (1, "debater"),
        (2, "persuader"),
        (2, "debater"),
        (3, "persuader"),
        (3, "debater"),
    ]
    assert [one.text for one in said_in(found.transcript)[1:]] == ["No.", "draft1", "Still no.", "draft2", "Never."]
    opening = found.transcript.turns[0].argument.plain()
    assert all(text in opening for text in (CLAIM.topic, CLAIM.text, CLAIM.reason))
    assert (found.stop, len(found.rulings)) == (Stop.ROUNDS, 3)
    # The opening is written, not asked for; nobody hears the moderators.
    order = [name for name, _ in itertools.groupby(name for name, _ in stage.heard)]
    assert order == ["debater", "moderator", "persuader", "debater", "moderator", "persuader", "debater", "moderator"]
    said = "\n".join(one.content for messages in (*stage.of("debater"), *stage.of("persuader")) for one in messages)
    assert "So it says" not in said


@pytest.mark.parametrize(
    ("replies", "stop", "rounds"),
    [
        (["Agreed."], Stop.CONVINCED, 1),
        (["No.", "Agreed."], Stop.CONVINCED, 2),
        (["No.", "Thanks."], Stop.PLEASANTRIES, 2),
    ],
)
async def test_it_ends_when_the_moderators_say_so(replies: list[str], stop: Stop, rounds: int) -> None:
    found = await Stage(replies).hold()
    assert (found.stop, len(found.rulings)) == (stop, rounds)
    assert found.tags == {"stop": stop.value, "rounds": str(rounds), "refused": "0", "unread": "0"}
    assert [verdict.round for verdict in found.verdicts] == [*range(1, rounds), None]
    final = found.verdicts[-1].probabilities
    assert final is not None
    assert (final[0] > 0.5) is stop.convinced


async def test_a_helper_rewrites_what_is_said_and_the_draft_is_kept() -> None:
    helps = [json.dumps({"fallacy": "Straw Man", "argument": f"twisted{n}"}) for n in (1, 2)]
    stage = Stage(["No.", "Still no.", "Never."], helps)
    found = await stage.hold("fallacy")
    assert [one.text for one in said_in(found.transcript)[1:]] == ["No.", "twisted1", "Still no.", "twisted2", "Never."]
    second = found.transcript.turns[2]
    assert second.help is not None
    assert (second.help.draft.plain(), second.help.name, second.argument.plain()) == ("draft1", "Straw Man", "twisted1")
    assert found.transcript.turns[0].help is None
    # What the persuader remembers is what was said; its prompt is the same as without a helper.
    plain = Stage(["No.", "Still no.", "Never."])
    await plain.hold()
    assert stage.of("persuader")[0] == plain.of("persuader")[0]
    assert stage.of("persuader")[1][0] == plain.of("persuader")[1][0]
    assert stage.of("persuader")[1][-2].content == "twisted1"
    assert "draft1" in stage.of("helper")[0][-1].content
    assert "Debater: No." in stage.of("helper")[0][-1].content


async def test_a_helper_that_fails_is_data() -> None:
    found = await Stage(["No.", "Agreed."], ["Nothing of the form."]).hold("logical")
    turn = found.transcript.turns[2]
    assert turn.help is not None
    assert turn.help.failed
    assert turn.argument.plain() == "draft1"
    assert turn.help.replies == ("Nothing of the form.",)
    assert found.stop is Stop.CONVINCED


async def test_a_record_of_it_is_read_back_whole() -> None:
    helps = [json.dumps({"fallacy": "Straw Man", "argument": "twisted <v_quote>x</v_quote>"})]
    found = await Stage(["No.", "Agreed."], helps).hold("fallacy")
    debate = Debate("id", "persuasion", found.transcript, ("p", "d"), 2, tags=found.tags)
    kept = Recorded(debate, tuple(found.verdicts))
    assert from_json(Recorded, to_json(kept)) == kept
