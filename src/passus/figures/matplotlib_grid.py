"""Grids in matplotlib: accuracy on the left axis and length, or a score, on the right, one panel per benchmark."""

import math
from collections.abc import Sequence
from typing import Any

from passus.figures.matplotlib_labels import draw_marks
from passus.figures.matplotlib_layout import (
    Sheet,
    abbreviate_numbers,
    add_note,
    empty_canvas,
    figure_height,
    label_outer_axes,
    lay_out,
    note_height,
    tiling,
    title_rows_and_columns,
)
from passus.figures.matplotlib_lines import draw_band, draw_line, draw_stretches, finish_panel
from passus.figures.placement import ink, marker_interval, max_points, thinned
from passus.figures.spec import Figure, PlotPoint, Series
from passus.figures.styles import ACCURACY, TOKENS


def draw_grid(figure: Figure, sheet: Sheet) -> Any:
    panels = figure.panels
    tiles = tiling(figure, 2 if len(panels) == 4 else 3 if len(panels) <= 9 else 4, sheet)
    width = sheet.width or max(5.6, 0.9 + 2.9 * tiles.columns)
    more = note_height(figure, width, sheet) + (0.3 if sheet.height is None else 0.0)
    canvas, axes = empty_canvas(figure, width, figure_height(tiles.rows, tiles.columns, 2.1, sheet) + more, tiles)
    for n, (ax, s) in enumerate(zip(axes, figure.series, strict=True)):
        right = _draw_two_axes(ax, figure, s, sheet)
        is_last = tiles.places[n][1] == tiles.columns - 1 or n == len(panels) - 1
        if right and (not is_last or sheet.narrow):
            right.set_ylabel("")
        if sheet.narrow:  # the legend names the axes
            ax.set_ylabel("")
    label_outer_axes(axes, tiles)
    title_rows_and_columns(axes, figure, tiles)
    add_note(canvas, canvas.axes, figure.note, 2 if figure.y2 else 1, sheet)
    if figure.marks:
        lay_out(canvas)
        for ax, panel in zip(axes, panels, strict=True):
            draw_marks(ax, figure, panel, sheet)
    return canvas


def _draw_two_axes(ax: Any, figure: Figure, s: Series, sheet: Sheet) -> Any:
    """Draws accuracy on the left, from 0 to 1 in all panels, and length or a score on the right. Returns the right axes."""
    points = thinned(s.points, max_points(figure.series) // 2)
    wide = not sheet.narrow
    look = {"markersize": 3.6 if wide else 2.6, "linewidth": 1.2 if wide else 0.9, "markeredgewidth": 0.5 if wide else 0.3}
    look["markevery"] = marker_interval(figure, points)
    draw_band(ax, points, ACCURACY.colour)
    draw_line(ax, points, ACCURACY, **look, zorder=3, label=f"{figure.y} (left)")
    draw_stretches(ax, s.stretches, ACCURACY.colour, 1.0 if wide else 0.7)
    finish_panel(ax, figure, s.panel, sheet)
    ax.tick_params(axis="y", colors=ink(ACCURACY.colour))
    ax.yaxis.label.set_color(ink(ACCURACY.colour))
    if not any(p.tokens is not None for p in points):
        return None
    right = ax.twinx()
    lengths = [PlotPoint(p.x, math.nan if p.tokens is None else p.tokens, p.tokens, p.tokens_p95) for p in points]
    draw_line(right, lengths, TOKENS, **look, label=f"{figure.y2} (right)")
    if any(p.high is not None for p in lengths):  # a thin line, because a band would be louder than the data
        highs = [PlotPoint(p.x, math.nan if p.high is None else p.high) for p in lengths]
        draw_line(right, highs, TOKENS, linestyle=":", marker=None, linewidth=0.9 if wide else 0.7, alpha=0.8, zorder=2)
    _finish_right_axis(right, figure, lengths)
    ax.set_zorder(right.get_zorder() + 1)  # accuracy in front, without hiding the axes behind it
    ax.patch.set_visible(False)
    return right


def _finish_right_axis(right: Any, figure: Figure, points: Sequence[PlotPoint]) -> None:
    """Lets the axis begin at 0, or below it where values are negative."""
    values = [value for p in points for value in (p.y, p.high) if value is not None and not math.isnan(value)]
    top, bottom = max(values), min(0.0, *values)
    margin = 0.08 * (top - bottom) or 0.1  # 0 where all values are equal, as before the first update
    right.set_ylim(bottom - (margin if bottom < 0 else 0), (top + margin) or 1)
    right.set_ylabel(figure.y2, color=ink(TOKENS.colour))
    right.tick_params(axis="y", colors=ink(TOKENS.colour))
    abbreviate_numbers(right.yaxis, right.get_ylim()[1])
    right.spines[["top", "left"]].set_visible(False)
