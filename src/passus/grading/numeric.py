"""Numeric equality of expressions: exact where both are rational, to many digits where they are not, always within bounds.

Two expressions are equal when they agree to far more digits than either has characters: at one point for constants, at several
points for expressions with symbols. A truncated decimal never does, so it is never equal to the root that it approximates.
"""

import zlib
from fractions import Fraction
from functools import lru_cache
from typing import Any

from passus.grading.expression import (
    ExpressionError,
    Node,
    TooLargeError,
    UndefinedError,
    operations,
    rounded_parts,
    sign_exponents,
    symbols,
)
from passus.grading.rational import rational_value, rational_value_and_digits

MAX_EXPONENT = 1_000_000
POINTS = 4
"""Sample points for expressions with symbols."""
INTEGER_POINTS = 16
MIN_POINTS = 6
"""Points that are enough if the values at larger ones take too many digits."""
ROUNDING = frozenset({"floor", "ceil"})
Point = dict[str, Any]
"""A value for each symbol, as numbers of mpmath."""


@lru_cache(maxsize=1)
def _context() -> Any:
    import mpmath  # takes 0.1 s, and most answers are plain numbers

    return mpmath.MPContext()


INTEGER_OPERATIONS = frozenset({"floor", "ceil", "fact", "double_fact", "binom", "gcd", "lcm"})


def numerically_equal(a: Node, b: Node) -> bool:
    """Returns whether two expressions are one number, or one function of the same symbols; raises ExpressionError."""
    if a == b:
        return True
    free = symbols(a)
    if free != symbols(b):
        return False
    if not free:
        return _equal_constants(a, b)
    return _equal_at_points(a, b, _points(a, b, free))


def _points(a: Node, b: Node, free: frozenset[str]) -> list[Point]:
    """Returns the points at which two expressions are compared: integers for what only integers can stand for."""
    ops = operations(a) | operations(b)
    integers = free if ops & INTEGER_OPERATIONS else sign_exponents(a) | sign_exponents(b)
    points = [sample_point(free, i) | _integer_sample_point(integers, i) for i in range(INTEGER_POINTS if integers else POINTS)]
    if ops & ROUNDING and not _rounds_at(points, rounded_parts(a) + rounded_parts(b)):
        points += [sample_point(free, i) for i in range(POINTS)]  # at integers the rounding would have no effect
    if "abs" in ops:
        points += [sample_point(free, i, sign=-1) for i in range(POINTS)]
    return points


def _rounds_at(points: list[Point], parts: list[Node]) -> bool:
    """Returns whether an argument of a floor or a ceiling is fractional at some point."""
    for part in parts:
        for point in points:
            try:
                value = evaluate(part, point, 30)
            except ExpressionError:
                continue
            if abs(value - _context().nint(_context().re(value))) > 1e-12:
                return True
    return False


def _equal_constants(a: Node, b: Node) -> bool:
    (rational_a, digits_a), (rational_b, digits_b) = rational_value_and_digits(a), rational_value_and_digits(b)
    if rational_a is not None and rational_b is not None:
        return rational_a == rational_b
    rough = evaluate(a, {}, 30), evaluate(b, {}, 30)
    if abs(rough[0] - rough[1]) > max(abs(rough[0]), abs(rough[1])) / 1000:  # far apart, so more digits are not needed
        return False
    digits = 60 + 2 * max(digits_a, digits_b)
    return _agree(evaluate(a, {}, digits), evaluate(b, {}, digits), digits)


def _equal_at_points(a: Node, b: Node, points: list[Point]) -> bool:
    """Returns whether both agree at every point where both are defined; raises UndefinedError where there is none."""
    compared, digits = 0, _working_digits(a, b)
    for point in points:
        try:
            value_a, value_b = evaluate(a, point, digits), evaluate(b, point, digits)
        except UndefinedError:
            continue
        except TooLargeError:
            if compared < MIN_POINTS:
                raise
            break
        if not _agree(value_a, value_b, digits):
            return False
        compared += 1
    if not compared:
        raise UndefinedError("defined at none of the sample points")
    return True


def _working_digits(a: Node, b: Node) -> int:
    """Returns enough digits that a decimal as long as the longest number cannot agree with an irrational one by chance."""
    return 60 + 2 * max(rational_value_and_digits(a)[1], rational_value_and_digits(b)[1])


