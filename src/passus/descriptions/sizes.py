"""Which series a sentence names by its size: the largest model, the smaller of the two."""

import re

from passus.descriptions.claims import Group
from passus.descriptions.marking import Marked
from passus.descriptions.mentions import SIZE
from passus.descriptions.numbers import WORDS
from passus.descriptions.reference_words import NOUN, Context


def size_of(name: str) -> float | None:
    """Returns the number of parameters, or another size, that a name states."""
    match = SIZE.search(name) or re.search(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?)\s?([bBmMkK])\b", name)
    if match:
        number, unit = (match[1] or match[3]), (match[2] or match[4] if match.lastindex and match.lastindex > 2 else match[2])
        return float(number) * {"b": 1e9, "m": 1e6, "k": 1e3}[unit.lower()]
    match = re.search(r"=\s?([0-9]+(?:\.[0-9]+)?)\b|\b([0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)\b", name)
    return float(match[1] or match[2]) if match else None


def mark_sizes(marked: Marked, context: Context) -> None:
    """Marks series that are named by size: the largest model, the smaller of the two."""
    sizes = {name: size for name in context.names if (size := size_of(name)) is not None}
    if len(sizes) < 2:
        return
    ordered = sorted(sizes, key=lambda name: sizes[name])
    put = marked.replace
    put(
        rf"\bthe (?:(?P<two>two|three) )?(?P<word>largest|biggest|smallest|larger|bigger|smaller)(?: of (?:the )?(?:two"
        rf"|three|four|them|all))?(?: {NOUN}| group| one| budget)?\b(?! (?:part|share|portion|half|swings?|gap"
        rf"|gain|drop|difference|increase|decrease"
        rf"|improvement|distance|total|change|value|advantage|lead|jump|rise))", "S",
        lambda m: _by_size(m, ordered, context))  # fmt: skip


def _by_size(match: re.Match[str], ordered: list[str], context: Context) -> Group | None:
    large = match["word"].lower() in ("largest", "biggest", "larger", "bigger")
    if match["two"]:
        n = WORDS[match["two"].lower()]
        return Group(tuple(ordered[-n:] if large else ordered[:n]))
    if match["word"].lower().endswith("er") and len(ordered) > 2:
        pair = [name for name in ordered if name in context.pair]
        return Group((pair[-1] if large else pair[0],)) if len(pair) == 2 else None
    return Group((ordered[-1] if large else ordered[0],))
