"""Curve files: the JSON that `plot` and `analyse` read, that `read` writes, and that published references are kept in.

{"title", "x", "y", "series": [{"name", "benchmark", "n", "k", "points": [{"x", "y", "tokens", "approximate", "line"}],
 "stretches": [{"x_low", "x_high", "y_low", "y_high", "where", "line"}]}], "claims": [{"text", "line", "verdict", "because"}]}
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from passus.atomic_io import write_text
from passus.bounded_json import parse_json, read_text
from passus.errors import UsageError
from passus.runs.curve import Curve, CurveClaim, CurvePoint, Curves, CurveStretch

MAX_POINTS, MAX_ITEMS = 5000, 10_000_000
MAX_BENCHMARKS, MAX_PAIRS, MAX_ALL_POINTS = 40, 2500, 20_000
"""Limits of all series together: benchmarks, pairs of lines on one benchmark, which are compared with each other, points."""
MAX_VALUE = 1e100
"""Largest value of a point. The squares of larger ones overflow."""
WHERE, VERDICTS = ("", "throughout", "somewhere"), ("", "supported", "contradicted", "untestable")
MAX_TEXT = 10_000
"""Characters of a name or a claim."""


def read_curve_file(path: Path) -> Curves:
    """Reads and checks a curve file."""
    try:
        content = parse_json(read_text(path))
        claims, unread = ([_parse_claim(claim) for claim in content.get(key, [])] for key in ("claims", "unread"))
        series = [_parse_curve(row) for row in content["series"]]
        check_counts(series)
        title, source = _text(content.get("title", "")), _text(content.get("source", ""))
        return Curves(title, _text(content["x"]), _text(content["y"]), series, claims, unread, source)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise UsageError(
            f"{path} is not a curve file ({type(error).__name__}: {str(error)[:200]})",
            expected='JSON with "x", "y" and "series": [{"name", "points": [{"x", "y"}]}]',
        ) from None


def _parse_curve(row: dict[str, Any]) -> Curve:
    points = [
        CurvePoint(
            float(p["x"]), math.nan if p["y"] is None else float(p["y"]), _optional(p.get("low")), _optional(p.get("high")),
            _optional(p.get("tokens")), bool(p.get("approximate", False)), line=_line(p),
        )
        for p in row["points"]
    ]  # fmt: skip
    n, k = (None if row.get(key) is None else int(row[key]) for key in ("n", "k"))
    stretches = [_parse_stretch(stretch) for stretch in row.get("stretches", [])]
    return checked(Curve(_text(row["name"]), _text(row.get("benchmark") or ""), points, n, k, stretches=stretches))


def _parse_stretch(row: dict[str, Any]) -> CurveStretch:
    x_low, x_high, y_low, y_high = (float(row[key]) for key in ("x_low", "x_high", "y_low", "y_high"))
    if row.get("where", "") not in WHERE or not x_low <= x_high or not y_low <= y_high:
        raise ValueError(f"a stretch from x = {x_low:g} to {x_high:g}, y = {y_low:g} to {y_high:g}, {row.get('where')!r}")
    return CurveStretch(x_low, x_high, y_low, y_high, row.get("where", ""), bool(row.get("is_length", False)), _line(row))


def _parse_claim(row: dict[str, Any]) -> CurveClaim:
    verdict = row.get("verdict", "")
    if verdict not in VERDICTS:
        raise ValueError(f"a claim is {verdict!r}; expected one of {', '.join(VERDICTS[1:])}")
    return CurveClaim(_text(row["text"]), int(row["line"]), verdict, _text(row.get("because", "")))


def _line(row: dict[str, Any]) -> int | None:
    return None if row.get("line") is None else int(row["line"])


def check_counts(series: Sequence[Curve]) -> None:
    """Raises ValueError for more curves than can be drawn and compared in seconds."""
    lines = Counter(curve.benchmark for curve in series)
    counts = {
        "benchmarks": (len(lines), MAX_BENCHMARKS),
        "pairs of lines on one benchmark": (sum(math.comb(n, 2) for n in lines.values()), MAX_PAIRS),
        "points": (sum(len(curve.points) + len(curve.stretches) for curve in series), MAX_ALL_POINTS),
    }
    for noun, (count, most) in counts.items():
        if count > most:
            raise ValueError(f"{count:,} {noun} are more than {most:,}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60} is not a text")
    if len(value) > MAX_TEXT:
        raise ValueError(f"a text has {len(value):,} characters, more than {MAX_TEXT:,}")
    value.encode()  # a lone surrogate cannot be written to a file
    return value


def _optional(value: Any) -> float | None:
    return None if value is None else float(value)


def checked(curve: Curve) -> Curve:
    """Sorts the points by x. Raises ValueError for values that no chart can show."""
    if len(curve.points) > MAX_POINTS:
        raise ValueError(f"{curve.name!r} has {len(curve.points)} points, more than {MAX_POINTS}")
    for size in (curve.n, curve.k):
        if size is not None and not 1 <= size <= MAX_ITEMS:
            raise ValueError(f"{curve.name!r} has n = {curve.n}, k = {curve.k}; expected whole numbers from 1 to {MAX_ITEMS}")
    for p in curve.points:
        if not _can_be_drawn([p.x, p.low, p.high, p.tokens, None if math.isnan(p.y) else p.y]):
            raise ValueError(f"{curve.name!r} has a point that is not finite or beyond {MAX_VALUE:g}, at x = {p.x}")
        if curve.n and not (math.isnan(p.y) or 0 <= p.y <= 1):
            raise ValueError(f"{curve.name!r} has {p.y} at x = {p.x}; expected a share of n items, from 0 to 1")
    for s in curve.stretches:
        if not _can_be_drawn([s.x_low, s.x_high, s.y_low, s.y_high]):
            raise ValueError(f"{curve.name!r} has a range that is not finite or beyond {MAX_VALUE:g}, at x = {s.x_low}")
    curve.points.sort(key=lambda p: p.x)
    duplicates = [a.x for a, b in pairwise(curve.points) if a.x == b.x]
    if duplicates:
        raise ValueError(f"{curve.name!r} has two points at x = {duplicates[0]:g}")
    return curve


def _can_be_drawn(values: Sequence[float | None]) -> bool:
    return all(value is None or abs(value) <= MAX_VALUE for value in values)


def write_curve_file(curves: Curves, path: Path) -> None:
    """Writes curves. Refuses those that could not be read again."""
    try:
        check_counts(curves.series)
    except ValueError as error:
        raise UsageError(f"too many curves for one file: {error}", expected="the curves of one chart") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(curves_to_json(curves), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def curves_to_json(curves: Curves) -> dict[str, Any]:
    """Returns the content of a curve file."""
    content: dict[str, Any] = {"title": curves.title, "x": curves.x, "y": curves.y}
    content["series"] = [
        {"name": c.name, "benchmark": c.benchmark, "n": c.n, "k": c.k, "points": [_point_to_json(p) for p in c.points]}
        | ({"stretches": [_stretch_to_json(s) for s in c.stretches]} if c.stretches else {})
        for c in curves.series
    ]
    for key, claims in (("claims", curves.claims), ("unread", curves.unread)):
        content[key] = [_claim_to_json(claim) for claim in claims]
    return content | ({"source": curves.source} if curves.source else {})


def _point_to_json(p: CurvePoint) -> dict[str, Any]:
    values = {"x": p.x, "y": None if math.isnan(p.y) else p.y, "low": p.low, "high": p.high, "tokens": p.tokens}
    values |= {"line": p.line}
    return {key: value for key, value in values.items() if value is not None or key == "y"} | {"approximate": p.approximate}


def _stretch_to_json(s: CurveStretch) -> dict[str, Any]:
    return {key: value for key, value in asdict(s).items() if value is not None and value is not False and value != ""}


def _claim_to_json(claim: CurveClaim) -> dict[str, Any]:
    return {key: value for key, value in asdict(claim).items() if value != ""}