def _agree(a: Any, b: Any, digits: int) -> bool:
    """Returns whether all but the last 25 digits are equal, or both are zero up to rounding."""
    context = _context()
    with context.workdps(digits):
        if abs(a - b) <= max(abs(a), abs(b)) * context.mpf(10) ** -(digits - 25):
            return True
        return bool(max(abs(a), abs(b)) < context.mpf(10) ** -(digits - 15))


def constant_value(node: Node, digits: int = 40) -> Any:
    """Returns the value of an expression without symbols, and None for one with symbols."""
    return evaluate(node, {}, digits) if not symbols(node) else None


def sample_point(names: frozenset[str], index: int, sign: int = 1) -> Point:
    """Returns a pseudorandom value for each symbol, of size 0.2 to 3.5 and the same in every process."""
    context = _context()
    point = {}
    for name in names:
        seed = zlib.crc32(f"{name}#{index}".encode())
        with context.workdps(70):
            point[name] = sign * (
                context.mpf(seed % 1_000_003) / 1_000_003 * 3 + context.sqrt(seed % 97 + 2) / 48 + context.mpf("0.17")
            )
    return point


def _integer_sample_point(names: frozenset[str], index: int) -> Point:
    """Returns an integer for each symbol: 1 to 8 and some larger ones."""
    context = _context()
    return {
        name: context.mpf(index + 1 + (zlib.crc32(f"{name}{index}".encode()) % 13 if index > 3 or len(names) > 1 else 0))
        for name in names
    }


def evaluate(node: Node, point: Point, digits: int) -> Any:
    """Computes the value at a point as a number of mpmath; raises ExpressionError."""
    context = _context()
    with context.workdps(min(digits, 40_000)):
        value = _value(node, point, context)
        if not context.isfinite(value):
            raise UndefinedError("infinite value")
        return value


def _value(node: Node, point: Point, context: Any) -> Any:
    if node.op == "num":
        return context.mpf(node.args[0].numerator) / node.args[0].denominator
    if node.op == "sym":
        return _symbol(node.args[0], point, context)
    if node.op in ("pm", "mp"):
        raise ExpressionError("plus-minus in a value")
    if node.op == "pow" and (power := _odd_root(node.args[1])) is not None:
        root = _real_root(context, _value(node.args[0], point, context), context.mpf(power.denominator))
        return _power(context, root, power.numerator)
    if node.op in TRIGONOMETRIC and node.args[0].op == "deg":
        return NUMERIC_OPERATIONS[node.op](context, _value(node.args[0].args[0], point, context) * context.pi / 180)
    values = [_value(arg, point, context) for arg in node.args]
    if node.op.startswith("call:"):
        return _unknown_function_value(node.op, values, point, context)
    operation = NUMERIC_OPERATIONS.get(node.op)
    if operation is None:
        raise ExpressionError(f"no value for {node.op}")
    try:
        return operation(context, *values)
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        if isinstance(error, ExpressionError):
            raise
        raise UndefinedError(str(error)[:80]) from error


def _odd_root(exponent: Node) -> Fraction | None:
    """Returns the exponent of (-8)^{2/3}, which means the real root; returns None for other exponents."""
    if exponent.op != "div" or any(part.op != "num" for part in exponent.args):
        return None
    power = rational_value(exponent)
    return power if power is not None and 1 < power.denominator < 100 and power.denominator % 2 else None


def _symbol(name: str, point: Point, context: Any) -> Any:
    if name == "\\pi":
        return +context.pi
    if name == "e":
        return +context.e
    if name == "i":
        return context.mpc(0, 1)
    if name == "\\infty":
        raise UndefinedError("infinity in a value")
    return point[name]


def _unknown_function_value(name: str, values: list[Any], point: Point, context: Any) -> Any:
    """Evaluates a function without symmetries in place of an unknown one, so that f(-x) is not -f(x)."""
    total = point[name]
    for i, value in enumerate(values):
        total = total + context.sin(_bounded(value, 1e6) * (i + 2) + point[name]) * (i + 3)
    return total


def _bounded(value: Any, limit: float) -> Any:
    if abs(value) > limit:
        raise TooLargeError("the argument is too large")
    return value


