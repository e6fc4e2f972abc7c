"""Names of series in sentences.

Texts come from anywhere, so a sentence is walked once for all names together: see `Names`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

NUMBER_IN_NAME = re.compile(r"[^\W\d_].*(?<![\w.])[0-9]|(?<![\w.])[0-9].*[^\W\d_]")
"""Matches names such as "Math 500". A name that is only a number is not distinguishable from a number."""
SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([bBmM])\b")
GROUP = re.compile(r"\b(?:(all|each|every|both) (?:of the )?(?:models?|series|lines?)|(largest|smallest) model)\b", re.I)
WORD = re.compile(r"[^\W_](?:[\w.]*\w)?")
TOKEN = re.compile(r"\w+|\W")
END = ""
"""Marks the end of a name in the tree of names: no token is empty."""


class Names:
    """Names to look for in many sentences, as a tree of their words."""

    def __init__(self, names: Sequence[str]) -> None:
        self.all = tuple(names)
        self.numbered = {name for name in names if NUMBER_IN_NAME.search(name)}
        self.by_word = _by_word(self.all)
        self.tree: dict[str, Any] = {}
        for name in filter(None, self.all):
            node = self.tree
            for token in TOKEN.findall(name):
                node = node.setdefault(token, {})
            node[END] = name

    def places(self, text: str) -> list[tuple[int, str]]:
        """Returns the places of whole names from left to right; the longest of those that begin at one place."""
        tokens = TOKEN.findall(text)
        if self.tree.keys().isdisjoint(tokens):
            return []
        places = []
        at = start = 0
        while at < len(tokens):
            name, end = self._longest(tokens, at)
            if name:
                places.append((start, name))
            start += len(name) or len(tokens[at])
            at = end
        return places

    def _longest(self, tokens: list[str], at: int) -> tuple[str, int]:
        """Returns the longest name that begins with this token, and the position of the next token."""
        longest, end = "", at + 1
        if tokens[at] not in self.tree:
            return longest, end
        if at and _is_word(tokens[at - 1]) and not _is_word(tokens[at]):
            return longest, end  # a name that opens with a sign does not begin inside of "a(b"
        node = self.tree
        for i in range(at, len(tokens)):
            if (deeper := node.get(tokens[i])) is None:
                break
            node = deeper
            if END in node and (_is_word(tokens[i]) or i + 1 == len(tokens) or not _is_word(tokens[i + 1])):
                longest, end = node[END], i + 1
        return longest, end


def to_names(names: Sequence[str] | Names) -> Names:
    return names if isinstance(names, Names) else _cached_names(tuple(names))


@lru_cache(maxsize=8)
def _cached_names(names: tuple[str, ...]) -> Names:
    return Names(names)


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


def _by_word(names: tuple[str, ...]) -> dict[str, list[str]]:
    """Returns names by each capitalised word that at most half of them share: a text may use it as a short name."""
    by_word: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        for word in set(name.split()):
            if word[0].isupper():
                by_word.setdefault(word, []).append(name)
    return {word: sharing for word, sharing in by_word.items() if len(sharing) <= len(names) / 2}


def series_in(text: str, names: Names) -> tuple[tuple[str, ...], str]:
    """Returns the names in a text, whole ones and short ones, and the group of series that it means."""
    whole = names.places(text)
    places: dict[str, int] = {}
    for start, name in whole:
        places.setdefault(name, start)
    text = blanked(text, whole, " ")
    words: dict[str, int] = {}
    for match in WORD.finditer(text):
        words.setdefault(match[0], match.start())
    for word, start in words.items():
        places |= {name: start for name in names.by_word.get(word, ()) if name not in places}
    series = tuple(sorted(places, key=lambda name: places[name]))
    if not (match_of_group := GROUP.search(text)):
        return series, ""
    group = (match_of_group[1] or match_of_group[2]).lower()
    group = group if group in ("both", "largest", "smallest") else "all"
    return series or _members(group, names.all), group


def is_about_series(text: str, names: Names) -> bool:
    """Returns whether a sentence names or means any series. Faster than `series_in`."""
    return bool(GROUP.search(text) or names.places(text) or any(word in names.by_word for word in WORD.findall(text)))


def blanked(text: str, places: Sequence[tuple[int, str]], sign: str) -> str:
    """Overwrites names in a text, which keeps its length."""
    parts, end = [], 0
    for start, name in places:
        parts += [text[end:start], sign * len(name)]
        end = start + len(name)
    return "".join([*parts, text[end:]])


def _members(group: str, names: Sequence[str]) -> tuple[str, ...]:
    if group == "all" or (group == "both" and len(names) == 2):
        return tuple(names)
    sizes = {name: float(size[1]) * (1e-3 if size[2] in "mM" else 1) for name in names if (size := SIZE.search(name))}
    if group == "both" or not sizes:
        return ()
    return ((max if group == "largest" else min)(sizes, key=lambda name: sizes[name]),)
