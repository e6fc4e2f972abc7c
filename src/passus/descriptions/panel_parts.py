"""Which part of a sentence is about which panel, where it names several: "0.5 on GSM8K and 0.6 on SVAMP"."""

import re
from collections.abc import Sequence
from dataclasses import replace

from passus.descriptions.names import PANEL_REFERENCE, Names
from passus.descriptions.number_roles import NumberItem, end_of
from passus.descriptions.panel_titles import REFERENCE, key_of
from passus.descriptions.segments import Segment

BEHIND = re.compile(r"(?:%|\s?percent)?(?:\s\w+)?,?\s(?:on|in|for)\s(?:the\s)?\W*", re.I)

PanelSpan = tuple[int, int, str]


def panel_spans(text: str, names: Names) -> list[PanelSpan]:
    """Returns where a text names panels, from left to right; nothing where it names one at most."""
    lettered = [(match, (match[1] or match[2]).lower()) for match in PANEL_REFERENCE.finditer(text)]
    keyed = [*lettered, *((match, key_of(match)) for match in REFERENCE.finditer(text))]
    aliases = names.panel_aliases
    spans = [(match.start(), match.end(), aliases[key]) for match, key in keyed if aliases.get(key)]
    for name in names.panels:
        found = re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w+]|-\w)", text, re.I)
        spans += [(match.start(), match.end(), name) for match in found]
    return sorted(spans) if len({name for *_, name in spans}) > 1 else []


def without_panels(text: str, names: Names) -> str:
    """Overwrites the names of panels that have digits, which are no numbers. The text keeps its length."""
    for name in names.panels:
        if re.search(r"\s[0-9]", name):
            text = re.sub(re.escape(name), lambda match: "_" * len(match[0]), text, flags=re.I)
    return text


def parts_by_panel(
    segment: Segment, masked: str, items: Sequence[NumberItem], spans: Sequence[PanelSpan]
) -> list[tuple[Segment, str | None]]:
    """Cuts a part of a sentence at the panels that it names, each before its values or right behind them."""
    before = [name for start, _, name in spans if start < segment.start]
    panel = before[-1] if before else None
    inside = [span for span in spans if segment.start <= span[0] < segment.end]
    values = [i for i in items if i.role in ("value", "length") and segment.start <= i.number.start < segment.end]
    if not inside or not values:
        return [(segment, panel)]
    if is_behind(masked, values, inside[0]):
        cuts = [segment.start, *(end for _, end, _ in inside[:-1]), segment.end]
        named: list[str | None] = [name for *_, name in inside]
    else:
        cuts = [segment.start, *(start for start, _, _ in inside), segment.end]
        named = [panel, *(name for *_, name in inside)]
    pieces = zip(cuts, cuts[1:], named, strict=False)
    return [(replace(segment, start=a, end=b), name) for a, b, name in pieces if b > a]


def is_behind(masked: str, values: Sequence[NumberItem], span: PanelSpan) -> bool:
    """Returns whether a panel stands right behind its value: "0.5 on GSM8K"."""
    before = [item for item in values if item.number.start < span[0]]
    return bool(before) and BEHIND.fullmatch(masked, end_of(before[-1].number), span[0]) is not None
