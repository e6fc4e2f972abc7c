"""Sentences in plainer words: who says them is left out, lines such as "runs above .5: 3" become sentences."""

import re

from passus.descriptions.numbers import WORDS
from passus.descriptions.reference_words import NOUN

NAMES = {str(number): word for word, number in WORDS.items() if 0 < number < 13 and word != "dozen"}
SPEAKER = re.compile(r"^\W*\[?\d{1,2}:\d\d\]?\s+\w+:\s+|^\W*\d{1,3}/\s+|^\W*[a-z]+ \[?\d{1,2}:\d\d\]?:\s+")
REPORTED = re.compile(
    r"^(?:(?:it|this) (?:was|is|should be|must be|can be|has been) (?:(?!not\b)\w+ )?(?:noted|remarked|observed|added|stressed"
    r"|pointed out|mentioned"
    r"|worth noting|clear|evident|true|seen|reported|found|said|agreed)(?: here| too)? that "
    r"|(?:[A-Z]\w+|we|I|the (?:authors?|reviewers?|team|text|caption|paper)) (?:also |then |further |rightly |correctly )?"
    r"(?:pointed out|noted|remarked|objected|answered|replied|added|observed|stressed|reported|said|says|reports?|notes?"
    r"|observes?"
    r"|finds?|found|sees?|saw|stated?|states|claimed|claims?|mentioned|concluded|emphasi[sz]e[sd]?|confirmed|see|noticed|notice"
    r"|can see|replies|reminded us|showed|shows) that (?:even so |still |nevertheless |in fact )?"
    r"|according to (?:the )?[A-Z]?\w+(?: \w+)?, |as (?:[A-Z]\w+|we|you|one) (?:noted|said|noticed|can see|saw|see|pointed"
    r" out), "
    r"|(?:note|notice|observe|recall|remember|mind|see)(?: also| too)? that )",
    re.I,
)
NOT_REPORTED = re.compile(r"^(?:if|whether|nobody|no one|none|nothing)\b", re.I)
INTERJECTION = re.compile(
    r"(?:^|(?<=[:;.!] ))(?:(?:and )?(?:even )?(?:worse|better)(?: (?:still|yet))?|oddly(?: enough)?|strangely(?: enough)?"
    r"|surprisingly|interestingly(?: enough)?|curiously(?: enough)?|luckily|unfortunately|fortunately|as expected"
    r"|unsurprisingly"
    r"|in the process|to be fair|to my surprise|by the way|on the whole|in short|all in all|in other words|that is|importantly"
    r"|crucially|tellingly|remarkably|in particular|for instance|for example|in any case|more precisely"
    r"|at a glance|on closer inspection|at a closer look|taken together|all told|altogether|if anything|nah|nope|yep"
    r"|yeah|well|hm+|sure), ",
    re.I,
)
BRACKETED_ORDER = re.compile(
    r"\s?[(,]\s?(?P<word>best|highest|top|worst|lowest)(?:-| )(?:one )?(?:first|to (?:worst|lowest|best|highest))\)?", re.I
)
ABOVE_IN_TEXT = re.compile(
    r"\b(?:listed|shown|mentioned|given|described|quoted|see|cited|reported|named|plotted) (?:above|below)\b", re.I
)
TRIED = re.compile(
    r"(?<=\w)(?: (?:that|which))? (?:I|we) (?:have )?(?:tried|tested|trained|ran|run|compared|looked at|considered"
    r"|evaluated|plotted|show|studied)\b"
)
COMPARING = re.compile(
    r"^(?:comparing|looking at|considering|taking|judging by|reading|seen over|going by) [^,;]{1,40}, ", re.I
)
THAN_START = re.compile(
    r"\bthan (?:where |what |when )?(?:it|they) (?:had |have |has )?(?:all |each |itself )?(?:started|began|begun|starts?"
    r"|begins?|was at first)(?: (?:out|off|from|with|at|at first))?\b"
    r"(?! (?:step|epoch|hour|iteration))", re.I)  # fmt: skip
AT_START = re.compile(
    r"\b(?:ends?|ended|finish(?:es|ed)?|lands?|landed|winds up|is|are)(?: up)?(?: (?:exactly|right|precisely|just|back"
    r"|roughly|about|again))* "
    r"where (?:it|they) (?:had |have )?(?:all )?(?:started|began|begun)\b", re.I)  # fmt: skip
COUNT_LINE = re.compile(
    rf"^\W*(?:the )?(?:number of )?{NOUN}\b(?P<rest> [^:;.?!]{{3,80}}?): (?P<n>\d{{1,2}}|{'|'.join(WORDS)})"
    r"(?: (?:of|out of|/) (?:the )?\w+)?\W*$",
    re.I,
)


