"""Grading open answers: notations, units and roundings against values worked out beside them; what must not pass."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.metrics.answers import grade_answer, is_same
from debate.metrics.quantities import quantities

WORDS = {
    0: "zero", 3: "three", 7: "seven", 12: "twelve", 15: "fifteen", 20: "twenty", 28: "twenty-eight", 31: "thirty one",
    79: "seventy-nine", 100: "one hundred", 210: "two hundred and ten", 2400: "two thousand four hundred",
    1_000_000: "one million",
}  # fmt: skip


def right(answer: str, *forms: str, trap: str = "999") -> bool:
    return grade_answer(answer, forms, trap).right


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("18", "18 km/h"),
        ("It is 18 kilometres per hour.", "18 km/h"),
        ("**18 km/h**", "18 km/h"),
        ("5 m/s", "18 km/h"),
        ("$\\boxed{18}$", "18 km/h"),
        ("30.0 kilograms", "30 kg"),
        ("30,000 g", "30 kg"),
        ("0.03 t", "30 kg"),
        ("half a minute", "30 seconds"),
        ("1 minute and 5 seconds", "65 s"),
        ("1 h 5 min", "65 minutes"),
        ("the sixth day", "day 6"),
        ("on day 6", "sixth day"),
        ("day six", "day 6"),
        ("2/3", "two thirds"),
        ("⅔", "2/3"),
        ("\\frac{2}{3}", "2/3"),
        ("two out of three", "2/3"),
        ("2 in 3", "2/3"),
        ("80%", "4/5"),
        ("80 percent", "4/5"),
        ("0.8", "4/5"),
        ("four of the five", "4/5"),
        ("0.5", "50%"),
        ("50", "50%"),
        ("1/2", "50%"),
        ("1½ hours", "90 minutes"),
        ("x = 46/2 - 20 = 3", "3"),
        ("3 crowns", "3"),
        ("3 (the kettle is 43)", "3"),
        ("2,400 g", "2400 g"),
        ("2.4 kg", "2400 g"),
        ("2.4e3 g", "2400 g"),
        ("-3", "−3"),
        ("2 400 g", "2400 g"),
        ("2'400 g", "2400 g"),
        ("2\u202f400 g", "2400 g"),
        ("2.4 thousand grams", "2400 g"),
        ("2.4k", "2400"),
        ("1.0 × 10³ g", "1 kg"),
        ("$1.2\\times 10^{4}$", "12000"),
        ("one dozen", "12"),
        ("a hundred", "100"),
        ("minus three", "-3"),
        ("an hour and a half", "90 minutes"),
        ("zero point four eight eight", "61/125"),
        ("$0.1\\overline{6}$", "1/6"),
        ("0.(3)", "1/3"),
        ("\\frac13", "1/3"),
        ("fifty-fifty", "1/2"),
        ("18 km per hour", "18 km/h"),
        ("18 km / h", "18 km/h"),
        ("30 mph", "48.28032 km/h"),
        ("12 inches", "30.48 cm"),
        ("2 days", "48 hours"),
        ("no more than 79", "79"),
        ("3, not counting the kettle", "3"),
        ("THE MORRO!", "Morro"),
        ("Tuning Morro saves more", "Morro"),
    ],
)
def test_right_answers_in_other_words(answer: str, form: str) -> None:
    assert right(answer, form)


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("18 or 24", "18 km/h"),
        ("18 (or 24)", "18 km/h"),
        ("18-24", "18"),
        ("18 kg", "18 km/h"),
        ("18 m/s", "18 km/h"),
        ("180", "18"),
        ("1.8", "18"),
        ("c18", "18"),
        ("30 g", "30 kg"),
        ("2/30", "2/3"),
        ("0.33", "1/3"),
        ("8%", "4/5"),
        ("0.5%", "50%"),
        ("1/0", "0"),
        ("18 mph", "18 km/h"),
        ("18 miles per hour", "18 km/h"),
        ("30 pounds", "30 kg"),
        ("48 inches", "48 cm"),
        ("7 days", "7 minutes"),
        ("7 weeks", "7 minutes"),
        ("31 million", "31"),
        ("31 dozen", "31"),
        ("31k", "31"),
        ("31x", "31"),
        ("√31", "31"),
        ("31π", "31"),
        ("10³", "103"),
        ("minus 3", "3"),
        ("not 18 km/h", "18 km/h"),
        ("It isn't 18.", "18"),
        ("more than 31", "31"),
        ("twice 31", "31"),
        ("", "3"),
        ("I do not know", "3"),
        ("Not Morro", "Morro"),
        ("Morrow", "Morro"),
        ("Neither Morro nor another", "Morro"),
    ],
)
def test_what_is_no_right_answer(answer: str, form: str) -> None:
    assert not right(answer, form)


def test_words_that_name_the_trap_too_decide_nothing() -> None:
    assert grade_answer("Morro, not Lisca", ["Morro"], "Lisca") == (False, False)
    assert grade_answer("Lisca", ["Morro"], "Lisca") == (False, True)
    assert grade_answer("24 km/h", ["18 km/h"], "24 km/h") == (False, True)
    assert grade_answer("20 km/h", ["18 km/h"], "24 km/h") == (False, False)


@pytest.mark.parametrize(
    ("answer", "good"),
    [
        *((text, True) for text in ("0.333", "0.33", "33%", "33.3 %", "33.33333%", "1/3", "about 0.33", "1/3 ≈ 0.333")),
        *((text, False) for text in ("0.3", "0.34", "30%", "33.4%")),
    ],
)
def test_roundings_are_right_where_they_are_correct_and_fine_enough(answer: str, good: bool) -> None:  # noqa: FBT001 - a table's column
    assert right(answer, "~1/3") == good


numbers = st.integers(min_value=0, max_value=9_999_999)
fractions = st.fractions(min_value=0, max_value=1000, max_denominator=400)


@given(
    numbers, st.sampled_from(["{}", "{:,}", "**{}**", "= {}", "{}.0", "Answer is {}.", "${}$", "{} lamps", "+ 1 = {}"])
)
def test_a_whole_number_in_any_notation_is_itself(number: int, notation: str) -> None:
    assert right(notation.format(number), str(number))
    assert not right(notation.format(number + 1), str(number))


@given(fractions)
def test_a_fraction_is_its_mixed_its_latex_and_its_unreduced_form(value: Fraction) -> None:
    top, bottom = value.numerator, value.denominator
    forms = [f"{top}/{bottom}", f"{3 * top} / {3 * bottom}", f"\\dfrac{{{top}}}{{{bottom}}}"]
    forms += [f"{top} out of {bottom}"] if top <= bottom else [f"{top // bottom} {top % bottom}/{bottom}"]
    for form in forms:
        assert right(form, f"{top}/{bottom}"), form
        assert not right(form, f"{top + 1}/{bottom}"), form


@given(st.integers(min_value=1, max_value=10**6), st.integers(min_value=0, max_value=4))
def test_decimals_are_the_fractions_that_they_are(digits: int, places: int) -> None:
    written = f"{digits / 10**places:.{places}f}"
    assert right(written, f"{digits}/{10**places}")
    assert right(f"{written} cm", f"{digits}/{10 ** (places + 2)} m")


@given(numbers, st.sampled_from([("km", "m", 1000), ("kg", "g", 1000), ("h", "minutes", 60), ("litres", "ml", 1000)]))
def test_units_of_one_dimension_are_converted(number: int, units: tuple[str, str, int]) -> None:
    large, small, worth = units
    assert right(f"{number} {large}", f"{number * worth} {small}")
    assert right(f"{number * worth}{small}", f"{number} {large}")
    assert right(f"{number} {large}", f"{number} {small}") == (number == 0)


@given(fractions, st.integers(min_value=2, max_value=6))
def test_a_correct_rounding_is_right_and_one_off_in_its_last_place_is_not(value: Fraction, places: int) -> None:
    scaled = round(value * 10**places)
    form = f"~{value.numerator}/{value.denominator}"
    fine = abs(Fraction(scaled, 10**places) - value) <= value / 50
    assert right(f"{scaled / 10**places:.{places}f}", form) == fine
    assert not right(f"{(scaled + 2) / 10**places:.{places}f}", form)


@pytest.mark.parametrize(("number", "words"), WORDS.items())
def test_numbers_in_words(number: int, words: str) -> None:
    assert [quantity.value for quantity in quantities(words)] == [number]
    assert right(f"There are {words} of them", str(number))


@given(st.text(max_size=60), st.text(max_size=60))
def test_anything_can_be_graded_and_compared(one: str, other: str) -> None:
    grade = grade_answer(one, [other or "x"], "y")
    assert not (grade.right and grade.trapped)
    assert is_same(one, other) == is_same(other, one)


@given(st.one_of(numbers.map(str), fractions.map(lambda value: f"{value.numerator}/{value.denominator} kg")))
def test_an_answer_says_the_same_as_itself_and_nothing_else(answer: str) -> None:
    assert is_same(answer, f"It is {answer}.")
    assert not is_same(answer, f"1{answer}")
    assert not is_same(answer, "Lisca")


def test_what_is_no_plain_number_is_compared_as_it_is_written() -> None:
    assert right("It is 2π cm.", "2π")
    assert not right("2", "2π")
    assert not right("2", "√2")
    assert right("√2", "√2")
    assert is_same("2π", "2π")
    assert not is_same("2π", "2")
    assert not is_same("1.5", "1/5")


def test_same_words() -> None:
    assert is_same("The same amount.", "same amount")
    assert is_same("0.33", "1/3")
    assert is_same("60 s", "1 minute")
    assert not is_same("the same", "more")
