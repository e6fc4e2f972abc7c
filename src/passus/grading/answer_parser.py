"""An answer read as what it is: a value, a tuple or an interval, a list, a set, a matrix, an equation, a condition, words."""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from passus.grading.answer_types import (
    EMPTY,
    INFINITY,
    MINUS_INFINITY,
    REALS,
    About,
    Answer,
    Based,
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
from passus.grading.expression import Node, Prose, Unknown, Unreadable, number, read
from passus.grading.latex_normalize import CURRENCY, digits_joined, plain_words, repeating, tidy, without_text
from passus.grading.numeric import constant, decimal_logarithm, equal, exact, symbols
from passus.grading.units import HEDGES, scaled_words, without_units

LONGEST = 4096
MOST_PARTS = 120
LONGEST_CHAIN = 10


PHRASES: dict[str, Answer] = {
    **dict.fromkeys(["no solution", "no solutions", "no real solution", "no real solutions", "empty set", "none"], EMPTY),
    **dict.fromkeys(["all real numbers", "all reals", "all real number", "all real values", "any real number"], REALS),
    **dict.fromkeys(["infinity", "positive infinity"], Value(INFINITY)),
}  # fmt: skip
ONE_WORD = {
    "convergent": "converges", "divergent": "diverges", "dne": "does not exist", "isn't": "is not", "doesn't": "does not",
    "correct": "true",
    "cannot": "not", "degrees": "", "approx": "",
}  # fmt: skip
NUMBER_WORDS = {
    word: str(n)
    for n, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
    )
}


@lru_cache(maxsize=2048)
def parse(text: str) -> Answer:
    """The answer in a text of any kind; what cannot be read comes back as Words or Foreign, nothing is raised."""
    if len(text) > LONGEST:
        return Foreign(text, "too long", broken=True)
    if not text.isascii() and any(c.isdigit() and not c.isascii() for c in tidy(text)):
        return words(text)
    return Parser(text).answer()


