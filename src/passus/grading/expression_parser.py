"""Parser of one mathematical expression in LaTeX or plain text, by recursive descent.

The parser is for short answers and bounded in length and depth. It rejects what it does not know: with `ExpressionError` where
other mathematics is meant (a sum, an integral), and with `ProseError` where words are meant.
"""

import re

from passus.grading.expression import ExpressionError, Node, ProseError, UnknownNotationError, is_integer, number_node
from passus.grading.vocabulary import (
    ACCENTS,
    FUNCTION_LETTERS,
    FUNCTION_PREFIXES,
    FUNCTION_SYNONYMS,
    FUNCTIONS,
    INFINITY_WORDS,
    KNOWN_NAMES,
    NON_FACTOR_COMMANDS,
    SHORT_ENGLISH_WORDS,
    SYMBOL_COMMANDS,
)

MAX_TOKENS = 1500
MAX_DEPTH = 60
TOKEN = re.compile(
    r"\s*(?:(\d+(?:\.\d+)?[eE][+-]?\d{1,4}(?![\dA-Za-z])|\d+\.?\d*|\.\d+)|(\\[A-Za-z]+)|(\\[{}|%#&])|([A-Za-z]+)|(\x02[^\x03]*\x03)|(.))",
    re.S,
)
SIGNS = {"+": "", "-": "neg", "\\pm": "pm", "\\mp": "mp"}
MULTIPLICATION_SIGNS = frozenset({"*", "\\times", "\\cdot"})
BRACKETS = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
ROUNDING_BRACKETS = {"lfloor": "floor", "lceil": "ceil"}


def tokenize(text: str) -> list[str]:
    tokens: list[str] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None or len(tokens) > MAX_TOKENS:
            raise ExpressionError("the expression is too long")
        position = match.end()
        number, command, escaped, letters, words, other = match.groups()
        if letters:
            tokens += _tokenize_letters(letters)
        elif words:
            tokens += _tokenize_letters(words[1:-1].strip())
        else:
            tokens.append(number or command or escaped or other)
    return tokens


def _tokenize_letters(letters: str) -> list[str]:
    """Splits a run of letters into known names (`sqrt`, `pi`) and up to three variables; raises ProseError for words."""
    if letters in KNOWN_NAMES:
        return ["\\" + INFINITY_WORDS.get(letters, letters)]
    if not letters.isalpha() or not letters.isascii():
        raise ProseError(letters[:40])
    for name in FUNCTION_PREFIXES:
        if letters.startswith(name) and len(letters) <= len(name) + 2:
            return ["\\" + name, *letters[len(name) :]]
        if letters.endswith(name) and len(letters) <= len(name) + 2:
            return [*letters[: -len(name)], "\\" + name]
    is_product = len(letters) < 4 or (len(letters) == 4 and (letters.isupper() or letters in "abcdefgh" or letters in "uvwxyz"))
    if not is_product or letters.lower() in SHORT_ENGLISH_WORDS:
        raise ProseError(letters[:40])
    return list(letters)


def parse_expression(text: str) -> Node:
    """Returns the tree of one expression; raises ExpressionError."""
    parser = ExpressionParser(tokenize(text))
    node = parser.sum()
    if parser.peek() is not None:
        raise ExpressionError(f"cannot parse from {parser.peek()!r} on")
    return node


