"""Writes figures: as image files, as SVG text, as CSV, and as JSON for other plotters."""

import csv
import io
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from passus.atomic_io import write_atomic
from passus.errors import UsageError
from passus.figures.spec import Figure, Series, Style, line_of
from passus.figures.styles import DASH_LENGTHS, RAMP, TOKENS
from passus.formatting import spreadsheet_cell

FIELDS = {"y_raw": "raw"}
"""Fields of points whose columns have other names. y is smoothed where there is a y_raw."""
FORMATS = (".svg", ".pdf", ".png", ".csv")


def draw(
    figure: Figure, *paths: Path, column: bool = False, size: tuple[float, float] | None = None, font: float | None = None
) -> None:
    """Writes one or several files, by their suffixes; `column` draws for one column of a paper, with small type.

    `size` is width and height in inches, `font` the type size in points.
    """
    for path in paths:
        if path.suffix not in FORMATS:
            raise UsageError(
                f"--out {path}", expected=f"a name that ends in {', '.join(FORMATS)}", write=f"{path.with_suffix('.svg')}"
            )
    for path in paths:
        if path.suffix == ".csv":
            write_csv(figure, path)
    images = [path for path in paths if path.suffix != ".csv"]
    if images:
        from passus.figures import matplotlib_layout, matplotlib_render

        matplotlib_render.save(figure, images, matplotlib_layout.sheet_of(column, size, font))


def svg(figure: Figure, column: bool = False) -> str:
    """Returns the figure as SVG, to be embedded in a page; `column` draws it for a narrow screen."""
    from passus.figures import matplotlib_render

    return matplotlib_render.svg(figure, column)


def write_csv(figure: Figure, path: Path) -> None:
    """Writes the numbers behind a figure, one row per point. `n_seeds` is empty for curve files, which do not say it.

    Where lines are smoothed, `y` is smoothed and `y_raw` is not.
    An apostrophe before a name keeps spreadsheets from running it as a formula.
    """
    columns = ["x", "y", "low", "high"]
    more = ["tokens", "tokens_p95"] if figure.kind == "grid" else []
    has_ranges = any(s.stretches for s in figure.series)
    more += ["y_raw"] if any(p.raw is not None for s in figure.series for p in s.points) else []
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    ranges = ["x_high", "where"] if has_ranges else []
    rows.writerow(["panel", "series", *columns, "n_seeds", *more, *ranges])
    for s in figure.series:
        n = s.seeds or (1 if s.origin or figure.kind == "solved" else None)
        for p in s.points:
            numbers = [_finite(getattr(p, FIELDS.get(name, name))) for name in columns + more]
            rows.writerow(
                [spreadsheet_cell(s.panel), spreadsheet_cell(s.name), *numbers[:4], n, *numbers[4:], *[None for _ in ranges]]
            )
        for r in s.stretches:
            where = "" if r.x_low == r.x_high else "throughout" if r.is_throughout else "somewhere"
            names = [spreadsheet_cell(s.panel), spreadsheet_cell(s.name)]
            rows.writerow([*names, r.x_low, None, r.y_low, r.y_high, n, *[None for _ in more], r.x_high, where])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, lambda target: target.write_text(text.getvalue(), encoding="utf-8"), durable=False)


def specification(figure: Figure) -> dict[str, Any]:
    """Returns the figure as JSON, for pages and other plotters. Missing values are null."""
    y_axis: dict[str, Any] = {"range": [0, 1]} if figure.is_share else {}
    y_axis |= {"range": list(figure.y_limits)} if figure.y_limits else {}
    y_axis |= {"scale": figure.y_scale} if figure.y_scale != "linear" else {}
    spec: dict[str, Any] = {
        "kind": figure.kind,
        "title": figure.title,
        "note": figure.note,
        "x": {"label": figure.x} | ({"scale": figure.x_scale} if figure.x_scale != "linear" else {}),
        "y": {"label": figure.y} | y_axis,
        "panels": figure.panels,
        "series": [_series_to_json(s) for s in figure.series],
        "marks": [asdict(mark) for mark in figure.marks],
        "changes": [asdict(change) for change in figure.changes],
    }
    if figure.y2:
        spec["y2"] = {"label": figure.y2, "style": _style_to_json(TOKENS)}
    if figure.kind in ("heatmap", "solved"):
        spec["ramp"] = RAMP
    return spec


def _series_to_json(s: Series) -> dict[str, Any]:
    columns = {
        key: [_finite(getattr(p, key)) for p in s.points] for key in ("x", "y", "low", "high", "tokens", "tokens_p95", "raw")
    }
    points = {key: values for key, values in columns.items() if key in "xy" or any(v is not None for v in values)}
    fields = {key: getattr(s, key) for key in ("name", "panel", "seeds", "faint", "reference", "approximate", "parameters")}
    fields |= {"fit": str(s.fit)} if s.fit else {}
    fields |= {"stretches": [asdict(stretch) for stretch in s.stretches]} if s.stretches else {}
    return fields | {"line": line_of(s), "style": _style_to_json(s.style), "points": points}


def _style_to_json(style: Style) -> dict[str, Any]:
    dash = DASH_LENGTHS[style.dash] if isinstance(style.dash, str) else list(style.dash[1])
    return {"colour": style.colour, "marker": style.marker, "dash": dash}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
