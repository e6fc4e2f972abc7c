"""Names at the ends of lines, and marks of events, moved apart until none overlaps another."""

import math
import textwrap
from typing import Any

from passus.figures.matplotlib_layout import LETTER, QUIET, Sheet, figure_height
from passus.figures.placement import ink, spread
from passus.figures.spec import Figure, Mark, Series

LABEL = 30
"""Characters per line of a name that stands beside its line."""
MARKER_SIZES = {"*": 9, "P": 6.5, "X": 6}


def labels_fit(names: list[str], sheet: Sheet) -> bool:
    """Returns whether names can stand at the ends of lines: not too many, not too long."""
    fit_height = _label_height(names, sheet) * len(names) <= 0.7 * figure_height(1, 1, 3.1, sheet)
    return fit_height and (sheet.width is None or max(map(len, names)) * LETTER * sheet.small <= 0.3 * sheet.width)


def _label_height(names: list[str], sheet: Sheet) -> float:
    return max(len(textwrap.wrap(name, LABEL)) for name in names) * sheet.small * 1.25 / 72


def label_ends(ax: Any, series: list[Series], sheet: Sheet) -> None:
    """Writes names to the right in the colours of their lines, moved apart until none overlaps another.

    A leader runs level from the end of its line to the edge of the panel, and from there to its name. Names are in the order of
    the ends, so no two leaders cross.
    """
    ends = [(s, last) for s in series if (last := next((p for p in reversed(s.points) if not math.isnan(p.y)), None))]
    to_axes = ax.transData + ax.transAxes.inverted()
    wanted = [float(to_axes.transform((p.x, p.y))[1]) for _, p in ends]
    box = ax.get_window_extent()
    inch, right = ax.figure.dpi / box.width, ax.get_xlim()[1]
    places = spread(wanted, _label_height([s.name for s, _ in ends], sheet) * ax.figure.dpi / box.height, 0, 1)
    for (s, p), place in zip(ends, places, strict=True):
        knob, colour = (1 + 0.2 * inch, place), s.style.colour
        beside = {"transform": ax.transAxes, "clip_on": False}
        start, level = to_axes.transform((p.x, p.y))
        ax.plot([start, 1, knob[0]], [level, level, place], color=colour, linewidth=0.6, alpha=0.8, zorder=2.5, **beside)
        size = 0.8 * MARKER_SIZES.get(s.style.marker, 5)
        ax.plot(*([value] for value in knob), s.style.marker, color=colour, markersize=size, **beside)
        name = textwrap.fill(s.name, LABEL)
        ax.text(1 + 0.28 * inch, place, name, fontsize=sheet.small, color=ink(colour), va="center", **beside)
    ax.set_xlim(right=right)


def draw_marks(ax: Any, figure: Figure, panel: str, sheet: Sheet, with_text: bool = True) -> None:
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
        if not with_text or not mark.text:
            continue
        ax.annotate(
            mark.text, (place, 0.985), xycoords="axes fraction", rotation=90, ha="center", va="top", fontsize=size,
            color=ink(colour), zorder=5, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
        )  # fmt: skip


def _mark_colour(figure: Figure, mark: Mark) -> str:
    return next((s.style.colour for s in figure.series if mark.series and mark.series in (s.name, s.line, s.curve)), QUIET)
