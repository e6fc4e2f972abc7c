"""Whether the subject of a clause is something that nobody knows: "the ablation loses 3 points"."""

import re

from passus.descriptions.clause_split import VERBS
from passus.descriptions.clause_words import HARMLESS
from passus.descriptions.numbers import WORDS
from passus.descriptions.reference_words import NOUN

WORD = r"(?!of\b|and\b|or\b)[a-z][\w'-]*"
SUBJECT = re.compile(
    rf"(?:(?:«[XP]\d+»|[Aa]nd|[Bb]ut|[Ss]o|[Yy]et|[Ww]hile|[Aa]lthough|[Ww]hereas|[Bb]ecause|[A-Za-z]+ly),? )*"
    rf"(?:[Tt]he|[Tt]his|[Tt]hat|[Tt]hese|[Oo]ur|[Mm]y|[Aa]n?|[Aa]nother|[Ss]ome) (?P<noun>(?:{WORD} ){{0,3}}?{WORD})"
    rf"(?P<rest> (?:with|without|from|that|which|trained) (?:[\w'-]+ ){{0,4}}?[a-z][\w'-]*)?"
    rf"(?: of [^,;:]{{1,50}}?)?(?:,? (?={VERBS}(?:\W|$))|$)"
)
PLAIN_LINES = {"line", "lines", "curve", "curves", "runs", "models", "methods", "checkpoint", "checkpoints", "losses"}
COMPARED = re.compile(r"\W*(?:compared|relative|as compared|in comparison|in contrast) (?:with|to) [^,;]{0,20}«S", re.I)
"""A beginning whose series is not the subject: "compared with A, it costs 2 points"."""
FIRST_VERB = re.compile(rf"\b{VERBS}(?=\W|$)")


def is_about_other(text: str) -> bool:
    """Returns whether a clause begins with a noun that is no series, no quantity and no part of a chart."""
    match = SUBJECT.match(text)
    if match is None:
        return False
    noun = match["noun"].split()[-1]
    return is_about_other_series(text) or (noun not in HARMLESS and noun not in WORDS)


def is_about_other_series(text: str) -> bool:
    """Returns whether a clause begins with a noun for a series that it does not name: "the model with the most experts"."""
    match = SUBJECT.match(text)
    if match is None:
        return False
    noun = match["noun"].split()[-1]
    is_line = noun in PLAIN_LINES or re.match(r" of (?:the )?«[SIO]", text[match.end("noun") :])  # "the curve of A"
    return bool(re.fullmatch(NOUN, noun)) and not is_line


def is_before_verb(text: str, token: str) -> bool:
    """Returns whether a series stands before the first verb of a clause, as its subject does."""
    verb = FIRST_VERB.search(text)
    return verb is None or 0 <= text.find(token) < verb.start()
