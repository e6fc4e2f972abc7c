"""Check of answers that math-verify accepts: it compares one of several formulas and ignores the rest of the text."""

import re

from passus.grading.latex_normalize import COMMAND, normalize_latex
from passus.grading.vocabulary import (
    ACCENTS,
    FUNCTIONS,
    HEDGES,
    MATH_VERIFY_COMMANDS,
    NON_FACTOR_COMMANDS,
    SYMBOL_COMMANDS,
)

EVALUATED_COMMANDS = frozenset(
    "\\" + name
    for name in (FUNCTIONS | SYMBOL_COMMANDS | ACCENTS | NON_FACTOR_COMMANDS | MATH_VERIFY_COMMANDS) - {"ldots", "approx"}
)
"""Commands that math-verify evaluates. From `5 \\sim 6` it would take the 5."""
LIMIT = re.compile(r"\\lim\s*_\s*\{[^{}]{0,40}\}")
WITHOUT_BOUNDS = re.compile(r"\\(?:sum|prod|lim)(?![A-Za-z])(?!\s*(?:\\limits\s*)?_)")


def says_more_than(answer: str, gold: str) -> bool:
    """Returns whether an answer hedges or says more than the gold, which math-verify does not notice."""
    answer, gold = (LIMIT.sub(r"\\lim_", normalize_latex(text)) for text in (answer, gold))
    if answer.count(",") > gold.count(",") or len(answer) > 4 * len(gold) + 40:
        return True
    if set(COMMAND.findall(answer)) - set(COMMAND.findall(gold)) - EVALUATED_COMMANDS or WITHOUT_BOUNDS.search(answer):
        return True
    words = re.findall(r"[a-z]+", COMMAND.sub(" ", answer).lower())
    return any(word in HEDGES for word in words if word not in gold.lower())
