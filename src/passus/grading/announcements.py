"""Announced answers: every place in the end of an output that says which its answer is."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from passus.grading import announcement_patterns as patterns
from passus.grading import closing_patterns as closing
from passus.grading.announcement_context import (
    ALLOWED_WORDS,
    CONCLUDING,
    CONDITION,
    CONTEXT,
    LEADING_PART,
    OWN_PLAN,
    OWN_REPORT,
    REASON,
    REPORT,
    WRONG_METHOD,
    commits,
    disowns,
    is_of_others,
    last_clause,
)
from passus.grading.answer_parser import parse_answer
from passus.grading.answer_types import Unsupported, Words
from passus.grading.closing_text import SENTENCE_BREAK, last_sentence_start
from passus.grading.equivalence import equivalent

MAX_UNBOXED = 400
"""Characters of an answer outside a box."""
BEFORE_KEYWORD, AFTER_KEYWORD = 64, 240
"""Characters around a keyword in which an announcement begins and ends."""
MAX_ANNOUNCEMENTS = 16
"""Announcements of one form that are read, from the end."""
MARKS = " \t\r\n*_`\"“”'"
MASK = "\ufffc"
"""Stands for a character of a formula."""
CLAUSE_COMMA = re.compile(r",(?=[\s一-龥])|，")
TRAILING_MARKS = MARKS + ".,;:!。，；：！"
Source = Literal["box", "hashes", "tag", "phrase", "heading", "last line", "closing sentence", "choice", "bare"]


@dataclass(frozen=True)
class Announcement:
    at: int
    """Where it stands in the text."""
    text: str
    """The answer, without the words around it."""
    source: Source
    sentence: str = ""
    """The announced text with its words."""


def announcements(text: str) -> list[Announcement]:
    """Returns the announcements of a text in order. The text must be short, and without long runs of white space."""
    found = [*_hashes(text), *_tags(text), *_phrases(text), *_headings(text), *_label(text)]
    return sorted((a for a in found if a.text and len(a.text) <= MAX_UNBOXED), key=lambda a: a.at)


def is_mathematics(text: str) -> bool:
    return not isinstance(parse_answer(text), Words | Unsupported)


def _last_matches(pattern: re.Pattern[str], text: str) -> deque[re.Match[str]]:
    """Returns the last matches, in the windows around the words that announce an answer: searching all the text is slow."""
    return _last(match for start, end in _windows(text) for match in pattern.finditer(text, start, end))


def _last(matches: Iterable[re.Match[str]]) -> deque[re.Match[str]]:
    return deque(matches, maxlen=MAX_ANNOUNCEMENTS)


@lru_cache(maxsize=1)
def _windows(text: str) -> list[tuple[int, int]]:
    """Returns the parts of the text around keywords, in order and without overlap."""
    lower = text.lower() if text.isascii() or len(text.lower()) == len(text) else text
    places = [0, max(0, len(text) - 1)]
    for word in patterns.KEYWORDS:
        at = lower.find(word)
        while at >= 0:
            places.append(at)
            at = lower.find(word, at + len(word))
    windows: list[tuple[int, int]] = []
    for at in sorted(places):
        start, end = max(0, at - BEFORE_KEYWORD), min(len(text), at + AFTER_KEYWORD)
        if windows and start <= windows[-1][1]:
            windows[-1] = (windows[-1][0], end)
        else:
            windows.append((start, end))
    return windows


def _announce(at: int, rest: str, source: Source) -> Announcement:
    sentence = statement(rest)
    return Announcement(at, answer_in(sentence), source, sentence)


def _hashes(text: str) -> Iterator[Announcement]:
    """Yields the answers after ####. A heading in Markdown begins with the same marks, so prose counts only at the end."""
    for match in _last(patterns.HASHES.finditer(text)):
        content = match[1].strip(MARKS)
        announces = patterns.ANNOUNCEMENT.search(content)
        if not announces and (is_mathematics(content) or match.end() == len(text)):
            yield Announcement(match.start(), content, "hashes", content)


