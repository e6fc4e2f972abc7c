"""Whether two answers are the same, by our own exact rules; None where only math-verify could tell."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

from passus.grading.answer_parser import LONGEST, TIME, interval, parse, squeezed
from passus.grading.answer_types import (
    REALS,
    About,
    Answer,
    Equation,
    Foreign,
    Many,
    Matrix,
    Modulo,
    Named,
    Order,
    Ratio,
    Sequence,
    Union,
    Value,
    Without,
    Words,
)
from passus.grading.expression import Node, Unreadable, number
from passus.grading.latex_normalize import separated
from passus.grading.numeric import (
    TooLarge,
    Undefined,
    constant,
    decimal_logarithm,
    equal,
    evaluate,
    exact,
    operations,
    point,
    symbols,
)
from passus.grading.units import LIMITED, without_same_letter

TAKEN_BACK = {"yes": LIMITED | {"no", "not", "never"}, "no": LIMITED | {"yes"}}
"""Words after a Yes or a No that make it something else; others explain it."""
SEVERAL = re.compile(r"\bboth\b|\border\b")
"""A remark on a gold of more than one number."""


@lru_cache(maxsize=16384)
def same(answer: str, gold: str, tolerance: float = 0.0) -> bool | None:
    """Equal, different, or (None) beyond our rules. Exact but for a tolerance, which is relative to the gold."""
    if answer.strip() == gold.strip():
        return True
    if max(len(answer), len(gold)) > LONGEST:
        return False
    if squeezed(answer) == squeezed(gold) != "":
        return True
    return any_reading(answer, gold, tolerance)


def any_reading(answer: str, gold: str, tolerance: float) -> bool | None:
    """Against each of a gold's alternatives (`3/10 ## 0.3`)."""
    verdicts = [one_reading(answer, reading, tolerance) for reading in readings(gold)]
    return True if True in verdicts else None if None in verdicts else False


def one_reading(answer: str, gold: str, tolerance: float) -> bool | None:
    """`48,384` is a number, or a list where the gold is one."""
    verdict = Comparison(tolerance).answers(parse(answer), parse(gold))
    if verdict is False and (bare := without_same_letter(answer, gold)) is not None:
        return Comparison(tolerance).answers(parse(bare[0]), parse(bare[1]))
    if verdict is not False or "," not in answer or not isinstance(parse(gold), Many) or (apart := separated(answer)) == answer:
        return verdict
    return Comparison(tolerance).answers(parse(apart), parse(gold))


def readings(gold: str) -> list[str]:
    """The spellings that a gold gives, divided by ##; one that says so is a list."""
    gold = separated(gold) if SEVERAL.search(gold) else gold
    if "#" not in gold:
        return [gold]
    return [part for part in gold.replace("\\#", "#").replace("# #", "##").split("##") if part.strip()]


