"""Figures as matplotlib draws them: SVG, PDF and PNG from the specification in `charts.py`.

Vector files stay small enough for a paper: long lines are thinned to what can be seen (the CSV has every point), markers are
spaced out, and a map of very many cells becomes an image.
"""

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from passus.figures.series import OWN_TOTAL
from passus.figures.spec import Figure, Mark, Point, Series, Style, line_of
from passus.figures.styles import ACCURACY, TOKENS, shade

LEGEND_INSIDE = 5
"""More lines than this, and their names stand at their ends, or in a legend below: inside, it would hide them."""
LABEL = 30
"""Characters of a name on one line, where it stands beside its own; longer names are broken."""
MARKED, LONG = 60, 200
"""A line of more points than this has markers here and there only; a longer one is thinner too."""
MARKERS, VERTICES, CELLS = 700, 9000, 2200
"""Most in one figure; a vector file of more would be too large to share."""
LEVELS = 48
"""Shades of a heatmap."""
SIZES = {"*": 9, "P": 6.5, "X": 6}
QUIET, MISSING = "#555555", "#e4e4e4"
LETTER = 0.0079
"""Inches that a character takes, on average, per point of type size."""


@dataclass(frozen=True)
class Sheet:
    """What a figure is drawn on, in inches and points."""

    type: float
    small: float
    """Of notes and of what stands at lines."""
    width: float | None
    """None: as wide as the panels need."""
    dpi: int


PAGE, COLUMN = Sheet(9, 7, None, 150), Sheet(7.5, 7, 3.3, 300)


def save(figure: Figure, paths: Sequence[Path], column: bool = False) -> None:
    with drawn(figure, column) as canvas:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Beside the target first: whoever watches the figure never sees half of one.
            temporary = path.with_name(f".{path.stem}.tmp{path.suffix}")
            if path.suffix == ".svg":
                temporary.write_text(_as_svg(canvas), encoding="utf-8")
            else:
                dpi = (COLUMN if column else PAGE).dpi
                canvas.savefig(temporary, dpi=dpi, metadata={"CreationDate": None} if path.suffix == ".pdf" else None)
            temporary.replace(path)


def svg(figure: Figure) -> str:
    with drawn(figure) as canvas:
        return _as_svg(canvas, transparent=True)


def _as_svg(canvas: Any, transparent: bool = False) -> str:
    """Without a date, so that the same figure is the same file. Hundredths of a point are enough."""
    text = StringIO()
    canvas.savefig(text, format="svg", dpi=PAGE.dpi, transparent=transparent, metadata={"Date": None})
    return re.sub("<[^>]*>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", tag[0]), text.getvalue())


@contextmanager
def drawn(figure: Figure, column: bool = False) -> Iterator[Any]:
    """matplotlib's figure, within the settings that it must be saved under too."""
    import matplotlib

    sheet = COLUMN if column else PAGE
    settings = {
        "font.size": sheet.type, "svg.fonttype": "none", "svg.hashsalt": "passus", "pdf.fonttype": 42,
        "text.parse_math": False,
        "font.sans-serif": ["DejaVu Sans", "Verdana"],  # an SVG repeats them at every word
        "axes.titlesize": sheet.type + (0 if column else 1), "legend.fontsize": sheet.type - (0.5 if column else 1),
        "lines.scale_dashes": True,
    }  # fmt: skip
    kinds = {"curves": _curves, "grid": _grid, "heatmap": _heatmap, "solved": _solved}
    with matplotlib.rc_context(settings):
        yield kinds[figure.kind](figure, sheet)


