"""The tree of a mathematical expression, with the queries and rewrites that need no arithmetic."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple


class ExpressionError(ValueError):
    """The expression is outside the mathematics that the parser supports."""


class ProseError(ExpressionError):
    """The text consists of words, not of mathematics."""


class UnknownNotationError(ExpressionError):
    """The notation is one that the parser does not know and math-verify may know."""


class TooLargeError(ExpressionError):
    """A number would take too long to write down."""


class UndefinedError(ExpressionError):
    """The expression divides by zero or has an infinite value."""


class Node(NamedTuple):
    op: str
    """num, sym, add, mul, div, pow, neg, pm, mp, deg, group, call:<name>, or the name of a function."""
    args: tuple[Any, ...]
    """One Fraction for num, one string for sym, else nodes."""


MAX_DIGITS_OF_INT = 4000

INFINITY = Node("sym", ("\\infty",))
MINUS_INFINITY = Node("neg", (INFINITY,))
CONSTANTS = frozenset({"\\pi", "e", "i", "\\infty"})


def number_node(text: str) -> Node:
    digits = text.removesuffix(".")
    # Python refuses to convert texts of more than 4300 digits to an integer; Decimal takes linear time and has no limit.
    return Node("num", (Fraction(Decimal(digits) if len(digits) > MAX_DIGITS_OF_INT else digits),))


def is_integer(node: Node) -> bool:
    return node.op == "num" and bool(node.args[0].denominator == 1)


def symbols(node: Node) -> frozenset[str]:
    """Returns the names of the variables and of the unknown functions."""
    names: set[str] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if current.op == "sym":
            names.add(current.args[0])
        elif current.op != "num":
            pending += current.args
            if current.op.startswith("call:"):
                names.add(current.op)
    return frozenset(names - CONSTANTS)


def operations(node: Node) -> set[str]:
    """Returns the operations that occur in the tree."""
    ops: set[str] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        ops.add(current.op)
        if current.op not in ("num", "sym"):
            pending += current.args
    return ops


def _parts(node: Node) -> Iterator[Node]:
    """Yields the node and all nodes below it."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        if current.op not in ("num", "sym"):
            pending += current.args


def rounded_parts(node: Node) -> list[Node]:
    """Returns the arguments of floors and ceilings."""
    return [part.args[0] for part in _parts(node) if part.op in ("floor", "ceil")]


def sign_exponents(node: Node) -> frozenset[str]:
    """Returns the symbols in exponents of negative numbers, as in (-1)^n. They stand for integers."""
    powers = [part for part in _parts(node) if part.op == "pow" and _is_negative(part.args[0])]
    return frozenset().union(*(symbols(power.args[1]) for power in powers))


def _is_negative(node: Node) -> bool:
    if node.op == "group":
        return _is_negative(node.args[0])
    return node.op == "neg" and not symbols(node)


def has_operation(node: Node, op: str) -> bool:
    return node.op == op or any(has_operation(arg, op) for arg in node.args if isinstance(arg, Node))


def has_plus_minus(node: Node) -> bool:
    return node.op in ("pm", "mp") or any(has_plus_minus(arg) for arg in node.args if isinstance(arg, Node))


def with_sign_chosen(node: Node, *, lower: bool) -> Node:
    """Replaces every plus-minus by its upper or by its lower sign."""
    if node.op in ("num", "sym"):
        return node
    args = tuple(with_sign_chosen(arg, lower=lower) for arg in node.args)
    if node.op in ("pm", "mp"):
        return Node("neg", args) if (node.op == "pm") == lower else args[0]
    return Node(node.op, args)


def with_decimal_log(node: Node) -> Node:
    """Replaces \\log by the decimal logarithm."""
    if node.op in ("num", "sym"):
        return node
    return Node("lg" if node.op == "log" else node.op, tuple(with_decimal_log(arg) for arg in node.args))


def with_symbols_renamed(node: Node, names: dict[str, str]) -> Node:
    if node.op == "sym":
        return Node("sym", (names.get(node.args[0], node.args[0]),))
    return node if node.op == "num" else Node(node.op, tuple(with_symbols_renamed(arg, names) for arg in node.args))


def infinity_sign(node: Node) -> int:
    """Returns 1 for infinity, -1 for minus infinity, and 0 for everything else."""
    if node == INFINITY:
        return 1
    if node.op == "neg":
        return -infinity_sign(node.args[0])
    return infinity_sign(node.args[0]) if node.op == "group" else 0
