"""Figures of lines in matplotlib: curves, and grids with two y-axes."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from passus.figures.matplotlib_layout import (
    LETTER,
    QUIET,
    Sheet,
    abbreviate_numbers,
    add_note,
    empty_canvas,
    figure_height,
    hide_inner_labels,
    panel_columns,
    set_title,
)
from passus.figures.placement import ink, marker_interval, max_points, spread, thinned
from passus.figures.smoothing import raw_points
from passus.figures.spec import Figure, FitPart, Mark, PlotPoint, Series, Style, line_of
from passus.figures.styles import ACCURACY, TOKENS

LEGEND_INSIDE = 5
"""With more lines than this, names stand at the ends of lines or in a legend below: inside, a legend would hide lines."""
LABEL = 30
"""Characters per line of a name that stands beside its line."""
LONG = 200
"""A line with more points than this is drawn thin."""
MARKED_STEPS = 9
"""Markers of a profile."""
SIGNAL_MARKERS = 5
"""Markers of a line of a training signal."""
MARKER_SIZES = {"*": 9, "P": 6.5, "X": 6}


def draw_curves(figure: Figure, sheet: Sheet) -> Any:
    panels = figure.panels
    names = list(dict.fromkeys(s.name for s in figure.series if not s.faint and not s.fit and line_of(s)))
    has_fits = any(s.fit for s in figure.series)
    longest = max(map(len, names), default=0)
    apart = figure.kind == "curves" and not has_fits and _end_together(figure.series)  # profiles all end at 0
    at_ends = len(panels) == 1 and len(names) > LEGEND_INSIDE and _labels_fit(names, sheet) and apart
    crowded = len(names) > LEGEND_INSIDE or (len(names) > 1 and (len(panels) > 1 or sheet.width is not None))
    below = crowded and not at_ends
    signals = figure.kind == "signals"
    columns = panel_columns(len(panels), 4 if signals and len(panels) != 6 else 3, sheet)
    beside = LETTER * sheet.small * min(longest, LABEL) - 0.5 if at_ends else 0
    width = sheet.width or (0.4 + 2.6 * columns if signals else 1.5 + 4.8 * columns + beside)
    legend_columns = max(1, int(width / (0.6 + LETTER * (sheet.type - 1) * longest)))
    rows = -(-len(panels) // columns)
    height = figure_height(rows, columns, 1.9 if signals else 3.1, sheet) + (
        0.19 * -(-len(names) // legend_columns) if below else 0
    )
    canvas, axes = empty_canvas(figure, width, height, rows, columns)
    for ax, panel in zip(axes, panels, strict=False):
        _draw_panel(ax, figure, panel, sheet)
        if names and not below and not at_ends:
            ax.legend(frameon=False)
    hide_inner_labels(axes, columns, sheet)
    add_note(canvas, axes, figure.note, min(legend_columns, len(names)) if below else 0, sheet)
    if at_ends or figure.marks:
        canvas.draw_without_rendering()  # positions are known only after the layout
    for n, (ax, panel) in enumerate(zip(axes, panels, strict=False)):
        if at_ends:
            _label_ends(ax, [s for s in figure.series if s.panel == panel and not s.faint], sheet)
        _draw_marks(ax, figure, panel, sheet, with_text=n == 0 or not signals)
    return canvas


def _labels_fit(names: list[str], sheet: Sheet) -> bool:
    """Returns whether names can stand at the ends of lines: not too many, not too long."""
    fit_height = _label_height(names, sheet) * len(names) <= 0.7 * figure_height(1, 1, 3.1, sheet)
    return fit_height and (sheet.width is None or max(map(len, names)) * LETTER * sheet.small <= 0.3 * sheet.width)


def _label_height(names: list[str], sheet: Sheet) -> float:
    return max(len(textwrap.wrap(name, LABEL)) for name in names) * sheet.small * 1.25 / 72


def _end_together(series: Sequence[Series]) -> bool:
    """Returns whether all lines end near the right: long leaders from a line's end to its name would look like data."""
    spans = [(s.points[0].x, s.points[-1].x) for s in series if not s.faint and s.points]
    first, last = min(x for x, _ in spans), max(x for _, x in spans)
    return all(x >= last - 0.1 * (last - first) for _, x in spans)


