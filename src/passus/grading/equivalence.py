"""Whether two answers are equivalent, by exact rules. The result is None where only math-verify could decide."""

import re
from functools import lru_cache

from passus.grading.answer_forms import (
    as_quotient,
    as_vector,
    is_assignment_chain,
    split_assignment_chains,
    unwrap_single,
)
from passus.grading.answer_parser import is_too_long, parse_answer
from passus.grading.answer_patterns import TIME_OF_DAY
from passus.grading.answer_text import compact
from passus.grading.answer_types import (
    Answer,
    Approximation,
    Assignment,
    Congruence,
    Equation,
    Inequality,
    ListOrSet,
    Matrix,
    Ratio,
    RealsWithout,
    SetUnion,
    TupleOrInterval,
    Unsupported,
    Value,
    Words,
)
from passus.grading.expression import ExpressionError, Node, TooLargeError, infinity_sign, operations, symbols
from passus.grading.expression_equivalence import equations_proportional, expressions_equal, inequalities_proportional
from passus.grading.latex_normalize import split_digit_groups
from passus.grading.number_intervals import as_region, end_kind
from passus.grading.numeric import constant_value
from passus.grading.rational import rational_value
from passus.grading.units import strip_shared_unit_letter
from passus.grading.vocabulary import RETRACTIONS

SEVERAL_NUMBERS = re.compile(r"\bboth\b|\border\b")
"""A remark on a gold that consists of more than one number."""
POLYNOMIAL_OPERATIONS = frozenset({"add", "mul", "div", "neg", "pow", "num", "sym", "group"})


@lru_cache(maxsize=16384)
def equivalent(answer: str, gold: str, tolerance: float = 0.0) -> bool | None:
    """Returns whether an answer equals the gold, and None if the rules cannot decide. The tolerance is relative to the gold."""
    if not gold.strip():
        return False
    if answer.strip() == gold.strip():
        return True
    if is_too_long(answer) or is_too_long(gold):
        return False
    if compact(answer) == compact(gold) != "":
        return True
    verdicts = [_equals_alternative(answer, alternative, tolerance) for alternative in gold_alternatives(gold)]
    return True if True in verdicts else None if None in verdicts else False


def gold_alternatives(gold: str) -> list[str]:
    """Returns the alternatives of a gold such as `3/10 ## 0.3`."""
    gold = split_digit_groups(gold) if SEVERAL_NUMBERS.search(gold) else gold
    if "#" not in gold:
        return [gold]
    return [part for part in gold.replace("\\#", "#").replace("# #", "##").split("##") if part.strip()]


def _equals_alternative(answer: str, gold: str, tolerance: float) -> bool | None:
    """Compares the parsed answers; if they differ, also without a shared unit letter, or with `48,384` read as a list."""
    comparison = AnswerComparison(tolerance)
    verdict = comparison.compare(parse_answer(answer), parse_answer(gold))
    if verdict is not False:
        return verdict
    if (without_unit := strip_shared_unit_letter(answer, gold)) is not None:
        return comparison.compare(parse_answer(without_unit[0]), parse_answer(without_unit[1]))
    as_list = split_digit_groups(answer)
    if as_list != answer and isinstance(parse_answer(gold), ListOrSet):
        return comparison.compare(parse_answer(as_list), parse_answer(gold))
    return False


