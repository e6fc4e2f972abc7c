"""Where a sentence refers to series: by name, by a part of a name, by a colour, by size, or by words such as "both"."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from passus.descriptions.names import COMMON, LINE_NOUN, VERB, Names
from passus.descriptions.verb_forms import CHANGE_VERB
from passus.descriptions.vocabulary import COLOURS, MEASURE_WORD, X_NOUNS

MAX_NAMES = 200
SIZE = re.compile(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?)\s?([bBmMkK])\b|-([0-9]+(?:\.[0-9]+)?)([bBmM])\b")
WORD = re.compile(r"[^\s()\[\],;:\"+]+")
NEGATION = re.compile(r"^(?:w/o|without|no|minus|-)[\s-]+(?:the\s+|an?\s+|any\s+)?", re.I)
PLAIN_WORDS = {
    "only", "budget", "run", "model", "line", "base", "with", "and", "the", "full", "high", "low", "large", "small", "new",
    "old",
    "no", "w/o", "without", "reward", "training", "train", "mean", "of", "in", "for", "baseline", "method", "loss", "penalty",
}  # fmt: skip


AFTER_NAME = (
    r"and|or|at|in|on|by|after|before|than|to|does|did|do|never|still|also|then|even|only|has|had|was|were"
    r"|would|will|is|are|from|until"
)
NO_NAME_ALONE = frozenset(
    (
        *X_NOUNS,
        "length",
        "lengths",
        "data",
        "order",
        "rate",
        "size",
        "number",
        "text",
        "test",
        "answer",
        "question",
        "start",
        "end",
        "beginning",
        "finish",
        "peak",
        "lead",
        "gap",
        "best",
        "worst",
        "first",
        "last",
        "early",
        "late",
        "final",
        "initial",
        "whole",
        "same",
        "other",
        "line",
        "curve",
        "chart",
        "plot",
        "figure",
        "table",
        "top",
        "bottom",
        "left",
        "right",
        "middle",
        "rest",
        "winner",
        "loser",
        "problem",
        "user",
        "system",
        "point",
        "value",
        "range",
        "level",
        "half",
    )
)
"""Words that name no series without a noun such as "run" behind them."""


@dataclass(frozen=True)
class Mention:
    start: int
    end: int
    series: tuple[str, ...]
    is_exact: bool = True


class Mentions:
    """Finds the series that sentences refer to."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.targets: dict[str, str] = {}
        series = names.series[:MAX_NAMES]
        for name in series:
            self.targets.setdefault(_key(name), name)
        for alias, name in names.aliases.items():
            self.targets.setdefault(_key(alias), name)
        for alias, name in _negated(series).items():
            self.targets.setdefault(_key(alias), name)
        exact = sorted(self.targets, key=len, reverse=True)
        self.parts = _distinct_parts(series, self.targets)
        parts = sorted(self.parts, key=len, reverse=True)
        nouns = {_key(word): name for word, name in _distinct_words(series, self.targets | self.parts).items()}
        self.nouns = nouns | {colour: name for colour, name in names.colours.items() if name}
        pieces = []
        if exact:
            pieces.append(rf"(?P<exact>{'|'.join(map(_pattern, exact))})")
        if parts:
            pieces.append(rf"(?P<part>{'|'.join(map(_pattern, parts))})")
        words = sorted(self.nouns, key=len, reverse=True)
        if words:
            compound = rf"(?:-\w+)?(?=(?:\s[\w-]+)?\s{LINE_NOUN}\b)"
            pieces.append(rf"(?P<noun>(?:{'|'.join(map(_pattern, words))})){compound}")
            behind = rf"(?=\W*$|[,.;:)]|'s\b|\s(?:{VERB}|{CHANGE_VERB.pattern}|{AFTER_NAME})\b)"
            alone = [word for word in words if len(word) > 3 and word not in COMMON and not MEASURE_WORD.search(word)]
            alone = [word for word in alone if word.split("-")[-1].split()[-1] not in COLOURS and word not in NO_NAME_ALONE]
            if alone:
                pieces.append(rf"(?<=\b[Tt]he )(?P<alone>{'|'.join(map(_pattern, alone))}){behind}")
        colours = [word for word in words if word.split("-")[-1].split()[-1] in COLOURS]
        if colours:
            pieces.append(
                rf"(?P<colour>{'|'.join(map(_pattern, colours))})(?!\s(?:circles?|squares?|triangles?|dashed|dotted))"
            )
        self.pattern = re.compile(rf"(?<![\w+@/-])(?:{'|'.join(pieces)})(?![\w+]|-\w|\.\d|/\w)", re.I) if pieces else None

    def find(self, text: str) -> list[Mention]:
        """Returns the mentions in a text from left to right."""
        if self.pattern is None:
            return []
        mentions = []
        for match in self.pattern.finditer(text):
            kind = match.lastgroup or ""
            word = _key(match[0])
            spaced = word.replace("-", " ")
            name = self.targets.get(word) or self.targets.get(spaced) or self.parts.get(word) or self.nouns.get(word)
            if name is None and match.lastgroup == "noun":
                name = self.nouns.get(_key(match["noun"]))
            if name is None or (len(word) == 1 and match[0] not in (name, *self.names.aliases)):
                continue  # "a" is no series A
            mentions.append(Mention(match.start(), match.end(), (name,), kind == "exact"))
        return mentions

    def masked(self, text: str) -> str:
        """Overwrites the names in a text, so that their digits are no numbers. The text keeps its length."""
        for mention in self.find(text):
            text = text[: mention.start] + "_" * (mention.end - mention.start) + text[mention.end :]
        return re.sub(r"(?<=_)=", " ", text)  # "ppo=0.5" gives a value, not a name


