"""Quantities in short texts: numbers in many notations, each with the unit that follows it, as exact fractions."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

_PER = r"\s?(?:/|per\b|an?\b)\s?"
#: Units by dimension: how many of its base unit each is worth. Those of one line are one unit.
_UNITS: dict[str, dict[str, Fraction]] = {
    "length": {
        "mm|millimet(?:re|er)s?": Fraction(1, 1000),
        "cm|centimet(?:re|er)s?": Fraction(1, 100),
        "km|kilomet(?:re|er)s?": Fraction(1000),
        "m|met(?:re|er)s?": Fraction(1),
        "inch(?:es)?": Fraction(254, 10_000),
        "ft|foot|feet": Fraction(3048, 10_000),
        "yd|yards?": Fraction(9144, 10_000),
        "miles?": Fraction(1_609_344, 1000),
    },
    "mass": {
        "mg|milligram(?:me)?s?": Fraction(1, 1000),
        "kg|kgs|kilos?|kilogram(?:me)?s?": Fraction(1000),
        "g|gram(?:me)?s?": Fraction(1),
        "t|tonnes?": Fraction(1_000_000),
        "oz|ounces?": Fraction(28_349_523_125, 10**9),
        "lbs?|pounds?": Fraction(45_359_237, 10**5),
    },
    "time": {
        "s|secs?|seconds?": Fraction(1),
        "mins?|minutes?": Fraction(60),
        "h|hrs?|hours?": Fraction(3600),
        "days?": Fraction(86_400),
        "weeks?": Fraction(604_800),
    },
    "speed": {
        rf"kmh|kph|(?:km|kilomet(?:re|er)s?){_PER}(?:h|hr|hour)": Fraction(1000, 3600),
        rf"(?:m|met(?:re|er)s?){_PER}(?:s|sec|second)": Fraction(1),
        rf"mph|miles?{_PER}(?:h|hr|hour)": Fraction(1_609_344, 3_600_000),
    },
    "volume": {"ml|millilit(?:re|er)s?": Fraction(1, 1000), "l|lit(?:re|er)s?": Fraction(1)},
    "share": {r"%|per ?cent|pct": Fraction(1, 100)},
}
#: The dimension and the worth of a unit, by the number of its group. Speeds go before lengths, as which they begin.
_KINDS = [
    (dimension, worth, pattern)
    for dimension in ("speed", "share", "length", "mass", "time", "volume")
    for pattern, worth in _UNITS[dimension].items()
]
_UNIT = "|".join(f"(?P<u{at}>{pattern})" for at, (_, _, pattern) in enumerate(_KINDS))
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)"
#: What stands for a quantity that is named, but not as a plain number: 31x, √31, 3π. It is no other quantity.
NO_NUMBER = "?"
_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>-\s?)?(?:"
    r"(?P<mixed>\d+)(?: | and )(?P<mtop>\d+)/(?P<mbottom>\d+)"
    rf"|(?P<top>{_DIGITS})\s?(?:/|out of|in|of)\s?(?:the\s)?(?P<bottom>{_DIGITS})(?![.,]?\d)"
    rf"|(?P<whole>{_DIGITS})?(?P<part>(?(whole)[.,]|[.])\d+)?(?:e(?P<power>[+-]?\d{{1,3}})|\s?[×x*]\s?10\^(?P<ten>-?\d{{1,3}}))?"
    r")(?:st|nd|rd|th)?"
    rf"(?:[\s-]?(?:(?:of\s)?an?\s)?(?:{_UNIT})(?![\w/^]))?",
)
# fmt: off
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
#: "second" is left out: it is a unit of time far more often.
_ORDINALS = {"first": 1} | {word: at for at, word in enumerate((
    "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth",
    "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth",
), 3)}
# fmt: on
_SMALL = {word: at for at, word in enumerate(_ONES)} | {word: 10 * at for at, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_TIMES = _SCALES | {"dozen": 12, "k": 1000}
_PARTS = {"half": 2, "halve": 2, "quarter": 4} | {word: at for word, at in _ORDINALS.items() if at > 2}
_DIGIT = "|".join(_ONES[1:10])
_ONE = rf"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{_DIGIT}))?|{'|'.join(sorted(_ONES, key=len, reverse=True))})"
_WORDS = re.compile(rf"\b{_ONE}(?: (?:hundred|thousand|million)(?: (?:and )?{_ONE})?)*\b")
_PART = re.compile(rf"\b(?:(\d+)[ -]|(an? ))?({'|'.join(_PARTS)})s?\b")
_PLACE = re.compile(rf"\b({'|'.join(_ORDINALS)})\b")
_SCALED = re.compile(r"(?:(?<![\w.])(\d[\d.,]*) ?|\b(?:an? )?)(hundred|thousand|million|dozen|(?<=\d)k)\b")
#: "an hour and a half"
_AND_HALF = re.compile(r"(?:\ban?|(?<![\w.,])(\d+)) ([a-z]+) and 1/2\b")
_POINT = re.compile(r"(?:(?<![\w.,])(\d+) )?\bpoint ((?:\d ?)+)(?<! )")
#: 0.1(6)
_REPEATING = re.compile(r"(?<![\w.,])(\d*)\.(\d*)\((\d+)\)")
#: 2 400 and 2'400
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:[ '’]\d{3})+(?![\w/])")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


class Quantity(NamedTuple):
    """A number with its unit.

    Attributes:
        value: In its unit.
        dimension: What its unit measures; empty where there is none, or none that is known.
        worth: How many of the dimension's base unit its unit is worth.
        places: Decimal places as written; None for a fraction, which is exact.
    """

    value: Fraction
    dimension: str = ""
    worth: Fraction = Fraction(1)
    places: int | None = 0

    @property
    def base(self) -> Fraction:
        """The value in the base unit."""
        return self.value * self.worth


def plain(text: str) -> str:
    r"""Write a short text plainly: compatibility forms, LaTeX, markup and number words become ASCII, lower case.

    Args:
        text: Such as ``**\frac{2}{3}**``, ``1½ hours`` or ``two thirds``.

    Returns:
        Such as ``2/3``, ``1 1/2 hours`` and ``2/3``.
    """
    text = re.sub(r"(?<=\d)(?=[¼-¾⅐-⅞])", " ", text)
    text = re.sub(r"[⁰¹²³⁴-⁹⁻]+", lambda match: f"^{match[0].translate(_RAISED)}", text)
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r" \1/\2", text)
    text = re.sub(r"\\[dt]?frac\s*(\d)\s*(\d)", r" \1/\2", text)
    text = re.sub(r"\^\s*\{\s*(-?\d+)\s*\}", r"^\1", text)
    text = re.sub(r"\\(?:overline|bar)\s*\{(\d+)\}", r"(\1)", text)
    text = re.sub(r"\\(?:boxed|text|mathrm|mathbf)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\[(\[)\],;! ]|[$*`\\{}]|__", " ", re.sub(r"\\(?:times|cdot)", "×", text))
    text = text.translate({0x2044: "/", 0x2215: "/", 0x2212: "-", 0x2013: "-", 0x2014: " - ", 0x00D7: "×"})
    text = _GROUPED.sub(lambda match: re.sub(r"\D", "", match[0]), " ".join(text.split()))
    return " ".join(_numerals(text).split())


def quantities(text: str) -> list[Quantity]:
    """Find the quantities of a text, in order.

    ``2 h 15 min`` is one, ``4 out of 5`` is a fraction, ``2,400`` is a whole number and ``2,5`` is not.

    Args:
        text: Anything; it is made ``plain`` first.

    Returns:
        The quantities.
    """
    found: list[Quantity] = []
    text, end = plain(text), None
    for match in _NUMBER.finditer(text):
        if not any(match[name] for name in ("mixed", "top", "whole", "part")):
            continue
        quantity = _quantity(match)
        if quantity is None:
            continue
        if text[match.end() : match.end() + 1].isalpha() or text[: match.start()].endswith("√"):
            quantity = Quantity(quantity.value, NO_NUMBER)
        between = None if end is None else text[end : match.start()].strip(" ,")
        if found and between in {"", "and"} and _continues(found[-1], quantity):
            last = found.pop()
            quantity = last._replace(value=(last.base + quantity.base) / last.worth, places=None)
        found.append(quantity)
        end = match.end()
    return found


def _continues(last: Quantity, following: Quantity) -> bool:
    """Whether a quantity goes on with the one before it, in a smaller unit."""
    return last.dimension == following.dimension != "" and last.worth > following.worth


def _quantity(match: re.Match[str]) -> Quantity | None:
    places: int | None = None
    if match["mixed"]:
        value = _ratio(match["mtop"], match["mbottom"])
        value = None if value is None else value + int(match["mixed"])
    elif match["top"]:
        value = _ratio(match["top"], match["bottom"])
    else:
        part = (match["part"] or "").replace(",", ".")
        value = Fraction(f"{(match['whole'] or '0').replace(',', '')}{part}")
        power = int(match["power"] or match["ten"] or 0)
        value *= Fraction(10) ** power
        places = max(0, len(part) - 1) - power
    if value is None:
        return None
    if match["sign"]:
        value = -value
    for at, (dimension, worth, _) in enumerate(_KINDS):
        if match[f"u{at}"]:
            return Quantity(value, dimension, worth, places)
    return Quantity(value, places=places)


def _ratio(top: str, bottom: str) -> Fraction | None:
    below = int(bottom.replace(",", ""))
    return Fraction(int(top.replace(",", "")), below) if below else None


def _numerals(text: str) -> str:
    """Write number words as numerals: ``twenty-one`` is 21, ``two thirds`` 2/3, ``a half`` 1/2, ``sixth`` 6th."""
    text = re.sub(r"\b(?:minus|negative) (?=\d)", "-", _WORDS.sub(lambda match: str(_cardinal(match[0])), text))
    text = _POINT.sub(lambda match: f"{match[1] or ''}.{match[2].replace(' ', '')}", text)
    text = _SCALED.sub(_scaled, text)
    text = re.sub(r"\b50\s?[-/:]\s?50\b", "1/2", _PART.sub(_part, text))
    text = _AND_HALF.sub(lambda match: f"{match[1] or 1} 1/2 {match[2]}", text)
    text = _REPEATING.sub(_repeating, text)
    return _PLACE.sub(lambda match: f"{_ORDINALS[match[1]]}th", text)


def _cardinal(words: str) -> int:
    total, current = 0, 0
    for word in re.findall(r"[a-z]+", words):
        if word in _SMALL:
            current += _SMALL[word]
        elif word == "hundred":
            current *= 100
        elif word in _SCALES:
            total, current = total + current * _SCALES[word], 0
    return total + current


def _scaled(match: re.Match[str]) -> str:
    """Write a number and the scale behind it out: ``1.5 million`` is 1500000, ``a dozen`` 12."""
    number = (match[1] or "1").rstrip(".,")
    digits = number.replace(",", "") if re.fullmatch(_DIGITS, number) else number.replace(",", ".")
    if digits.count(".") > 1:
        return match[0]
    value = Fraction(digits) * _TIMES[match[2]]
    return f" {value}"


def _repeating(match: re.Match[str]) -> str:
    """Write a decimal that repeats as a fraction: of ``0.1(6)`` the 6 goes on for ever."""
    fixed, again = match[2], match[3]
    value = Fraction(
        int(match[1] + fixed + again) - int(match[1] + fixed or "0"), 10 ** len(fixed) * (10 ** len(again) - 1)
    )
    return str(value)


def _part(match: re.Match[str]) -> str:
    """Write a fraction; "the third" alone is a place, and only a half needs no number before it."""
    if match[1] is None and match[2] is None and match[3] != "half":
        return match[0]
    return f"{match[1] or 1}/{_PARTS[match[3]]}"