class ExpressionParser:
    """Parses a list of tokens. A product needs no sign, as in 2x, and ends at a plus, a closing bracket or a comma."""

    def __init__(self, tokens: list[str]):
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.open_bars = 0
        """Absolute values that are open in the current bracket."""

    def peek(self) -> str | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def next(self) -> str:
        if self.position >= len(self.tokens):
            raise ExpressionError("the expression ends too early")
        self.position += 1
        return self.tokens[self.position - 1]

    def expect(self, token: str) -> None:
        if self.next() != token:
            raise ExpressionError(f"expected {token}")

    def enter_level(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError("nested too deeply")

    def sum(self) -> Node:
        self.enter_level()
        terms = [self.signed()]
        while self.peek() in SIGNS:
            terms.append(self.signed())
        self.depth -= 1
        return terms[0] if len(terms) == 1 else Node("add", tuple(terms))

    def signed(self) -> Node:
        ops: list[str] = []
        while (sign := self.peek()) in SIGNS:
            self.next()
            if len(ops) > 4:
                raise ExpressionError("too many signs")
            ops.append(SIGNS[sign])
        node = self.product()
        for op in reversed(ops):
            node = Node(op, (node,)) if op else node
        return node

    def product(self) -> Node:
        node = self.factor()
        while (token := self.peek()) is not None:
            if token in MULTIPLICATION_SIGNS:
                self.next()
                node = Node("mul", (node, self.signed_factor()))
            elif token == "/":
                self.next()
                node = Node("div", (node, self.signed_factor()))
            elif self.starts_factor(token):
                node = self.implicit_product(node, token)
            else:
                return node
        return node

    def signed_factor(self) -> Node:
        """Parses a factor that may have a minus, as in 3 \\cdot -2."""
        if self.peek() == "-":
            self.next()
            return Node("neg", (self.factor(),))
        return self.factor()

    def implicit_product(self, left: Node, token: str) -> Node:
        """Parses a mixed number or a product without a sign; rejects two bare numbers side by side."""
        may_be_mixed = is_integer(left) and token == "\\frac"
        right_is_number = token[0].isdigit() or token[0] == "."
        if right_is_number and left.op == "num":
            return self.mixed_number(left)
        if right_is_number and not (left.op in ("sym", "group", "pow") or left.op in FUNCTIONS):
            raise ExpressionError("two numbers side by side")
        right = self.factor()
        if (
            may_be_mixed
            and right.op == "div"
            and all(is_integer(part) for part in right.args)
            and right.args[0].args[0] < right.args[1].args[0]
        ):
            return Node("add", (left, right))
        return Node("mul", (left, right))

    def mixed_number(self, whole: Node) -> Node:
        """Parses the fraction of `1 4/5`."""
        following = self.tokens[self.position : self.position + 2]
        if is_integer(whole) and following[1:] == ["/"] and following[0].isdigit():
            top, _, bottom = self.next(), self.next(), self.next()
            if bottom.isdigit() and int(top) < int(bottom):
                return Node("add", (whole, Node("div", (number_node(top), number_node(bottom)))))
        raise ExpressionError("two numbers side by side")

    def starts_factor(self, token: str) -> bool:
        if token == "|":
            return self.open_bars == 0
        if token[0].isalnum() or token[0] == "." or token in BRACKETS:
            return True
        is_command = token[0] == "\\" and len(token) > 2
        return is_command and token[1:] not in NON_FACTOR_COMMANDS and token not in MULTIPLICATION_SIGNS

    def factor(self) -> Node:
        self.enter_level()
        node = self.postfix(self.primary())
        self.depth -= 1
        return node

    def postfix(self, node: Node) -> Node:
        while (token := self.peek()) is not None:
            if token == "^":
                self.next()
                node = self.power(node)
            elif token == "!":
                node = self.factorial(node)
            elif token in ("\\%", "%"):
                self.next()
                node = Node("div", (node, number_node("100")))
            else:
                return node
        return node

    def factorial(self, node: Node) -> Node:
        """Parses n! and the double factorial n!!, which is the product of every second number."""
        count = 0
        while self.peek() == "!":
            self.next()
            count += 1
        if count > 2:
            raise ExpressionError("more than two factorial signs")
        return Node("fact" if count == 1 else "double_fact", (node,))

    def power(self, base: Node) -> Node:
        if base.op == "deg":
            raise ExpressionError("a power of degrees")
        if self.peek() == "\\circ":
            self.next()
            return Node("deg", (base,))
        if self.peek() == "{" and self.tokens[self.position + 1 : self.position + 3] == ["\\circ", "}"]:
            self.position += 3
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
            self.enter_level()
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
                raise ExpressionError("a number with a base inside a formula")
            return number_node(token)
        if token.isalpha() and token.isascii():
            return self.letter(token)
        if token in BRACKETS:
            open_bars, self.open_bars = self.open_bars, 0
            node = self.group(BRACKETS[token])
            self.open_bars = open_bars
            return Node("group", (node,)) if node.op == "num" else node
        if token == "|":
            self.open_bars += 1
            node = self.group("|")
            self.open_bars -= 1
            return Node("abs", (node,))
        if token[0] == "\\":
            return self.command(token[1:])
        raise (ProseError if not token.isascii() else ExpressionError)(f"cannot parse {token!r}")

    def letter(self, token: str) -> Node:
        if token in ("C", "A") and self.peek() == "_" and (binomial := self.indexed_binomial(token)) is not None:
            return binomial
        if token == "C" and self.peek() == "(" and (binomial := self.called_binomial()) is not None:
            return binomial
        name = token + self.decoration()
        if self.peek() == "(" and (token in FUNCTION_LETTERS or (token not in "ei" and self.has_single_argument())):
            return Node("call:" + name, self.arguments())
        return Node("sym", (name,))

    def called_binomial(self) -> Node | None:
        """Parses the arguments of C(10,3); returns None for one argument."""
        start = self.position
        self.next()
        first = self.sum()
        if self.peek() != ",":
            self.position = start
            return None
        self.next()
        second = self.sum()
        self.expect(")")
        return Node("binom", (first, second))

    def has_single_argument(self) -> bool:
        """Returns whether one number or letter stands in the brackets, as in I(0) or u(t): then it is a function value."""
        following = self.tokens[self.position + 1 : self.position + 3]
        return len(following) == 2 and following[1] == ")" and following[0][0].isalnum()

    def indexed_binomial(self, token: str) -> Node | None:
        """Parses the indices of C_{n}^{k}, as Chinese papers write binomials; returns None for a mere subscript."""
        start = self.position
        self.next()
        subscript = self.argument()
        if self.peek() != "^" or token == "A":
            self.position = start
            return None
        self.next()
        return Node("binom", (subscript, self.argument()))

    def decoration(self) -> str:
        """Returns the subscript and the primes, which are part of a name."""
        name = ""
        while self.peek() in ("_", "'"):
            name += self.next()
            if name[-1] == "_":
                name += self.raw_group()
        return name

    def raw_group(self) -> str:
        """Returns the text of the next token or of the next braces."""
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
        arguments = [self.sum()]
        while self.peek() == ",":
            self.next()
            arguments.append(self.sum())
        self.expect(")")
        return tuple(arguments)

    def argument(self) -> Node:
        """Parses the argument of a macro: a group, or one character (the 1 of \\frac12)."""
        if self.peek() == "{":
            self.next()
            return self.group("}")
        token = self.peek()
        if token is not None and token.isdigit() and len(token) > 1:
            self.tokens[self.position] = token[1:]
            return number_node(token[0])
        if token == "-":
            self.next()
            return Node("neg", (self.argument(),))
        return self.primary()

    def command(self, name: str) -> Node:
        name = FUNCTION_SYNONYMS.get(name, name)
        if name == "frac":
            return Node("div", (self.argument(), self.argument()))
        if name == "binom":
            top, bottom = self.argument(), self.argument()
            if "neg" in (top.op, bottom.op):
                raise ExpressionError("a column that is written as a binomial")
            return Node("binom", (top, bottom))
        if name == "sqrt":
            return self.root()
        if name in ROUNDING_BRACKETS:
            node = self.group("\\r" + name[1:])
            return Node(ROUNDING_BRACKETS[name], (node,))
        if name in ("pi", "e", "i", "infty"):
            return Node("sym", ("\\" + name if name in ("pi", "infty") else name,))
        if name in FUNCTIONS:
            return self.function(name)
        if name in SYMBOL_COMMANDS:
            return Node("sym", ("\\" + name + self.decoration(),))
        if name in ACCENTS:
            return self.accented(name)
        raise UnknownNotationError(f"\\{name[:30]}")

    def accented(self, accent: str) -> Node:
        """Parses an accented symbol: \\vec{a} is a, a dot is a prime, other accents are part of the name."""
        symbol = self.raw_group()
        if accent == "overline" and len(symbol) > 1 and symbol.isdigit():
            return Node("sym", ("overline" + symbol,))
        suffix = {"vec": "", "dot": "'", "ddot": "''"}.get(accent, "^" + accent)
        return Node("sym", (symbol + suffix + self.decoration(),))

    def root(self) -> Node:
        degree = None
        if self.peek() == "[":
            self.next()
            degree = self.group("]")
        token = self.peek()
        radicand = number_node(self.next()) if token is not None and token.isdigit() else self.argument()
        return Node("sqrt", (radicand,)) if degree is None else Node("root", (radicand, degree))

    def function(self, name: str) -> Node:
        base = power = None
        while self.peek() in ("_", "^"):
            if self.next() == "_":
                base = self.argument()
            else:
                power = self.exponent()
        if name in ("max", "min", "gcd", "lcm"):
            return Node(name, self.arguments())
        argument = self.function_argument()
        if name == "log" and base is not None:
            node = Node("div", (Node("ln", (argument,)), Node("ln", (base,))))
        else:
            node = Node(name, (argument,))
        if power is None:
            return node
        if power == Node("neg", (number_node("1"),)) and "arc" + name in FUNCTIONS:
            return Node("arc" + name, (argument,))
        return Node("pow", (node, power))

    def function_argument(self) -> Node:
        """Parses a bracket, or the factors up to the next function, as in \\sin 2x \\cos y."""
        if self.peek() in BRACKETS:
            return self.primary()
        node = self.signed_factor()
        while (
            (token := self.peek()) is not None
            and self.starts_factor(token)
            and token[1:] not in FUNCTIONS
            and token not in BRACKETS
            and token != "|"
        ):
            node = Node("mul", (node, self.factor()))
        if self.peek() == "/" and node.op in ("sym", "num", "mul"):  # \cos \pi / 3
            following = self.tokens[self.position + 1 : self.position + 2]
            if following and following[0].isdigit() and node.args[-1:] == ("\\pi",):
                self.next()
                node = Node("div", (node, self.factor()))
        return node
