"""A formula read into a small tree: numbers, symbols, sums, products, powers and the functions of school and college.

The reader is for short answers in LaTeX or plain text and bounded in length and depth. What it does not know it refuses, by
`Unreadable` where other mathematics is meant (a sum, an integral) and by `Prose` where words are.
"""

import re
from fractions import Fraction
from typing import NamedTuple

LONGEST = 1500  # tokens
DEEPEST = 60


class Unreadable(ValueError):  # noqa: N818 it says what an answer is, not that something failed
    """Mathematics beyond this reader."""


class Prose(Unreadable):
    """Words, not mathematics."""


class Unknown(Unreadable):
    """A command that this reader does not know, and math-verify may."""


class Node(NamedTuple):
    op: str
    """num, sym, add, mul, div, pow, neg, pm, mp, deg, or the name of a function."""
    args: tuple


FUNCTIONS = frozenset(
    """sin cos tan cot sec csc arcsin arccos arctan arccot sinh cosh tanh ln log lg exp sqrt abs max min gcd lcm floor
    ceil Re Im arg binom fact root asin acos atan""".split()
)
SYNONYMS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "cosec": "csc", "sh": "sinh", "ch": "cosh"}
GREEK = frozenset(
    """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta kappa lambda mu nu xi rho sigma tau phi
    varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega hbar ell infty circ Pi imath partial nabla
    mho Upsilon upsilon iota triangle angle ldots""".split()
)
WRAPPERS = frozenset({"vec", "hat", "tilde", "bar", "overline", "dot", "ddot", "mathbb", "overbrace", "acute", "check"})
CALLED = frozenset("fghFGHPQ")
"""Letters that before a parenthesis are functions and no factors."""
TOKEN = re.compile(
    r"\s*(?:(\d+(?:\.\d+)?[eE][+-]?\d{1,4}(?![\dA-Za-z])|\d+\.?\d*|\.\d+)|(\\[A-Za-z]+)|(\\[{}|%#&])|([A-Za-z]+)|(\x02[^\x03]*\x03)|(.))",
    re.S,
)
TIGHT = frozenset({"pi", "sqrt", "infty", "inf", "oo", "infinity", *FUNCTIONS, *GREEK})


def tokens_of(text: str) -> list[str]:
    found: list[str] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None or len(found) > LONGEST:
            raise Unreadable("too long a formula")
        position = match.end()
        number, command, escaped, letters, words, other = match.groups()
        if letters:
            found += word_tokens(letters)
        elif words:
            found += word_tokens(words[1:-1].strip())
        else:
            found.append(number or command or escaped or other)
    return found


def word_tokens(letters: str) -> list[str]:
    """A run of letters: a name that is known (`sqrt`, `pi`), or up to three variables side by side, or prose."""
    if letters in TIGHT:
        return ["\\" + {"inf": "infty", "oo": "infty", "infinity": "infty"}.get(letters, letters)]
    if not letters.isalpha() or not letters.isascii():
        raise Prose(letters[:40])
    for name in ("arcsin", "arccos", "arctan", "sqrt", "sin", "cos", "tan", "log", "ln", "pi"):
        if letters.startswith(name) and len(letters) <= len(name) + 2:
            return ["\\" + name, *letters[len(name) :]]
        if letters.endswith(name) and len(letters) <= len(name) + 2:
            return [*letters[: -len(name)], "\\" + name]
    product = len(letters) < 4 or (len(letters) == 4 and (letters.isupper() or letters in "abcdefgh" or letters in "uvwxyz"))
    if not product or letters.lower() in ENGLISH:
        raise Prose(letters[:40])
    return list(letters)


ENGLISH = frozenset(
    """no of is it if we he so to do on go or and the not all any for yes none even odd east west true false each both
    dne here with from when then that this some only must does than into over such case more less zero one two three
    four five six seven eight nine ten non day won win lose draw""".split()
)


def read(text: str) -> Node:
    """The tree of one expression; raises Unreadable."""
    reader = Reader(tokens_of(text))
    node = reader.sum()
    if reader.peek() is not None:
        raise Unreadable(f"cannot read from {reader.peek()!r} on")
    return node


