"""What a sentence is about: the words before its first verb, where they may be the name of a series."""

import re

from passus.descriptions.names import COMMON, LINE_NOUN, VERB
from passus.descriptions.verb_forms import CHANGE_VERB
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, MEASURE_WORD, X_NOUNS

OPENING = re.compile(
    r"\W*(?:\(?[a-h]\)\s)?(?:(?:and|but|then|so|finally|next|last(?:ly)?|meanwhile|similarly|conversely|again|also|now|well|ok(?:ay)?"
    r"|first|second|third|(?:by|in) contrast|by comparison|as for|on the other hand|on its part)\b,?\s)*(?:(?:the"
    r"|our|an?|plain)\s)?",
    re.I,
)
OF_LINE = re.compile(
    rf"(?:\w+ )?(?:{LINE_NOUN}|{MEASURE_WORD.pattern}|values?|numbers|results?|scores?|readings) (?:of|for|with|under|from)"
    r" (?:the |our )?(?=\w)",
    re.I,
)
"""Words before the name in "the curve of A", "accuracy with A"."""
LED = re.compile(r"\W*(?:for|with|under|using|without)\s(?:the |our )?(?P<name>[^,;:.\d]{2,40}),\s", re.I)
"""With the short prompt, it is 0.5."""
LINE = re.compile(r"(?:lines?|curves?|runs?|models?|variants?|versions?|traces?|series)")
ADVERB = re.compile(r"\w+ly|also|then|still|already|first|again|itself|alone|now|even|only|instead|too|never|just", re.I)
VERBS = re.compile(
    rf"{VERB}|{CHANGE_VERB.pattern}|[a-z]{{2,}}ed|went|did|does|do|can|could|will|would|shows?|keeps?|kept|makes?|made"
    r"|reports?|reported|solves?|answers?|satisf\w+|collects?|returns?|hands?|logs?|logged|prints?|passes|handles?|picks?"
    r"|runs?|ran|stood|lies|lay|sits|sat|sets?|leaves?|left|gives?|gave|brings?|puts?|manages?|posts?|needs?|follows?"
)
NO_NAME = re.compile(
    rf"{LINE_NOUN}|(?:{'|'.join(X_NOUNS)})s?|\w+ly|gaps?|leads?|difference|distance|margin|lines?|advantage|story|picture|trends?|plots?"
    r"|charts?|figures?|axis|axes|values?|numbers?|results?|side|edge|part|half|rest|others?|everyone|nobody|everything|they|he|she"
    r"|former|latter|winner|runner-up|leader|answers?|responses?|questions?|problems?|same|one|ones|text|caption|legend|table|rows?"
    r"|\w+est|solid|dashed|dotted|columns?|gains?|increases?|drop|rise|fall|peak|start|end|beginning|left|right|upper|lower|top|bottom|test|validation|here|there",
    re.I,
)
NOT_IN_NAME = re.compile(
    r"given|with|during|over|under|through|about|around|~?\d[\d.,]*(?:[kKMB%]|h)?|"
    r"and|or|but|the|this|these|those|it|its|we|you|i|while|all|both|each|every|of|in|on|at|by|for|from|to|that|which|who|where|when|if|as|than|after|before|until|between|per",
    re.I,
)
PLAIN_SUBJECT = re.compile(
    rf"\W*(?P<whose>The|My|Our|Your|Their|His"
    rf"|Her) (?P<noun>(?:[A-Za-z][\w-]* ){{0,2}}?[A-Za-z][\w-]*) (?=(?:{VERBS.pattern})\b)"
)
NO_SUBJECT = re.compile(
    rf"\b(?:gap|difference|{MEASURE_WORD.pattern[2:-2]}|{LENGTH_WORD.pattern[2:-2]}|chart|plot|axis|axes|values?)\b", re.I
)
MAX_WORDS = 4
NO_BREAK = "\ue000"
"""Stands for a space within a word of a name."""


def subject_of(text: str) -> str:
    """Returns the words that a sentence is about, or nothing where they cannot be a name."""
    if led := LED.match(text):
        return _as_name(led["name"].split())
    opening = OPENING.match(text)
    assert opening is not None
    rest, is_led = text[opening.end() :], bool(re.search(r"\b(?:the|our|an?)\s$", opening[0], re.I))
    rest = re.sub(r"\bfrom scratch\b", f"from{NO_BREAK}scratch", rest)
    rest = OF_LINE.sub("", rest, count=1) if OF_LINE.match(rest) else rest
    words: list[str] = []
    for match in re.finditer(r"\([^()]*\)|[^\s,]+|,", rest):
        word = match[0]
        if word.startswith("(") or (word == "," and words):
            break
        if words and VERBS.fullmatch(word):
            break
        if (
            (not words and not is_led and VERBS.fullmatch(word))
            or len(words) == MAX_WORDS + 1
            or NOT_IN_NAME.fullmatch(word)
            or not re.search(r"[A-Za-z]", word)
        ):
            return ""
        words.append(re.sub(r"'s?$", "", word))
        if word.endswith(("'s", "s'")):
            break
    else:
        return ""
    return _as_name(words)


def plain_subject_of(text: str) -> str:
    """Returns the common noun that a sentence is about: "my run", "paper". It is a name where a text has no other."""
    match = PLAIN_SUBJECT.match(text)
    if match is None or NO_SUBJECT.search(match["noun"]):
        return ""
    return match["noun"] if match["whose"].lower() == "the" else f"{match['whose'].lower()} {match['noun']}"


def _as_name(words: list[str]) -> str:
    """Returns words as a name, without adverbs and nouns such as "run" behind it."""
    while words and ADVERB.fullmatch(words[-1]):
        words = words[:-1]
    is_distinct = len(words) > 2 or bool(words and re.search(r"[A-Z0-9-]", words[0]))
    if len(words) > 1 and is_distinct and LINE.fullmatch(words[-1]):
        words = words[:-1]
    name = " ".join(words).strip("\"'*`:;").replace(NO_BREAK, " ")
    is_plain = all(word.lower() in COMMON or NO_NAME.fullmatch(word) for word in words)
    is_look = COLOUR.search(name) and not re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+", name)  # "Team Red"
    if is_plain or len(words) > MAX_WORDS or is_look or MEASURE_WORD.search(name) or LENGTH_WORD.search(name):
        return ""
    return name
