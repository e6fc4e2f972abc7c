"""Rewrites of a parsed answer into another form of the same answer: plus-minus expanded, columns as tuples, chains as lists."""

from passus.grading.answer_types import Answer, Assignment, ListOrSet, Matrix, Ratio, TupleOrInterval, Value
from passus.grading.expression import ExpressionError, Node, has_plus_minus, with_sign_chosen
from passus.grading.number_intervals import as_region


def expand_plus_minus(node: Node) -> ListOrSet | None:
    """Returns both values of an expression with a plus-minus, and None without one."""
    if not has_plus_minus(node):
        return None
    return ListOrSet((Value(with_sign_chosen(node, lower=False)), Value(with_sign_chosen(node, lower=True))))


def expand_point(items: tuple[Answer, ...]) -> Answer:
    """Returns the two points of (4 \\pm 1, 8)."""
    upper, lower = (
        tuple(item.items[at] if isinstance(item, ListOrSet) and len(item.items) == 2 else item for item in items)
        for at in (0, 1)
    )
    if upper == lower:
        return TupleOrInterval("(", items, ")")
    return ListOrSet((TupleOrInterval("(", upper, ")"), TupleOrInterval("(", lower, ")")))


def negate_point(point: TupleOrInterval) -> TupleOrInterval:
    if not all(isinstance(item, Value) for item in point.items):
        raise ExpressionError("a sign before a tuple of something other than values")
    items = tuple(Value(Node("neg", (item.node,))) for item in point.items if isinstance(item, Value))
    return TupleOrInterval(point.opening, items, point.closing)


def scale_matrix(cells: tuple[tuple[Answer, ...], ...], factor: Node) -> Matrix:
    def scaled(cell: Answer) -> Answer:
        if not isinstance(cell, Value):
            raise ExpressionError("a factor before a matrix of something other than values")
        return Value(Node("mul", (factor, cell.node)))

    return Matrix(tuple(tuple(scaled(cell) for cell in row) for row in cells))


def flatten(item: Answer) -> tuple[Answer, ...]:
    """Returns the members of a list, and the values of `x = \\pm 2` one by one."""
    if isinstance(item, Assignment) and isinstance(item.value, ListOrSet) and item.value.kind == "list":
        return tuple(Assignment(item.name, member) for member in item.value.items)
    return item.items if isinstance(item, ListOrSet) and item.kind == "list" else (item,)


def is_assignment_chain(answer: Answer) -> bool:
    return isinstance(answer, Assignment) and isinstance(answer.value, Assignment)


def split_assignment_chains(answers: ListOrSet) -> ListOrSet:
    """Replaces `y = z = 1` in a list by y = 1 and z = 1."""
    items: list[Answer] = []
    for item in answers.items:
        names: list[str] = []
        while isinstance(item, Assignment):
            names.append(item.name)
            item = item.value
        items += [Assignment(name, item) for name in names] or [item]
    return ListOrSet(tuple(items), answers.kind)


def unwrap_single(answer: Answer) -> Answer:
    """Returns the element of a list or set of one."""
    if isinstance(answer, ListOrSet) and len(answer.items) == 1:
        return as_region(answer.items[0])
    return answer


def as_quotient(answer: Answer) -> Answer:
    """Rewrites a ratio of two values as their quotient."""
    if isinstance(answer, Ratio) and len(answer.parts) == 2:
        nodes = tuple(part.node for part in answer.parts if isinstance(part, Value))
        return Value(Node("div", nodes)) if len(nodes) == 2 else answer
    return answer


def as_vector(answer: Answer) -> Answer:
    """Rewrites a matrix of one column as a tuple."""
    if isinstance(answer, Matrix) and all(len(row) == 1 for row in answer.rows):
        return TupleOrInterval("(", tuple(row[0] for row in answer.rows), ")")
    return answer
