"""Check of golds: whether any model's answer could be compared with them."""

import re

from passus.grading.answer_parser import parse_answer
from passus.grading.answer_types import Unsupported, Words
from passus.grading.canonical import plain_number
from passus.grading.equivalence import gold_alternatives
from passus.grading.multiple_choice import parse_choice
from passus.grading.verdict import Rule

MAX_PROSE_WORDS = 12
"""Words of a gold in prose that a model can be expected to repeat."""


def check_gold(gold: str, rule: Rule) -> str | None:
    """Returns why no answer could be compared with this gold; None if one can."""
    if rule.kind == "choice":
        return None if parse_choice(gold, rule.choices) else f"{gold[:60]!r} is not the letter of a choice"
    if plain_number(gold) is not None:
        return None
    if not gold.strip():
        return "it is empty"
    parsed = parse_answer(gold_alternatives(gold)[0])
    if isinstance(parsed, Words):
        count = len(parsed.text.split()) + len(re.findall(r"[一-龥]", parsed.text)) // 2
        return f"it is prose of {count} words" if count > MAX_PROSE_WORDS else None
    if isinstance(parsed, Unsupported):
        return f"only its own spelling and math-verify can match it: {parsed.reason}"
    return None
