"""What a formula is worth: exactly where it is rational, to many digits where it is not, always within bounds.

Two formulas are equal when they agree to far more digits than either has characters: at one point for constants, at several
for formulas with symbols. A decimal cut short never does, so it is never equal to the root it was cut from.
"""

import zlib
from fractions import Fraction
from functools import lru_cache
from typing import Any

from passus.grading.expression import Node, Unreadable

MOST_BITS = 60_000
"""Of an exact number: 2004! fits, 10^100000 does not."""
LARGEST_EXPONENT = 1_000_000
POINTS = 4


class TooLarge(Unreadable):
    """A number that would take too long to write down."""


class Undefined(Unreadable):
    """A division by zero, or an infinite value."""


@lru_cache(maxsize=1)
def _context() -> Any:
    import mpmath  # 0.1 s, and most answers are plain numbers

    return mpmath.MPContext()


def exact(node: Node) -> Fraction | None:
    """The rational value, None if it is not rational or not seen to be; raises TooLarge and Undefined."""
    return _survey(node)[0]


def _survey(node: Node) -> tuple[Fraction | None, int]:
    """The exact value, and the decimal digits of the longest number on the way, powers worked out: 2^{2009}-1 has 605."""
    if node.op == "num":
        return node.args[0], _length(node.args[0])
    if node.op == "sym":
        return None, 0
    parts = [_survey(arg) for arg in node.args]
    values = [value for value, _ in parts if value is not None]
    longest = max(length for _, length in parts)
    rule = EXACT.get(node.op)
    if rule is None or len(values) < len(parts):
        return None, longest
    value = _bounded(rule(*values))
    return value, max(longest, _length(value) if value is not None else 0)


def _length(value: Fraction) -> int:
    return (value.numerator.bit_length() + value.denominator.bit_length()) // 3


def _bounded(value: Fraction | None) -> Fraction | None:
    if value is not None and max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        raise TooLarge("more digits than are compared")
    return value


def _divide(a: Fraction, b: Fraction) -> Fraction:
    if not b:
        raise Undefined("division by zero")
    return a / b


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator != 1:
        return _root(base, exponent)
    n = exponent.numerator
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(base) != 1 and base and size * abs(n) > MOST_BITS:
        raise TooLarge("a power of too many digits")
    if not base and n < 0:
        raise Undefined("division by zero")
    if abs(base) == 1:
        return base if n % 2 else Fraction(1)
    return base**n


def _root(base: Fraction, exponent: Fraction) -> Fraction | None:
    """9^{1/2} is 3 and 8^{2/3} is 4, exactly; None where the root is no fraction."""
    degree = exponent.denominator
    if base < 0 and degree % 2 and degree <= 64:  # the real root, as answers mean it
        root = _root(-base, exponent)
        return root if root is None or exponent.numerator % 2 == 0 else -root
    if base < 0 or degree > 64:
        return None
    top, bottom = _whole_root(base.numerator, degree), _whole_root(base.denominator, degree)
    if top is None or bottom is None:
        return None
    return _power(Fraction(top, bottom), Fraction(exponent.numerator))


