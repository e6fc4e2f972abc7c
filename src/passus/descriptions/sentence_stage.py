"""Reads the points of one sentence after another, with what holds from those before: the subject, the place, the series."""

import re
from collections.abc import Sequence

from passus.descriptions.axes import is_place
from passus.descriptions.chart_data import Point, Unit
from passus.descriptions.layout import Sentence
from passus.descriptions.number_roles import NumberItem, without_differences, word_places
from passus.descriptions.numbers import Number, numbers_in
from passus.descriptions.pairing import AGAINST, PairedValue, items_in, joint_readings, readings_in
from passus.descriptions.panel_parts import PanelSpan, panel_spans, parts_by_panel, without_panels
from passus.descriptions.segments import (
    Segment,
    is_dealt_out,
    is_plain,
    led_by,
    named_order,
    segments_at,
    segments_of,
)
from passus.descriptions.shared_stage import SharedStage
from passus.descriptions.vocabulary import LENGTH_WORD

PRONOUN = re.compile(r"\b(?:it|its|this (?:run|model|method|line|curve|one)|that one|here (?:we|you|it))\b", re.I)
BRACKETED = re.compile(r"_+\s\(\s?~?[0-9.]+\s?%?\s?\)")
"""A series with its value in brackets."""
PLATEAU = re.compile(
    r"(?:(?:it|the line|this line|the curve|then|_+)\s+)*(?:plateaus?|levels? off|stabili[sz]es|flattens)\b", re.I
)
FLUCTUATES = re.compile(r"\b(?:fluctuates|oscillates|varies|ranges|hovers|wobbles) between\b", re.I)
LENGTHS_ONLY = re.compile(
    r"(?:(?:the|their|mean|average|median|response|answer|output)\s)*(?:lengths?|tokens?)\b(?=\W*(?:is|was|are"
    r"|were|of|at|for|in|[~0-9]))",
    re.I,
)
DIFFERS = re.compile(r"\b(?:than|(?:above|below|under) (?:that|the one|it|its)|twice|half|times)\b")


