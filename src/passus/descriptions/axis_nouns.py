"""The nouns that an x-axis counts: those that stand beside most numbers of a text, known ones or its own."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from passus.descriptions.numbers import ORDINALS, WORD_NUMBER, NumberFormat, numbers_in
from passus.descriptions.vocabulary import LENGTH_WORD, MEASURE_WORD, X_NOUNS

NUMBER = r"[0-9][0-9.,]*(?:[kMB]\b| (?:thousand|million|billion)\b)?"
NOUN = "|".join(X_NOUNS)
NOUN_FIRST = re.compile(rf"\b({NOUN})s? (?:~|\((?![^()]*[0-9] ?(?:h\b|(?:{NOUN})s?\b)))?[0-9]", re.I)
NUMBER_FIRST = re.compile(rf"(?<![\w.,])({NUMBER})[ -]({NOUN})s?\b|\b[0-9]+ ?(h)\b", re.I)
LOOPS = "epoch|step|iteration|round|generation|day|hour|week|minute"
"""Nouns beside which numbers are written in words: after the second epoch, on day two."""
IN_WORDS = re.compile(
    rf"\b(?:after|at|by|on|in|until|from|since) (?:(?P<noun>{LOOPS}) {WORD_NUMBER}"
    rf"|(?:{WORD_NUMBER}|the (?:{'|'.join(ORDINALS)})) (?P<behind>{LOOPS})s?)\b",
    re.I,
)
OWN_NOUN = re.compile(rf"(?:^|[(,;:.]|\b(?i:at|after|by|with|in|on|from|to|and)) ?(?P<n>{NUMBER}) (?P<noun>[a-z]{{3,}}s)\b")
"""A number of something: "after 10M games"."""
NO_PLACE = re.compile(
    rf"(?:{NOUN}|point|percent|time|seed|run|model|line|curve|gpu|node|worker|thousand|million|billion|question|problem|token"
    r"|answer|second|minute|parameter|layer|benchmark|task|dataset|panel|series|this|was|has|is|does|less)s?",
    re.I,
)
SCALED_WORDS = re.compile(rf"\b{WORD_NUMBER} (?:thousand|million|billion) (?:\w+ )?({NOUN})s?\b", re.I)
MIN_OWN = 3
"""Numbers beside which a noun stands that only this text has for its x-axis."""
MIN_BUDGET = 1e5
"""Tokens from which a number of them is no length."""


def count_nouns(texts: Sequence[str], style: NumberFormat) -> Counter[str]:
    """Counts how often nouns stand beside numbers. Numbers in digits count more than those in words."""
    counts: Counter[str] = Counter()
    for text in texts:
        for match in NOUN_FIRST.finditer(text):
            noun = match[1].lower()
            counts[noun] += 2 * (noun != "token")
        for match in NUMBER_FIRST.finditer(text):
            noun = "hour" if match[3] else match[2].lower()
            counts[noun] += 2 * (noun != "token" or _is_budget(match[1], style))
        counts.update(match[1].lower() for match in SCALED_WORDS.finditer(text))
        for match in IN_WORDS.finditer(text):
            counts[(match["noun"] or match["behind"]).lower()] += 1
    counts.pop("point", None)
    if own := own_noun(texts, style):
        counts[own] += 2 * sum(len(re.findall(rf"[0-9][kMB]? {own}s?\b", text)) for text in texts)
    return counts


def own_noun(texts: Sequence[str], style: NumberFormat) -> str:
    """Returns the noun beside most different numbers of places, where it is none of the known ones."""
    found: dict[str, set[float]] = defaultdict(set)
    for text in texts:
        for match in OWN_NOUN.finditer(text):
            noun = match["noun"]
            if not (NO_PLACE.fullmatch(noun) or MEASURE_WORD.fullmatch(noun) or LENGTH_WORD.fullmatch(noun)):
                found[noun.removesuffix("s")] |= {number.low for number in numbers_in(match["n"], style)}
    best = max(found, key=lambda noun: len(found[noun]), default="")
    return best if best and len(found[best]) >= MIN_OWN else ""


def _is_budget(text: str, style: NumberFormat) -> bool:
    """Returns whether a number of tokens is one that models are trained on rather than the length of an answer."""
    return any(number.low >= MIN_BUDGET for number in numbers_in(text, style))
