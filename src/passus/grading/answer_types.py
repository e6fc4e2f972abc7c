"""What an answer can be: plain data that structure.py reads and equality.py compares."""

from dataclasses import dataclass
from typing import Literal

from passus.grading.expression import Node


@dataclass(frozen=True)
class Value:
    node: Node
    percent: bool = False


@dataclass(frozen=True)
class Words:
    text: str


@dataclass(frozen=True)
class Foreign:
    """Mathematics that formula.py does not read: compared as text, then by math-verify."""

    text: str
    reason: str
    broken: bool = False
    """Not well formed, so nobody else should guess what is meant."""


@dataclass(frozen=True)
class Sequence:
    """A tuple or an interval: ordered, and the brackets count."""

    opening: str
    items: tuple["Answer", ...]
    closing: str


@dataclass(frozen=True)
class Many:
    """A list or a set."""

    items: tuple["Answer", ...]
    kind: Literal["list", "set", "parts"] = "list"
    """Parts are the blanks of one question, divided by semicolons, and keep their order."""


@dataclass(frozen=True)
class Union:
    items: tuple["Answer", ...]


@dataclass(frozen=True)
class Without:
    """All real numbers but these."""

    items: tuple["Answer", ...]


@dataclass(frozen=True)
class Matrix:
    rows: tuple[tuple["Answer", ...], ...]


@dataclass(frozen=True)
class Named:
    """`x = 5`, `f(x) = 2x`, `(x, y) = (1, 2)`."""

    name: str
    inner: "Answer"
    whole: "Equation | None" = None


@dataclass(frozen=True)
class Equation:
    left: Node
    right: Node


@dataclass(frozen=True)
class Order:
    """A chain of < and ≤ from small to large, or one ≠."""

    nodes: tuple[Node, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True)
class Based:
    """Digits in a base other than ten."""

    digits: str
    base: int


@dataclass(frozen=True)
class Ratio:
    parts: tuple["Answer", ...]


@dataclass(frozen=True)
class About:
    """`exact ≈ rounded`."""

    exact: "Answer"
    rounded: "Answer"


@dataclass(frozen=True)
class Modulo:
    """`n \\equiv 1, 5 \\pmod 6`."""

    names: frozenset[str]
    residues: frozenset[int]
    modulus: int


Answer = (
    Value
    | Words
    | Foreign
    | Sequence
    | Many
    | Union
    | Without
    | Matrix
    | Named
    | Equation
    | Order
    | Based
    | Ratio
    | About
    | Modulo
)

INFINITY = Node("sym", ("\\infty",))
MINUS_INFINITY = Node("neg", (INFINITY,))
REALS = Sequence("(", (Value(MINUS_INFINITY), Value(INFINITY)), ")")
EMPTY = Many((), "set")
