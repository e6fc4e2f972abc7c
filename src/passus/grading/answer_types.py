"""The types of answers: plain data that answer_parser.py produces and equivalence.py compares."""

from dataclasses import dataclass
from typing import Literal

from passus.grading.expression import INFINITY, MINUS_INFINITY, Node


@dataclass(frozen=True)
class Value:
    """One expression."""

    node: Node
    percent: bool = False


@dataclass(frozen=True)
class Words:
    text: str


@dataclass(frozen=True)
class Unsupported:
    """Mathematics that expression_parser.py does not know: compared as text, then by math-verify."""

    text: str
    reason: str
    malformed: bool = False
    """Not well formed, so math-verify should not guess what it means."""


@dataclass(frozen=True)
class TupleOrInterval:
    """Ordered items in brackets that matter."""

    opening: str
    items: tuple["Answer", ...]
    closing: str


@dataclass(frozen=True)
class ListOrSet:
    items: tuple["Answer", ...]
    kind: Literal["list", "set", "parts"] = "list"
    """Parts are the blanks of one question, separated by semicolons, and keep their order."""


@dataclass(frozen=True)
class SetUnion:
    items: tuple["Answer", ...]


@dataclass(frozen=True)
class RealsWithout:
    """All real numbers except these."""

    items: tuple["Answer", ...]


@dataclass(frozen=True)
class Matrix:
    rows: tuple[tuple["Answer", ...], ...]


@dataclass(frozen=True)
class Assignment:
    """`x = 5`, `f(x) = 2x`, `(x, y) = (1, 2)`."""

    name: str
    value: "Answer"
    equation: "Equation | None" = None
    """Both sides as expressions, where they can be parsed as such."""


@dataclass(frozen=True)
class Equation:
    left: Node
    right: Node


@dataclass(frozen=True)
class Inequality:
    """A chain of < and ≤ in ascending order, or one ≠."""

    nodes: tuple[Node, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True)
class BaseNumeral:
    """Digits in a base other than ten."""

    digits: str
    base: int


@dataclass(frozen=True)
class Ratio:
    parts: tuple["Answer", ...]


@dataclass(frozen=True)
class Approximation:
    """`exact ≈ rounded`."""

    exact: "Answer"
    rounded: "Answer"


@dataclass(frozen=True)
class Congruence:
    """`n \\equiv 1, 5 \\pmod 6`."""

    names: frozenset[str]
    residues: frozenset[int]
    modulus: int


Answer = (
    Value
    | Words
    | Unsupported
    | TupleOrInterval
    | ListOrSet
    | SetUnion
    | RealsWithout
    | Matrix
    | Assignment
    | Equation
    | Inequality
    | BaseNumeral
    | Ratio
    | Approximation
    | Congruence
)

REALS = TupleOrInterval("(", (Value(MINUS_INFINITY), Value(INFINITY)), ")")
EMPTY_SET = ListOrSet((), "set")
