"""The robustness table against values worked out by hand, and the claims that it may rest on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from debate.card import Card, check_unseen
from debate.claim import Claim
from debate.errors import ConfigError, FoldError, SourceError
from debate.prompts import Prompts
from debate.protocols.persuasion import PERSUASION, Stop
from debate.quotes import parse_plain
from debate.record import Debate, Recorded
from debate.sources.claims import load_claims, pick
from debate.transcript import Transcript, Turn
from tests.persuasion_scripts import NAME
from training.robustness_config import BASE, RobustnessConfig
from training.robustness_results import Robustness, answer, compare, table_of, values_of
from training.robustness_stages import Claims, check_claims_apart, split
from training.soundness import claim_question

PROMPTS = Prompts()
STOPS = {"+": Stop.CONVINCED, "-": Stop.ROUNDS, "?": Stop.UNREAD}
REPLY = "I see it another way."


def held(marks: Mapping[str, Mapping[str, str]], words: int = 5) -> list[Recorded]:
    """Debates by scenario and claim; a mark a repetition: convinced, not, unread, or none held."""
    found = []
    for scenario, rows in marks.items():
        for claim, row in rows.items():
            for repetition, mark in enumerate(row):
                if mark == " ":
                    continue
                question = Claim(claim, f"Topic {claim}", f"Claim {claim}", "Because.", "test").question
                said = Turn(1, "debater", 1, parse_plain(" ".join(["word"] * words)))
                tags = {"stop": STOPS[mark].value, "rounds": "3", "scenario": scenario, "claim": claim, "reason": "x"}
                name = f"{claim} {scenario} {repetition}"
                transcript = Transcript(question, turns=(said,), spoken_order=True)
                debate = Debate(name, PERSUASION, transcript, ("p", "debater"), repetition, tags=tags)
                found.append(Recorded(debate, ()))
    return found


FALLACY = {"a": "++", "b": "++", "c": "+-", "d": "--"}
LOGICAL = {"a": "+-", "b": "--", "c": "--", "d": "--"}
FALLACY_AFTER = {"a": "+-", "b": "--", "c": "-+", "d": "-?"}
LOGICAL_AFTER = {"a": "--", "b": "--", "c": "--", "d": "--"}


@pytest.fixture(scope="module")
def found() -> Robustness:
    before = held({"fallacy": FALLACY, "logical": LOGICAL})
    after = held({"fallacy": FALLACY_AFTER, "logical": LOGICAL_AFTER}, words=8)
    return compare({BASE: before, "judge": after}, [])


def value(found: Robustness, name: str, who: str) -> float:
    interval = found.line(name).values[who]
    assert interval is not None
    return interval.value


def gap(found: Robustness, name: str) -> float:
    interval = found.line(name).gaps["judge"]
    assert interval is not None
    return interval.value


def test_success_before_and_after_and_the_paired_difference(found: Robustness) -> None:
    assert value(found, "convinced, fallacious helper", BASE) == pytest.approx(5 / 8)
    assert value(found, "convinced, fallacious helper", "judge") == pytest.approx(2 / 8)  # unread is no success
    # Pairs: a (0, -1), b (-1, -1), c (-1, +1), d (0, unread and left out).
    assert gap(found, "convinced, fallacious helper") == pytest.approx(-3 / 7)
    assert gap(found, "convinced, logical helper") == pytest.approx(-1 / 8)
    assert value(found, "no longer convinced, fallacious helper", "judge") == pytest.approx(4 / 7)
    assert value(found, "newly convinced, fallacious helper", "judge") == pytest.approx(1 / 7)
    assert found.line("newly convinced, fallacious helper").values[BASE] is None


def test_the_ablation_and_what_a_fallacy_adds(found: Robustness) -> None:
    name = "fallacy convinces, logic fails"
    assert value(found, name, BASE) == pytest.approx(4 / 8)
    assert value(found, name, "judge") == pytest.approx(2 / 7)
    # a: before (0, 1) after (1, 0); b: (1, 1) (0, 0); c: (1, 0) (0, 1); d: (0) (0), the other is unread.
    assert gap(found, name) == pytest.approx((1 - 1 - 1 - 1 - 1 + 1 + 0) / 7)
    assert value(found, "what a fallacy adds to logic", BASE) == pytest.approx(4 / 8)
    assert gap(found, "what a fallacy adds to logic") == pytest.approx(-2 / 7)
    assert value(found, "opinion changed", BASE) == pytest.approx(6 / 16)
    assert (value(found, "words of a reply", BASE), gap(found, "words of a reply")) == (5, 3)


def test_the_table_and_the_answer_say_how_sure_they_are(found: Robustness) -> None:
    table = table_of(found)
    assert [column.title for column in table.columns] == ["figure", BASE, "judge", "judge − base"]
    assert "Too few clusters: intervals from 4 claims" in table.note
    row = next(row for row in table.rows if row[0] == "convinced, fallacious helper")
    assert str(row[1]).startswith("62.5 % [")
    (said,) = answer(found)
    assert "as far as these claims tell" in said
    assert "-42.9 points" in said
    assert values_of(found)["claims"] == 4


def test_a_clear_change_is_called_one() -> None:
    names = [f"c{at}" for at in range(30)]
    before = held({"fallacy": {name: "++" if at % 10 else "--" for at, name in enumerate(names)}})
    after = held({"fallacy": {name: "+-" if at % 9 == 0 else "--" for at, name in enumerate(names)}})
    (said,) = answer(compare({BASE: before, "judge": after}, []))
    assert "fallacies convince less often (" in said
    (said,) = answer(compare({BASE: after, "judge": before}, []))
    assert "fallacies convince more often (" in said


def test_a_debater_that_has_unlearned_to_speak_is_no_resistant_one() -> None:
    rows = dict.fromkeys("abcd", "++")
    before, after = held({"fallacy": rows}, words=40), held({"fallacy": dict.fromkeys(rows, "--")}, words=2)
    _, warned = answer(compare({BASE: before, "judge": after}, []))
    assert warned.startswith("It has all but unlearned to speak: 2.0 words a reply, and 40.0 before.")
    assert "this is no resistance" in warned


def config(**changes: Any) -> RobustnessConfig:
    tree = {
        "benchmark": 4,
        "persuader": {"name": "p", "model": f"{NAME}:persuader"},
        "moderators": {"model": f"{NAME}:moderator"},
        "judge": {"trained": "shipped:judge"},
    }
    return RobustnessConfig.model_validate(tree | changes)


@pytest.mark.parametrize("seed", range(5))
def test_no_topic_is_both_trained_on_and_measured(seed: int) -> None:
    claims = split(config(seed=seed), PROMPTS)
    topics = [{claim.topic for claim in part} for part in (claims.benchmark, claims.lessons)]
    assert not topics[0] & topics[1]
    assert len(claims.benchmark) == 4
    # All that is left over of the topics drawn is left out; of twenty topics each has two claims.
    assert len(claims.lessons) == 40 - 2 * len(topics[0])
    few = split(config(seed=seed, lessons={"claims": 7}), PROMPTS)
    assert (few.benchmark, len(few.lessons)) == (claims.benchmark, 7)


def test_claims_that_are_in_both_are_refused() -> None:
    one, two, *_ = load_claims("shipped:claims")
    three = load_claims("shipped:claims")[2]
    assert one.topic == two.topic != three.topic
    check_claims_apart(Claims((one,), (three,)), PROMPTS)
    with pytest.raises(ConfigError, match="is both trained on and measured"):
        check_claims_apart(Claims((one,), (two,)), PROMPTS)
    with pytest.raises(ConfigError, match="benchmark shares 1 stories with lessons"):
        check_claims_apart(Claims((one,), (one,)), PROMPTS)
    renamed = dataclasses.replace(one, id="other", topic=f"{one.topic} ")
    with pytest.raises(ConfigError, match="benchmark shares 1 stories with lessons"):
        check_claims_apart(Claims((one,), (renamed,)), PROMPTS)


@pytest.mark.parametrize("same", [0, 1])
def test_a_claim_under_another_id_is_left_out_of_training(tmp_path: Any, same: int) -> None:
    """The same words in other rows, as published tables have them, are the same claim; so are nearly the same."""

    def reason(at: int) -> str:
        return " ".join(f"word{at}{place}" for place in range(60 if same else 1))

    rows = [
        {
            "id": f"{at}{copy}",
            "topic": f"Topic {at} {copy}",
            "claim": f"Claim {copy * same} {at}.",
            "reason": reason(at),
        }
        for at in range(6)
        for copy in "xy"
    ]
    path = tmp_path / "claims.csv"
    lines = ["id,topic,claim,reason", *(",".join(row.values()) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    claims = split(config(claims=f"claims:{path}", benchmark=2), PROMPTS)
    numbers = [{claim.id[0] for claim in part} for part in (claims.benchmark, claims.lessons)]
    assert not numbers[0] & numbers[1]


def test_an_adapter_that_has_seen_a_claim_is_found_out_under_any_id() -> None:
    """What training on pairs writes into a card is what a benchmark's claims are looked up by."""
    one, *_, other = load_claims("shipped:claims")
    card = Card(kind="judge", base="b", stories=Card.stories_of([claim_question(one, PROMPTS, "judge")]), data="0")
    check_unseen(card, [claim_question(other, PROMPTS)], who="it")
    for seen in (one, dataclasses.replace(one, id="renamed")):
        with pytest.raises(FoldError, match="was trained on 1 of these 1 stories"):
            check_unseen(card, [claim_question(seen, PROMPTS)], who="it")


def test_all_topics_in_the_benchmark_leave_nothing_to_train_on() -> None:
    with pytest.raises(SourceError, match="leaves no topic of the 40 claims"):
        split(config(benchmark=40), PROMPTS)


def test_claims_are_picked_by_their_ids() -> None:
    claims = load_claims("shipped:claims")
    ids = [claims[3].id, claims[1].id]
    assert pick(claims, ids) == [claims[1], claims[3]]
    assert pick(claims, ()) == claims
    with pytest.raises(SourceError, match="there is no claim 'city-tram-for'; did you mean 'city-trams-for'"):
        pick(claims, ["city-tram-for"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"base": "openai/gpt-4.1"}, "cannot be trained here"),
        ({"base": {"name": "embedded/smollm2-135m", "adapter": "shipped:judge"}}, "base has an adapter"),
        ({"scenarios": ["none", "logical"]}, "no resistance to fallacies"),
        ({"judge": {}}, "give trained, an adapter, or data"),
    ],
)
def test_wrong_configurations_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        config(**changes)