class Comparison:
    """One comparison; `tolerance` holds for every number in it."""

    def __init__(self, tolerance: float = 0.0):
        self.tolerance = tolerance

    def answers(self, mine: Answer, gold: Answer) -> bool | None:
        try:
            return self.structures(mine, gold)
        except TooLarge:
            return False  # nothing that can be written down is meant by it, or it would have been the same text
        except Unreadable:
            return None

    def structures(self, mine: Answer, gold: Answer) -> bool | None:
        if mine == gold:
            return True
        if isinstance(mine, About) or isinstance(gold, About):
            return self.about(mine, gold)
        if chain(mine) and isinstance(gold, Many | Sequence):
            mine = spread(Many((mine,)))
        if isinstance(mine, Modulo) or isinstance(gold, Modulo):
            return self.congruent(mine, gold)
        if isinstance(mine, Words) or isinstance(gold, Words):
            return self.words(mine, gold)
        if isinstance(mine, Foreign) or isinstance(gold, Foreign):
            return False if any(isinstance(side, Foreign) and side.broken for side in (mine, gold)) else None
        if isinstance(mine, Named) or isinstance(gold, Named):
            return self.named(mine, gold)
        return self.plain(lone(as_region(mine)), lone(as_region(gold)))

    def about(self, mine: Answer, gold: Answer) -> bool | None:
        """Either side of the sign will do, but who writes both must have both right."""
        if isinstance(mine, About) and isinstance(gold, About):
            return self.in_order((mine.exact, mine.rounded), (gold.exact, gold.rounded))
        if isinstance(mine, About) and not nearly(mine):
            return False
        mines = (mine.exact, mine.rounded) if isinstance(mine, About) else (mine,)
        golds = (gold.exact, gold.rounded) if isinstance(gold, About) else (gold,)
        return any(self.structures(m, g) for m in mines for g in golds)

    def congruent(self, mine: Answer, gold: Answer) -> bool | None:
        """The same residues of the same modulus; for a gold of one residue the number alone will do."""
        if isinstance(gold, Modulo) and isinstance(mine, Value):
            return not gold.names and {exact(mine.node)} == gold.residues
        if not (isinstance(mine, Modulo) and isinstance(gold, Modulo)):
            return False
        return mine.modulus == gold.modulus and mine.names == gold.names and mine.residues == gold.residues

    def words(self, mine: Answer, gold: Answer) -> bool | None:
        if not (isinstance(mine, Words) and isinstance(gold, Words)):
            return any(clock(one) == clock(other) != "" for one, other in ((mine, gold), (gold, mine)))
        if run_together(mine.text) == run_together(gold.text):
            return bool(mine.text)
        first, second = mine.text.split(), gold.text.split()
        if (
            not first
            or not second
            or first[0] != second[0]
            or first[0] not in ("yes", "no")
            or min(len(first), len(second)) > 1
        ):
            return False
        return not TAKEN_BACK[first[0]] & {*first[1:], *second[1:]}

    def named(self, mine: Answer, gold: Answer) -> bool | None:
        if isinstance(mine, Named) and isinstance(gold, Named):
            same_name = mine.name == gold.name
            if same_name or (compatible(mine.name, gold.name) and self.structures(mine.inner, gold.inner)):
                return self.structures(mine.inner, gold.inner)
            return bool(mine.whole and gold.whole and self.proportional(mine.whole, gold.whole))
        if isinstance(mine, Named) and isinstance(gold, Equation):
            return bool(mine.whole and self.proportional(mine.whole, gold))
        if isinstance(mine, Equation) and isinstance(gold, Named):
            return bool(gold.whole and self.proportional(mine, gold.whole))
        return self.structures(mine.inner if isinstance(mine, Named) else mine, gold.inner if isinstance(gold, Named) else gold)

    def plain(self, mine: Answer, gold: Answer) -> bool | None:
        if (
            isinstance(gold, Many)
            and isinstance(mine, Value)
            and len(set(gold.items)) == 2
            and len(self.distinct(gold.items)) == 1
        ):
            gold = gold.items[0]  # one value that the gold writes in two ways; not a root of multiplicity two
        if isinstance(mine, Ratio) != isinstance(gold, Ratio):
            mine, gold = as_quotient(mine), as_quotient(gold)
        if isinstance(mine, Value) and isinstance(gold, Value):
            return self.values(mine, gold)
        if isinstance(mine, Equation) and isinstance(gold, Value) and (stated := quantity(mine)) is not None:
            return self.values(stated, gold)
        if isinstance(mine, Matrix) != isinstance(gold, Matrix):
            mine, gold = as_vector(mine), as_vector(gold)
        if (isinstance(mine, Many) and isinstance(gold, Sequence)) or (isinstance(mine, Sequence) and isinstance(gold, Many)):
            return self.assigned(mine, gold)
        if isinstance(mine, Union) and isinstance(gold, Union):
            return self.unordered(mine.items, gold.items)
        if type(mine) is not type(gold):
            return False
        if isinstance(mine, Without) and isinstance(gold, Without):
            return self.unordered(mine.items, gold.items)
        rules = {
            Sequence: self.sequences, Many: self.many, Matrix: self.matrices, Equation: self.proportional, Order: self.orders,
            Ratio: self.ratios,
        }  # fmt: skip
        return rules[type(mine)](mine, gold) if type(mine) in rules else False  # type: ignore[operator]

    def values(self, mine: Value, gold: Value) -> bool:
        if self.nodes(mine.node, gold.node):
            return True
        if mine.percent != gold.percent:  # "what percent": 40 and 40\% are one answer, 0.4\% and 0.4 are not
            first, second = without_percent(mine), without_percent(gold)
            size = exact(second)
            return size is not None and abs(size) > 1 and self.nodes(first, second)
        return False

    def nodes(self, mine: Node, gold: Node) -> bool:
        ends = endless(mine), endless(gold)
        if any(ends):
            return ends[0] == ends[1]
        mine, gold = renamed(mine, gold)
        try:
            return (
                any(equal(one, gold) for one in renumbered(mine, gold)) or other_logarithm(mine, gold) or self.near(mine, gold)
            )
        except TooLarge:
            return same_tower(mine, gold)
        except Undefined:
            return False

    def near(self, mine: Node, gold: Node) -> bool:
        if not self.tolerance or symbols(mine) or symbols(gold):
            return False
        first, second = constant(mine), constant(gold)
        return bool(abs(first - second) <= self.tolerance * abs(second))

    def sequences(self, mine: Sequence, gold: Sequence) -> bool | None:
        if len(mine.items) != len(gold.items):
            return False
        if len(mine.items) == 2 and (normal(mine.opening, mine.items[0]), normal(mine.closing, mine.items[1])) != (
            normal(gold.opening, gold.items[0]),
            normal(gold.closing, gold.items[1]),
        ):
            return False
        return self.in_order(mine.items, gold.items)

    def in_order(self, mine: tuple[Answer, ...], gold: tuple[Answer, ...]) -> bool | None:
        if len(mine) != len(gold):
            return False
        verdicts = [self.structures(m, g) for m, g in zip(mine, gold, strict=True)]
        return False if False in verdicts else None if None in verdicts else True

    def unordered(self, mine: tuple[Answer, ...], gold: tuple[Answer, ...]) -> bool | None:
        """Each of the one has its own equal in the other."""
        if len(mine) != len(gold):
            return False
        left, unsure = list(gold), False
        for item in mine:
            verdicts = [self.structures(item, other) for other in left]
            if True in verdicts:
                left.pop(verdicts.index(True))
            elif None in verdicts:
                unsure = True
            else:
                return False
        return None if unsure else True

    def many(self, mine: Many, gold: Many) -> bool | None:
        if "parts" in (mine.kind, gold.kind):
            return self.in_order(mine.items, gold.items)
        if len(mine.items) != len(gold.items):
            mine, gold = spread(mine), spread(gold)
        named = [{i.name: i.inner for i in side.items if isinstance(i, Named)} for side in (mine, gold)]
        if len(named[0]) == len(mine.items) == len(named[1]) == len(gold.items) and named[0].keys() == named[1].keys():
            return self.in_order(tuple(named[0].values()), tuple(named[1][name] for name in named[0]))
        if "set" in (mine.kind, gold.kind):
            return self.unordered(self.distinct(mine.items), self.distinct(gold.items))
        return self.unordered(mine.items, gold.items)

    def distinct(self, items: tuple[Answer, ...]) -> tuple[Answer, ...]:
        found: list[Answer] = []
        for item in items:
            if not any(self.structures(item, other) for other in found):
                found.append(item)
        return tuple(found)

    def assigned(self, mine: Answer, gold: Answer) -> bool | None:
        """`x=1, y=2` is the tuple (1,2): in the order of the names' appearance."""
        many, other = (mine, gold) if isinstance(mine, Many) else (gold, mine)
        if not isinstance(many, Many) or not isinstance(other, Sequence) or (other.opening, other.closing) != ("(", ")"):
            return False
        many = spread(many) if len(many.items) < len(other.items) else many
        names = [item.name for item in many.items if isinstance(item, Named)]
        if len(names) != len(many.items) or len(set(names)) < len(names):
            return False
        ordered = sorted(many.items, key=lambda item: item.name.lstrip("\\") if isinstance(item, Named) else "")
        items = tuple(item.inner for item in ordered if isinstance(item, Named))
        return self.in_order(items, other.items) if isinstance(mine, Many) else self.in_order(other.items, items)

    def matrices(self, mine: Matrix, gold: Matrix) -> bool | None:
        if [len(row) for row in mine.rows] != [len(row) for row in gold.rows]:
            return False
        return self.in_order(sum(mine.rows, ()), sum(gold.rows, ()))

    def ratios(self, mine: Ratio, gold: Ratio) -> bool | None:
        if len(mine.parts) != len(gold.parts) or not all(isinstance(part, Value) for part in (*mine.parts, *gold.parts)):
            return self.in_order(mine.parts, gold.parts)
        if any(exact(part.node) == 0 for part in (*mine.parts, *gold.parts)):  # type: ignore[union-attr]
            return self.in_order(mine.parts, gold.parts)
        firsts = [Node("div", (part.node, mine.parts[0].node)) for part in mine.parts]  # type: ignore[union-attr]
        seconds = [Node("div", (part.node, gold.parts[0].node)) for part in gold.parts]  # type: ignore[union-attr]
        return all(self.nodes(a, b) for a, b in zip(firsts, seconds, strict=True))

    def orders(self, mine: Order, gold: Order) -> bool:
        return mine.signs == gold.signs and all(self.nodes(a, b) for a, b in zip(mine.nodes, gold.nodes, strict=True))

    def proportional(self, mine: Equation, gold: Equation) -> bool:
        """Equations whose differences of sides are in a constant ratio have the same solutions."""
        first, second = (Node("add", (e.left, Node("neg", (e.right,)))) for e in (mine, gold))
        first, second = renamed(first, second)
        free = symbols(first)
        if free != symbols(second) or not free:
            return False
        ratios = []
        for i in range(4):
            place = point(free, i)
            top, bottom = evaluate(first, place, 60), evaluate(second, place, 60)
            if not 1e-9 < abs(bottom) < 1e9 or not 1e-9 < abs(top) < 1e9:  # else one large term would drown the others
                return False
            ratios.append(top / bottom)
        return all(abs(ratio - ratios[0]) < 1e-30 * abs(ratios[0]) for ratio in ratios)