@dataclass
class Parser:
    source: str
    parts: int = 0
    depth: int = 0
    text: str = field(init=False, default="")

    def answer(self) -> Answer:
        text = opened(tidy(mended(self.source)))
        self.text = text
        try:
            return self.whole(text)
        except Prose:
            return self.sentence(text) or words(self.source)
        except Unreadable as problem:
            if PROSE.search(text) and "\\" not in text:
                return words(self.source)
            return Foreign(squeezed(self.source), str(problem), broken=not isinstance(problem, Unknown))
        except RecursionError:
            return Foreign(squeezed(self.source), "nested too deep", broken=True)

    def sentence(self, text: str) -> Answer | None:
        """The formula at the end of `The smallest value of n is 57`."""
        match = SENTENCE.fullmatch(stripped(text))
        if not match:
            return None
        found = Parser(match["rest"]).answer()
        return None if isinstance(found, Words | Foreign) else found

    def whole(self, text: str) -> Answer:
        text = stripped(text)
        if plain_words(text) in PHRASES:
            return PHRASES[plain_words(text)]
        text = FOR_ALL.sub(lambda m: m["rest"], without_text(CURRENCY.sub(" ", SET_NAME.sub("", text))))
        text = CURVE.sub("", RATIO_WORD.sub(":", text))
        if TIME.fullmatch(said := re.sub(r"[\x02\x03\s.]", "", text)):
            return Words(said.lower().replace(":00", ""))
        if (congruent := MODULO.search(text)) is not None:
            return self.modulo(text[: congruent.start()], int(congruent[1]))
        if (qualified := QUALIFIED.search(text)) and re.search(r"[A-Za-z]", text[: qualified.start()]):
            text = text[: qualified.start()]
        if (every := EVERY.search(text)) and re.search(r"(?<![A-Za-z\\])[a-z](?![A-Za-z])", text[: every.start()]):
            text = text[: every.start()]
        if ITEMS.fullmatch(text):  # ①③④, the statements that hold
            return Many(tuple(Words(f"item {item}") for item in re.findall(r"\d", text)), "set")
        return self.many(repeating(text))

    def modulo(self, text: str, modulus: int) -> Answer:
        if modulus < 2:
            raise Unknown("a congruence of something else")
        found = self.many(text)
        names, residues = set(), set()
        for item in found.items if isinstance(found, Many) else (found,):
            for part in flat(item):
                names |= {part.name} if isinstance(part, Named) else set()
                value = part.inner if isinstance(part, Named) else part
                rational = exact(value.node) if isinstance(value, Value) else None
                if rational is None or rational.denominator != 1:
                    raise Unknown("a congruence of something else")
                residues.add(rational.numerator % modulus)
        return Modulo(frozenset(names), frozenset(residues), modulus)

    def count(self) -> None:
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise Unreadable("too many parts")

    def many(self, text: str) -> Answer:
        self.depth += 1
        if self.depth > 12:
            raise Unreadable("nested too deep")
        try:
            return self._many(text)
        finally:
            self.depth -= 1

    def _many(self, text: str) -> Answer:
        text = joined(digits_joined(unwrapped(stripped(text))))
        pieces = split(text, ";")
        if len(pieces) > 1:
            return Many(tuple(self.many(unlabelled(piece, at + 1)) for at, piece in enumerate(pieces)), "parts")
        pieces = split(text, ",")
        if len(pieces) > 1:
            return self.listed(pieces)
        return self.one(text)

    def listed(self, pieces: list[str]) -> Answer:
        items = tuple(self.one(piece) for piece in pieces)
        either = any(piece.startswith(OR) for piece in pieces)
        orders = [interval(item) for item in items]
        if all(isinstance(item, Order) for item in items) and all(orders):
            return self.ranges(tuple(one for one in orders if one), either, any(piece.startswith(AND) for piece in pieces))
        if either and len({item.name for item in items if isinstance(item, Named)}) == len(items):
            raise Unreadable("one thing or another")
        return Many(tuple(part for item in items for part in flat(item)))

    def ranges(self, ranges: tuple[Sequence, ...], either: bool, both: bool) -> Answer:
        """Conditions: `or` unites them; a comma does so too where they cannot hold together, and `and` may not."""
        common = None if either else between(ranges)
        if common is None and both and opposite(ranges):
            raise Unreadable("conditions that exclude each other")
        return common or Union(ranges)

    def one(self, text: str) -> Answer:
        self.count()
        text = unwrapped(stripped(text))
        if not text:
            raise Unreadable("nothing to read")
        text = POINT.sub("", text) if POINT.match(text) else text
        if text in ("\\ldots", "\\cdots", "\\dots"):
            return Value(Node("sym", ("\\ldots",)))
        if text.startswith("\\pm") and isinstance(point := self.bracketed(text[3:].strip()), Sequence):
            return Many((point, negated(point)))
        for reader in (self.united, self.related, self.bracketed, self.matrix, self.based, self.ratio):
            found = reader(text)
            if found is not None:
                return found
        return self.value(text)

    def related(self, text: str) -> Answer | None:
        """Everything with a sign of relation outside brackets."""
        pieces, signs = relations(text)
        if not signs:
            return None
        if signs[0] == "\\in" and len(signs) == 1:
            return self.many(pieces[1])
        if "\\approx" in signs:
            return self.about(pieces, signs)
        if all(sign == "=" for sign in signs):
            return self.equation(pieces)
        if ":" in pieces[-1] and "=" not in signs:  # x<-7:(-\infty,-7), said twice
            pieces[-1], _, again = pieces[-1].partition(":")
            return About(self.order(pieces, signs), self.many(again))
        if "=" in signs:
            raise Unreadable("an equation and an inequality in one")
        return self.order(pieces, signs)

    def about(self, pieces: list[str], signs: list[str]) -> Answer:
        at = signs.index("\\approx")
        rounded = self.one(pieces[at + 1])
        if not pieces[0].strip():
            return rounded
        if at == 0 and NAME.fullmatch(pieces[0].strip()):
            return rounded
        return About(self.one(pieces[at]), rounded)

    def equation(self, pieces: list[str]) -> Answer:
        """`x = 5`, an equation in general, or a chain of steps, of which the last counts."""
        left, right = pieces[0].strip(), pieces[-1].strip()
        if len(pieces) > LONGEST_CHAIN:
            raise Unreadable("too long a chain of equations")
        if not right:
            raise Unreadable("nothing after the equals sign")
        name = re.sub(r"[\s{}]|\x02|\x03", "", DERIVATIVE.sub(r"\1'", left))
        if not left:
            return self.many(right)
        if len(pieces) > 2 and not NAME.fullmatch(left) and SYMBOLIC.search(left):
            raise Unreadable("a chain of equations")
        if NAME.fullmatch(left) or WORDY.fullmatch(left):
            inner = self.many(right) if len(pieces) == 2 else self.equation(pieces[1:])
            if name[0] == "(" and "\\circ" not in name and isinstance(inner, Value):
                raise Unreadable("a tuple that is one number")
            return Named(name, inner, self.as_equation(left, right))
        if PROSE.search(re.sub(r"\\[A-Za-z]+", " ", left)):
            raise Prose(left[:40])
        whole = self.as_equation(left, right)
        if whole is None:  # B^{-1} = a matrix
            inner = self.many(right)
            if isinstance(inner, Value):
                raise Unreadable("an equation of something else")
            return Named(name, inner)
        if symbols(whole.left) | symbols(whole.right):
            return whole if len(pieces) == 2 else self.many(right)
        return self.steps(pieces)

    def steps(self, pieces: list[str]) -> Answer:
        """`3 + 4 = 7`: the last value, if all before it are worth the same; a rounded one stands beside the first."""
        values = [self.value(piece) for piece in pieces]
        nodes = [value.node for value in values if isinstance(value, Value)]
        if len(nodes) < len(values):
            raise Unreadable("steps of something else")
        if all(equal(node, nodes[-1]) or equal(decimal_logarithm(node), nodes[-1]) for node in nodes[:-1]):
            return values[-1]
        first, last = constant(nodes[0]), constant(nodes[-1])
        rounded = nodes[-1].op == "num" and nodes[-1].args[0].denominator > 1
        if len(nodes) == 2 and rounded and abs(first - last) < abs(last) / 100:
            return About(values[0], values[1])
        raise Prose("sides that differ")

    def as_equation(self, left: str, right: str) -> Equation | None:
        try:
            sides = Equation(read(without_units(left)), read(without_units(right)))
        except Unreadable:
            return None
        return None if has_sign(sides.left) or has_sign(sides.right) else sides

    def order(self, pieces: list[str], signs: list[str]) -> Answer:
        nodes = [read(without_units(piece)) for piece in pieces]
        if signs == ["\\ne"]:
            value = expanded(nodes[1]) or Value(nodes[1])
            holes = value.items if isinstance(value, Many) else (value,)
            return Without(holes) if nodes[0].op == "sym" else Order(tuple(nodes), ("\\ne",))
        if set(signs) <= {">", "\\ge"}:
            nodes, signs = nodes[::-1], [{">": "<", "\\ge": "\\le"}[sign] for sign in signs[::-1]]
        if not set(signs) <= {"<", "\\le"}:
            raise Unreadable("signs of both directions")
        return Order(tuple(nodes), tuple(signs))

    def united(self, text: str) -> Answer | None:
        pieces = split(text, "\\cup")
        if len(pieces) > 1:
            return Union(tuple(self.one(piece) for piece in pieces))
        pieces = split(HOLE.sub(r"\\backslash ", text), "\\backslash")
        if POSITIVE.fullmatch(text):
            return Sequence("(", (Value(number("0")), Value(INFINITY)), ")")
        if len(pieces) == 2 and REAL_LINE.fullmatch(pieces[0].strip()):
            inner = self.one(pieces[1])
            return Without(inner.items if isinstance(inner, Many) else (inner,))
        return REALS if REAL_LINE.fullmatch(text) else EMPTY if text == "\\emptyset" else None

    def bracketed(self, text: str) -> Answer | None:
        for opening, closing in (
            ("\\{", "\\}"),
            ("(", ")"),
            ("[", "]"),
            ("(", "]"),
            ("[", ")"),
            ("\\langle", "\\rangle"),
            ("]", "["),
        ):
            if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening) + len(closing) - 1:
                inner = text[len(opening) : -len(closing)]
                if not encloses(inner):
                    continue
                if opening == "\\{":
                    return self.set(inner)
                pieces = split(inner, ",")
                if len(pieces) == 1:
                    pieces = split(inner, ";")
                if len(pieces) == 1 and "=" in inner:
                    return self.one(inner)
                if len(pieces) > 1:
                    items = tuple(self.one(p) for p in pieces)
                    if (opening, closing) == ("(", ")") and (inner.count("\\pm") == 1 or "\\mp" in inner):
                        return both_signs(items)
                    return Sequence("(" if opening == "\\langle" else opening, items, ")" if opening == "\\langle" else closing)
        return None

    def set(self, inner: str) -> Answer:
        """Elements, or a condition after the bar."""
        inner = inner.strip()
        for bar in ("|", ":"):
            head, found, condition = inner.partition(bar)
            if found and VARIABLE.fullmatch(head.strip().partition("\\in")[0].strip()):
                return self.condition(condition)
        if not inner:
            return EMPTY
        return Many(tuple(self.one(piece) for piece in split(joined(inner), ",")), "set")

    def condition(self, text: str) -> Answer:
        found = self.many(text)
        if isinstance(found, Order) and (simple := interval(found)):
            return simple
        if isinstance(found, Named):
            return found.inner
        return found

    def matrix(self, text: str) -> Answer | None:
        match = MATRIX.fullmatch(text)
        if system := SYSTEM.fullmatch(text):
            return self.system(system["body"])
        if not match:
            if "\\begin" in text:
                raise Unknown("an environment")
            return None
        body = re.sub(r"^\s*\{[^{}]{0,40}\}", "", match["body"]) if match["kind"] == "array" else match["body"]
        rows = [row for row in body.split("\\\\") if row.strip()]
        cells = tuple(tuple(self.one(cell) for cell in row.split("&")) for row in rows)
        if not cells or len({len(row) for row in cells}) != 1:
            raise Unreadable("rows of different lengths")
        scale = match["scale"].strip()
        return scaled(cells, read(scale)) if scale else Matrix(cells)

    def system(self, body: str) -> Answer:
        """Equations one below the other."""
        rows = [row.replace("&", " ").strip().rstrip(",;.") for row in body.split("\\\\") if row.strip()]
        items = tuple(self.one(row) for row in rows)
        if not all(isinstance(item, Named | Equation) for item in items):
            raise Unknown("an environment")
        return items[0] if len(items) == 1 else Many(items)

    def based(self, text: str) -> Answer | None:
        match = BASED.fullmatch(text)
        if not match:
            return None
        base = int(match["base"] or BASE_WORDS[match["word"].lower()])
        digits = re.sub(r"[\s,]", "", match["digits"]).upper()
        if base == 10:
            return self.value(digits)
        sign = "-" * digits.startswith("-")
        return Based(sign + (digits.lstrip("-0") or "0"), base)

    def ratio(self, text: str) -> Answer | None:
        pieces = split(text, ":")
        if not 1 < len(pieces) < 6:
            return None
        if re.fullmatch(r"\d{1,2}:\d\d", text.strip()):
            return Ratio(tuple(Value(number(piece.strip())) for piece in pieces))
        return Ratio(tuple(self.one(piece) for piece in pieces))

    def value(self, text: str) -> Answer:
        """One formula; percent signs, units and number words seen to."""
        word = plain_words(text)
        if word in NUMBER_WORDS:
            return Value(number(NUMBER_WORDS[word]))
        bare, scale = scaled_words(text)
        bare = without_units(bare)
        percent = PERCENT.search(bare)
        node = read(bare[: percent.start()] if percent else bare)
        if scale:
            node = Node("mul", (node, number(str(scale))))
        if percent:
            node = Node("div", (node, number("100")))
        return expanded(node) or Value(node, bool(percent))


