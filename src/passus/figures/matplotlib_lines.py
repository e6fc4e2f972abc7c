"""Figures of lines in matplotlib: curves, differences, paths, profiles and training signals."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from passus.figures.matplotlib_labels import LABEL, MARKER_SIZES, draw_marks, label_ends, labels_fit
from passus.figures.matplotlib_layout import (
    LEGEND_LETTERS,
    LETTER,
    QUIET,
    Sheet,
    abbreviate_numbers,
    add_note,
    balanced,
    empty_canvas,
    figure_height,
    label_outer_axes,
    lay_out,
    note_height,
    scale_axes,
    set_title,
    tiling,
    title_rows_and_columns,
)
from passus.figures.placement import marker_interval, max_points, thinned
from passus.figures.smoothing import raw_points
from passus.figures.spec import Figure, FitPart, PlotPoint, Series, Stretch, Style, line_of

LEGEND_INSIDE = 5
"""With more lines than this, names stand at the ends of lines or in a legend below: inside, a legend would hide lines."""
LONG = 200
"""A line with more points than this is drawn thin."""
MARKED_STEPS = 9
"""Markers of a profile."""
SIGNAL_MARKERS = 5
"""Markers of a line of a training signal."""


def draw_curves(figure: Figure, sheet: Sheet) -> Any:
    panels = figure.panels
    names = list(dict.fromkeys(s.name for s in figure.series if not s.faint and not s.fit and line_of(s)))
    longest = max(map(len, names), default=0)
    at_ends = _names_at_ends(figure, names, sheet)
    crowded = len(names) > LEGEND_INSIDE or (len(names) > 1 and (len(panels) > 1 or sheet.narrow))
    below = crowded and not at_ends
    panel_width, panel_height, most = _panel_size(figure)
    tiles = tiling(figure, most, sheet)
    beside = LETTER * sheet.small * min(longest, LABEL) - 0.5 if at_ends else 0
    wide = 0.4 + 2.6 * tiles.columns if panel_width < 3 else 1.5 + panel_width * min(tiles.columns, 3) + beside
    width = sheet.width or (wide if tiles.columns <= 3 or panel_width < 3 else 1.0 + 2.7 * tiles.columns)
    longest_line = min(longest, LEGEND_LETTERS) if sheet.narrow else longest
    legend_columns = balanced(
        len(names), int(width / ((0.35 if sheet.narrow else 0.6) + LETTER * (sheet.type - 1) * longest_line))
    )
    legend = 0.19 * -(-len(names) // legend_columns) if below and sheet.height is None else 0
    height = figure_height(tiles.rows, tiles.columns, panel_height, sheet) + legend + note_height(figure, width, sheet)
    canvas, axes = empty_canvas(figure, width, height, tiles)
    for ax, panel in zip(axes, panels, strict=True):
        _draw_panel(ax, figure, panel, sheet)
        if names and not below and not at_ends:
            ax.legend(frameon=False)
    label_outer_axes(axes, tiles)
    title_rows_and_columns(axes, figure, tiles)
    add_note(canvas, axes, figure.note, legend_columns if below else 0, sheet)
    if at_ends or figure.marks:
        lay_out(canvas)  # positions are known only after the layout
    for n, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
        if at_ends:
            label_ends(ax, [s for s in figure.series if s.panel == panel and not s.faint], sheet)
        draw_marks(ax, figure, panel, sheet, with_text=n == 0 or figure.kind != "signals")
    return canvas


def _panel_size(figure: Figure) -> tuple[float, float, int]:
    """Returns width and height of a panel on a page, in inches, and the most columns."""
    if figure.kind == "signals":
        return 2.6, 1.9, 3 if len(figure.panels) == 6 else 4
    return (4.8, 3.1, 3) if len(figure.panels) <= 2 else (3.2, 2.4, 3)  # three beside each other are read at half their size


def _names_at_ends(figure: Figure, names: list[str], sheet: Sheet) -> bool:
    """Returns whether names stand at the ends of lines: in one panel, where they fit and all lines end near the right."""
    if len(figure.panels) > 1 or figure.kind not in ("curves", "difference") or any(s.fit for s in figure.series):
        return False
    many = len(names) > LEGEND_INSIDE and not sheet.narrow  # in a column they would take a third of the width
    return many and labels_fit(names, sheet) and _end_together(figure.series)


def _end_together(series: Sequence[Series]) -> bool:
    """Returns whether all lines end near the right: long leaders from a line's end to its name would look like data."""
    spans = [(s.points[0].x, s.points[-1].x) for s in series if not s.faint and s.points]
    first, last = min(x for x, _ in spans), max(x for _, x in spans)
    return all(x >= last - 0.1 * (last - first) for _, x in spans)


