"""Phrases of common words that name series: they own values side by side, or stand again and again where series do."""

import re
from collections import Counter
from collections.abc import Sequence

from passus.descriptions.names import COMMON, LINE_NOUN, VERB
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, MEASURE_WORD, X_NOUNS

WORD = r"[A-Za-z][\w+-]*[\w+]"
VALUE = r"(?:~|about |around )?(?:\d+\.\d+|\.\d+|\d+ ?%|\d+(?:\.\d+)? percent|\d{1,3}(?![\w.,]*\w))"
OWNED = re.compile(
    rf"(?:^|(?<=[:;,] )|(?<=\band )|(?<=\bwhile )|(?<=\bwhereas )|(?<=\bbut ))(?:the |our "
    rf"|an? )?(?P<name>{WORD}(?: {WORD}){{0,2}}?)"
    rf"(?: (?:{VERB}|[a-z]+s|[a-z]+ed))?(?: (?:at|to|with|from|on|of))? (?P<value>{VALUE})"
)
NO_WORD = re.compile(
    rf"{VERB}|{LINE_NOUN}|{'|'.join(X_NOUNS)}|{'|'.join(X_NOUNS)}s|\w+ly|then|but|it|from|to|up|by|for|only|again|before|after"
    r"|finally|still|down|back|already|with|on|in|at|of|as|than|not|over|under|values?|points?|percent|ends|ending"
    r"|rising|falling|dropping|reaching|starting|climbing|going|continues|followed|compared",
    re.I,
)
PHRASE = re.compile(r"(?=(?<![\w-])(?P<name>[A-Za-z][a-z-]{2,} [a-z][a-z-]{3,})(?![\w-]))")
NO_HEAD = re.compile(
    r"\w+(?:ed|ly|est|ing|[^s]s)|final|initial|last|first|next|same|early|late|large|larger|small|smaller|high|higher|low|lower|whole"
    r"|entire|total|mean|average|best|worst|other|more|most|less|new|old|good|long|short|full|main|clear|single|double",
    re.I,
)
"""First words of phrases that say which of several something is, rather than what it is called."""
NO_TAIL = re.compile(
    r"\w+ed|\w+ly|ahead|behind|apart|together|above|below|away|up|down|back|accuracy|score|rate|value|point|step|epoch|part|half|third|quarter|time|end|start|beginning|gain|gap|lead"
    r"|margin|difference|drop|rise|curve|line|run|model|panel|chart|figure|axis|plot|side|evaluation|checkpoint|set|training"
    r"|length|answer|question|problem|result|average|order|place|position|level|mark|number|budget|seed|test|data|interval",
)
MIN_SENTENCES, MIN_MENTIONS = 2, 3


def owner_phrases(texts: Sequence[str]) -> list[str]:
    """Returns phrases that own values beside others: "A has 48.2, the perplexity filter 47.0 and random selection 45.1"."""
    rows = [[match["name"] for match in OWNED.finditer(text) if _may_own(match["name"])] for text in texts]
    counts = Counter(name.lower() for row in rows if len(row) > 1 for name in set(row))
    everything = "\n".join(texts).lower()
    found = dict.fromkeys(name for row in rows for name in row if " " in name)
    return [
        name
        for name in found
        if counts[name.lower()] >= MIN_SENTENCES or (counts[name.lower()] and everything.count(name.lower()) >= MIN_MENTIONS)
    ]


def _may_own(name: str) -> bool:
    """Returns whether no word of a phrase is one that stands beside values of any series."""
    words = name.split()
    if any(NO_WORD.fullmatch(word) or word.lower() in COMMON for word in words):
        return False
    is_measure = MEASURE_WORD.fullmatch(words[-1]) or LENGTH_WORD.search(name)
    return not (is_measure or COLOUR.fullmatch(words[0]))


def repeated_phrases(texts: Sequence[str]) -> list[str]:
    """Returns pairs of words that a text has again and again: "vote pruning". What they name is for their places to tell."""
    counts = Counter(match["name"].lower() for text in texts for match in PHRASE.finditer(text))
    return [name for name, count in counts.items() if count >= MIN_MENTIONS and _may_own(name) and _is_nominal(name)]


def _is_nominal(name: str) -> bool:
    head, tail = name.split()
    return not NO_HEAD.fullmatch(head) and not NO_TAIL.fullmatch(tail.removesuffix("s"))
