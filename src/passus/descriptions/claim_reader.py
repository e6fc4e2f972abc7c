"""The claims of a text: each sentence is cut into clauses, and each clause is read by `claim_parser`."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from passus.descriptions.chart_data import ChartData, Point
from passus.descriptions.claims import Amount, Claim, Group, Window
from passus.descriptions.count_claims import axis_limits, count_claims
from passus.descriptions.layout import Sentence
from passus.descriptions.mentions import Mentions
from passus.descriptions.numbers import Number, numbers_in
from passus.descriptions.panel_marks import panel_in, short_names
from passus.descriptions.quantities import shown
from passus.descriptions.reference_words import Context
from passus.descriptions.sentence_reading import SentenceReading
from passus.descriptions.series_nouns import nouns_in_names, nouns_of, nouns_of_names, pattern_of, with_plain_nouns

OTHER_SUBJECT = re.compile(
    r"(?:(?:without|with|under|given) the \w+,? )?(?:the|this|that) (?:[\w-]+ )?"
    r"(?:policy|model|run|method|variant|baseline|agent)\b",
    re.I,
)
"""The beginning of a sentence about a series that it does not name. What "it" means in the next one is not known."""
PRONOUN_SUBJECT = re.compile(r"\W*(?:[\w«» ,-]{0,30}, ?)?(?:it|its|they|their|this|these|that)\b", re.I)
COVERED = re.compile(
    r"\b(?:columns?|rows?|cover(?:s|ed)?|evaluat(?:ed|ions?)|measured|readings?|checkpoints?|data)\b(?!.*\baxis\b)", re.I
)
"""Words for where values are given, and not only where the axis runs."""
MAX_VALUES = 2
"""Values of a sentence that are claims. A sentence with more lists data."""
REFERENCE_NAME = re.compile(
    r"\b(?:base(?: model|line)?|SFT|reference|untrained|chance|random(?: guess\w*)?|human(?:s| level)?|teacher|oracle"
    r"|zero-shot)\b",
    re.I,
)


@dataclass(frozen=True)
class Statement:
    """A sentence with what it claims."""

    sentence: Sentence
    claims: tuple[Claim, ...]
    is_complete: bool = True
    """Whether all of it was understood that states something about the curves."""
    is_restricted: bool = False
    """Whether a word that was not understood may restrict what it says, or turn it around."""


@dataclass
class _Memory:
    """What pronouns and omitted subjects refer to, from one sentence to the next."""

    subject: tuple[str, ...] = ()
    pair: tuple[str, ...] = ()
    panel: str = ""
    panel_pair: tuple[str, ...] = ()
    """The last two panels that a sentence named together."""
    passage: object = None
    mentioned: frozenset[str] = frozenset()
    """The series that the last sentence named."""


@dataclass(frozen=True)
class Subjects:
    """The curves that claims can be about."""

    by_panel: dict[str, tuple[str, ...]]
    """Names of the series on each panel."""
    has_lengths: bool = False
    has_spread: bool = False
    percent_panels: frozenset[str] = frozenset()
    """Panels on which a number above 1 is a percentage."""


def subjects_of(data: ChartData) -> Subjects:
    """Returns the curves of a text itself."""
    by_panel: dict[str, dict[str, None]] = {}
    for point in data.points:
        by_panel.setdefault(point.panel, {})[point.series] = None
    return Subjects(
        {panel: tuple(names) for panel, names in by_panel.items()},
        any(point.measure == "tokens" for point in data.points),
        any(point.reading.y.plus_minus is not None for point in data.points),
        frozenset(data.percent_panels),
    )


class ClaimReader:
    """Reads the sentences of one text in order. The curves are those of the text, unless others are given."""

    def __init__(self, data: ChartData, subjects: Subjects | None = None) -> None:
        self.data, self.axes, self.names = data, data.axes, data.names
        self.subjects = subjects or subjects_of(data)
        self.finder = Mentions(data.names)
        self.panels = tuple(self.subjects.by_panel)
        self.has_lengths, self.has_spread = self.subjects.has_lengths, self.subjects.has_spread
        self.by_sentence: dict[int, list[Point]] = {}
        for point in data.points:
            self.by_sentence.setdefault(point.sentence, []).append(point)
        self.memory = _Memory()
        texts = [sentence.text for sentence in data.sentences]
        self.short_panels = short_names(data.names.panels, texts)
        names = {name for row in self.subjects.by_panel.values() for name in row}
        self.only_panels = {panel for panel in data.names.panels if panel not in names}
        data_texts = [sentence.text for sentence in data.sentences if sentence.number in self.by_sentence]
        data_texts += [passage.text for passage in data.passages if passage.kind == "table"]
        heads = [label.text for passage in data.passages for label in passage.labels]
        first = texts[: 1 + min(2, len(texts) // 6)]
        self.quantities = shown(data.axes.y.label, data.names.panels, (*first, *heads, *data_texts), self.has_lengths)
        self.nouns = pattern_of((*nouns_of(texts, len(names)), *nouns_of_names(texts, self.finder), *nouns_in_names(names)))
        self.places = {point.reading.x_low for point in data.points if point.reading.x_low == point.reading.x_high}
        self.references = _references(data, names)

    def read(self) -> Iterator[Statement]:
        """Yields a statement for every sentence that is no heading."""
        for sentence in self.data.sentences:
            if sentence.passage.kind != "heading" or re.search(r"[.!]$", sentence.text):
                yield self._statement(sentence)

    def _statement(self, sentence: Sentence) -> Statement:
        memory, label = self.memory, self.data.series_of.get(sentence.number)
        self._enter(sentence, label)
        names = self._names_on(memory.panel)
        own = (label,) if label else ()
        context = Context(
            names, memory.subject or own, (), memory.pair, is_item=sentence.passage.kind == "item", mentioned=memory.mentioned,
            references=self.references,
        )  # fmt: skip
        reading = SentenceReading(self, context, memory.panel, own)
        claims, is_complete = reading.read(sentence)
        if self.data.is_listed(sentence.number):  # prose is held against lists, and not the other way round
            claims = [claim for claim in claims if claim.kind != "value"]
        amounts = {part.value for part in reading.parts if isinstance(part, Amount) and part.kind == "difference"}
        claims = [
            *self._axis_claims(sentence),
            *count_claims(with_plain_nouns(sentence.text, self.nouns)),
            *axis_limits(sentence.text, self.axes),
            *self._value_claims(sentence, amounts, reading.plain_values),
            *claims,
        ]
        self._remember(sentence, reading.subject)
        if reading.is_lost and (reading.has_other_series or len(self.memory.mentioned) != 1):
            self.memory.subject = ()
        return Statement(sentence, tuple(claims), is_complete, reading.is_restricted)

    def _enter(self, sentence: Sentence, label: str | None) -> None:
        """Takes the panel and the subject from the labels of a new passage."""
        memory = self.memory
        if sentence.passage is not memory.passage:
            memory.passage = sentence.passage
            if sentence.number in self.data.label_panel:
                memory.panel = self.data.label_panel[sentence.number]
            elif len(self.panels) > 1 and sentence.passage.labels:
                memory.panel = ""
            memory.subject = (label,) if label else memory.subject
            memory.pair = memory.pair if sentence.passage.kind == "item" else ()
        memory.panel = (
            panel_in(sentence.text, self.names, self.short_panels) or self.names.panel_in(sentence.text) or memory.panel
        )
        if len(self.panels) == 1:
            memory.panel = self.panels[0]

    def _names_on(self, panel: str) -> tuple[str, ...]:
        is_one = panel in self.panels and len(self.panels) > 1
        names = [name for own, row in self.subjects.by_panel.items() if own == panel or not is_one for name in row]
        return tuple(dict.fromkeys(names)) or tuple(self.names.series)

    def _remember(self, sentence: Sentence, subject: tuple[str, ...]) -> None:
        memory = self.memory
        places = sorted((sentence.text.find(name), name) for name in self.names.panels if name in sentence.text)
        if len(places) == 2:
            memory.panel_pair = (places[0][1], places[1][1])
        mentioned = tuple(dict.fromkeys(mention.series[0] for mention in self.finder.find(sentence.text)))
        memory.mentioned = frozenset(mentioned)
        is_other = PRONOUN_SUBJECT.match(sentence.text) if mentioned else OTHER_SUBJECT.match(sentence.text)
        memory.subject = subject or (() if is_other else mentioned[:1] or memory.subject)
        if len(mentioned) == 2:
            memory.pair = mentioned
        elif (
            len(mentioned) == 1
            and len(memory.pair) == 2
            and mentioned[0] not in memory.pair
            and memory.subject != memory.pair[:1]
        ):
            memory.pair = (memory.pair[0], mentioned[0])

    def share(self, number: Number, value: float, panel: str) -> float:
        """Returns a value as a share, where the panel shows shares."""
        if number.unit == "%":
            return value / 100
        is_percent = panel in self.subjects.percent_panels and abs(value) > 1 and number.unit != "/"
        return value / 100 if is_percent else value

    def _axis_claims(self, sentence: Sentence) -> Iterator[Claim]:
        axes = self.axes
        ranges = [number for number in numbers_in(sentence.text, axes.style) if number.is_range]
        stated = sum(axis.number == sentence.number for axis in (axes.x, axes.y, axes.second))
        if len(ranges) > stated:  # several charts have axes of their own
            return
        for name, axis in (("x", axes.x), ("y", axes.y), ("second", axes.second)):
            if axis.number == sentence.number and axis.low is not None and axis.high is not None:
                manner = "covered" if name == "x" and COVERED.search(sentence.text) else name
                yield Claim("axis", number=axis.low, amount=Amount(axis.high), manner=manner)

    def _value_claims(self, sentence: Sentence, amounts: Collection[float], plain: Collection[float]) -> Iterator[Claim]:
        """Yields the values of a sentence of prose, which are held against those of lists and other sentences. What the
        sentence states as a difference is none. Only values of plain clauses contradict others."""
        own = self.by_sentence.get(sentence.number, [])
        if len(own) > MAX_VALUES or self.data.is_listed(sentence.number):
            return
        for point in own:
            reading, y = point.reading, point.reading.y
            if reading.x_low == reading.x_high and not y.is_range and y.low not in amounts:
                scale = self.data.scale(point)
                digits = y.digits + (2 if scale != 1 else 0)
                yield Claim(
                    "value", Group((point.series,)), Window(reading.x_low, reading.x_low), number=y.low * scale,
                    panels=(point.panel,), measure=point.measure, amount=Amount(0, digits=digits), is_sure=y.low in plain,
                )  # fmt: skip


def _references(data: ChartData, names: Iterable[str]) -> tuple[str, ...]:
    """Returns the series that stay at one value, or are named as what others are compared to."""
    values: dict[str, set[float]] = {}
    for point in data.points:
        values.setdefault(point.series, set()).update((point.reading.y.low, point.reading.y.high))
    return tuple(name for name in names if len(values.get(name, ())) == 1 or REFERENCE_NAME.search(name))