def _curves(figure: Figure, sheet: Sheet) -> Any:
    panels = figure.panels
    named = list(dict.fromkeys(s.name for s in figure.series if not s.faint and line_of(s)))
    longest = max(map(len, named), default=0)
    ends = len(panels) == 1 and len(named) > LEGEND_INSIDE and _labels_fit(named, sheet) and _end_together(figure.series)
    crowded = len(named) > LEGEND_INSIDE or (len(named) > 1 and (len(panels) > 1 or sheet.width is not None))
    below = crowded and not ends
    columns = _columns(len(panels), 3, sheet)
    width = sheet.width or 1.5 + 4.8 * columns + (LETTER * sheet.small * min(longest, LABEL) - 0.5 if ends else 0)
    across = max(1, int(width / (0.6 + LETTER * (sheet.type - 1) * longest)))
    rows = -(-len(panels) // columns)
    height = _height(rows, columns, 3.1, sheet) + (0.19 * -(-len(named) // across) if below else 0)
    canvas, axes = _sheet(figure, width, height, rows, columns)
    for ax, panel in zip(axes, panels, strict=False):
        _panel(ax, figure, panel, sheet)
        if named and not below and not ends:
            ax.legend(frameon=False)
    _outer_labels(axes, columns, sheet)
    _below(canvas, axes, figure.note, min(across, len(named)) if below else 0, sheet)
    if ends or figure.marks:
        canvas.draw_without_rendering()  # places stand only once the layout is made
    for ax, panel in zip(axes, panels, strict=False):
        if ends:
            _label_ends(ax, [s for s in figure.series if s.panel == panel and not s.faint], sheet)
        _mark(ax, figure, panel, sheet)
    return canvas


def _labels_fit(names: list[str], sheet: Sheet) -> bool:
    """Whether names can stand at the ends of lines: not too many, not too long."""
    high = _label_height(names, sheet) * len(names) <= 0.7 * _height(1, 1, 3.1, sheet)
    return high and (sheet.width is None or max(map(len, names)) * LETTER * sheet.small <= 0.3 * sheet.width)


def _label_height(names: list[str], sheet: Sheet) -> float:
    return max(len(textwrap.wrap(name, LABEL)) for name in names) * sheet.small * 1.25 / 72


def _columns(panels: int, most: int, sheet: Sheet) -> int:
    return min(most, panels) if sheet.width is None else 1 if panels <= 5 else 2


def _height(rows: int, columns: int, panel: float, sheet: Sheet) -> float:
    if sheet.width is None:
        return 0.7 + panel * rows
    return 0.5 + rows * (min(panel, 1.9) if columns == 1 else min(panel, 1.35))


def _sheet(figure: Figure, width: float, height: float, rows: int, columns: int) -> tuple[Any, list[Any]]:
    """An empty figure; its panels by rows, of which the last may stay unseen."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width, height), layout="constrained")
    axes = list(canvas.subplots(rows, columns, squeeze=False).flat)
    for ax in axes[len(figure.panels) :]:
        ax.set_visible(False)
    if figure.title:
        canvas.suptitle(_wrapped(figure.title, width, 11))
    return canvas, axes


def _wrapped(text: str, inches: float, size: float) -> str:
    letters = max(12, int(inches / (0.92 * LETTER * size)))
    return "\n".join(textwrap.fill(line, letters) for line in text.splitlines())


def _below(canvas: Any, axes: list[Any], note: str, across: int, sheet: Sheet) -> None:
    """The note, and the legend under it if it has no room inside; `across` is its columns, 0 for none."""
    note = _wrapped(note, canvas.get_figwidth(), sheet.small)
    if not across:
        canvas.supxlabel(note, fontsize=sheet.small, color=QUIET)
        return
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    # As the legend's title: layout would put a label of the figure's on top of it.
    legend = canvas.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=across, frameon=False,
        title=note or None, title_fontproperties={"size": sheet.small},
    )  # fmt: skip
    legend.get_title().set(color=QUIET, multialignment="center")


def _outer_labels(axes: list[Any], columns: int, sheet: Sheet) -> None:
    """On a narrow sheet, axes are named once a row and column."""
    shown = [ax for ax in axes if ax.get_visible()]
    for i, ax in enumerate(shown):
        if sheet.width is not None and i + columns < len(shown):
            ax.set_xlabel("")
        if sheet.width is not None and i % columns:
            ax.set_ylabel("")


def _panel(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    most = _most_points(figure.series)
    for s in (s for s in figure.series if s.panel == panel):
        points = thinned(s.points, most)
        if s.faint:
            _line(ax, points, s.style, linewidth=0.7, alpha=0.45, marker=None)  # no more than a trace
        elif s.reference:
            look: dict[str, Any] = {"markersize": 4, "markevery": _every(figure, points)}
            _line(ax, points, s.style, linewidth=1.2, zorder=1.5, label=_label(s), **look)
        else:
            scale = 1 if sheet.width is None else 0.75
            width = (2.2 if s.seeds else 1.4 if len(points) <= LONG else 0.9) * scale
            look = {"markersize": SIZES.get(s.style.marker, 5) * scale, "markevery": _every(figure, points)}
            _line(ax, points, s.style, linewidth=width, zorder=3, label=_label(s), **look)
            _band(ax, points, [p.low for p in points], [p.high for p in points], s.style.colour)
    _finish(ax, figure, panel, sheet)


def _label(s: Series) -> str | None:
    return s.name if line_of(s) else None


def _line(ax: Any, points: Sequence[Point], style: Style, **look: Any) -> None:
    # White edges: where lines cross, the markers can still be told. Markers without a face have no edge to give away.
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.6} if style.marker not in "x+1234" else {}
    look = {"color": style.colour, "linestyle": style.dash, "marker": style.marker, **edge} | look
    ax.plot([p.x for p in points], [p.y for p in points], **look)


def _band(ax: Any, points: Sequence[Point], lows: Sequence, highs: Sequence, colour: str, alpha: float = 0.13) -> None:
    if any(low is not None for low in lows):
        low, high = ([math.nan if v is None else v for v in values] for values in (lows, highs))
        ax.fill_between([p.x for p in points], low, high, color=colour, alpha=alpha, linewidth=0)


def _finish(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    ax.set(xlabel=figure.x, ylabel=figure.y)
    weight = "bold" if figure.kind != "curves" and OWN_TOTAL.match(panel) else "normal"
    columns = ax.get_subplotspec().get_gridspec().ncols
    ax.set_title(_wrapped(panel, ax.figure.get_figwidth() / columns - 0.3, sheet.type + 1), fontweight=weight)
    if figure.y == "Accuracy":
        ax.set_ylim(0, 1.02)
    _short_numbers(ax.xaxis, max((p.x for s in figure.series for p in s.points), default=0))
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def _short_numbers(axis: Any, largest: float) -> None:
    """Thousands as 10k, millions as 2M, where there are many."""
    unit, letter = (1e6, "M") if largest >= 2e6 else (1e3, "k")
    if largest >= 10_000:
        axis.set_major_formatter(lambda value, _: f"{value / unit:g}{letter}" if value else "0")


def _most_points(series: Sequence[Series]) -> int:
    """That a line may have, so that all of them together stay a small file. A band has two more."""
    weight = sum(3 if any(p.low is not None for p in s.points) and not s.faint else 1 for s in series)
    return max(50, VERTICES // max(1, weight))


def thinned(points: list[Point], most: int) -> list[Point]:
    """The highest and lowest of each stretch, and its gap: no spike is lost. The first and the last point stay."""
    if len(points) <= most:
        return points
    stretches = max(1, (most - 2) // 3)
    keep = {0, len(points) - 1}
    for n in range(stretches):
        part = range(len(points) * n // stretches, len(points) * (n + 1) // stretches)
        gaps = [i for i in part if math.isnan(points[i].y)]
        values = [i for i in part if not math.isnan(points[i].y)]
        keep |= {*gaps[:1], *sorted(values, key=lambda i: points[i].y)[:: max(1, len(values) - 1)]}
    return [points[i] for i in sorted(keep)]


def _every(figure: Figure, points: Sequence[Point]) -> int:
    """A marker at every how many points."""
    shown = sum(len(s.points) for s in figure.series if not s.faint and len(s.points) <= MARKED) * (2 if figure.y2 else 1)
    return max(1, len(points) // 10) if len(points) > MARKED else max(1, -(-shown // MARKERS))


def _end_together(series: Sequence[Series]) -> bool:
    """Whether all lines come near the right: names far from their lines' ends need long leaders, which look like data."""
    spans = [(s.points[0].x, s.points[-1].x) for s in series if not s.faint and s.points]
    first, last = min(x for x, _ in spans), max(x for _, x in spans)
    return all(x >= last - 0.1 * (last - first) for _, x in spans)


def _label_ends(ax: Any, series: list[Series], sheet: Sheet) -> None:
    """Names at the right, in their lines' colours, moved apart until none overlaps another."""
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
        ax.plot(
            *([value] for value in knob), s.style.marker, color=colour, markersize=0.8 * SIZES.get(s.style.marker, 5), **beside
        )
        name = textwrap.fill(s.name, LABEL)
        ax.text(1 + 0.28 * inch, place, name, fontsize=sheet.small, color=_ink(colour), va="center", **beside)
    ax.set_xlim(right=right)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places at least a gap apart, in the order and as near as can be to those wanted (least squares), within bounds."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[list[float]] = []  # sum and number of (wanted - n * gap) that share one value
    for n, i in enumerate(order):
        blocks.append([wanted[i] - n * gap, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + count]
    level = [total / count for total, count in blocks for _ in range(int(count))]
    top = max(low, high - gap * (len(wanted) - 1))
    places = {i: min(max(level[n], low), top) + n * gap for n, i in enumerate(order)}
    return [places[i] for i in range(len(wanted))]


def _ink(colour: str) -> str:
    """The colour, dark enough for thin letters on paper."""
    channels = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    light = sum(weight * (c / 255) ** 2.2 for weight, c in zip((0.21, 0.72, 0.07), channels, strict=True))
    factor = min(1.0, (0.22 / light) ** (1 / 2.2)) if light else 1.0
    return "#" + "".join(f"{round(c * factor):02x}" for c in channels)


def _mark(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    """What happened, as thin lines with a word at their tops; words move apart."""
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
        ax.annotate(
            mark.text, (place, 0.985), xycoords="axes fraction", rotation=90, ha="center", va="top", fontsize=size,
            color=_ink(colour), zorder=5, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
        )  # fmt: skip


def _mark_colour(figure: Figure, mark: Mark) -> str:
    return next((s.style.colour for s in figure.series if mark.series and mark.series in (s.name, s.line)), QUIET)


def _grid(figure: Figure, sheet: Sheet) -> Any:
    panels = figure.panels
    columns = _columns(len(panels), 2 if len(panels) == 4 else 3 if len(panels) <= 9 else 4, sheet)
    rows = -(-len(panels) // columns)
    width = sheet.width or max(5.6, 0.9 + 2.9 * columns)
    canvas, axes = _sheet(figure, width, _height(rows, columns, 2.1, sheet) + 0.3, rows, columns)
    for i, (ax, s) in enumerate(zip(axes, figure.series, strict=False)):
        right = _two_axes(ax, figure, s, sheet)
        if i % columns or sheet.width:  # on a narrow sheet the legend names the axes
            ax.set_ylabel("")
        if i + columns < len(panels):
            ax.set_xlabel("")
        if right and (((i + 1) % columns and i + 1 < len(panels)) or sheet.width):
            right.set_ylabel("")
    _below(canvas, canvas.axes, figure.note, 2 if figure.y2 else 1, sheet)
    if figure.marks:
        canvas.draw_without_rendering()
        for ax, panel in zip(axes, panels, strict=False):
            _mark(ax, figure, panel, sheet)
    return canvas


def _two_axes(ax: Any, figure: Figure, s: Series, sheet: Sheet) -> Any:
    """Accuracy on the left, from 0 to 1 in all panels; length, or a score, on the right, from 0 (or below) to what it needs."""
    points = thinned(s.points, _most_points(figure.series) // 2)
    wide = sheet.width is None
    small = {"markersize": 3.6 if wide else 2.6, "linewidth": 1.2 if wide else 0.9, "markevery": _every(figure, points)}
    small |= {"markeredgewidth": 0.5 if wide else 0.3}
    _band(ax, points, [p.low for p in points], [p.high for p in points], ACCURACY.colour)
    _line(ax, points, ACCURACY, **small, zorder=3, label=f"{figure.y} (left)")
    _finish(ax, figure, s.panel, sheet)
    ax.tick_params(axis="y", colors=_ink(ACCURACY.colour))
    ax.yaxis.label.set_color(_ink(ACCURACY.colour))
    if not any(p.tokens is not None for p in points):
        return None
    right = ax.twinx()
    lengths = [Point(p.x, math.nan if p.tokens is None else p.tokens, p.tokens, p.tokens_p95) for p in points]
    if any(p.high is not None for p in lengths):
        _band(right, lengths, [p.low for p in lengths], [p.high for p in lengths], TOKENS.colour, 0.12)
    _line(right, lengths, TOKENS, **small, label=f"{figure.y2} (right)")
    values = [value for p in lengths for value in (p.y, p.high) if value is not None and not math.isnan(value)]
    top, bottom = max(values), min(0.0, *values)
    room = 0.08 * (top - bottom) or 0.1  # all one value, where nothing was learned yet
    right.set_ylim(bottom - (room if bottom < 0 else 0), (top + room) or 1)
    right.set_ylabel(figure.y2, color=_ink(TOKENS.colour))
    right.tick_params(axis="y", colors=_ink(TOKENS.colour))
    _short_numbers(right.yaxis, top)
    right.spines[["top", "left"]].set_visible(False)
    ax.set_zorder(right.get_zorder() + 1)  # accuracy in front, and what is behind it visible
    ax.patch.set_visible(False)
    return right


def _heatmap(figure: Figure, sheet: Sheet) -> Any:
    panels = figure.panels
    longest = max(len([s for s in figure.series if s.panel == panel]) for panel in panels)
    columns = _columns(len(panels), 2 if len(panels) == 4 else 3, sheet)
    rows = -(-len(panels) // columns)
    names = LETTER * sheet.type * max(len(s.name) for s in figure.series)
    width = sheet.width or max(6.3, 1.2 + min(names, 3) + 3.4 * columns)
    panel_height = min(3.6, 0.75 + 0.24 * longest) if sheet.width is None else min(2.4, 0.4 + 0.18 * longest)
    canvas, axes = _sheet(figure, width, 0.8 + rows * panel_height, rows, columns)
    scale = _scale([p.y for s in figure.series for p in s.points], figure.y == "Accuracy")
    for i, (ax, panel) in enumerate(zip(axes, panels, strict=False)):
        _cells(ax, figure, panel, scale, sheet)
        if i % columns:
            ax.set_yticks([])
        if i + columns < len(panels):
            ax.set_xlabel("")
    _colour_bar(canvas, axes[: len(panels)], scale, figure.y, sheet)
    _below(canvas, axes, figure.note, 0, sheet)
    canvas.draw_without_rendering()
    for ax, panel in zip(axes, panels, strict=False):
        _numbers(ax, [s for s in figure.series if s.panel == panel], scale, sheet)
    return canvas


def _solved(figure: Figure, sheet: Sheet) -> Any:
    panels = figure.panels
    evals = max(len(s.points) for s in figure.series)
    columns = _columns(len(panels), 3, sheet)
    rows = -(-len(panels) // columns)
    width = sheet.width or max(6.3, 1.6 + columns * min(max(3.6, 0.42 * evals), 9))
    canvas, axes = _sheet(figure, width, 0.6 + rows * (4.4 if sheet.width is None else 2.8), rows, columns)
    for ax, panel in zip(axes, panels, strict=False):
        _cells(ax, figure, panel, (0.0, 1.0), sheet)
        series = [s for s in figure.series if s.panel == panel]
        if len(series) > 30:
            ax.set_yticks([])
        ax.set_ylabel(f"{len(series)} items,\nthe first solved on top")
    _colour_bar(canvas, axes[: len(panels)], (0.0, 1.0), figure.y, sheet)
    _below(canvas, axes, figure.note, 0, sheet)
    canvas.draw_without_rendering()
    for ax, panel in zip(axes, panels, strict=False):
        _count_changes(ax, figure, panel, sheet)
    return canvas


def _count_changes(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    """Under each eval, items newly solved and forgotten; not under all, where they would overlap."""
    at = {change.x: f"\n+{change.gained}\n\N{MINUS SIGN}{change.lost}" for change in figure.changes if change.panel == panel}
    xs = [p.x for p in next(s for s in figure.series if s.panel == panel).points]
    room = ax.get_window_extent().width / ax.figure.dpi / len(xs)
    texts = [f"{x:.4g}" + at.get(x, "\n") for x in xs]
    letters = max(len(line) for text in texts for line in text.splitlines()) + 1
    every = max(1, math.ceil(LETTER * sheet.small * letters / room))
    ax.set_xticks(xs[::every], texts[::every], fontsize=sheet.small)


def _scale(values: Sequence[float], share: bool) -> tuple[float, float]:
    """One for all panels, so that they can be compared; of shares, in steps of 0.05."""
    real = [value for value in values if not math.isnan(value)] or [0.0]
    low, high = (math.floor(min(real) * 20) / 20, math.ceil(max(real) * 20) / 20) if share else (min(real), max(real))
    return (low, high) if high > low else (low, low + 0.05)


def _colour_bar(canvas: Any, axes: list[Any], scale: tuple[float, float], label: str, sheet: Sheet) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    shades = ListedColormap([shade(i / (LEVELS - 1)) for i in range(LEVELS)])
    values = ScalarMappable(Normalize(*scale), shades)
    side = "right" if sheet.width is None else "bottom"
    bar = canvas.colorbar(
        values, ax=axes, label=label, pad=0.015, fraction=0.04, aspect=25 if side == "right" else 40, location=side
    )
    bar.outline.set_visible(False)


def _cells(ax: Any, figure: Figure, panel: str, scale: tuple[float, float], sheet: Sheet) -> None:
    """A row a series, a cell an eval, as wide as it stands for; gray where there is no value."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    series = [s for s in figure.series if s.panel == panel]
    few = sum(len(s.points) for s in series) <= 400 and figure.kind == "heatmap"
    boxes: dict[int, list[tuple[float, float, float, float]]] = {}
    for row, s in enumerate(series):
        for (left, right), p in zip(_spans([p.x for p in s.points]), s.points, strict=True):
            if not math.isnan(p.y):
                level = round(_share(p.y, scale) * (LEVELS - 1))
                boxes.setdefault(level, []).append((left, right, row - 0.5, row + 0.5))
    image = sum(len(s.points) for s in figure.series) > CELLS
    for level, found in boxes.items():
        # One outline a shade, not one a cell: a third of the file.
        corners = [((a, c), (b, c), (b, d), (a, d), (a, c)) for a, b, c, d in found]
        codes = [Outline.MOVETO, *[Outline.LINETO] * 3, Outline.CLOSEPOLY] * len(corners)
        edge = {"edgecolor": "white", "linewidth": 0.8} if few else {"edgecolor": "none", "linewidth": 0, "antialiased": False}
        colour = shade(level / (LEVELS - 1))
        outline = Outline([corner for box in corners for corner in box], codes)
        ax.add_patch(PathPatch(outline, facecolor=colour, rasterized=image, **edge))
    ends = [edge for s in series for span in _spans([p.x for p in s.points]) for edge in span]
    ax.set(xlim=(min(ends), max(ends)), ylim=(len(series) - 0.5, -0.5), facecolor=MISSING)
    ax.set_yticks(range(len(series)), [s.name for s in series])
    _finish_map(ax, figure, panel, sheet)


def _finish_map(ax: Any, figure: Figure, panel: str, sheet: Sheet) -> None:
    columns = ax.get_subplotspec().get_gridspec().ncols
    weight = "bold" if OWN_TOTAL.match(panel) else "normal"
    ax.set_title(_wrapped(panel, ax.figure.get_figwidth() / columns - 1, sheet.type + 1), fontweight=weight)
    ax.set_xlabel(figure.x)
    ax.tick_params(length=2)
    ax.tick_params(axis="y", length=0)
    _short_numbers(ax.xaxis, max(abs(x) for x in ax.get_xlim()))
    ax.spines[:].set_visible(False)


def _share(value: float, scale: tuple[float, float]) -> float:
    return min(max((value - scale[0]) / (scale[1] - scale[0]), 0.0), 1.0)


def _spans(xs: Sequence[float]) -> list[tuple[float, float]]:
    """Each x with its surroundings, half-way to its neighbours; not into a gap, where an eval is missing."""
    if len(xs) == 1:
        return [(xs[0] - 0.5, xs[0] + 0.5)]
    gaps = [b - a for a, b in pairwise(xs)]
    usual = sorted(gaps)[len(gaps) // 2]
    reach = [(gap if gap < 1.5 * usual else usual) / 2 for gap in gaps]
    return [(x - left, x + right) for x, left, right in zip(xs, [reach[0], *reach], [*reach, reach[-1]], strict=True)]


def _numbers(ax: Any, series: list[Series], scale: tuple[float, float], sheet: Sheet) -> None:
    """In the cells, where all of them have room."""
    texts = [f"{p.y:.2f}".lstrip("0") if abs(p.y) < 1 else f"{p.y:.3g}" for s in series for p in s.points]
    box = ax.get_window_extent()
    size = sheet.small - 0.5
    left, right = ax.get_xlim()
    narrowest = min(b - a for s in series for a, b in _spans([p.x for p in s.points])) / (right - left)
    room = narrowest * box.width / ax.figure.dpi
    if room < LETTER * size * (max(map(len, texts)) + 0.7) or box.height / ax.figure.dpi / len(series) < size * 1.2 / 72:
        return
    cells = [(p, row) for row, s in enumerate(series) for p in s.points]
    for (p, row), text in zip(cells, texts, strict=True):
        if not math.isnan(p.y):
            ax.text(
                p.x, row, text, ha="center", va="center", fontsize=size, color="white" if _share(p.y, scale) > 0.5 else "black"
            )
