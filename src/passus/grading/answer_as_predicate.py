"""Announcements that come after the answer: `7 is the answer`, `the sum is 7, which is our answer`."""

import re
from collections import deque
from collections.abc import Iterator

from passus.grading.announcement_context import commits
from passus.grading.announcement_patterns import ADJECTIVE, CONCLUSION_LEAD, DENYING, MATH_SPAN, QUALIFIED, WORD_ANSWER
from passus.grading.announcements import (
    MARKS,
    MAX_ANNOUNCEMENTS,
    Announcement,
    closing_answer,
    is_mathematics,
    sentence_before,
    stated_in,
)

AS_PREDICATE = re.compile(
    r"[,，]?(?P<relative>\s(?:which|and (?:this|that|it)))?(?:\sthen|\sthus|\stherefore)?\s(?:is|must be|has to be"
    r"|will be|becomes)"
    r"(?:\s(?:thus|therefore|then|hence|indeed|clearly|exactly|also))?"
    rf"\s(?:the|our|my)\s{ADJECTIVE}answer(?:\s(?:to|for) (?:the|this|your) (?:(?:given|original|whole|stated|math) )?"
    r"(?:question|problem|exercise))?"
    r"(?=[\s*_$]{0,4}(?:[.!,;。]|\n|$))",
    re.I,
)
PRONOUN = re.compile(r"(?:(?:and|so|thus|therefore|hence|but)[,\s]{1,2})?(?:that|this|it|which|these|there|what)", re.I)
"""The subject of `That is our final answer`, which refers to the sentence before it."""
VALUE_START = re.compile(r"(?:[,:;，：]|\b(?:so|thus|therefore|hence|that|and|then))\s")


def predicate_announcements(text: str) -> list[Announcement]:
    """Returns the values that the text calls the answer afterwards."""
    matches = deque(AS_PREDICATE.finditer(text), maxlen=MAX_ANNOUNCEMENTS) if "answer" in text else ()
    return [found for match in matches for found in _read(text, match)]


def _read(text: str, match: re.Match[str]) -> Iterator[Announcement]:
    before = sentence_before(text, match.start())
    at = match.start() - len(before)
    if match["relative"]:
        stated = None if _is_changed(before) else stated_in(before.strip(MARKS + ",:"), at, emphasized=True)
        if stated and commits(before, match[0]):
            yield Announcement(at, stated.text, "phrase", stated.text)
        return
    if PRONOUN.fullmatch(before.strip(MARKS)):
        stated = closing_answer(text[:at].rstrip())
        if stated:
            yield Announcement(stated.at, stated.text, "phrase", stated.text)
        return
    lead, value = _subject(before)
    if value and commits(lead, match[0]):
        yield Announcement(at, value, "phrase", value)


def _is_changed(before: str) -> bool:
    words = MATH_SPAN.sub(" ", before)
    return bool(DENYING.search(words) or QUALIFIED.search(words))


def _subject(before: str) -> tuple[str, str]:
    """Returns the words before a value and the value, which ends the text; an empty value if it is none."""
    before = before.strip(MARKS)
    starts = [0, *(match.end() for match in VALUE_START.finditer(before))]
    for start in starts:
        value = CONCLUSION_LEAD.sub("", before[start:]).strip(MARKS + ",:")
        if WORD_ANSWER.fullmatch(value) or (value and value[0] not in "=+" and is_mathematics(value)):
            return before[:start], value
    return "", ""
