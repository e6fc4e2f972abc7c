"""Patterns of answer notation: names, sets, matrices, bases, times, and the words around an answer."""

import re

from passus.grading.vocabulary import BASE_WORDS

# Names before an equals sign.
NAME = re.compile(
    r"\(?\s*(?:\\?[A-Za-z]+|\\(?:vec|hat|bar|overline|mathbb)\s*\{?[A-Za-z]+\}?)\s*(?:_\s*(?:\{[^{}]*\}|[A-Za-z0-9]))?'*\s*"
    r"(?:\(\s*[A-Za-z\\][A-Za-z,\s\\]{0,20}\)|(?:,\s*[A-Za-z](?:_\{?\w\}?)?\s*){0,7})\s*\)?(?:\x02[^\x03]*\x03)?"
)
VARIABLE = re.compile(r"\(?\s*[A-Za-z](?:_\{?\w\}?)?(?:\s*,\s*[A-Za-z](?:_\{?\w\}?)?){0,5}\s*\)?")
DESCRIPTIVE_NAME = re.compile(
    r"(?:\x02[^\x03]{0,60}\x03\s*|[A-Za-z\s]{1,40})|\|?[A-Z]{1,4}\|?|[A-Z]\s*[A-Z](?:_\d)?"
    r"|m?\s*\\angle[\sA-Z_0-9{}]{1,14}|\[\s*[A-Z]{3,8}\s*\]"  # an angle, an area
    r"|\([a-z](?:_\{?\w\}?)?(?:,\s*[a-z](?:_\{?\w\}?)?)+\)"
    r"|[A-Za-z]\s*\^\s*\{?\s*-\s*1\s*\}?\s*\(\s*[a-z]\s*\)"  # f^{-1}(x)
    r"|\(\s*[a-z]\s*\\circ\s*[a-z]\s*\)\s*\(\s*\w\s*\)|[a-z]\s*\(\s*[a-z]\s*\(\s*\w\s*\)\s*\)"  # f(g(x))
    r"|[A-Za-z](?:_\{?\w\}?)?'{0,2}\(-?\d{1,5}\)"
    r"|\\frac\s*\{\s*d\s*[a-z]\s*\}\s*\{\s*d\s*[a-z]\s*\}"
)
DENIED_NAME = re.compile(
    r"(?<![A-Za-z\\])(?:not|cannot|never|maybe|perhaps|possibly|isn't|can't|unless|either|neither)(?![A-Za-z])", re.I
)
"""Words before an equals sign that deny or hedge what follows."""
DERIVATIVE = re.compile(r"\\frac\s*\{\s*d\s*([a-z])\s*\}\s*\{\s*d\s*[a-z]\s*\}")
SET_NAME = re.compile(
    r"^\s{0,3}(?=[^=]{0,60}\\(?:cap|cup|complement))(?:[A-Z()\s_{}]|\\(?:cap|cup|complement|backslash)(?![A-Za-z])){3,60}=\s{0,3}"
)
"""`A \\cap B =` before a set."""
CURVE_LABEL = re.compile(r"^\s{0,3}[CEl]\s{0,3}(?:_\s{0,3}\{?\d\}?)?\s{0,3}:\s{0,3}(?=[^:<>]*[xy][^:<>]*=[^:<>]*$)")
"""`C:` before the equation of a curve."""
POINT_LABEL = re.compile(r"[ABDEFMOPQRS]\s*(?=\(.*,.*\)$)")
PART_LABEL = re.compile(r"\s{0,3}\(\s{0,3}([1-9])\s{0,3}\)\s{0,3}\.?(?=\s{0,3}\S)")
VARIABLE_LETTER = re.compile(r"(?<![A-Za-z\\])[xyzabcnmkt](?![A-Za-z])")

# Sets, matrices and systems.
REALS_MINUS_SET = re.compile(r"(?<=[R}])\s{0,3}-\s{0,3}(?=\\\{)")
POSITIVE_REALS = re.compile(
    r"\\mathbb\s{0,3}\{?\s{0,3}R\s{0,3}\}?\s{0,3}(?:(?:\^|_)\s{0,3}\{?\s{0,3}\+\s{0,3}\}?|_\s{0,3}\{\s{0,3}>\s{0,3}0\s{0,3}\})"
)
REAL_LINE = re.compile(r"\\mathbb\s*\{?\s*R\s*\}?|R")
MATRIX = re.compile(
    r"(?P<scale>[^&]*?)[(\[]?\s*\\begin\s*\{(?P<kind>[pbB]?matrix|smallmatrix|array)\}(?P<body>.*)\\end\s*\{(?P=kind)\}\s*[)\]]?",
    re.S,
)
SYSTEM = re.compile(
    r"(?:\\\{)?\s*\\begin\s*\{(?P<kind>cases|aligned|align\*?|gathered|split)\}(?P<body>.*)\\end\s*\{(?P=kind)\}", re.S
)

