"""Translations: chrF against an own count of n-grams, and readings of other wordings of the shipped texts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debate.metrics.grades import grade, is_opposed, majority
from debate.metrics.translation import overlap, reading
from debate.sources.items import load_items

ITEMS = {item.id: item for item in load_items("shipped:ambiguity")}
#: Other right wordings, then other wordings of the trap.
OTHERS = {
    "de-hahn": (
        "The cook let the faucet run until the sink was overflowing.",
        "The chef let the chicken run till the sink overflowed.",
    ),
    "de-bank": ("On the bench by the duck pond lay his hat.", "His hat was left in the bank near the duck pond."),
    "de-strauss": ("The ostrich easily ran away from the jeep.", "The flowers effortlessly escaped the jeep."),
    "de-mutter": ("The nut doesn't fit on this screw.", "Mum does not fit this screw."),
    "de-umfahren": (
        "Rather than go round the bollard, he ran it over.",
        "Rather than driving around the bollard, he drove around it.",
    ),
    "de-laeufer": ("White's bishop on c4 attacks the rook.", "The white runner at c4 is threatening the tower."),
    "de-schlange": (
        "The line at the till stretched to the vegetables.",
        "The serpent at the till reached the vegetables.",
    ),
    "de-gericht": (
        "Three dishes in, the attorney was full and just had a coffee.",
        "After the third trial the lawyer was sated and ordered coffee only.",
    ),
    "zh-suo": (
        "There is no lock on this door, so at night it is propped with a chair.",
        "The door isn't locked, so it can only be held with a chair at night.",
    ),
    "zh-jie": (
        "He borrowed 100 yuan. I asked twice and he still hasn't returned it.",
        "He lent me 100 yuan, I pressed him twice and he won't pay.",
    ),
    "zh-fangbian": ("No rush, call me when you have time.", "No rush, ring me when you go to the bathroom."),
    "zh-kaiyeche": (
        "She carried on carefully until late, three nights in a row, for this exam.",
        "For the exam she was in the dorm and took the car out three nights running.",
    ),
    "de-uebersehen": (
        "From the tower the watchman could see the whole yard and missed nothing.",
        "From the tower the guard could miss the entire yard, and nothing got past him.",
    ),
    "zh-chicu": (
        "He got jealous when she danced three times with a coworker.",
        "He ate vinegar when she danced with a coworker.",
    ),
}


def plain_chrf(hypothesis: str, reference: str, order: int = 6, beta: float = 2) -> float:
    """chrF2 from its definition: mean precision and recall of character n-grams, blanks left out."""
    precisions, recalls = [], []
    for n in range(1, order + 1):
        grams = [
            Counter(text[at : at + n] for at in range(len(text) - n + 1))
            for text in ("".join(hypothesis.split()), "".join(reference.split()))
        ]
        if not all(grams):
            continue
        common = sum((grams[0] & grams[1]).values())
        precisions.append(common / sum(grams[0].values()))
        recalls.append(common / sum(grams[1].values()))
    if not precisions:
        return 0.0
    p, r = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return 0.0 if p + r == 0 else 100 * (1 + beta**2) * p * r / (beta**2 * p + r)


words = st.text(alphabet="abcde ", min_size=1, max_size=30).filter(str.strip)


@settings(deadline=None)  # the first call imports sacrebleu
@given(words, words)
def test_chrf_is_what_its_definition_gives(one: str, other: str) -> None:
    assert overlap(one, [other]).chrf == pytest.approx(plain_chrf(one, other), abs=1e-6)


def test_bleu_by_hand() -> None:
    # Precisions 5/6, 3/5, 2/4 and 1/3 of the n-grams, equal lengths.
    found = overlap("the tap ran all night long", ["the tap ran all day long"])
    assert found.bleu == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert overlap("the tap ran all night long", ["the tap ran all night long"]) == pytest.approx((100, 100))


@pytest.mark.parametrize("name", ITEMS)
def test_references_show_their_own_reading(name: str) -> None:
    item = ITEMS[name]
    assert reading(item, item.right[0]) == "right"
    assert reading(item, item.trap) == "trap"
    right, trap = grade(item, item.right[0]), grade(item, item.trap)
    assert right is not None
    assert trap is not None
    assert (right.right, right.trapped, trap.right, trap.trapped) == (True, False, False, True)
    assert is_opposed(item, item.right[0], item.trap)


def test_words_decide_where_the_door_is_not_locked() -> None:
    # chrF alone takes both for the other one
    item = ITEMS["zh-suo"]
    assert reading(item, "It isn't locked, this door of ours has no bolt; chairs hold it") == "trap"
    assert reading(item, "This door can't be locked; at night all we can do is wedge it shut with a chair.") == "right"


@pytest.mark.parametrize("name", OTHERS)
def test_other_wordings_show_it_too(name: str) -> None:
    right, trap = OTHERS[name]
    assert (reading(ITEMS[name], right), reading(ITEMS[name], trap)) == ("right", "trap")


def test_without_words_the_nearer_reference_decides() -> None:
    item = ITEMS["de-hahn"]
    assert reading(item, "The cook left the sink") == "right"
    assert reading(item, "…") is None
    assert is_opposed(item, "…", item.trap) is None


def test_the_most_frequent_translation_is_one_in_equal_words() -> None:
    item = ITEMS["de-hahn"]
    assert majority(item, ["A tap.", None, "a  TAP.", "The tap."]) == "A tap."
    assert grade(item, None) is None