def _tags(text: str) -> Iterator[Announcement]:
    for match in _last(patterns.TAG.finditer(text)):
        yield _announce(match.start(), match[2], "tag")
    for match in _last(patterns.JSON_ANSWER.finditer(text)):
        yield _announce(match.start(), match[1], "tag")


def _phrases(text: str) -> Iterator[Announcement]:
    for match in _last_matches(patterns.ANNOUNCEMENT, text):
        if _commits(text, match):
            yield _announce(match.start(), text[match.end() : match.end() + 2 * MAX_UNBOXED], "phrase")
    for match in _last_matches(patterns.UNVERBED, text):
        if not _commits(text, match):
            continue
        yield _announce(match.start(), text[match.end() : match.end() + 2 * MAX_UNBOXED], "phrase")
    for match in _last_matches(patterns.AS_ANSWER, text):
        if _commits(text, match):
            yield _announce(match.start(), match["value"], "phrase")


def _commits(text: str, match: re.Match[str]) -> bool:
    """Returns whether the words before and inside a phrase leave it an announcement of the answer."""
    before = sentence_before(text, match.start())
    line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()][-MAX_UNBOXED:]
    if line.count('"') % 2 or line.rfind("“") > line.rfind("”"):
        return False  # a quotation
    if patterns.FOR_EXAMPLE.search(text, max(0, match.start() - 16), match.start()):
        return False
    about = match.groupdict().get("about") or ""
    if patterns.NOT_COMMITTED.search(OWN_REPORT.sub(" ", before)) or patterns.PARTIAL.search(about) or _is_of_others(about):
        return False
    return commits(before, match[0], hypothetical=patterns.HYPOTHETICAL.search(match[0]) is not None)


def _is_of_others(about: str) -> bool:
    """Returns whether the words between `the answer` and its verb make it another answer: `that most students give`."""
    return len(about) > 2 and is_of_others(about)


def sentence_before(text: str, at: int) -> str:
    """Returns the part of a sentence that stands before a place in it."""
    before = text[max(0, at - CONTEXT) : at]
    breaks = [match.end() for match in SENTENCE_BREAK.finditer(before)]
    return before[breaks[-1] :] if breaks else before


def _headings(text: str) -> Iterator[Announcement]:
    for match in _last_matches(patterns.HEADING, text):
        found = _announce(match.start(), text[match.end() - 1 : match.end() + 2 * MAX_UNBOXED], "heading")
        display = _last_display(text, match.end()) if _is_prose(found.sentence) else None
        yield Announcement(match.start(), display.text, "heading", display.text) if display else found


def _is_prose(sentence: str) -> bool:
    return len(patterns.LONG_WORD.findall(patterns.MATH_SPAN.sub(" ", sentence))) > 2


def _last_display(text: str, start: int) -> Announcement | None:
    """Returns the answer of a displayed formula that ends the text on a line of its own."""
    at = text.rfind("\n") + 1
    return closing_answer(text) if at > start and text.startswith(("$$", "\\["), at) else None


def _label(text: str) -> Iterator[Announcement]:
    """Yields the answer of a last line such as `A: 288`."""
    start = last_sentence_start(text)
    line = text[start:].lstrip(MARKS + "#>-")
    if match := patterns.LABEL.match(line):
        yield _announce(start, line[match.end() :], "last line")