def unlabelled(piece: str, number: int) -> str:
    """Without the (2) before the second of several parts."""
    label = BLANK.match(piece)
    return piece[label.end() :] if label and label[1] == str(number) else piece


def flat(item: Answer) -> tuple[Answer, ...]:
    """The values of `x = \\pm 2` in a list, one by one."""
    if isinstance(item, Named) and isinstance(item.inner, Many) and item.inner.kind == "list":
        return tuple(Named(item.name, part) for part in item.inner.items)
    return item.items if isinstance(item, Many) and item.kind == "list" else (item,)


def both_signs(items: tuple[Answer, ...]) -> Answer:
    """The two points of (4 \\pm 1, 8)."""
    upper, lower = (tuple(i.items[at] if isinstance(i, Many) and len(i.items) == 2 else i for i in items) for at in (0, 1))
    return Sequence("(", items, ")") if upper == lower else Many((Sequence("(", upper, ")"), Sequence("(", lower, ")")))


def negated(point: Sequence) -> Sequence:
    if not all(isinstance(item, Value) for item in point.items):
        raise Unreadable("a sign before something else")
    items = tuple(Value(Node("neg", (item.node,))) for item in point.items if isinstance(item, Value))
    return Sequence(point.opening, items, point.closing)


def scaled(cells: tuple[tuple[Answer, ...], ...], factor: Node) -> Matrix:
    def times(cell: Answer) -> Answer:
        if not isinstance(cell, Value):
            raise Unreadable("a matrix of something else")
        return Value(Node("mul", (factor, cell.node)))

    return Matrix(tuple(tuple(times(cell) for cell in row) for row in cells))


