"""Figures of coloured cells in matplotlib: heatmaps of lines, and maps of items."""

import math
from collections.abc import Sequence
from typing import Any

from passus.figures.matplotlib_layout import (
    LETTER,
    Sheet,
    abbreviate_numbers,
    add_note,
    empty_canvas,
    lay_out,
    note_height,
    set_title,
    tiling,
    title_rows_and_columns,
)
from passus.figures.placement import cell_spans, colour_scale, share_of_scale
from passus.figures.spec import Figure, Series
from passus.figures.styles import shade

MAX_CELLS = 2200
"""A map of more cells than this becomes an image inside a vector file."""
LEVELS = 48
"""Number of shades."""
MISSING = "#e4e4e4"
"""Colour of cells without a value."""
MAX_ITEM_LABELS = 30

Scale = tuple[float, float]


def draw_heatmap(figure: Figure, sheet: Sheet) -> Any:
    panels = figure.panels
    most_rows = max(len([s for s in figure.series if s.panel == panel]) for panel in panels)
    tiles = tiling(figure, 2 if len(panels) == 4 else 3, sheet)
    names = LETTER * sheet.type * max(len(s.name) for s in figure.series)
    width = sheet.width or max(6.3, 1.2 + min(names, 3) + 3.4 * tiles.columns)
    panel_height = min(2.4, 0.4 + 0.18 * most_rows) if sheet.narrow else min(3.6, 0.75 + 0.24 * most_rows)
    canvas, axes = empty_canvas(
        figure, width, sheet.height or 0.8 + tiles.rows * panel_height + note_height(figure, width, sheet), tiles
    )
    scale = colour_scale([p.y for s in figure.series for p in s.points], all(s.share for s in figure.series))
    for n, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
        _draw_cells(ax, figure, panel, scale, sheet)
        if tiles.places[n][1]:
            ax.set_yticks([])
        if not tiles.is_lowest(n):
            ax.set_xlabel("")
    title_rows_and_columns(axes, figure, tiles)
    _add_colour_bar(canvas, axes[: len(panels)], scale, figure.y, sheet)
    add_note(canvas, axes, figure.note, 0, sheet)
    lay_out(canvas)
    for ax, panel in zip(axes, panels, strict=False):
        _write_numbers(ax, [s for s in figure.series if s.panel == panel], scale, sheet)
    return canvas


def draw_solved(figure: Figure, sheet: Sheet) -> Any:
    panels = figure.panels
    evals = max(len(s.points) for s in figure.series)
    tiles = tiling(figure, 3, sheet)
    width = sheet.width or max(6.3, 1.6 + tiles.columns * min(max(3.6, 0.42 * evals), 9))
    height = sheet.height or 0.6 + tiles.rows * (2.8 if sheet.narrow else 4.4)
    canvas, axes = empty_canvas(figure, width, height, tiles)
    for ax, panel in zip(axes, panels, strict=False):
        _draw_cells(ax, figure, panel, (0.0, 1.0), sheet)
        series = [s for s in figure.series if s.panel == panel]
        if len(series) > MAX_ITEM_LABELS:
            ax.set_yticks([])
        ax.set_ylabel(f"{len(series)} items,\nfirst solved on top")
    _add_colour_bar(canvas, axes[: len(panels)], (0.0, 1.0), figure.y, sheet)
    add_note(canvas, axes, figure.note, 0, sheet)
    lay_out(canvas)
    for ax, panel in zip(axes, panels, strict=False):
        _write_changes(ax, figure, panel, sheet)
    return canvas


