"""Parses a sentence about curves: its kind, the series it names, its numbers, and which value stands at which x.

Everything is read from the words alone, without the curves. Left out: pronouns such as "it" and "the former".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from passus.descriptions.names import Names, series_in, to_names
from passus.descriptions.quantities import COUNTED, pairs_in, quantities_in

KINDS = {
    "correlation": r"correlat|relationship between",
    "tiers": r"\btiers?\b|\bclusters?\b",
    "peak": r"\bpeak|\bspik|\bits (?:highest|largest|maximum)",
    "highest": r"(?<!its )\bhighest|\bbest\b|\btop\b|\bmost effective|(?<!its )\bmaximum",
    "lowest": r"\blowest|\bworst\b|\bminimum|\bbottom tier",
    "increase": r"\bincreas|\bris(?:es?|ing)\b|\brose\b|\bimprov|\bgrow|\bupward|\bclimb",
    "decrease": r"\bdecreas|\bdeclin|\bdrop|\bfall(?:s|ing)?\b|\bfell\b|\bdegrad|\bdownward|\bregress",
    "dip": r"\bdip(?:s|ped|ping)?\b",
    "plateau": r"\bplateau|\bstabili[sz]|\blevel(?:s|ing|ed)? off|\bflat|\bconverg",
    "fluctuate": r"\bfluctuat|\boscillat|\berratic|\bvolatil|\bnois",
    "start": r"\bstart(?:s|ed|ing)?\b(?! (?:around|at|from) (?:training )?step)|\bbegins? (?:at|with|near|around)\b",
    "end": r"\bend(?:s|ed|ing)?\b(?! of)|\bfinish",
    "above": r"\bhigher\b|\blower\b|outperform|underperform|\babove\b|\bbelow\b|\badvantage over|\bexceed|\bsurpass",
    "cause": r"\bsuggest|\bindicat|\bdue to\b|\bbecause\b|\battribut|\boverfit|\bunstable|\binstab|\bcaus(?:e|ed|ing)\b",
}
"""Kinds of claims. The first two come first and the last one last, wherever their words stand in a sentence."""
ANY_KIND = re.compile("|".join(KINDS.values()), re.I)
COUNTS = dict(two=2, three=3, four=4, five=5, six=6, seven=7, eight=8, nine=9, ten=10, eleven=11, twelve=12)
COUNT_WORD = re.compile(rf"\b({'|'.join(COUNTS)})\b(?={COUNTED})", re.I)


@dataclass(frozen=True)
class Number:
    value: float
    role: str
    """As `Quantity.role`."""


@dataclass(frozen=True)
class ParsedClaim:
    text: str
    kind: str
    """One of KINDS, or other."""
    kinds: tuple[str, ...]
    """All kinds of the sentence, in its order; the first is the kind."""
    series: tuple[str, ...]
    """Known names in the sentence, in its order, or the members of `group`."""
    group: str
    """all, both, largest or smallest, where models are meant but not named."""
    numbers: tuple[Number, ...]
    pairs: tuple[tuple[float, float], ...]
    """(x, value), where the sentence states the x of a value."""


def parse_claim(text: str, names: Sequence[str] | Names, x: str = "step") -> ParsedClaim:
    """Parses a claim by its words alone; `x` is the name of the x-axis."""
    places = {kind: match.start() for kind, pattern in KINDS.items() if (match := re.search(pattern, text, re.I))}
    kinds = sorted(places, key=lambda kind: (kind == "cause", kind not in ("correlation", "tiers"), places[kind]))
    series, group = series_in(text, to_names(names))
    pairs = pairs_in(text, quantities_in(text, names, x), x)
    values = tuple((at, value) for at, value, role in pairs if role == "value")
    numbers = tuple(roles_in(text, names, x))
    return ParsedClaim(text, kinds[0] if kinds else "other", tuple(kinds), series, group, numbers, values)


def roles_in(text: str, names: Sequence[str] | Names, x: str = "step") -> list[Number]:
    """Returns the numbers in order with their roles, including counts that are written as words."""
    numbers = [(q.start, Number(value, q.role)) for q in quantities_in(text, names, x) for value in q.values]
    numbers += [(word.start(), Number(float(COUNTS[word[1].lower()]), "count")) for word in COUNT_WORD.finditer(text)]
    return [number for _, number in sorted(numbers, key=lambda entry: entry[0])]