def statement(rest: str) -> str:
    """Returns the text to the end of its sentence; nothing if it hedges."""
    rest = patterns.BULLET.sub("", rest).lstrip(MARKS + ":：…")
    if nested := patterns.NESTED.match(rest):
        rest = rest[nested.end() :].lstrip(MARKS + ":：…")
    rest = patterns.PERCENTAGE_OF.sub(r"\1", rest)
    span = patterns.MATH_SPAN.match(rest)
    end = patterns.SENTENCE_END.search(rest, span.end() if span else 0)  # not inside a formula at the beginning
    sentence = (rest[: end.start()] if end else rest).strip(TRAILING_MARKS).rstrip(TRAILING_MARKS + "(（")
    sentence = patterns.SECOND_ANNOUNCEMENT.split(sentence, maxsplit=1)[0]
    if sentence.endswith(")") and sentence.count("(") + sentence.count("[") < sentence.count(")") + sentence.count("]"):
        sentence = sentence[:-1].rstrip(TRAILING_MARKS)
    hedged = patterns.HEDGED_STATEMENT.search(sentence) or (end and patterns.HEDGE_AFTER.match(rest, end.start()))
    return "" if hedged else sentence


def answer_in(sentence: str) -> str:
    """Returns the formula or the number of an announced text, if it has exactly one, else the whole text."""
    sentence = _without_repeat(sentence)
    if patterns.NO_SOLUTION.fullmatch(sentence):
        return "no solution"
    span = patterns.MATH_SPAN.match(sentence)
    if span and not sentence[span.end() :].strip(TRAILING_MARKS + ")"):
        return _content(span)
    if not sentence or len(sentence) > MAX_UNBOXED or patterns.OPTION_LABEL.match(sentence) or is_mathematics(sentence):
        return sentence
    if patterns.SUFFIX.search(patterns.MATH_SPAN.sub(" ", sentence)):
        return sentence
    return stated_value(sentence) or only_value(sentence) or _repeated(sentence) or _named(sentence) or sentence


def _without_repeat(sentence: str) -> str:
    """Returns the `32` of `32 ($32)`."""
    match = closing.BRACKETED_REPEAT.fullmatch(sentence) if sentence.endswith((")", "\uff09")) else None
    if match is None or not match["space"].strip("*_") or not is_mathematics(match["sentence"]):
        return sentence
    value = match["value"].lstrip("$£€¥") if match["value"].count("$") == 1 else match["value"]
    return match["sentence"] if equivalent(match["sentence"], value) else sentence


def _repeated(sentence: str) -> str | None:
    """Returns the 66 of `The farmer needs 66 feet of fence (66)`."""
    match = closing.BRACKETED_REPEAT.fullmatch(sentence)
    value = (stated_value(match["sentence"]) or only_value(match["sentence"])) if match else None
    return value if match and value and equivalent(value, match["value"]) else None


def _named(sentence: str) -> str | None:
    """Returns the Monday of `The day of the week is Monday`."""
    match = patterns.NAMED.fullmatch(patterns.SOUGHT.sub("", sentence)) or patterns.NAMED_SUBJECT.fullmatch(sentence)
    return (
        match["words"] if match and not patterns.QUALIFIED.search(sentence) and not patterns.DENYING.search(sentence) else None
    )


def stated_value(sentence: str) -> str | None:
    """Returns the mathematics after the only verb of a sentence: `the area is 16*pi`."""
    words = patterns.MATH_SPAN.sub(lambda span: MASK * len(span[0]), sentence)
    verbs = list(patterns.STATED.finditer(words))
    if len(verbs) != 1 or patterns.DENYING.search(words) or patterns.LABELLED_STEP.search(words):
        return None
    value = _without_repeat(sentence[verbs[0].end() :].strip(TRAILING_MARKS))
    return value if value and is_mathematics(value) else None


def _content(span: re.Match[str]) -> str:
    return next(group for group in span.groups() if group is not None).strip().rstrip(".,")


def only_value(sentence: str) -> str | None:
    """Returns the only formula of a sentence, or its only number; None if there are several or words change their meaning."""
    spans = list(patterns.MATH_SPAN.finditer(sentence))
    words = _without_ordinals(patterns.MATH_SPAN.sub(" ", sentence)).replace("\\$", "$")
    if patterns.QUALIFIED.search(words) or patterns.DENYING.search(words) or "\\" in words or "{" in words:
        return None
    if patterns.UNSTATED.search(words):
        return None
    numbers = patterns.NUMBER_RUN.findall(words)
    if len(spans) == 1 and not numbers:
        return _content(spans[0]) if _is_stated(spans[0][0], sentence) else None
    if spans or len(numbers) != 1 or _count_numbers(words) != _count_numbers(numbers[0]):
        return None
    return str(numbers[0]).strip(" $£€¥").replace(" x ", " * ") if _is_stated(str(numbers[0]), words) else None