# Numbers in special notation.
BASE_NUMERAL = re.compile(
    r"\(?\s*\x02?(?P<digits>-?\s*[0-9A-Fa-f.][0-9A-Fa-f,.\s]*)\x03?\s*\)?\s*"
    r"(?:_\s*\{?\s*\(?(?:\s*\x02base\x03\s*)?|\(?\s*(?:in\s+)?\x02?\(?(?:in )?base[\s-]*\x03?\s*)(?:\x02?(?P<word>"
    + "|".join(BASE_WORDS)
    + r")\x03?|(?P<base>\d{1,2}))\s*\)?\s*\}?\x03?",
    re.I,
)
MODULUS = re.compile(
    r"\s{0,3}\(?\s{0,3}(?:\\[pb]?mod(?![A-Za-z])|\x02\(?mod\x03|\bmod\b)\s{0,3}\{?\s{0,3}\(?\s{0,3}(\d{1,6})\s{0,3}\)?\s{0,3}\}?\s{0,3}\)?\s{0,3}\x03?\s{0,3}$"
)
PERCENT = re.compile(r"\s*(?:\\?%|percent)\s*$")
TIME_OF_DAY = re.compile(r"\d{1,2}(?::\d\d){0,2}[ap]m", re.I)
ITEM_NUMBERS = re.compile(r"(?:\(\s*[1-9]\s*\)[\s,]*){2,9}|(?:\\textcircled\{[1-9]\}[\s,]*){1,9}")
"""`(1)(3)` or circled digits: the numbers of the statements that hold."""
RATIO_WORD = re.compile(r"(?<=\d)\s{0,3}(?:\x02to\x03|\bto\b)\s{0,3}(?=\d)")
OCR_DECIMAL = re.compile(r"(-?\d+)\. (\d+)")
"""A decimal that was scanned with a space after the point."""


# Words around an answer.
OR_MARK, AND_MARK = "\x04", "\x05"
"""Stand after a comma that replaces a conjunction."""
CONJUNCTION = re.compile(
    r"(?<![A-Za-z\\])(?:and|or|OR)(?![A-Za-z])|和|或者?|与|且|\\(?:and|or|cap)(?![A-Za-z])|\x02(?:,? ?and|,? ?or)\x03"
    r"|(?P<kept>\x02[^\x03]*\x03)"
)
PROSE = re.compile(r"(?<![A-Za-z\\])(?!(?:sin|cos|tan|log|sqrt|exp|mod|min|max)(?![A-Za-z]))[A-Za-z]{3,}")
DOMAIN_REMARK = re.compile(
    r"[\s,;]{0,4}(?:\(\s{0,4})?(?:\x02[a-z ]{0,30}\x03\s{0,4})?(?<![A-Za-z\\])[a-z](?:\s{0,4},\s{0,4}[a-z])?\s{0,4}\\in\s{0,4}"
    r"\\?(?:mathbb)?\s{0,4}\{?\s{0,4}[ZNRQ]\s{0,4}\}?\s{0,4}(?:\^\s?\{?[+*]\}?|_\s?\{?[+*]\}?)?\s{0,4}\)?\s{0,4}$"
)
"""`..., k in Z` after a formula with k."""
FOR_ALL_REMARK = re.compile(
    r"(?P<rest>[A-Za-z]\s*\([a-z](?:,\s*[a-z])?\)\s*=[^\x02\x03]{1,300}?)[\s,]*"
    r"(?:\\forall|\x02for (?:all|any|every)(?: real numbers?| reals?| integers?| positive integers?)?\x03)"
    r"\s*[a-z]?\s*(?:\\in\s*\\mathbb\s*\{?\s*[A-Z]\s*\}?\s*(?:\^\S{1,4}|_\S{1,6})?)?\s*"
)
QUANTIFIER_REMARK = re.compile(
    r"(?<=\S)[\s,]{0,4}(?:\x02|(?<=\s)),?\s{0,3}(?:for|where|with) (?:all|any|every|some|each|arbitrary)"
    r"(?: (?:real|complex|rational|positive|negative|nonnegative|non-negative|natural|whole|integers?|numbers?|reals|"
    r"constants?|values?|of|[a-z])){0,4}\x03?\s{0,3}(?:[a-z]\s{0,3})?\.?\s{0,3}$"
)
"""`... for all real t` after a formula with letters."""
SENTENCE = re.compile(r"(?:the|so|thus|therefore)\b.{0,200}\b(?:is|are)\b:?\s+(?P<rest>.{1,200})", re.I | re.S)
LEADING_PHRASE = re.compile(
    r"^(?:so |thus |hence |therefore,? )?(?:the )?(?:final |correct )?(?:answer|result|value|solution)s?(?: is| are|:)\s*:?\s*",
    re.I,
)
PREFACE = re.compile(r"([a-z ]{1,60})(?::| is| are| equals)", re.I)
LEADING_TEXT_MACRO = re.compile(r"\\(?:text|textbf|mathrm|mbox)\s*\{([^{}]{0,80})\}\s*")
ENCLOSING_TEXT_MACRO = re.compile(r"\\(?:text|textbf|mathrm|mbox|textrm)\s*\{([^{}]*)\}")
SPACE = re.compile(r"((?<=[0-9A-Za-z.,])\s+(?=[0-9A-Za-z.]))|\s+")