def _draw_panel(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    most, shown = max_points(figure.series), [s for s in figure.series if s.panel == panel]
    if figure.kind == "profile":
        for n, s in enumerate(shown):
            _draw_profile(ax, s, thinned(s.points, most), n / len(shown), 1 if sheet.width is None else 0.75)
        shown = []
    fitted = {s.line for s in shown if s.fit}
    for level, s in enumerate(s for s in shown if s.fit is FitPart.LEVEL):
        _draw_level(ax, s, level)
    for line, s in enumerate(s for s in shown if s.fit is not FitPart.LEVEL):
        points = thinned(s.points, most)
        label = s.name if line_of(s) else None
        every: Any = marker_interval(figure, points)
        if s.fit:
            _draw_line(ax, points, s.style, linewidth=1.3, zorder=2)
        elif s.faint:
            _draw_line(ax, points, s.style, linewidth=0.7, alpha=0.45, marker=None)
        elif s.reference:
            _draw_line(ax, points, s.style, linewidth=1.2, zorder=1.5, label=label, markersize=4, markevery=every)
        else:
            scale = 1 if sheet.width is None else 0.75
            width = (2.2 if s.seeds else 1.4 if len(points) <= LONG else 0.9) * scale
            size = MARKER_SIZES.get(s.style.marker, 5) * scale
            if figure.kind == "signals":  # many points in small panels: few and small markers, at other steps for each line
                width, size = 0.6 * width, 0.7 * size
                every = (len(points) * (line % 5) // (5 * SIGNAL_MARKERS), max(1, len(points) // SIGNAL_MARKERS))
            style = replace(s.style, dash="none") if s.name in fitted else s.style  # the fit is the line
            if raw := raw_points(points):
                _draw_line(ax, raw, replace(s.style, marker="", dash="-"), linewidth=0.6 * scale, alpha=0.35, zorder=2)
            _draw_line(ax, points, style, linewidth=width, zorder=3, label=label, markersize=size, markevery=every)
            _draw_band(ax, points, s.style.colour)
    _finish_panel(ax, figure, panel, sheet)


def _draw_profile(ax: Any, s: Series, points: Sequence[PlotPoint], shift: float, scale: float) -> None:
    """Draws a step function. Markers are shifted from line to line: many lines lie on each other at 1 and at 0."""
    every = max(1, len(points) // MARKED_STEPS)
    look = {"linewidth": 1.5 * scale, "markersize": MARKER_SIZES.get(s.style.marker, 5) * scale, "drawstyle": "steps-post"}
    label = s.name if line_of(s) else None
    _draw_line(ax, points, s.style, **look, zorder=3, label=label, markevery=(int(shift * every), every))
    _draw_band(ax, points, s.style.colour, step="post")


def _draw_level(ax: Any, s: Series, number: int) -> None:
    """Draws the level that a fit tends to as a bracket. Brackets of several lines stand side by side."""
    (p,) = s.points
    assert p.low is not None and p.high is not None
    look = {"color": s.style.colour, "linewidth": 1.6, "capsize": 3, "marker": "_", "zorder": 2.5}
    ax.errorbar([p.x * (1 + 0.015 * number)], [p.y], [[p.y - p.low], [p.high - p.y]], **look)


def _draw_line(ax: Any, points: Sequence[PlotPoint], style: Style, **look: Any) -> None:
    # White edges keep markers visible where lines cross. Markers without a face have no edge.
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.6} if style.marker not in "x+1234" else {}
    look = {"color": style.colour, "linestyle": style.dash, "marker": style.marker, **edge} | look
    ax.plot([p.x for p in points], [p.y for p in points], **look)


def _draw_band(ax: Any, points: Sequence[PlotPoint], colour: str, alpha: float = 0.13, step: Any = None) -> None:
    if any(p.low is not None for p in points):
        low = [math.nan if p.low is None else p.low for p in points]
        high = [math.nan if p.high is None else p.high for p in points]
        ax.fill_between([p.x for p in points], low, high, color=colour, alpha=alpha, linewidth=0, step=step)


def _finish_panel(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    ax.set(xlabel=figure.x, ylabel=figure.y)
    set_title(ax, figure, panel, 0.3, sheet)
    if figure.y == "Accuracy":
        ax.set_ylim(0, 1.02)
    abbreviate_numbers(ax.xaxis, max((p.x for s in figure.series for p in s.points), default=0))
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def _label_ends(ax: Any, series: list[Series], sheet: Sheet) -> None:
    """Writes names to the right in the colours of their lines, moved apart until none overlaps another."""
    ends = [(s, last) for s in series if (last := next((p for p in reversed(s.points) if not math.isnan(p.y)), None))]
    to_axes = ax.transData + ax.transAxes.inverted()
    wanted = [float(to_axes.transform((p.x, p.y))[1]) for _, p in ends]
    box = ax.get_window_extent()
    inch, right = ax.figure.dpi / box.width, ax.get_xlim()[1]
    places = spread(wanted, _label_height([s.name for s, _ in ends], sheet) * ax.figure.dpi / box.height, 0, 1)
    for (s, p), place in zip(ends, places, strict=True):
        knob, colour = (1 + 0.2 * inch, place), s.style.colour
        leader = {"arrowstyle": "-", "color": colour, "lw": 0.6, "alpha": 0.8, "shrinkA": 2, "shrinkB": 3}
        ax.annotate("", (p.x, p.y), knob, textcoords="axes fraction", arrowprops=leader, annotation_clip=False)
        beside = {"transform": ax.transAxes, "clip_on": False}
        size = 0.8 * MARKER_SIZES.get(s.style.marker, 5)
        ax.plot(*([value] for value in knob), s.style.marker, color=colour, markersize=size, **beside)
        name = textwrap.fill(s.name, LABEL)
        ax.text(1 + 0.28 * inch, place, name, fontsize=sheet.small, color=ink(colour), va="center", **beside)
    ax.set_xlim(right=right)


def _draw_marks(ax: Any, figure: Figure, panel: str, sheet: Sheet, with_text: bool = True) -> None:
    """Draws marks as thin vertical lines with their text at the top; texts are moved apart."""
    marks = [mark for mark in figure.marks if mark.panel in ("", panel)]
    if not marks:
        return
    to_axes = ax.transData + ax.transAxes.inverted()
    size = max(5.5, sheet.small - 1)
    width = ax.get_window_extent().width / ax.figure.dpi
    places = spread([float(to_axes.transform((mark.x, 0))[0]) for mark in marks], size * 1.3 / 72 / width, 0.01, 0.99)
    for mark, place in zip(marks, places, strict=True):
        colour = _mark_colour(figure, mark)
        ax.axvline(mark.x, color=colour, linewidth=0.7, linestyle=(0, (1, 2)), zorder=2)
        if not with_text:
            continue
        ax.annotate(
            mark.text, (place, 0.985), xycoords="axes fraction", rotation=90, ha="center", va="top", fontsize=size,
            color=ink(colour), zorder=5, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
        )  # fmt: skip


def _mark_colour(figure: Figure, mark: Mark) -> str:
    return next((s.style.colour for s in figure.series if mark.series and mark.series in (s.name, s.line, s.curve)), QUIET)


def draw_grid(figure: Figure, sheet: Sheet) -> Any:
    panels = figure.panels
    columns = panel_columns(len(panels), 2 if len(panels) == 4 else 3 if len(panels) <= 9 else 4, sheet)
    rows = -(-len(panels) // columns)
    width = sheet.width or max(5.6, 0.9 + 2.9 * columns)
    canvas, axes = empty_canvas(figure, width, figure_height(rows, columns, 2.1, sheet) + 0.3, rows, columns)
    for i, (ax, s) in enumerate(zip(axes, figure.series, strict=False)):
        right = _draw_two_axes(ax, figure, s, sheet)
        if i % columns or sheet.width:  # on a narrow sheet the legend names the axes
            ax.set_ylabel("")
        if i + columns < len(panels):
            ax.set_xlabel("")
        if right and (((i + 1) % columns and i + 1 < len(panels)) or sheet.width):
            right.set_ylabel("")
    add_note(canvas, canvas.axes, figure.note, 2 if figure.y2 else 1, sheet)
    if figure.marks:
        canvas.draw_without_rendering()
        for ax, panel in zip(axes, panels, strict=False):
            _draw_marks(ax, figure, panel, sheet)
    return canvas


def _draw_two_axes(ax: Any, figure: Figure, s: Series, sheet: Sheet) -> Any:
    """Draws accuracy on the left, from 0 to 1 in all panels, and length or a score on the right. Returns the right axes."""
    points = thinned(s.points, max_points(figure.series) // 2)
    wide = sheet.width is None
    look = {"markersize": 3.6 if wide else 2.6, "linewidth": 1.2 if wide else 0.9, "markeredgewidth": 0.5 if wide else 0.3}
    look["markevery"] = marker_interval(figure, points)
    _draw_band(ax, points, ACCURACY.colour)
    _draw_line(ax, points, ACCURACY, **look, zorder=3, label=f"{figure.y} (left)")
    _finish_panel(ax, figure, s.panel, sheet)
    ax.tick_params(axis="y", colors=ink(ACCURACY.colour))
    ax.yaxis.label.set_color(ink(ACCURACY.colour))
    if not any(p.tokens is not None for p in points):
        return None
    right = ax.twinx()
    lengths = [PlotPoint(p.x, math.nan if p.tokens is None else p.tokens, p.tokens, p.tokens_p95) for p in points]
    if any(p.high is not None for p in lengths):
        _draw_band(right, lengths, TOKENS.colour, 0.12)
    _draw_line(right, lengths, TOKENS, **look, label=f"{figure.y2} (right)")
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
    abbreviate_numbers(right.yaxis, top)
    right.spines[["top", "left"]].set_visible(False)
