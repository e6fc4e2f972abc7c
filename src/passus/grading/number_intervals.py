"""Conditions on the real line as intervals, so that `-2 < x < 1` and `(-2, 1)` are one answer."""

from fractions import Fraction

from passus.grading.answer_types import (
    REALS,
    Answer,
    Inequality,
    RealsWithout,
    SetUnion,
    TupleOrInterval,
    Value,
)
from passus.grading.expression import INFINITY, MINUS_INFINITY, ExpressionError, Node, infinity_sign, symbols
from passus.grading.numeric import constant_value
from passus.grading.rational import linear_coefficients, rational_value


def interval_of(answer: Answer) -> TupleOrInterval | None:
    """Returns the interval of an inequality in one symbol, and None for every other answer."""
    if not isinstance(answer, Inequality) or answer.signs == ("\\ne",):
        return None
    nodes, signs = _solved(answer)
    at = [i for i, node in enumerate(nodes) if node.op == "sym" and node.args[0] not in ("\\infty", "\\pi", "e", "i")]
    if len(nodes) == 3 and 1 in at:
        ends, closed = (nodes[0], nodes[2]), [sign == "\\le" for sign in signs]
    elif len(nodes) == 2 and len(at) == 1:
        is_lower_bound = at[0] == 1
        ends = (nodes[0], INFINITY) if is_lower_bound else (MINUS_INFINITY, nodes[1])
        closed = [signs[0] == "\\le" and is_lower_bound, signs[0] == "\\le" and not is_lower_bound]
    else:
        return None
    return TupleOrInterval("[" if closed[0] else "(", (Value(ends[0]), Value(ends[1])), "]" if closed[1] else ")")


def _solved(inequality: Inequality) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """Solves a linear inequality in one symbol, as 2x + 1 < 7 or -4 < -2x < 6; returns others as they are."""
    try:
        return _solve_linear(inequality)
    except ExpressionError:  # a number that is undefined or too large
        return inequality.nodes, inequality.signs


def _solve_linear(inequality: Inequality) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    nodes, signs = inequality.nodes, inequality.signs
    names = symbols(Node("add", nodes))
    if len(names) != 1 or (len(nodes) == 3 and (symbols(nodes[0]) or symbols(nodes[2]))):
        return nodes, signs
    (name,) = names
    moved = Node("add", (nodes[0], Node("neg", (nodes[1],)))) if len(nodes) == 2 else nodes[1]
    line = linear_coefficients(moved, name)
    if len(nodes) > 3 or line is None:
        return nodes, signs
    slope, constant = line
    bounds = [Fraction(0)] if len(nodes) == 2 else [rational_value(nodes[0]), rational_value(nodes[2])]
    if None in bounds:
        return nodes, signs
    ends = [Node("num", ((bound - constant) / slope,)) for bound in bounds if bound is not None]
    symbol = Node("sym", (name,))
    solved = (symbol, *ends) if len(nodes) == 2 else (ends[0], symbol, ends[1])
    return (solved, signs) if slope > 0 else (solved[::-1], signs[::-1])


def intersection_of_rays(rays: tuple[TupleOrInterval, ...]) -> TupleOrInterval | None:
    """Returns the interval of x > 1 and x < 5, and None where the rays do not meet, as x < 1 and x > 5."""
    if (bounds := opposite_rays(rays)) is None:
        return None
    above, below = bounds
    low, high = above.items[0], below.items[1]
    assert isinstance(low, Value) and isinstance(high, Value)
    if not constant_value(low.node) < constant_value(high.node):
        return None
    return TupleOrInterval(above.opening, (low, high), below.closing)


def opposite_rays(rays: tuple[TupleOrInterval, ...]) -> tuple[TupleOrInterval, TupleOrInterval] | None:
    """Returns the ray without an upper end and the ray without a lower end, if there is one of each with a numeric end."""
    lows = [ray for ray in rays if ray.items[1] == Value(INFINITY)]
    highs = [ray for ray in rays if ray.items[0] == Value(MINUS_INFINITY)]
    if len(rays) != 2 or len(lows) != 1 or len(highs) != 1:
        return None
    ends = lows[0].items[0], highs[0].items[1]
    if not all(isinstance(end, Value) and not symbols(end.node) for end in ends):
        return None
    return lows[0], highs[0]


def as_region(answer: Answer) -> Answer:
    """Rewrites inequalities as intervals, and a union of two rays that meet at a point as the reals without that point."""
    if isinstance(answer, Inequality):
        return interval_of(answer) or answer
    if isinstance(answer, SetUnion):
        items = tuple(as_region(item) for item in answer.items)
        if len(items) == 2 and (hole := _missing_point(items)) is not None:
            return RealsWithout((hole,))
        return SetUnion(items)
    return answer


def _missing_point(items: tuple[Answer, ...]) -> Answer | None:
    """Returns the a of (-∞, a) or (a, ∞)."""
    intervals = [item for item in items if isinstance(item, TupleOrInterval) and _is_open_pair(item)]
    if len(intervals) < len(items):
        return None
    ends = [interval.items for interval in intervals]
    for low, high in (ends, ends[::-1]):
        if low[0] == REALS.items[0] and high[1] == REALS.items[1] and low[1] == high[0]:
            return low[1]
    return None


def _is_open_pair(answer: TupleOrInterval) -> bool:
    return (answer.opening, answer.closing, len(answer.items)) == ("(", ")", 2)


def end_kind(bracket: str, end: Answer) -> str:
    """Returns whether an end of an interval is open or closed; an infinite end is open however it is written."""
    if isinstance(end, Value) and infinity_sign(end.node):
        return "open"
    return {"]": "closed", "[": "closed"}.get(bracket, "open")
