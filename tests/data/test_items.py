"""The shipped open items keep to the rules of their cards, and their answers are what counting and exact sums give."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from fractions import Fraction

import pytest

from debate.item import Item
from debate.metrics.answers import grade_answer
from debate.sources.items import load_items

ITEMS = {item.id: item for item in load_items("shipped:counterintuitive")}
TEXTS = load_items("shipped:ambiguity")


def stepwise_lift() -> int:
    """Day by day, with no formula."""
    height = 0
    for day in itertools.count(1):
        height += 5
        if height >= 20:
            return day
        height -= 2
    raise AssertionError


def duckweed() -> int:
    area = {60: Fraction(1)}
    for day in range(60, 0, -3):
        area[day - 3] = area[day] / 2
    return next(day for day, share in area.items() if share == Fraction(1, 4))


def grain_beetle() -> int:
    """Count sacks: as many as make every group a whole number."""
    sacks = 500 * 100
    infested = sacks // 500
    return round(100 * Fraction(infested, infested + (sacks - infested) * 4 // 100))


def two_chicks() -> Fraction:
    pairs = [pair for pair in itertools.product("fm", repeat=2) if "f" in pair]
    return Fraction(sum(pair == ("f", "f") for pair in pairs), len(pairs))


def four_boxes() -> Fraction:
    draws = [(box[at], box[1 - at]) for box in ("bb", "bb", "bt", "tt") for at in (0, 1)]
    brass = [other for drawn, other in draws if drawn == "b"]
    return Fraction(brass.count("b"), len(brass))


def five_cups() -> Fraction:
    """All places of the ring, all cups that may be pointed at; the host lifts any three that are empty."""
    won = total = Fraction(0)
    for ring, mine in itertools.product(range(5), repeat=2):
        lifts = [lift for lift in itertools.combinations(range(5), 3) if ring not in lift and mine not in lift]
        for lift in lifts:
            (left,) = set(range(5)) - set(lift) - {mine}
            won += Fraction(left == ring, len(lifts))
            total += Fraction(1, len(lifts))
    return won / total


def locker_codes() -> Fraction:
    differ = Fraction(math.perm(100, 12), 100**12)
    return 1 - differ


def double_knockout() -> int:
    """The longest tournament of few players, found by trying all courses; the pattern is 2 n - 1."""

    def longest(defeats: tuple[int, ...]) -> int:
        left = [at for at, lost in enumerate(defeats) if lost < 2]
        if len(left) == 1:
            return 0
        lengths = []
        for loser in left:
            after = tuple(lost + (at == loser) for at, lost in enumerate(defeats))
            lengths.append(1 + longest(after))
        return max(lengths)

    assert [longest((0,) * n) for n in range(2, 6)] == [2 * n - 1 for n in range(2, 6)]
    return 2 * 40 - 1


def rolling_coin() -> float:
    """Turned angle of the coin, summed over small steps: of its centre's way, and the rolling condition itself."""
    steps, turned = 10_000, 0.0
    for step in range(steps):
        one, other = (2 * math.pi * at / steps for at in (step, step + 1))
        turned += math.dist((4 * math.cos(one), 4 * math.sin(one)), (4 * math.cos(other), 4 * math.sin(other)))
    return round(turned / (2 * math.pi * 1), 3)


def milk_in_tea() -> tuple[Fraction, Fraction]:
    """The milk in the tea jug and the tea in the milk jug, in ml, where it is stirred well."""
    milk = Fraction(50)
    back = milk * 50 / 550
    return milk - back, Fraction(50) - back


def spinner() -> Fraction:
    spins = list(itertools.product(range(5), repeat=3))
    return Fraction(sum(0 in spin for spin in spins), len(spins))


def ferry_wait() -> Fraction:
    """The mean over every millisecond-like slot of an hour: gaps of 10 and 50 minutes in turn."""
    slots = 600  # a tenth of a minute each, taken in its middle
    moments = [Fraction(2 * at + 1, 20) for at in range(slots)]
    return sum(((10 - at) if at < 10 else (60 - at) for at in moments), Fraction(0)) / slots


def two_heads() -> Fraction:
    """By the chance of ending at toss n, up to n = 400: what is left is below 1e-30."""
    nothing, one_head, mean = Fraction(1), Fraction(0), Fraction(0)
    for toss in range(1, 400):
        ended = one_head / 2
        nothing, one_head = (nothing + one_head) / 2, nothing / 2
        mean += toss * ended
    return mean


def bookworm() -> int:
    """Lay the shelf out from left to right, spines to the front: a book's last page is at its left."""
    shelf = [
        ("cover", 3), ("last 1", 0), ("pages", 40), ("first 1", 0), ("cover", 3),
        ("cover", 3), ("last 2", 0), ("pages", 40), ("first 2", 0), ("cover", 3),
    ]  # fmt: skip
    names = [name for name, _ in shelf]
    start, end = sorted((names.index("first 1"), names.index("last 2")))
    return sum(width for _, width in shelf[start:end])


