"""The answer that an output commits to: its announcements without those that it takes back, if the rest agree."""

from dataclasses import dataclass
from typing import Protocol

from passus.grading import announcement_patterns as patterns
from passus.grading import choice_patterns as choices
from passus.grading.announcement_context import CONDITION, FULL_CLAUSE, disowns, is_of_others, last_clause
from passus.grading.announcements import (
    MAX_UNBOXED,
    Announcement,
    announcements,
    closing_answer,
    is_mathematics,
    sentence_before,
)
from passus.grading.answer_as_predicate import predicate_announcements
from passus.grading.closing_text import last_sentence_start
from passus.grading.equivalence import equivalent
from passus.grading.retraction import REFUSAL, REPLACEMENT, is_complement, last_doubt, last_retraction, values_called_wrong

NOTHING_ANNOUNCED = "no answer is announced"
MAX_REPLACEMENT = 40
"""Characters of an answer in words that replaces another one."""


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
    announced = sorted([*announcements(text), *predicate_announcements(text)], key=lambda a: a.at)
    found = [a for a in announced if reading.announced(a) is not None]
    if reading.is_choice and not found:
        found = _choice_statements(text) or _choice_first(text)
    start = found[0].at if found else max(0, len(text) - 2 * MAX_UNBOXED)  # what is taken back before does not matter
    retracted = last_retraction(text, start)
    standing = [a for a in found if a.at >= retracted]
    doubt = last_doubt(text, max(start, retracted))
    if doubt is not None and any(a.at < doubt for a in standing):
        standing = [a for a in standing if a.at >= doubt]
        retracted = doubt
    standing, denied = _without_denied(standing, text, reading)
    retracted = max(retracted, denied)
    if _refuses(text, found):
        return NoAnswer("the output says that it gives no answer")
    closing = None if is_complement(text, retracted) else _closing(text, retracted, reading)
    standing = standing if reading.is_choice else _without_prose(standing, closing)
    if not standing:
        if not found and not reading.is_choice and (first := _first_word(text, closing)):
            return first
        if not found and not reading.is_choice and (closing is None or not is_mathematics(closing.text)):
            closing = _yes_or_no(text) or closing
        return closing or NoAnswer("the answer is taken back" if found else NOTHING_ANNOUNCED)
    answer = standing[-1]
    if closing is not None and closing.at > answer.at and _concludes(text, closing):
        standing = [*standing, closing]
    if not all(_agree(a, answer, reading) for a in standing):
        return NoAnswer("two different answers are announced")
    return answer


def _closing(text: str, start: int, reading: AnswerReading) -> Announcement | None:
    """Returns the answer of the last line or sentence after `start`."""
    if not reading.is_choice:
        return closing_answer(text, start) or _replacement(text, start)
    sentence_at, line_at = last_sentence_start(text), text.rfind("\n") + 1
    if choices.OPTION_LABEL_ALONE.fullmatch(text, line_at, max(line_at, sentence_at)):
        sentence_at = line_at  # the full stop belongs to the label
    for at in (sentence_at, line_at):
        line = text[max(start, at) :].strip(" ,.:;")
        line = patterns.LEAD.sub("", line) if start >= at and start else choices.CHOICE_LEAD.sub("", line)
        if _is_option_list(text, line):
            return None
        if 0 < len(line) < MAX_UNBOXED and not is_about_option(line) and reading.last_line(line) is not None:
            return Announcement(len(text) - len(line), line, "last line", line)
    sentence = text[max(start, last_sentence_start(text)) :].rstrip(" .。*_")
    letter = choices.CLOSING_LETTER.search(sentence)
    if letter is None or patterns.DENYING.search(sentence) or patterns.QUALIFIED.search(sentence):
        return None
    if disowns(last_clause(sentence[: letter.start()])):
        return None
    return Announcement(len(text) - len(sentence), letter[1], "closing sentence", letter[1])