class AnswerComparison:
    """Compares two parsed answers. The tolerance holds for every number in them."""

    def __init__(self, tolerance: float = 0.0):
        self.tolerance = tolerance

    def compare(self, answer: Answer, gold: Answer) -> bool | None:
        try:
            return self.equal(answer, gold)
        except TooLargeError:
            return False  # a number that large is meant only by a text that repeats the gold's
        except ExpressionError:
            return None

    def equal(self, answer: Answer, gold: Answer) -> bool | None:
        if answer == gold:
            return True
        if isinstance(answer, Approximation) or isinstance(gold, Approximation):
            return self.approximations(answer, gold)
        if is_assignment_chain(answer) and isinstance(gold, ListOrSet | TupleOrInterval):
            answer = split_assignment_chains(ListOrSet((answer,)))
        if isinstance(answer, Congruence) or isinstance(gold, Congruence):
            return self.congruences(answer, gold)
        if isinstance(answer, Words) or isinstance(gold, Words):
            return self.words(answer, gold)
        if isinstance(answer, Unsupported) or isinstance(gold, Unsupported):
            return False if any(isinstance(side, Unsupported) and side.malformed for side in (answer, gold)) else None
        if isinstance(answer, Assignment) or isinstance(gold, Assignment):
            return self.assignments(answer, gold)
        if isinstance(answer, Inequality) and isinstance(gold, Inequality) and inequalities_proportional(answer, gold):
            return True
        return self.structures(unwrap_single(as_region(answer)), unwrap_single(as_region(gold)))

    def approximations(self, answer: Answer, gold: Answer) -> bool | None:
        """Accepts either side of `exact ≈ rounded`, but an answer that writes both must have both right."""
        if isinstance(answer, Approximation) and isinstance(gold, Approximation):
            return self.in_order((answer.exact, answer.rounded), (gold.exact, gold.rounded))
        if isinstance(answer, Approximation) and not _is_close(answer):
            return False
        answers = (answer.exact, answer.rounded) if isinstance(answer, Approximation) else (answer,)
        golds = (gold.exact, gold.rounded) if isinstance(gold, Approximation) else (gold,)
        return any(self.equal(a, g) for a in answers for g in golds)

    def congruences(self, answer: Answer, gold: Answer) -> bool | None:
        """Compares residues and modulus. For a gold with one residue and no name the number alone is enough."""
        if isinstance(gold, Congruence) and isinstance(answer, Value):
            return not gold.names and {rational_value(answer.node)} == gold.residues
        if not (isinstance(answer, Congruence) and isinstance(gold, Congruence)):
            return False
        same_names = answer.names == gold.names or not answer.names or not gold.names
        return answer.modulus == gold.modulus and same_names and answer.residues == gold.residues

    def words(self, answer: Answer, gold: Answer) -> bool | None:
        """Compares prose without spaces, times of day, and a yes or no with an explanation after it."""
        if not (isinstance(answer, Words) and isinstance(gold, Words)):
            return _time_of_day(answer) == _time_of_day(gold) != ""
        if _without_spaces(answer.text) == _without_spaces(gold.text):
            return bool(answer.text)
        answer_words, gold_words = answer.text.split(), gold.text.split()
        if not answer_words or not gold_words or min(len(answer_words), len(gold_words)) > 1:
            return False
        if answer_words[0] != gold_words[0] or answer_words[0] not in RETRACTIONS:
            return False
        return not RETRACTIONS[answer_words[0]] & {*answer_words[1:], *gold_words[1:]}

    def assignments(self, answer: Answer, gold: Answer) -> bool | None:
        if isinstance(answer, Assignment) and isinstance(gold, Assignment):
            if answer.name == gold.name:
                return self.equal(answer.value, gold.value)
            if _names_compatible(answer.name, gold.name) and (verdict := self.equal(answer.value, gold.value)):
                return verdict
            return bool(answer.equation and gold.equation and equations_proportional(answer.equation, gold.equation))
        if isinstance(answer, Assignment) and isinstance(gold, Equation):
            return bool(answer.equation and equations_proportional(answer.equation, gold))
        if isinstance(answer, Equation) and isinstance(gold, Assignment):
            return bool(gold.equation and equations_proportional(answer, gold.equation))
        answer = answer.value if isinstance(answer, Assignment) else answer
        return self.equal(answer, gold.value if isinstance(gold, Assignment) else gold)

    def structures(self, answer: Answer, gold: Answer) -> bool | None:
        """Compares answers without names; first brings two forms of one structure together."""
        if isinstance(gold, ListOrSet) and isinstance(answer, Value) and self.is_one_value_twice(gold):
            gold = gold.items[0]
        if isinstance(answer, Ratio) != isinstance(gold, Ratio):
            answer, gold = as_quotient(answer), as_quotient(gold)
        if isinstance(answer, Value) and isinstance(gold, Value):
            return self.values(answer, gold)
        if isinstance(answer, Equation) and isinstance(gold, Value) and (value := _stated_value(answer)) is not None:
            return self.values(value, gold)
        if isinstance(answer, Matrix) != isinstance(gold, Matrix):
            answer, gold = as_vector(answer), as_vector(gold)
        match answer, gold:
            case (ListOrSet(), TupleOrInterval()) | (TupleOrInterval(), ListOrSet()):
                return self.assigned_tuple(answer, gold)
            case SetUnion(), SetUnion():
                return self.in_any_order(answer.items, gold.items)
            case RealsWithout(), RealsWithout():
                return self.in_any_order(answer.items, gold.items)
            case TupleOrInterval(), TupleOrInterval():
                return self.tuples(answer, gold)
            case ListOrSet(), ListOrSet():
                return self.lists(answer, gold)
            case Matrix(), Matrix():
                return self.matrices(answer, gold)
            case Equation(), Equation():
                return equations_proportional(answer, gold)
            case Inequality(), Inequality():
                return self.inequalities(answer, gold)
            case Ratio(), Ratio():
                return self.ratios(answer, gold)
        return False

    def is_one_value_twice(self, gold: ListOrSet) -> bool:
        """Returns whether the gold writes one value in two ways. A root of multiplicity two is written in one way."""
        return len(set(gold.items)) == 2 and len(self.distinct(gold.items)) == 1

    def values(self, answer: Value, gold: Value) -> bool:
        if self.expressions(answer.node, gold.node):
            return True
        if answer.percent != gold.percent:  # "what percent": 40 and 40\% are one answer, 0.4\% and 0.4 are not
            answer_number, gold_number = _without_percent(answer), _without_percent(gold)
            size = rational_value(gold_number)
            return size is not None and abs(size) > 1 and self.expressions(answer_number, gold_number)
        return False

    def expressions(self, answer: Node, gold: Node) -> bool:
        return expressions_equal(answer, gold, self.tolerance)

    def tuples(self, answer: TupleOrInterval, gold: TupleOrInterval) -> bool | None:
        if len(answer.items) != len(gold.items):
            return False
        if len(answer.items) == 2 and _end_kinds(answer) != _end_kinds(gold):
            return False
        return self.in_order(answer.items, gold.items)

    def in_order(self, answers: tuple[Answer, ...], golds: tuple[Answer, ...]) -> bool | None:
        if len(answers) != len(golds):
            return False
        verdicts = [self.equal(answer, gold) for answer, gold in zip(answers, golds, strict=True)]
        return False if False in verdicts else None if None in verdicts else True

    def in_any_order(self, answers: tuple[Answer, ...], golds: tuple[Answer, ...]) -> bool | None:
        """Returns whether each answer equals a gold of its own."""
        if len(answers) != len(golds):
            return False
        remaining, undecided = list(golds), False
        for answer in answers:
            verdicts = [self.equal(answer, gold) for gold in remaining]
            if True in verdicts:
                remaining.pop(verdicts.index(True))
            elif None in verdicts:
                undecided = True
            else:
                return False
        return None if undecided else True

    def lists(self, answer: ListOrSet, gold: ListOrSet) -> bool | None:
        if gold.kind == "parts":  # blanks; an answer may separate the members of any list by semicolons
            return self.in_order(answer.items, gold.items)
        if len(answer.items) != len(gold.items):
            answer, gold = split_assignment_chains(answer), split_assignment_chains(gold)
        answer_values, gold_values = (
            {item.name: item.value for item in side.items if isinstance(item, Assignment)} for side in (answer, gold)
        )
        all_named = len(answer_values) == len(answer.items) == len(gold_values) == len(gold.items)
        if all_named and answer_values.keys() == gold_values.keys():
            return self.in_order(tuple(answer_values.values()), tuple(gold_values[name] for name in answer_values))
        if "set" in (answer.kind, gold.kind):
            return self.in_any_order(self.distinct(answer.items), self.distinct(gold.items))
        return self.in_any_order(answer.items, gold.items)

    def distinct(self, items: tuple[Answer, ...]) -> tuple[Answer, ...]:
        kept: list[Answer] = []
        for item in items:
            if not any(self.equal(item, other) for other in kept):
                kept.append(item)
        return tuple(kept)

    def assigned_tuple(self, answer: Answer, gold: Answer) -> bool | None:
        """Compares `x=1, y=2` with the tuple (1,2), in alphabetical order of the names."""
        listed, point = (answer, gold) if isinstance(answer, ListOrSet) else (gold, answer)
        if not isinstance(listed, ListOrSet) or not isinstance(point, TupleOrInterval):
            return False
        if (point.opening, point.closing) != ("(", ")"):
            return False
        listed = split_assignment_chains(listed) if len(listed.items) < len(point.items) else listed
        assigned = [item for item in listed.items if isinstance(item, Assignment)]
        if len(assigned) != len(listed.items) or len({item.name for item in assigned}) < len(assigned):
            return False
        values = tuple(item.value for item in sorted(assigned, key=lambda item: item.name.lstrip("\\")))
        return self.in_order(values, point.items) if isinstance(answer, ListOrSet) else self.in_order(point.items, values)

    def matrices(self, answer: Matrix, gold: Matrix) -> bool | None:
        if [len(row) for row in answer.rows] != [len(row) for row in gold.rows]:
            return False
        return self.in_order(sum(answer.rows, ()), sum(gold.rows, ()))

    def ratios(self, answer: Ratio, gold: Ratio) -> bool | None:
        answer_nodes = [part.node for part in answer.parts if isinstance(part, Value)]
        gold_nodes = [part.node for part in gold.parts if isinstance(part, Value)]
        all_values = len(answer_nodes) == len(answer.parts) == len(gold_nodes) == len(gold.parts)
        if not all_values or any(rational_value(node) == 0 for node in (*answer_nodes, *gold_nodes)):
            return self.in_order(answer.parts, gold.parts)
        answer_quotients = [Node("div", (node, answer_nodes[0])) for node in answer_nodes]
        gold_quotients = [Node("div", (node, gold_nodes[0])) for node in gold_nodes]
        return all(self.expressions(a, g) for a, g in zip(answer_quotients, gold_quotients, strict=True))

    def inequalities(self, answer: Inequality, gold: Inequality) -> bool:
        if answer.signs != gold.signs:
            return False
        return all(self.expressions(a, g) for a, g in zip(answer.nodes, gold.nodes, strict=True))


