"""Axes of a chart description: what x counts, what y measures, their ranges, and how the text writes its numbers."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from passus.descriptions.axis_nouns import NOUN, count_nouns
from passus.descriptions.layout import Passage, Sentence, plain
from passus.descriptions.numbers import Number, NumberFormat, numbers_in
from passus.descriptions.vocabulary import LENGTH_WORD, MEASURE_WORD, X_NOUNS

AXIS = re.compile(
    r"\b(?P<side>x|y|horizontal|vertical|left|right|bottom|primary|secondary|right vertical|left vertical|right y|left y)"
    r"(?: y)?[- ]?ax[ie]s\b|\b(?P<letter>[xy])\s?(?:=|is\b|from\b)|^\W*(?P<lead>horizontal|vertical)\s*:"
    r"|\b(?P<abscissa>abscissa)\b|\b(?P<ordinate>ordinate)\b",
    re.I,
)
LABELLED = re.compile(r"\b(?:labell?ed|titled|named|called|reads?)\s+(?:as\s+)?\"([^\"]{1,80})\"|^\W*\"([^\"]{1,80})\"", re.I)
AGAINST = re.compile(
    r"\b(?:against|versus|vs\.?|as a function of|over|by|per)\s+(?:the\s+)?(?:number of\s+)?((?:[\w-]+\s+){0,3}[\w-]+)", re.I
)
SCALE_OF = re.compile(
    r"^(?:the |its |it )?(?:scale|labels?|ticks?|range|values?|axis|limits?|numbers)?\b.{0,20}\b(?:rang|extend|run|span"
    r"|goes|read|cover|from|between)",
    re.I,
)
SPAN_BEFORE = re.compile(r"\b(?:over|for|run length|during|up to)\s(?:the\s)?$", re.I)
SPAN_VERB = re.compile(r"\b(?:evaluat|measur|times|cover|span|run|rang|plot|shown|record|train)\w*\W*$", re.I)
SPAN_OF = re.compile(r"\b(?:train|chart|run|figure|plot|graph)", re.I)
X_ADJECTIVE = (
    r"(?:training|optimi[sz]er|policy|RL|gradient|wall-?clock|adaptation|GPU|TPU|A100|H100|node|device"
    r"|fine-?tuning|pre-?training"
    r"|environment|env|update|outer|inner|full|complete)"
)
LEADING_PLACE = (
    r"(?:^|[;:.] )(?:and )?(?:with|at|after|by|in) (?:about |around )?[0-9][0-9.,]*[kMB]? (?:[a-z0-9]+[- ])?({0})s?[,:]"
)
MIN_LEADING = 3
"""Places at the beginning of sentences from which their noun is one of an x-axis."""
GLUED = {
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "s": "second",
    "min": "minute",
    "tok": "token",
    "ep": "epoch",
    "it": "iteration",
}


@dataclass
class Axis:
    label: str = ""
    low: float | None = None
    high: float | None = None
    number: int = -1
    """The sentence that states the range."""
    is_log: bool = False


@dataclass
class Axes:
    style: NumberFormat = field(default_factory=NumberFormat)
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    second: Axis = field(default_factory=Axis)
    """The right axis, where there is one."""
    x_nouns: tuple[str, ...] = ("step",)
    """Nouns for places on the x-axis, in the singular."""
    y_by_panel: dict[str, Axis] = field(default_factory=dict)

    def is_x_noun(self, word: str) -> bool:
        word = word.lower()
        return singular(GLUED.get(word, word)) in self.x_nouns

    @property
    def x_words(self) -> str:
        """A pattern of the words for places on the x-axis."""
        nouns = "|".join(sorted(self.x_nouns, key=len, reverse=True))
        return rf"(?:{X_ADJECTIVE}[- ])?(?:{nouns})s?"


def singular(noun: str) -> str:
    return {"batches": "batch", "hrs": "hour", "epochs": "epoch"}.get(noun, noun.removesuffix("s"))


def read_axes(passages: Sequence[Passage], sentences: Sequence[Sentence], style: NumberFormat) -> Axes:
    axes = Axes(style)
    last: tuple[Passage | None, Axis | None] = (None, None)
    for sentence in sentences:
        axis = _read_statements(axes, sentence)
        if axis is None and last[0] is sentence.passage and last[1] is not None and SCALE_OF.search(sentence.text):
            _read_axis(last[1], "", sentence.text, style, sentence.number)
            axis = last[1]
        last = (sentence.passage, axis)
    axes.x_nouns = _x_nouns(axes, passages, sentences)
    _read_spans(axes, sentences)
    return axes


def _read_statements(axes: Axes, sentence: Sentence) -> Axis | None:
    """Reads what a sentence says about axes, each from its name on to the next one. Returns the last axis."""
    text, axis = sentence.text, None
    if sentence.passage.kind == "heading":
        return None
    found = list(AXIS.finditer(text))
    for at, match in enumerate(found):
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        side = (match["side"] or match["letter"] or match["lead"] or ("x" if match["abscissa"] else "y")).lower()
        clause = re.split(r"(?<=[^\d]);|\.\s", text[match.end() : end])[0]
        before = text[found[at - 1].end() if at else 0 : match.start()]
        axis = axes.x if side in ("x", "horizontal", "bottom") else _y_axis(axes, side, f"{before} {clause}")
        _read_axis(axis, before, clause, axes.style, sentence.number)
    return axis


def _y_axis(axes: Axes, side: str, text: str) -> Axis:
    """Returns the axis of lengths where there are two: the right one, mostly."""
    if side.startswith(("right", "secondary")):
        return axes.second
    return axes.second if axes.y.label and LENGTH_WORD.search(text) and not MEASURE_WORD.search(text) else axes.y


def _read_axis(axis: Axis, before: str, text: str, style: NumberFormat, number: int) -> None:
    quoted = LABELLED.search(text)
    label = (quoted[1] or quoted[2]) if quoted else ""
    if not label:
        words = re.sub(
            r"^[^:]*?\)\s*:|^[\s:=(]*(?:is|shows?|gives?|represents?|labell?ed|counts?|of the \S+ panel)?\s*:?",
            "",
            text,
            count=1,
        )
        label = re.split(
            r"[(,.;:]|\b(?:rang|from|with|span|between|runs?|in|goes|cover|extend|scale|cut|as)\w*\b|\d", words, maxsplit=1
        )[0]
    label = plain(label).strip(" \"'*-")
    axis.label = axis.label or (label if len(label) <= 60 else "")
    axis.is_log = axis.is_log or bool(re.search(r"\blog(?:arithmic)?\b", text, re.I))
    for quantity in numbers_in(text, style):
        if quantity.is_range and axis.low is None and quantity.low < quantity.high:
            axis.low, axis.high, axis.number = quantity.low, quantity.high, number
    if axis.low is None and (ticks := _ticks(text, style)):
        axis.low, axis.high, axis.number = ticks[0], ticks[-1], number
    if axis.low is None and "percent" not in text and (top := re.search(r"\b(?:goes up to|cut (?:off )?at|up to)\b", text)):
        later = [q for q in numbers_in(text, style) if q.start >= top.end()]
        if later:
            axis.low, axis.high, axis.number = 0.0, later[0].low, number


def _ticks(text: str, style: NumberFormat) -> list[float]:
    """Returns tick labels: "the labels read 0, 250, 500"."""
    values = [q.low for q in numbers_in(text, style) if not q.is_range]
    return values if len(values) >= 3 and all(a < b for a, b in itertools.pairwise(values)) else []


def _x_nouns(axes: Axes, passages: Sequence[Passage], sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """Returns the nouns that the x-axis counts: those of its label, else those that stand beside most numbers."""
    in_label = [noun for noun in X_NOUNS if re.search(rf"\b{noun}s?\b|\[{noun[0]}\]", axes.x.label, re.I)]
    if re.search(r"\btime\b", axes.x.label, re.I):
        in_label.append("hour")
    texts = [s.text for s in sentences] + [cell for p in passages for _, row in p.rows for cell in row]
    counts = count_nouns(texts, axes.style)
    for passage in passages:
        if passage.rows:
            head = passage.rows[0][1][0].lower()
            in_label += [noun for noun in X_NOUNS if re.search(rf"\b{noun}s?\b", head)]
            in_label += ["hour"] * bool(re.search(r"\[h\]|\(h\)", head))
            for cell in passage.rows[0][1][1:]:
                counts.update(noun for noun in X_NOUNS if re.search(rf"[0-9][kMB]? {noun}s?$", cell.lower()))
    for text in texts:
        if against := AGAINST.search(text):
            counts.update({noun: 2 for noun in X_NOUNS if re.search(rf"\b{noun}s?$", against[1].lower())})
    nouns_found = list(dict.fromkeys(in_label))
    if not nouns_found and counts:
        nouns_found = [noun for noun, _ in counts.most_common(1)]
    if not nouns_found:
        nouns_found = ["step"]
    leading = Counter(match[1].lower() for text in texts for match in re.finditer(LEADING_PLACE.format(NOUN), text, re.I))
    nouns_found += [noun for noun in X_NOUNS if leading[noun] >= MIN_LEADING and noun not in nouns_found]
    if set(nouns_found) & {"step", "iteration", "update"}:
        nouns_found += [noun for noun in ("step", "iteration", "update") if counts[noun] and noun not in nouns_found]
    return tuple(nouns_found)


def _read_spans(axes: Axes, sentences: Sequence[Sentence]) -> None:
    """Takes the range of x from phrases such as "over 500 training steps" where no sentence about the axis gives it."""
    for sentence in sentences:
        if axes.x.low is not None:
            return
        pair = re.search(rf"\b(?:between|from) {axes.x_words} (\S+) (?:and|to) {axes.x_words} (\S+)", sentence.text, re.I)
        ends = [n.low for part in pair.groups() for n in numbers_in(part, axes.style)] if pair else []
        if pair and len(ends) == 2 and ends[0] == 0 < ends[1] and SPAN_VERB.search(sentence.text[: pair.start()][-60:]):
            axes.x.low, axes.x.high, axes.x.number = ends[0], ends[1], sentence.number
            return
        for number in numbers_in(sentence.text, axes.style):
            before = sentence.text[max(0, number.start - 40) : number.start]
            if number.is_range and number.unit not in ("points", "%"):
                is_x = is_place(axes, sentence.text, number) or re.search(
                    rf"{axes.x_words},?\s*(?:\(?from|ranging from|between)?\s*$", before, re.I
                )
                is_event = re.search(r"\bbetween\b[^.]{0,25}$", before, re.I) and not SPAN_VERB.search(before)
                if (
                    is_x
                    and not is_event
                    and number.low < number.high
                    and (number.low == 0 or re.search(r"\b(?:spans?|covers?|axis|along the bottom)\b", sentence.text))
                ):
                    axes.x.low, axes.x.high, axes.x.number = number.low, number.high, sentence.number
                    break
            elif (
                axes.is_x_noun(_noun(axes, sentence.text, number))
                and SPAN_BEFORE.search(before)
                and SPAN_OF.search(sentence.text)
            ):
                axes.x.low, axes.x.high, axes.x.number = 0.0, number.low, sentence.number
                break


def _noun(axes: Axes, text: str, number: Number) -> str:
    """Returns the noun behind a number, over an adjective: 500 training steps."""
    if axes.is_x_noun(number.unit):
        return number.unit
    match = re.match(
        rf"[\s-]+(?:more |further |additional |preference )?({axes.x_words})\b", text[number.end : number.end + 40], re.I
    )
    return re.split(r"[\s-]", match[1])[-1] if match else number.unit


def is_place(axes: Axes, text: str, number: Number) -> bool:
    """Returns whether a number is marked as a place on the x-axis by the noun before or behind it."""
    if axes.is_x_noun(_noun(axes, text, number)):
        return True
    if number.unit == "%":
        return False
    before = text[max(0, number.start - 40) : number.start]
    noun = re.search(
        rf"(?P<count>[0-9][kKMB]?[ -])?\b(?P<noun>{axes.x_words})\s*(?:number|no\.|#)?\s*=?\s*"
        r"(?:~|about |around |approximately |roughly )?$",
        before,
        re.I,
    )
    return noun is not None and not (
        noun["count"] and noun["noun"].islower()
    )  # in "after 12 hours 47 of them" the hours are counted already
