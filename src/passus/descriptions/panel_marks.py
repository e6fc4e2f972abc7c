"""Marks the words of a sentence that name panels: by name, by letter, by position, or all of them."""

import re
from collections.abc import Sequence

from passus.descriptions.marking import Marked
from passus.descriptions.names import Names
from passus.descriptions.numbers import count_of
from passus.descriptions.references import COUNT

PANEL_LETTER = (
    r"(?:\b(?:in|on|of) )?(?:the )?(?:\b(?:panel|subplot|chart|plot|fig(?:ure|\.)?\s?\d*)\s?\(?(?P<a>[a-h])\)?(?![\w])"
    r"|(?<![\w(])\((?P<b>[a-h])\)(?=[\s,.;]|$))(?: panel)?"
)
ALL_PANELS = (
    r"\b(?:in|on|of|across|for) (?:both|all|each|every(?: one)?|either|any)(?: of)?(?: the)?(?: \w+)? (?:panels?|charts?"
    r"|benchmarks?|plots?"
    r"|datasets?|of them)\b|\b(?:in|on) (?:both|all) of them\b|\bon any benchmark\b"
)
POSITION = re.compile(
    r"(?:\b(?:in|on|of) )?\bthe (?P<side>left|right|middle|cent(?:er|re)|upper|lower|top|bottom)(?:-hand|most)? "
    r"(?:panel|chart|plot|subplot|graph)\b",
    re.I,
).pattern


def mark_panels(marked: Marked, names: Names, pair: tuple[str, ...]) -> None:
    """Marks panels. The pair is what "the former" and "the latter" stand for."""
    for name in sorted(names.panels, key=len, reverse=True):
        words = re.escape(name).replace(r",\ ", r"(?:,| at| with) ")  # "AIME, temperature 0": "AIME at temperature 0"
        marked.replace(
            rf"(?:\b(?:on|in|for|of) )?(?:the )?(?:panel )?\"?(?<![\w-]){words}(?![\w+]|-\w)\"?"
            r"(?: (?:panel|chart|benchmark|plot|dataset|set))?",
            "P",
            lambda _, panel=name: (panel,),  # type: ignore[misc]
        )

    def lettered(match: re.Match[str]) -> tuple[str, ...] | None:
        panel = names.panel_aliases.get((match["a"] or match["b"]).lower())
        return (panel,) if panel else None

    marked.replace(PANEL_LETTER, "P", lettered)
    if len(names.panels) > 1:
        marked.replace(ALL_PANELS, "P", lambda _: tuple(names.panels))
        some = rf"\b(?:in|on) (?:exactly |only )?(?P<n>{COUNT}) of the (?:{COUNT} )?(?:panels|charts|benchmarks)\b"
        marked.replace(some, "P", lambda match: ("exactly", count_of(match["n"])))
        wins = rf"(?<=\bwins )(?:exactly |only )?(?P<n>{COUNT}) of the (?:{COUNT} )?(?:panels|charts|benchmarks)\b"
        marked.replace(wins, "P", lambda match: ("exactly", count_of(match["n"])))
        if len(pair) == 2:
            marked.replace(
                r"\b(?:on|in) the (?P<which>latter|former)\b(?! \w+s?\b)",
                "P",
                lambda match: (pair[match["which"].lower() == "latter"],),
            )
        marked.replace(POSITION, "P", lambda match: positioned(match, names.panels))
        here = r"\b(?:on|in) (?:this|that|the same) (?:benchmark|panel|chart)\b|\bthere\b(?=[.,;]|$)"
        marked.replace(here, "P", lambda _: ())


def positioned(match: re.Match[str], panels: Sequence[str]) -> tuple[str, ...] | None:
    """Returns the panel that a side names, where panels are in the order of the text: two, or three with a middle."""
    side = match["side"].lower()
    if len(panels) == 2 and side in ("left", "upper", "top", "right", "lower", "bottom"):
        return (panels[side in ("right", "lower", "bottom")],)
    if len(panels) == 3:
        places = {"left": 0, "top": 0, "upper": 0, "middle": 1, "center": 1, "centre": 1, "right": 2, "bottom": 2, "lower": 2}
        return (panels[places[side]],)
    return None
