from __future__ import annotations

from debate.judge_names import PEOPLE, PUBLISHED, is_person, offline_name, person_of


def test_people_are_told_by_their_names() -> None:
    offline = offline_name("Ana", "timed")
    assert all(is_person(name) for name in (offline, PUBLISHED, f"{PEOPLE}ana"))
    assert not is_person("openai/gpt-4.1-mini (letter)")
    assert person_of(offline) == person_of("Ana") == "Ana"
