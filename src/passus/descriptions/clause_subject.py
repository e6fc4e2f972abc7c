"""Whether the subject of a clause is something that nobody knows: "the ablation loses 3 points"."""

import re

from passus.descriptions.clause_split import VERBS
from passus.descriptions.clause_words import HARMLESS
from passus.descriptions.numbers import WORDS

WORD = r"(?!of\b|and\b|or\b)[a-z][\w'-]*"
SUBJECT = re.compile(
    rf"(?:(?:«[XP]\d+»|[Aa]nd|[Bb]ut|[Ss]o|[Yy]et|[Ww]hile|[Aa]lthough|[Ww]hereas|[Bb]ecause|[A-Za-z]+ly),? )*"
    rf"(?:[Tt]he|[Tt]his|[Tt]hat|[Tt]hese|[Oo]ur|[Aa]n?) (?P<noun>(?:{WORD} ){{0,3}}?{WORD})"
    rf"(?: (?:of|with|without|from|that|which) (?:[a-z][\w'-]* ){{0,4}}?[a-z][\w'-]*)?,? (?={VERBS}(?:\W|$))"
)


def is_about_other(text: str) -> bool:
    """Returns whether a clause begins with a noun that is no series, no quantity and no part of a chart."""
    match = SUBJECT.match(text)
    noun = match["noun"].split()[-1] if match is not None else ""
    return bool(noun) and noun not in HARMLESS and noun not in WORDS