def _draw_panel(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    most, shown = max_points(figure.series), [s for s in figure.series if s.panel == panel]
    scale = line_scale(ax, sheet)
    if figure.kind == "profile":
        for n, s in enumerate(shown):
            _draw_profile(ax, s, thinned(s.points, most), n / len(shown), scale)
        shown = []
    if figure.kind == "path":
        for s in shown:
            _draw_path(ax, s, scale)
        shown = []
    if figure.kind == "difference":
        ax.axhline(0, color=QUIET, linewidth=0.8, zorder=1)
    fitted = {s.line for s in shown if s.fit}
    for level, s in enumerate(s for s in shown if s.fit is FitPart.LEVEL):
        _draw_level(ax, s, level)
    for line, s in enumerate(s for s in shown if s.fit is not FitPart.LEVEL):
        points = thinned(s.points, most)
        label = s.name if line_of(s) else None
        every: Any = marker_interval(figure, points)
        if s.fit:
            draw_line(ax, points, s.style, linewidth=1.3, zorder=2)
        elif s.faint:
            draw_line(ax, points, s.style, linewidth=0.7 * scale, alpha=0.5, marker=None)
        elif s.reference:
            draw_line(
                ax, points, s.style, linewidth=1.2 * scale, zorder=1.5, label=label, markersize=4 * scale, markevery=every
            )
        else:
            width = (1.9 if s.seeds else 1.4 if len(points) <= LONG else 0.9) * scale
            size = MARKER_SIZES.get(s.style.marker, 5) * scale
            if figure.kind == "signals":  # many points in small panels: few and small markers, at other steps for each line
                width, size = 0.6 * width, 0.7 * size
                every = (len(points) * (line % 5) // (5 * SIGNAL_MARKERS), max(1, len(points) // SIGNAL_MARKERS))
            style = replace(s.style, dash="none") if s.name in fitted else s.style  # the fit is the line
            if raw := raw_points(points):
                draw_line(ax, raw, replace(s.style, marker="", dash="-"), linewidth=0.6 * scale, alpha=0.35, zorder=2)
            draw_line(ax, points, style, linewidth=width, zorder=3, label=label, markersize=size, markevery=every)
            draw_band(ax, points, s.style.colour)
        draw_stretches(ax, s.stretches, s.style.colour, scale)
        draw_guides(ax, s.points, s.stretches, s.style.colour)
    finish_panel(ax, figure, panel, sheet)


def line_scale(ax: Any, sheet: Sheet) -> float:
    """Returns the width of lines and markers as a share of those on a page: less in a column, and in two panels beside it."""
    if not sheet.narrow:
        return 1.0
    return 0.75 if ax.get_subplotspec().get_gridspec().ncols == 1 else 0.55


def _draw_profile(ax: Any, s: Series, points: Sequence[PlotPoint], shift: float, scale: float) -> None:
    """Draws a step function. Markers are shifted from line to line: many lines lie on each other at 1 and at 0."""
    every = max(1, len(points) // MARKED_STEPS)
    look = {"linewidth": 1.5 * scale, "markersize": MARKER_SIZES.get(s.style.marker, 5) * scale, "drawstyle": "steps-post"}
    label = s.name if line_of(s) else None
    draw_line(ax, points, s.style, **look, zorder=3, label=label, markevery=(int(shift * every), every))
    draw_band(ax, points, s.style.colour, step="post")


def _draw_path(ax: Any, s: Series, scale: float) -> None:
    """Draws a line with its first point hollow and its last filled."""
    size = MARKER_SIZES.get(s.style.marker, 5) * scale * 1.3
    draw_line(ax, s.points, s.style, linewidth=1.2 * scale, marker=".", markersize=3 * scale, markeredgewidth=0, alpha=0.8)
    for point, face, label in ((s.points[0], "white", None), (s.points[-1], s.style.colour, s.name if line_of(s) else None)):
        look = {"markerfacecolor": face, "markeredgecolor": s.style.colour, "markeredgewidth": 1.1 * scale, "markersize": size}
        draw_line(ax, [point], s.style, linewidth=1.2 * scale, label=label, zorder=3, **look)


def _draw_level(ax: Any, s: Series, number: int) -> None:
    """Draws the level that a fit tends to as a bracket. Brackets of several lines stand side by side."""
    (p,) = s.points
    assert p.low is not None and p.high is not None
    look = {"color": s.style.colour, "linewidth": 1.6, "capsize": 3, "marker": "_", "zorder": 2.5}
    ax.errorbar([p.x * (1 + 0.015 * number)], [p.y], [[p.y - p.low], [p.high - p.y]], **look)


def draw_line(ax: Any, points: Sequence[PlotPoint], style: Style, **look: Any) -> None:
    # White edges keep markers visible where lines cross. Markers without a face have no edge.
    edge = (
        {"markeredgecolor": "white", "markeredgewidth": min(0.6, 0.12 * look.get("markersize", 5))}
        if style.marker not in "x+1234"
        else {}
    )
    look = {"color": style.colour, "linestyle": style.dash, "marker": style.marker, **edge} | look
    ax.plot([p.x for p in points], [p.y for p in points], **look)


def draw_band(ax: Any, points: Sequence[PlotPoint], colour: str, alpha: float = 0.13, step: Any = None) -> None:
    if any(p.low is not None for p in points):
        low = [math.nan if p.low is None else p.low for p in points]
        high = [math.nan if p.high is None else p.high for p in points]
        ax.fill_between([p.x for p in points], low, high, color=colour, alpha=alpha, linewidth=0, step=step)


def draw_stretches(ax: Any, stretches: Sequence[Stretch], colour: str, scale: float = 1.0) -> None:
    """Draws ranges: a bar at one x, a box over a part of the axis. A box is dashed where the values lie somewhere in it."""
    from matplotlib.patches import Rectangle

    for s in stretches:
        if s.x_low == s.x_high:
            middle, half = (s.y_low + s.y_high) / 2, (s.y_high - s.y_low) / 2
            ax.errorbar([s.x_low], [middle], [half], color=colour, linewidth=1.4 * scale, capsize=3 * scale, zorder=3)
            continue
        dash = "-" if s.is_throughout else (0, (3, 2))
        corner, size = (s.x_low, s.y_low), (s.x_high - s.x_low, s.y_high - s.y_low)
        ax.add_patch(
            Rectangle(corner, *size, facecolor=colour, alpha=0.12 if s.is_throughout else 0.05, linewidth=0, zorder=1.8)
        )
        ax.add_patch(Rectangle(corner, *size, fill=False, edgecolor=colour, linestyle=dash, linewidth=0.9 * scale, zorder=2.2))
        ax.update_datalim([corner, (s.x_high, s.y_high)])


def draw_guides(ax: Any, points: Sequence[PlotPoint], stretches: Sequence[Stretch], colour: str) -> None:
    """Leads the eye through a range that lies between two points, from the one to the other."""
    for before, gap, after in zip(points, points[1:], points[2:], strict=False):
        ranges = [t for t in stretches if before.x <= t.x_low < t.x_high <= after.x]
        if not math.isnan(gap.y) or not ranges or math.isnan(before.y + after.y):
            continue
        inset = 0.15 * (ranges[0].x_high - ranges[0].x_low)
        path = [(before.x, before.y)]
        for t in sorted(ranges, key=lambda t: t.x_low):
            low, high = t.x_low + inset * (t.x_low == before.x), t.x_high - inset * (t.x_high == after.x)
            path += [(x, (t.y_low + t.y_high) / 2) for x in (low, high)]
        ax.plot(*zip(*path, (after.x, after.y), strict=True), color=colour, linestyle=":", linewidth=1.2, zorder=2.1)


def finish_panel(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    ax.set(xlabel=figure.x, ylabel=figure.y)
    set_title(ax, figure, panel, 0.3, sheet)
    if figure.is_share and figure.y_scale == "linear":
        ax.set_ylim(0, 1.02)
    abbreviate_numbers(ax.xaxis, max((p.x for s in figure.series for p in s.points), default=0))
    scale_axes(ax, figure)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
