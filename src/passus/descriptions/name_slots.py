"""The kinds of places in a sentence in which a name stands: before its values, as a subject, before "line", after "than"."""

import re
from collections.abc import Iterator, Sequence

from passus.descriptions.name_tokens import Word
from passus.descriptions.names import VERB
from passus.descriptions.verb_forms import CHANGE_VERB

NAMED_BY = frozenset(["of", "for", "labelled", "labeled", "named", "called", "to"])
ADVERB = re.compile(r"\w+ly|also|then|still|already|first|again|itself|alone|now|even|only|instead|too")
PLURAL_NOUN = re.compile(r"(?:curves|scores|results|numbers|accuracies|accuracy|benchmark|dataset|panel|plot|chart|score)")
TURNS = re.compile(r"(?:turn|begin|start|come|proceed|turning|beginning|starting|coming|now|on)")
"""Words of a paper that takes up a benchmark: "we turn to A"."""
DATA_NOUN = re.compile(r"(?:values?|numbers|scores?|results|figures|readings|accuracy|accuracies|rates?)")
NO_OWNER = re.compile(rf"{VERB}|{CHANGE_VERB.pattern}|\w+ing|\w+ed|stood|went|ran|.|..")
MAX_REMARK = 15
"""Words between commas behind a name: "A, which had the penalty from the beginning, ends"."""
MIN_DATA = 3
"""Numbers behind a name, before the next one, that make it an owner of data."""
BOUNDARY = frozenset([",", ";", ":", "(", "\u2014", "[", '"', "|", ".", "-"])
CONJUNCTIONS = frozenset(
    ["and", "but", "while", "whereas", "as", "when", "because", "so", "then", "although", "though", "yet", "or", "than", "that",
     "if", "once", "where"]
)  # fmt: skip
DETERMINERS = frozenset(["the", "our", "a", "an", "plain", "both", "only", "even", "also", "just"])
OWNER_BEFORE = frozenset(["for", "by", "from", "(", "with"])
LINKS = frozenset(
    [
        "at",
        "with",
        "to",
        "is",
        "was",
        "are",
        "has",
        "had",
        "gets",
        "got",
        "reads",
        "scores",
        ":",
        "(",
        ",",
        "=",
        "then",
        "hits",
        "|",
    ]
)
COMPARES = frozenset(
    ["than", "above", "below", "behind", "over", "past", "overtakes", "overtook", "beats", "beat", "vs", "vs.", "against",
     "versus", "passes", "outperforms", "trails", "leads", "catches", "surpasses", "exceeds", "between"]
)  # fmt: skip


