"""What all readers of claims ask of the tokens of a clause."""

from collections.abc import Sequence

from passus.descriptions.claims import Claim, Group, Window
from passus.descriptions.clauses import Clause, Token
from passus.descriptions.marking import MarkedValue

Found = list[Claim] | None
SELF = Group(("self",))
"""The other side of a claim that compares a series with itself elsewhere."""
RANKS = {f"RANK{n}": float(n) for n in range(2, 6)}
GAIN = r"gains?|improvements?|drops?|rises?|increases?|declines?|growth|progress|jumps?|climbs?|losses|fall|swings?"
LESS_OFTEN = {"more": "at most", "less": "at least", "about": "at most", "at least": "less", "at most": "more"}


def group_of(token: Token | None) -> Group | None:
    return token.part if token is not None and isinstance(token.part, Group) else None


def first_of(tokens: Sequence[Token], kind: str) -> Token | None:
    return next((token for token in tokens if token.kind == kind), None)


def words_of(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens if token.kind == "word"]


def are_same(a: Group, b: Group) -> bool:
    return set(a.names) == set(b.names) and not b.rank


def until(window: Window) -> Window:
    """Returns the part of the axis up to a place: what "by step 40" covers."""
    return Window(None, None if window.anchor else window.high) if window.is_point else window


def digits_of(value: MarkedValue, clause: Clause) -> int:
    """Returns how many digits a value has behind the point, as a share where it is one: 31 % has two."""
    number = value.number
    return number.digits + (2 if not value.is_length and clause.share(number, 1000.0) != 1000.0 else 0)


def number_of(value: MarkedValue, clause: Clause, low: bool = True) -> float:
    number = value.number.low if low else value.number.high
    return number if value.is_length else clause.share(value.number, number)
