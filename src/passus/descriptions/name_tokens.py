"""Words of a sentence with what each may be: a number, a name, a word of the genre, a noun for a line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from passus.descriptions.names import COMMON, LINE_NOUN
from passus.descriptions.numbers import NUMERIC_WORD
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, MEASURE_WORD, X_NOUNS

TOKEN = re.compile(r"[^\s,;:()\[\]\"!?|\u2014]+|[,;:()\[\]\"!?|\u2014]")
SIZE = re.compile(r"\d+(?:\.\d+)?[BMK]")
NUMBER_TOKEN = re.compile(r"[~+-]?[.\d][\d.,]*(?:%|k|K|M|h|x)?")
JOINT = "\ue000"
"""Stands for a space or bracket within a name of several parts. No text has it: it is for private use."""
MAX_WORDS = 4
MONTHS_AND_DAYS = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)(?:day|sday|nesday|rsday|urday"
    r"|uary|ruary|"
    r"ch|il|e|y|ust|tember|ober|ember)?\.?"
)


Span = tuple[int, int]
"""Positions of the first word of a phrase and behind its last."""


@cache
def genre_words() -> frozenset[str]:
    """Words in small letters that texts about charts use, whatever their series are called."""
    return frozenset(files("passus.descriptions").joinpath("genre_words.txt").read_text(encoding="utf-8").split())


@dataclass(frozen=True)
class Word:
    start: int
    end: int
    text: str
    """Without quotes and the full stop of the sentence."""
    kind: str
    """number, size, name, lower (a word in small letters that such texts do not use), word, noun (line, run, model), sign"""


def tokens_of(text: str, is_first: bool = True) -> list[Word]:
    """Splits a sentence into words and signs, each with what it may be."""
    found = []
    at_start = is_first
    for match in TOKEN.finditer(text):
        raw = match[0]
        word = raw.strip("'*`_").rstrip(".") if not NUMBER_TOKEN.fullmatch(raw) else raw.rstrip(".,")
        word = re.sub(r"'s?$", "", word) if word.endswith(("'s", "s'")) else word
        start = match.start() + max(0, raw.find(word)) if word else match.start()
        found.append(Word(start, start + len(word), word, _kind(word, at_start)))
        at_start = raw.endswith((".", "!", "?")) or raw in (":", ".", "!", "?") or (at_start and raw in ("*", "-", "(", '"'))
    return found


def _kind(word: str, at_start: bool) -> str:
    if JOINT in word:
        return "name"
    if not word or not re.search(r"\w", word):
        return "sign"
    low = word.lower()
    if SIZE.fullmatch(word):
        return "size"
    if NUMBER_TOKEN.fullmatch(word) or NUMERIC_WORD.fullmatch(word):
        return "number"
    if re.fullmatch(LINE_NOUN, low) and (at_start or not word[0].isupper()):
        return "noun"
    if "'" in word or "\u2019" in word:  # They're, we'll
        return "word"
    if word[0].isupper() and not at_start and re.fullmatch(LINE_NOUN, low):
        return "name"
    if low in COMMON or low.rstrip("s") in X_NOUNS or MEASURE_WORD.fullmatch(word) or LENGTH_WORD.fullmatch(word):
        return "word"
    if COLOUR.fullmatch(word) or MONTHS_AND_DAYS.fullmatch(word) or re.fullmatch(r"\w+ly", low):
        return "word"
    if re.search(rf"[-/](?:{'|'.join(X_NOUNS)})s?$", low):  # GPU-hours
        return "word"
    if re.search(r"[A-Z]", word[1:]) or re.search(r"\d|[+=]", word):
        return "name"
    if word[0].isupper():
        return "word" if (at_start and low in genre_words()) else "name"
    return "word" if low in genre_words() or any(part in genre_words() for part in [low.rstrip("s")]) else "lower"


def phrases(tokens: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Yields runs of words that may be a name, as positions of the first word and behind the last."""
    at = 0
    while at < len(tokens):
        if tokens[at].kind not in ("name", "lower", "size"):
            at += 1
            continue
        end = at + 1
        while end < len(tokens) and end - at < MAX_WORDS and tokens[end].kind in ("name", "lower", "size"):
            if tokens[end - 1].kind == "lower" and tokens[end].kind != "lower":  # "async trailed sync"
                break
            end += 1
        yield at, end
        at = end


def is_bare_size(tokens: Sequence[Word], first: int, end: int) -> bool:
    """Returns whether a size names no model: without "the" before it, it is a number of tokens or parameters."""
    if end - first > 1 or tokens[first].kind != "size":
        return False
    before = tokens[first - 1].text.lower() if first else ""
    return before not in ("the", "our", "both") and not (end < len(tokens) and tokens[end].kind == "noun")
