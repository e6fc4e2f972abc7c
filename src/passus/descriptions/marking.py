"""A sentence with its parts marked: series, panels, places, amounts and values become tokens such as «S0».

The words that remain are few, so that the frames of `claim_parser` can be short.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from passus.descriptions.axes import Axes
from passus.descriptions.claims import Amount, Window
from passus.descriptions.numbers import Number
from passus.descriptions.pairing import PlaceLists, items_in

TOKEN = re.compile(r"«([A-Z])(\d+)»")
S, X, V, D, R, P = (rf"«{letter}\d+»" for letter in "SXVDRP")
SENSES = (
    ("at least", r"at least|no less than|not less than|no fewer than|a minimum of|as much as(?= \S+ (?:points|more))"),
    ("at most", r"at most|no more than|not more than|up to|at the most|a maximum of|never more than"),
    ("more",
        r"(?:well |far |much |slightly |a little |a bit |considerably )?(?:more than|over|above|greater than"
        r"|larger than|in excess of|upwards of)|beyond"),
    ("less",
        r"(?:well |far |much |slightly |a little |a bit |considerably )?(?:less than|fewer than|under|below"
        r"|smaller than)|not even|barely"),
    ("nearly", r"nearly|almost|close to|just under|not quite|practically"),
    ("exactly", r"exactly|precisely"),
    ("about",
        r"about|as much as|around|approximately|approx\.?|roughly|some|circa|ca\.?|~|only|just|a mere|a good|a full|another"
        r"|further|a further|still|an? "),
)  # fmt: skip
SENSE = re.compile(
    r"(?:\b(?:by|of)\s+)?(?:"
    + "|".join(rf"(?P<{name.replace(' ', '_')}>(?<![\w])(?:{words}))" for name, words in SENSES)
    + r")\s*$",
    re.I,
)
BEFORE_PLACE = re.compile(r"\b(?:by|at|after|until|from|since|before)\s+$", re.I)
FIRST_HALF = re.compile(r"\b(?:first|second) half\b", re.I)
STRETCH = re.compile(r"\bthe\s+(?:last|final|first|next|following)\s*$", re.I)
SCALES = (1e9, 1e6, 1e3)
PLACE_NOUN = re.compile(r"\s+(?:checkpoint|mark|evaluation|eval)\b", re.I)


@dataclass
class Marked:
    """A sentence whose parts are tokens."""

    text: str
    parts: list[Any] = field(default_factory=list)

    def put(self, kind: str, part: Any) -> str:
        self.parts.append(part)
        return f"«{kind}{len(self.parts) - 1}»"

    def get(self, token: str) -> Any:
        match = TOKEN.fullmatch(token)
        return self.parts[int(match[2])] if match else None

    def replace(self, pattern: str, kind: str, make: Callable[[re.Match[str]], Any]) -> None:
        """Replaces what a pattern finds by tokens. A part of None leaves the text as it is."""

        def put(match: re.Match[str]) -> str:
            part = make(match)
            return match[0] if part is None else self.put(kind, part)

        self.text = re.sub(pattern, put, self.text, flags=re.I)


@dataclass(frozen=True)
class MarkedValue:
    number: Number
    is_length: bool = False


def mark_numbers(marked: Marked, axes: Axes, lists: PlaceLists, known: Collection[float] = ()) -> None:
    """Marks places, amounts and values. Known are the places of the points."""
    text = marked.text
    for item in reversed(items_in(text, axes, lists)):
        number = item.number
        if item.word or _is_half(text, number):
            continue
        is_glued = number.unit_end == number.end + len(number.unit)
        has_unit = _is_unit(number, axes) and (item.role != "x" or is_glued)  # the noun of a place is read with its words
        start, end = number.start, number.unit_end if has_unit else number.end
        before, after = text[:start], text[end:]
        is_named = BEFORE_PLACE.search(before) or PLACE_NOUN.match(after)  # "by 6B", "the 60B checkpoint"
        is_place = number.is_scaled and number.low in lists.known and is_named
        if item.role == "x" or is_place or _is_stretch(text[: number.start], text[number.end :], axes):
            begin, stop, window = _window(before, after, _in_units_of(known, number), axes, has_unit)
            text = before[:begin] + marked.put("X", window) + after[stop:]
            continue
        if number.unit == "times" and not re.match(
            r"\W*(?:as|the|that|more|larger|higher|longer|its|of|over|what|«[SIO]|smaller|lower)", after, re.I
        ):
            continue
        if number.unit == "times":
            begin, sense = sense_before(before)
            text = before[:begin] + marked.put("R", Amount(number.value, sense, "ratio")) + after
            continue
        if number.in_words and number.unit not in ("points", "point", "percent", "%", "pp", "nats", "problems", "tokens"):
            continue
        if _is_amount(number, item.role, before, after):
            begin, sense = sense_before(before)
            after = re.sub(r"^\s+of (?=its|their)", " ", after) if number.unit == "%" else after
            after = re.sub(r"^\s+(?:nats|problems|perplexity points?|perplexity)\b", "", after)
            kind = "range" if number.is_range else "difference"
            is_relative = number.unit == "%" and re.match(
                r"\s+(?:longer|shorter|higher|lower|more|less|better|worse|fewer|larger|smaller)\b", after
            )
            is_share = number.unit == "%" and not is_relative
            if is_relative:
                text = before[:begin] + marked.put("D", Amount(number.low / 100, sense, "relative", number.digits)) + after
                continue
            amount = Amount(
                number.low / 100 if is_share else number.low,
                sense,
                "share" if is_share else kind,
                number.digits,
                number.unit in ("points", "point", "pp"),
            )
            if number.is_range:
                text = text[:start] + marked.put("V", MarkedValue(number, item.role == "length")) + after
                continue
            text = before[:begin] + marked.put("D", amount) + after
            continue
        text = before + marked.put("V", MarkedValue(number, item.role == "length")) + after
    marked.text = text


def _in_units_of(known: Collection[float], number: Number) -> Number:
    """Returns a place in the units of the known places: "20 billion tokens" where a table has a column of billions."""
    if not number.is_scaled or number.low in known:
        return number
    scale = next((scale for scale in SCALES if number.low / scale in known or number.high / scale in known), 1.0)
    return replace(number, low=number.low / scale, high=number.high / scale)


def _is_half(text: str, number: Number) -> bool:
    """Returns whether an ordinal stands for one half of the axis: "more in the first half than in the second"."""
    return text[number.start : number.end].lower() in ("first", "second") and bool(FIRST_HALF.search(text))


def _is_stretch(before: str, after: str, axes: Axes) -> bool:
    """Returns whether a number is the length of a part of the x-axis: "in the last 100 steps", "200 steps later"."""
    noun = rf"\s?{axes.x_words}\b"
    is_counted = STRETCH.search(before) and re.match(noun, after, re.I)
    return bool(is_counted or re.match(rf"{noun} (?:later|(?:which|that) follow)", after, re.I))


def _is_unit(number: Number, axes: Axes) -> bool:
    return number.unit in (
        "%",
        "points",
        "point",
        "pp",
        "pts",
        "times",
        "h",
        "tok",
        "tokens",
        "/",
        "nats",
        "problems",
        "token",
    ) or (axes.is_x_noun(number.unit))


def _is_amount(number: Number, role: str, before: str, after: str) -> bool:
    if number.unit == "%" and re.match(
        r"\s+(?:of (?:its|the|their)|longer|shorter|higher|lower|more|less|better|worse|fewer|larger|smaller)\b", after
    ):
        return True
    if number.unit in ("points", "point", "pp", "pts"):
        return True
    if re.match(
        r"\s+(?!to )(?:\w+ )?(?:apart|more|less|higher|lower|above|below|ahead|behind|longer|shorter|better|worse"
        r"|of (?:improvement|gain)|clear of|in front|short of)\b",
        after, re.I,
    ):  # fmt: skip
        return True
    if number.signed and before and not before.endswith(("-",)) and role == "other":
        return True
    return bool(
        re.search(
            r"\b(?:by|gains?|gained|gaining|loses?|lost|losing|drops? of|drop|fall of|rise of|gap (?:of|is|amounts to"
            r"|was)|(?:difference|distance|lead|advantage|margin|improvement|"
            r"increase|decrease|decline|change|deficit|edge)(?: between [^.;]{1,60})?(?: of| is| was| amounts to|:)?"
            r"|won|costs?|apart by|adds?|within|amounts to|drop, of|another|give[sn]? (?:up|back)|picks? up|still|sheds?"
            r"|shedding|forfeits?"
            r"|forfeited|concedes?|conceded|regains?|regained|puts? on|piles? on|shaves? off)\s+"
            r"(?:another |only |about |around |approx\.? |approximately |roughly |nearly |almost |more than |less than "
            r"|at least |at most |no more than |as much as |a full |over |some |just |still )*$",
            before, re.I,
        )
    )  # fmt: skip


def sense_before(before: str) -> tuple[int, str]:
    """Returns where the words begin that say how an amount is meant, and what they say."""
    match = SENSE.search(before)
    if not match:
        by = re.search(r"\bby\s+$", before, re.I)
        return (by.start() if by else len(before)), "about"
    name = next(name for name, _ in SENSES if match[name.replace(" ", "_")])
    start = match.start()
    more = SENSE.search(before[:start])
    if more and name == "about":
        name = next(other for other, _ in SENSES if more[other.replace(" ", "_")])
        start = more.start()
    by = re.search(r"\bby\s+$", before[:start], re.I)
    return (by.start() if by else start), name


PREPOSITION = re.compile(
    r"(?:\b(?P<word>at|by|around|near|after|from|since|until|till|up to|before|between|during|past|over|in|with|on"
    r"|within|through|beyond|once|for|as of|starting at|starting from|"
    r"right up to|only until|to|between the|past the)\s+)?(?:the\s+)?(?:very\s+)?(?:about |around |approximately "
    r"|roughly |~|close to |near )?$",
    re.I,
)


def _window(before: str, after: str, number: Number, axes: Axes, has_unit: bool) -> tuple[int, int, Any]:
    """Returns where the words of a place begin and end, and the part of the x-axis that they name."""
    noun_first = re.search(rf"{axes.x_words}\s*#?\s*(?:~|about |around )?$", before, re.I)
    head = before[: noun_first.start()] if noun_first else before
    stretch = re.search(r"(?:\b(?:over|in|during|for|within)\s+)?\bthe\s+(last|final|first|next|following)\s*$", head, re.I)
    if stretch and stretch[1].lower() == "first" and re.search(r"\bafter\s+the\s+first\s*$", head, re.I) and not noun_first:
        noun = re.match(rf"\s?{axes.x_words}\b", after, re.I)
        start = re.search(r"\bafter\s+the\s+first\s*$", head, re.I)
        assert start is not None
        return (
            start.start(),
            noun.end() if noun else 0,
            Window((axes.x.low or 0.0) + number.low, None, after=True),
        )
    if stretch and not number.is_range and not noun_first:
        noun = re.match(rf"\s?{axes.x_words}\b", after, re.I)
        word, size = stretch[1].lower(), number.low
        window: Any = (
            Window(last=size)
            if word in ("last", "final")
            else Window(None, (axes.x.low or 0.0) + size)
            if word == "first"
            else ("next", size)
        )
        return stretch.start(), noun.end() if noun else 0, window
    words = "" if has_unit else rf"\s?{axes.x_words}"
    follow = re.match(rf"{words} (?:which|that) follow(?:s|ed)?|{words} later\b", after, re.I)
    if follow and not noun_first:
        lead = re.search(r"(?:\b(?:over|in|during|for|within)\s+)?(?:\bthe\s+)?$", head, re.I)
        return lead.start() if lead else len(head), follow.end(), ("next", number.low)
    match = PREPOSITION.search(head)
    assert match is not None
    word = (match["word"] or "").lower()
    stop = 0
    noun_last = re.match(rf"\s?(?:{axes.x_words}|h|hrs?|hours?)\b", after, re.I)
    if noun_last and not noun_first:
        stop = noun_last.end()
    if mark := re.match(r"\s+(?:mark|evaluation|checkpoint|point)\b", after[stop:], re.I):
        stop += mark.end()
    goes_on = re.match(r"\s+(?:on\b(?! [A-Z«])|onwards?\b|and (?:beyond|later)\b)", after[stop:], re.I)
    if goes_on:
        stop += goes_on.end()
    begin = match.start() if word else (noun_first.start() if noun_first else len(before))
    begin = min(begin, noun_first.start()) if noun_first else begin
    low, high = number.low, number.high
    if number.is_range:
        return begin, stop, Window(low, None if number.joint == "on" else high)
    if goes_on or word in ("from", "since", "starting at", "starting from", "as of", "once"):
        return begin, stop, Window(low, None)
    if word in ("until", "till", "up to", "through", "right up to", "only until", "to"):
        return begin, stop, Window(None, low)
    if word == "before":
        return begin, stop, Window(None, low, open_high=True)
    if word in ("after", "past", "beyond") and noun_first:
        return begin, stop, Window(low, None, open_low=True)
    if word in ("in", "within") and noun_last and not noun_first and not re.search(r"\bthe\s+$", head):
        return begin, stop, ("next", low, Window(None, low))  # "in 400 steps": since the place before
    if word in ("over", "during", "within", "for", "in") and noun_last and not noun_first:
        return begin, stop, Window(None, low)
    return begin, stop, Window(low, low, after=word == "after", by=word == "by")