def _write_changes(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    """Writes under the eval points how many items became solved and were lost; skips some where texts would overlap."""
    counts = {
        change.x: f"\n+{change.gained}\n\N{MINUS SIGN}{change.lost}" for change in figure.changes if change.panel == panel
    }
    xs = [p.x for p in next(s for s in figure.series if s.panel == panel).points]
    room = ax.get_window_extent().width / ax.figure.dpi / len(xs)
    texts = [f"{x:.4g}" + counts.get(x, "\n") for x in xs]
    letters = max(len(line) for text in texts for line in text.splitlines()) + 1
    every = max(1, math.ceil(LETTER * sheet.small * letters / room))
    ax.set_xticks(xs[::every], texts[::every], fontsize=sheet.small)


def _add_colour_bar(canvas: Any, axes: list[Any], scale: Scale, label: str, sheet: Sheet) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    shades = ListedColormap([shade(i / (LEVELS - 1)) for i in range(LEVELS)])
    values = ScalarMappable(Normalize(*scale), shades)
    side = "bottom" if sheet.narrow else "right"
    bar = canvas.colorbar(
        values, ax=axes, label=label, pad=0.015, fraction=0.04, aspect=25 if side == "right" else 40, location=side
    )
    bar.outline.set_visible(False)


def _draw_cells(ax: Any, figure: Figure, panel: str, scale: Scale, sheet: Sheet) -> None:
    """Draws one row per series and one cell per eval point; cells without a value stay gray."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    series = [s for s in figure.series if s.panel == panel]
    has_edges = sum(len(s.points) for s in series) <= 400 and figure.kind == "heatmap"
    is_image = sum(len(s.points) for s in figure.series) > MAX_CELLS
    for level, boxes in _boxes_by_level(series, scale).items():
        # One outline per shade instead of one per cell: the file is a third of the size.
        corners = [((a, c), (b, c), (b, d), (a, d), (a, c)) for a, b, c, d in boxes]
        codes = [Outline.MOVETO, *[Outline.LINETO] * 3, Outline.CLOSEPOLY] * len(corners)
        edge: dict[str, Any] = {"edgecolor": "none", "linewidth": 0, "antialiased": False}
        if has_edges:
            edge = {"edgecolor": "white", "linewidth": 0.8}
        outline = Outline([corner for box in corners for corner in box], codes)
        ax.add_patch(PathPatch(outline, facecolor=shade(level / (LEVELS - 1)), rasterized=is_image, **edge))
    ends = [edge for s in series for span in cell_spans([p.x for p in s.points]) for edge in span]
    ax.set(xlim=(min(ends), max(ends)), ylim=(len(series) - 0.5, -0.5), facecolor=MISSING)
    ax.set_yticks(range(len(series)), [s.name for s in series])
    _finish_map(ax, figure, panel, sheet)


def _boxes_by_level(series: Sequence[Series], scale: Scale) -> dict[int, list[tuple[float, float, float, float]]]:
    """Returns left, right, top and bottom of the cells of each shade."""
    boxes: dict[int, list[tuple[float, float, float, float]]] = {}
    for row, s in enumerate(series):
        for (left, right), p in zip(cell_spans([p.x for p in s.points]), s.points, strict=True):
            if not math.isnan(p.y):
                level = round(share_of_scale(p.y, scale) * (LEVELS - 1))
                boxes.setdefault(level, []).append((left, right, row - 0.5, row + 0.5))
    return boxes


def _finish_map(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    set_title(ax, figure, panel, 0.3 if sheet.narrow else 1, sheet)
    ax.set_xlabel(figure.x)
    ax.tick_params(length=2)
    ax.tick_params(axis="y", length=0)
    abbreviate_numbers(ax.xaxis, max(abs(x) for x in ax.get_xlim()))
    ax.spines[:].set_visible(False)


def _write_numbers(ax: Any, series: list[Series], scale: Scale, sheet: Sheet) -> None:
    """Writes the values into the cells if there is room in all of them."""
    texts = [f"{p.y:.2f}".lstrip("0") if abs(p.y) < 1 else f"{p.y:.3g}" for s in series for p in s.points]
    box = ax.get_window_extent()
    size = sheet.small - 0.5
    left, right = ax.get_xlim()
    narrowest = min(b - a for s in series for a, b in cell_spans([p.x for p in s.points])) / (right - left)
    room = narrowest * box.width / ax.figure.dpi
    if room < LETTER * size * (max(map(len, texts)) + 0.7) or box.height / ax.figure.dpi / len(series) < size * 1.2 / 72:
        return
    cells = [(p, row) for row, s in enumerate(series) for p in s.points]
    for (p, row), text in zip(cells, texts, strict=True):
        if not math.isnan(p.y):
            colour = "white" if share_of_scale(p.y, scale) > 0.5 else "black"
            ax.text(p.x, row, text, ha="center", va="center", fontsize=size, color=colour)
