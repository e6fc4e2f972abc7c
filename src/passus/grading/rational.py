"""Exact rational value of an expression, within bounds on its size."""

from fractions import Fraction
from typing import Any

from passus.grading.expression import Node, TooLargeError, UndefinedError

MAX_BITS = 60_000
"""Bits of an exact number: 2004! fits, 10^100000 does not."""
MAX_FACTORIAL = 5000
MAX_ROOT_DEGREE = 64
LINE_POINTS = tuple(map(Fraction, ("0", "1", "-7", "2/3", "13/5", "101", "-29/7", "1009")))


def rational_value(node: Node) -> Fraction | None:
    """Returns the rational value, or None where none is recognised; raises TooLargeError and UndefinedError."""
    return rational_value_and_digits(node)[0]


def linear_coefficients(node: Node, name: str) -> tuple[Fraction, Fraction] | None:
    """Returns slope and constant of an expression that is linear in a symbol, by its exact values at several points."""
    values = [rational_value(_with_value(node, name, x)) for x in LINE_POINTS]
    constant, at_one = values[0], values[1]
    if constant is None or at_one is None or at_one == constant:
        return None
    slope = at_one - constant
    on_line = all(value == slope * x + constant for value, x in zip(values, LINE_POINTS, strict=True))
    return (slope, constant) if on_line else None


def _with_value(node: Node, name: str, value: Fraction) -> Node:
    """Replaces a symbol by a number."""
    if node == Node("sym", (name,)):
        return Node("num", (value,))
    return node if node.op in ("num", "sym") else Node(node.op, tuple(_with_value(arg, name, value) for arg in node.args))


def rational_value_and_digits(node: Node) -> tuple[Fraction | None, int]:
    """Returns the rational value, and the decimal digits of the longest intermediate number: 2^{2009}-1 has 605."""
    if node.op == "num":
        return node.args[0], _digits(node.args[0])
    if node.op == "sym":
        return None, 0
    parts = [rational_value_and_digits(arg) for arg in node.args]
    values = [value for value, _ in parts if value is not None]
    longest = max(digits for _, digits in parts)
    operation = RATIONAL_OPERATIONS.get(node.op)
    if operation is None or len(values) < len(parts):
        return None, longest
    value = _bounded(operation(*values))
    return value, max(longest, _digits(value) if value is not None else 0)


def _digits(value: Fraction) -> int:
    return (value.numerator.bit_length() + value.denominator.bit_length()) // 3


def _bounded(value: Fraction | None) -> Fraction | None:
    if value is not None and max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise TooLargeError("more digits than are compared")
    return value


def _quotient(a: Fraction, b: Fraction) -> Fraction:
    if not b:
        raise UndefinedError("division by zero")
    return a / b


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator != 1:
        return _root(base, exponent)
    n = exponent.numerator
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(base) != 1 and base and size * abs(n) > MAX_BITS:
        raise TooLargeError("a power with too many digits")
    if not base and n < 0:
        raise UndefinedError("division by zero")
    if abs(base) == 1:
        return base if n % 2 else Fraction(1)
    return base**n


def _root(base: Fraction, exponent: Fraction) -> Fraction | None:
    """Computes 9^{1/2} = 3 and 8^{2/3} = 4 exactly; returns None where the root is irrational."""
    degree = exponent.denominator
    if base < 0 and degree % 2 and degree <= MAX_ROOT_DEGREE:  # answers mean the real root
        root = _root(-base, exponent)
        return root if root is None or exponent.numerator % 2 == 0 else -root
    if base < 0 or degree > MAX_ROOT_DEGREE:
        return None
    top, bottom = _integer_root(base.numerator, degree), _integer_root(base.denominator, degree)
    if top is None or bottom is None:
        return None
    return _power(Fraction(top, bottom), Fraction(exponent.numerator))


def _integer_root(n: int, degree: int) -> int | None:
    if n < 2:
        return n
    guess = 1 << -(-n.bit_length() // degree)
    while True:  # Newton's method from above, in integers
        better = ((degree - 1) * guess + n // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess if guess**degree == n else None
        guess = better


def _factorial(n: Fraction) -> Fraction | None:
    if n.denominator != 1 or n < 0:
        return None
    if n > MAX_FACTORIAL:
        raise TooLargeError("a factorial with too many digits")
    product = 1
    for k in range(2, n.numerator + 1):
        product *= k
    return Fraction(product)


def _double_factorial(n: Fraction) -> Fraction | None:
    if n.denominator != 1 or n < -1:
        return None
    if n > MAX_FACTORIAL:
        raise TooLargeError("a factorial with too many digits")
    product = 1
    for k in range(n.numerator, 1, -2):
        product *= k
    return Fraction(product)


def _binomial(n: Fraction, k: Fraction) -> Fraction | None:
    if n.denominator != 1 or k.denominator != 1 or n < 0:
        return None
    if k < 0 or k > n:
        return Fraction(0)
    k = min(k, n - k)
    if k > MAX_FACTORIAL or n.numerator.bit_length() * k.numerator > 8 * MAX_BITS:
        raise TooLargeError("a binomial with too many digits")
    top = bottom = 1
    for i in range(k.numerator):
        top, bottom = top * (n.numerator - i), bottom * (i + 1)
    return Fraction(top, bottom)


RATIONAL_OPERATIONS: dict[str, Any] = {
    "add": lambda *terms: sum(terms, Fraction(0)),
    "mul": lambda a, b: a * b,
    "div": _quotient,
    "pow": _power,
    "neg": lambda a: -a,
    "group": lambda a: a,
    "deg": lambda a: a,
    "fact": _factorial,
    "double_fact": _double_factorial,
    "binom": _binomial,
    "sqrt": lambda a: _root(a, Fraction(1, 2)),
    "root": lambda a, n: _root(a, 1 / n) if n.denominator == 1 and n > 0 else None,
    "abs": abs,
    "floor": lambda a: Fraction(a.numerator // a.denominator),
    "ceil": lambda a: Fraction(-(-a.numerator // a.denominator)),
    "max": max,
    "min": min,
}