def slots_of(tokens: Sequence[Word], first: int, end: int) -> Iterator[str]:
    """Yields the kinds of places in which the words from `first` to `end` stand."""
    before = first - 1
    while before >= 0 and tokens[before].text.lower() in DETERMINERS:
        before -= 1
    left = tokens[before].text.lower() if before >= 0 else ""
    at_boundary = before < 0 or left in BOUNDARY or left in CONJUNCTIONS
    after = _behind(tokens, end)
    if (
        left == "(" and after < len(tokens) - 1 and tokens[after].text == ")"
    ):  # "dropping the KL penalty (GRPO w/o KL) gives 35 %"
        after += 1
    right = tokens[after] if after < len(tokens) else None
    is_on = end < len(tokens) and bool(PLURAL_NOUN.fullmatch(tokens[end].text.lower()))
    is_owned = is_on and tokens[end].start - tokens[end - 1].end > 1  # "the Student's score"
    is_verb_here = is_on and end + 1 < len(tokens) and tokens[end + 1].kind == "number"  # "the Baseline scores 41.5"
    is_on = is_on and not is_owned and not is_verb_here
    is_noun = end < len(tokens) and tokens[end].kind == "noun" and not is_on
    number_before = before > 0 and any(t.kind == "number" for t in tokens[max(0, before - 3) : before])
    if left == "on" and right is not None and right.text == ":" and _numbers_behind(tokens, after) >= MIN_DATA:
        yield "data"  # "Ada reported on vote pruning: the rate was 25% at ..."
        return
    if (left == "on" and not is_noun) or (is_on and tokens[first].text[0].isupper()):
        is_trained_on = before > 0 and re.match(r"(?:pre)?train|fine|tun", tokens[before - 1].text, re.I)
        if not is_trained_on:
            yield "place"
        return
    is_turned_to = left in ("to", "with") and before > 0 and TURNS.fullmatch(tokens[before - 1].text.lower())
    if is_turned_to and (right is None or right.text in (",", ":", ";")):
        yield "place"
        yield "place"
        return
    follows = left in OWNER_BEFORE and (before == 0 or tokens[before - 1].text.lower() in BOUNDARY | CONJUNCTIONS)
    is_introduced = right is not None and left in ("for", "with") and follows and _numbers_behind(tokens, after)
    is_behind = left in OWNER_BEFORE and number_before and left != "with"
    is_data = left == "of" and before > 0 and bool(DATA_NOUN.fullmatch(tokens[before - 1].text.lower()))
    is_introduced = is_introduced or (is_data and right is not None and _numbers_behind(tokens, after) >= MIN_DATA)
    if is_introduced or is_behind or (right is not None and _is_direct(tokens, after)):
        yield "direct"
        is_verb = NO_OWNER.fullmatch(tokens[end - 1].text)
        if right is not None and not is_behind and not is_verb and _numbers_behind(tokens, after) >= MIN_DATA:
            yield "data"
    elif _is_told_of(tokens, end):
        yield "data"
    elif right is not None and right.kind in ("word", "lower") and at_boundary:
        count = _numbers_behind(tokens, after)
        yield "data" if count >= MIN_DATA else "clause" if count else "subject"
    if is_noun or (before >= 1 and left in NAMED_BY and tokens[before - 1].kind == "noun"):
        yield "noun"
    if left in COMPARES:
        yield "compare"


def _behind(tokens: Sequence[Word], end: int) -> int:
    """Returns the position behind a name, its bracket, its noun and a remark between commas."""
    at = end
    if at < len(tokens) and tokens[at].text == "(":
        close = next((n for n in range(at + 1, min(at + 9, len(tokens))) if tokens[n].text == ")"), None)
        if close and not any(t.kind == "number" for t in tokens[at + 1 : close]):
            at = close + 1
    while at < len(tokens) and (tokens[at].kind == "noun" or ADVERB.fullmatch(tokens[at].text.lower())):
        at += 1
    if at < len(tokens) and tokens[at].text == ",":
        close = next((n for n in range(at + 1, min(at + MAX_REMARK, len(tokens))) if tokens[n].text == ","), None)
        inside = tokens[at + 1 : close] if close else []
        if close and inside and not any(t.kind in ("number", "name", "size") for t in inside):
            return close + 1
    return at


def _is_told_of(tokens: Sequence[Word], end: int) -> bool:
    """Returns whether the values of a name stand in a clause behind it: "presented A, which stood at 17%, 25% and 34%"."""
    is_clause = [token.text.lower() for token in tokens[end : end + 2]] == [",", "which"]
    return is_clause and _numbers_behind(tokens, end + 1) >= MIN_DATA


def _is_direct(tokens: Sequence[Word], at: int) -> bool:
    """Returns whether a number stands directly behind a name, or behind "at", "has" or a colon."""
    if tokens[at].kind == "number":
        return True
    following = tokens[at + 1 : at + 3]
    if tokens[at].text.lower() not in LINKS or not following:
        return False
    return following[0].kind == "number" or (
        len(following) > 1 and following[0].kind == "word" and following[1].kind == "number"
    )


def _numbers_behind(tokens: Sequence[Word], at: int) -> int:
    """Returns how many numbers stand between a name and the next one of the sentence."""
    if tokens[at].text.lower() in CONJUNCTIONS | {"on", "in", "of"}:
        return 0
    count = 0
    for token in tokens[at + 1 : at + 40]:
        if token.text == ";" or token.kind in ("name", "size"):
            break
        count += token.kind == "number"
    return count