def expanded(node: Node) -> Answer | None:
    """Both values of a plus-minus; None without one."""
    if not has_sign(node):
        return None
    return Many((Value(chosen(node, False)), Value(chosen(node, True))))


def has_sign(node: Node) -> bool:
    return node.op in ("pm", "mp") or any(has_sign(arg) for arg in node.args if isinstance(arg, Node))


def chosen(node: Node, lower: bool) -> Node:
    if node.op in ("num", "sym"):
        return node
    args = tuple(chosen(arg, lower) for arg in node.args)
    if node.op in ("pm", "mp"):
        return Node("neg", args) if (node.op == "pm") == lower else args[0]
    return Node(node.op, args)


def interval(answer: Answer) -> Sequence | None:
    """A condition on one symbol as the interval that it is."""
    if not isinstance(answer, Order) or answer.signs == ("\\ne",):
        return None
    nodes, signs = answer.nodes, answer.signs
    at = [i for i, node in enumerate(nodes) if node.op == "sym" and node.args[0] not in ("\\infty", "\\pi", "e", "i")]
    if len(nodes) == 3 and 1 in at:
        ends, closed = (nodes[0], nodes[2]), [sign == "\\le" for sign in signs]
    elif len(nodes) == 2 and len(at) == 1:
        low = at[0] == 1
        ends = (nodes[0], INFINITY) if low else (MINUS_INFINITY, nodes[1])
        closed = [signs[0] == "\\le" and low, signs[0] == "\\le" and not low]
    else:
        return None
    return Sequence("[" if closed[0] else "(", (Value(ends[0]), Value(ends[1])), "]" if closed[1] else ")")