def _first_word(text: str, closing: Announcement | None) -> Announcement | None:
    """Returns the Yes of a text that begins with it and explains it, unless the explanation concludes something else."""
    match = patterns.FIRST_WORD.match(text)
    if match is None or last_retraction(text, 0) or last_doubt(text, 0) is not None:
        return None
    if patterns.LATER_WORD.search(text, match.end()) or patterns.HEDGED_STATEMENT.search(text):
        return None
    if closing is not None and (not match["bold"] or _concludes(text, closing)):
        return None
    return Announcement(0, match["word"], "closing sentence", match["word"])


def _yes_or_no(text: str) -> Announcement | None:
    """Returns the No of `No, 51 is not prime`."""
    at = last_sentence_start(text)
    match = patterns.YES_OR_NO.match(text, at)
    return Announcement(at, match[1], "closing sentence", match[1]) if match else None


def _replacement(text: str, start: int) -> Announcement | None:
    """Returns the Monday of `oops, I meant Monday`."""
    words = text[start:].strip(" .!,:;*_\n")
    is_short = 0 < len(words) < MAX_REPLACEMENT and "\n" not in words and ". " not in words
    if not is_short or not REPLACEMENT.search(text, max(0, start - 20), start) or disowns(words):
        return None
    return Announcement(start, words, "closing sentence", words)


def is_about_option(line: str) -> bool:
    """Returns whether a line says something about an option, as `(A) cannot be the answer`, and does not choose it."""
    return choices.OPTION_AS_SUBJECT.match(line) is not None


def _is_option_list(text: str, line: str) -> bool:
    """Returns whether the last line is the last of the options, which are repeated one below the other."""
    before = text[: len(text) - len(line)].rstrip().rpartition("\n")[2].lstrip("*_ ")
    return bool(choices.LISTED_OPTION.match(line) and choices.LISTED_OPTION.match(before) and before[:3] != line[:3])


def _without_denied(standing: list[Announcement], text: str, reading: AnswerReading) -> tuple[list[Announcement], int]:
    """Drops the announcements of values that the text calls wrong later, and returns where it last does so."""
    last = 0
    for end, value in values_called_wrong(text, standing[0].at) if standing else ():
        denied = Announcement(end, value, "phrase", value)
        kept = [a for a in standing if a.at >= end or not _agree(a, denied, reading)]
        last = last if len(kept) == len(standing) else end
        standing = kept
    return standing, last


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
    return REFUSAL.search(text, last) is not None


def _choice_statements(text: str) -> list[Announcement]:
    found = []
    for match in (*choices.CHOICE_STATEMENT.finditer(text), *choices.ONLY_LETTER.finditer(text)):
        group = match.lastindex or 0
        letter, before = match[group], sentence_before(text, match.start(group))
        own = choices.OWN_CHOICE.sub(" ", before + match[0])
        hypothetical = CONDITION.search(before) or patterns.HYPOTHETICAL.search(own)
        rest = text[match.end() : match.end() + MAX_UNBOXED].partition("\n")[0].partition(". ")[0]
        rest = choices.WRONG_OTHERS.sub("", rest)
        other = choices.OTHER_LETTER.search(rest) or choices.CHOICE_REJECTED.match(rest)
        if (
            other is None
            and not hypothetical
            and not patterns.NEGATION.search(FULL_CLAUSE.split(before)[-1])
            and not is_of_others(last_clause(before))
            and not choices.EXCEPTION.search(before)
        ):
            found.append(Announcement(match.start(), letter, "choice", letter))
    return found


def _choice_first(text: str) -> list[Announcement]:
    """Returns the choice of a first line such as `C. x = 3`, which an explanation follows."""
    line, _, rest = text.partition("\n")
    line = line.strip(" *_#`")
    is_list = patterns.OPTION_LABEL.match(rest.lstrip(" \n*_"))
    first = choices.FIRST_CHOICE.fullmatch(line)
    if not rest or is_list or first is None:
        return []
    letter = first[1] or first[2]
    return [Announcement(0, letter, "choice", letter)]
