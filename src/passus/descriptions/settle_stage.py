"""Settles what only all points together tell: percent, lengths, values of all series, ends of plateaus, stray numbers."""

import re
from collections import defaultdict
from dataclasses import replace

from passus.descriptions.chart_data import Point
from passus.descriptions.numbers import numbers_in
from passus.descriptions.sentence_stage import SentenceStage

MAX_SHARE = 1.5
PERCENT_UNIT = re.compile(
    r"\bout of (?:a |one )?(?:100|hundred)\b|(?<!\d)(?<!\d )\bper ?cent\b(?! points?\b)|\((?:in )?%\)|\[%\]|\bin %"
    r"|\bin per ?cent\b|\((?:in )?per ?cent\b|,\s*%|, per ?cent\b|\bper ?cent(?:age)? of\b"
    r"|\b(?:accuracy|rate|score|pass@\w+|mean@\w+|avg@\w+)[^.]{0,30}(?:%|percent)",
    re.I,
)
SHARE_MEASURE = re.compile(
    r"\b(?:accurac\w+|acc|(?<!learning )rates?|pass@\w+|exact match|avg@\w+|mean@\w+|agreement|solved|correct\w*"
    r"|share of|f1)\b",
    re.I,
)
NO_SHARE = re.compile(r"\b(?:loss(?:es)?|perplexit\w+|entrop\w+|nats|KL|rewards?|gradient norm|elo)\b", re.I)
FALL_BEGINS = (
    r"\b(?:declin|drop|dip|fall|decreas|degrad|collaps)\w*\s+(?:in \w+\s+)?(?:(?:starting|beginning)\s+)?"
    r"(?:after|around|at|from|past|beyond)\s+(?:about |around |approximately |roughly |~)?"
)


class SettleStage(SentenceStage):
    """A text whose points are settled."""

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
            if (
                point.measure == "accuracy"
                and y.unit not in ("%", "/")
                and y.low >= min(lengths) / 2
                and y.low > 4 * max(small)
            ):
                point.measure = "tokens"

    def _name_only_measure(self) -> None:
        """Takes lengths for the main measure of a chart that has no other."""
        points = self.data.points
        if points and all(point.measure == "tokens" for point in points):
            for point in points:
                point.measure = "accuracy"

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
