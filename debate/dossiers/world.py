"""The world of one dossier: who and what its names are, and the forms in which a text may call them.

Slots of people are ``{a}`` to ``{h}``, and ``{P}``, ``{Q}`` and ``{it}`` where the answers are people. They stand for a
name, in full the first time and short after that, or with a form for a pronoun (``he``, ``him``, ``his``, ``himself``;
``He`` and ``His`` with a capital). ``{P}`` and ``{Q}`` are the two possible answers in random order; ``{it}`` is the
one that a piece of evidence supports. ``{d1}`` to ``{d4}`` are days of one week in order and ``{n:3-9}`` is a number.
All other slots are the template's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from debate.dossiers.draws import Draws
from debate.dossiers.wording import Slot
from debate.errors import SourceError

CAST = "abcdefgh"
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_PRONOUNS = {
    "he": ("she", "he"),
    "him": ("her", "him"),
    "his": ("her", "his"),
    "himself": ("herself", "himself"),
    "He": ("She", "He"),
    "His": ("Her", "His"),
}
FORMS = ("", "full", *_PRONOUNS)


@dataclass(frozen=True, slots=True)
class Names:
    """What people may be called.

    Attributes:
        female: First names of women.
        male: First names of men.
        surname: Surnames.
    """

    female: tuple[str, ...]
    male: tuple[str, ...]
    surname: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in a dossier.

    Attributes:
        name: What the story calls them after the first time.
        full: First name and surname.
        male: Which pronouns they take.
    """

    name: str
    full: str
    male: bool


@dataclass(frozen=True, slots=True)
class World:
    """Who and what the slots of a template stand for in one dossier.

    Attributes:
        people: The cast, by slot; with ``P`` and ``Q`` where the answers are people.
        things: The other slots.
    """

    people: Mapping[str, Person]
    things: Mapping[str, str]

    def fill(self, slot: Slot, it: str, draws: Draws) -> str:
        """Return the text of a slot.

        Args:
            slot: The slot.
            it: Which of ``P`` and ``Q`` the slot ``{it}`` stands for.
            draws: Decides numbers.

        Returns:
            A name, a thing, a pronoun or a number.

        Raises:
            SourceError: The template has no such slot, or it has no such form.
        """
        name = it if slot.name == "it" else slot.name
        person = self.people.get(name)
        if person is not None and slot.form in FORMS:
            return _call(person, slot.form)
        if not slot.form and name in self.things:
            return self.things[name]
        if name == "n" and slot.form:
            low, _, high = slot.form.partition("-")
            number = draws.between(int(low), int(high))
            return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
        raise SourceError(
            f"no slot {{{slot.name}{':' if slot.form else ''}{slot.form}}} in this template; add or correct it"
        )

    def mention(self, slot: Slot, it: str, seen: set[str], draws: Draws) -> str:
        """Return the text of a slot in a story, where people are named in full the first time only.

        Args:
            slot: The slot.
            it: Which of ``P`` and ``Q`` the slots ``{it}`` and ``{P}`` stand for.
            seen: The slots of the people named so far; changed by the call.
            draws: Decides numbers.

        Returns:
            What ``fill`` returns for the slot in the form that fits.
        """
        name = {"it": it, "P": it, "Q": "QP"["PQ".index(it)]}.get(slot.name, slot.name)
        form = slot.form
        if name in self.people and form in {"", "full"}:
            form = "" if name in seen else "full"
            seen.add(name)
        return self.fill(Slot(name, form), it, draws)

    def names(self) -> list[str]:
        """Return all names and things of the dossier, longest first, to find or hide them in its text."""
        people = [name for person in self.people.values() for name in (person.full, person.name, *person.full.split())]
        return sorted({*people, *self.things.values()}, key=lambda name: (-len(name), name))


def _call(person: Person, form: str) -> str:
    if not form:
        return person.name
    if form == "full":
        return person.full
    return _PRONOUNS[form][person.male]


def build(
    draws: Draws, names: Names, slots: Mapping[str, Sequence[str]], answers: Sequence[str] | None, *, titles: bool
) -> World:
    """Draw the world of a dossier.

    Args:
        draws: Decides everything.
        names: What people may be called.
        slots: The template's own slots, each with the things it may stand for.
        answers: What the answers may be, or None if they are people.
        titles: Whether some people may go by title and surname.

    Returns:
        A world in which no two names of people begin with the same two letters, and ``P`` and ``Q`` are drawn alike.
    """
    taken: set[str] = set()
    people = {slot: _person(draws, names, taken, titled=titles and draws.coin(20)) for slot in CAST}
    things = {name: draws.choice(options) for name, options in slots.items()}
    if answers is None:
        titled = titles and draws.coin(30)
        people |= {slot: _person(draws, names, taken, titled=titled) for slot in "PQ"}
    else:
        things["P"], things["Q"] = draws.shuffled(answers)[:2]
    days = sorted(draws.shuffled(range(len(DAYS)))[:4])
    return World(people, things | {f"d{number}": DAYS[day] for number, day in enumerate(days, 1)})


def _person(draws: Draws, names: Names, taken: set[str], *, titled: bool) -> Person:
    male = draws.coin()
    first = _fresh(draws, names.male if male else names.female, taken)
    surname = _fresh(draws, names.surname, taken)
    title = "Mr" if male else draws.choice(("Mrs", "Miss", "Ms"))
    return Person(f"{title} {surname}" if titled else first, f"{first} {surname}", male)


def _fresh(draws: Draws, options: Sequence[str], taken: set[str]) -> str:
    """Draw a name whose first two letters no other name of the dossier has."""
    while True:
        name = draws.choice(options)
        if name[:2] not in taken:
            taken.add(name[:2])
            return name
