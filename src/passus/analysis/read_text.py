"""A chart description as curves, with each of its sentences held against the others."""

import re
from dataclasses import replace

from passus.analysis.claim_check import check_against, check_own_numbers, judged_claims
from passus.descriptions.chart_data import ChartData, Point
from passus.descriptions.numbers import numbers_in
from passus.descriptions.own_form import is_own_form, read_own_form
from passus.descriptions.point_reader import read_chart_data
from passus.descriptions.vocabulary import MEASURE_WORD
from passus.errors import UsageError
from passus.runs.curve import Curve, CurveClaim, CurvePoint, Curves, CurveStretch
from passus.runs.curve_file import checked

MAX_CHARACTERS = 2_000_000
TITLE_WORD = re.compile(r"^(?:line |multi-line )?(?:chart|plot|graph|heatmap|figure)s?\s*(?:\d+)?:\s*", re.I)
LABEL = re.compile(r"(?!one\b|the\b)[\w@%-]+(?: [\w@%().-]+){0,3}")
"""A label of an axis as people write it: few words."""


def read_text(text: str, title: str = "", source: str = "") -> Curves:
    """Returns the curves and the checked claims of a text; `title` is used where it has none of its own."""
    if len(text) > MAX_CHARACTERS:
        raise UsageError(f"a text of {len(text)} characters", expected=f"a chart description, at most {MAX_CHARACTERS}")
    if is_own_form(text):
        curves = read_own_form(text, source)
        verdicts = {c.text: c for c in judged_claims(check_against("\n".join(f"* {c.text}" for c in curves.claims), curves))}
        curves.claims = [verdicts.get(c.text, c) if c.text in verdicts else c for c in curves.claims]
        return curves
    return curves_of(read_chart_data(text), title, source)


def curves_of(data: ChartData, title: str = "", source: str = "") -> Curves:
    """Returns the points of a text as curves: lists before prose, and ranges as stretches."""
    heading = next((passage.text for passage in data.passages if passage.kind == "heading"), "")
    heading = TITLE_WORD.sub("", heading)
    x, y = _x_label(data), _y_label(data, heading)
    curves = Curves(heading or title, x, y, _series(data), source=source)
    sentences = check_own_numbers(data)
    curves.claims = judged_claims([c for c in sentences if c.line not in data.listed_lines or c.verdict.claim is not None])
    used = {point.sentence for point in data.points}
    used |= {axis.number for axis in (data.axes.x, data.axes.y, data.axes.second)}
    decided = {c.line for c in sentences if c.verdict.claim is not None}
    curves.unread = [
        CurveClaim(s.text, s.line)
        for s in data.sentences
        if s.number not in used
        and s.line not in decided
        and s.passage.kind != "heading"
        and numbers_in(s.text, data.axes.style)
    ]
    return curves


def _x_label(data: ChartData) -> str:
    label = data.axes.x.label.strip(" \"'").lower()
    return label if LABEL.fullmatch(label) else f"{data.axes.x_nouns[0]}"


def _y_label(data: ChartData, title: str) -> str:
    """Returns the label of the y-axis, or the measure that it, the title or the text names first."""
    label = data.axes.y.label.strip(" \"'").lower()
    if LABEL.fullmatch(label) and MEASURE_WORD.search(label):
        return label
    texts = (label, title, *(sentence.text for sentence in data.sentences))
    measure = next((match for text in texts if (match := MEASURE_WORD.search(text))), None)
    return measure[0].lower() if measure else "accuracy"


def _series(data: ChartData) -> list[Curve]:
    curves: dict[tuple[str, str], Curve] = {}
    by_x: dict[tuple[str, str], dict[float, CurvePoint]] = {}
    ordered = sorted(data.points, key=lambda point: data.rank(point.sentence))
    for point in data.points:
        key = (point.series, point.panel)
        curves.setdefault(key, Curve(point.series, point.panel, []))
    for point in ordered:
        key = (point.series, point.panel)
        _add(curves[key], by_x.setdefault(key, {}), point, data.scale(point))
    for key, curve in curves.items():
        curve.points = list(by_x.get(key, {}).values())
    return [checked(curve) for curve in curves.values()]


def _add(curve: Curve, by_x: dict[float, CurvePoint], point: Point, scale: float) -> None:
    reading, y = point.reading, point.reading.y
    is_length = point.measure == "tokens"
    if reading.x_low != reading.x_high or y.is_range:
        values = (reading.x_low, reading.x_high, y.low * scale, y.high * scale)
        curve.stretches.append(CurveStretch(*values, reading.where, is_length, point.line))
        return
    known, value = by_x.get(reading.x_low), y.low * scale
    if known is None:
        nothing = float("nan")
        known = CurvePoint(reading.x_low, nothing, approximate=y.approximate, line=point.line)
    if is_length and known.tokens is None:
        known = replace(known, tokens=value)
    elif not is_length and known.y != known.y:
        margin = None if y.plus_minus is None else y.plus_minus * scale
        bounds = (None, None) if margin is None else (value - margin, value + margin)
        known = replace(known, y=value, low=bounds[0], high=bounds[1], approximate=y.approximate, line=point.line)
    by_x[reading.x_low] = known