def between(ranges: tuple[Sequence, ...]) -> Sequence | None:
    """x > 1 and x < 5 are one interval, while x < 1 and x > 5 are two."""
    if (bounds := opposite(ranges)) is None:
        return None
    (low, above), (high, below) = (bounds[0].items[0], bounds[0].opening), (bounds[1].items[1], bounds[1].closing)
    ordered = constant(low.node) < constant(high.node)  # type: ignore[union-attr]
    return Sequence(above, (low, high), below) if ordered else None


def opposite(ranges: tuple[Sequence, ...]) -> tuple[Sequence, Sequence] | None:
    """One range without an upper end and one without a lower, both of numbers."""
    lows = [one for one in ranges if one.items[1] == Value(INFINITY)]
    highs = [one for one in ranges if one.items[0] == Value(MINUS_INFINITY)]
    if len(ranges) != 2 or len(lows) != 1 or len(highs) != 1:
        return None
    ends = lows[0].items[0], highs[0].items[1]
    if not all(isinstance(end, Value) and not symbols(end.node) for end in ends):
        return None
    return lows[0], highs[0]


def joined(text: str) -> str:
    """`and` and `or` as commas that remember which they were."""
    return JOINING.sub(
        lambda m: m[0] if m["kept"] else f" ,{OR} " if "or" in m[0].lower() or "或" in m[0] else f" ,{AND} ", text
    )