def chain(answer: Answer) -> bool:
    return isinstance(answer, Named) and isinstance(answer.inner, Named)


def spread(many: Many) -> Many:
    """`y = z = 1` in a list as y = 1 and z = 1."""
    items: list[Answer] = []
    for item in many.items:
        names: list[str] = []
        while isinstance(item, Named):
            names.append(item.name)
            item = item.inner
        items += [Named(name, item) for name in names] or [item]
    return Many(tuple(items), many.kind)


def nearly(about: About) -> bool:
    """Whether the rounded value is one of the exact one, as far as both are numbers."""
    sides = about.exact, about.rounded
    if not all(isinstance(side, Value) and not symbols(side.node) and not endless(side.node) for side in sides):
        return True
    first, second = (constant(side.node) for side in sides if isinstance(side, Value))
    return bool(abs(first - second) <= abs(first) / 10)


def compatible(mine: str, gold: str) -> bool:
    """Names of one thing: the same, or y for f(x), or a word of the problem's."""
    if mine == gold or bare_name(mine) == bare_name(gold):
        return True
    if ("y" in (mine, gold)) and ("(" in mine or "(" in gold):
        return True
    return mine.lower() == gold.lower() or any(len(name) > 3 and name.isalpha() for name in (mine, gold))


def quantity(equation: Equation) -> Value | None:
    """The 7 of `f(3) = 7` or `\\cos A = 7`; None for an equation that is to be solved, as 2x = 7."""
    left = symbols(equation.left)
    if symbols(equation.right) or not left:
        return None
    to_solve = len(left) == 1 and operations(equation.left) <= POLYNOMIAL
    return None if to_solve else Value(equation.right)


