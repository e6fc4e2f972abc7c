"""How a verdict came about, in sentences: what was extracted and by which rule, how it was parsed, and how it was compared."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from passus.grading.answer_parser import parse_answer
from passus.grading.answer_types import Value
from passus.grading.canonical import plain_number
from passus.grading.commitment import NoAnswer
from passus.grading.equivalence import gold_alternatives
from passus.grading.expression import ExpressionError, Node, symbols
from passus.grading.extract import ExtractedAnswer, extract_answer
from passus.grading.grade import compare_answer
from passus.grading.multiple_choice import ChoiceReading, parse_choice
from passus.grading.numeric import constant_value
from passus.grading.verdict import Extract, Grade, Rule

MAX_SHOWN = 200
"""Characters of a text that are shown."""
SOURCES = {
    "box": "the last box that closes",
    "hashes": "the text after ####",
    "tag": "an answer tag",
    "phrase": "a phrase that announces the answer",
    "heading": "the line after a heading",
    "last line": "the last line",
    "closing sentence": "the closing sentence",
    "choice": "a sentence that names an option",
    "bare": "the whole output, which is one short line",
}
OPERATORS = {"add": " + ", "mul": "*", "div": "/", "pow": "^"}


def explain_grade(output: str, gold: str, graded: Grade, *, truncated: bool, rule: Rule, extract: Extract) -> list[str]:
    """Returns the steps from an output to its grade, one sentence each."""
    return [*_steps(output, gold, truncated, rule, extract), f"verdict: {graded.verdict} ({graded.reason or 'no reason'})"]


def _steps(output: str, gold: str, truncated: bool, rule: Rule, extract: Extract) -> Iterator[str]:
    if truncated:
        yield "extracted: nothing, because the token limit cut the output off"
        return
    if not gold.strip():
        yield "compared: nothing, because the gold is empty"
        return
    reading = ChoiceReading(rule.choices) if rule.kind == "choice" else None
    answer = extract_answer(output, extract, reading) if reading else extract_answer(output, extract)
    if isinstance(answer, NoAnswer):
        yield f"extracted: nothing, because {answer.reason} (extract = {extract})"
        return
    yield f"extracted: {_shown(answer.text)} from {SOURCES[answer.source]} (extract = {extract})"
    yield from _choice_steps(answer, gold, rule) if rule.kind == "choice" else _math_steps(answer, gold, rule)


def _choice_steps(answer: ExtractedAnswer, gold: str, rule: Rule) -> Iterator[str]:
    letters, gold_letters = parse_choice(answer.text, rule.choices), parse_choice(gold, rule.choices)
    yield f"parsed answer: {_chosen(letters)}"
    yield f"parsed gold: {_chosen(gold_letters)}"
    yield f"compared: letters, {'equal' if letters == gold_letters else 'different'}"


def _chosen(letters: str | None) -> str:
    return "no choice" if letters is None else f"choice {letters}" if letters else "no choice between several letters"


def _math_steps(answer: ExtractedAnswer, gold: str, rule: Rule) -> Iterator[str]:
    yield f"parsed answer: {describe(answer.text)}"
    alternatives = gold_alternatives(gold) or [gold]
    yield f"parsed gold: {' or '.join(map(describe, alternatives))}"
    equal, method = compare_answer(answer.text, gold, rule)
    result = {True: "equal", False: "different", None: "undecided, which math-verify decides"}[equal]
    tolerance = f", tolerance {rule.tolerance:g}" if rule.tolerance else ""
    yield f"compared: {method}{tolerance}, {result}{_numbers(answer.text, alternatives[0]) if not equal else ''}"


def describe(text: str) -> str:
    """Returns the kind and the content of an answer as it is parsed."""
    number = plain_number(text)
    return _cut(f"number {number}") if number is not None else _cut(_describe(parse_answer(text)))


def _describe(parsed: Any) -> str:
    if isinstance(parsed, Node):
        return expression_text(parsed)
    if isinstance(parsed, tuple | frozenset):
        return "(" + ", ".join(map(_describe, parsed)) + ")"
    if not is_dataclass(parsed):
        return str(parsed)
    values = {field.name: getattr(parsed, field.name) for field in fields(parsed) if field.name != "equation"}
    texts = {name: _describe(value) for name, value in values.items() if value}
    content = [text if name in UNNAMED else f"{name} {text}" for name, text in texts.items()]
    return f"{KINDS.get(type(parsed).__name__, type(parsed).__name__)} {' '.join(content)}".strip()


UNNAMED = frozenset({"node", "text", "items", "rows", "parts", "nodes", "digits"})
KINDS = {
    "Value": "expression", "Words": "words", "Unsupported": "unknown notation", "TupleOrInterval": "tuple or interval",
    "ListOrSet": "list", "SetUnion": "union", "RealsWithout": "all reals except", "Matrix": "matrix",
    "Assignment": "assignment", "Equation": "equation", "Inequality": "inequality", "BaseNumeral": "numeral", "Ratio": "ratio",
    "Approximation": "approximation", "Congruence": "congruence",
}  # fmt: skip


def expression_text(node: Node) -> str:
    """Returns an expression in plain text, with brackets around every operation."""
    if node.op in ("num", "sym"):
        return str(node.args[0])[:MAX_SHOWN] if node.op == "sym" else _number(node)
    parts = list(map(expression_text, node.args))
    if node.op == "neg":
        return f"-{parts[0]}"
    if node.op in OPERATORS:
        return "(" + OPERATORS[node.op].join(parts) + ")"
    return parts[0] if node.op == "group" else f"{node.op.removeprefix('call:')}({', '.join(parts)})"


def _number(node: Node) -> str:
    value = node.args[0]
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 4000:
        return "a long number"
    return str(value)


def _numbers(answer: str, gold: str) -> str:
    """Returns both values as decimals, where both are constants."""
    values = []
    for text in (answer, gold):
        parsed = parse_answer(text)
        if not isinstance(parsed, Value) or symbols(parsed.node):
            return ""
        try:
            values.append(str(constant_value(parsed.node))[:24])
        except ExpressionError:
            return ""
    return f": {values[0]} against {values[1]}"


def _shown(text: str) -> str:
    return f"`{_cut(text)}`"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."
