"""Other words that a text has for its series: the ends of names that begin alike, and names in brackets behind others."""

import re
from collections import defaultdict
from collections.abc import Sequence

from passus.descriptions.names import LINE_NOUN

FAMILY = re.compile(r"(?<![\w-])(?P<family>[A-Za-z][\w.]*)-(?P<end>\w*[A-Z0-9]\w*)(?![\w-])")
SIZE = re.compile(r"\d+(?:\.\d+)?[bBmMkK]?")
ABSENCE = re.compile(r"(?:no|without|w/o) ", re.I)
MAX_FULL = 3
"""Times that a text may give the whole name, where it has the end of the name more often."""
IN_BRACKETS = re.compile(
    rf"\b(?:[Tt]he|[Oo]ur|[Aa]n?) (?P<name>[a-z][\w-]*) (?:{LINE_NOUN}|one) \((?P<other>[\w.+=-]*\w(?:[ =][\w.+-]*\w)?)\)"
)
"""The timid run (1e-6)."""


def ends_of_names(series: Sequence[str], text: str) -> dict[str, str]:
    """Returns the ends by which a text calls names that begin alike: r6 and r7 for heron-r6 and heron-r7."""
    families: dict[str, dict[str, str]] = defaultdict(dict)
    for match in FAMILY.finditer(text):
        if not SIZE.fullmatch(match["end"]):
            families[match["family"]][match["end"]] = match[0]
    found = {}
    for members in families.values():
        alone = {end: name for end, name in members.items() if name in series or end in series}
        for end, name in alone.items() if len(alone) > 1 else ():
            count, whole = _count(end, text), _count(name, text)
            if count and (end not in series or whole <= min(count, MAX_FULL)):
                found[end] = name
    return found


def _count(name: str, text: str) -> int:
    return len(re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def absences(series: Sequence[str], text: str) -> dict[str, str]:
    """Returns the other words for the absence of something: no replay for without replay."""
    found = {}
    for name in series:
        match = ABSENCE.match(name)
        for word in ("no", "without", "w/o") if match else ():
            other = f"{word} {name[match.end() :]}" if match else ""
            if other.lower() != name.lower() and re.search(rf"\b{re.escape(other)}\b", text, re.I):
                found[other] = name
    return found


def names_in_brackets(text: str) -> dict[str, str]:
    """Returns what several runs are called besides their names, where each has it in brackets."""
    found = {match["other"]: match["name"] for match in IN_BRACKETS.finditer(text)}
    return found if len(found) > 1 and len(set(found.values())) == len(found) else {}