POLYNOMIAL = frozenset({"add", "mul", "div", "neg", "pow", "num", "sym", "group"})


def bare_name(name: str) -> str:
    return "".join(c for c in name if c.isalnum() or c in "-^'(")


def lone(answer: Answer) -> Answer:
    """A set or list of one is its element."""
    if isinstance(answer, Many) and len(answer.items) == 1:
        return as_region(answer.items[0])
    return answer


def as_region(answer: Answer) -> Answer:
    """Conditions as intervals, holes in the line as unions."""
    if isinstance(answer, Order):
        return interval(answer) or answer
    if isinstance(answer, Union):
        items = tuple(as_region(item) for item in answer.items)
        if len(items) == 2 and (hole := between(items)) is not None:
            return Without((hole,))
        return Union(items)
    return answer


def between(items: tuple[Answer, ...]) -> Answer | None:
    """The a of (-∞, a) or (a, ∞)."""
    if not all(isinstance(item, Sequence) and (item.opening, item.closing, len(item.items)) == ("(", ")", 2) for item in items):
        return None
    ends = [item.items for item in items]  # type: ignore[union-attr]
    for low, high in (ends, ends[::-1]):
        if low[0] == REALS.items[0] and high[1] in (REALS.items[1],) and low[1] == high[0]:
            return low[1]
    return None


def run_together(text: str) -> str:
    """Prose without the spaces inside its formulas; those between numbers stay."""
    return re.sub(r"(?<!\d) | (?!\d)", "", text)


