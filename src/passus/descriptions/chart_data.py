"""What a text says about its chart: axes, names, points with the sentence that each was read from."""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from passus.descriptions.axes import Axes
from passus.descriptions.labels import LabelName
from passus.descriptions.layout import Label, Passage, Sentence
from passus.descriptions.names import Names
from passus.descriptions.pairing import PairedValue, PlaceLists
from passus.descriptions.vocabulary import LENGTH_WORD

ROW = re.compile(r"[^.]{1,40}:")
MIN_LISTED, MIN_ROW_DIGITS = 3, 7
"""Points, or digits of a line that begins with a name, from which a sentence lists data."""


@dataclass
class Point:
    series: str
    panel: str
    measure: str
    """accuracy for the main measure, whatever it is, and tokens for a length beside it"""
    reading: PairedValue
    sentence: int
    """Number of the sentence; negative for a table."""
    line: int


@dataclass
class Unit:
    """A sentence or list item, with the labels that it stands under, from the outermost on."""

    sentence: Sentence
    text: str
    """Without its lead, where that names something."""
    lead: LabelName | None
    chain: list[tuple[LabelName, Label]]
    is_list: bool
    """Whether it is a list of values rather than a sentence with a subject."""
    observes: bool
    count: int = 0

    @property
    def measure(self) -> str:
        named = [self.lead] if self.lead and self.lead.kind == "measure" else []
        named += [label for label, _ in reversed(self.chain) if label.kind == "measure"]
        return "" if not named else "tokens" if LENGTH_WORD.search(named[0].text) else "accuracy"


@dataclass
class ChartData:
    """Everything that a text says about its chart, but for its claims."""

    axes: Axes
    names: Names
    passages: list[Passage]
    sentences: list[Sentence]
    points: list[Point] = field(default_factory=list)
    units: dict[int, Unit] = field(default_factory=dict)
    """By the number of the sentence."""
    lists: PlaceLists = field(default_factory=PlaceLists)
    percent_panels: set[str] = field(default_factory=set)
    panel_of: dict[int, str] = field(default_factory=dict)
    """The panel that a sentence is about, by its number."""
    series_of: dict[int, str] = field(default_factory=dict)
    """The series that a sentence stands under, by its number."""
    label_panel: dict[int, str] = field(default_factory=dict)
    """The panel that a sentence stands under, by its number."""

    def is_percent(self, panel: str) -> bool:
        return panel in self.percent_panels

    def scale(self, point: Point) -> float:
        """Returns the factor from a value to a share, for percentages."""
        y = point.reading.y
        is_percent = point.measure == "accuracy" and y.unit != "/" and (y.unit == "%" or self.is_percent(point.panel))
        return 0.01 if is_percent else 1.0

    def is_listed(self, sentence: int) -> bool:
        """Returns whether a sentence lists data, which has precedence over prose. Tables do."""
        return sentence < 0 or sentence in self._listed

    def rank(self, sentence: int) -> int:
        """Returns the precedence of what a sentence says: tables and lists before sentences that list data, then prose."""
        unit = self.units.get(sentence)
        if sentence < 0 or (unit is not None and unit.is_list and self.is_listed(sentence)):
            return 0
        return 1 if self.is_listed(sentence) else 2

    @cached_property
    def listed_lines(self) -> frozenset[int]:
        """Lines that list data."""
        return frozenset(sentence.line for sentence in self.sentences if self.is_listed(sentence.number))

    @cached_property
    def _listed(self) -> set[int]:
        counts = Counter(point.sentence for point in self.points)
        listed = set()
        for sentence in self.sentences:
            unit = self.units.get(sentence.number)
            is_row = ROW.match(sentence.text) and len(re.findall(r"\d", sentence.text)) >= MIN_ROW_DIGITS
            is_item = sentence.passage.kind == "item" and (unit is None or unit.is_list)
            is_list = is_item or is_row or counts[sentence.number] >= MIN_LISTED
            if (is_list and not (unit and unit.observes)) or (is_row and counts[sentence.number]):
                listed.add(sentence.number)
        return listed