def _without_ordinals(words: str) -> str:
    return patterns.ORDINAL.sub("", patterns.UNIT_POWER.sub("", words))


def _count_numbers(text: str) -> int:
    return len(re.findall(r"\d+", text))


def _is_stated(number: str, words: str) -> bool:
    """Returns whether the words around a number leave it what the sentence states: not in `a multiple of 36`."""
    before, _, after = words.partition(number)
    if patterns.NUMBER_AS_SUBJECT.match(after):
        return False
    return patterns.ALLOWED_BEFORE.search(before) is not None or not patterns.PREPOSITION.search(before)


def closing_answer(text: str, start: int = 0) -> Announcement | None:
    """Returns the answer of the last line or of the last sentence after `start`; None if it states none."""
    at = max(start, last_sentence_start(text))
    rest = patterns.LEAD.sub("", text[at:]) if at == start > 0 else text[at:]
    labelled = patterns.DASH.sub("", rest).strip(TRAILING_MARKS)
    labelled = patterns.RELATIVE.sub(lambda match: match["noun"], patterns.TRAILING_CLAUSE.sub("", labelled))
    labelled = closing.GIVEN_AS.sub(r"\1is", closing.STATING_VERB.sub("is", patterns.SOUGHT.sub("", labelled)))
    labelled = closing.NEGATED_VERB.sub(r"\g<count>", closing.NEGATED_RELATIVE.sub(r"\g<count>", labelled))
    labelled = patterns.PERCENTAGE_OF.sub(r"\1", labelled)
    sentence = patterns.LABELLED.sub("", labelled)
    label = labelled[: len(labelled) - len(sentence)]
    label = OWN_PLAN.sub(" ", label)
    if patterns.DENYING.search(label) or REPORT.search(label) or is_of_others(label) or LEADING_PART.match(labelled):
        return None
    if not sentence or len(sentence) > MAX_UNBOXED or text.rstrip(MARKS).endswith(("?", "？")):
        return None
    if patterns.NO_SOLUTION.fullmatch(sentence):
        return Announcement(at, "no solution", "closing sentence", sentence)
    words = patterns.MATH_SPAN.sub(" ", labelled)
    if _is_disowned(text, at, words):
        return None
    if patterns.HEDGED_STATEMENT.search(sentence) or _is_other_statement(sentence):
        return None
    if not patterns.PLANNING.search(words) and (
        stated := stated_in(sentence, at, emphasized=text[at:].lstrip().startswith("**"))
    ):
        return stated
    clause = _main_clause(sentence)
    planned = clause and patterns.PLANNING.search(patterns.MATH_SPAN.sub(" ", clause))
    return stated_in(clause, at, emphasized=True) if clause and not planned else None


def _main_clause(sentence: str) -> str | None:
    """Returns the last clause of a sentence that begins with a reason: `Since $7$ is prime, the answer is $2$`."""
    words = patterns.MATH_SPAN.sub(lambda span: MASK * len(span[0]), sentence)
    comma = max((match.start() for match in CLAUSE_COMMA.finditer(words)), default=-1)
    clause = sentence[comma + 1 :].strip()
    return clause if comma > 0 and (REASON.match(words) or patterns.CONCLUSION.match(clause)) else None