def _is_close(answer: Approximation) -> bool:
    """Returns whether the rounded value is within a tenth of the exact one, as far as both are numbers."""
    sides = answer.exact, answer.rounded
    numbers = [s.node for s in sides if isinstance(s, Value) and not symbols(s.node) and not infinity_sign(s.node)]
    if len(numbers) < 2:
        return True
    exact, rounded = map(constant_value, numbers)
    return bool(abs(exact - rounded) <= abs(exact) / 10)


def _names_compatible(answer: str, gold: str) -> bool:
    """Returns whether two names may mean one thing: the same name, y for f(x), or a word from the problem."""
    if answer == gold or _bare_name(answer) == _bare_name(gold):
        return True
    if "y" in (answer, gold) and ("(" in answer or "(" in gold):
        return True
    return answer.lower() == gold.lower() or any(len(name) > 3 and name.isalpha() for name in (answer, gold))


def _bare_name(name: str) -> str:
    return "".join(c for c in name if c.isalnum() or c in "-^'(")


def _stated_value(equation: Equation) -> Value | None:
    """Returns the 7 of `f(3) = 7` or `\\cos A = 7`, and None for an equation that is to be solved, such as 2x = 7."""
    unknowns = symbols(equation.left)
    if symbols(equation.right) or not unknowns:
        return None
    to_solve = len(unknowns) == 1 and operations(equation.left) <= POLYNOMIAL_OPERATIONS
    return None if to_solve else Value(equation.right)


def _without_spaces(text: str) -> str:
    """Removes the spaces inside the expressions of a prose text. Those between numbers stay."""
    return re.sub(r"(?<!\d) | (?!\d)", "", text)


def _time_of_day(answer: Answer) -> str:
    """Returns `8:34` for `8:34 p.m.` and for the ratio 8:34, else nothing: a time without a.m. or p.m. matches both."""
    if isinstance(answer, Words):
        return answer.text[:-2] if TIME_OF_DAY.fullmatch(answer.text) else ""
    if not isinstance(answer, Ratio):
        return ""
    numbers = [int(part.node.args[0]) for part in answer.parts if isinstance(part, Value) and part.node.op == "num"]
    return ":".join(f"{number:02}" if at else str(number) for at, number in enumerate(numbers))


def _end_kinds(answer: TupleOrInterval) -> tuple[str, str]:
    return end_kind(answer.opening, answer.items[0]), end_kind(answer.closing, answer.items[1])


def _without_percent(value: Value) -> Node:
    node: Node = value.node.args[0] if value.percent and value.node.op == "div" else value.node
    return node
