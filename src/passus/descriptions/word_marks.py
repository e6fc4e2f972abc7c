"""Marks amounts, fractions and lists of places that are given in words."""

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from passus.descriptions.claims import Amount, Window
from passus.descriptions.marking import TOKEN, Marked, MarkedValue, V, X, sense_before
from passus.descriptions.numbers import PARTS, WORDS, Number

FRACTION = re.compile(
    r"\b(?:(?P<count>a|an|one|two|three|four|five|six|seven|eight|nine)[- ])?(?P<part>half|halves|thirds?|quarters?"
    r"|fourths?|fifths?|sixths?"
    r"|sevenths?|eighths?|tenths?)\b(?= (?:of|its|the)\b)",
    re.I,
)
MULTIPLES = {
    "doubl": 2, "tripl": 3, "trebl": 3, "quadrupl": 4, "quintupl": 5, "halv": 0.5,
}  # fmt: skip
TIMES = {"twice": 2, "thrice": 3, "double": 2, "triple": 3, "half": 0.5}


def mark_fractions(marked: Marked) -> None:
    """Marks values that are fractions in words: "gets past one half at step 40"."""
    names = {"half": 0.5, "third": 1 / 3, "quarter": 0.25, "thirds": 2 / 3, "quarters": 0.75}
    marked.replace(
        r"(?<![\w-])(?:(?:one|a) (?P<one>half|third|quarter)|(?:two (?P<two>thirds)|three (?P<three>quarters)))\b"
        r"(?=[.,;)]|$| (?:at|by|in|on|after|before|only|until|mark|line|between|from|and)\b| «)",
        "V",
        lambda m: _fraction(m, names[(m["one"] or m["two"] or m["three"]).lower()]),
    )


def _fraction(match: re.Match[str], value: float) -> MarkedValue:
    return MarkedValue(Number(match.start(), match.end(), value, value, "/"))


def mark_place_lists(marked: Marked, known: Collection[float] = ()) -> None:
    """Joins places that are listed: "at step 100 and again at step 200", "at hours 6, 12 and 24"."""
    joint = r"(?:,? (?:and|or|as well as|&)(?: (?:again|also|then|finally|even))? |, )"

    def several(match: re.Match[str]) -> Window | None:
        parts = [marked.get(token[0]) for token in TOKEN.finditer(match[0])]
        windows = [_place_in_list(part, known) for part in parts]
        places = [w.low for w in windows if isinstance(w, Window) and w.low is not None and w.low == w.high]
        return Window(every=True, points=tuple(dict.fromkeys(places))) if len(places) == len(windows) else None

    marked.replace(rf"{X}(?:{joint}{X})*(?:{joint}{V})+(?! ?(?:%|points|tokens|percent|for\b|\())", "X", several)
    marked.replace(rf"{X}(?:{joint}{X})+", "X", several)


def _place_in_list(part: Any, known: Collection[float]) -> Any:
    """Returns a number at the end of a list of places as a place, where it is one of the chart."""
    if isinstance(part, MarkedValue) and part.number.low in known and not part.number.unit and not part.number.is_range:
        return Window(part.number.low, part.number.low)
    return part


def mark_multiples(marked: Marked) -> None:
    """Marks "doubles", "twice", "four fifths of", "cut in half"."""
    sense = (
        r"(?P<sense>(?:more than|less than|at least|at most|nearly|almost|roughly|about|approximately|over|well under"
        r"|well over|not even|around|just under) )?"
    )

    def amount(value: float, kind: str, words: str | None) -> Amount:
        name = sense_before((words or "").strip() + " ")[1] if words else "about"
        if kind == "ratio" and value < 1:  # "at least halves": to a half or less
            name = {"at least": "at most", "more": "less", "at most": "at least", "less": "more"}.get(name, name)
        return Amount(value, name, kind)

    def verb(match: re.Match[str]) -> Amount:
        return amount(MULTIPLES[match["verb"].lower()], "ratio", match["sense"])

    marked.replace(rf"(?<!each )(?<!every )\b{sense}(?P<verb>{'|'.join(MULTIPLES)})(?:e|es|ed|ing|e its|es its)?\b", "R", verb)
    marked.replace(
        rf"\b{sense}(?:cut|cuts|slashed?)(?: \S+){{0,3}}? (?:roughly |about )?(?:in|by) half\b",
        "R",
        lambda m: amount(0.5, "ratio", m["sense"]),
    )
    marked.replace(rf"\bby {sense}(?:a )?half\b", "F", lambda m: amount(0.5, "share", m["sense"]))
    marked.replace(
        rf"\b{sense}half(?= (?:as (?:much|many|long|large|high|big|great)|that of|those of)\b)",
        "R",
        lambda m: replace(amount(0.5, "share", m["sense"]), kind="ratio"),
    )
    marked.replace(rf"\b{sense}(?P<word>twice|thrice)\b", "R", lambda m: amount(TIMES[m["word"].lower()], "ratio", m["sense"]))

    def fraction(match: re.Match[str]) -> Amount:
        part = PARTS[match["part"].lower().removesuffix("s").replace("halve", "half")]
        count = WORDS.get((match["count"] or "one").lower(), 1)
        return amount(count / part, "share", match["sense"])

    marked.replace(rf"\b{sense}{FRACTION.pattern[2:]}", "F", fraction)
