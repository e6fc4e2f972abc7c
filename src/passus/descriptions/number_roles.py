"""What a number of a sentence stands for: a value, a length, a place on the x-axis, or nothing of these."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from passus.descriptions.axes import Axes, is_place
from passus.descriptions.axis_nouns import MIN_BUDGET
from passus.descriptions.numbers import HEDGES, ORDINALS, WORD_NUMBER, Number, numbers_in
from passus.descriptions.vocabulary import X_NOUNS

COUNTED = (
    r"(?:models?|benchmarks?|charts?|panels?|series|lines?|curves?|entries|methods?|sizes?|tiers?|runs?|seeds?"
    r"|items?|problems?"
    r"|questions?|points in time|checkpoints?|evaluations?|evals?|readings?|rows?|columns?|intervals?|variants?"
    r"|configurations?"
    r"|GPUs?|nodes?|parameters?|plots?|figures?|settings?|mixtures?|recipes?|arms?|families|families|axes|decades?"
    r"|ways?|others?"
    r"|alternatives?|ablations?|policies|adapters?|languages?|authors?|annotators?|datasets?|tasks?|percentage|entries"
    r"|markers?)"
)
CHANGE_BEFORE = re.compile(
    rf"\b(?:(?<!followed )(?<!succeeded )by|(?:gain|gap|lead|drop|fall|rise|increase|decrease|improvement|decline"
    rf"|advantage|difference|deficit|margin"
    rf"|distance|change|jump|climb|dip|growth|spread|edge|shortfall)s?,? (?:of|is|was)|within|no more than"
    rf"|less than|more than"
    rf"|fewer than|gains?|gained|loses?|lost|gives? (?:up|back)|adds?|added|wins?|won|costs?)\s(?:another\s)?(?:{HEDGES})?$",
    re.I,
)
CHANGE_VERB_BEFORE = re.compile(
    r"\b(?:(?:ris|increas|climb|grow|improv|drop|fall|declin|decreas|shrink|jump|mov|chang|sink|slid|slip|shed|dip|plung|surg"
    r"|soar|widen|narrow|differ|tumbl|los|gain|cost|add|sav|sacrific|forfeit|recover|regain)(?:e|es|ed|ing|s|ps|ping|ped)?"
    r"|rose|grew|fell|lost|shrank|sank|slid|(?:up|down|back|ahead|behind|apart|forward) by)"
    rf"\s(?:(?:up|down|back|only|another|a further|a total of|an additional|further|in total|on average)\s)?(?:{HEDGES})?$",
    re.I,
)
"""Verbs whose object, right behind them, is the size of a change: "drops 0.20", "adds 3 percent"."""
DATE_BEFORE = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec|january|february|march|april|june|july|august"
    r"|september|october"
    r"|november|december|mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|day|week)"
    r"[.,]?\s$",
    re.I,
)
DATE_AFTER = re.compile(r"(?:st|nd|rd|th)?\s(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*\b|:[0-9]{2}\b", re.I)
DIFFERENCE_BEFORE = re.compile(
    r"\b(?:differences?|gaps?|distances?|margins?|spreads?|advantages?|deficits?|discrepanc(?:y|ies)"
    r"|leads?(?= (?:over|of|on|is"
    r"|was|grows|shrinks|widens|narrows|increases|decreases|over))|separation|handicap)\b(?!(?:[^;.]"
    r"|\.\d)*(?:, (?:and|but|so|with)\b"
    r"|\b(?:while|whereas)\b))(?:[^;.]|\.\d)*$",
    re.I,
)
"""A subject whose values are differences: "the gap grows from 0.04 at the start to"."""
CHANGED_NOUN = re.compile(
    r"(?:-| )?(?:\w+ ){0,2}?(?:gap|lead|gain|drop|fall|rise|advantage|difference|improvement|increase|decrease"
    r"|decline|deficit"
    r"|margin|spread|edge|jump|dip|loss in|boost|penalty|range|reduction)s?\b",
    re.I,
)
"""What stands behind the size of a change: "a 0.05 gap"."""
OF_ALL = re.compile(
    r"(?:(?:\s?%,?(?: and)? \d[\d.]*)*\s?%|\s(?:percent|per cent))\sof\s(?:the\s|all\s|its\s)?(?:\w+\s)?\w+s\b", re.I
)
"""What stands behind a share: "wins 63% of the comparisons"."""
THRESHOLD_BEFORE = re.compile(
    rf"\b(?:first (?:reach(?:es|ed)|hits?|touch(?:es|ed)|gets? to|got to|attains?)|above|below|beyond|past|over"
    rf"|under|exceed(?:s|ing|ed)?|surpass(?:es|ing|ed)?|beneath|than|threshold of|mark of"
    rf"|never (?:reaches|hits|touches)|short of|crosses|crossing|breaks?|least|most|negative|limit of|ceiling of"
    rf"|floor of)\s(?:the |a |an )?(?:\w+ of )?(?:{HEDGES})?$",
    re.I,
)
SCALE_BEFORE = re.compile(
    r"\b(?:on (?:a|the) (?:\w+ )?scale (?:of|from|between)|(?:possible|theoretical) range(?: is| of| from)?)\s$", re.I
)
"""What stands before the ends of a scale rather than a value."""
START_WORD = (
    r"(?:(?<!after the )(?<!since the )(?<!than the )(?:starts?(?: off| out)?|starting|started|begins?|beginning"
    r"|began|opens?|sets? (?:out|off))"
    r"|before (?:we|I|anyone|anybody) (?:touch|chang|train|start|began|begin|did|fine|tun|appl)\w*"
    r"|initial(?:ly)?|(?:before|prior to) (?:the |any |all )?(?:training|fine-?tuning|adaptation|RL|reinforcement learning)"
    r"|zero-shot|untrained|at the left edge|(?:base|unadapted|pre-?trained) (?:model|accuracy|policy)|point of departure"
    r"|leaves? the axis|first value|departs?|launches|at the (?:very )?(?:start|beginning|outset|origin)"
    r"|before training|at initiali[sz]ation)"
)
END_WORD = (
    r"(?:ends?(?: up| off)?|ending|ended|finish(?:es|ed|ing)?|final (?:value|accurac(?:y|ies)|score|reward"
    r"|loss(?:es)?|result|reading|number|figure)s?|lands?"
    r"|terminates?|closes?"
    r"|last value|winds up|settles at|concludes?|culminat\w+|at the (?:very )?end(?: of (?:the )?(?:training|run"
    r"|chart))?|by the end"
    r"(?: of (?:the )?(?:training|run))?|at the right (?:edge|end)|when (?:I|we) (?:(?:killed|stopped"
    r"|ended) (?:the|it)|pulled the plug))"
)
BOUND_TO_PLACE = re.compile(
    rf"\s?(?:(?:at|after|by)\s(?:\w+ )?|(?:on|in)\s(?:the )?(?:{'|'.join(X_NOUNS)})\s"
    rf"|[@(]\s?)(?:{HEDGES})?(?:[.0-9]|{WORD_NUMBER}|(?<=the )(?:{'|'.join(ORDINALS)})\b)",
    re.I,
)
"""What stands behind a value: "24 h, 41 at 36 h"."""
MIN_LENGTH = 5
"""Tokens from which a number in a list may be a length."""
STRETCH_BEFORE = re.compile(
    r"\b(?:(?P<noun>last|final|remaining|next|following|another|further|additional|every|each)|first)\s$", re.I
)
SEPARATOR = re.compile(
    r"(?:\s|~|,|;|/|\||->|\u2192|=>|>|&|\band\b|\bthen\b|\bfinally\b|\bvia\b|\blastly\b|\bnext\b|%|\bpercent\b|\btokens?\b)*"
)


@dataclass(frozen=True)
class NumberItem:
    role: str
    """x, value, length or other"""
    number: Number
    word: str = ""
    """`start` or `end` for a place that is given in words."""


@dataclass
class PlaceLists:
    """Places that a text has listed: values without places of their own refer to them."""

    grids: list[list[float]] = field(default_factory=list)
    """Lists of places that the text gives for all series, in a heading, an introduction or a table."""
    groups: list[list[float]] = field(default_factory=list)
    """The places of the series before, as they were grouped."""
    own: list[list[float]] = field(default_factory=list)
    """The places of this series so far."""
    known: frozenset[float] = frozenset()
    """Every place that the text marks as one."""
    span: tuple[float, float] = (1.0, 0.0)
    """The ends of the x-axis, where they are known."""
    is_first: bool = False
    """Whether nothing was read of this series yet."""
    is_fresh: bool = False
    """Whether the last places are of the same sentence."""


def lengths_go_on(items: list[NumberItem]) -> list[NumberItem]:
    """Takes bare values behind a length for lengths: "350 tokens at 200, 520 at 400"."""
    seen = False
    for at, item in enumerate(items):
        seen = seen or item.role == "length"
        if seen and item.role == "value" and item.number.unit != "%" and item.number.high >= 50:
            items[at] = NumberItem("length", item.number)
    return items


VALUE_BEFORE = re.compile(
    r"(?:\b(?:at|to|reach\w*|hits?|has|had|have|gets?|got|scor\w+|with|solv\w+|does|did|do|manag\w+|obtain\w+|on|:)|:|=)\s"
    rf"(?:{HEDGES})?$",
    re.I,
)
"""Words before a value."""


def follows_value(text: str, at: int, items: Sequence[NumberItem], lists: PlaceLists) -> bool:
    """Returns whether a number stands behind a value as its place: "55% at 100", "0.28 (1,000)"."""
    number, last = items[at].number, items[at - 1]
    is_value = last.role == "value" or last.role == "length" or (last.role == "?" and last.number.digits > 0)
    if last.role == "?" and last.number.low != number.low:
        before = text[max(0, last.number.start - 40) : last.number.start]
        goes_on = at > 2 and items[at - 2].role == "x" and items[at - 3].role in ("value", "length", "?")
        is_value = is_value or goes_on or bool(VALUE_BEFORE.search(before))
    gap = text[end_of(last.number) : number.start]
    is_bound = re.fullmatch(rf"\s?(?:at|after|by|with|on|@)\s(?:the )?(?:{HEDGES})?|\s?[(@]\s?", gap, re.I)
    is_whole = number.low == int(number.low) and (number.digits == 0 or number.is_scaled)
    is_on_axis = bool(lists.known) or (lists.span[0] <= number.low <= lists.span[1] and number.low > 1)
    return bool(is_value and is_bound and is_whole and number.plus_minus is None and is_on_axis)


NTH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
NTH_PLACE = re.compile(
    rf"\b(?:the|its|their) (?:very )?(?P<nth>{'|'.join(NTH)}|last|final) (?:\w+ )?(?:evaluation|eval|checkpoint"
    rf"|reading|mark|tick"
    r"|measurement|snapshot|data point|marker|logged point)\b(?P<after>,? (?:\w+ )?after (?:the )?(?:start"
    r"|initiali[sz]ation|origin"
    r"|initial \w+|beginning|training (?:starts|began|begins)))?",
    re.I,
)


def nth_places(text: str, axes: Axes, lists: "PlaceLists") -> list[NumberItem]:
    """Returns places such as "the second evaluation", where the text lists its places and leaves no doubt which comes first."""
    grid = max(lists.grids, key=len, default=[])
    places = []
    for match in NTH_PLACE.finditer(text) if grid else ():
        word = match["nth"].lower()
        later = [x for x in grid if x != axes.x.low] if match["after"] else grid
        if word in ("last", "final"):
            places.append((match, grid[-1]))
        elif NTH.index(word) < len(later) and (match["after"] or axes.x.low not in grid):
            places.append((match, later[NTH.index(word)]))
    return [NumberItem("x", Number(match.start(), match.end(), x, x, unit_end=match.end())) for match, x in places]


def without_differences(text: str, items: Sequence[NumberItem]) -> str:
    """Overwrites the numbers that are differences, whose subject may stand in another part of the sentence."""
    for item in items:
        number = item.number
        if item.role == "other" and DIFFERENCE_BEFORE.search(text[max(0, number.start - 200) : number.start]):
            text = text[: number.start] + "_" * (number.end - number.start) + text[number.end :]
    return text


START_AND_REACH = re.compile(r"\bstart\w*\b[^;]{0,40}?\band (?P<end>reach\w*|(?:ris|climb|fall|drop)\w* to)(?= )", re.I)
"""A start and an end without places: "starting around 0.75 and reaching 0.88"."""


def word_places(text: str, axes: Axes) -> list[NumberItem]:
    """Returns places such as "starts" and "at the end", where the range of x is known."""
    places = []
    for word, pattern, x in (("start", START_WORD, axes.x.low), ("end", END_WORD, axes.x.high)):
        if x is not None:
            found = re.finditer(rf"\b{pattern}\b", text, re.I)
            places += [NumberItem("x", Number(match.start(), match.end(), x, x), word) for match in found]
    goes_on = START_AND_REACH.search(text)
    if goes_on and axes.x.high is not None and not any(is_place(axes, text, number) for number in numbers_in(text, axes.style)):
        places.append(NumberItem("x", Number(goes_on.start("end"), goes_on.end("end"), axes.x.high, axes.x.high), "end"))
    return places


def role(text: str, number: Number, axes: Axes) -> str:
    """Returns the role of a number by its unit and the words before it; "?" where they do not tell."""
    before = text[max(0, number.start - 60) : number.start]
    if re.search(r"\b(?:from|since)\s$", before) and re.match(r"\s(?:on\b(?! [A-Z])|onwards?\b)", text[number.end :]):
        return "x"
    if text[number.start : number.end].lower() in ORDINALS:
        is_when = re.search(r"\b(?:after|at|by|in|until)\s(?:the|its)\s$", before, re.I)
        return "x" if is_when or (re.search(r"\bthe\s$", before) and is_place(axes, text, number)) else "other"
    if number.in_words and re.search(r"\b(?:same|these|those|all|the|following|next|last|first)\s$", before, re.I):
        return "other"
    stretch = STRETCH_BEFORE.search(before)
    is_x = is_place(axes, text, number) and not _is_length(axes, number)
    if stretch and (stretch["noun"] or not is_x) and number.unit != "%" and not number.digits:
        return "other"  # "in the last 8 hours"
    if re.match(r"\s?(?:\w+\s)?(?:later|earlier|afterwards|ago|apart)\b", text[number.end : number.end + 40]):
        return "other"
    if number.unit == "%" and re.match(r"\s?(?:%|percent)\sof (?:each|every) ", text[number.end : number.end + 20]):
        return "other"  # "5% of each batch"
    if SCALE_BEFORE.search(before):
        return "other"
    if is_x or re.search(r"@\s?~?$", before) or before.endswith("#"):
        return "x"
    if number.unit in ("times", "points", "point", "pp", "pts"):
        return "other"
    if re.match(
        r"\s(?:\w+ )?(?:ahead|behind|apart|higher|lower|more than|less than|better|worse|clear of|above|below|beneath|under"
        r"|short of|off the|away from|in front|more|fewer|less|longer|shorter|extra|greater|faster|slower|worth of)\b",
        text[end_of(number) :],
        re.I,
    ):
        return "other"
    if number.unit in ("token", "tokens", "tok"):
        return "length"
    if (
        re.match(rf"\s?(?:(?:\w+[- ])?{COUNTED})\b", text[number.end : number.end + 40], re.I)
        and not number.digits
        and number.unit != "%"
    ):
        return "other"
    if number.is_range and re.search(
        rf"\b(?:stay|remain|lie|hover|mov|keep|kept|sit|fluctuat)\w*\s(?:\w+\s)?within\s(?:{HEDGES})?$", before
    ):
        return "value"
    if OF_ALL.match(text, number.end) and re.search(r"\b(?:wins?|won|gets?)\s(?:\w+\s)?$", before):
        return "value"
    if THRESHOLD_BEFORE.search(before) or CHANGE_BEFORE.search(before) or CHANGE_VERB_BEFORE.search(before):
        return "other"
    if DIFFERENCE_BEFORE.search(text[max(0, number.start - 200) : number.start]):
        return "other"
    if not number.digits and (DATE_BEFORE.search(before) or DATE_AFTER.match(text, number.end)):
        return "other"
    if re.search(r"\b(?:a|an|the|its|this|that)\s$", before) and CHANGED_NOUN.match(text, end_of(number)):
        return "other"
    if re.search(
        r"\b(?:section|table|figure|fig\.|chapter|eq\.|equation|appendix|page|reviewer|submission|version|rating"
        r"|confidence)\s?$",
        before,
        re.I,
    ):
        return "other"
    is_one = text[number.start : number.end].lower() == "one"
    if not is_one and re.match(rf"\s?(?:at|after|@|\()\s?{axes.x_words}\s[0-9]", text[number.end : number.end + 40], re.I):
        return "value"
    if number.in_words:
        return (
            "?"
            if re.search(r"\b(?:after|at)\s(?:the\s)?$", before, re.I) or re.match(r"\s?(?:,|and\b)", text[number.end :])
            else "other"
        )
    if number.unit in ("%", "/"):
        return "value"
    if number.signed and text[number.start] == "+":
        return "other"
    if re.fullmatch(r"(?:19|20)[0-9]{2}", text[number.start : number.end]) and re.search(r"[A-Z]\w*\s$", before):
        return "other"
    return "other" if re.match(r"(?:st|nd|rd|th)\b", text[number.end : number.end + 3]) else "?"


def _is_length(axes: Axes, number: Number) -> bool:
    """Returns whether a number of tokens is a length, where the axis counts millions of them."""
    is_small = number.unit in ("token", "tokens", "tok") and not number.is_scaled and number.high < MIN_BUDGET
    return bool(is_small and number.low and axes.x.high is not None and axes.x.high >= MIN_BUDGET)


PAIR_SIGN = re.compile(r"\s*(?:->|\u2192|=>|:|=)\s*")
PAIR_END = re.compile(r"\s*[;|]\s*|,\s+")


def listed_pairs(text: str, axes: Axes) -> list[tuple[Number, Number]]:
    """Returns places and values of a line that is a list of them: "0B -> 0.18, 2B -> 0.29", "x = 1: 0.31; x = 4: 0.48"."""
    pairs = []
    for piece in PAIR_END.split(text.strip(" .;,|")):
        sides = PAIR_SIGN.split(re.sub(r"^\W*x\s*=\s*", "", piece))
        if len(sides) != 2:
            return []
        x, y = (numbers_in(side, axes.style) for side in sides)
        is_whole = len(x) == len(y) == 1 and all(_is_all_of(n[0], side) for n, side in zip((x, y), sides, strict=True))
        if not is_whole or x[0].is_range:
            return []
        pairs.append((x[0], y[0]))
    grows = all(a.low < b.low for (a, _), (b, _) in itertools.pairwise(pairs))
    return pairs if len(pairs) > 1 and grows else []


def _is_all_of(number: Number, text: str) -> bool:
    """Returns whether a text has nothing but a number and its unit."""
    rest = text[: number.start] + text[max(number.end, number.unit_end) :]
    return not re.search(r"\w", re.sub(r"\b(?:approx|about|around|roughly|ca)\b|\([^)]*\)", "", rest))


def bracket_pairs(text: str, items: Sequence[NumberItem]) -> dict[int, int]:
    """Returns the items that are pairs such as (0, 0.38) and [0, 0.34]: a place and a value."""
    pairs = {}
    for at, (a, b) in enumerate(itertools.pairwise(items)):
        inside = text[a.number.end : b.number.start]
        opens, closes = text[: a.number.start].rstrip()[-1:], text[end_of(b.number) :].lstrip()[:1]
        if re.fullmatch(r"\s?[,;:]\s?", inside) and opens + closes in ("()", "[]", "{}"):
            pairs[at] = at + 1
    return pairs if len(pairs) > 1 else {}


def spread_roles(text: str, items: list[NumberItem]) -> list[NumberItem]:
    """Gives the numbers of one list the role that one of them has: "steps 0, 150 and 300", "44, 54 and 81%"."""
    spread = list(items)
    for order in (range(1, len(items)), range(len(items) - 2, -1, -1)):
        for at in order:
            other = at - 1 if order.step > 0 else at + 1
            a, b = min(at, other), max(at, other)
            between = text[end_of(spread[a].number) : spread[b].number.start]
            if (
                spread[at].role == "?"
                and spread[other].role in ("x", "value", "length")
                and not spread[other].word
                and SEPARATOR.fullmatch(between)
            ):
                is_before_place = BOUND_TO_PLACE.match(text, end_of(spread[at].number))
                if spread[other].role == "x" and (is_before_place or not _looks_alike(spread[a].number, spread[b].number)):
                    continue
                if spread[other].role == "length" and spread[at].number.high < MIN_LENGTH:
                    continue
                spread[at] = NumberItem(spread[other].role, spread[at].number)
    return spread


def end_of(number: Number) -> int:
    return number.unit_end if number.unit in ("%", "h", "tok", "tokens", "points") else number.end


def _looks_alike(a: Number, b: Number) -> bool:
    """Returns whether two numbers may stand in one list of places: "step 10, 0.5" is no such list."""
    return (a.digits == b.digits or a.is_scaled or b.is_scaled) and b.low > a.low
