"""Writes curves as a chart description, which `own_form` reads back to the same curves.

Numbers are rounded to four significant digits, as a person would write them. An x has six, so that points stay apart.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from passus.descriptions.own_form import MARK, always_quoted, quoted
from passus.formatting import significant
from passus.runs.curve import Curve, CurvePoint, Curves, CurveStretch


def describe_curves(curves: Curves, observations: Mapping[str, Sequence[str]] | None = None) -> str:
    """Returns a description: the points, the trend of each series in words, the claims of the curves, and observations
    under the heading of each group of them."""
    curves = replace(curves, series=[_rounded(curve) for curve in curves.series])
    points = [point for curve in curves.series for point in curve.points]
    benchmarks = len({curve.benchmark for curve in curves.series})
    lines = [
        f"## Line Chart: {quoted(curves.title) if curves.title else ''}".rstrip(),
        "### Overview",
        f"A line chart of {len(curves.series)} series on {benchmarks} benchmark{'s' * (benchmarks != 1)}, {MARK}",
        "### Components/Axes",
        f"* **X-axis:** Labeled {always_quoted(curves.x)}{_range(p.x for p in points)}.",
        f"* **Y-axis:** Labeled {always_quoted(curves.y)}{_range(p.y for p in points)}.",
        "### Detailed Analysis",
        *_series_lines(curves),
        "### Key Observations",
        *(f"* {_sentence(claim.text)}" for claim in curves.claims),
    ]
    for heading, sentences in (observations or {}).items():
        lines += [f"#### {heading}", *(f"* {_sentence(sentence)}" for sentence in sentences)] if sentences else []
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    """Returns a claim as it is, or quoted where it has several lines or could be taken for something else."""
    is_plain = text.isprintable() and text.strip() == text and text and not text.startswith(('"', "#", "*"))
    return text if is_plain else always_quoted(text)


def _rounded(curve: Curve) -> Curve:
    """Returns the curve with the numbers that the text will have, so that its trend is that of the points beside it."""
    xs = [significant(float(point.x), 6) for point in curve.points]
    if len(set(xs)) < len({point.x for point in curve.points}):
        xs = [point.x for point in curve.points]
    points = [_rounded_point(point, x) for point, x in zip(curve.points, xs, strict=True)]
    stretches = [
        replace(
            s, x_low=significant(s.x_low, 6), x_high=significant(s.x_high, 6),
            y_low=significant(s.y_low), y_high=significant(s.y_high),
        )
        for s in curve.stretches
    ]  # fmt: skip
    return replace(curve, points=points, stretches=stretches)


def _rounded_point(point: CurvePoint, x: float) -> CurvePoint:
    low, high, tokens = (
        None if value is None else significant(float(value)) for value in (point.low, point.high, point.tokens)
    )
    return replace(point, x=x, y=significant(float(point.y)), low=low, high=high, tokens=tokens)


def _series_lines(curves: Curves) -> list[str]:
    x = curves.x if re.fullmatch(r"[A-Za-z]+(?: [A-Za-z]+)*", curves.x) else "x"
    benchmark: str | None = None if any(curve.benchmark for curve in curves.series) else ""
    lines = []
    written: set[tuple[str, str]] = set()
    for number, curve in enumerate(curves.series, 1):
        if curve.benchmark != benchmark:
            benchmark = curve.benchmark
            lines.append(f"#### Benchmark: {quoted(benchmark)}")
        again = ["Another series of this name."] * ((curve.benchmark, curve.name) in written)
        written.add((curve.benchmark, curve.name))
        lines.append(" ".join([f"{number}. **{quoted(curve.name)}:**", *_size(curve), *again]))
        lines.append(f"* **Trend:** {_trend(curve, x)}")
        lines += [f"* {_list_item(point, x)}" for point in curve.points]
        lines += [f"* {_stretch_item(stretch, x)}" for stretch in curve.stretches]
    return lines


def _number(value: float) -> str:
    """Returns the shortest text that is read back as the same number."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _range(values: Iterable[float]) -> str:
    known = [float(value) for value in values if not math.isnan(value)]
    return f", ranging from {_number(min(known))} to {_number(max(known))}" if known else ""


def _size(curve: Curve) -> list[str]:
    items = f"{curve.n} item{'s' * (curve.n != 1)}" if curve.n is not None else ""
    samples = f"{curve.k} sample{'s' * (curve.k != 1)} per item" if curve.k is not None else ""
    size = ", ".join(part for part in (items, samples) if part)
    return [f"{size}."] if size else []


def _trend(curve: Curve, x: str) -> str:
    """Returns a sentence with the first, last and largest value."""
    known = [point for point in curve.points if not math.isnan(point.y)]
    if not known:
        return "No values."
    first, last, top = known[0], known[-1], max(known, key=lambda point: point.y)
    start, end, largest = (f"{_value(point)} at {x} {_number(float(point.x))}" for point in (first, last, top))
    if len(known) == 1:
        return f"One value, {start}."
    level = "higher" if last.y > first.y else "lower" if last.y < first.y else "level"
    return f"Starts at {start} and ends {level}, at {end}; the largest value is {largest}."


def _value(point: CurvePoint) -> str:
    return "~" * point.approximate + _number(float(point.y))


def _list_item(point: CurvePoint, x: str) -> str:
    """Returns one point. An approximate point has one mark: on its value or, where that is missing, on its x."""
    is_missing = math.isnan(point.y)
    low, high, tokens = (None if value is None else _number(float(value)) for value in (point.low, point.high, point.tokens))
    more = [f"{low} to {high}"] if low and high else [f"at least {low}"] if low else [f"at most {high}"] if high else []
    more += [f"{tokens} tokens"] if tokens else []
    at = "~" * (is_missing and point.approximate) + _number(float(point.x))
    return f"{x} {at}: {'missing' if is_missing else _value(point)}" + (f" ({'; '.join(more)})" if more else "")


def _stretch_item(stretch: CurveStretch, x: str) -> str:
    """Returns values that are known as a range, or over a part of the x-axis."""
    to = f" to {_number(float(stretch.x_high))}" if stretch.x_high != stretch.x_low else ""
    where = f" {stretch.where}" if stretch.where else ""
    unit = " tokens" if stretch.is_length else ""
    low, high = _number(float(stretch.y_low)), _number(float(stretch.y_high))
    return f"{x} {_number(float(stretch.x_low))}{to}: {low} to {high}{unit}{where}"
