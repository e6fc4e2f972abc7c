"""Plain numbers, and one canonical spelling for equal answers."""

import re
from decimal import Context, Decimal
from fractions import Fraction

from passus.grading.answer_parser import parse_answer
from passus.grading.answer_text import compact
from passus.grading.answer_types import Value, Words
from passus.grading.boxes import LONG_INTEGER, MAX_ANSWER
from passus.grading.expression import ExpressionError
from passus.grading.rational import rational_value

# No exponent is allowed, so that a few characters cannot mean a billion digits.
NUMBER = re.compile(r"-?([0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+)(\.[0-9]+)?")
MAX_DECIMAL_PLACES = 12
MAX_DECIMAL_LENGTH = 27
MAX_DECIMAL_BITS = 10_000
"""Python refuses to write integers of more than 4300 digits in decimal."""


def plain_number(text: str) -> Decimal | None:
    """Returns 1000 for `$1,000.00` and for `1000.`, and None for a text that is not a number."""
    if len(text) > MAX_ANSWER and not LONG_INTEGER.fullmatch(text):
        return None
    bare = text.replace("\\$", "$").strip("$ \t\n").removesuffix(".").strip("$ \t\n")
    return Decimal(bare.replace(",", "")) if NUMBER.fullmatch(bare) else None


def canonical(answer: str) -> str:
    """Returns one spelling for answers that are equal, so that votes for them are counted together."""
    number = plain_number(answer)
    if number is not None:
        return format(number.normalize(Context(prec=max(MAX_ANSWER, len(answer)))), "f") if number else "0"
    parsed = parse_answer(answer)
    if isinstance(parsed, Value):
        try:
            rational = rational_value(parsed.node)
        except ExpressionError:
            rational = None
        if rational is not None:
            return _decimal_or_fraction(rational)
    return parsed.text if isinstance(parsed, Words) else compact(answer)


def _decimal_or_fraction(value: Fraction) -> str:
    """Returns a decimal where that is exact and short, else a fraction."""
    for places in range(MAX_DECIMAL_PLACES + 1):
        if 10**places % value.denominator == 0:
            text = format(Decimal(value.numerator) / Decimal(value.denominator) if places else Decimal(value.numerator), "f")
            return text if len(text) <= MAX_DECIMAL_LENGTH else _fraction(value)
    return _fraction(value)


def _fraction(value: Fraction) -> str:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_DECIMAL_BITS:
        return f"{value.numerator:#x}/{value.denominator:#x}"
    return str(value)
