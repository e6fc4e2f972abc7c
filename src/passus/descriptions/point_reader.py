"""The points of a chart description: which series and panel each value belongs to.

A value belongs to the series that its own line names (a lead, a row of a table, the subject of its sentence), else to the label
that it stands under. Where labels with data stand above those of series, they are panels.
"""

import re

from passus.descriptions.axes import read_axes
from passus.descriptions.chart_data import ChartData, Point
from passus.descriptions.conflicts import conflicting
from passus.descriptions.labels import LabelName, classify_label
from passus.descriptions.layout import Passage, read_layout, sentences_of
from passus.descriptions.names import (
    VERB,
    Names,
)
from passus.descriptions.numbers import number_format
from passus.descriptions.pairing import PairedValue
from passus.descriptions.settle_stage import SettleStage
from passus.descriptions.vocabulary import LENGTH_WORD, MEASURE_WORD

SIDE = re.compile(r"\((left|right|top|bottom|middle|centre|center)(?: panel)?\)", re.I)
MAX_TITLE = 60
NUMBERED_CHART = re.compile(r"\bfig(?:ure|\.) (\d+\.\d+) (?:gives|shows|plots|reports|depicts|turns|is|the)\b", re.I)


def read_chart_data(text: str, names: Names | None = None) -> ChartData:
    """Reads a text. With names given, its points are those of these series and panels only."""
    passages = read_layout(text)
    sentences = sentences_of(passages)
    axes = read_axes(passages, sentences, number_format(text))
    return _PointReader(ChartData(axes, names or Names(), passages, sentences), is_closed=names is not None).read()


class _PointReader(SettleStage):
    """Reads the points: which series and panel each value belongs to."""

    def read(self) -> ChartData:
        self.lists.known = self._known_places()
        for passage in self.data.passages:
            if passage.kind == "table":
                self._read_table(passage)
        self._bounds()
        self._find_grids()
        self._bounds()
        known = (list(self.names.series), list(self.names.panels))
        self._find_panel_letters()
        self._find_legends()
        self._find_units()
        self._name_labels()
        self._name_subjects()
        self._name_abbreviations()
        self._name_parts()
        if self.is_closed:
            self._forget_others(*known)
        self._collect()
        self.lists.known |= frozenset(x for p in self.data.points for x in (p.reading.x_low, p.reading.x_high))
        self.data.points.clear()
        self.lists.groups, self.lists.own = [], []
        self._collect()
        self._name_only_measure()
        self._find_percent()
        self._drop_strays()
        strays = conflicting(self.data)
        self.data.points[:] = [point for point in self.data.points if id(point) not in strays]
        if not self.is_closed and len(self.names.panels) < 2 and self._has_several_charts():
            self.data.points.clear()  # which of the charts a value belongs to is not known
        return self.data

    def _has_several_charts(self) -> bool:
        """Returns whether the text says that it has several charts, side by side or by number."""
        texts = [sentence.text for sentence in self.data.sentences]
        sides = {match[1].lower() for text in texts for match in SIDE.finditer(text)}
        numbers = {match[1] for text in texts for match in NUMBERED_CHART.finditer(text)}
        return len(sides) > 1 or len(numbers) > 1

    def _collect(self) -> None:
        self._begin()
        passage: Passage | None = None
        title = ""  # the panel that a line by itself names for what follows
        for current in self.data.passages:
            if current.kind == "table":
                self._table_points(current)
                continue
            title = title if current.kind == "prose" and not self._is_title(current) else self._panel_of_title(current)
            for sentence in self.sentences_of[id(current)]:
                if sentence.passage is not passage:
                    passage = sentence.passage
                    self.subject = None
                    self.place = self._label_place(sentence) or (self.place if self.is_title else None)
                    if self.label_panel.get(sentence.number) or current.labels or current.kind == "prose":
                        self.panel = self.label_panel.get(
                            sentence.number, "" if current.labels or not self.names.panel_aliases else self.panel
                        )
                    named = (self.names.panel_in(label.text) for label in reversed(current.labels))
                    self.panel = self.panel or next((name for name in named if name), "") or title
                    self.panel = self.names.panel_aliases.get(current.letter) or self.panel
                self._sentence_points(sentence)
        self._lengths_by_size()
        self._share_points()
        self._end_plateaus()

    def _is_title(self, passage: Passage) -> bool:
        """Returns whether a passage is a few words without a value."""
        text = self.finder.masked(passage.text)
        return len(text) <= MAX_TITLE and not re.search(r"[.!?:;]$", text) and not re.search(r"\d[.,]\d|\d\s?%", text)

    def _panel_of_title(self, passage: Passage) -> str:
        return (self.names.panel_in(passage.text) or "") if self._is_title(passage) else ""

    def _table_points(self, passage: Passage) -> None:
        table = self.tables[id(passage)]
        label = self._table_label(passage)
        is_length = label is not None and label.kind != "name" and self._is_one_of_two_measures(label.text)
        panel = self._table_panel(passage)
        for point in table.points:
            series, own = (
                (point.series, panel) if not table.rows_are_panels else (self._title(), self.names.add_panel(point.series))
            )
            measure = "tokens" if point.is_length or is_length else "accuracy"
            reading = PairedValue(point.x.low, point.x.high, point.y)
            self.data.points.append(Point(self.names.find(series) or series, own, measure, reading, -passage.line, point.line))
        if table.points:
            self.lists.groups = [table.xs]

    def _table_label(self, passage: Passage) -> LabelName | None:
        """Returns what a table stands under: a benchmark or a measure."""
        named = (classify_label(label.text, self.axes) for label in reversed(passage.labels))
        return next(
            (n for n in named if n.kind in ("name", "panel", "measure") and not re.search(rf"\b{VERB}\b", n.text)), None
        )

    def _table_panel(self, passage: Passage) -> str:
        """Returns the panel of a table, where the tables of a text stand under several labels. Lengths are no panel."""
        tables = [p for p in self.data.passages if p.kind == "table" and self.tables[id(p)].points]
        labels = {label.text for p in tables if (label := self._table_label(p)) is not None}
        own = self._table_label(passage)
        if own is None or any(self._is_one_of_two_measures(text) for text in labels):
            return ""
        if len(labels) < 2 and not self._is_panel(own.text):
            return ""
        return self.names.add_panel(own.text)

    def _is_one_of_two_measures(self, text: str) -> bool:
        """Returns whether a label of a table is a length, and the other one of the text is another measure."""
        tables = [p for p in self.data.passages if p.kind == "table" and self.tables[id(p)].points]
        labels = {label.text for p in tables if (label := self._table_label(p)) is not None}
        are_measures = all(LENGTH_WORD.search(label) or MEASURE_WORD.search(label) for label in labels)
        return len(labels) == 2 and are_measures and bool(LENGTH_WORD.search(text))
