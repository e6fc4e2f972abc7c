"""Whether two expressions are equal, beyond their numeric value: infinities, constants of integration, bases of \\log."""

import re
from collections.abc import Iterator
from itertools import permutations
from typing import Any

from passus.grading.answer_types import Equation, Inequality
from passus.grading.expression import (
    Node,
    TooLargeError,
    UndefinedError,
    has_operation,
    infinity_sign,
    symbols,
    with_decimal_log,
    with_symbols_renamed,
)
from passus.grading.numeric import constant_value, evaluate, numerically_equal, sample_point

CONSTANT_OF_INTEGRATION = re.compile(r"[cCkK](?:_\d)?")
MAX_CONSTANTS = 4
PROPORTION_POINTS = 4
PROPORTION_DIGITS = 60


def expressions_equal(answer: Node, gold: Node, tolerance: float = 0.0) -> bool:
    """Returns whether two expressions are equal; the tolerance is relative to the gold."""
    answer_sign, gold_sign = infinity_sign(answer), infinity_sign(gold)
    if answer_sign or gold_sign:
        return answer_sign == gold_sign
    answer = match_constant_case(answer, gold)
    try:
        return (
            any(numerically_equal(candidate, gold) for candidate in _with_constants_permuted(answer, gold))
            or _equal_with_decimal_log(answer, gold)
            or _within_tolerance(answer, gold, tolerance)
        )
    except TooLargeError:
        return _same_power_tower(answer, gold)
    except UndefinedError:
        return False


def _within_tolerance(answer: Node, gold: Node, tolerance: float) -> bool:
    if not tolerance or symbols(answer) or symbols(gold):
        return False
    answer_value, gold_value = constant_value(answer), constant_value(gold)
    return bool(abs(answer_value - gold_value) <= tolerance * abs(gold_value))


def match_constant_case(answer: Node, gold: Node) -> Node:
    """Renames constants of integration in the answer, so that C and c are one."""
    only_answer, only_gold = symbols(answer) - symbols(gold), symbols(gold) - symbols(answer)
    names = {name: name.swapcase() for name in only_answer if name[0] in "cCkK" and name.swapcase() in only_gold}
    return with_symbols_renamed(answer, names) if names else answer


def _with_constants_permuted(answer: Node, gold: Node) -> Iterator[Node]:
    """Yields the answer, then the answer with its constants of integration renamed: C_1 and C_2 are free, and so is + C."""
    yield answer
    answer_symbols, gold_symbols = symbols(answer), symbols(gold)
    answer_constants = sorted(name for name in answer_symbols if CONSTANT_OF_INTEGRATION.fullmatch(name))
    gold_constants = sorted(name for name in gold_symbols if CONSTANT_OF_INTEGRATION.fullmatch(name))
    if not 0 < len(answer_constants) == len(gold_constants) <= MAX_CONSTANTS:
        return
    variables = gold_symbols - set(gold_constants)
    if not variables or variables != answer_symbols - set(answer_constants):
        return
    same_names = {name.lower() for name in answer_constants} == {name.lower() for name in gold_constants}
    if same_names and all("_" in name for name in answer_constants):
        for order in permutations(gold_constants):
            yield with_symbols_renamed(answer, dict(zip(answer_constants, order, strict=True)))
    elif len(answer_constants) == 1 and _is_added(answer_constants[0], answer) and _is_added(gold_constants[0], gold):
        yield with_symbols_renamed(answer, {answer_constants[0]: gold_constants[0]})


def _is_added(name: str, node: Node) -> bool:
    """Returns whether the symbol is a term of its own beside a function."""
    return node.op == "add" and Node("sym", (name,)) in node.args and len(symbols(node)) > 1


def _equal_with_decimal_log(answer: Node, gold: Node) -> bool:
    """Compares with \\log as the decimal logarithm, where only one side writes \\log: it is natural to some authors."""
    if has_operation(answer, "log") == has_operation(gold, "log"):
        return False
    return numerically_equal(with_decimal_log(answer), with_decimal_log(gold))


def _same_power_tower(answer: Node, gold: Node) -> bool:
    """Compares powers that are too large to evaluate part by part."""
    if answer.op != gold.op or len(answer.args) != len(gold.args) or answer.op in ("num", "sym"):
        return answer == gold
    try:
        return all(numerically_equal(a, b) for a, b in zip(answer.args, gold.args, strict=True))
    except TooLargeError:
        return all(_same_power_tower(a, b) for a, b in zip(answer.args, gold.args, strict=True))


def equations_proportional(answer: Equation, gold: Equation) -> bool:
    """Returns whether the differences of the sides have a constant ratio: then both have the same solutions."""
    return _constant_ratio(_difference(answer.left, answer.right), _difference(gold.left, gold.right)) is not None


def inequalities_proportional(answer: Inequality, gold: Inequality) -> bool:
    """Returns whether one inequality is the other multiplied by a constant. Both have < or ≤, so it must be positive."""
    if answer.signs != gold.signs or len(answer.nodes) != 2:
        return False
    ratio = _constant_ratio(_difference(*answer.nodes), _difference(*gold.nodes))
    return ratio is not None and (answer.signs == ("\\ne",) or _is_positive(ratio))


def _difference(left: Node, right: Node) -> Node:
    return Node("add", (left, Node("neg", (right,))))


def _is_positive(value: Any) -> bool:
    return bool(value.imag == 0 and value.real > 0)


def _constant_ratio(answer: Node, gold: Node) -> Any:
    """Returns the ratio of two expressions if it is the same at all points, and None if it is not."""
    answer = match_constant_case(answer, gold)
    free = symbols(answer)
    if free != symbols(gold) or not free:
        return None
    ratios = []
    for i in range(PROPORTION_POINTS):
        point = sample_point(free, i)
        numerator = evaluate(answer, point, PROPORTION_DIGITS)
        denominator = evaluate(gold, point, PROPORTION_DIGITS)
        if not 1e-9 < abs(denominator) < 1e9 or not 1e-9 < abs(numerator) < 1e9:  # else one large term would hide the others
            return None
        ratios.append(numerator / denominator)
    return ratios[0] if all(abs(ratio - ratios[0]) < 1e-30 * abs(ratios[0]) for ratio in ratios) else None
