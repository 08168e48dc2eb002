from __future__ import annotations

import random

import pytest

from debate.fingerprint import VALUES, StoryFinder, fingerprint, from_hex, same_story, similarity, to_hex, words
from debate.sources import load

PLAIN = "“I can’t go,” said Ana — it's Tomas's boat (the red one)... We'd re-sign for $3.50, wouldn't we?"
TREEBANK = (
    "`` I ca n't go , '' said Ana -- it 's Tomas 's boat -LRB- the red one -RRB- ... "
    "We 'd re-sign for $ 3.50 , would n't we ?"
)


def text(count: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return [f"w{rng.randrange(5000)}" for _ in range(count)]


def jaccard(one: list[str], other: list[str]) -> float:
    """The similarity that fingerprints estimate, counted out."""
    runs = [{tuple(part[at : at + 8]) for at in range(len(part) - 7)} for part in (one, other)]
    return len(runs[0] & runs[1]) / len(runs[0] | runs[1])


def test_treebank_tokens_and_plain_text_agree() -> None:
    assert words(PLAIN) == words(TREEBANK)
    assert words("You cannot.") == words("YOU  can not .") == ["you", "cannot"]
    assert words("-LSB- Note -RSB- so") == ["note", "so"]
    assert fingerprint(PLAIN) == fingerprint(TREEBANK)


def test_a_fingerprint_is_the_same_everywhere() -> None:
    # Runs keep fingerprints beside their stories, so they must not change between versions and machines.
    assert len(fingerprint("One two three.")) == VALUES
    assert fingerprint("One two three.")[:2] == (15137948199772101993, 15187125779909309465)


@pytest.mark.parametrize("changed", [0.01, 0.03, 0.05, 0.1, 0.3])
def test_similarity_estimates_jaccard(changed: float) -> None:
    rng, one = random.Random(1), text(4000)
    other = [f"x{rng.randrange(5000)}" if rng.random() < changed else word for word in one]
    estimate = similarity(fingerprint(" ".join(one)), fingerprint(" ".join(other)))
    assert estimate == pytest.approx(jaccard(one, other), abs=4 * 0.0625)


def test_the_same_story_with_a_part_left_out_and_another_story() -> None:
    whole = " ".join(text(3000))
    part = " ".join(text(3000)[:2400])
    assert same_story(fingerprint(whole), fingerprint(part))  # Jaccard 0.8
    assert not same_story(fingerprint(whole), fingerprint(" ".join(text(3000)[:900])))  # 0.3
    assert similarity(fingerprint(whole), fingerprint(" ".join(text(3000, seed=2)))) == 0


def test_short_and_empty_texts() -> None:
    assert same_story(fingerprint("Ana left."), fingerprint("ana LEFT"))
    assert not same_story(fingerprint("Ana left."), fingerprint("Tomas left."))
    assert fingerprint(" ... ") == ()
    assert not same_story((), ())
    finder = StoryFinder()
    finder.add("empty", "")
    assert finder.find("") is None


def test_the_finder_finds_what_comparing_all_finds() -> None:
    stories = {f"s{seed}": text(600, seed) for seed in range(40)}
    finder = StoryFinder()
    for name, story in stories.items():
        finder.add(name, " ".join(story))
    for name, story in stories.items():
        assert finder.find(" ".join(story[20:])) == name
    assert finder.find(" ".join(text(600, 99))) is None


def test_texts_of_one_name_are_not_added_up() -> None:
    one = text(1000)
    finder = StoryFinder()
    for _ in range(3):
        finder.add("one", " ".join(one[:300]))
    assert finder.find(" ".join(one)) is None  # Jaccard 0.3, three times over


def test_no_two_shipped_stories_are_taken_for_one() -> None:
    stories = {question.story_id: question.story or "" for question in load("shipped:stories")}
    assert len(stories) == 40
    finder = StoryFinder()
    for name, story in stories.items():
        assert finder.find(story) is None
        finder.add(name, story)


def test_fingerprints_are_kept_as_text_and_found_by() -> None:
    one = " ".join(text(600))
    kept = to_hex(fingerprint(one))
    assert len(kept) == 16 * VALUES
    assert from_hex(kept) == fingerprint(one)
    assert from_hex(to_hex(())) == ()
    for wrong in (kept[:-1], kept.upper(), f"{kept}\n"):
        with pytest.raises(ValueError, match="a fingerprint is 1024 hexadecimal digits, or none"):
            from_hex(wrong)
    finder = StoryFinder()
    finder.add("one", from_hex(kept))
    finder.add("none", ())
    assert finder.find(one) == finder.find(fingerprint(one)) == "one"
    assert finder.find(()) is None
