"""Units and counted nouns after a number, which do not matter: `5 cm` is 5. Words that change the number stay: `5 squared`."""

import re

from passus.grading.vocabulary import DANGLING_ADJECTIVES, HEDGES, SCALES, UNIT_LETTERS, UNIT_WORDS

HEDGED_REMARK = re.compile(r"\(\s*(?:or|and|maybe|perhaps|possibly|not|but|approx|about|roughly)", re.I)
LAST_WORD = re.compile(
    r"(?:\x02[^\x03]*\x03|(?<![A-Za-z\\])[A-Za-z一-龥]+(?:/[A-Za-z]+)?\.?)\s*(?:\^\s*(?:\{\s*-?\s*\d\s*\}|-?\d))?\s*[./·]?\s*$"
)
NUMBER_AT_END = re.compile(r"[\d)}!]\s*$|\\pi\s*$|\\circ\s*$|%\s*$")
PLAIN_NUMBER = re.compile(r"-?\s*[\d.,]+(?:/\d+)?\s+")
SYMBOL_UNIT = re.compile(
    r"(?<=[\d)}\s])\s{0,3}(?:\x02?[kM]?\x03?\s{0,3}\\Omega|\\mu\s{0,3}\x02?[msgAFCLV]\x03?)\s{0,3}$"
    r"|(?<=\\circ)\s{0,3}\}?\s{0,3}(?:\x02[CF]\x03|[CF])\s{0,3}$"
)
"""Ohms, micrometres, degrees Celsius."""
LETTER_UNIT = re.compile(
    r"(?:\\(?:text|mathrm|mbox|rm)\s{0,3}\{[\s~]*([A-Za-z])[\s.]*\}|(?<=[\d}\s~])([A-Za-z]))\s{0,3}\.?\s{0,3}$"
)
SCALE_WORD = re.compile(r"(?<=[\d\s\x02])(dozen|hundred|thousand|million|billion|trillion|万|亿)(?:\x03|(?= ))?")
MAX_UNIT_WORDS = 6


def strip_units(text: str) -> str:
    """Removes the units of `15 \\text{ cm}^2`, `45 mph`, `18 apples`. A single letter is a unit only after a space."""
    if "\\" in text and text[:1] in "-0123456789.":
        text = SYMBOL_UNIT.sub(lambda m: "}" if "}" in m[0] else "", text)
    for _ in range(MAX_UNIT_WORDS):
        match = LAST_WORD.search(text)
        if not match or not (head := text[: match.start()].rstrip(" *.") if match.start() else ""):
            break
        if not _is_unit(match[0], head, after_space=text[: match.start()].endswith(" ")):
            break
        text = head.removesuffix("\\cdot").rstrip()
    return text.strip()


def strip_shared_unit_letter(answer: str, gold: str) -> tuple[str, str] | None:
    """Removes the unit letter that both end in, as in 72.6m and 72.6 \\text{ m}; returns None if they share none."""
    answer, gold = answer.strip("$ "), gold.strip("$ ")
    answer_unit, gold_unit = LETTER_UNIT.search(answer), LETTER_UNIT.search(gold)
    if answer_unit is None or gold_unit is None:
        return None
    letter = answer_unit[1] or answer_unit[2]
    if letter != (gold_unit[1] or gold_unit[2]) or letter not in UNIT_LETTERS:
        return None
    return answer[: answer_unit.start()], gold[: gold_unit.start()]


def _is_unit(tail: str, head: str, *, after_space: bool) -> bool:
    """Returns whether the last word, `tail`, is a unit of the number in `head`."""
    tail = re.sub(r"\^.*$", "", tail, flags=re.S).strip(" .\n/")
    from_macro = tail.startswith("\x02")
    word = tail.strip("\x02\x03 .")
    if from_macro and word.startswith("("):  # a remark, unless it hedges
        return not HEDGED_REMARK.match(word)
    words = word.lower().split()
    if word.lower() in HEDGES or any(w in HEDGES for w in words) or re.search(r"\d", word):
        return False
    if words and words[-1] in DANGLING_ADJECTIVES:
        return False
    if from_macro:
        return bool(re.search(r"\d|\\pi|\x03", head))
    if not (NUMBER_AT_END.search(head) or _may_be_unit(head.split()[-1])):
        return False
    if word in UNIT_WORDS or word.lower() in UNIT_WORDS or _is_quotient_of_units(word):
        return True
    if word in UNIT_LETTERS:
        return after_space and bool(re.fullmatch(r"-?\s*[\d.]+", head))
    return _is_counted_noun(word, head)


def _is_quotient_of_units(word: str) -> bool:
    return "/" in word and all(part in UNIT_WORDS or part in UNIT_LETTERS for part in word.split("/"))


def _is_counted_noun(word: str, head: str) -> bool:
    return (
        len(word) >= 4
        and word.isalpha()
        and bool(PLAIN_NUMBER.match(head + " "))
        and re.fullmatch(r"-?[\d.,/ ]+[A-Za-z ]*", head) is not None
    )


def _may_be_unit(word: str) -> bool:
    return word in UNIT_WORDS or word.endswith("\x03") or (len(word) >= 4 and word.isalpha())


def split_scale_word(text: str) -> tuple[str, int]:
    """Splits `5 million` into 5 and 10^6; the factor is 0 where there is no scale word."""
    match = SCALE_WORD.search(text)
    if not match:
        return text, 0
    return (text[: match.start()] + text[match.end() :]).replace("\x02", " ").replace("\x03", " "), SCALES[match[1]]
