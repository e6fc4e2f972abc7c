"""Cleaning of an answer's text before it is parsed: punctuation, prefaces, conjunctions, spaces."""

import re

from passus.grading.answer_patterns import (
    AND_MARK,
    CONJUNCTION,
    ENCLOSING_TEXT_MACRO,
    LEADING_PHRASE,
    LEADING_TEXT_MACRO,
    OCR_DECIMAL,
    OR_MARK,
    PART_LABEL,
    PREFACE,
    SPACE,
)
from passus.grading.answer_types import Words
from passus.grading.brackets import strip_outer_braces
from passus.grading.latex_normalize import normalize_latex, normalize_prose
from passus.grading.vocabulary import HEDGES, WORD_SYNONYMS

QUALIFIERS = HEDGES | {"no", "than", "between", "never"}


def strip_punctuation(text: str) -> str:
    text = text.strip(" \t\r\n:" + OR_MARK + AND_MARK)
    while text.endswith((".", ",")) and not text.endswith("..."):
        text = text[:-1].rstrip()
    return text


def strip_preface(text: str) -> str:
    """Removes a text macro around the whole answer, and a preface such as `The answer is` or `Minimum value:`."""
    enclosed = ENCLOSING_TEXT_MACRO.fullmatch(strip_punctuation(text))
    text = enclosed[1] if enclosed else text
    if (lead := LEADING_TEXT_MACRO.match(text)) and (LEADING_PHRASE.fullmatch(lead[1].strip()) or _is_preface(lead[1].strip())):
        text = text[lead.end() :]
    text = LEADING_PHRASE.sub("", text)
    decimal = OCR_DECIMAL.fullmatch(strip_punctuation(text))
    return f"{decimal[1]}.{decimal[2]}" if decimal else text


def _is_preface(text: str) -> bool:
    """Returns whether a text is like `Minimum value:` or `The minimum is`, and not like `At most:`."""
    match = PREFACE.fullmatch(text)
    return match is not None and not {*match[1].lower().split()} & QUALIFIERS


def strip_part_label(piece: str, number: int) -> str:
    """Removes the (2) before the second of several parts."""
    label = PART_LABEL.match(piece)
    return piece[label.end() :] if label and label[1] == str(number) else piece


def conjunctions_to_commas(text: str) -> str:
    """Replaces `and` and `or` by commas with a mark that says which it was."""

    def comma(match: re.Match[str]) -> str:
        if match["kept"]:
            return match[0]
        is_or = "or" in match[0].lower() or "或" in match[0]
        return f" ,{OR_MARK if is_or else AND_MARK} "

    return CONJUNCTION.sub(comma, text)


def prose_answer(text: str) -> Words:
    words = (WORD_SYNONYMS.get(word, word) for word in normalize_prose(text).split())
    return Words(" ".join(filter(None, words)))


def compact(text: str) -> str:
    """Removes the spaces that do not matter from an expression: those of `1 4/5`, which is not 14/5, stay."""
    text = SPACE.sub(lambda m: " " if m[1] else "", normalize_latex(text))
    return strip_outer_braces(text.strip().removesuffix(".").strip())
