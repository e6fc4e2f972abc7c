"""Lines of logs and lists that are rows of a table: a name with places and values, or a place with names and values.

Scripts write "gannet-a | 0: 19% | 400: 27%", "warmup = 36.0 @ 0, 44.4 @ 150", or "epoch 1 | sorted 32.8% | shuffled 29.6%".
Lines beside each other with the same places, or with the same names, are read as a table.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from passus.descriptions.vocabulary import X_NOUNS

NUMBER = r"[-+]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)"
PLACE = r"\d+(?:,\d{3})*(?:\.\d+)?[kKMB]?"
NOUN_WORD = rf"(?:{'|'.join(X_NOUNS)}|iter|it|ep|h|t)s?\.?\s+"
NOUN = rf"(?:{NOUN_WORD})?"
VALUE = rf"{NUMBER}\s?%?"
PLACE_FIRST = re.compile(rf"(?<![\w.])(?:{NOUN})(?P<x>{PLACE})\s*(?::|=|->|\u2192)\s*(?P<y>{VALUE})(?![\w.]*\w)", re.I)
NOUN_FIRST = re.compile(rf"(?<![\w.]){NOUN_WORD}(?P<x>{PLACE})[,:]?\s+(?:[a-z@]+\s?[=:]\s?)?(?P<y>{VALUE})(?![\w.]*\w)", re.I)
"""A place with its noun, which needs no sign before its value: "ckpt 1 63.4%", "step 64 acc=.455"."""
VALUE_FIRST = re.compile(rf"(?<![\w.])(?P<y>{VALUE})\s*(?:@|at)\s*(?:{NOUN})(?P<x>{PLACE})(?![\w.]*\w)", re.I)
BETWEEN = re.compile(r"[\s,;|/]*(?:and\s)?")
BULLET = re.compile(r"(?:[-*\u2022]|\d{1,2}[.)])\s+")
BRACKET = re.compile(r"\s*[\[(][^\[\]()]*[\])]\s*$")
SHARED_PLACE = re.compile(
    rf"(?:\[[^\]]*\]\s*)?(?P<before>[A-Za-z ]{{0,14}}?)\s*(?P<x>{PLACE})\s?(?P<unit>[A-Za-z]{{0,12}})(?: in)?\s*"
    r"(?:[:|]|->|=>|\u2192|,?\s?(?:the|we) (?:(?:scores?|values?|results?|numbers?|readings?) )?(?:are|is|see|find|have"
    r"|get|read"
    r"|log))\s*(?=[A-Za-z])"
)
BRACKETED_PLACE = re.compile(rf"\[\s*(?P<before>[A-Za-z]{{1,12}})\s+(?P<x>{PLACE})\s*\]\s*[:|]?\s*(?=[A-Za-z])")
AT_START = re.compile(r"(?:before (?:any )?training|at the start|initially|start|base|baseline)\s*[:|]\s*(?=[A-Za-z])", re.I)
OWNED = re.compile(
    rf"(?P<name>[A-Za-z][\w.+/=-]*(?: [A-Za-z][\w.+/=-]*){{0,2}})\s*[:=]?\s+(?P<y>{VALUE})(?:\s*\((?P<tokens>\d[\d,]*)"
    rf" tokens\))?"
)
MEASURE = re.compile(
    r"(?<=\S)\s+(?:solved|scored|reached|has|had|is|was|at|reward|accuracy|acc|score|loss|entropy|values?|data|points?)$", re.I
)
MIN_PAIRS, MIN_NAMES, MIN_LINES = 3, 2, 3
MAX_NAME = 40
SHORT_NOUNS = {"h": "hour", "it": "iteration", "iter": "iteration", "ep": "epoch"}
Row = tuple[int, list[str]]


@dataclass(frozen=True)
class _Line:
    key: tuple[str, ...]
    """The places of a line about one series, or the names of a line about one place."""
    head: str
    values: list[str]
    tokens: list[str]
    noun: str = ""
    by_place: bool = False


def read_log_rows(lines: Sequence[str], at: int) -> tuple[list[list[Row]], int]:
    """Returns the tables that begin at a line, and the number of the line behind them; no tables where there are none."""
    first = _parse(lines[at])
    if first is None:
        return [], at
    found = [(at + 1, first)]
    end = at + 1
    while (
        end < len(lines)
        and (line := _parse(lines[end])) is not None
        and line.by_place == first.by_place
        and line.key == first.key
    ):
        found.append((end + 1, line))
        end += 1
    if len(found) < (MIN_LINES if first.by_place else 2):
        return [], at
    head = [first.noun or ("step" if first.by_place else ""), *first.key]
    tables = [[(at + 1, head), *((number, [line.head, *line.values]) for number, line in found)]]
    if first.tokens and all(all(line.tokens) for _, line in found):
        lengths = [head[0], *(f"{name} (tokens)" for name in first.key)]
        tables.append([(at + 1, lengths), *((number, [line.head, *line.tokens]) for number, line in found)])
    return tables, end


def _parse(raw: str) -> _Line | None:
    text = BULLET.sub("", raw.strip(), count=1)
    return _series_line(text) or _place_line(text)


def _series_line(text: str) -> _Line | None:
    """Reads a name with its places and values."""
    for pattern in (PLACE_FIRST, NOUN_FIRST, VALUE_FIRST):
        pairs = list(pattern.finditer(text))
        if len(pairs) < MIN_PAIRS or text[pairs[-1].end() :].strip(" .;,|"):
            continue
        gaps = [text[a.end() : b.start()] for a, b in pairwise(pairs)]
        name = BRACKET.sub("", re.sub(r"\s*[:|=]\s*$", "", text[: pairs[0].start()].rstrip())).strip(" []*`|:")
        name = MEASURE.sub("", name)
        if name and len(name) <= MAX_NAME and len(name.split()) <= 4 and all(BETWEEN.fullmatch(gap) for gap in gaps):
            return _Line(tuple(m["x"] for m in pairs), name, [m["y"] for m in pairs], [])
    return None


def _place_line(text: str) -> _Line | None:
    """Reads a place with the values of several series."""
    start = BRACKETED_PLACE.match(text) or SHARED_PLACE.match(text) or AT_START.match(text)
    if start is None:
        return None
    rest = text[start.end() :]
    pairs = list(OWNED.finditer(rest))
    gaps = [rest[a.end() : b.start()] for a, b in pairwise(pairs)]
    if len(pairs) < MIN_NAMES or rest[: pairs[0].start()].strip() or not all(BETWEEN.fullmatch(gap) for gap in gaps):
        return None
    if rest[pairs[-1].end() :].strip(" .;,|"):
        return None
    groups = start.groupdict()
    noun = (groups.get("unit") or groups.get("before") or "").strip().lower()
    noun = re.sub(r"^(?:after|at|by)\s*", "", noun)
    names = tuple(MEASURE.sub("", m["name"]) for m in pairs)
    tokens = [m["tokens"] or "" for m in pairs]
    return _Line(names, groups.get("x") or "0", [m["y"] for m in pairs], tokens, SHORT_NOUNS.get(noun, noun), True)
