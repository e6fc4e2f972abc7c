"""The points of a chart description: which series and panel each value belongs to.

A value belongs to the series that its own line names (a lead, a row of a table, the subject of its sentence), else to the label
that it stands under. Where labels with data stand above those of series, they are panels.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from passus.descriptions.axes import is_place, read_axes
from passus.descriptions.chart_data import ChartData, Point, Unit
from passus.descriptions.labels import LabelName, classify_label
from passus.descriptions.layout import Passage, Sentence, read_layout, sentences_of
from passus.descriptions.mentions import Mention
from passus.descriptions.name_stage import NameStage
from passus.descriptions.names import (
    EVERY,
    Names,
)
from passus.descriptions.numbers import Number, number_format, numbers_in
from passus.descriptions.number_roles import NumberItem
from passus.descriptions.pairing import PairedValue, PlaceLists, items_in, joint_readings, readings_in
from passus.descriptions.segments import (
    Segment,
    clause_spans,
    is_dealt_out,
    is_plain,
    led_by,
    named_order,
    segments_at,
    segments_of,
)
from passus.descriptions.vocabulary import LENGTH_WORD, MEASURE_WORD

PRONOUN = re.compile(r"\b(?:it|its|this (?:run|model|method|line|curve))\b", re.I)
PLATEAU = re.compile(
    r"(?:(?:it|the line|this line|the curve|then|_+)\s+)*(?:plateaus?|levels? off|stabili[sz]es|flattens)\b", re.I
)
FLUCTUATES = re.compile(r"\b(?:fluctuates|oscillates|varies|ranges|hovers|wobbles) between\b", re.I)
MAX_SHARE = 1.5
PERCENT_UNIT = re.compile(
    r"\((?:in )?%\)|\[%\]|\bin %|\bin per ?cent\b|\((?:in )?per ?cent\b|,\s*%|, per ?cent\b|\bper ?cent(?:age)? of\b"
    r"|\b(?:accuracy|rate|score|pass@\w+|mean@\w+|avg@\w+)[^.]{0,30}(?:%|percent)",
    re.I,
)
SHARE_MEASURE = re.compile(
    r"\b(?:accurac\w+|acc|(?<!learning )rates?|pass@\w+|exact match|avg@\w+|mean@\w+|agreement|solved|correct\w*"
    r"|share of|f1)\b",
    re.I,
)
SIDE = re.compile(r"\((left|right|top|bottom|middle|centre|center)(?: panel)?\)", re.I)
SHARED = re.compile(
    r"\b(?:all|both|every|everyone|everybody|everything|each|common|shared|share|same|identical|alike|together|jointly|tied"
    r"|coincide|base model|untrained model|(?:two|three|four|five|six|seven|eight) (?:of )?(?!steps|epochs)\w+ (?:all )?"
    r"(?:start|begin|began|set out|open|depart))\b",
    re.I,
)
NOT_SHARED = re.compile(
    r"\b(?:(?:almost|nearly|not|but|except|above|after|over|at) all|all (?:but|the way|along|of (?:its|this))|(?:each|every|same|all"
    r"|both) (?:the |these |those |of the )?(?:\w+ )?(?:steps?|epochs?|evaluations?|evals?|times?|measurements?|checkpoints?"
    r"|readings?|places?|points?|hours?|iterations?|rounds?|marks?|panels?|benchmarks?|tasks?|axes|order))\b",
    re.I,
)
LENGTHS_ONLY = re.compile(
    r"(?:(?:the|their|mean|average|median|response|answer|output)\s)*(?:lengths?|tokens?)\b(?=\W*(?:is|was|are|were|of|at|for|in|[~0-9]))",
    re.I,
)
DIFFERS = re.compile(r"\b(?:than|(?:above|below|under) (?:that|the one|it|its)|twice|half|times)\b")
NUMBERED_CHART = re.compile(r"\bfig(?:ure|\.) (\d+\.\d+) (?:gives|shows|plots|reports|depicts|turns|is|the)\b", re.I)
NO_SHARE = re.compile(r"\b(?:loss(?:es)?|perplexit\w+|entrop\w+|nats|KL|rewards?|gradient norm|elo)\b", re.I)


def read_chart_data(text: str, names: Names | None = None) -> ChartData:
    """Reads a text. With names given, its points are those of these series and panels only."""
    passages = read_layout(text)
    sentences = sentences_of(passages)
    axes = read_axes(passages, sentences, number_format(text))
    return _PointReader(ChartData(axes, names or Names(), passages, sentences), is_closed=names is not None).read()


FALL_BEGINS = (
    r"\b(?:declin|drop|dip|fall|decreas|degrad|collaps)\w*\s+(?:in \w+\s+)?(?:(?:starting|beginning)\s+)?"
    r"(?:after|around|at|from|past|beyond)\s+(?:about |around |approximately |roughly |~)?"
)


class _PointReader(NameStage):
    """Reads the points: which series and panel each value belongs to."""

    def read(self) -> ChartData:
        self.lists.known = self._known_places()
        for passage in self.data.passages:
            if passage.kind == "table":
                self._read_table(passage)
        self._bounds()
        self._find_grids()
        known = (list(self.names.series), list(self.names.panels))
        self._find_panel_letters()
        self._find_legends()
        self._find_units()
        self._name_labels()
        self._name_subjects()
        self._name_abbreviations()
        if self.is_closed:
            self._forget_others(*known)
        self._collect()
        self.lists.known |= frozenset(x for p in self.data.points for x in (p.reading.x_low, p.reading.x_high))
        self.data.points.clear()
        self.lists.groups, self.lists.own = [], []
        self._collect()
        self._find_percent()
        self._drop_strays()
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
        self.subject: str | None = None
        self.panel = ""
        self.order: tuple[str, ...] = ()
        self.place: Number | None = None
        self.is_title = False
        """Whether the sentence before was nothing but a place."""
        self.held: Number | None = None
        self.waiting: list[tuple[str, str, list[NumberItem]]] = []
        self.shared: list[tuple[str, str, PairedValue, Sentence]] = []
        passage: Passage | None = None
        for current in self.data.passages:
            if current.kind == "table":
                self._table_points(current)
                continue
            for sentence in self.sentences_of[id(current)]:
                if sentence.passage is not passage:
                    passage = sentence.passage
                    self.subject = None
                    self.place = self._label_place(sentence) or (self.place if self.is_title else None)
                    if self.label_panel.get(sentence.number) or current.labels or current.kind == "prose":
                        self.panel = self.label_panel.get(
                            sentence.number, "" if current.labels or not self.names.panel_aliases else self.panel
                        )
                    self.panel = self.names.panel_aliases.get(current.letter) or self.panel
                self._sentence_points(sentence)
        self._lengths_by_size()
        self._share_points()
        self._end_plateaus()

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
        return next((name for name in named if name.kind in ("name", "panel", "measure")), None)

    def _table_panel(self, passage: Passage) -> str:
        """Returns the panel of a table, where the tables of a text stand under several labels. Lengths are no panel."""
        tables = [p for p in self.data.passages if p.kind == "table" and self.tables[id(p)].points]
        labels = {label.text for p in tables if (label := self._table_label(p)) is not None}
        own = self._table_label(passage)
        if own is None or len(labels) < 2 or any(self._is_one_of_two_measures(text) for text in labels):
            return ""
        return self.names.add_panel(own.text)

    def _is_one_of_two_measures(self, text: str) -> bool:
        """Returns whether a label of a table is a length, and the other one of the text is another measure."""
        tables = [p for p in self.data.passages if p.kind == "table" and self.tables[id(p)].points]
        labels = {label.text for p in tables if (label := self._table_label(p)) is not None}
        are_measures = all(LENGTH_WORD.search(label) or MEASURE_WORD.search(label) for label in labels)
        return len(labels) == 2 and are_measures and bool(LENGTH_WORD.search(text))

    def _sentence_points(self, sentence: Sentence) -> None:
        unit = self.data.units.get(sentence.number)
        named = self.names.panel_in(sentence.text)
        is_used = unit is not None and sentence.number not in self.stated
        if named and (is_used or sum(name.lower() in sentence.text.lower() for name in self.names.panels) == 1):
            self.panel = named
        if unit is None or not is_used:
            return
        self.data.panel_of[sentence.number] = self.panel
        series = self.series_of.get(sentence.number)
        is_length = LENGTH_WORD.match(unit.text) and self.axes.second.low is not None
        measure = unit.measure or ("tokens" if is_length or LENGTHS_ONLY.match(unit.text) else "accuracy")
        if unit.lead is not None and unit.lead.kind == "name" and series is None and self.names.find(unit.lead.text) is None:
            unit.text = sentence.text  # what seemed to be a lead names none of the series
        elif unit.lead is None and sentence.text.endswith(unit.text):
            cut = len(sentence.text) - len(unit.text)
            numbers = [n for n in numbers_in(sentence.text, self.axes.style) if n.start < cut]
            if any(is_place(self.axes, sentence.text, number) for number in numbers):
                unit.text = sentence.text
        masked = self.finder.masked(unit.text)
        items = items_in(masked, self.axes, self.lists, measure == "tokens")
        segments = self._segments(unit, series, masked, items)
        self._follow_place(masked, items)
        if segments is None:
            self._shared_readings(unit, masked, measure)
            return
        for at, segment in enumerate(segments):
            before = segments[at - 1] if at else None
            if segment.places and (before is None or segment.places != before.places):
                self._lead(segment)
            if before is None or before.clause != segment.clause:
                self.held, self.waiting = None, []
            if len(segment.names) == 1:
                self._segment_points(masked, segment, measure, sentence)
            else:
                self._joint_points(masked, segment, measure, sentence)
        if segments:
            self.subject = segments[0].names[0]
            self.order = named_order(segments) or self.order

    def _label_place(self, sentence: Sentence) -> Number | None:
        """Returns the place that a sentence stands under: "Step 500" as a heading."""
        unit = self.data.units.get(sentence.number)
        labels = [label.text for label, _ in unit.chain if label.kind == "place"] if unit is not None else []
        numbers = numbers_in(labels[-1], self.axes.style) if labels else []
        return numbers[0] if len(numbers) == 1 and not numbers[0].is_range else None

    def _follow_place(self, masked: str, items: Sequence[NumberItem]) -> None:
        """Remembers the place that a sentence gives for what follows: "Step 500.", "At step 500, A is at 0.3."."""
        places = [item for item in items if item.role == "x"]
        self.is_title = False
        if not places:
            return
        first = places[0]
        is_alone = len({item.number.low for item in places}) == 1 and not first.word and not first.number.is_range
        leads = first in led_by(items, len(masked)) and (is_plain(masked[: first.number.start]))
        has_values = any(item.role in ("value", "length") for item in items)
        self.place = first.number if is_alone and leads and (has_values or is_plain(masked)) else None
        self.is_title = self.place is not None and not has_values

    def _lead_of(self, segment: Segment, piece: str) -> Number | None:
        """Returns the place of values that have none of their own: that of their clause, or of the sentences before."""
        if segment.places:
            return segment.places[0].number if len(segment.places) == 1 else None
        if not is_plain(piece):
            return None
        return self.held or self.place

    def _lead(self, segment: Segment) -> None:
        """Takes several places at the beginning of a clause for those of all its series."""
        self.lists.is_fresh, self.lists.own = len(segment.places) > 1, []
        if len(segment.places) > 1:
            self.lists.groups = [[item.number.low for item in segment.places]]

    def _joint_points(self, masked: str, segment: Segment, measure: str, sentence: Sentence) -> None:
        """Reads the values of several series at once."""
        panel = self._panel_at(sentence.text, segment.start) or self.panel
        piece = masked[segment.start : segment.end]
        lead = self._lead_of(segment, piece)
        rows = joint_readings(piece, self.axes, self.lists, measure == "tokens", len(segment.names), lead)
        for name, reading in (pair for row in rows for pair in zip(segment.names, row, strict=True)):
            self._add(name, panel, measure, reading, sentence)

    def _add(self, name: str, panel: str, measure: str, reading: PairedValue, sentence: Sentence) -> None:
        measure = "tokens" if reading.is_length else measure
        self.data.points.append(Point(name, panel, measure, reading, sentence.number, sentence.line))

    def _panel_at(self, text: str, place: int) -> str | None:
        """Returns the panel that a sentence with several panels names before a place."""
        found = [name for name in self.names.panels if name.lower() in text.lower()]
        return self.names.panel_in(text[:place]) if len(found) > 1 else None

    def _segments(self, unit: Unit, series: str | None, masked: str, items: Sequence[NumberItem]) -> list[Segment] | None:
        """Returns the parts of a sentence with their series; None where its values are those of all series."""
        mentions = self.finder.find(unit.text)
        end = len(masked)
        inner = [(place, known) for place, name in self._inner_leads(unit) if (known := self.names.find(name)) is not None]
        if inner:
            first = [(0, series)] if series is not None and inner[0][0] > 0 else []
            return segments_at(masked, [*first, *inner], items)
        if series is not None and (unit.is_list or all(m.series[0] == series for m in mentions)):
            return [Segment(0, end, (series,))]
        if self._is_shared(masked, mentions, items):
            return None
        if mentions:
            return segments_of(masked, mentions, items, self.order, self.subject)
        goes_on = unit.is_list or (any(item.role == "x" for item in items) and is_plain(masked))
        if goes_on and self.subject and not self.order[1:] and not mentions and not self.finder.find(unit.sentence.text):
            return [Segment(0, end, (self.subject,))]
        if self.order and is_dealt_out(masked, items, len(self.order)):
            return segments_of(masked, [], items, self.order)
        if series is not None:
            return [Segment(0, end, (series,))]
        if not self.names.series and unit.sentence.number in self.label_panel:
            return [Segment(0, end, ("",))]  # one line on several panels
        return [Segment(0, end, (self.subject,))] if self.subject and PRONOUN.search(unit.text) else []

    @staticmethod
    def _is_shared(masked: str, mentions: Sequence[Mention], items: Sequence[NumberItem]) -> bool:
        """Returns whether a sentence gives a value for all series, and none for one of them alone."""
        text = NOT_SHARED.sub(lambda match: " " * len(match[0]), masked)
        for start, end in clause_spans(masked):
            values = [item for item in items if item.role in ("value", "length") and start <= item.number.start < end]
            first = min((m.start for m in mentions if start <= m.start < end), default=end)
            if values and SHARED.search(text, start, first) and len({item.role for item in values}) == len(values):
                return not any(m.start >= end for m in mentions)
        return False

    def _shared_readings(self, unit: Unit, masked: str, measure: str) -> None:
        """Reads the values that all series have: "All runs start at 0.3.", "Step 0: 0.29 for both"."""
        lists = PlaceLists(known=self.lists.known)
        readings = readings_in(masked, self.axes, lists, measure == "tokens")
        items = items_in(masked, self.axes, lists, measure == "tokens")
        if any(item.role == "x" for item in items) or is_plain(masked):
            readings += self._at_lead(self.place, items, readings)
        for reading in readings:
            if reading.x_low == reading.x_high and reading.x_low in (self.axes.x.low, 0.0):
                self.shared.append((self.panel, "tokens" if reading.is_length else measure, reading, unit.sentence))

    @staticmethod
    def _at_lead(lead: Number | None, items: Sequence[NumberItem], readings: Sequence[PairedValue]) -> list[PairedValue]:
        """Returns the values without a place of their own, at most one of each measure, at the place that holds for them."""
        values = [item for item in items if item.role in ("value", "length")]
        has_place = any(item.role == "x" and item.number.low != getattr(lead, "low", None) for item in items)
        if lead is None or has_place or len({item.role for item in values}) != len(values):
            return []
        known = {reading.is_length for reading in readings}
        open_values = [item for item in values if (item.role == "length") not in known]
        return [PairedValue(lead.low, lead.high, item.number, item.role == "length") for item in open_values]

    def _segment_points(self, masked: str, segment: Segment, measure: str, sentence: Sentence) -> None:
        name, piece = segment.names[0], masked[segment.start : segment.end]
        panel = self._panel_at(sentence.text, segment.start) or self.panel
        places = [item.number for item in segment.places]
        readings = readings_in(piece, self.axes, self.lists, measure == "tokens")
        lead = self._lead_of(segment, piece)
        if not DIFFERS.search(piece):
            items = items_in(piece, self.axes, self.lists, measure == "tokens")
            readings += self._at_lead(lead, items, readings)
        if len(readings) > 1 and all(reading.x_low == reading.y.low for reading in readings):
            readings = []  # a list of places
        self._hold(name, piece, readings, panel, measure, sentence)
        if not readings and not places:
            readings = self._plateau(piece, name, panel, measure)
        if self.lists.own:
            self.lists.is_fresh, self.lists.groups, self.lists.own = True, self.lists.own, []
        for reading in readings:
            self._add(name, panel, measure, reading, sentence)

    def _hold(
        self, name: str, piece: str, readings: Sequence[PairedValue], panel: str, measure: str, sentence: Sentence
    ) -> None:
        """Remembers the one place of a part for those that follow without a verb, and gives it to those before that wait for
        one: "A reaches 0.5, B 0.6 and C 0.7 at step 800"."""
        places = {(reading.x_low, reading.x_high) for reading in readings}
        items = items_in(piece, self.axes, self.lists, measure == "tokens")
        values = [item for item in items if item.role in ("value", "length")]
        if len(places) != 1 or len(values) != len(readings):
            self.held = None
            is_open = not readings and len(values) == len({item.role for item in values}) == len(items) > 0
            goes_on = not self.waiting or is_plain(piece)
            self.waiting = [*self.waiting, (name, panel, items)] if is_open and goes_on else []
            return
        self.held = Number(0, 0, *places.pop())
        if is_plain(piece) and items[-1].role == "x" and not items[-1].word:
            for other, own_panel, own in self.waiting:
                for reading in self._at_lead(self.held, own, ()):
                    self._add(other, own_panel, measure, reading, sentence)
        self.waiting = []

    def _plateau(self, piece: str, name: str, panel: str, measure: str) -> list[PairedValue]:
        """Reads a plateau without a place of its own, between the points before and after it: "Reaches 0.8 by step 40.
        Plateaus around 0.85-0.9. Ends at 0.75 at step 110." It lies somewhere between them."""
        items = items_in(piece, self.axes, self.lists, measure == "tokens")
        values = [item for item in items if item.role in ("value", "length")]
        before = [p.reading.x_high for p in self.data.points if (p.series, p.panel, p.measure) == (name, panel, measure)]
        if len(values) != 1 or len(items) > 1 or self.axes.x.low is None or self.axes.x.high is None:
            return []
        if FLUCTUATES.search(piece) and values[0].number.is_range and not before:
            return [PairedValue(self.axes.x.low, self.axes.x.high, values[0].number, values[0].role == "length", "throughout")]
        if not PLATEAU.match(piece.strip()) or not before or max(before) >= self.axes.x.high:
            return []
        return [PairedValue(max(before), self.axes.x.high, values[0].number, values[0].role == "length", "somewhere")]

    def _end_plateaus(self) -> None:
        """Lets plateaus without a place end where a fall begins, or at the last point of their series."""
        for point in self.data.points:
            reading = point.reading
            if reading.where != "somewhere" or reading.x_high != self.axes.x.high:
                continue
            key = (point.series, point.panel, point.measure)
            others = [p.reading.x_high for p in self.data.points if p is not point and (p.series, p.panel, p.measure) == key]
            last = self._fall_after(point) or max(others, default=reading.x_high)
            if reading.x_low < last < reading.x_high:
                point.reading = replace(reading, x_high=last)

    def _fall_after(self, point: Point) -> float | None:
        """Returns where a fall begins that the rest of the passage tells of: "Begins a sharp decline after Step 90"."""
        sentence = self.data.sentences[point.sentence]
        for later in self.data.sentences[point.sentence + 1 :]:
            if later.passage is not sentence.passage:
                return None
            if fall := re.search(rf"{FALL_BEGINS}{self.axes.x_words}\s+(?=~?\d)", later.text, re.I):
                found = [n for n in numbers_in(later.text, self.axes.style) if n.start >= fall.end() - 1]
                return found[0].low if found else None
        return None

    def _lengths_by_size(self) -> None:
        """Takes values that are far larger than the others for lengths, where the text has lengths."""
        points = self.data.points
        lengths = [p.reading.y.low for p in points if p.measure == "tokens"]
        small = [
            abs(p.reading.y.high) for p in points if lengths and p.measure == "accuracy" and p.reading.y.high < min(lengths) / 4
        ]
        for point in points if small else []:
            y = point.reading.y
            if point.measure == "accuracy" and y.unit not in ("%", "/") and y.low >= min(lengths) / 2 and y.low > 4 * max(small):
                point.measure = "tokens"

    def _share_points(self) -> None:
        points = self.data.points
        for panel, measure, reading, sentence in self.shared:
            for name in dict.fromkeys(p.series for p in points if p.panel == panel):
                known = any(
                    p.series == name
                    and p.panel == panel
                    and p.measure == measure
                    and p.reading.x_low <= reading.x_low <= p.reading.x_high
                    for p in points
                )
                if not known:
                    points.append(Point(name, panel, measure, reading, sentence.number, sentence.line))

    def _drop_strays(self) -> None:
        """Leaves out values above 1 on panels that show shares: a count, a step or a size was taken for a value."""
        by_panel = defaultdict(list)
        for point in self.data.points:
            if point.measure == "accuracy":
                by_panel[point.panel].append(point)
        strays = set()
        for panel, points in by_panel.items():
            large = [point for point in points if point.reading.y.high * self.data.scale(point) > MAX_SHARE]
            if NO_SHARE.search(panel):
                continue
            if large and len(points) - len(large) >= 9 * len(large):
                strays |= {id(point) for point in large}
        self.data.points[:] = [point for point in self.data.points if id(point) not in strays]

    def _find_percent(self) -> None:
        """Finds the panels whose values are percent without saying so each time."""
        heads = [cell for passage in self.data.passages for _, row in passage.rows[:1] for cell in row]
        texts = [s.text for s in self.data.sentences] + heads
        says = any(PERCENT_UNIT.search(text) for text in texts)
        is_share = any(SHARE_MEASURE.search(text) for text in [*texts[:12], self.axes.y.label]) or not any(
            NO_SHARE.search(text) for text in texts
        )
        for panel in {p.panel for p in self.data.points}:
            main = [
                p.reading.y
                for p in self.data.points
                if p.panel == panel and p.measure == "accuracy" and p.reading.y.unit != "/"
            ]
            bare = [y for y in main if y.unit != "%"]
            marked_at_all = len(bare) < len(main)
            fits = (
                bool(bare)
                and sum(0 <= y.high <= 100 for y in bare) >= 0.9 * len(bare)
                and sum(y.high > 1 for y in bare) > len(bare) / 2
            )
            if NO_SHARE.search(panel) or (not is_share and len(bare) == len(main)):
                continue
            if fits and (len(bare) < len(main) or (says and not marked_at_all)):
                self.data.percent_panels.add(panel)