class SentenceStage(SharedStage):
    """A text whose sentences are read for points."""

    def _begin(self) -> None:
        """Forgets what sentences before have said."""
        self.subject: str | None = None
        self.panel = ""
        self.order: tuple[str, ...] = ()
        """The series in the order in which they were named last."""
        self.place: Number | None = None
        """The place that holds for what follows."""
        self.is_title = False
        """Whether the sentence before was nothing but a place."""
        self.held: Number | None = None
        """The place of the part before in the same clause."""
        self.spans: list[PanelSpan] = []
        """Where the sentence names panels, if it names several."""
        self.begun: set[tuple[str, str]] = set()
        """Series of which points were read, with their panels."""
        self.waiting: list[tuple[str, str, list[NumberItem]]] = []
        """Parts of the clause whose values wait for a place behind them."""
        self.shared: list[tuple[str, str, PairedValue, Sentence]] = []

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
        unit.text = unit.text if unit.text.strip() else sentence.text  # nothing but a lead: "Follow A."
        is_length = LENGTH_WORD.match(unit.text) and self.axes.second.low is not None
        measure = unit.measure or ("tokens" if is_length or LENGTHS_ONLY.match(unit.text) else "accuracy")
        if unit.lead is not None and unit.lead.kind == "name" and series is None and self.names.find(unit.lead.text) is None:
            unit.text = sentence.text  # what seemed to be a lead names none of the series
        elif (unit.lead is None or unit.lead.kind == "measure") and sentence.text.endswith(unit.text):
            cut = len(sentence.text) - len(unit.text)
            numbers = [n for n in numbers_in(sentence.text, self.axes.style) if n.start < cut]
            is_when = any(item.number.start < cut for item in word_places(sentence.text, self.axes)) if cut else False
            if is_when or any(is_place(self.axes, sentence.text, number) for number in numbers):
                unit.text = sentence.text
        masked = without_panels(self.finder.masked(unit.text), self.names)
        self.spans = panel_spans(unit.text, self.names)
        masked = self._without_start(masked, self.finder.find(unit.text), measure, sentence)
        items = items_in(masked, self.axes, self.lists, measure == "tokens")
        masked = without_differences(masked, items)
        segments = self._segments(unit, series, masked, items)
        self._follow_place(masked, items)
        if segments is None:
            for part, panel in parts_by_panel(Segment(0, len(masked), ()), masked, items, self.spans):
                self._shared_readings(unit, masked[part.start : part.end], panel or self.panel, measure)
            return
        for at, segment in enumerate(segments):
            before = segments[at - 1] if at else None
            if segment.places and (before is None or segment.places != before.places):
                self._lead(segment)
            if before is None or before.clause != segment.clause:
                is_bracket = BRACKETED.match(masked, segment.start)
                self.held, self.waiting = self.held if is_bracket and before is not None else None, []
            for part, panel in parts_by_panel(segment, masked, items, self.spans):
                if len(part.names) == 1:
                    self._segment_points(masked, part, panel or self.panel, measure, sentence)
                else:
                    self._joint_points(masked, part, panel or self.panel, measure, sentence)
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
            return segment.places[0].number if len({item.number.low for item in segment.places}) == 1 else None
        if not is_plain(piece) and not BRACKETED.match(piece):
            return None
        return self.held or self.place

    def _lead(self, segment: Segment) -> None:
        """Takes several places at the beginning of a clause for those of all its series."""
        places = list(dict.fromkeys(item.number.low for item in segment.places))
        self.lists.is_fresh, self.lists.own = len(places) > 1, []
        if len(places) > 1:
            self.lists.groups = [places]

    def _joint_points(self, masked: str, segment: Segment, panel: str, measure: str, sentence: Sentence) -> None:
        """Reads the values of several series at once."""
        piece = masked[segment.start : segment.end]
        lead = self._lead_of(segment, piece)
        rows = joint_readings(piece, self.axes, self.lists, measure == "tokens", len(segment.names), lead)
        for name, reading in (pair for row in rows for pair in zip(segment.names, row, strict=True)):
            self._add(name, panel, measure, reading, sentence)

    def _add(self, name: str, panel: str, measure: str, reading: PairedValue, sentence: Sentence) -> None:
        measure = "tokens" if reading.is_length else measure
        self.data.points.append(Point(name, panel, measure, reading, sentence.number, sentence.line))
        self.begun.add((name, panel))

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
        panels = len({name for *_, name in self.spans})
        if self._is_shared(masked, mentions, items, panels):
            return None
        if not mentions and not PRONOUN.search(unit.text) and self._is_start(masked, items):
            return None
        if mentions:
            return segments_of(masked, mentions, items, self.order, self.subject)
        is_opposed = AGAINST.search(masked) and sum(item.role in ("value", "length") for item in items) > 1
        goes_on = not is_opposed and (unit.is_list or (any(item.role == "x" for item in items) and is_plain(masked)))
        if goes_on and self.subject and not self.order[1:] and not mentions and not self.finder.find(unit.sentence.text):
            return [Segment(0, end, (self.subject,))]
        if self.order and is_dealt_out(masked, items, len(self.order)):
            return segments_of(masked, [], items, self.order)
        if series is not None:
            return [Segment(0, end, (series,))]
        if not self.names.series and unit.sentence.number in self.label_panel:
            return [Segment(0, end, ("",))]  # one line on several panels
        return [Segment(0, end, (self.subject,))] if self.subject and PRONOUN.search(unit.text) and not is_opposed else []

    def _segment_points(self, masked: str, segment: Segment, panel: str, measure: str, sentence: Sentence) -> None:
        name, piece = segment.names[0], masked[segment.start : segment.end]
        places = [item.number for item in segment.places]
        self.lists.is_first = (name, panel) not in self.begun
        readings = readings_in(piece, self.axes, self.lists, measure == "tokens")
        lead = self._lead_of(segment, piece)
        if not DIFFERS.search(piece):
            first = re.split(r";\s", piece, maxsplit=1)[0]
            items = items_in(first, self.axes, self.lists, measure == "tokens")
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
