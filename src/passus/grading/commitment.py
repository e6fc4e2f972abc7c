"""The answer that an output commits to: its announcements without those that it takes back, if the rest agree."""

import re
from dataclasses import dataclass
from typing import Protocol

from passus.grading import announcement_patterns as patterns
from passus.grading.announcement_context import CONDITION
from passus.grading.announcements import (
    MAX_UNBOXED,
    Announcement,
    announcements,
    closing_answer,
    is_mathematics,
    sentence_before,
)
from passus.grading.closing_text import last_sentence_start
from passus.grading.equivalence import equivalent

NOTHING_ANNOUNCED = "no answer is announced"
DENIED = re.compile(
    r"[\s$*)\]]{0,4}(?:is|was|isn't|cannot|can't|does|seems)\s?(?:be |not |n't |clearly |also ){0,3}"
    r"(?:not|n't|wrong|incorrect|false|right|correct|mistaken)(?<!is correct)(?<!is right)",
    re.I,
)
"""What follows an answer that is called wrong."""
MAX_MENTIONS = 16


@dataclass(frozen=True)
class NoAnswer:
    reason: str


class AnswerReading(Protocol):
    """What announced texts answer: mathematics, or the letters of a choice."""

    is_choice: bool

    def announced(self, announcement: Announcement) -> str | None:
        """Returns the answer of an announcement, and None if it is none."""

    def last_line(self, line: str) -> str | None:
        """Returns the answer of a last line without an announcement."""


class MathReading:
    is_choice = False

    def announced(self, announcement: Announcement) -> str | None:
        return announcement.text or None

    def last_line(self, line: str) -> str | None:
        return None


def committed_answer(text: str, reading: AnswerReading) -> Announcement | NoAnswer:
    """Returns the answer that the text commits to, or why it commits to none."""
    found = [a for a in announcements(text) if reading.announced(a) is not None]
    if reading.is_choice and not found:
        found = _choice_statements(text)
    start = found[0].at if found else max(0, len(text) - 2 * MAX_UNBOXED)  # what is taken back before does not matter
    retracted = _last_retraction(text, start)
    standing = [a for a in found if a.at >= retracted]
    doubt = _last_doubt(text, max(start, retracted))
    if doubt is not None and any(a.at < doubt for a in standing):
        standing = [a for a in standing if a.at >= doubt]
        retracted = doubt
    if _refuses(text, found):
        return NoAnswer("the output says that it gives no answer")
    closing = _closing(text, retracted, reading)
    standing = standing if reading.is_choice else _without_prose(standing, closing)
    if not standing:
        return closing or NoAnswer("the answer is taken back" if found else NOTHING_ANNOUNCED)
    answer = standing[-1]
    if closing is not None and closing.at > answer.at and _concludes(text, closing):
        standing = [*standing, closing]
    if not all(_agree(a, answer, reading) for a in standing):
        return NoAnswer("two different answers are announced")
    return NoAnswer("the answer is called wrong") if _is_denied(answer, text) else answer


def _closing(text: str, start: int, reading: AnswerReading) -> Announcement | None:
    """Returns the answer of the last line or sentence after `start`."""
    if not reading.is_choice:
        return closing_answer(text, start)
    for at in (last_sentence_start(text), text.rfind("\n") + 1):
        line = text[max(start, at) :].strip(" ,.:;")
        line = patterns.LEAD.sub("", line) if start >= at and start else patterns.CHOICE_LEAD.sub("", line)
        if _is_option_list(text, line):
            return None
        if 0 < len(line) < MAX_UNBOXED and reading.last_line(line) is not None:
            return Announcement(len(text) - len(line), line, "last line", line)
    sentence = text[max(start, last_sentence_start(text)) :].rstrip(" .。*_")
    letter = patterns.CLOSING_LETTER.search(sentence)
    if letter is None or patterns.DENYING.search(sentence) or patterns.QUALIFIED.search(sentence):
        return None
    return Announcement(len(text) - len(sentence), letter[1], "closing sentence", letter[1])


def _is_option_list(text: str, line: str) -> bool:
    """Returns whether the last line is the last of the options, which are repeated one below the other."""
    before = text[: len(text) - len(line)].rstrip().rpartition("\n")[2].lstrip("*_ ")
    return bool(patterns.OPTION_LABEL.match(line) and patterns.OPTION_LABEL.match(before) and before[:3] != line[:3])


def _is_denied(answer: Announcement, text: str) -> bool:
    """Returns whether the text after an answer says that this answer is wrong."""
    at = text.find(answer.text, answer.at)
    for _ in range(MAX_MENTIONS):
        if at < 0:
            break
        if DENIED.match(text, at + len(answer.text)):
            return True
        at = text.find(answer.text, at + 1)
    return False


def _without_prose(standing: list[Announcement], closing: Announcement | None) -> list[Announcement]:
    """Drops announcements in words, such as `the answer must be an integer`, where a later one is mathematics."""
    mathematical = [a.at for a in [*standing, *([closing] if closing else [])] if is_mathematics(a.text)]
    last = max(mathematical, default=-1)
    return [a for a in standing if a.at >= last or is_mathematics(a.text)]


def _concludes(text: str, closing: Announcement) -> bool:
    return patterns.CONCLUSION.match(text[closing.at : closing.at + 80].lstrip()) is not None


def _agree(a: Announcement, b: Announcement, reading: AnswerReading) -> bool:
    if a is b or reading.is_choice:
        return _letters(a, reading) == _letters(b, reading)
    return bool(equivalent(a.text, b.text) or equivalent(b.text, a.text))


def _letters(announcement: Announcement, reading: AnswerReading) -> str | None:
    letters = reading.announced(announcement)
    return reading.last_line(announcement.text) if letters is None else letters


def _refuses(text: str, found: list[Announcement]) -> bool:
    """Returns whether the text says after its last announcement that it gives no answer."""
    last = found[-1].at if found else 0
    return patterns.REFUSAL.search(text, last) is not None


def _last_retraction(text: str, start: int) -> int:
    """Returns where the last retraction after `start` ends; 0 without one."""
    end = 0
    for match in patterns.RETRACTION.finditer(text, start):
        end = match.end()
    return end


def _last_doubt(text: str, start: int) -> int | None:
    """Returns where the last doubt after `start` ends, if no confirmation follows it."""
    *_, last = (None, *patterns.DOUBT.finditer(text, start))
    if last is None or patterns.CONFIRMATION.search(text, last.end()):
        return None
    return last.end()


def _choice_statements(text: str) -> list[Announcement]:
    found = []
    for match in (*patterns.CHOICE_STATEMENT.finditer(text), *patterns.ONLY_LETTER.finditer(text)):
        before, letter = sentence_before(text, match.start()), next(filter(None, match.groups()))
        hypothetical = CONDITION.search(before) or patterns.HYPOTHETICAL.search(before)
        rest = text[match.end() : match.end() + MAX_UNBOXED].partition("\n")[0].partition(". ")[0]
        other = patterns.OTHER_LETTER.search(rest)
        if (
            other is None
            and not hypothetical
            and not patterns.NEGATION.search(before)
            and not patterns.EXCEPTION.search(before)
        ):
            found.append(Announcement(match.start(), letter, "choice", letter))
    return found
