"""Names that a text enumerates, or introduces in brackets."""

import re
from collections.abc import Iterator, Sequence

from passus.descriptions.name_tokens import Word
from passus.descriptions.names import COMMON, LINE_NOUN, VERB
from passus.descriptions.numbers import count_of
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, MEASURE_WORD

COUNTED_LIST = re.compile(
    r"\b(?P<count>two|three|four|five|six|seven|eight|[2-8]) (?:[\w-]+ ){0,3}?[a-z-]+s\b(?P<between>[^.;\d]{0,60}?)"
    r"(?:\bnamely|\bcalled|:|,|\u2014|\(|\bare)\s+(?P<list>[^.;:]{5,160})",
    re.I,
)
BENCHMARKS = re.compile(
    r"\b(?:benchmarks?|test sets?|datasets?|tasks|suites|domains|panels|charts|plots|figures|quantities|metrics|axes)\b", re.I
)
NO_PART = re.compile(r"(?<![\w.-])[~]?\d+(?:[.,]\d+)*(?:\s?%)?(?![\w-]| [a-z])|\b(?:to|for|at|of|by) ")
LIST_GAP = re.compile(r",? and |,? or |, ")


def counted_lists(text: str) -> Iterator[list[str]]:
    """Yields lists whose length the text states, "three schedules were compared, namely constant, cosine and WSD"."""
    for match in COUNTED_LIST.finditer(text):
        is_of_panels = BENCHMARKS.search(match[0][: match.start("list") - match.start()])
        if not is_of_panels and (parts := _parts(match["list"], count_of(match["count"]))):
            yield parts


def _parts(text: str, count: int) -> list[str]:
    """Returns the names of a list, or nothing where it has not as many or parts of it are no names."""
    parts = [re.sub(r"\s*\([^()]*\)?", "", part).strip(" \"'`)") for part in LIST_GAP.split(text, maxsplit=count - 1)]
    if len(parts) != count or count < 2:
        return []
    parts[-1] = re.split(rf",|\b{VERB}\b|\bwith\b|\bon\b|\bin\b|\bfor\b|\bto\b", parts[-1])[0].strip(" \"'`)")
    parts = [re.sub(r"^(?:namely |viz\.? )?(?:a |an |the |our )?", "", part) for part in parts]
    return parts if all(map(_may_be_name, parts)) else []


def _may_be_name(part: str) -> bool:
    words = part.split()
    if not words or len(words) > 4 or words[0].lower() in ("on", "in", "at", "of", "for", "by", "and", "or"):
        return False
    if part.lower() in COMMON or MEASURE_WORD.fullmatch(part) or LENGTH_WORD.search(part):
        return False
    return not (NO_PART.search(part) or re.search(rf" and | or |\b(?:{VERB}|we|which|that)\b", part))


def enumerations(tokens: Sequence[Word], spans: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yields enumerations: "A, B and C"."""
    row: list[tuple[int, int]] = []
    for first, end in spans:
        gap = [t.text.lower() for t in tokens[row[-1][1] : first]] if row else []
        if row and gap and len(gap) < 8 and _is_list_gap(gap):
            row.append((first, end))
            continue
        if _is_list(tokens, row):
            yield row
        row = [(first, end)]
    if _is_list(tokens, row):
        yield row


def _is_list(tokens: Sequence[Word], row: Sequence[tuple[int, int]]) -> bool:
    """Returns whether names are a list: "On TideMath, Coast ..." is none."""
    gap = [t.text.lower() for t in tokens[row[0][1] : row[1][0]]] if len(row) > 1 else []
    return len(row) > 2 or (len(row) == 2 and bool({"and", "or", "&", "vs", "versus", "/"} & set(gap)))


def followed_by_numbers(tokens: Sequence[Word], row: Sequence[tuple[int, int]]) -> bool:
    """Returns whether as many numbers as names follow: "A, B and C are at 26%, 29% and 24%"."""
    behind = tokens[row[-1][1] : row[-1][1] + 3 * len(row) + 6]
    numbers = 0
    for token in behind:
        if token.kind in ("name", "size") or token.text.lower() in (";", ".", "respectively"):
            break
        numbers += token.kind == "number"
    return numbers == len(row)


def introduced(tokens: Sequence[Word], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields names in brackets behind words that they are short for: "a behaviour-cloning baseline (FlatBC)"."""
    for first, end in spans:
        in_brackets = first > 1 and end < len(tokens) and tokens[first - 1].text == "(" and tokens[end].text == ")"
        is_name = tokens[first].kind == "name" and end - first == 1 and not COLOUR.fullmatch(tokens[first].text)
        if in_brackets and is_name and len(tokens[first].text) > 2 and re.fullmatch(LINE_NOUN, tokens[first - 2].text.lower()):
            yield first, end


def _is_list_gap(gap: Sequence[str]) -> bool:
    words = re.sub(r"\( [^()]* \)", "", " ".join(gap)).split()
    return bool(words) and all(word in (",", "and", "or", "&", "vs", "versus", "the", "/", "then", ">", '"') for word in words)


def bracketed(tokens: Sequence[Word], spans: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yields names that a sentence introduces in brackets: "one with a judge (GenRM) and one with the mean (Ensemble)"."""
    row = [
        (first, end)
        for first, end in spans
        if first
        and end < len(tokens)
        and tokens[first - 1].text == "("
        and tokens[end].text == ")"
        and end - first < 3
        and tokens[first].kind == "name"
    ]
    if len(row) > 1:
        yield row
