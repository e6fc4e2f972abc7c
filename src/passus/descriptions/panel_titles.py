"""What the panels of a figure are called: "the left chart reports accuracy on ARC-Hard", "Figure 3: accuracy on LogiGrid"."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from passus.descriptions.vocabulary import LENGTH_WORD, MEASURE_WORD

SIDES = r"left|right|top|bottom|middle|upper|lower|first|second|third"
PANEL_NOUN = r"(?:panels?|charts?|plots?|subplots?|diagrams?|graphs?)"
REFERENCE = re.compile(
    rf"\b(?P<side>{SIDES})(?:-hand|-most|most)? {PANEL_NOUN}\b(?! of the two axes)"
    r"|\b(?:figure|fig\.|chart|plot|diagram) (?P<number>\d+(?:\.\d+)?)(?![\d.]*\d)"
    r"|\((?P<bracket>left|right|top|bottom|middle)(?: (?:panel|plot|chart))?\)",
    re.I,
)
"""A panel by its side or number."""
ON_BENCHMARK = re.compile(
    r"\b(?:on|for) (?:the |our )?(?P<name>\"[^\"]{2,40}\"|[A-Z][\w.+-]*\w(?:[ -][A-Z\d][\w.+-]*)*(?: 20\d\d)?)"
)
TITLED = re.compile(r"\W{0,3}(?:shows|is|:|titled|labell?ed|called)?\s*\"?(?P<name>[A-Z][\w+-]*[A-Z\d-][\w+-]*)\"?(?=\W|$)")
BRACKETED = re.compile(r"\s?\((?P<name>[A-Z][^()]{1,30})\)")
ADJECTIVE = r"(?:(?:mean|average|validation|training|test|held-out|response|completion|KL|policy|token)[ -])?"


def key_of(match: re.Match[str]) -> str:
    """Returns the name by which a reference is remembered: a side, or "figure 6.1"."""
    side = match["side"] or match["bracket"]
    if side:
        return {"upper": "top", "lower": "bottom"}.get(side.lower(), side.lower())
    return f"figure {match['number']}"


def panel_titles(texts: Sequence[str]) -> dict[str, str]:
    """Returns what references to panels stand for. Where they have no titles, or the same, they are called by their place."""
    titles: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for text in texts:
        for key, clause, is_before in _clauses(text):
            counts[key] += 1
            if key not in titles and (name := title_in(clause, is_before)):
                titles[key] = name
    for is_number in (False, True):
        own = {key: name for key, name in titles.items() if key.startswith("figure") is is_number}
        if len(own) > 1 and len({name.lower() for name in own.values()}) == len(own):
            return own
        often = [key for key, count in counts.items() if count > 1 and key.startswith("figure") is is_number]
        if len(often) > 1:
            return {key: key for key in often}
    return {}


def _clauses(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yields references with the words that tell what they show: behind them, or before a reference in brackets."""
    found = list(REFERENCE.finditer(text))
    for at, match in enumerate(found):
        start = found[at - 1].end() if at else 0
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        is_before = bool(match["bracket"])
        yield key_of(match), text[start : match.start()] if is_before else text[match.end() : end], is_before


def title_in(text: str, is_last: bool = False) -> str:
    """Returns the benchmark that some words name, else the measure. Words with values name none."""
    before_value = re.split(r"(?<![\w-])\.?\d+(?:[.,]\d+)*\s*%?(?![\w-])", text)[-1 if is_last else 0]
    found = list(ON_BENCHMARK.finditer(before_value))
    if found:
        return found[-1 if is_last else 0]["name"].strip('".')
    if not is_last and (titled := TITLED.match(before_value) or BRACKETED.match(before_value)):
        return titled["name"]
    measures = list(
        re.finditer(rf"{ADJECTIVE}(?:KL divergence|{LENGTH_WORD.pattern}|{MEASURE_WORD.pattern})", before_value, re.I)
    )
    return measures[-1 if is_last else 0][0].lower() if measures else ""