def clock(answer: Answer) -> str:
    """`8:34 p.m.` and 8:34 as one, else nothing: a time of day without its half is taken for the right one."""
    if isinstance(answer, Words):
        return answer.text[:-2] if TIME.fullmatch(answer.text) else ""
    if not isinstance(answer, Ratio):
        return ""
    parts = [part.node.args[0] if isinstance(part, Value) and part.node.op == "num" else None for part in answer.parts]
    return ":".join(f"{part:02}" if at else str(part) for at, part in enumerate(int(p) for p in parts if p is not None))


def as_quotient(answer: Answer) -> Answer:
    if isinstance(answer, Ratio) and len(answer.parts) == 2 and all(isinstance(part, Value) for part in answer.parts):
        return Value(Node("div", tuple(part.node for part in answer.parts)))  # type: ignore[union-attr]
    return answer


def as_vector(answer: Answer) -> Answer:
    """A column as a tuple."""
    if isinstance(answer, Matrix) and all(len(row) == 1 for row in answer.rows):
        return Sequence("(", tuple(row[0] for row in answer.rows), ")")
    return answer


def normal(bracket: str, end: Answer) -> str:
    """An infinite end is open however it is written."""
    if isinstance(end, Value) and endless(end.node):
        return "open"
    return {"]": "closed", "[": "closed"}.get(bracket, "open")


def without_percent(value: Value) -> Node:
    return value.node.args[0] if value.percent and value.node.op == "div" else value.node


def endless(node: Node) -> int:
    """1 for infinity, -1 for minus infinity, else 0."""
    if node == Node("sym", ("\\infty",)):
        return 1
    if node.op == "neg":
        return -endless(node.args[0])
    return endless(node.args[0]) if node.op == "group" else 0


def renamed(mine: Node, gold: Node) -> tuple[Node, Node]:
    """Constants of integration are one whether written C or c."""
    first, second = symbols(mine), symbols(gold)
    pairs = {name: name.swapcase() for name in first - second if name[0] in "cCkK" and name.swapcase() in second - first}
    return (substituted(mine, pairs), gold) if pairs else (mine, gold)


def renumbered(mine: Node, gold: Node) -> Iterator[Node]:
    """As it stands, then with its constants of integration in the gold's order: C_1 and C_2 are free, and so is + C."""
    yield mine
    ours, theirs = (sorted(name for name in symbols(node) if CONSTANT.fullmatch(name)) for node in (mine, gold))
    if (
        not ours
        or len(ours) != len(theirs)
        or len(ours) > 4
        or not symbols(gold) - set(theirs) == symbols(mine) - set(ours) != set()
    ):
        return
    if {name.lower() for name in ours} == {name.lower() for name in theirs} and all("_" in name for name in ours):
        for order in permutations(theirs):
            yield substituted(mine, dict(zip(ours, order, strict=True)))
    elif len(ours) == 1 and added(ours[0], mine) and added(theirs[0], gold):
        yield substituted(mine, {ours[0]: theirs[0]})


def added(name: str, node: Node) -> bool:
    """Whether it is a term by itself beside a function."""
    return node.op == "add" and Node("sym", (name,)) in node.args and len(symbols(node)) > 1


CONSTANT = re.compile(r"[cCkK](?:_\d)?")


def substituted(node: Node, names: dict[str, str]) -> Node:
    if node.op == "sym":
        return Node("sym", (names.get(node.args[0], node.args[0]),))
    return node if node.op == "num" else Node(node.op, tuple(substituted(arg, names) for arg in node.args))


def other_logarithm(mine: Node, gold: Node) -> bool:
    """\\log is natural to some and decimal to others: taken as decimal too, where the other side is not of the same kind."""
    if has_op(mine, "log") == has_op(gold, "log"):
        return False
    return equal(decimal_logarithm(mine), decimal_logarithm(gold))


def has_op(node: Node, op: str) -> bool:
    return node.op == op or any(has_op(arg, op) for arg in node.args if isinstance(arg, Node))


def same_tower(mine: Node, gold: Node) -> bool:
    """Powers too large to work out are equal when their parts are."""
    if mine.op != gold.op or len(mine.args) != len(gold.args) or mine.op in ("num", "sym"):
        return mine == gold
    try:
        return all(equal(a, b) for a, b in zip(mine.args, gold.args, strict=True))
    except TooLarge:
        return all(same_tower(a, b) for a, b in zip(mine.args, gold.args, strict=True))


__all__ = ["Foreign", "number", "parse", "same"]
