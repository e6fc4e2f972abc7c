"""Marks the words of a sentence that name panels: by name, by letter, by position, or all of them."""

import re
from collections.abc import Mapping, Sequence

from passus.descriptions.marking import Marked
from passus.descriptions.names import Names
from passus.descriptions.numbers import count_of
from passus.descriptions.reference_words import COUNT
from passus.descriptions.vocabulary import LENGTH_WORD

PANEL_LETTER = (
    r"(?:\b(?:in|on|of) )?(?:the )?(?:\b(?:panel|subplot|chart|plot|fig(?:ure|\.)?\s?\d*)\s?\(?(?P<a>[a-h])\)?(?![\w])"
    r"|(?<![\w(])\((?P<b>[a-h])\)(?=[\s,.;]|$))(?: panel)?"
)
PANEL_NOUN = r"(?:panels?|charts?|benchmarks?|subplots?|plots?|datasets?|diagrams?|tasks?|test sets?|graphs?|test suites?)"
ALL_PANELS = (
    rf"\b(?:in|on|of|across|for|over|within|by) (?:both|all|each|every(?: one)?|either|any|the (?:two|three|four))(?:"
    rf" of)?(?: the)?"
    rf"(?: (?:two|three|four))?(?: \w+)? (?:{PANEL_NOUN}|of them)\b|\b(?:in|on) (?:both|all) of them\b"
    rf"|\b(?:on|in) both\b(?=[.,;)]|$| at\b)"
    rf"|\b(?:both|all (?:two|three|four|\d)|either|every) {PANEL_NOUN}\b"
)
POSITION = re.compile(
    r"(?:\b(?:in|on|of|for) )?\bthe (?P<side>left|right|middle|cent(?:er|re)|upper|lower|top|bottom|first|second|third)"
    r"(?:-hand|most)? (?:panel|chart|plot|subplot|graph|diagram)\b",
    re.I,
).pattern


def mark_panels(marked: Marked, names: Names, pair: tuple[str, ...], short: Mapping[str, str] | None = None) -> None:
    """Marks panels. The pair is what "the former" and "the latter" stand for."""
    for name in sorted(names.panels, key=len, reverse=True):
        words = re.escape(name).replace(r",\ ", r"(?:,| at| with) ")  # "AIME, temperature 0": "AIME at temperature 0"
        marked.replace(
            rf"(?:\b(?:on|in|for|of) )?(?:the )?(?:panel )?\"?(?<![\w-]){words}(?![\w+]|-\w)\"?"
            r"(?: (?:panel|chart|benchmark|plot|dataset|set))?",
            "P",
            lambda _, panel=name: (panel,),  # type: ignore[misc]
        )

    for alias, panel in (short or {}).items():
        marked.replace(
            rf"(?:\b(?:on|in|for|of) )?(?:the )?(?<![\w-]){re.escape(alias)}(?![\w+]|-\w)(?: (?:panel|chart|benchmark))?",
            "P",
            lambda _, panel=panel: (panel,),  # type: ignore[misc]
        )

    def lettered(match: re.Match[str]) -> tuple[str, ...] | None:
        panel = panel_of((match["a"] or match["b"]).lower(), names)
        return (panel,) if panel else None

    marked.replace(PANEL_LETTER, "P", lettered)
    if len(names.panels) > 1:
        some = rf"\b(?:in|on) (?:exactly |only )?(?P<n>{COUNT}) of the (?:{COUNT} )?{PANEL_NOUN}\b"
        marked.replace(some, "P", lambda match: ("exactly", count_of(match["n"])))
        wins = rf"(?<=\bwins )(?:exactly |only )?(?P<n>{COUNT}) of the (?:{COUNT} )?{PANEL_NOUN}\b"
        marked.replace(wins, "P", lambda match: ("exactly", count_of(match["n"])))
        marked.replace(ALL_PANELS, "P", lambda match: _all_panels(match[0], names))
        if len(pair) == 2:
            marked.replace(
                r"\b(?:on|in) the (?P<which>latter|former)\b(?! \w+s?\b)",
                "P",
                lambda match: (pair[match["which"].lower() == "latter"],),
            )
        marked.replace(POSITION, "P", lambda match: positioned(match, names))
        here = r"\b(?:on|in) (?:this|that|the same) (?:benchmark|panel|chart)\b|\bthere\b(?=[.,;]|$)"
        marked.replace(here, "P", lambda _: ())


def _all_panels(words: str, names: Names) -> tuple[str, ...] | None:
    """Returns all panels, or none where there are not as many as the words say."""
    count = re.search(rf"\b(?:both|{COUNT})\b", words, re.I)
    number = 2 if count and count[0].lower() == "both" else count_of(count[0]) if count else len(names.panels)
    values = tuple(panel for panel in names.panels if not LENGTH_WORD.search(panel))
    if number == len(values) < len(names.panels):
        return values
    return tuple(names.panels) if number == len(names.panels) or (count and count[0].lower() == "one") else None


def panel_of(key: str, names: Names) -> str | None:
    """Returns the panel that a letter or a side stands for. Letters without names go by the order of the panels."""
    known = names.panel_aliases.get(key)
    if known in names.panels:
        return known
    inside = [panel for panel in names.panels if known and known.lower() in panel.lower()]
    if known:
        return inside[0] if len(inside) == 1 else None
    place = "abcdefgh".find(key) if len(key) == 1 else -1
    taken = set(names.panel_aliases.values())
    return names.panels[place] if 0 <= place < len(names.panels) and names.panels[place] not in taken else None


def short_names(panels: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """Returns short names that a text gives to panels in brackets: "LiveCodeBench (LCB)"."""
    found: dict[str, str] = {}
    for panel in panels:
        pattern = re.compile(rf"(?<![\w-]){re.escape(panel)} \((?P<short>[A-Z][\w-]{{1,9}})[),;]")
        for text in texts:
            if (match := pattern.search(text)) and match["short"] not in panels and _is_short_for(match["short"], panel):
                found.setdefault(match["short"], panel)
    return found


def _is_short_for(short: str, name: str) -> bool:
    """Returns whether the letters of an abbreviation occur in a name, in their order."""
    letters = iter(name.lower())
    return name[:1].lower() == short[0].lower() and all(letter in letters for letter in short.lower() if letter.isalnum())


def panel_in(text: str, names: Names, short: Mapping[str, str]) -> str | None:
    """Returns the only panel that a text names, by its name, letter or side."""
    marked = Marked(text)
    mark_panels(marked, names, (), short)
    found = {part[0] for part in marked.parts if len(part) == 1}
    return found.pop() if len(found) == 1 and all(len(part) == 1 for part in marked.parts) else None


def positioned(match: re.Match[str], names: Names) -> tuple[str, ...] | None:
    """Returns the panel that a side names, where panels are in the order of the text: two, or three with a middle."""
    side = match["side"].lower()
    if side in names.panel_aliases and (panel := panel_of(side, names)):
        return (panel,)
    panels = names.panels
    if side in ("first", "second", "third"):
        place = ("first", "second", "third").index(side)
        return (panels[place],) if place < len(panels) else None
    if len(panels) == 2 and side in ("left", "upper", "top", "right", "lower", "bottom"):
        return (panels[side in ("right", "lower", "bottom")],)
    if len(panels) == 3:
        places = {"left": 0, "top": 0, "upper": 0, "middle": 1, "center": 1, "centre": 1, "right": 2, "bottom": 2, "lower": 2}
        return (panels[places[side]],)
    return None
