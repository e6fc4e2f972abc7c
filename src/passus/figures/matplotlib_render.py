"""Draws the specification of a figure with matplotlib, as SVG, PDF and PNG.

Vector files stay small enough for a paper: long lines are thinned to the visible detail (the CSV has every point), markers are
spaced out, and a map of very many cells becomes an image.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from passus.atomic_io import write_atomic
from passus.figures.matplotlib_grid import draw_grid
from passus.figures.matplotlib_heatmap import draw_heatmap, draw_solved
from passus.figures.matplotlib_layout import PAGE, Sheet, lay_out, sheet_of
from passus.figures.matplotlib_lines import draw_curves
from passus.figures.spec import Figure, printable_figure


def save(figure: Figure, paths: Sequence[Path], sheet: Sheet) -> None:
    """Writes image files, by their suffixes."""
    with drawn(figure, sheet=sheet) as canvas:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, partial(_write, canvas, path.suffix, sheet.dpi), durable=False)


def _write(canvas: Any, suffix: str, dpi: int, target: Path) -> None:
    if suffix == ".svg":
        target.write_text(_to_svg(canvas), encoding="utf-8")
    else:
        metadata = {"CreationDate": None} if suffix == ".pdf" else None
        drawn_bytes = BytesIO()  # matplotlib leaves a file open that it cannot write to the end
        canvas.savefig(drawn_bytes, format=suffix[1:], dpi=dpi, metadata=metadata)
        target.write_bytes(drawn_bytes.getvalue())


def svg(figure: Figure, column: bool = False) -> str:
    """Returns the figure as SVG text with a transparent background."""
    with drawn(figure, column) as canvas:
        return _to_svg(canvas, transparent=True)


def _to_svg(canvas: Any, transparent: bool = False) -> str:
    """Returns SVG without a date, so that equal figures are equal files, and with numbers cut to hundredths of a point."""
    text = StringIO()
    canvas.savefig(text, format="svg", dpi=PAGE.dpi, transparent=transparent, metadata={"Date": None})
    return re.sub("<[^>]*>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", tag[0]), text.getvalue())


@contextmanager
def drawn(figure: Figure, column: bool = False, sheet: Sheet | None = None) -> Iterator[Any]:
    """Yields matplotlib's figure within the settings that it must be saved under."""
    import matplotlib

    figure = printable_figure(figure)
    sheet = sheet or sheet_of(column)
    settings = {
        "font.size": sheet.type, "svg.fonttype": "none", "pdf.fonttype": 42,
        "svg.hashsalt": f"passus {sheet.width}",  # names of parts differ where a page holds one figure in two widths
        "text.parse_math": False,
        "font.sans-serif": ["DejaVu Sans", "Verdana"],  # only two, because an SVG repeats them at every word
        "axes.titlesize": sheet.type + (0 if sheet.narrow else 1), "legend.fontsize": sheet.type - (0.5 if sheet.narrow else 1),
        "lines.scale_dashes": True,
    }  # fmt: skip
    lines = {
        "curves": draw_curves,
        "profile": draw_curves,
        "signals": draw_curves,
        "difference": draw_curves,
        "path": draw_curves,
        "grid": draw_grid,
    }
    draw = (lines | {"heatmap": draw_heatmap, "solved": draw_solved})[figure.kind]
    with matplotlib.rc_context(settings):
        canvas = draw(figure, sheet)
        lay_out(canvas)
        canvas.set_layout_engine(None)  # matplotlib would do it again, twice for every file
        yield canvas
