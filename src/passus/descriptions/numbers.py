"""Numbers as people write them: decimal commas, thousands, k and M, percent, fractions, ranges, plus-minus, words.

A number is scanned with its sign, its unit and the signs of approximation before it. What it stands for, a value or a place on
the x-axis, is decided in `roles`.
"""

import math
import re
from dataclasses import dataclass, replace

from passus.descriptions.vocabulary import X_NOUNS

WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "hundred": 100, "dozen": 12,
}  # fmt: skip
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10,
}  # fmt: skip
PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "tenth": 10}
SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "bn": 1e9, "T": 1e12, "thousand": 1e3, "million": 1e6, "billion": 1e9}
HEDGES = (
    r"(?:(?:~|about|around|approximately|approx\.?|roughly|nearly|near|almost|circa|ca\.?|some|only|just|merely"
    r"|a mere|close to"
    r"|an estimated|barely|still|already|exactly|precisely|like|maybe|perhaps|probably|possibly|well|slightly"
    r"|a little|a bit|somewhat)\s?){1,2}"
)
APPROXIMATE = re.compile(r"~|\b(?:about|around|approx\w*|roughly|near\w*|almost|circa|ca|some|close to|estimated)\b", re.I)
ENGLISH = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
SPACED = r"(?:[0-9]{1,3}(?: [0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
EUROPEAN = r"(?:[0-9]{1,3}(?:[. ][0-9]{3})+(?![0-9])|[0-9]+)(?:,[0-9]+)?|,[0-9]+"
SCALE = r"(?:[kKMBT](?![a-z0-9])|bn\b|\s(?:thousand|million|billion)\b)"
WORD_NUMBER = rf"\b(?:{'|'.join(WORDS)})(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?\b(?: and a half)?"
NOT_INSIDE = r"(?<![\w./=^])(?<!\w@)"
NUMERIC_WORD = re.compile(
    r"[^\w\s.,]*[.,]?[0-9][0-9.,]*(?:[eE]-?[0-9]+)?(?:[kKMBT]|bn|h|hrs?|x|s|tok|pts?|pp|%)?"
    r"(?:[-/;\u2014\u2192>]+[~+]?[0-9][0-9.,]*(?:[kKMBT]|bn|h|hrs?|x|tok|pts?|pp|%)?)*"
    r"(?:-(?:points?|fold|steps?|tokens?|epochs?|hours?|way|panel|model|line|seed|percent))?(?:'s)?[^\w\s]*"
)
"""A word that is a number, or several, with their units. Other words with digits are names."""
UNIT_AFTER = re.compile(
    r"\s?(?P<pp>percentage[- ]points?|pp\b|%-?points?|points? of percentage|points?\b|pts?\b)"
    r"|\s?(?P<percent>%|percent\b|per cent\b)"
    r"|\s?(?P<times>x\b(?! ?[0-9])|-?fold\b|times\b)"
    r"|(?P<glued>h|hrs?|s|min|tok)\b"
    r"|[ -](?P<noun>[a-z]+)",
    re.I,
)


def count_of(word: str) -> int:
    """Returns a count that is written in digits or as a word."""
    return WORDS[word.lower()] if word.lower() in WORDS else int(word)


@dataclass(frozen=True)
class Number:
    """One number, or the two ends of a range."""

    start: int
    end: int
    """Place in the text, without the unit."""
    low: float
    high: float
    unit: str = ""
    """`%`, `points`, `times`, `/` for a fraction, or the word behind it, in small letters."""
    unit_end: int = 0
    joint: str = ""
    """The sign or word between the ends of a range."""
    plus_minus: float | None = None
    approximate: bool = False
    digits: int = 0
    """Digits behind the decimal point."""
    signed: bool = False
    in_words: bool = False
    is_scaled: bool = False
    """Whether it is written with k, M, B or such a word."""

    @property
    def is_range(self) -> bool:
        return bool(self.joint)

    @property
    def value(self) -> float:
        return self.low


