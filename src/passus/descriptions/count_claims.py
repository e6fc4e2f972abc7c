"""Claims about how many series or panels a chart has."""

import re
from collections.abc import Iterator

from passus.descriptions.axes import Axes
from passus.descriptions.claims import Amount, Claim
from passus.descriptions.numbers import count_of, numbers_in
from passus.descriptions.reference_words import COUNT

COUNTED = (
    r"(?:runs|models|lines|methods|curves|panels|series|entries|charts|benchmarks|configurations|variants|systems|arms"
    r"|policies|settings)"
)
PANEL_NOUNS = ("panels", "charts", "benchmarks")
GRID = re.compile(
    r"\b(?P<rows>\d{1,2})\s?(?:x|by)\s?(?P<columns>\d{1,2}) grid of (?:line |small )?(?:charts|plots|panels|graphs)", re.I
)
NUMBER_OF = re.compile(rf"\bnumber of (?P<noun>{COUNTED})\b[^:]{{0,30}}:\s*(?P<n>{COUNT})\b", re.I)
SHOWS = re.compile(
    r"\b(?:compar\w+|names|show\w*|plot\w*|track\w*|display\w*|illustrat\w+|list\w*|consist\w*|contain\w*|has"
    r"|have|with|there are"
    rf"|depict\w*|for|of|in total|digest for|present\w*"
    rf"|report\w*)\b[^.;:]{{0,40}}?(?<![\w.-])(?P<n>{COUNT})\s+(?:(?!for|of|in|and"
    rf"|{COUNT})[\w-]+ ){{0,3}}?(?P<noun>{COUNTED})\b(?!,? (?:and|plus) (?:one|an?|two)\b)",
    re.I,
)
OF_THE_CHART = re.compile(
    r"\b(?:chart|figure|plot|image|graph|panel|legend|table|digest|card|shown|lists?|depict\w*|there are|number of"
    r"|notebook|in total)\b",
    re.I,
)
NOT_A_TOTAL = re.compile(
    r"\b(?:top|first|last|of the|other|best|all but|and|and for|and of|plus|remaining|at least|more than)\s*$", re.I
)


COUNT_FIRST = re.compile(
    rf"^\W*(?:in total,? |altogether,? )?(?:we (?:train|trained|compare|compared|test|tested|ran|evaluate|evaluated)"
    rf" )?(?P<n>{COUNT}) "
    rf"(?:(?!of|and)[\w-]+ ){{0,2}}?(?P<noun>{COUNTED})\b"
    r"(?P<rest> (?:are|were|have been|was|is) (?:\w+ )?(?:trained|compared|shown|plotted|tested|evaluated|run|fine-tuned"
    r"|drawn|listed|included)\b)?",
    re.I,
)
FOUND = re.compile(rf"\bfound (?P<n>{COUNT}) (?P<noun>{COUNTED})\b", re.I)
LIMIT = re.compile(
    r"\b(?P<side>x|y|horizontal|vertical|left|right)[- ](?:y[- ])?axis\b[^.;:]{0,40}?\b(?:ends?|stops?|tops? out|is cut(?:"
    r" off)?|is capped|goes up|extends"
    r"|runs? up|only reaches|reaches)\b(?: only)? (?:at |to |up to )?(?P<n>[0-9][0-9.,]*(?: ?%)?)"
    r"|\bupper (?:limit|end|bound) of the (?P<side2>x|y|horizontal|vertical)?[- ]?axis\b[^.;:]{0,12}? (?:at|is)"
    r" (?P<n2>[0-9][0-9.,]*)", re.I)  # fmt: skip


def axis_limits(text: str, axes: Axes) -> Iterator[Claim]:
    """Yields "the vertical axis ends at 0.5"."""
    match = LIMIT.search(text)
    if match is None or re.search(r"\bfrom\b|\bto [0-9].* to [0-9]", match[0]):
        return
    side = (match["side"] or match["side2"] or "y").lower()
    if axes.second.low is not None and side not in ("x", "horizontal"):
        return
    manner = "x" if side in ("x", "horizontal") else "y"
    numbers = numbers_in((match["n"] or match["n2"]).rstrip(".,"), axes.style)
    if len(numbers) == 1:
        high = numbers[0].low
        yield Claim("axis", number=min(0.0, high) if manner == "x" else -abs(high), amount=Amount(high), manner=manner)


def count_claims(text: str) -> Iterator[Claim]:
    """Yields "the chart shows five models"."""
    grid = GRID.search(text)
    if grid:
        yield Claim("count", number=float(grid["rows"]) * float(grid["columns"]), manner="panels")
        return
    match = NUMBER_OF.search(text)
    if match is None and (first := COUNT_FIRST.match(text)) and first["rest"]:
        match = first
    match = match or FOUND.search(text)
    if match is None:
        match = SHOWS.search(text)
        if match is None or not OF_THE_CHART.search(text) or NOT_A_TOTAL.search(text[: match.start("n")]):
            return
    manner = "panels" if match["noun"].lower() in PANEL_NOUNS else "series"
    yield Claim("count", number=float(count_of(match["n"])), manner=manner)