def _power(context: Any, base: Any, exponent: Any) -> Any:
    if base == 0:
        if context.re(exponent) > 0:
            return base
        raise UndefinedError("a power of zero")
    if abs(exponent) > MAX_EXPONENT or abs(exponent) * (1 + abs(context.log(abs(base)))) > MAX_EXPONENT:
        raise TooLargeError("the power is too large")
    return context.power(base, exponent)


def _tangent(context: Any, value: Any) -> Any:
    cosine = context.cos(_bounded(value, 1e9))
    if abs(cosine) < context.mpf(10) ** -(context.dps - 15):
        raise UndefinedError("tangent at a pole")
    return context.sin(value) / cosine


def _real_root(context: Any, value: Any, degree: Any) -> Any:
    """Computes a root; for a negative number and an odd degree the real root, which is the one that answers mean."""
    if context.im(value) == 0 and context.re(value) < 0 and degree == int(degree) and int(degree) % 2:
        return -_power(context, -value, 1 / degree)
    return _power(context, value, 1 / degree)


def _round_to_integer(context: Any, value: Any, up: bool) -> Any:
    if context.im(value) != 0:
        raise UndefinedError("rounding of a complex number")
    value = context.re(value)
    nearest = context.nint(value)
    if abs(value - nearest) < context.mpf(10) ** -(context.dps - 15):
        return nearest
    return context.ceil(value) if up else context.floor(value)


def _natural_log(context: Any, value: Any) -> Any:
    if value == 0:
        raise UndefinedError("the logarithm of zero")
    return context.log(value)


def _sum(context: Any, *terms: Any) -> Any:
    total = context.mpf(0)
    for term in terms:
        total += term
    return total


def _divide(context: Any, a: Any, b: Any) -> Any:
    """Divides; a denominator that is zero up to rounding counts as zero."""
    if abs(b) < context.mpf(10) ** -(context.dps - 10):
        raise UndefinedError("division by zero")
    return a / b


def _factorial(context: Any, value: Any) -> Any:
    return context.gamma(_bounded(value, 1e4) + 1)


def _double_factorial(context: Any, value: Any) -> Any:
    return context.fac2(_bounded(value, 1e4))


TRIGONOMETRIC = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
NUMERIC_OPERATIONS: dict[str, Any] = {
    "add": _sum,
    "mul": lambda c, a, b: a * b,
    "div": _divide,
    "pow": _power,
    "neg": lambda c, a: -a,
    "group": lambda c, a: a,
    "deg": lambda c, a: a,
    "fact": _factorial,
    "double_fact": _double_factorial,
    "binom": lambda c, n, k: c.binomial(_bounded(n, 1e4), _bounded(k, 1e4)),
    "sqrt": lambda c, a: c.sqrt(a),
    "root": _real_root,
    "abs": lambda c, a: abs(a),
    "floor": lambda c, a: _round_to_integer(c, a, up=False),
    "ceil": lambda c, a: _round_to_integer(c, a, up=True),
    "max": lambda c, *a: max(a),
    "min": lambda c, *a: min(a),
    "exp": lambda c, a: _power(c, +c.e, a),
    "ln": _natural_log,
    "log": _natural_log,
    "lg": lambda c, a: _natural_log(c, a) / c.log(10),
    "sin": lambda c, a: c.sin(_bounded(a, 1e9)),
    "cos": lambda c, a: c.cos(_bounded(a, 1e9)),
    "tan": _tangent,
    "cot": lambda c, a: 1 / _tangent(c, a),
    "sec": lambda c, a: 1 / c.cos(_bounded(a, 1e9)),
    "csc": lambda c, a: 1 / c.sin(_bounded(a, 1e9)),
    "arcsin": lambda c, a: c.asin(a),
    "arccos": lambda c, a: c.acos(a),
    "arctan": lambda c, a: c.atan(a),
    "arccot": lambda c, a: c.pi / 2 - c.atan(a),
    "sinh": lambda c, a: c.sinh(_bounded(a, 1e5)),
    "cosh": lambda c, a: c.cosh(_bounded(a, 1e5)),
    "tanh": lambda c, a: c.tanh(_bounded(a, 1e5)),
    "Re": lambda c, a: c.re(a),
    "Im": lambda c, a: c.im(a),
}