def _whole_root(n: int, degree: int) -> int | None:
    if n < 2:
        return n
    guess = 1 << -(-n.bit_length() // degree)
    while True:  # Newton from above, in whole numbers
        better = ((degree - 1) * guess + n // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess if guess**degree == n else None
        guess = better


def _factorial(n: Fraction) -> Fraction | None:
    if n.denominator != 1 or n < 0:
        return None
    if n > 5000:
        raise TooLarge("a factorial of too many digits")
    product = 1
    for k in range(2, n.numerator + 1):
        product *= k
    return Fraction(product)


def _binomial(n: Fraction, k: Fraction) -> Fraction | None:
    if n.denominator != 1 or k.denominator != 1 or n < 0:
        return None
    if k < 0 or k > n:
        return Fraction(0)
    k = min(k, n - k)
    if k > 5000 or n.numerator.bit_length() * k.numerator > 8 * MOST_BITS:
        raise TooLarge("a binomial of too many digits")
    top = bottom = 1
    for i in range(k.numerator):
        top, bottom = top * (n.numerator - i), bottom * (i + 1)
    return Fraction(top, bottom)


EXACT: dict[str, Any] = {
    "add": lambda *terms: sum(terms, Fraction(0)),
    "mul": lambda a, b: a * b,
    "div": _divide,
    "pow": _power,
    "neg": lambda a: -a,
    "group": lambda a: a,
    "deg": lambda a: a,
    "fact": _factorial,
    "binom": _binomial,
    "sqrt": lambda a: _root(a, Fraction(1, 2)),
    "root": lambda a, n: _root(a, 1 / n) if n.denominator == 1 and n > 0 else None,
    "abs": abs,
    "floor": lambda a: Fraction(a.numerator // a.denominator),
    "ceil": lambda a: Fraction(-(-a.numerator // a.denominator)),
    "max": max,
    "min": min,
}


def symbols(node: Node) -> frozenset[str]:
    """Names of the variables and of the unknown functions."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.op == "sym":
            found.add(one.args[0])
        elif one.op != "num":
            waiting += one.args
            if one.op.startswith("call:"):
                found.add(one.op)
    return frozenset(found - CONSTANTS)


CONSTANTS = frozenset({"\\pi", "e", "i", "\\infty"})


def operations(node: Node) -> set[str]:
    found, waiting = set(), [node]
    while waiting:
        one = waiting.pop()
        found.add(one.op)
        if one.op not in ("num", "sym"):
            waiting += one.args
    return found


STEPS = frozenset({"floor", "ceil", "fact", "binom", "gcd", "lcm"})


def equal(a: Node, b: Node) -> bool:
    """Whether two formulas are the same number, or the same function of the same symbols; raises Unreadable."""
    if a == b:
        return True
    free = symbols(a)
    if free != symbols(b):
        return False
    if not free:
        return _equal_constants(a, b)
    points = range(POINTS)
    used = operations(a) | operations(b)
    if used & STEPS:
        places: list[dict[str, Any]] = [whole_point(free, i) for i in range(8)]
    else:
        places = [point(free, i) for i in points] + ([point(free, i, sign=-1) for i in points] if "abs" in used else [])
    return _agree(a, b, places)


def _equal_constants(a: Node, b: Node) -> bool:
    (first, long), (second, longer) = _survey(a), _survey(b)
    if first is not None and second is not None:
        return first == second
    rough = evaluate(a, {}, 30), evaluate(b, {}, 30)
    if abs(rough[0] - rough[1]) > max(abs(rough[0]), abs(rough[1])) / 1000:  # far apart, and no need of more digits
        return False
    digits = 60 + 2 * max(long, longer)
    return close(evaluate(a, {}, digits), evaluate(b, {}, digits), digits)


def _agree(a: Node, b: Node, places: list[dict[str, Any]]) -> bool:
    """At every place where both have a value, and at one at least."""
    seen, digits = 0, digits_for(a, b)
    for place in places:
        try:
            first, second = evaluate(a, place, digits), evaluate(b, place, digits)
        except Undefined:
            continue
        if not close(first, second, digits):
            return False
        seen += 1
    if not seen:
        raise Undefined("no value anywhere")
    return True


def digits_for(a: Node, b: Node) -> int:
    """So many that a decimal as long as the longest number in them cannot agree with an irrational one by chance."""
    return 60 + 2 * max(_survey(a)[1], _survey(b)[1])


def close(a: Any, b: Any, digits: int) -> bool:
    """Equal to all but the last 25 digits, or both zero but for rounding."""
    context = _context()
    with context.workdps(digits):
        if abs(a - b) <= max(abs(a), abs(b)) * context.mpf(10) ** -(digits - 25):
            return True
        return bool(max(abs(a), abs(b)) < context.mpf(10) ** -(digits - 15))


def decimal_logarithm(node: Node) -> Node:
    """\\log taken as decimal."""
    if node.op in ("num", "sym"):
        return node
    return Node("lg" if node.op == "log" else node.op, tuple(decimal_logarithm(arg) for arg in node.args))


def constant(node: Node, digits: int = 40) -> Any:
    """The number that it is, to so many digits; None with symbols in it."""
    return evaluate(node, {}, digits) if not symbols(node) else None


def point(names: frozenset[str], index: int, sign: int = 1) -> dict[str, Any]:
    """A value for each symbol, the same in every process, between 0.2 and 3.5 in size and with no pattern."""
    context = _context()
    place = {}
    for name in names:
        seed = zlib.crc32(f"{name}#{index}".encode())
        with context.workdps(70):
            place[name] = sign * (
                context.mpf(seed % 1_000_003) / 1_000_003 * 3 + context.sqrt(seed % 97 + 2) / 48 + context.mpf("0.17")
            )
    return place


def whole_point(names: frozenset[str], index: int) -> dict[str, Any]:
    """For formulas of whole numbers: 1 to 8 and some larger ones."""
    context = _context()
    return {
        name: context.mpf(index + 1 + (zlib.crc32(f"{name}{index}".encode()) % 13 if index > 3 or len(names) > 1 else 0))
        for name in names
    }


def evaluate(node: Node, place: dict[str, Any], digits: int) -> Any:
    context = _context()
    with context.workdps(min(digits, 40_000)):
        value = _value(node, place, context)
        if not context.isfinite(value):
            raise Undefined("an infinite value")
        return value


def _value(node: Node, place: dict[str, Any], context: Any) -> Any:
    if node.op == "num":
        return context.mpf(node.args[0].numerator) / node.args[0].denominator
    if node.op == "sym":
        return _symbol(node.args[0], place, context)
    if node.op in ("pm", "mp"):
        raise Unreadable("plus-minus in a value")
    if node.op == "pow" and (power := _odd_root(node.args[1])) is not None:
        root = _real_root(context, _value(node.args[0], place, context), context.mpf(power.denominator))
        return _to_power(context, root, power.numerator)
    if node.op in TRIGONOMETRY and node.args[0].op == "deg":
        return NUMERIC[node.op](context, _value(node.args[0].args[0], place, context) * context.pi / 180)
    values = [_value(arg, place, context) for arg in node.args]
    if node.op.startswith("call:"):
        return _called(node.op, values, place, context)
    rule = NUMERIC.get(node.op)
    if rule is None:
        raise Unreadable(f"no value for {node.op}")
    try:
        return rule(context, *values)
    except (ZeroDivisionError, OverflowError, ValueError) as problem:
        if isinstance(problem, Unreadable):
            raise
        raise Undefined(str(problem)[:80]) from problem


def _odd_root(exponent: Node) -> Fraction | None:
    """The 2/3 of (-8)^{2/3}, which is taken of the real root; None for other exponents."""
    if exponent.op != "div" or any(part.op != "num" for part in exponent.args):
        return None
    power = exact(exponent)
    return power if power is not None and 1 < power.denominator < 100 and power.denominator % 2 else None


def _symbol(name: str, place: dict[str, Any], context: Any) -> Any:
    if name == "\\pi":
        return +context.pi
    if name == "e":
        return +context.e
    if name == "i":
        return context.mpc(0, 1)
    if name == "\\infty":
        raise Undefined("infinity in a value")
    return place[name]


def _called(name: str, values: list[Any], place: dict[str, Any], context: Any) -> Any:
    """An unknown function, stood for by one without symmetries: f(-x) is not -f(x)."""
    total = place[name]
    for i, value in enumerate(values):
        total = total + context.sin(_moderate(value, 1e6) * (i + 2) + place[name]) * (i + 3)
    return total


def _moderate(value: Any, limit: float) -> Any:
    if abs(value) > limit:
        raise TooLarge("too large an argument")
    return value


def _to_power(context: Any, base: Any, exponent: Any) -> Any:
    if base == 0:
        if context.re(exponent) > 0:
            return base
        raise Undefined("a power of zero")
    if abs(exponent) > LARGEST_EXPONENT or abs(exponent) * (1 + abs(context.log(abs(base)))) > LARGEST_EXPONENT:
        raise TooLarge("too large a power")
    return context.power(base, exponent)


def _tangent(context: Any, value: Any) -> Any:
    cosine = context.cos(_moderate(value, 1e9))
    if abs(cosine) < context.mpf(10) ** -(context.dps - 15):
        raise Undefined("tangent at a pole")
    return context.sin(value) / cosine


def _real_root(context: Any, value: Any, degree: Any) -> Any:
    """The real root of a negative number of odd degree, as answers mean it."""
    if context.im(value) == 0 and context.re(value) < 0 and degree == int(degree) and int(degree) % 2:
        return -_to_power(context, -value, 1 / degree)
    return _to_power(context, value, 1 / degree)


def _rounded(context: Any, value: Any, up: bool) -> Any:
    if context.im(value) != 0:
        raise Undefined("a part of a complex number")
    value = context.re(value)
    near = context.nint(value)
    if abs(value - near) < context.mpf(10) ** -(context.dps - 15):
        return near
    return context.ceil(value) if up else context.floor(value)


def _logarithm(context: Any, value: Any) -> Any:
    if value == 0:
        raise Undefined("the logarithm of zero")
    return context.log(value)


def _total(context: Any, *terms: Any) -> Any:
    total = context.mpf(0)
    for term in terms:
        total += term
    return total


def _over(context: Any, a: Any, b: Any) -> Any:
    """A bottom that is zero but for rounding is zero."""
    if abs(b) < context.mpf(10) ** -(context.dps - 10):
        raise Undefined("division by zero")
    return a / b


def _gamma(context: Any, value: Any) -> Any:
    return context.gamma(_moderate(value, 1e4) + 1)


TRIGONOMETRY = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
NUMERIC: dict[str, Any] = {
    "add": _total,
    "mul": lambda c, a, b: a * b,
    "div": _over,
    "pow": _to_power,
    "neg": lambda c, a: -a,
    "group": lambda c, a: a,
    "deg": lambda c, a: a,
    "fact": _gamma,
    "binom": lambda c, n, k: c.binomial(_moderate(n, 1e4), _moderate(k, 1e4)),
    "sqrt": lambda c, a: c.sqrt(a),
    "root": _real_root,
    "abs": lambda c, a: abs(a),
    "floor": lambda c, a: _rounded(c, a, up=False),
    "ceil": lambda c, a: _rounded(c, a, up=True),
    "max": lambda c, *a: max(a),
    "min": lambda c, *a: min(a),
    "exp": lambda c, a: _to_power(c, +c.e, a),
    "ln": _logarithm,
    "log": _logarithm,
    "lg": lambda c, a: _logarithm(c, a) / c.log(10),
    "sin": lambda c, a: c.sin(_moderate(a, 1e9)),
    "cos": lambda c, a: c.cos(_moderate(a, 1e9)),
    "tan": _tangent,
    "cot": lambda c, a: 1 / _tangent(c, a),
    "sec": lambda c, a: 1 / c.cos(_moderate(a, 1e9)),
    "csc": lambda c, a: 1 / c.sin(_moderate(a, 1e9)),
    "arcsin": lambda c, a: c.asin(a),
    "arccos": lambda c, a: c.acos(a),
    "arctan": lambda c, a: c.atan(a),
    "arccot": lambda c, a: c.pi / 2 - c.atan(a),
    "sinh": lambda c, a: c.sinh(_moderate(a, 1e5)),
    "cosh": lambda c, a: c.cosh(_moderate(a, 1e5)),
    "tanh": lambda c, a: c.tanh(_moderate(a, 1e5)),
    "Re": lambda c, a: c.re(a),
    "Im": lambda c, a: c.im(a),
}