OR, AND = "\x04", "\x05"
JOINING = re.compile(
    r"(?<![A-Za-z\\])(?:and|or|OR|和|或|与)(?![A-Za-z])|\\(?:and|or|cap)(?![A-Za-z])|\x02(?:,? ?and|,? ?or)\x03"
    r"|(?P<kept>\x02[^\x03]*\x03)"
)
NAME = re.compile(
    r"\(?\s*(?:\\?[A-Za-z]+|\\(?:vec|hat|bar|overline|mathbb)\s*\{?[A-Za-z]+\}?)\s*(?:_\s*(?:\{[^{}]*\}|[A-Za-z0-9]))?'*\s*"
    r"(?:\(\s*[A-Za-z\\][A-Za-z,\s\\]{0,20}\)|(?:,\s*[A-Za-z](?:_\{?\w\}?)?\s*){0,7})\s*\)?(?:\x02[^\x03]*\x03)?"
)
VARIABLE = re.compile(r"\(?\s*[A-Za-z](?:_\{?\w\}?)?(?:\s*,\s*[A-Za-z](?:_\{?\w\}?)?){0,5}\s*\)?")
ITEMS = re.compile(r"(?:\(\s*[1-9]\s*\)[\s,]*){2,9}|(?:\\textcircled\{[1-9]\}[\s,]*){1,9}")
WORDY = re.compile(
    r"(?:\x02[^\x03]{0,60}\x03\s*|[A-Za-z\s]{1,40})|\|?[A-Z]{1,4}\|?|[A-Z]\s*[A-Z](?:_\d)?"
    r"|m?\s*\\angle[\sA-Z_0-9{}]{1,14}|\[\s*[A-Z]{3,8}\s*\]"  # an angle, an area
    r"|\([a-z](?:_\{?\w\}?)?(?:,\s*[a-z](?:_\{?\w\}?)?)+\)"
    r"|[A-Za-z]\s*\^\s*\{?\s*-\s*1\s*\}?\s*\(\s*[a-z]\s*\)"  # f^{-1}(x)
    r"|\(\s*[a-z]\s*\\circ\s*[a-z]\s*\)\s*\(\s*\w\s*\)|[a-z]\s*\(\s*[a-z]\s*\(\s*\w\s*\)\s*\)"  # f(g(x))
    r"|[A-Za-z](?:_\{?\w\}?)?'{0,2}\(-?\d{1,5}\)"
    r"|\\frac\s*\{\s*d\s*[a-z]\s*\}\s*\{\s*d\s*[a-z]\s*\}"
)
SET_NAME = re.compile(
    r"^\s{0,3}(?=[^=]{0,60}\\(?:cap|cup|complement))(?:[A-Z()\s_{}]|\\(?:cap|cup|complement|backslash)(?![A-Za-z])){3,60}=\s{0,3}"
)
"""`A \\cap B =` before a set."""
DERIVATIVE = re.compile(r"\\frac\s*\{\s*d\s*([a-z])\s*\}\s*\{\s*d\s*[a-z]\s*\}")
CURVE = re.compile(r"^\s{0,3}[CEl]\s{0,3}(?:_\s{0,3}\{?\d\}?)?\s{0,3}:\s{0,3}(?=[^:<>]*[xy][^:<>]*=[^:<>]*$)")
"""`C:` before the equation of a curve."""
BLANK = re.compile(r"\s{0,3}\(\s{0,3}([1-9])\s{0,3}\)\s{0,3}\.?(?=\s{0,3}\S)")
RATIO_WORD = re.compile(r"(?<=\d)\s{0,3}\x02to\x03\s{0,3}(?=\d)")
HOLE = re.compile(r"(?<=[R}])\s{0,3}-\s{0,3}(?=\\\{)")
POSITIVE = re.compile(
    r"\\mathbb\s{0,3}\{?\s{0,3}R\s{0,3}\}?\s{0,3}(?:(?:\^|_)\s{0,3}\{?\s{0,3}\+\s{0,3}\}?|_\s{0,3}\{\s{0,3}>\s{0,3}0\s{0,3}\})"
)
SYMBOLIC = re.compile(r"(?<![A-Za-z\\])[xyzabcnmkt](?![A-Za-z])")
REAL_LINE = re.compile(r"\\mathbb\s*\{?\s*R\s*\}?|R")
MATRIX = re.compile(
    r"(?P<scale>[^&]*?)[(\[]?\s*\\begin\s*\{(?P<kind>[pbB]?matrix|smallmatrix|array)\}(?P<body>.*)\\end\s*\{(?P=kind)\}\s*[)\]]?",
    re.S,
)
SYSTEM = re.compile(
    r"(?:\\\{)?\s*\\begin\s*\{(?P<kind>cases|aligned|align\*?|gathered|split)\}(?P<body>.*)\\end\s*\{(?P=kind)\}", re.S
)
POINT = re.compile(r"[ABDEFMOPQRS]\s*(?=\(.*,.*\)$)")
BASE_WORDS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "twelve": 12,
    "sixteen": 16,
    "ten": 10,
}
BASED = re.compile(
    r"\(?\s*\x02?(?P<digits>-?\s*[0-9A-Fa-f.][0-9A-Fa-f,.\s]*)\x03?\s*\)?\s*"
    r"(?:_\s*\{?\s*\(?(?:\s*\x02base\x03\s*)?|\(?\s*(?:in\s+)?\x02?\(?(?:in )?base[\s-]*\x03?\s*)(?:\x02?(?P<word>"
    + "|".join(BASE_WORDS)
    + r")\x03?|(?P<base>\d{1,2}))\s*\)?\s*\}?\x03?",
    re.I,
)
SEPARATING = re.compile(r"\\begin(?![A-Za-z])|\\end(?![A-Za-z])|\\\\|\\[{}|]|\\[A-Za-z]+|[()\[\]{},;:|]")
OPENS = {
    "(": 1,
    "[": 1,
    "{": 1,
    "\\{": 1,
    "\\begin": 1,
    "\\langle": 1,
    ")": -1,
    "]": -1,
    "}": -1,
    "\\}": -1,
    "\\end": -1,
    "\\rangle": -1,
}
RELATION = re.compile(r"\\(?:le|ge|ne|approx|in)(?![A-Za-z])|<=|>=|!=|[<>=]|\\\\|\\[{}|]|\\[A-Za-z]+|[()\[\]{}]")


