"""Rows of winning arguments: the prompts, who won, what is left out, and the balance of right and wrong."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.agents.debater import Limits, ask_to_argue, read_candidate
from debate.errors import ConfigError
from debate.models.base import Completion, Draw, Messages
from debate.prompts import Prompts
from debate.protocols import Consultancy, DebateProtocol, Interactive, Sequential, Simultaneous, Speakers
from debate.protocols.consultancy import DoubleConsultancy
from debate.question import Question
from debate.quotes import Argument, parse_argument
from debate.record import Debate, Recorded
from debate.sentences import sentence_spans
from debate.transcript import Transcript, Turn
from debate.verdict import Verdict
from debate.windows import GAP
from tests.stage import LIMITS, Stage, question
from training.argument_rows import (
    ArgumentConfig,
    argument_row_set,
    argument_rows,
    copied_share,
    heard,
    margin_of,
    pick_judge,
    speeches,
    written,
)
from training.gather import DataConfig, Gathered
from training.passages import keep_passages
from training.worth import short_enough

PROMPTS = Prompts()
STORY = (
    "The ferry left the quay before the bell rang. Ana held the rope until her hands were raw. Tomas slept below. "
    "Nobody saw the lamp go out. In the morning the harbour master wrote that Ana had steered the boat home alone. "
    "Tomas said at dinner that he had steered it himself. The cook laughed and broke a plate."
)
ANA, TOMAS = "Ana had steered the boat home alone", "he had steered it himself"
WIDE = ArgumentConfig(judge="j", min_words=1, max_words=200, max_copied=1)


def case(id_: str = "q", gold: int | None = 0) -> Question:
    return Question(id_, "Who steered?", ("It was Ana.", "It was Tomas."), gold, STORY, f"story of {id_}", "test")


def said(text: str, answer: int, round_: int = 1, *, flaws: tuple[str, ...] = ()) -> Turn:
    return Turn(round_, "debater", answer, parse_argument(text, STORY, seat="AB"[answer]), flaws=flaws)  # type: ignore[arg-type]


def debate(
    *turns: Turn, id_: str = "d", share: float = 0.8, other: float | None = None, about: Question | None = None
) -> Recorded:
    """A debate whose judge gives answer 0 ``share`` in one order and ``other`` in the other."""
    shares = ((0, 1), share), ((1, 0), share if other is None else other)
    verdicts = tuple(Verdict("j", order, (value, 1 - value)) for order, value in shares)
    return Recorded(Debate(id_, "simultaneous", Transcript(about or case(), (0, 1), turns), ("ana", "tom")), verdicts)


def good(name: str, quote: str) -> str:
    return f"It was {name} for all we know here, since nobody else could: <quote>{quote}</quote>. That settles it."


BOTH = said(good("Ana", ANA), 0), said(good("Tomas", TOMAS), 1)


@pytest.mark.parametrize(
    "protocol",
    [
        Simultaneous(3),
        Sequential(2),
        Interactive(3, Stage().judge()),
        Consultancy(3, Stage(addressed="").judge()),
        DoubleConsultancy(3, Stage().judge()),
    ],
    ids=lambda protocol: protocol.name,
)
async def test_prompts_and_replies_are_those_of_the_debate(protocol: DebateProtocol) -> None:
    stage = Stage()
    speakers: Speakers = (stage.debater("first"), None if protocol.name == "consultancy" else stage.debater("second"))
    asked = question()
    for seats in ((0, 1), (1, 0)):
        stage.heard.clear()
        transcript = await protocol.hold(asked, speakers, seats, Draw())
        item = Recorded(Debate("d", protocol.name, transcript, ("first", "second")), ())
        sent = [one.prompt for one in stage.heard]
        spoken = list(speeches([item]))
        made = ["\n".join(message.content for message in ask_to_argue(one.view, PROMPTS, LIMITS)) for one in spoken]
        assert sorted(made) == sorted(sent)
        for one in spoken:
            read = read_candidate(Completion(one.written, "stop"), one.view, LIMITS)
            assert read.argument == one.turn.argument
            assert read.valid


def test_a_row_is_the_prompt_of_a_free_debater_and_the_reply_that_is_read_back() -> None:
    [row] = argument_rows([debate(*BOTH)], WIDE.model_copy(update={"balance": False}), PROMPTS, source="here").rows
    view = Transcript(case(), (0, 1)).view(answer=0, story=True)
    assert row.prompt == tuple(ask_to_argue(view, PROMPTS, Limits(1, 200)))
    assert row.completion == f"<argument>{good('Ana', ANA)}</argument>"
    assert (row.question, row.story, row.fold) == ("q", "story of q", None)
    assert row.tags["source"] == "here"
    assert (row.tags["player"], row.tags["assigned"], row.tags["seat"]) == ("ana", "right", "A")
    assert float(row.tags["margin"]) == pytest.approx(0.3)


def test_names_are_written_for_the_seat_that_the_prompt_names() -> None:
    turn = said("Debater B is wrong, I am Debater A: <quote>Tomas slept below.</quote>", 0)
    item = debate(turn)
    swapped = dataclasses.replace(
        item, debate=dataclasses.replace(item.debate, transcript=item.debate.transcript.swapped())
    )
    [row] = argument_rows([swapped], WIDE.model_copy(update={"balance": False}), PROMPTS).rows
    assert "You are Debater B." in row.prompt[-1].content
    assert "Debater A is wrong, I am Debater B:" in row.completion


@pytest.mark.parametrize(
    ("share", "other", "margin", "won"),
    [(0.8, 0.8, 0.1, 1), (0.8, 0.55, 0.1, 0), (0.8, 0.45, 0.0, 0), (0.5, 0.9, 0.0, 0), (0.6, 0.61, 0.1, 1)],
)
def test_a_speech_wins_in_both_orders_by_the_margin(share: float, other: float, margin: float, won: int) -> None:
    config = WIDE.model_copy(update={"balance": False, "margin": margin})
    found = argument_rows([debate(*BOTH, share=share, other=other)], config, PROMPTS)
    assert [row.tags["player"] for row in found.rows] == ["ana"] * won
    assert found.dropped["not won by the margin"] == 2 - won


def test_what_is_no_verdict_is_no_win() -> None:
    item = debate(*BOTH)
    one, two = item.verdicts
    bad = dataclasses.replace(two, probabilities=None, unparsed="cut")
    early = dataclasses.replace(two, round=1)
    assert margin_of(Recorded(item.debate, (one, bad)), 0, "j") == "unparsed verdict"
    assert margin_of(Recorded(item.debate, (one, early)), 0, "j") == "no verdict in both orders"
    assert margin_of(item, 1, "j") == pytest.approx(-0.3)
    assert margin_of(item, 0, None) == "no final verdict"


def test_one_person_judges_in_one_order() -> None:
    item = debate(*BOTH)
    tags = {"judge": "Osmanth"}
    verdicts = (Verdict("Osmanth", (0, 1), (0.3, 0.7), round=1), Verdict("Osmanth", (0, 1), (0.1, 0.9)))
    live = Recorded(dataclasses.replace(item.debate, tags=tags), verdicts)
    assert pick_judge([live], None) is None
    assert margin_of(live, 1, None) == pytest.approx(0.4)


def test_the_judge_must_be_known() -> None:
    second = [dataclasses.replace(verdict, judge="k") for verdict in debate().verdicts]
    item = Recorded(debate().debate, (*debate().verdicts, *second))
    with pytest.raises(ConfigError, match=r"verdicts of 2 judges \(j, k\); name one with arguments.judge"):
        pick_judge([item], None)
    with pytest.raises(ConfigError, match="no debate has a verdict of judge 'x'; there are j, k"):
        pick_judge([item], "x")
    with pytest.raises(ConfigError, match="nobody judged them"):
        pick_judge([Recorded(item.debate, ())], None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("It was Ana, of course.", "too few verified quotes"),
        (good("Ana", ANA) + " <quote>Ana never slept at all that night</quote>", "an unverified quote"),
        (good("Ana", ANA) + f" I say again <quote>{ANA}</quote>.", "a quote given twice"),
        (good("Ana", ANA) + " word" * 99, "outside the word limits"),
        (f"It was: <quote>{ANA}</quote>.", "copied from the story"),
        (f"Look now, friends: {ANA}, <quote>Tomas slept below.</quote> Yes.", "copied from the story"),
    ],
)
def test_what_is_not_worth_learning_from_is_left_out_and_counted(text: str, why: str) -> None:
    config = ArgumentConfig(judge="j", min_words=3, max_words=60, balance=False)
    found = argument_rows([debate(said(text, 0))], config, PROMPTS)
    assert found.rows == ()
    assert found.dropped == {why: 1}


def test_flaws_players_and_repeated_evidence_are_left_out_and_counted() -> None:
    config = ArgumentConfig(judge="j", min_words=3, max_words=60, balance=False, players=("an*",))
    again = debate(BOTH[0], BOTH[1], said(good("Ana", ANA) + " Indeed.", 0, 2), id_="again")
    items = [debate(said(good("Ana", ANA), 0, flaws=("cut",))), debate(*BOTH, share=0.2), again]
    found = argument_rows(items, config, PROMPTS)
    assert [row.tags["round"] for row in found.rows] == ["1"]
    assert found.dropped == {
        "marked as flawed": 1,
        "not won by the margin": 2,
        "another player": 1,
        "a quote given twice": 1,
    }


def test_all_speeches_count_where_winning_does_not() -> None:
    config = WIDE.model_copy(update={"won": False, "judge": None})
    found = argument_rows([Recorded(debate(*BOTH).debate, ())], config, PROMPTS)
    assert [row.tags["assigned"] for row in found.rows] == ["right", "wrong"]


def test_right_and_wrong_are_balanced_within_each_question_by_the_clearest_wins() -> None:
    def speech(number: int, name: str, quote: str) -> str:
        return good(name, quote) + f" Point {number}."

    one_sided = case("p")
    items = [
        *(debate(said(speech(n, "Ana", ANA), 0), id_=f"r{n}", share=0.6 + n / 20) for n in range(4)),
        *(debate(said(speech(n, "Tomas", TOMAS), 1), id_=f"w{n}", share=0.4 - n / 20) for n in range(2)),
        debate(said(good("Ana", ANA), 0), id_="p", about=one_sided),
    ]
    found = argument_rows(items, WIDE, PROMPTS)
    assert [row.tags["debate"] for row in found.rows] == ["r2", "r3", "w0", "w1"]
    assert found.dropped == {"more for one side of their question": 2, "all for one side of their question": 1}
    assert [story.id for story in found.stories] == ["story of q"]


def test_a_speech_given_in_several_debates_is_one_row() -> None:
    items = [debate(*BOTH, id_=f"d{n}", share=share) for n, share in enumerate((0.6, 0.9, 0.2))]
    found = argument_rows(items, WIDE, PROMPTS)
    assert [row.tags["debate"] for row in found.rows] == ["d1", "d2"]
    assert found.dropped["the same as another row"] == 1


def test_what_several_runs_share_is_one_row_and_their_sides_stay_even() -> None:
    def part(name: str, wrong: str) -> Gathered:
        """A run in which the same speech for the right answer won, and one of its own for the wrong answer."""
        items = (
            debate(said(good("Ana", ANA), 0), id_=f"{name} right"),
            debate(said(good("Tomas", TOMAS) + wrong, 1), id_=f"{name} wrong", share=0.1),
        )
        return Gathered(DataConfig(debates=f"run:{name}"), items, {"another fold": 2})

    found = argument_row_set([part("one", " First."), part("two", " Second.")], WIDE, PROMPTS)
    assert [row.tags["assigned"] for row in found.rows] == ["right", "wrong"]
    assert found.dropped == {
        "another fold": 4,
        "the same as another row": 1,
        "more for one side of their question": 1,
    }
    assert short_enough(found) == 4


def test_a_story_that_is_too_long_is_cut_around_the_quotes_and_the_question_is_not() -> None:
    def fits(messages: Messages) -> bool:
        return sum(len(message.content.split()) for message in messages) <= words

    config = WIDE.model_copy(update={"balance": False})
    whole = argument_rows([debate(*BOTH)], config, PROMPTS).rows[0]
    length = sum(len(message.content.split()) for message in whole.prompt) + len(whole.completion.split())
    words = length - 20
    [row] = argument_rows([debate(*BOTH)], config, PROMPTS, fits=fits).rows
    assert row.tags["story"] == "cut"
    story = row.prompt[-1].content.partition("</story>")[0]
    assert ANA in story
    assert len(story.split()) < len(STORY.split())
    assert row.prompt[-1].content.partition("</story>")[2] == whole.prompt[-1].content.partition("</story>")[2]
    words = 50
    found = argument_rows([debate(*BOTH)], config, PROMPTS, fits=fits)
    assert (found.rows, found.dropped["too long, even around its quotes"]) == ((), 1)


def test_copied_words_are_those_in_quotes_and_in_five_words_in_a_row_of_the_story() -> None:
    def share(text: str) -> float:
        return copied_share(parse_argument(text, STORY), STORY)

    assert share("one two three four") == 0
    assert share("one two <quote>Tomas slept below.</quote>") == pytest.approx(3 / 5)
    assert share("one two Tomas slept below nobody SAW") == pytest.approx(5 / 7)
    assert share("one two Tomas slept below nobody") == 0
    assert copied_share(Argument(()), STORY) == 0


spans = sentence_spans(STORY)


@given(st.lists(st.sampled_from(spans), min_size=1, max_size=3), st.integers(1, len(STORY) + 50), st.text(max_size=3))
def test_passages_hold_every_quote_whole_sentences_in_order_and_fit(
    quoted: list[tuple[int, int]], most: int, noise: str
) -> None:
    kept = keep_passages(STORY, quoted, lambda text: len(text) <= most, noise=noise)
    if kept is None:
        assert sum(end - start for start, end in set(quoted)) + len(set(quoted)) - 1 > most - 2 * len(GAP) * 4
        return
    assert len(kept) <= most
    assert all(STORY[slice(*span)] in kept for span in quoted)
    places = [STORY.index(part) for part in kept.split(f"\n\n{GAP}\n\n") for part in [part.strip(f"{GAP}\n")] if part]
    assert places == sorted(places)
    starts = {start for start, _ in spans}
    assert set(places) <= starts
    assert kept == keep_passages(STORY, quoted, lambda text: len(text) <= most, noise=noise)


def test_a_quote_stands_anywhere_in_its_passage() -> None:
    story = " ".join(f"This is sentence number {n} of the story." for n in range(101))
    middle = sentence_spans(story)[50]
    before = set()
    for noise in map(str, range(30)):
        kept = keep_passages(story, [middle], lambda text: len(text) <= 500, noise=noise)
        assert kept is not None
        before.add(kept.split("number 50")[0].count("This"))
    assert len(before) > 4


def test_only_what_its_speaker_had_heard_is_shown() -> None:
    turns = (said("one", 0), said("two", 1), said("three", 0, 2), said("four", 1, 2))
    at_once = Transcript(case(), (0, 1), turns)
    assert [turn.argument.plain() for turn in heard(at_once, 3).turns] == ["one", "two"]
    in_turn = Transcript(case(), (0, 1), turns, spoken_order=True)
    assert [turn.argument.plain() for turn in heard(in_turn, 3).turns] == ["one", "two", "three"]


def test_an_argument_is_written_as_a_model_would() -> None:
    argument = parse_argument("I, Debater B, say <quote>Tomas slept below.</quote>", STORY, seat="B")
    assert written(argument, "A") == "<argument>I, Debater A, say <quote>Tomas slept below.</quote></argument>"
