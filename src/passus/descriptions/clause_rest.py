"""What of a clause its claims leave out: words that nobody knows, values, amounts, series and places."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from passus.descriptions.claim_tokens import group_of, number_of
from passus.descriptions.claims import END, START, WHOLE, Claim, Window
from passus.descriptions.clauses import Clause, Token

TINY = 1e-9


RESTRICTING = frozenset(
    (
        "what", "same", "other", "others", "no", "none", "neither", "less", "more", "fewer", "half", "second", "third", "last",
        "once", "twice", "without", "some", "few", "several", "most", "partly", "often", "rarely", "seldom", "sometimes",
        "usually", "mostly", "briefly", "temporarily", "single", "only", "two", "three", "four", "five", "six", "except",
        "unless", "until", "till", "before", "after", "again", "yet", "next", "previous", "former", "rather", "instead", "not",
        "nothing", "nobody", "nowhere", "anything",
    )
)  # fmt: skip
"""Words that may turn around or restrict what a clause says."""
EXTREME_OF = re.compile(r"\b(?:HIGHEST|LOWEST|BEST|WORST) (?P<word>[a-z-]+)\b")
IN_ALL = re.compile(r"\bin «S\d+»\W*$")
ELLIPSIS = re.compile(
    r"\b(?:the other way (?:round|around)"
    r"|the (?:opposite|reverse|contrary|same) (?:is true|holds|happens|goes|applies|can be said)"
    r"|vice versa|conversely|(?:so|nor|neither) (?:does|do|did|is|are|has|have)|(?:does|do|did|is|are|has|have) not$)",
    re.I,
)
ASIDE = r"(?:^|, )\W*(?i:with|at) (?:\w+ )?{0}"
"""An amount that goes along with what a clause says: "with 20 points, A gains most"."""
PLAIN = {"RISES", "FALLS", "IMPROVES", "WORSENS", "PEAKS", "TROUGHS", "START", "END", "REACHES"}
"""Words beside which a value is that of the curve itself."""


def values_of_plain(clause: Clause) -> set[float]:
    """Returns the values of a clause that states values of one series and nothing else: "A rises to 0.4 at step 20"."""
    is_plain = clause.is_understood and not clause.negation and not clause.amounts and set(clause.words) <= PLAIN
    is_plain = is_plain and not clause.says("until|till|before|needs?|needed|takes?|took|requires?|required")
    names = {group.names for token in clause.groups if (group := group_of(token)) is not None}
    return {token.number.low for token in clause.values} if is_plain and len(names) < 2 else set()


def is_all_used(clause: Clause, claims: Sequence[Claim]) -> bool:
    """Returns whether every word of a clause is known, and all that it names is part of its claims."""
    return clause.is_understood and all(_is_used(token, clause, claims) for token in clause.tokens)


def has_restriction(clause: Clause, claims: Sequence[Claim]) -> bool:
    """Returns whether a word that is left of a clause may turn around or restrict what it says."""
    after_extreme = EXTREME_OF.search(clause.text)  # "the most productive stretch"
    is_other = after_extreme is not None and after_extreme["word"] in clause.rest
    if any(claim.kind == "points" for claim in claims):
        return False
    return is_other or bool(IN_ALL.search(clause.text)) or any(word.lower() in RESTRICTING for word in clause.rest)


def is_unread(clause: Clause) -> bool:
    """Returns whether a clause without claims names an amount, or denies something."""
    is_elliptic = (
        bool(clause.negation) and not clause.words and not clause.values and not clause.amounts
    )  # "and no longer at 40"
    return clause.negation == "NEVER" or is_elliptic or bool({"ONLY", "MIDDLE"} & set(clause.words))


def is_ellipsis(text: str) -> bool:
    """Returns whether a clause repeats or reverses what was said before: "for B it is the other way round"."""
    return bool(ELLIPSIS.search(text))


def _is_used(token: Token, clause: Clause, claims: Sequence[Claim]) -> bool:
    """Returns whether a claim uses a token of its clause."""
    numbers = list(_numbers(claims))
    if claims and token.kind in ("value", "amount") and re.search(ASIDE.format(token.text), clause.text):
        return True
    if token.kind == "value":
        return _uses_value(token, clause, numbers)
    if token.kind == "amount":
        return _is_near_one(abs(token.part.value), numbers)
    if token.kind == "group":
        return _uses_group(token, set(_names(claims)), claims)
    if token.kind == "place" and any(claim.kind == "extreme" for claim in claims):
        return True  # where there is no extreme, it is nowhere
    if token.kind == "place":
        windows = {window for claim in claims for window in (claim.where, claim.other_where)}
        return _uses_place(clause.resolved(token.part), windows)
    return True


def _numbers(claims: Iterable[Claim]) -> Iterator[float]:
    for claim in claims:
        if claim.number is not None:
            yield abs(claim.number)
        if claim.amount is not None:
            yield from (abs(claim.amount.value), abs(1 - claim.amount.value))


def _names(claims: Iterable[Claim]) -> Iterator[str]:
    for claim in claims:
        yield from (*claim.group.names, *claim.order)
        if claim.other is not None:
            yield from claim.other.names


def _is_near_one(number: float, numbers: Sequence[float]) -> bool:
    return any(abs(number - other) <= TINY * max(1.0, number) for other in numbers)


def _uses_value(token: Token, clause: Clause, numbers: Sequence[float]) -> bool:
    value = token.part
    ends = (number_of(value, clause), number_of(value, clause, low=False), value.number.low)
    return any(_is_near_one(abs(end), numbers) for end in ends)


def _uses_group(token: Token, names: set[str], claims: Sequence[Claim]) -> bool:
    group = group_of(token)
    if group is None or group.rank or (token.is_possessive and names):
        return True
    return set(group.names) <= names or (bool(names) and any(claim.order or claim.group.rank for claim in claims))


def _uses_place(place: Any, windows: set[Any]) -> bool:
    if not isinstance(place, Window) or place in (WHOLE, START, END):
        return True
    bounds = [bound for bound in (place.low, place.high, *place.points) if bound is not None]
    known = {bound for w in windows if isinstance(w, Window) for bound in (w.low, w.high, *w.points)}
    return set(bounds) <= known