ALL_VALUES = re.compile(
    r"\b(?:all|every|each)(?: of)?(?: the)? (?:single )?(?:scores?|values?|readings?|numbers|entry|entries|data points?)"
    r"(?: (?:in|of|on) the (?:chart|table|figure|plot))?(?= (?:is|are|lies?|stays?|remains?)\b)", re.I)  # fmt: skip
ON_NONE = re.compile(
    r"\b(?P<on>on|in) none of (?P<what>the [^,.;]{3,40}?s) (?:does|do|did|has|have|is) (?:any|a single|one) (?P<who>[a-z]+)\b",
    re.I,
)
"""On none of the panels does any method exceed 70 %: on all of them, no method does."""


FIRST_TO_LAST = re.compile(
    r"\b(?:between|from) the (?:very )?first(?: (?!and\b|to\b)[a-z-]+){0,2} (?:and|to) (?:the|its) (?:very )?(?:last|final)"
    r"(?: (?:one|evaluations?|evals?|checkpoints?|readings?|measurements?|values?|ticks?|marks?|markers?|points?|rows?"
    r"|columns?|steps?"
    r"|epochs?|hours?|days?|weeks?|rounds?|iterations?|stops?|log lines?|lines?|tests?))?\b(?! (?:place|position"
    r"|rank))", re.I)  # fmt: skip


ITEMS = (
    r"(?:the |all |its |these )?(?:[\w-]+ ){0,2}?(?:questions|problems|tasks|items|puzzles|cases|boards|queries|prompts"
    r"|examples|proofs"
    r"|exercises|grids|games)\b"
)
PLAINER = tuple(
    (re.compile(pattern, re.I), words)
    for pattern, words in (
        (r"\bhead start\b", "lead"),
        (r"\b(?:become|becomes|became|turn|turns|turned|get|gets|got|go|goes|went) positive\b", "exceeds 0"),
        (r"\b(?:become|becomes|became|turn|turns|turned|get|gets|got|go|goes|went) negative\b", "falls below 0"),
        (
            r"\b(?:does|did|do) not (?:suffer|take|see|show|experience|record) (?:an? "
            r"|any )?(?:single )?(?:\w+ )?(?:loss|setback|decline"
            r"|decrease|drop|dip)s?\b",
            "never falls",
        ),
        (
            r"\bsince (?:its|the|their) (?:very )?first (?:evaluation|value|reading|checkpoint|measurement|test|score)\b",
            "since the start",
        ),
        (rf"\bhalf (?:of )?{ITEMS}", "50 %"),
        (rf"\b(?:a|one) third of {ITEMS}", "33 %"),
        (rf"\btwo thirds of {ITEMS}", "67 %"),
        (rf"\b(?:a|one) quarter of {ITEMS}", "25 %"),
        (rf"\bthree quarters of {ITEMS}", "75 %"),
        (r"\bthe halfway (?:mark|line)\b", "50 %"),
        (
            r"\b(?P<how>below|above|under|over) the (?:\w+ )?(?:accuracy|score|value|level|loss|reward|point"
            r"|rate) (?:that |which )?"
            r"(?:it|they) (?:had )?(?:started|began|begun|starts?|begins?) (?:out )?(?:from|with|at)\b",
            r"\g<how> its initial value",
        ),
        (r"\bby (?P<how>more than |less than |at least )?(?:a|one) (?:full |whole |single )?point\b", r"by \g<how>1 point"),
    )
)
"""Words for which there are plainer ones."""


def reworded(text: str) -> str:
    """Returns a sentence without the words that only say who says it, or that it is surprising."""
    text = SPEAKER.sub("", text)
    if not NOT_REPORTED.match(text):
        text = REPORTED.sub("", text)
    for pattern, words in PLAINER:
        text = pattern.sub(words, text)
    text = FIRST_TO_LAST.sub("from start to finish", text)
    text = ON_NONE.sub(r"\g<on> all of \g<what> no \g<who>", ALL_VALUES.sub("all methods always", text))
    text = AT_START.sub("has returned to its starting value", THAN_START.sub("than at the start", text))
    text = TRIED.sub("", INTERJECTION.sub("", COMPARING.sub("", text)))
    text = ABOVE_IN_TEXT.sub(
        " ", re.sub(r",? for what (?:it's|it is|that's) worth|,? (?:love it|folks|lol|imo|by the way)(?=\W*$)", "", text)
    )
    if match := COUNT_LINE.match(text):
        rest = re.sub(r"^ (?:that|which|with|whose) ", " ", match["rest"])
        is_clause = re.match(
            r" (?:end|finish|start|begin|rise|fall|gain|lose|reach|pass|exceed|drop|get|improve|stay|go|are|have)", rest
        )
        return f"exactly {NAMES.get(match['n'], match['n'])} of the methods{'' if is_clause else ' are'}{rest}"
    return text
