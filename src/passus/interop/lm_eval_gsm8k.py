"""GSM8K's strict and flexible match, as lm-eval counts them, so that its figures and ours can stand side by side.

strict: the number after `#### `. flexible: the last thing in the text that looks like a number. Either is then compared as text
with the gold, letter by letter, without commas, dollar signs and a dot at the end.
"""

import re

STRICT = re.compile(r"#### (\-?[0-9\.\,]+)")
FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
INVALID = "[invalid]"
"""What lm-eval writes where nothing was found."""
FILTERS = ("strict-match", "flexible-extract")


def strict(output: str) -> str:
    """The first such number."""
    found = STRICT.search(output)
    return found[1].strip() if found else INVALID


def flexible(output: str) -> str:
    """The last one; a dot or comma at its end belongs to it."""
    found = FLEXIBLE.findall(output)
    return next(group for group in found[-1] if group).strip() if found else INVALID


def matches(extracted: str, gold: str) -> bool:
    return _plain(extracted) == _plain(gold)


def _plain(text: str) -> str:
    """Case is ignored, and so is all that stands before the last `#### `."""
    bare = text.replace(",", "").replace("$", "").rpartition("#### ")[2]
    return re.sub(r"\.$", "", bare).lower()


def scores(output: str, gold: str) -> dict[str, tuple[str, bool]]:
    """By filter: what was extracted, and whether it matches."""
    extracted = (strict(output), flexible(output))
    return {name: (text, matches(text, gold)) for name, text in zip(FILTERS, extracted, strict=True)}