def split(text: str, separator: str) -> list[str]:
    """The pieces between separators outside all brackets."""
    pieces, depth, start = [], 0, 0
    for match in SEPARATING.finditer(text):
        depth += OPENS.get(match[0], 0)
        if match[0] == separator and depth <= 0:
            pieces.append(text[start : match.start()])
            start = match.end()
    pieces.append(text[start:])
    return [piece for piece in (piece.strip() for piece in pieces) if piece] if len(pieces) > 1 else pieces


def relations(text: str) -> tuple[list[str], list[str]]:
    """Pieces and the signs of relation between them, outside all brackets."""
    pieces, signs, depth, start = [], [], 0, 0
    for match in RELATION.finditer(text):
        token = {"<=": "\\le", ">=": "\\ge", "!=": "\\ne"}.get(match[0], match[0])
        depth += OPENS.get(token, 0)
        if depth <= 0 and token in ("=", "<", ">", "\\le", "\\ge", "\\ne", "\\approx", "\\in"):
            pieces.append(text[start : match.start()])
            signs.append(token)
            start = match.end()
    return [*pieces, text[start:]], signs


def encloses(inner: str) -> bool:
    """Whether the brackets around it belong together: not so in (1)+(2)."""
    depth = 0
    for match in SEPARATING.finditer(inner):
        depth += OPENS.get(match[0], 0)
        if depth < 0:
            return False
    return depth == 0


def unwrapped(text: str) -> str:
    """Without braces around the whole, and without brackets that hold one thing only."""
    while len(text) > 1 and text[0] == "{" and text[-1] == "}" and text[-2] != "\\" and encloses(text[1:-1]):
        text = text[1:-1].strip()
    return text


def mended(text: str) -> str:
    """Braces that a careless cut left open are closed, those that it left over go."""
    depth, kept = 0, []
    for match in BRACES.finditer(text):
        piece = match[0]
        depth += (piece == "{") - (piece == "}")
        if depth < 0:
            depth = 0
            continue
        kept.append(piece)
    return "".join(kept) + "}" * min(depth, 20)


MODULO = re.compile(
    r"\s{0,3}\(?\s{0,3}(?:\\[pb]?mod(?![A-Za-z])|\x02\(?mod\x03|\bmod\b)\s{0,3}\{?\s{0,3}\(?\s{0,3}(\d{1,6})\s{0,3}\)?\s{0,3}\}?\s{0,3}\)?\s{0,3}\x03?\s{0,3}$"
)
PERCENT = re.compile(r"\s*(?:\\?%|percent)\s*$")
TIME = re.compile(r"\d{1,2}(?::\d\d){0,2}[ap]m", re.I)
PROSE = re.compile(r"(?<![A-Za-z\\])(?!(?:sin|cos|tan|log|sqrt|exp|mod|min|max)(?![A-Za-z]))[A-Za-z]{3,}")
BRACES = re.compile(r"\\.|[{}]|[^{}\\]+|\\", re.S)


