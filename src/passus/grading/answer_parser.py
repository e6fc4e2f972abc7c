"""Parser of an answer: a value, a tuple or an interval, a list, a set, a matrix, an equation, a condition, or words.

The parser decides what kind of answer a text is and splits it into parts. expression_parser.py parses the parts.
"""

import re
from functools import lru_cache

from passus.grading import answer_patterns as patterns
from passus.grading.answer_forms import expand_plus_minus, expand_point, flatten, negate_point, scale_matrix
from passus.grading.answer_text import (
    compact,
    conjunctions_to_commas,
    prose_answer,
    strip_part_label,
    strip_preface,
    strip_punctuation,
)
from passus.grading.answer_types import (
    EMPTY_SET,
    REALS,
    Answer,
    Approximation,
    Assignment,
    BaseNumeral,
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
from passus.grading.boxes import LONG_INTEGER
from passus.grading.brackets import balance_braces, is_balanced, split_outside_brackets, split_relations, strip_outer_braces
from passus.grading.expression import (
    INFINITY,
    ExpressionError,
    Node,
    ProseError,
    UnknownNotationError,
    has_plus_minus,
    number_node,
    symbols,
    with_decimal_log,
)
from passus.grading.expression_parser import parse_expression
from passus.grading.latex_normalize import (
    CURRENCY,
    join_digit_groups,
    normalize_latex,
    normalize_prose,
    open_text_macros,
    repeating_decimals_to_fractions,
)
from passus.grading.number_intervals import intersection_of_rays, interval_of, opposite_rays
from passus.grading.numeric import constant_value, numerically_equal
from passus.grading.rational import rational_value
from passus.grading.units import split_scale_word, strip_units
from passus.grading.vocabulary import BASE_WORDS, NUMBER_WORDS

MAX_ANSWER_LENGTH = 4096
MAX_PARTS = 120
MAX_DEPTH = 12
MAX_EQUATION_CHAIN = 10
PHRASES: dict[str, Answer] = {
    **dict.fromkeys(["no solution", "no solutions", "no real solution", "no real solutions", "empty set", "none"], EMPTY_SET),
    **dict.fromkeys(["all real numbers", "all reals", "all real number", "all real values", "any real number"], REALS),
    **dict.fromkeys(["infinity", "positive infinity"], Value(INFINITY)),
}
BRACKET_PAIRS = (("\\{", "\\}"), ("(", ")"), ("[", "]"), ("(", "]"), ("[", ")"), ("\\langle", "\\rangle"), ("]", "["))


def is_too_long(text: str) -> bool:
    return len(text) > MAX_ANSWER_LENGTH and not LONG_INTEGER.fullmatch(text)


@lru_cache(maxsize=2048)
def parse_answer(text: str) -> Answer:
    """Returns the answer in a text of any kind. Unparsable text becomes Words or Unsupported; nothing is raised."""
    if is_too_long(text):
        return Unsupported(text, "too long", malformed=True)
    if not text.isascii() and any(c.isdigit() and not c.isascii() for c in normalize_latex(text)):
        return prose_answer(text)
    return AnswerParser(text).parse()


class AnswerParser:
    def __init__(self, source: str):
        self.source = source
        self.parts = 0
        self.depth = 0

    def parse(self) -> Answer:
        text = strip_preface(normalize_latex(balance_braces(self.source)))
        try:
            return self.parse_whole(text)
        except ProseError:
            return self.parse_sentence(text) or prose_answer(self.source)
        except ExpressionError as error:
            if patterns.PROSE.search(text) and "\\" not in text:
                return prose_answer(self.source)
            return Unsupported(compact(self.source), str(error), malformed=not isinstance(error, UnknownNotationError))
        except RecursionError:
            return Unsupported(compact(self.source), "nested too deeply", malformed=True)

    def parse_sentence(self, text: str) -> Answer | None:
        """Parses the expression at the end of `The smallest value of n is 57`."""
        match = patterns.SENTENCE.fullmatch(strip_punctuation(text))
        if not match:
            return None
        answer = AnswerParser(match["rest"]).parse()
        return None if isinstance(answer, Words | Unsupported) else answer

    def parse_whole(self, text: str) -> Answer:
        """Handles notation that concerns the whole answer, then parses the rest as a list."""
        text = strip_punctuation(text)
        phrase = normalize_prose(text)
        if phrase in PHRASES:
            return PHRASES[phrase]
        text = patterns.FOR_ALL_REMARK.sub(
            lambda m: m["rest"], open_text_macros(CURRENCY.sub(" ", patterns.SET_NAME.sub("", text)))
        )
        text = patterns.CURVE_LABEL.sub("", patterns.RATIO_WORD.sub(":", text))
        if patterns.TIME_OF_DAY.fullmatch(time := re.sub(r"[\x02\x03\s.]", "", text)):
            return Words(time.lower().replace(":00", ""))
        if (modulus := patterns.MODULUS.search(text)) is not None:
            return self.parse_congruence(text[: modulus.start()], int(modulus[1]))
        if (remark := patterns.DOMAIN_REMARK.search(text)) and re.search(r"[A-Za-z]", text[: remark.start()]):
            text = text[: remark.start()]
        if (remark := patterns.QUANTIFIER_REMARK.search(text)) and re.search(
            r"(?<![A-Za-z\\])[a-z](?![A-Za-z])", text[: remark.start()]
        ):
            text = text[: remark.start()]
        if patterns.ITEM_NUMBERS.fullmatch(text):
            return ListOrSet(tuple(Words(f"item {item}") for item in re.findall(r"\d", text)), "set")
        return self.parse_list(repeating_decimals_to_fractions(text))

    def parse_congruence(self, text: str, modulus: int) -> Answer:
        if modulus < 2:
            raise UnknownNotationError("a congruence whose modulus is below 2")
        answer = self.parse_list(text)
        names, residues = set(), set()
        for item in answer.items if isinstance(answer, ListOrSet) else (answer,):
            for part in flatten(item):
                names |= {part.name} if isinstance(part, Assignment) else set()
                value = part.value if isinstance(part, Assignment) else part
                rational = rational_value(value.node) if isinstance(value, Value) else None
                if rational is None or rational.denominator != 1:
                    raise UnknownNotationError("a congruence of something other than integers")
                residues.add(rational.numerator % modulus)
        return Congruence(frozenset(names), frozenset(residues), modulus)

    def count_part(self) -> None:
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise ExpressionError("too many parts")

    def parse_list(self, text: str) -> Answer:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError("nested too deeply")
        try:
            return self._parse_list(text)
        finally:
            self.depth -= 1

    def _parse_list(self, text: str) -> Answer:
        text = conjunctions_to_commas(join_digit_groups(strip_outer_braces(strip_punctuation(text))))
        pieces = split_outside_brackets(text, ";")
        if len(pieces) > 1:
            parts = tuple(self.parse_list(strip_part_label(piece, n)) for n, piece in enumerate(pieces, start=1))
            return ListOrSet(parts, "parts")
        pieces = split_outside_brackets(text, ",")
        if len(pieces) > 1:
            return self.parse_comma_list(pieces)
        return self.parse_item(text)

    def parse_comma_list(self, pieces: list[str]) -> Answer:
        items = tuple(self.parse_item(piece) for piece in pieces)
        has_or = any(piece.startswith(patterns.OR_MARK) for piece in pieces)
        has_and = any(piece.startswith(patterns.AND_MARK) for piece in pieces)
        intervals = tuple(interval for item in items if (interval := interval_of(item)) is not None)
        if len(intervals) == len(items):
            return self.combine_conditions(intervals, has_or=has_or, has_and=has_and)
        if has_or and len({item.name for item in items if isinstance(item, Assignment)}) == len(items):
            raise ExpressionError("a choice between values of different names")
        return ListOrSet(tuple(part for item in items for part in flatten(item)))

    def combine_conditions(self, intervals: tuple[TupleOrInterval, ...], *, has_or: bool, has_and: bool) -> Answer:
        """Returns the union for `or`, and for a comma between conditions that exclude each other; `and` may not join those."""
        common = None if has_or else intersection_of_rays(intervals)
        if common is None and has_and and opposite_rays(intervals):
            raise ExpressionError("conditions that exclude each other")
        return common or SetUnion(intervals)

    def parse_item(self, text: str) -> Answer:
        self.count_part()
        text = strip_outer_braces(strip_punctuation(text))
        if not text:
            raise ExpressionError("an empty part")
        text = patterns.POINT_LABEL.sub("", text) if patterns.POINT_LABEL.match(text) else text
        if text in ("\\ldots", "\\cdots", "\\dots"):
            return Value(Node("sym", ("\\ldots",)))
        if text.startswith("\\pm") and isinstance(point := self.parse_bracketed(text[3:].strip()), TupleOrInterval):
            return ListOrSet((point, negate_point(point)))
        for parse in (
            self.parse_real_set,
            self.parse_relation,
            self.parse_bracketed,
            self.parse_matrix,
            self.parse_base_numeral,
            self.parse_ratio,
        ):
            if (answer := parse(text)) is not None:
                return answer
        return self.parse_value(text)

    def parse_relation(self, text: str) -> Answer | None:
        """Parses a text with a relation sign outside brackets."""
        pieces, signs = split_relations(text)
        if not signs:
            return None
        if signs[0] == "\\in" and len(signs) == 1:
            return self.parse_list(pieces[1])
        if "\\approx" in signs:
            return self.parse_approximation(pieces, signs)
        if all(sign == "=" for sign in signs):
            return self.parse_equation(pieces)
        if ":" in pieces[-1] and "=" not in signs:  # x<-7:(-\infty,-7), one answer in two forms
            pieces[-1], _, second_form = pieces[-1].partition(":")
            return Approximation(self.parse_inequality(pieces, signs), self.parse_list(second_form))
        if "=" in signs:
            raise ExpressionError("an equation and an inequality in one chain")
        return self.parse_inequality(pieces, signs)

    def parse_approximation(self, pieces: list[str], signs: list[str]) -> Answer:
        at = signs.index("\\approx")
        rounded = self.parse_item(pieces[at + 1])
        if not pieces[0].strip():
            return rounded
        if at == 0 and patterns.NAME.fullmatch(pieces[0].strip()):
            return rounded
        return Approximation(self.parse_item(pieces[at]), rounded)

    def parse_equation(self, pieces: list[str]) -> Answer:
        """Parses `x = 5`, an equation, or a chain of steps whose last value counts."""
        left, right = pieces[0].strip(), pieces[-1].strip()
        if len(pieces) > MAX_EQUATION_CHAIN:
            raise ExpressionError("the chain of equations is too long")
        if not right:
            raise ExpressionError("nothing after the equals sign")
        name = re.sub(r"[\s{}]|\x02|\x03", "", patterns.DERIVATIVE.sub(r"\1'", left))
        if not left:
            return self.parse_list(right)
        if patterns.DENIED_NAME.search(left):
            raise ProseError(left[:40])
        if len(pieces) > 2 and not patterns.NAME.fullmatch(left) and patterns.VARIABLE_LETTER.search(left):
            if any(patterns.VARIABLE_LETTER.search(piece) for piece in pieces[1:]):
                raise ExpressionError("a chain of equations")
            return Assignment(name, self.parse_computation(pieces[1:]))
        if patterns.NAME.fullmatch(left) or patterns.DESCRIPTIVE_NAME.fullmatch(left):
            value = self.parse_list(right) if len(pieces) == 2 else self.parse_equation(pieces[1:])
            if name[0] == "(" and "\\circ" not in name and isinstance(value, Value):
                raise ExpressionError("a tuple that equals one number")
            return Assignment(name, value, self.parse_sides(left, right))
        if patterns.PROSE.search(re.sub(r"\\[A-Za-z]+", " ", left)):
            raise ProseError(left[:40])
        equation = self.parse_sides(left, right)
        if equation is None:  # B^{-1} = a matrix
            value = self.parse_list(right)
            if isinstance(value, Value):
                raise ExpressionError("an equation whose left side is not an expression")
            return Assignment(name, value)
        if symbols(equation.left) | symbols(equation.right):
            return equation if len(pieces) == 2 else self.parse_list(right)
        return self.parse_computation(pieces)

    def parse_computation(self, pieces: list[str]) -> Answer:
        """Parses `3 + 4 = 7`: the last value if all are equal, or an approximation if the last is a rounded decimal."""
        values = [self.parse_value(piece) for piece in pieces]
        nodes = [value.node for value in values if isinstance(value, Value)]
        if len(nodes) < len(values):
            raise ExpressionError("a chain of something other than values")
        last = nodes[-1]
        if all(numerically_equal(node, last) or numerically_equal(with_decimal_log(node), last) for node in nodes[:-1]):
            return values[-1]
        exact, rounded = constant_value(nodes[0]), constant_value(last)
        is_decimal = last.op == "num" and last.args[0].denominator > 1
        if len(nodes) == 2 and is_decimal and abs(exact - rounded) < abs(rounded) / 100:
            return Approximation(values[0], values[1])
        raise ProseError("sides that differ")

    def parse_sides(self, left: str, right: str) -> Equation | None:
        """Parses both sides as expressions; returns None where one of them is none."""
        try:
            equation = Equation(parse_expression(strip_units(left)), parse_expression(strip_units(right)))
        except ExpressionError:
            return None
        return None if has_plus_minus(equation.left) or has_plus_minus(equation.right) else equation

    def parse_inequality(self, pieces: list[str], signs: list[str]) -> Answer:
        nodes = [parse_expression(strip_units(piece)) for piece in pieces]
        if signs == ["\\ne"]:
            both_values = expand_plus_minus(nodes[1])
            excluded = both_values.items if both_values else (Value(nodes[1]),)
            return RealsWithout(excluded) if nodes[0].op == "sym" else Inequality(tuple(nodes), ("\\ne",))
        if set(signs) <= {">", "\\ge"}:
            nodes, signs = nodes[::-1], [{">": "<", "\\ge": "\\le"}[sign] for sign in signs[::-1]]
        if not set(signs) <= {"<", "\\le"}:
            raise ExpressionError("inequality signs of both directions")
        return Inequality(tuple(nodes), tuple(signs))

    def parse_real_set(self, text: str) -> Answer | None:
        """Parses a union, the real numbers with or without some of them, the positive ones, and the empty set."""
        pieces = split_outside_brackets(text, "\\cup")
        if len(pieces) > 1:
            return SetUnion(tuple(self.parse_item(piece) for piece in pieces))
        pieces = split_outside_brackets(patterns.REALS_MINUS_SET.sub(r"\\backslash ", text), "\\backslash")
        if patterns.POSITIVE_REALS.fullmatch(text):
            return TupleOrInterval("(", (Value(number_node("0")), Value(INFINITY)), ")")
        if len(pieces) == 2 and patterns.REAL_LINE.fullmatch(pieces[0].strip()):
            excluded = self.parse_item(pieces[1])
            return RealsWithout(excluded.items if isinstance(excluded, ListOrSet) else (excluded,))
        return REALS if patterns.REAL_LINE.fullmatch(text) else EMPTY_SET if text == "\\emptyset" else None

    def parse_bracketed(self, text: str) -> Answer | None:
        for opening, closing in BRACKET_PAIRS:
            if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening) + len(closing) - 1:
                content = text[len(opening) : -len(closing)]
                if is_balanced(content):
                    answer = self.parse_set(content) if opening == "\\{" else self.parse_tuple(opening, content, closing)
                    if answer is not None:
                        return answer
        return None

    def parse_tuple(self, opening: str, content: str, closing: str) -> Answer | None:
        """Parses a tuple, an interval, or an equation in brackets; returns None for a plain expression in brackets."""
        pieces = split_outside_brackets(content, ",")
        if len(pieces) == 1:
            pieces = split_outside_brackets(content, ";")
        if len(pieces) == 1 and "=" in content:
            return self.parse_item(content)
        if len(pieces) < 2:
            return None
        items = tuple(self.parse_item(piece) for piece in pieces)
        if (opening, closing) == ("(", ")") and (content.count("\\pm") == 1 or "\\mp" in content):
            return expand_point(items)
        return TupleOrInterval("(", items, ")") if opening == "\\langle" else TupleOrInterval(opening, items, closing)

    def parse_set(self, content: str) -> Answer:
        """Parses the elements, or the condition after the bar."""
        content = content.strip()
        for bar in ("|", ":"):
            head, _, condition = content.partition(bar)
            if bar in content and patterns.VARIABLE.fullmatch(head.strip().partition("\\in")[0].strip()):
                return self.parse_condition(condition)
        if not content:
            return EMPTY_SET
        pieces = split_outside_brackets(conjunctions_to_commas(content), ",")
        return ListOrSet(tuple(self.parse_item(piece) for piece in pieces), "set")

    def parse_condition(self, text: str) -> Answer:
        answer = self.parse_list(text)
        if isinstance(answer, Assignment):
            return answer.value
        return interval_of(answer) or answer

    def parse_matrix(self, text: str) -> Answer | None:
        match = patterns.MATRIX.fullmatch(text)
        if system := patterns.SYSTEM.fullmatch(text):
            return self.parse_system(system["body"])
        if not match:
            if "\\begin" in text:
                raise UnknownNotationError("an unknown environment")
            return None
        body = re.sub(r"^\s*\{[^{}]{0,40}\}", "", match["body"]) if match["kind"] == "array" else match["body"]
        rows = [row for row in body.split("\\\\") if row.strip()]
        cells = tuple(tuple(self.parse_item(cell) for cell in row.split("&")) for row in rows)
        if not cells or len({len(row) for row in cells}) != 1:
            raise ExpressionError("rows of different lengths")
        scale = match["scale"].strip()
        return scale_matrix(cells, parse_expression(scale)) if scale else Matrix(cells)

    def parse_system(self, body: str) -> Answer:
        """Parses equations that stand one below the other."""
        rows = [row.replace("&", " ").strip().rstrip(",;.") for row in body.split("\\\\") if row.strip()]
        items = tuple(self.parse_item(row) for row in rows)
        if not all(isinstance(item, Assignment | Equation) for item in items):
            raise UnknownNotationError("an environment of something other than equations")
        return items[0] if len(items) == 1 else ListOrSet(items)

    def parse_base_numeral(self, text: str) -> Answer | None:
        match = patterns.BASE_NUMERAL.fullmatch(text)
        if not match:
            return None
        base = int(match["base"] or BASE_WORDS[match["word"].lower()])
        digits = re.sub(r"[\s,]", "", match["digits"]).upper()
        if base == 10:
            return self.parse_value(digits)
        sign = "-" * digits.startswith("-")
        return BaseNumeral(sign + (digits.lstrip("-0") or "0"), base)

    def parse_ratio(self, text: str) -> Answer | None:
        pieces = split_outside_brackets(text, ":")
        if not 1 < len(pieces) < 6:
            return None
        if re.fullmatch(r"\d{1,2}:\d\d", text.strip()):  # a time of day keeps its digits
            return Ratio(tuple(Value(number_node(piece.strip())) for piece in pieces))
        return Ratio(tuple(self.parse_item(piece) for piece in pieces))

    def parse_value(self, text: str) -> Answer:
        """Parses one expression with its percent sign, units and number words."""
        word = normalize_prose(text)
        if word in NUMBER_WORDS:
            return Value(number_node(NUMBER_WORDS[word]))
        text, scale = split_scale_word(text)
        text = strip_units(text)
        percent = patterns.PERCENT.search(text)
        node = parse_expression(text[: percent.start()] if percent else text)

        if scale:
            node = Node("mul", (node, number_node(str(scale))))
        if percent:
            node = Node("div", (node, number_node("100")))
        return expand_plus_minus(node) or Value(node, bool(percent))
