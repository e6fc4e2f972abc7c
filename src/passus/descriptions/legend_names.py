"""Names of lines by their look: "GRPO in blue", "SFT only (grey squares)", "Blue is Sync", "the teal line (Heron)"."""

import re
from collections.abc import Iterator, Sequence

from passus.descriptions.layout import plain
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, MEASURE_WORD

STROKES = r"(?:solid|dashed|dotted|dash-dotted)"
LINES = r"(?:lines?|curves?|ones?|traces?|series|bars?|circles?|squares?|triangles?|diamonds?|dots|markers?)"
LOOK = (
    rf"(?:[Tt]he )?(?:(?:thick|thin|solid|dashed|dotted) )?(?:{COLOUR.pattern[2:-2]}"
    rf"|{STROKES})\b(?:[ -]{STROKES})?(?: {LINES})*(?: \([^()]{{1,24}}\))?"
)
QUOTED = r"\"[^\"]{1,40}\""
WORDS = r"[\w@+./=%-]+(?: (?!and\b|is\b|on\b|in\b|at\b|for\b)[\w@+./=%-]+){0,3}"
LOOK_IS = re.compile(
    rf"(?<!\w)(?P<look>{LOOK})\s?(?P<verb>:|=|\u2014| (?:is(?: for)?|shows?|represents?|denotes?|stands? for|refers? to"
    rf"|is used for"
    rf"|marks?|depicts?|corresponds? to|belongs? to))\s+(?:the |your |our )?(?P<name>{QUOTED}|{WORDS})(?=\W|$)",
    re.I,
)
LOOK_NAMED = re.compile(
    rf"(?<!\w)(?P<look>[Tt]he (?:\w+ )?{COLOUR.pattern}(?: {STROKES})? (?:line|curve|one|trace))"
    r"(?: \((?P<name>[^()\d][^()]{0,30})\)|, (?P<other>[A-Z][^,;:.]{1,40}),)"
)
LOOK_FOR = re.compile(
    rf"(?<!\w)(?P<look>(?:{STROKES} )?(?:{COLOUR.pattern[2:-2]})(?: {LINES})*(?: with (?:[\w-]+ ){{0,3}}?{LINES})?) for "
    rf"(?P<name>{QUOTED}|[A-Z][\w.+-]*(?: \+ [\w-]+| w/o [\w-]+| \([^()\d]{{2,24}}\))?)",
    re.I,
)
"""A dashed orange line with square markers for Osprey."""
LOOK_THEN_NAME = re.compile(
    rf"(?:,|\band) the (?P<look>{COLOUR.pattern}(?: {LINES})?) (?P<name>{QUOTED}|[A-Z][\w.+-]*)(?=\s*(?:[.,;]|and\b|$))"
)
"""The red curve represents Quill, the grey curve Pennant and the black curve Vellum."""
IN_COLOUR = re.compile(
    rf"(?P<name>[^,;:()]{{2,40}}?)\s+(?:in|as a|is the|=)\s+(?:a |the )?(?:\w+ )?{COLOUR.pattern}(?: line| curve)?", re.I
)
NAME_IN_COLOUR = re.compile(rf"(?:^|(?<=[.;] ))(?P<name>[A-Z][^,;:().]{{1,40}}), in (?:an? |the )?(?:\w+ )?{COLOUR.pattern},")
BRACKET_COLOUR = re.compile(r"(?P<name>[^,;:()]{2,40}?)\s*\((?P<look>[^()]{3,40})\)")
NO_NAME = re.compile(
    r"(?:at|on|in|above|below|always|never|still|the|a|an|not|also|only|first|last|flat|higher|lower|highest|lowest|ahead"
    r"|behind|best"
    r"|worst|better|worse|near|nearly|about|almost|clearly|no longer|up|down|back|far|well|over|under|within|between|by|to"
    r"|from|of|its"
    r"|it|one|two|three|four|uppermost|topmost|steeper|longer|shorter|already|just|even|more|less|most|least|all|thus|so)\b",
    re.I,
)


def described_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yields names with the looks of their lines, where the name stands first: "GRPO in blue", "SFT only (grey squares)"."""
    for match in BRACKET_COLOUR.finditer(text):
        if COLOUR.search(match["look"]):
            yield last_words(match["name"]), match["look"]
    for match in NAME_IN_COLOUR.finditer(text):
        yield match["name"].strip(), match[0][match.end("name") - match.start() :]
    for match in IN_COLOUR.finditer(text):
        yield last_words(match["name"]), match[0]


def legend_pairs(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Returns names with the looks of their lines, where the look stands first. One alone is no legend."""
    found: dict[str, str] = {}
    for text in texts:
        for match in LOOK_IS.finditer(text):
            if name := _legend_name(match):
                found.setdefault(name, match["look"])
        for pattern in (LOOK_FOR, LOOK_THEN_NAME):
            for match in pattern.finditer(text):
                if re.match(r"\"|[A-Z]", match["name"]):
                    found.setdefault(plain(match["name"].strip(' ".')), match["look"])
        for match in LOOK_NAMED.finditer(text):
            found.setdefault(plain((match["name"] or match["other"]).strip(" \"'")), match["look"])
    looks = {_look_word(look) for look in found.values()}
    return list(found.items()) if len(looks) > 1 and len(found) > 1 else []


def _look_word(look: str) -> str:
    words = [*COLOUR.findall(look), *re.findall(STROKES, look, re.I)]
    return words[0].lower() if words else ""


def _legend_name(match: re.Match[str]) -> str:
    name = match["name"].strip(" \"'.,")
    is_said = match["name"].startswith('"') or match["verb"].strip() not in ("is", "shows", "show", "marks")
    if not name or re.fullmatch(r"[~\d.,%]+.*", name) or re.match(LOOK, name):
        return ""
    measure = re.search(rf"\s+(?:{MEASURE_WORD.pattern}|{LENGTH_WORD.pattern})$", name, re.I)
    if measure:
        return name[: measure.start()]  # "The solid one is train accuracy"
    if MEASURE_WORD.search(name) or LENGTH_WORD.search(name):
        return ""
    if is_said or (not NO_NAME.match(name) and re.search(r"[A-Z0-9+=_-]", name)):
        return re.sub(rf"\s+{LINES}$|\s+(?:models?|runs?)$", "", name)
    return ""


def last_words(text: str) -> str:
    """Returns the name at the end of some words: after "and", "with", "of"."""
    text = re.sub(r"^\(?[a-z0-9]{1,2}[.)]\s+", "", text.strip())
    words = re.sub(
        r"^.*\b(?:and|with|of|for|by|vs\.?|methods|models|lines|runs|names|are|show|training|in|is|to)\b:?\s+",
        "",
        text.strip(),
        flags=re.I,
    )
    return plain(words).strip(" \"'\u25a0\u25b2\u25cf\u25c6\u2605\u25cb\u25a1\u25b3\u25c7\u25bc\u25ba\u25b6\u25aa\u2022")