class Reader:
    """Recursive descent over tokens. A product needs no sign, as in 2x, and ends where a sum, a bracket or a comma does."""

    def __init__(self, tokens: list[str]):
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.bars = 0

    def peek(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def next(self) -> str:
        if self.at >= len(self.tokens):
            raise Unreadable("ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, token: str) -> None:
        if self.next() != token:
            raise Unreadable(f"expected {token}")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unreadable("nested too deep")

    def sum(self) -> Node:
        self.deeper()
        terms = [self.signed()]
        while self.peek() in SIGNS:
            terms.append(self.signed())
        self.depth -= 1
        return terms[0] if len(terms) == 1 else Node("add", tuple(terms))

    def signed(self) -> Node:
        wraps: list[str] = []
        while (sign := self.peek()) in SIGNS:
            self.next()
            if len(wraps) > 4:
                raise Unreadable("too many signs")
            wraps.append(SIGNS[sign])
        node = self.product()
        for wrap in reversed(wraps):
            node = Node(wrap, (node,)) if wrap else node
        return node

    def product(self) -> Node:
        node = self.factor()
        while (token := self.peek()) is not None:
            if token in TIMES:
                self.next()
                node = Node("mul", (node, self.operand()))
            elif token == "/":
                self.next()
                node = Node("div", (node, self.operand()))
            elif self.opens(token):
                node = self.side_by_side(node)
            else:
                return node
        return node

    def operand(self) -> Node:
        """After a sign of multiplication a minus may stand: 3 \\cdot -2."""
        if self.peek() == "-":
            self.next()
            return Node("neg", (self.factor(),))
        return self.factor()

    def side_by_side(self, left: Node) -> Node:
        """A mixed number or a product without a sign; two bare numbers side by side are neither."""
        mixed = (is_whole(left) and self.peek() in ("\\frac",)) or False
        right_is_digit = self.peek()[0].isdigit() or self.peek()[0] == "."  # type: ignore[index]
        if right_is_digit and left.op == "num":
            return self.plain_mixed(left)
        if right_is_digit and not (left.op in ("sym", "group", "pow") or left.op in FUNCTIONS):
            raise Unreadable("two numbers side by side")
        right = self.factor()
        if (
            mixed
            and right.op == "div"
            and all(is_whole(part) for part in right.args)
            and right.args[0].args[0] < right.args[1].args[0]
        ):
            return Node("add", (left, right))
        return Node("mul", (left, right))

    def plain_mixed(self, whole: Node) -> Node:
        """`1 4/5`."""
        if is_whole(whole) and self.tokens[self.at + 1 : self.at + 2] == ["/"] and self.tokens[self.at].isdigit():
            top, _, bottom = self.next(), self.next(), self.next()
            if bottom.isdigit() and int(top) < int(bottom):
                return Node("add", (whole, Node("div", (number(top), number(bottom)))))
        raise Unreadable("two numbers side by side")

    def opens(self, token: str) -> bool:
        """Whether a factor may start with it."""
        if token == "|":
            return self.bars == 0
        return token[0].isalnum() or token[0] == "." or token in ("(", "[", "{", "\\{") or (
            token[0] == "\\" and len(token) > 2 and token[1:] not in CLOSERS and token not in TIMES
        )  # fmt: skip

    def factor(self) -> Node:
        self.deeper()
        node = self.postfix(self.primary())
        self.depth -= 1
        return node

    def postfix(self, node: Node) -> Node:
        while (token := self.peek()) is not None:
            if token == "^":
                self.next()
                node = self.power(node)
            elif token == "!":
                self.next()
                node = Node("fact", (node,))
            elif token in ("\\%", "%"):
                self.next()
                node = Node("div", (node, number("100")))
            else:
                return node
        return node

    def power(self, base: Node) -> Node:
        if base.op == "deg":
            raise Unreadable("a power of degrees")
        if self.peek() == "\\circ":
            self.next()
            return Node("deg", (base,))
        if self.peek() == "{" and self.tokens[self.at + 1 : self.at + 3] == ["\\circ", "}"]:
            self.at += 3
            return Node("deg", (base,))
        return Node("pow", (base, self.exponent()))

    def exponent(self) -> Node:
        if self.peek() in ("-", "+"):
            sign = self.next()
            value = self.primary()
            return Node("neg", (value,)) if sign == "-" else value
        node = self.primary()
        if self.peek() == "^":  # a tower without braces binds to the right
            self.next()
            self.deeper()
            return Node("pow", (node, self.exponent()))
        return node

    def group(self, closing: str) -> Node:
        node = self.sum()
        self.expect(closing)
        return node

    def primary(self) -> Node:
        token = self.next()
        if token[0].isdigit() or (token[0] == "." and len(token) > 1):
            if self.peek() == "_":
                raise Unreadable("a number with a base inside a formula")
            return number(token)
        if token.isalpha() and token.isascii():
            return self.letter(token)
        if token in BRACKETS:
            bars, self.bars = self.bars, 0
            node = self.group(BRACKETS[token])
            self.bars = bars
            return Node("group", (node,)) if node.op == "num" else node
        if token == "|":
            self.bars += 1
            node = self.group("|")
            self.bars -= 1
            return Node("abs", (node,))
        if token[0] == "\\":
            return self.command(token[1:])
        raise (Prose if not token.isascii() else Unreadable)(f"cannot read {token!r}")

    def letter(self, token: str) -> Node:
        if token in ("C", "A") and self.peek() == "_" and (chosen := self.combination(token)) is not None:
            return chosen
        if token == "C" and self.peek() == "(" and (chosen := self.choose()) is not None:
            return chosen
        name = token + self.decoration()
        if self.peek() == "(" and (token in CALLED or (token not in "ei" and self.one_in_brackets())):
            return Node("call:" + name, self.arguments())
        return Node("sym", (name,))

    def choose(self) -> Node | None:
        """C(10,3)."""
        start = self.at
        self.next()
        first = self.sum()
        if self.peek() != ",":
            self.at = start
            return None
        self.next()
        second = self.sum()
        self.expect(")")
        return Node("binom", (first, second))

    def one_in_brackets(self) -> bool:
        """I(0), u(t): with one number or letter in the brackets it is a value of a function."""
        following = self.tokens[self.at + 1 : self.at + 3]
        return len(following) == 2 and following[1] == ")" and following[0][0].isalnum()

    def combination(self, token: str) -> Node | None:
        """C_{n}^{k}, as Chinese papers write binomials."""
        start = self.at
        self.next()
        below = self.argument()
        if self.peek() != "^" or token == "A":
            self.at = start
            return None
        self.next()
        return Node("binom", (below, self.argument()))

    def decoration(self) -> str:
        """Subscript and primes, part of a name."""
        name = ""
        while self.peek() in ("_", "'"):
            name += self.next()
            if name[-1] == "_":
                name += self.raw_group()
        return name

    def raw_group(self) -> str:
        token = self.next()
        if token != "{":
            return token
        depth, parts = 1, []
        while depth:
            part = self.next()
            depth += (part == "{") - (part == "}")
            parts.append(part)
        return "".join(parts[:-1]).replace("{", "").replace("}", "")

    def arguments(self) -> tuple[Node, ...]:
        self.expect("(")
        found = [self.sum()]
        while self.peek() == ",":
            self.next()
            found.append(self.sum())
        self.expect(")")
        return tuple(found)

    def argument(self) -> Node:
        """What a macro takes: a group, or one sign (of \\frac12 the 1)."""
        if self.peek() == "{":
            self.next()
            return self.group("}")
        token = self.peek()
        if token is not None and token.isdigit() and len(token) > 1:
            self.tokens[self.at] = token[1:]
            return number(token[0])
        if token == "-":
            self.next()
            return Node("neg", (self.argument(),))
        return self.primary()

    def command(self, name: str) -> Node:
        name = SYNONYMS.get(name, name)
        if name == "frac":
            return Node("div", (self.argument(), self.argument()))
        if name == "binom":
            top, bottom = self.argument(), self.argument()
            if "neg" in (top.op, bottom.op):
                raise Unreadable("a column that is written as a binomial")
            return Node("binom", (top, bottom))
        if name == "sqrt":
            return self.root()
        if name in PAIRS:
            node = self.group("\\r" + name[1:])
            return Node(PAIRS[name], (node,))
        if name in ("pi", "e", "i", "infty"):
            return Node("sym", ("\\" + name if name in ("pi", "infty") else name,))
        if name in FUNCTIONS:
            return self.function(name)
        if name in GREEK:
            return Node("sym", ("\\" + name + self.decoration(),))
        if name in WRAPPERS:
            return self.wrapped(name)
        raise Unknown(f"\\{name[:30]}")

    def wrapped(self, name: str) -> Node:
        """\\vec{a} is the symbol a; a dot is a prime; other hats are part of the name."""
        inner = self.raw_group()
        if name == "overline" and len(inner) > 1 and inner.isdigit():
            return Node("sym", ("overline" + inner,))
        name = {"vec": "", "dot": "'", "ddot": "''"}.get(name, "^" + name)
        return Node("sym", (inner + name + self.decoration(),))

    def root(self) -> Node:
        degree = None
        if self.peek() == "[":
            self.next()
            degree = self.group("]")
        token = self.peek()
        inner = number(self.next()) if token is not None and token.isdigit() else self.argument()
        return Node("sqrt", (inner,)) if degree is None else Node("root", (inner, degree))

    def function(self, name: str) -> Node:
        base = power = None
        while self.peek() in ("_", "^"):
            if self.next() == "_":
                base = self.argument()
            else:
                power = self.exponent()
        if name in ("max", "min", "gcd", "lcm"):
            return Node(name, self.arguments())
        inner = self.function_argument()
        if name == "log" and base is not None:
            node = Node("div", (Node("ln", (inner,)), Node("ln", (base,))))
        else:
            node = Node(name, (inner,))
        if power is None:
            return node
        if power == Node("neg", (number("1"),)) and "arc" + name in FUNCTIONS:
            return Node("arc" + name, (inner,))
        return Node("pow", (node, power))

    def function_argument(self) -> Node:
        """A bracket, or the factors up to the next function, as in \\sin 2x \\cos y."""
        if self.peek() in BRACKETS:
            return self.primary()
        node = self.signed_factor()
        while (
            (token := self.peek()) is not None
            and self.opens(token)
            and token[1:] not in FUNCTIONS
            and token not in BRACKETS
            and token != "|"
        ):
            node = Node("mul", (node, self.factor()))
        if self.peek() == "/" and node.op in ("sym", "num", "mul"):  # \cos \pi / 3
            following = self.tokens[self.at + 1 : self.at + 2]
            if following and following[0].isdigit() and node.args[-1:] == ("\\pi",):
                self.next()
                node = Node("div", (node, self.factor()))
        return node

    def signed_factor(self) -> Node:
        if self.peek() == "-":
            self.next()
            return Node("neg", (self.factor(),))
        return self.factor()


SIGNS = {"+": "", "-": "neg", "\\pm": "pm", "\\mp": "mp"}
TIMES = frozenset({"*", "\\times", "\\cdot"})
BRACKETS = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
PAIRS = {"lfloor": "floor", "lceil": "ceil"}
CLOSERS = frozenset(
    {
        "rfloor",
        "rceil",
        "pm",
        "mp",
        "approx",
        "le",
        "ge",
        "ne",
        "cup",
        "cap",
        "in",
        "backslash",
        "circ",
        "rangle",
        "langle",
        "ldots",
    }
)
FURTHER = frozenset(
    """sum prod int iint iiint oint lim frac over choose sqrt binom pi cdot times begin end text textbf mathrm operatorname
    mathbf det infty emptyset lfloor lceil tag label because""".split()
)
"""What math-verify works out beyond this reader."""


def number(token: str) -> Node:
    return Node("num", (Fraction(token.removesuffix(".")),))


def is_whole(node: Node) -> bool:
    return node.op == "num" and node.args[0].denominator == 1