def _key(name: str) -> str:
    return re.sub(r"\s+", " ", name.lower().strip())


def _pattern(name: str) -> str:
    return re.sub(r"(?:\\ )+", r"[\\s-]+", re.escape(name))


def _negated(series: Sequence[str]) -> dict[str, str]:
    """Returns other words for names such as "w/o KL": without KL, no KL, no-KL."""
    aliases: dict[str, str] = {}
    for name in series:
        if match := NEGATION.match(name):
            rest = name[match.end() :]
            aliases |= {f"{word} {rest}": name for word in ("w/o", "without", "no", "without the", "without any", "without a")}
    return aliases


def _distinct_parts(series: Sequence[str], known: dict[str, str]) -> dict[str, str]:
    """Returns words of names that no other name has and that look like names: r=64, G=8, 4B, R++."""
    counts: Counter[str] = Counter()
    words_of = {}
    for name in series:
        words = {_key(word.strip("().")) for word in WORD.findall(name)}
        for size in SIZE.finditer(name):
            words.add(f"{size[1] or size[3]}{(size[2] or size[4])}".lower())
        pieces = {piece for word in words for piece in re.split(r"[-/\u2192]", word)}
        words_of[name] = words
        counts.update(words | pieces)
    parts = {}
    for name, words in words_of.items():
        for word in words:
            original = re.search(re.escape(word), name, re.I)
            text = original[0] if original else word
            is_name = re.search(
                r"[A-Z].*[A-Z]|[A-Z]\w*[0-9]|\w=|[0-9]+(?:\.[0-9]+)?[bBmM]$|[A-Z][a-z]{3,}|[a-z]-[a-z]|[0-9]e-?[0-9]", text
            )
            if counts[word] == 1 and is_name and word not in known and word not in PLAIN_WORDS and word != _key(name):
                parts[word] = name
    return parts


def _distinct_words(series: Sequence[str], known: dict[str, str]) -> dict[str, str]:
    """Returns other words of names that no other name has, which refer to a series before a noun: the linear run."""
    counts: Counter[str] = Counter()
    for name in series:
        counts.update({_key(word) for word in re.split(r"[\s()+,-]+", name) if word})
    return {
        word: name
        for name in series
        for word in {_key(word) for word in re.split(r"[\s()+,-]+", name) if word}
        if counts[word] == 1 and word not in known and word not in PLAIN_WORDS and len(word) > 1 and not NEGATION.match(name)
    }
