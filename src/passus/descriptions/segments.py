"""Which part of a sentence is about which series.

A sentence is cut into clauses, and a clause into parts, each with the series that it is about: the one that stands before the
values ("A is at 0.5, B at 0.6"), the one behind them ("0.5 for A and 0.6 for B"), or several at once ("A and B reach 0.5 and
0.6"). A place at the beginning of a clause holds for all of its parts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from passus.descriptions.mentions import Mention
from passus.descriptions.names import LINE_NOUN
from passus.descriptions.number_roles import NumberItem, end_of
from passus.descriptions.numbers import HEDGES
from passus.descriptions.vocabulary import LENGTH_WORD, MEASURE_WORD, X_NOUNS

CLAUSE_BREAK = re.compile(
    r";\s+(?=[^;]*[A-Za-z_]{2})|[.!?]\s+(?=[A-Z_])"
    rf"|(?<=[\w.%)])\s+(?=(?:{'|'.join(noun.title() for noun in X_NOUNS)}) [0-9][0-9.,]*[kMB]?\s*[:=])"
)
NAME_JOINT = re.compile(rf"'?\s*(?:{LINE_NOUN}\b|,|/|&|\band\b|\bor\b|\bas well as\b|\bboth\b|\bthe\b|\s)*\s*", re.I)
BEHIND = re.compile(
    r"\W*(?:(?:accuracy|tokens?|percent|points?)\s+)?(?:\(\s*|(?:in the case of|for|by|from|of|with|in|on)\s+)"
    r"(?:(?:the|both|our)\s+)*\W*",
    re.I,
)
"""What stands between a value and the series that it belongs to, where that is named behind it."""
OBJECT_BEFORE = re.compile(
    r"\b(?:than|above|below|beyond|under|behind|ahead of|between|against|versus|vs\.?|compared (?:with|to)"
    r"|relative to|like|as"
    r"|unlike|pass(?:es|ed|ing)?|overtak\w+|overtook|beats?|leads?|trails?|exceeds?|outperforms?|surpass(?:es)?|cross(?:es)?"
    r"|joins?|match(?:es)?|catch(?:es)? up (?:with|to)|approach(?:es)?|over|past|short of|from|meets?|met"
    r"|rejoins?|ahead|to)\s(?:the )?\W?$",
    re.I,
)
"""Words before a series with which another one is compared."""
PRONOUN_FIRST = re.compile(r"\W*(?:it|its|they|this (?:run|model|method|line|curve|one)|the (?:latter|former))\b", re.I)
COMPARED_VALUE = re.compile(rf"\W*(?:s\b)?\s*(?:[:=(]\s*)?(?:at\s)?(?:{HEDGES})?$", re.I)
"""What stands between a series with which another one is compared and its own value."""


@dataclass(frozen=True)
class Segment:
    """A part of a sentence with the series that it is about, and the places that its clause begins with."""

    start: int
    end: int
    names: tuple[str, ...]
    places: tuple[NumberItem, ...] = ()
    clause: int = 0


@dataclass(frozen=True)
class _Name:
    start: int
    end: int
    series: tuple[str, ...]


def clause_spans(masked: str) -> list[tuple[int, int]]:
    """Returns the places of the clauses of a sentence."""
    cuts = [0, *(match.end() for match in CLAUSE_BREAK.finditer(masked)), len(masked)]
    return [(a, b) for a, b in pairwise(cuts) if b > a]


def segments_of(
    masked: str,
    mentions: Sequence[Mention],
    items: Sequence[NumberItem],
    order: Sequence[str] = (),
    subject: str | None = None,
) -> list[Segment]:
    """Returns the parts of a sentence with the series that they are about.

    A clause without a name goes on with the last one, or deals out its values to the series in the order in which they were
    named before, which may have been in the sentence before. The place that a sentence begins with holds until the next one."""
    segments: list[Segment] = []
    places: tuple[NumberItem, ...] = ()
    for clause, (start, end) in enumerate(clause_spans(masked)):
        own = [item for item in items if start <= item.number.start < end]
        names = _joined_names(masked, [m for m in mentions if start <= m.start < end])
        if names and subject is not None and not clause and PRONOUN_FIRST.match(masked):
            names.insert(0, _Name(0, 0, (subject,)))
        names = _without_objects(masked, start, names, own)
        parts = (_behind(masked, start, end, names, own) or _before(masked, start, end, names, own)) if names else []
        led = led_by(own, end)
        if not names and is_dealt_out(masked[start:end], own, len(order)):
            parts = [Segment(start, end, tuple(order), led)]
        elif not names and segments and len(segments[-1].names) == 1 and not THEY_FIRST.search(masked, start, end):
            if led and segments[-1].places:
                parts = [Segment(start, end, segments[-1].names, led)]
            else:
                segments[-1] = replace(segments[-1], end=end)
        places = next((part.places for part in parts if part.places), places if parts else led or places)
        segments += [replace(part, places=part.places or places, clause=clause) for part in parts]
        if names:
            order = tuple(dict.fromkeys(series for name in names for series in name.series))
    return segments


LINKING_WORDS = frozenset(
    [
        "a", "about", "after", "again", "against", "all", "also", "amount", "amounts", "an", "and", "answer", "answers",
        "are",
        "around", "at", "average", "budget", "budgets", "by", "come", "comes", "compared", "correspondingly", "do", "each",
        "eval", "evaluation",
        "final", "finally", "find", "first", "follow", "followed", "for", "get", "gets", "give", "given", "gives", "had",
        "has", "have",
        "here", "in", "is", "it", "its", "just", "last", "mean", "means", "measure", "measured", "namely", "next", "now",
        "obtain", "of", "other", "others", "on", "one", "ones", "only", "order", "our", "per", "percent", "read", "reads",
        "remaining", "respectively",
        "roughly", "same", "score", "scored", "scores", "see", "sit", "sits", "stand", "stands", "still", "that", "the",
        "their", "then", "there", "these", "they", "this", "those", "to", "tok", "token", "tokens", "versus", "vs", "was",
        "we", "were", "while", "with", "you",
    ]
)  # fmt: skip
"""Words that say no more of a value than whose and where it is."""


APPOSITION = re.compile(r",(?! and\b)[^,;:.0-9]{1,60},")


def is_plain(text: str, nouns: Sequence[str] = ()) -> bool:
    """Returns whether a text says no more of its values than whose, where and what they are: it has no verb of change."""
    text = APPOSITION.sub(" ", text)
    text = LENGTH_WORD.sub(" ", MEASURE_WORD.sub(" ", text))
    words = re.findall(r"[a-z]{2,}", text.lower())
    known = {*X_NOUNS, *(f"{noun}s" for noun in X_NOUNS), *LINKING_WORDS, *nouns}
    return all(word in known for word in words)


THEY_FIRST = re.compile(
    r"\b(?:they|the (?:two|three|four|five)(?: \w+)?|these(?: \w+)?)\s(?!steps|epochs|evaluations)[a-z]", re.I
)


def is_dealt_out(clause: str, items: Sequence[NumberItem], count: int) -> bool:
    """Returns whether a clause without names gives one value, or list of values, for each of the series named before."""
    values = [item for item in items if item.role in ("value", "length")]
    if count < 2 or not values or len(values) % count:
        return False
    places = [item for item in items if item.role == "x"]
    per_measure = {sum(item.role == role for item in values) for role in {item.role for item in values}}
    is_one_each = len(places) * count in per_measure and len(per_measure) == 1
    says_order = re.search(r"\b(?:in (?:the|this|that) (?:same )?order|respectively|against|versus|vs)\b", clause, re.I)
    is_plural = THEY_FIRST.search(clause)
    if is_plural and (is_one_each or says_order):
        return True
    return bool((says_order or count > 2 or not places or is_one_each) and is_plain(clause))


def named_order(segments: Sequence[Segment]) -> tuple[str, ...]:
    """Returns the series of a sentence in the order in which they are named."""
    return tuple(dict.fromkeys(name for segment in segments for name in segment.names))


def segments_at(masked: str, starts: Sequence[tuple[int, str]], items: Sequence[NumberItem]) -> list[Segment]:
    """Returns the parts of a line that begin with known leads."""
    names = [_Name(start, start, (name,)) for start, name in starts]
    return _before(masked, names[0].start, len(masked), names, items)


def _joined_names(masked: str, mentions: Sequence[Mention]) -> list[_Name]:
    """Joins the names of an enumeration: "A, B and C"."""
    names: list[_Name] = []
    for mention in mentions:
        if names and NAME_JOINT.fullmatch(masked, names[-1].end, mention.start) and mention.series[0] not in names[-1].series:
            names[-1] = _Name(names[-1].start, mention.end, (*names[-1].series, mention.series[0]))
        else:
            names.append(_Name(mention.start, mention.end, (mention.series[0],)))
    return names


def _without_objects(masked: str, start: int, names: Sequence[_Name], items: Sequence[NumberItem]) -> list[_Name]:
    """Leaves out the series that another one is compared with, unless a value of its own follows."""
    kept: list[_Name] = []
    for name in names:
        is_object = bool(kept) and OBJECT_BEFORE.search(masked[max(start, name.start - 40) : name.start])
        after = next((item for item in items if item.number.start >= name.end and not item.word), None)
        has_own = (
            after is not None
            and after.role in ("value", "length")
            and COMPARED_VALUE.match(masked[name.end : after.number.start]) is not None
        )
        before = next((item for item in reversed(items) if item.number.start < name.start), None)
        is_behind = (
            before is not None
            and before.role in ("value", "length")
            and BEHIND.fullmatch(masked, end_of(before.number), name.start)
        )
        if not is_object or has_own or is_behind:
            kept.append(name)
    return kept


def led_by(items: Sequence[NumberItem], end: int) -> tuple[NumberItem, ...]:
    """Returns the places before the first value and before the end of the lead."""
    places = []
    for item in items:
        if item.role in ("value", "length") or item.number.start >= end:
            break
        if item.role == "x":
            places.append(item)
    return tuple(places)


def _before(masked: str, start: int, end: int, names: Sequence[_Name], items: Sequence[NumberItem]) -> list[Segment]:
    """Returns the parts of a clause whose series stand before their values, but for one that stands behind its value and has
    none before the next: "A has 0.5 against 0.4 for B"."""
    places = led_by(items, names[0].start)
    starts = _starts(masked, end, names, items)
    early = [item for item in items if start <= item.number.start < names[0].start and item.role in ("value", "length")]
    is_led = bool(early) and re.fullmatch(r"[^;:]{0,40},(?:\s\w+){0,2}\s\W*", masked[end_of(early[-1].number) : names[0].start])
    if is_led:  # "from 4.1%, A climbs to 31.6% at step 20"
        starts[0] = start
    ends = [*starts[1:], end]
    parts = [Segment(a, b, name.series, places) for a, b, name in zip(starts, ends, names, strict=True)]
    return [replace(parts[0], places=()), *parts[1:]] if is_led else parts


def _starts(masked: str, end: int, names: Sequence[_Name], items: Sequence[NumberItem]) -> list[int]:
    """Returns where the part of each name begins: at the name, or at its value, where that stands before it."""
    starts = [name.start for name in names]
    between: list[list[NumberItem]] = [[]]
    for a, b in pairwise(names):
        between.append([item for item in items if a.end <= item.number.start < b.start and not item.word])
    last = [item for item in items if item.number.start >= names[-1].end and item.role in ("value", "length")]
    bound = [
        bool(own) and own[-1].role in ("value", "length") and bool(BEHIND.fullmatch(masked, end_of(own[-1].number), name.start))
        for own, name in zip(between, names, strict=True)
    ]
    at = 1
    while at < len(names):
        is_second = sum(item.role in ("value", "length") for item in between[at]) > 1
        stop = at
        while is_second and stop < len(names) and bound[stop]:
            stop += 1
        left = last if stop == len(names) else between[stop]
        if stop > at and not any(item.role in ("value", "length") for item in left):
            for n in range(at, stop):
                starts[n] = between[n][-1].number.start
        at = max(stop, at + 1)
    return starts


def _behind(masked: str, start: int, end: int, names: Sequence[_Name], items: Sequence[NumberItem]) -> list[Segment]:
    """Returns the parts of a clause whose series stand behind their values: "0.5 for A, 0.6 (B)"; none where they do not."""
    values = [item for item in items if item.role in ("value", "length")]
    if not values or values[0].number.start > names[0].start:
        return []
    places = led_by(items, values[0].number.start)
    segments: list[Segment] = []
    cut = values[0].number.start
    for name in names:
        last = next((item for item in reversed(items) if item.number.start < name.start), None)
        if last is None or last.role not in ("value", "length"):
            return []
        if not BEHIND.fullmatch(masked, end_of(last.number), name.start):
            return []
        after = next((item for item in items if item.number.start >= name.end), None)
        to = name.end
        if after is not None and after.role == "x" and not re.search(r"[,;]|\band\b", masked[name.end : after.number.start]):
            to = max(end_of(after.number), after.number.unit_end)
        segments.append(Segment(cut, to, name.series, places))
        cut = to
    left = [item for item in values if item.number.start >= cut]
    if left:
        everyone = tuple(dict.fromkeys(name for group in names for name in group.series))
        segments.append(Segment(cut, end, everyone, places))
    return segments
