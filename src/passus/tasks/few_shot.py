"""Worked examples for few-shot prompts, written for passus. None is taken from a benchmark."""

from dataclasses import replace
from functools import lru_cache

from passus.tasks.prompt import BOXED, PromptStyle, with_options

STEM_EXAMPLES = (
    (
        "A cell is put into water that holds far less salt than the cell does. What happens first?",
        ("Water flows into the cell", "Water flows out of the cell", "Salt flows into the cell", "Nothing at all"),
        "Water moves through a membrane towards the side with more dissolved matter. That side is the inside of the cell, so "
        "water flows in. The answer is \\boxed{A}.",
    ),
    (
        "How many grams of water form when 4 g of hydrogen burn completely? (H = 1, O = 16)",
        ("18", "36", "20", "9"),
        "4 g of hydrogen are 2 mol of H2. Each mole of H2 gives one mole of H2O, so 2 mol of water form, and 2 x 18 g = 36 g. "
        "The answer is \\boxed{B}.",
    ),
    (
        "A stone falls from rest without resistance. How does its speed after 6 s compare with its speed after 2 s?",
        ("It is the same", "It is twice as large", "It is three times as large", "It is nine times as large"),
        "From rest the speed is g t, in proportion to the time. 6 s are three times 2 s, so the speed is three times as large. "
        "The answer is \\boxed{C}.",
    ),
    (
        "What is the slope of the curve y = x^3 - 5x at x = 2?",
        ("-2", "3", "12", "7"),
        "The derivative is 3x^2 - 5. At x = 2 it is 3 x 4 - 5 = 7. The answer is \\boxed{D}.",
    ),
    (
        "A sorted list holds 1000 entries. About how many comparisons does a binary search need at most?",
        ("10", "100", "500", "1000"),
        "Every comparison halves what is left, and 2^10 = 1024 is just above 1000, so ten comparisons are enough. "
        "The answer is \\boxed{A}.",
    ),
)


@lru_cache
def boxed_style(kind: str, language: str, shots: int) -> PromptStyle:
    """Returns the style that asks for a box, with the first examples as shots."""
    examples = tuple((with_options(question, options), answer) for question, options, answer in STEM_EXAMPLES[:shots])
    return replace(BOXED[kind, language], shots=examples)