@dataclass(frozen=True)
class NumberFormat:
    """How a text writes its numbers."""

    european: bool = False
    spaced: bool = False
    """Whether thousands are set apart by a space, beside a decimal point."""

    @property
    def pattern(self) -> re.Pattern[str]:
        return _EUROPEAN_SCAN if self.european else _SPACED_SCAN if self.spaced else _ENGLISH_SCAN

    def to_float(self, text: str) -> float:
        text = text.replace(" ", "")
        text = text.replace(".", "").replace(",", ".") if self.european else text.replace(",", "")
        return float(text)


def _scan(number: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<fraction>{NOT_INSIDE}[0-9]{{1,4}}/[0-9]{{1,4}}(?![\w/]| /))"
        rf"|(?P<a>(?:(?<![\w.)\]%])[-+])?{NOT_INSIDE}(?:{number}))(?:[eE](?P<power>-?[0-9]{{1,2}})\b)?(?P<scale>{SCALE})?(?=(?:h|hrs?|x|s|tok|pts?|pp)\b|(?!\w|[.,][0-9]))"
        rf"(?:\s?(?:\u00b1|\+/?-)\s?(?P<pm>{number}))?"
        rf"|(?P<words>(?:\ba (?=hundred\b))?{WORD_NUMBER}(?P<times>\s(?:thousand|million|billion)\b)?)"
        rf"|(?<=\bthe\s)(?P<ordinal>{'|'.join(ORDINALS)})\b(?=\s(?:and|or|epoch|iteration|hour|round|generation|phase"
        rf"|day|at)\b|[,.;)])",
        re.I,
    )


_ENGLISH_SCAN, _SPACED_SCAN, _EUROPEAN_SCAN = _scan(ENGLISH), _scan(SPACED), _scan(EUROPEAN)
_SPACED_THOUSANDS = re.compile(
    r"\b(?:steps?|updates?|iterations?|tokens?|to|at|after|by|and|of) [1-9][0-9]{0,2} [0-9]{3}(?![0-9.,]*[0-9])"
    r"|(?<![0-9.,] )(?<![0-9.,])[1-9][0-9]{0,2} [0-9]{3} (?:steps?|updates?|iterations?|tokens?)\b",
    re.I,
)
PLACE_BEFORE = re.compile(rf"\b(?:{'|'.join(X_NOUNS)})s?\s$", re.I)
SCALED_BEFORE = re.compile(r"\b(?:at|after|by|from|since|until|between|to|and)\s$")
PATH_AFTER = re.compile(r"\s?(?:%|percent)?\sto\s", re.I)
MIN_SPACED = 2
"""Numbers such as 1 200 from which on a text writes all thousands so."""
_JOINT = re.compile(
    r"\s?(?:%|percent|per cent|points|pp|h|k)?\s?(-|\u2014|\bto\b|\bthrough\b|\band\b|\bor\b)\s?(?:~|about "
    r"|around |approximately )?$",
    re.I,
)


def number_format(text: str) -> NumberFormat:
    """Decides whether a text writes 0,5 or 0.5, and 1 200 or 1,200."""
    commas = len(re.findall(r"(?<![\d.,])(?:0,\d+|\d{1,3},\d{1,2})(?![\d,])", text))
    dots = len(re.findall(r"(?<![\d.,])(?:0\.\d+|\d{1,3}\.\d{1,2})(?![\d.])", text))
    return NumberFormat(commas >= 3 and commas > dots, len(_SPACED_THOUSANDS.findall(text)) >= MIN_SPACED)


