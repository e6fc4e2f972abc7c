"""Cuts a sentence into clauses: at its punctuation, and before the verbs that follow an "and"."""

import re
from collections.abc import Iterator

from passus.descriptions.lexicon import canonical

CLAUSE = re.compile(
    r";|\s=>\s|(?<=[^\d]),\s+(?=(?:but|and|while|whereas|yet|although|though|so|since|because|which|where|with|whose|or|nor"
    r"|then|making"
    r"|(?:after|at|by|from|beyond|upon) which|leaving|before|until|as|even|albeit|despite|who|suggesting|indicating"
    r"|implying|hinting|possibly|presumably|perhaps)\b)|\s+(?=(?:but|while|whereas|although|though|because|yet)\b)"
    r"|\s+before (?=«I\d+» )|\s[-\u2014]+\s|\((?=[^)]{12,})|\)(?=\s)|:\s|(?<=[a-z0-9%)»])\.\s+(?=\S)|\s+and (?=(?:may"
    r"|might|could|would"
    r"|should)\b)|,\s+(?=(?:«O\d+»|its|their)\b)"
    r"|,\s+(?=(?:(?:about|some|roughly|nearly|almost|only|just|and|or) ){0,2}(?:«[DV]\d+»|\w+ points?|[a-z]+) (?:above"
    r"|below|under|over|ahead|behind|clear"
    r"|more|less|higher|lower|better|worse|short)(?: of| than)? (?:the )?«[SIO])",
    re.I,
)
VERBS = (
    r"(?:RISES|FALLS|IMPROVES|WORSENS|FLAT|END|START|NEVER|NOT|BETTER|WORSE|ABOVE|BELOW|OVERTAKES|PEAKS|TROUGHS|is"
    r"|CROSSES|«D\d+»"
    r"|«R\d+»|REACHES|CATCHES|NARROWS|WIDENS|BEST|WORST|MEETS|SAME|«S\d+» (?:is|END|START|RISES|FALLS|«D|BEST|WORST|RANK))"
)
AND = re.compile(
    rf"\s+and (?=(?:then |also |still |already |even |actually |eventually |soon |only |just |it |ONLY |«I\d+» "
    rf"|«X\d+»,? )*{VERBS}(?=\W|$))"
    r"|,\s+(?=(?:then |but |afterwards )?(?:«X\d+» )?(?:RISES|FALLS|FLAT|NEVER|OVERTAKES)\b|END «[DV]\d|«S\d+» (?:is"
    r" )?(?:RANK\d|BEST|WORST)\b|(?:is )?(?:FALLS|RISES|BEST|WORST|RANK\d) «[XDV]|is (?:FALLS|RISES|BELOW|ABOVE|BETTER"
    r"|WORSE)\b)"
)
CONCESSION = re.compile(r"^(?P<clause>\W*(?:although|though|even though|while|whereas) [^,;]{5,90}), (?=«|it\b|the\b)", re.I)
"""A clause that stands before the one that it belongs to."""
FRONT = re.compile(r"\W*(«X\d+»)")
STANDING = re.compile(r"\b(?:RANK\d|BEST|WORST|ABOVE|BELOW|BETTER|WORSE|WITHIN|APART|SAME)\b")
MOVING = re.compile(r"\b(?:END|START|NEVER|RISES|FALLS|OVERTAKES|MONO|IMPROVES|WORSENS|PEAKS|PASSES)\b")
VALUE_OF_TITLE = re.compile(r"\W*(?:the )?«[SX]\d+»(?:,? «[SX]\d+»)*\W*|\W*«D\d+»\W*")
TOKEN_WORD = re.compile(r"\b[A-Z]{3,}\d?\b")


def clauses_of(text: str) -> Iterator[tuple[str, str, str, bool]]:
    """Yields each clause in few words, its own words as far as they are known, the words that it stands in, and whether it
    goes on with the clause before."""
    for raw, goes_on in _split(CONCESSION.sub(r"\g<clause>; ", text)):
        parts = [part for part in AND.split(canonical(raw)) if part and part.strip()]
        front = FRONT.match(parts[0]) if parts else None
        for n, part in enumerate(parts):
            if n and front and "«X" not in part and STANDING.search(part) and not MOVING.search(part):
                part = f"{part} {front[1]}"  # "After 24 hours, A is first and B is last"
            yield part, raw if len(parts) == 1 else TOKEN_WORD.sub(" ", part), raw, goes_on


def _split(text: str) -> Iterator[tuple[str, bool]]:
    """Yields the clauses of a sentence, and whether each goes on with the one before. A colon or semicolon ends a thought."""
    last, goes_on = 0, False
    for match in CLAUSE.finditer(text):
        is_colon = match[0].strip() == ":"
        if is_colon and VALUE_OF_TITLE.fullmatch(text[match.end() :]) and re.search(r"[^\W\d]", text[last : match.start()]):
            continue  # "best checkpoint of A: step 40"
        if re.search(r"\w", text[last : match.start()]):
            yield text[last : match.start()].strip(" ,.;"), goes_on
        last, goes_on = match.end(), match[0].strip() not in (":", ";", ".")
    if re.search(r"\w", text[last:]):
        yield text[last:].strip(" ,.;"), goes_on
