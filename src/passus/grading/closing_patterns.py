"""Patterns of closing sentences that state an answer without a word of conclusion. All repetitions are bounded."""

import re

from passus.grading.announcement_patterns import NAMED_SUBJECT, STATES_VALUE

NEGATED_RELATIVE = re.compile(
    r"(?P<count>\d[*_$]{0,3}(?: [a-z]{2,14}){1,3}) (?:that|who|which) (?:(?:are|is|were|was|do|does|did|have|has|had|will|can"
    r"|could|would)(?: not|n't)|cannot|never)\b(?! (?:the|enough|correct|right|valid|possible))[^,.;$\d?]{1,60}$",
    re.I,
)
"""`25 eggs that are not broken`, of which the negation is no denial."""
NEGATED_VERB = re.compile(
    r"(?P<count>^[^,.;\d$]{0,24}[,\s]{0,2}[*_]{0,2}\d[\d,]{0,12}[*_]{0,2}(?: [a-z]{2,14}){1,3}?) (?:(?:are|were|do|did|have|had"
    r"|will|can|could)(?: not|n't)|cannot) (?!the\b|enough|correct|right|valid|possible|sufficient|what|true|an?\b|consistent"
    r"|work|fit\b|satisfy|make\b|add\b|match|agree|count|all\b|hold\b|solve|check|be\b|it\b|our|my\b|an answer"
    r"|needed|used|relevant"
    r"|answer)(?:[a-z]{2,14})\b[^,.;$\d?]{0,60}$",
    re.I,
)
"""`56 students do not take the bus`, which counts them."""
COUNTED_OBJECT = re.compile(
    r"^[*_\s]{0,4}(?![^\d]{0,80}\b(?:would|might|could|may|should|answer\w{0,3}|guess\w{0,3}|wrote|say\w{0,3}|said|think\w{0,3}"
    r"|thought|try|tries|tried|claim\w{0,3}|put|suppose\w{0,2}|estimat\w{1,3}|told|first|already|initially"
    r"|originally|if|when|each"
    r"|every|another|other|start\w{0,3}|begins?|began|whether|solution|problem|proof|calculation|derivation)\b)"
    r"(?:(?:He|She|They|We|It) (?:\w{2,10}ed|sold|made|spent|paid|got|had|ate|read|ran|drove|bought|won|lost"
    r"|gave|took|kept|built"
    r"|caught|(?:will|can|must|needs to|still) [a-z]{2,10}(?: her| him| them| us)?)|(?!He\b|She\b|They\b|We\b"
    r"|It\b|I\b|Step\b|Case\b|Part\b)(?:The|Her|His|Their|[A-Z][a-zé]{2,15})\b[^,.;:\d]{0,60}?\s"
    r"(?:(?:total|profit|sum|score|amount|distance|average|speed|discount|bonus|loss|tip) of|(?!of\b|by\b|on\b"
    r"|in\b|to\b)[a-z]{2,12}))"
    r"(?: a total of| exactly| only| just)? [*_]{0,2}(?:[$£€¥]\d|\d[\d,.]{0,12}[*_]{0,2} [a-z])"
)
"""`The bakery sold 120`, with any verb."""
STATING_VERB = re.compile(
    r"\b(?:(?:is|are|was)(?: then| thus| therefore| hence)? (?:given by|found to be|calculated to be|computed to be"
    r"|seen to be|determined to be)|(?:turns?|turned|works?|worked|comes?|came) out (?:to be|as|at)|proves to be"
    r"|is (?:then|thus|therefore|hence) equal to|(?:is|are) (?:computed|calculated|determined|obtained|evaluated) as"
    r"|can be (?:written|expressed) as)\b",
    re.I,
)
"""Verbs that state a value as `is` does."""
GIVEN_AS = re.compile(r"^([*_\s]{0,4}(?:so|thus|therefore|hence|finally)\b[^.;]{1,80}?)\b(?:is|are) given as\b", re.I)
"""The same of a value that is concluded. Without a conclusion, what is given as 5 belongs to the question."""
STATING = (
    STATES_VALUE,
    COUNTED_OBJECT,
    re.compile(rf"^[*_\s]{{0,4}}{NAMED_SUBJECT.pattern.replace('{2,15})', '{2,15})[*_]{0,2}', 1)}"),
)
"""Sentences that state an answer without a word of conclusion."""
BRACKETED_REPEAT = re.compile(
    r"(?P<sentence>.{1,300}?)(?P<space>[\s*_]{0,3})[(\uff08](?:i\.e\.|that is|or|which is|equivalently)?[\s*_=,]{0,4}"
    r"(?P<value>[^()\uff08\uff09]{1,40}?)[\s*_]{0,3}[)\uff09]$",
    re.S,
)
"""`66 feet (66)`."""