def numbers_in(text: str, style: NumberFormat) -> list[Number]:
    """Returns the numbers of a text from left to right. The two ends of a range are one number."""
    text = re.sub(
        r"(?<![\d/])\d[\d.,kM]*(?:/\d[\d.,kM]*){2,}", lambda run: run[0].replace("/", ";"), text
    )  # a list, no fraction
    text = without_names(text)
    singles = [_number(text, match, style) for match in style.pattern.finditer(text)]
    return _joined(text, _scale_words(text, _scaled_lists(text, [number for number in singles if number is not None])))


def _scale_words(text: str, numbers: list[Number]) -> list[Number]:
    """Gives numbers in words the scale of the last one: "3.06 at three billion, 2.66 at ten"."""
    scaled, scale = list(numbers), 1.0
    for at, number in enumerate(numbers):
        if number.in_words and number.is_scaled:
            scale = SCALES[text[number.start : number.end].split()[-1].lower()]
        elif number.in_words and scale > 1 and SCALED_BEFORE.search(text[max(0, number.start - 9) : number.start]):
            scaled[at] = replace(number, low=number.low * scale, high=number.high * scale, is_scaled=True)
    return scaled


def _scaled_lists(text: str, numbers: list[Number]) -> list[Number]:
    """Gives numbers of a list the scale of its last one: "2, 4 and 6 billion"."""
    scaled = list(numbers)
    for at in range(len(numbers) - 2, -1, -1):
        a, b = numbers[at], scaled[at + 1]
        word = re.match(r"\s?(thousand|million|billion)\b", text[b.end - 9 : b.end + 9].strip()[-8:]) if b.is_scaled else None
        is_word = b.is_scaled and re.search(r"(thousand|million|billion)$", text[b.start : b.end], re.I)
        if (
            (
                (word or is_word or (at + 2 < len(numbers) and scaled[at + 1] is not numbers[at + 1]))
                and not a.is_scaled
                and not a.in_words
            )
            and re.fullmatch(r"\s*(?:,|and|or|, and)\s*", text[a.end : b.start])
            and a.low < 1000
        ):
            factor = b.low / numbers[at + 1].low if scaled[at + 1] is not numbers[at + 1] else _scale_of(text, b)
            scaled[at] = replace(a, low=a.low * factor, high=a.high * factor, is_scaled=True)
    return scaled


def _scale_of(text: str, number: Number) -> float:
    found = re.search(SCALE + "$", text[number.start : number.end])
    return SCALES.get(found[0].strip(), 1.0) if found else 1.0


def without_names(text: str) -> str:
    """Overwrites words that have digits and are no numbers, such as Qwen2.5-3B, pass@1 and r=8. The text keeps its length."""
    return re.sub(r"\S*[0-9]\S*", lambda word: word[0] if NUMERIC_WORD.fullmatch(word[0]) else "_" * len(word[0]), text)


def _number(text: str, match: re.Match[str], style: NumberFormat) -> Number | None:
    before = text[max(0, match.start() - 24) : match.start()]
    approximate = bool(APPROXIMATE.search(re.search(rf"(?:{HEDGES})?$", before, re.I)[0]))  # type: ignore[index]
    plus_minus = None
    if match["fraction"]:
        above, _, below = match["fraction"].partition("/")
        if float(below) == 0:
            return None
        value, unit, unit_end = float(above) / float(below), "/", match.end()
        return Number(match.start(), match.end(), value, value, unit, unit_end, approximate=approximate, digits=9)
    if match["words"]:
        return _word_number(text, match, approximate)
    if match["ordinal"]:
        value = float(ORDINALS[match["ordinal"].lower()])
        return Number(match.start(), match.end(), value, value, *_unit(text, match.end()), in_words=True)
    value = style.to_float(match["a"]) * 10 ** int(match["power"] or 0)
    scale = SCALES.get((match["scale"] or "").strip(), 1.0)
    if match["pm"]:
        plus_minus = style.to_float(match["pm"]) * scale
    value *= scale
    if not math.isfinite(value):
        return None
    point = "," if style.european else "."
    digits = len(match["a"].partition(point)[2]) if point in match["a"] else 0
    unit, unit_end = _unit(text, match.end())
    return Number(
        match.start(), match.end(), value, value, unit, unit_end, plus_minus=plus_minus, approximate=approximate, digits=digits,
        signed=match["a"][0] in "+-", is_scaled=scale != 1.0,
    )  # fmt: skip


