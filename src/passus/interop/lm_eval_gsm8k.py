"""Strict and flexible match of GSM8K as lm-eval computes them, so that its scores and those of passus can be compared.

Strict match extracts the number after `#### `; flexible match extracts the last text that looks like a number. Both are then
compared with the gold as text, without commas, dollar signs and a final dot.
"""

import re

STRICT = re.compile(r"#### (\-?[0-9\.\,]+)")
FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
INVALID = "[invalid]"
"""Text that lm-eval writes if nothing matches."""
FILTERS = ("strict-match", "flexible-extract")


def extract_strict(output: str) -> str:
    """Returns the first match of STRICT."""
    match = STRICT.search(output)
    return match[1].strip() if match else INVALID


def extract_flexible(output: str) -> str:
    """Returns the last match of FLEXIBLE, including a dot or comma at its end."""
    matches = FLEXIBLE.findall(output)
    return next(group for group in matches[-1] if group).strip() if matches else INVALID


def is_match(extracted: str, gold: str) -> bool:
    return _normalise(extracted) == _normalise(gold)


def _normalise(text: str) -> str:
    """Removes everything up to the last `#### `, and ignores case."""
    bare = text.replace(",", "").replace("$", "").rpartition("#### ")[2]
    return re.sub(r"\.$", "", bare).lower()


def scores(output: str, gold: str) -> dict[str, tuple[str, bool]]:
    """Returns, for each filter, the extracted text and whether it matches the gold."""
    extracted = (extract_strict(output), extract_flexible(output))
    return {name: (text, is_match(text, gold)) for name, text in zip(FILTERS, extracted, strict=True)}