#: The right answer and the trap of every item whose trap is a number, each worked out here.
COMPUTED: dict[str, tuple[Callable[[], object], str]] = {
    "mountain-road": (lambda: Fraction(2) / (Fraction(1, 12) + Fraction(1, 36)), str(Fraction(12 + 36, 2))),
    "drying-mushrooms": (lambda: 60 * Fraction(5, 100) / Fraction(10, 100), str(60 * Fraction(95, 100))),
    "band-round-the-moon": (lambda: round(100 * ((10921e3 + 3) / (2 * math.pi) - 10921e3 / (2 * math.pi))), "0"),
    "sagging-lift": (stepwise_lift, str(math.ceil(Fraction(20, 3)))),
    "path-lamps": (lambda: len(range(0, 241, 8)), str(240 // 8)),
    "ship-gong": (lambda: Fraction(12, 4 - 1) * (8 - 1), str(12 * 2)),
    "kettle-and-lid": (lambda: next(lid for lid in range(47) if lid + (lid + 40) == 46), str(46 - 40)),
    "cake-icing": (lambda: Fraction(35) / (35 * (Fraction(7) / (7 * 7))), "35"),
    "duckweed": (duckweed, str(60 // 4)),
    "tent-price": (lambda: Fraction(250) * Fraction(140, 100) * Fraction(60, 100), "250"),
    "grain-beetle": (grain_beetle, str(100 - 4)),
    "two-chicks": (two_chicks, "1/2"),
    "four-boxes": (four_boxes, "2/3"),
    "five-cups": (five_cups, "1/2"),
    "locker-codes": (lambda: round(100 * locker_codes()), "12"),
    "double-knockout": (double_knockout, str(39 * 2)),
    "sawn-log": (lambda: Fraction(18, 4 - 1) * (7 - 1), str(Fraction(18, 4) * 7)),
    "rolling-coin": (rolling_coin, str(3 // 1)),
    "wooden-horse": (lambda: 300 * 2**3, str(300 * 2)),
    "train-in-tunnel": (lambda: (700 + 300) / Fraction(60_000, 3600), str(700 / Fraction(60_000, 3600))),
    "spinner": (spinner, str(3 * Fraction(1, 5))),
    "ferry-gaps": (ferry_wait, str(Fraction(10 + 50, 2) / 2)),
    "two-heads-in-a-row": (lambda: round(two_heads(), 20), "4"),
    "two-hoses": (lambda: 1 / (Fraction(1, 3) + Fraction(1, 6)), str(Fraction(3 + 6, 2))),
    "pay-gap": (lambda: 100 * Fraction(160 - 100, 160), "60"),
    "bookworm": (bookworm, str(40 + 3 + 3 + 40)),
    "ladder-on-a-ship": (lambda: 9, str(9 - len([at for at in range(0, 9 * 30, 30) if at < 3 * 25]))),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPUTED)
def test_answers_and_traps_are_what_they_are_computed_to_be(name: str) -> None:
    item = ITEMS[name]
    compute, trap = COMPUTED[name]
    found = compute()
    unit = "%" if "percent" in item.text else ""
    assert grade_answer(f"{found}{unit}", item.right, item.trap).right, found
    assert grade_answer(f"{trap}{unit}", item.right, item.trap).trapped, trap


def test_the_answers_in_words() -> None:
    saved = {"Morro": 12_000 / 4 - 12_000 / 6, "Lisca": 12_000 / 12 - 12_000 / 24}
    assert ITEMS["two-vans"].right == (max(saved, key=lambda van: saved[van]),)
    shares = {"Arda": Fraction(9 + 36, 10 + 90), "Bo": Fraction(72 + 3, 90 + 10)}
    assert Fraction(9, 10) > Fraction(72, 90)
    assert Fraction(36, 90) > Fraction(3, 10)
    assert ITEMS["two-mediators"].right == (max(shares, key=lambda name: shares[name]),)
    milk, tea = milk_in_tea()
    assert milk == tea
    tea_item = ITEMS["milk-and-tea"]
    for text in ("The same amount.", "just as much", "They are equal", "exactly the same volume"):
        assert grade_answer(text, tea_item.right, tea_item.trap).right, text
    for text in ("half as much", "twice as much", "not the same", "less"):
        assert not grade_answer(text, tea_item.right, tea_item.trap).right, text
    assert set(ITEMS) == {*COMPUTED, "two-vans", "two-mediators", "milk-and-tea"}


@pytest.mark.parametrize("item", ITEMS.values(), ids=lambda item: item.id)
def test_an_item_is_graded_by_its_own_forms(item: Item) -> None:
    for form in item.right:
        assert grade_answer(form.removeprefix("~"), item.right, item.trap) == (True, False), form
    assert grade_answer(item.trap, item.right, item.trap) == (False, True)
    assert item.why.strip()
    assert item.why_trap.strip()
    assert item.text.rstrip().endswith("?")


def test_the_texts_are_of_their_languages_and_their_references_differ_by_the_reading() -> None:
    assert [sum(item.language == name for item in TEXTS) for name in ("German", "Chinese")] == [12, 8]
    for item in TEXTS:
        assert bool(re.search(r"[\u4e00-\u9fff]", item.text)) == (item.language == "Chinese")
        assert all(part.strip() in item.text for part in re.split("[,，]", item.focus)), item.id
        (right,) = item.right
        words, others = (set(re.findall(r"[\w']+", text.lower())) for text in (right, item.trap))
        assert words != others
        assert len(words & others) >= 3, item.id
        assert item.why.strip()
        assert item.why_trap.strip()


def test_there_are_as_many_as_the_cards_say() -> None:
    assert (len(ITEMS), len(TEXTS)) == (30, 20)
    assert len({item.text for item in (*ITEMS.values(), *TEXTS)}) == 50