def stripped(text: str) -> str:
    text = text.strip(" \t\r\n:" + OR + AND)
    while text.endswith((".", ",")) and not text.endswith("..."):
        text = text[:-1].rstrip()
    return text


QUALIFIED = re.compile(
    r"[\s,;]{0,4}(?:\(\s{0,4})?(?:\x02[a-z ]{0,30}\x03\s{0,4})?(?<![A-Za-z\\])[a-z](?:\s{0,4},\s{0,4}[a-z])?\s{0,4}\\in\s{0,4}"
    r"\\?(?:mathbb)?\s{0,4}\{?\s{0,4}[ZNRQ]\s{0,4}\}?\s{0,4}(?:\^\s?\{?[+*]\}?|_\s?\{?[+*]\}?)?\s{0,4}\)?\s{0,4}$"
)
"""`..., k in Z` after a formula with k."""
FOR_ALL = re.compile(
    r"(?P<rest>[A-Za-z]\s*\([a-z](?:,\s*[a-z])?\)\s*=[^\x02\x03]{1,300}?)[\s,]*"
    r"(?:\\forall|\x02for (?:all|any|every)(?: real numbers?| reals?| integers?| positive integers?)?\x03)"
    r"\s*[a-z]?\s*(?:\\in\s*\\mathbb\s*\{?\s*[A-Z]\s*\}?\s*(?:\^\S{1,4}|_\S{1,6})?)?\s*"
)
EVERY = re.compile(
    r"(?<=\S)[\s,]{0,4}(?:\x02|(?<=\s)),?\s{0,3}(?:for|where|with) (?:all|any|every|some|each|arbitrary)"
    r"(?: (?:real|complex|rational|positive|negative|nonnegative|non-negative|natural|whole|integers?|numbers?|reals|"
    r"constants?|values?|of|[a-z])){0,4}\x03?\s{0,3}(?:[a-z]\s{0,3})?\.?\s{0,3}$"
)
"""`... for all real t` after a formula with letters."""
SENTENCE = re.compile(r"(?:the|so|thus|therefore)\b.{0,200}\b(?:is|are)\b:?\s+(?P<rest>.{1,200})", re.I | re.S)
LEADING = re.compile(
    r"^(?:so |thus |hence |therefore,? )?(?:the )?(?:final |correct )?(?:answer|result|value|solution)s?(?: is| are|:)\s*:?\s*",
    re.I,
)
PREFACE = re.compile(r"([a-z ]{1,60})(?::| is| are| equals)", re.I)
LEADING_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mbox)\s*\{([^{}]{0,80})\}\s*")
ALL_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mbox|textrm)\s*\{([^{}]*)\}")
OCR_DECIMAL = re.compile(r"(-?\d+)\. (\d+)")


def opened(text: str) -> str:
    """Without text macros or a preface around the whole."""
    match = ALL_TEXT.fullmatch(stripped(text))
    text = match[1] if match else text
    if (lead := LEADING_TEXT.match(text)) and (LEADING.fullmatch(lead[1].strip()) or is_preface(lead[1].strip())):
        text = text[lead.end() :]
    text = LEADING.sub("", text)
    match = OCR_DECIMAL.fullmatch(stripped(text))
    return f"{match[1]}.{match[2]}" if match else text


def is_preface(text: str) -> bool:
    """`Minimum value:`, `The minimum is`; not `At most:`."""
    match = PREFACE.fullmatch(text)
    return bool(match) and not {*match[1].lower().split()} & (HEDGES | {"no", "than", "between", "never"})  # type: ignore[index]


def words(text: str) -> Words:
    said = " ".join(filter(None, (ONE_WORD.get(word, word) for word in plain_words(text).split())))
    return Words(said)


def squeezed(text: str) -> str:
    """A formula as text, without spaces that do not matter: 1 4/5 is not 14/5."""
    return unwrapped(SPACES.sub(lambda m: " " if m[1] else "", tidy(text)).strip().removesuffix(".").strip())


SPACES = re.compile(r"((?<=[0-9A-Za-z.,])\s+(?=[0-9A-Za-z.]))|\s+")