def stated_in(sentence: str, at: int, *, emphasized: bool = False) -> Announcement | None:
    """Returns the value that a closing sentence states."""
    value = _final_formula(sentence)
    sentence = _without_repeat(sentence)
    bare = patterns.CONCLUSION_LEAD.sub("", sentence)
    if value is None and not patterns.DENYING.search(bare) and is_mathematics(bare):
        return Announcement(at, bare, "last line", sentence)
    if emphasized and patterns.WORD_ANSWER.fullmatch(bare):
        return Announcement(at, bare, "last line", sentence)
    concludes = emphasized or patterns.CONCLUSION.match(sentence)
    if value is None and (concludes or any(pattern.search(sentence) for pattern in closing.STATING)):
        value = stated_value(sentence) or only_value(sentence) or _repeated(sentence) or _stated_words(sentence)
    return Announcement(at, value, "closing sentence", sentence) if value else None


def _is_disowned(text: str, at: int, words: str) -> bool:
    """Returns whether a closing sentence, or the unfinished line before a displayed formula, gives somebody else's answer."""
    line_before = text[max(0, at - MAX_UNBOXED) : at].rstrip().rpartition("\n")[2]
    unfinished = (
        "" if line_before.endswith((".", "!", "?", "。", "：", ":")) or not text[at:].startswith(("$$", "\\[")) else line_before
    )
    for part in (words, sentence_before(unfinished, len(unfinished))):
        hypothetical = patterns.HYPOTHETICAL.search(part) is not None
        if patterns.DISOWNED_CLOSING.search(OWN_REPORT.sub(" ", part)):
            return True
        if WRONG_METHOD.search(part) or (hypothetical and CONDITION.search(part)):
            return True
        clause = last_clause(part)
        if patterns.ANSWER_WORD.search(clause) and disowns(clause):
            return True
    return False


def _is_other_statement(sentence: str) -> bool:
    """Returns whether a sentence is hypothetical, or an announcement of another answer than the question's."""
    if CONDITION.search(sentence) and (patterns.HYPOTHETICAL.search(sentence) or not CONCLUDING.search(sentence)):
        return True
    if patterns.ANSWER_OF_PART.search(sentence):
        return True
    return patterns.ANNOUNCEMENT.search(sentence) is not None or patterns.ANSWER_AS_SUBJECT.match(sentence) is not None


def _stated_words(sentence: str) -> str | None:
    """Returns the Thursday of `It follows that the day is Thursday`."""
    sentence = sentence.replace("**", "")
    if patterns.OTHER_PLACE.search(sentence):
        return None
    if subject := patterns.NAMED_SUBJECT.fullmatch(sentence):
        return subject["words"]
    match = patterns.CONCLUDED_WORDS.fullmatch(sentence)
    if match and not patterns.QUALIFIED.search(sentence):
        return match["words"]
    return None if disowns(sentence) else _named(sentence)


def _leads_to_formula(before: str) -> bool:
    """Returns whether the words before a formula conclude it or state it: `Thus`, `the area is`."""
    if patterns.PREPOSITION.search(before) and not patterns.ALLOWED_BEFORE.search(before):
        return False
    return ALLOWED_WORDS.fullmatch(before.strip(MARKS + ",:")) is not None or patterns.FORMULA_STATED.search(before) is not None


def _final_formula(sentence: str) -> str | None:
    """Returns the formula that ends a sentence: its only one, or what `the value of $x$ is` says."""
    spans = list(patterns.MATH_SPAN.finditer(sentence))
    if not spans or len(sentence[spans[-1].end() :].split()) > 4:
        return None
    words = _without_ordinals(patterns.MATH_SPAN.sub(" ", sentence))
    if re.search(r"\d", words) or patterns.QUALIFIED.search(words):
        return None
    before, after = sentence[: spans[-1].start()], sentence[spans[-1].end() :]
    if patterns.NUMBER_AS_SUBJECT.match(after) or (before.strip(MARKS) and not _leads_to_formula(before)):
        return None
    if len(spans) == 1:
        return _content(spans[0])
    verbs = patterns.COPULA.findall(patterns.MATH_SPAN.sub(" ", sentence))
    stated = patterns.COPULA_BEFORE.search(before)
    if not stated or len(verbs) != 1 or any("=" in span[0] for span in spans[:-1]):
        return None
    return _content(spans[-1])