def _word_number(text: str, match: re.Match[str], approximate: bool) -> Number | None:
    words = match["words"].lower().removesuffix(match["times"] or "").removeprefix("a ")
    value = float(sum(WORDS[word] for word in re.split(r"[- ]", words.removesuffix(" and a half"))))
    value += 0.5 if words.endswith("half") else 0.0
    value *= SCALES[match["times"].strip().lower()] if match["times"] else 1.0
    unit, unit_end = _unit(text, match.end())
    return Number(
        match.start(), match.end(), value, value, unit, unit_end, approximate=approximate, in_words=True,
        is_scaled=bool(match["times"]),
    )  # fmt: skip


def _unit(text: str, end: int) -> tuple[str, int]:
    match = UNIT_AFTER.match(text, end)
    if not match:
        return "", end
    if match["noun"]:
        return match["noun"].lower(), match.end()
    for name, unit in (("pp", "points"), ("percent", "%"), ("times", "times")):
        if match[name]:
            return unit, match.end()
    return match["glued"].lower(), match.end()


def _joined(text: str, singles: list[Number]) -> list[Number]:
    """Joins the ends of ranges: "0.85-0.9", "from 3 to 5", "between 3 and 5"."""
    numbers: list[Number] = []
    at = 0
    while at < len(singles):
        first = singles[at]
        second = singles[at + 1] if at + 1 < len(singles) else None
        joint = _JOINT.fullmatch(text[first.end : second.start]) if second is not None else None
        if second is not None and joint and _is_range(text, first, second, joint[1].lower()):
            scale = _shared_scale(text, first, second)
            unit, unit_end = second.unit, second.unit_end
            numbers.append(
                replace(
                    first, end=second.end, low=first.low * scale, high=second.low, unit=unit, unit_end=unit_end,
                    joint=joint[1].lower(), approximate=first.approximate or second.approximate,
                    digits=max(first.digits, second.digits),
                )
            )  # fmt: skip
            at += 2
        else:
            numbers.append(first)
            at += 1
    return numbers


def _is_range(text: str, first: Number, second: Number, joint: str) -> bool:
    """Returns whether two numbers are the ends of a range."""
    before = text[max(0, first.start - 40) : first.start]
    if joint == "and":
        return bool(re.search(rf"\bbetween (?:[a-z]+ )?(?:{HEDGES})?$", before, re.I))
    if joint == "through" and PATH_AFTER.match(text, second.end) and re.search(rf"\bfrom (?:{HEDGES})?$", before, re.I):
        return False
    if joint == "or" or (first.in_words != second.in_words and first.low != 0):
        return False
    if joint == "to":
        is_mixed = first.digits == 0 < second.digits
        is_at_place = PLACE_BEFORE.search(before) and (
            is_mixed or second.unit in ("token", "tokens", "%", "at", "after", "by", "in")
        )
        is_falling = is_mixed and first.low > second.low
        is_place_and_value = is_at_place or is_falling or (is_mixed and second.unit == "%")  # "epoch 5 to 49.4%"
        return not (first.plus_minus or second.plus_minus or is_place_and_value)
    return first.low <= second.low and first.plus_minus is None and not second.signed


def _shared_scale(text: str, first: Number, second: Number) -> float:
    """Returns the scale of the second end for a first one that has none: "8-12k"."""
    scale = re.search(SCALE + "$", text[first.start : first.end])
    after = re.search(SCALE + "$", text[second.start : second.end])
    if after and not scale and first.low < second.low / SCALES[after[0].strip()] + 1e-12:
        return SCALES[after[0].strip()]
    return 1.0
