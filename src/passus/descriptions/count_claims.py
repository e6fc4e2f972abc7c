"""Claims about how many series or panels a chart has."""

import re
from collections.abc import Iterator

from passus.descriptions.claims import Claim
from passus.descriptions.numbers import count_of
from passus.descriptions.references import COUNT

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
NOT_A_TOTAL = re.compile(r"\b(?:top|first|last|of the|other|best|all but|remaining|at least|more than)\s*$", re.I)


def count_claims(text: str) -> Iterator[Claim]:
    """Yields "the chart shows five models"."""
    grid = GRID.search(text)
    if grid:
        yield Claim("count", number=float(grid["rows"]) * float(grid["columns"]), manner="panels")
        return
    match = NUMBER_OF.search(text)
    if match is None:
        match = SHOWS.search(text)
        if match is None or not OF_THE_CHART.search(text) or NOT_A_TOTAL.search(text[: match.start("n")]):
            return
    manner = "panels" if match["noun"].lower() in PANEL_NOUNS else "series"
    yield Claim("count", number=float(count_of(match["n"])), manner=manner)
