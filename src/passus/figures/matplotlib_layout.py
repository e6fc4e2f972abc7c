"""Layout of figures in matplotlib: the sheet, the places of panels, titles, axes, notes and legends."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from passus.errors import UsageError
from passus.figures.spec import Figure
from passus.figures.totals import TOTAL_PANEL

QUIET = "#555555"
"""Colour of notes."""
LETTER = 0.0079
"""Average width of a character in inches, per point of type size."""
LEGEND_LETTERS = 24
"""Characters per line of a name in the legend of a column."""
NARROW = 4.5
"""Inches below which a sheet has the lines and markers of a column."""
MAX_INCHES, FONTS = 40.0, (4.0, 30.0)
MAX_BENCHMARK_COLUMNS = 5
"""With more benchmarks than this, temperatures are the columns."""


@dataclass(frozen=True)
class Sheet:
    """The paper of a figure, in inches and points."""

    type: float
    small: float
    """Type size of notes and of labels beside lines."""
    width: float | None
    """None: as wide as the panels need."""
    dpi: int
    height: float | None = None

    @property
    def narrow(self) -> bool:
        return self.width is not None and self.width < NARROW


PAGE, COLUMN = Sheet(9, 7, None, 150), Sheet(7.5, 7, 3.3, 300)


def sheet_of(column: bool, size: tuple[float, float] | None = None, font: float | None = None) -> Sheet:
    """Returns the sheet for a page or a column, with another size in inches or type size in points where given."""
    sheet = COLUMN if column else PAGE
    if size is not None:
        if not all(1 <= inches <= MAX_INCHES for inches in size):
            raise UsageError(
                f"--size {size[0]:g} {size[1]:g}", expected=f"width and height in inches, from 1 to {MAX_INCHES:g}"
            )
        sheet = replace(sheet, width=size[0], height=size[1], dpi=COLUMN.dpi if size[0] < NARROW else PAGE.dpi)
    if font is not None:
        if not FONTS[0] <= font <= FONTS[1]:
            raise UsageError(f"--font {font:g}", expected=f"points, from {FONTS[0]:g} to {FONTS[1]:g}")
        sheet = replace(sheet, type=font, small=font * sheet.small / sheet.type)
    return sheet


@dataclass(frozen=True)
class Tiling:
    """The places of panels in rows and columns."""

    rows: int
    columns: int
    places: list[tuple[int, int]]
    """Row and column of each panel."""
    by_temperature: bool = False
    """Whether rows and columns are temperatures and benchmarks."""

    def is_lowest(self, n: int) -> bool:
        """Returns whether there is no panel below panel n."""
        row, column = self.places[n]
        return not any(other > row and c == column for other, c in self.places)


def tiling(figure: Figure, most_columns: int, sheet: Sheet) -> Tiling:
    """Places benchmarks in columns and temperatures in rows where there are several of both, else panels one after another."""
    panels, temperatures = figure.panels, _temperatures(figure)
    benchmarks = list(dict.fromkeys(_benchmark(panel) for panel in panels))
    if len(temperatures) > 1 and len(benchmarks) > 1:
        rows_of = {panel: next(s.temperature for s in figure.series if s.panel == panel) for panel in panels}
        places = [(temperatures.index(rows_of[panel]), benchmarks.index(_benchmark(panel))) for panel in panels]
        if sheet.narrow or len(benchmarks) > MAX_BENCHMARK_COLUMNS:
            return Tiling(len(benchmarks), len(temperatures), [(c, r) for r, c in places], True)
        return Tiling(len(temperatures), len(benchmarks), places, True)
    columns = panel_columns(len(panels), most_columns, sheet)
    return Tiling(-(-len(panels) // columns), columns, [divmod(n, columns) for n in range(len(panels))])


def _temperatures(figure: Figure) -> list[float | None]:
    return sorted({s.temperature for s in figure.series}, key=lambda t: -1.0 if t is None else t)


def _benchmark(panel: str) -> str:
    return panel.rpartition(", temperature ")[0] or panel


def panel_columns(panels: int, most: int, sheet: Sheet) -> int:
    if sheet.width is None:
        return min(most, panels)
    return (1 if panels <= 5 else 2) if sheet.narrow else min(most, panels, max(1, int(sheet.width / 2.1)))


def figure_height(rows: int, columns: int, panel: float, sheet: Sheet) -> float:
    if sheet.height is not None:
        return sheet.height
    if not sheet.narrow:
        return 0.7 + panel * rows
    return 0.5 + rows * (min(panel, 1.9) if columns == 1 else min(panel, 1.35))


def note_height(figure: Figure, width: float, sheet: Sheet) -> float:
    """Returns the inches that a long note needs beyond the room of two lines, so that it does not squeeze the panels."""
    if sheet.height is not None:
        return 0.0
    lines = wrapped(figure.note, width, sheet.small).count("\n") + 1
    return max(0, lines - 2) * sheet.small * 1.35 / 72


def empty_canvas(figure: Figure, width: float, height: float, tiles: Tiling) -> tuple[Any, list[Any]]:
    """Returns an empty matplotlib figure and the axes of its panels, in their order."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width, height), layout="constrained")
    table = canvas.subplots(tiles.rows, tiles.columns, squeeze=False)
    for ax in table.flat:
        ax.set_visible(False)
    axes = [table[place] for place in tiles.places]
    for ax in axes:
        ax.set_visible(True)
    if figure.title and len(figure.panels) > 1:  # one panel has one title
        canvas.suptitle(wrapped(figure.title, width, 11))
    return canvas, axes


def lay_out(canvas: Any) -> None:
    """Moves panels, titles and legends to their places, as matplotlib does whenever it draws."""
    canvas.get_layout_engine().execute(canvas)


def wrapped(text: str, inches: float, size: float) -> str:
    letters = max(12, int(inches / (0.92 * LETTER * size)))
    return "\n".join(textwrap.fill(line, letters, break_long_words=False) for line in text.splitlines())


def add_note(canvas: Any, axes: list[Any], note: str, legend_columns: int, sheet: Sheet) -> None:
    """Adds the note below the panels, and under it a legend with this number of columns; 0 for no legend."""
    note = wrapped(note, canvas.get_figwidth(), sheet.small)
    if not legend_columns:
        canvas.supxlabel(note, fontsize=sheet.small, color=QUIET)
        return
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    # The note is the legend's title: the layout would put a label of the figure on top of the legend.
    names = [textwrap.fill(name, LEGEND_LETTERS) if sheet.narrow else name for name in handles]
    legend = canvas.legend(
        handles.values(), names, loc="outside lower center", ncols=legend_columns, frameon=False,
        title=note or None, title_fontproperties={"size": sheet.small},
        **({"columnspacing": 1.0, "handlelength": 1.8, "labelspacing": 0.25, "borderpad": 0.1} if sheet.narrow else {}),
    )  # fmt: skip
    legend.get_title().set(color=QUIET, multialignment="center")


def balanced(entries: int, most_columns: int) -> int:
    """Returns the number of columns that fills the rows of a legend evenly."""
    rows = -(-entries // max(1, most_columns))
    return max(1, -(-entries // max(1, rows)))


def label_outer_axes(axes: Sequence[Any], tiles: Tiling) -> None:
    """Labels axes once: x below the lowest panel of a column, y beside the first panel of a row."""
    for n, ax in enumerate(axes):
        if not tiles.is_lowest(n):
            ax.set_xlabel("")
        if tiles.places[n][1]:
            ax.set_ylabel("")


def set_title(ax: Any, figure: Figure, panel: str, margin: float, sheet: Sheet) -> None:
    """Sets the title of a panel. A single panel has the figure's title too. Totals are bold, except in a figure of curves."""
    weight = "bold" if figure.kind in ("grid", "heatmap") and TOTAL_PANEL.match(panel) else "normal"
    columns = ax.get_subplotspec().get_gridspec().ncols
    own = "" if panel.casefold() == figure.y.casefold() else panel  # the axis has that name
    title = ": ".join(filter(None, [figure.title, own])) if len(figure.panels) == 1 else panel
    ax.set_title(wrapped(title, ax.figure.get_figwidth() / columns - margin, sheet.type + 1), fontweight=weight)


def title_rows_and_columns(axes: Sequence[Any], figure: Figure, tiles: Tiling) -> None:
    """Names benchmarks and temperatures once, above the columns and beside the rows."""
    if not tiles.by_temperature:
        return
    for ax, panel, (row, column) in zip(axes, figure.panels, tiles.places, strict=True):
        benchmark, _, temperature = panel.rpartition(", temperature ")
        narrow = tiles.rows > len({s.temperature for s in figure.series})  # benchmarks are the rows
        above, beside = (f"temperature {temperature}", benchmark) if narrow else (benchmark, f"temperature {temperature}")
        columns = ax.get_subplotspec().get_gridspec().ncols
        size = ax.title.get_fontsize()
        ax.set_title(wrapped(above, ax.figure.get_figwidth() / columns - 0.2, size) if row == 0 else "")
        if column == 0:
            tall = 0.8 * ax.figure.get_figheight() / tiles.rows
            ax.set_ylabel("\n".join(filter(None, [wrapped(beside, tall, size), wrapped(ax.get_ylabel(), tall, size)])))


def scale_axes(ax: Any, figure: Figure) -> None:
    """Sets logarithmic axes and limits."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    xs = sorted({p.x for s in figure.series for p in s.points})
    plain = FuncFormatter(lambda value, _: _short(value))
    if figure.x_scale == "log2":
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_locator(FixedLocator(xs))
        ax.xaxis.set_minor_locator(NullLocator())
    elif figure.x_scale == "symlog":
        first = min(x for x in xs if x > 0)
        ax.set_xscale("symlog", linthresh=first, linscale=0.5)
        ax.xaxis.set_major_locator(FixedLocator([0, *_log_ticks(first, xs[-1])]))
        ax.xaxis.set_minor_locator(NullLocator())
    elif figure.x_scale == "log":
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(FixedLocator(_log_ticks(xs[0], xs[-1])))
        ax.xaxis.set_minor_locator(NullLocator())
    if figure.x_scale != "linear":
        ax.xaxis.set_major_formatter(plain)
    if figure.y_scale == "log":
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(plain)
    if figure.y_limits:
        ax.set_ylim(*figure.y_limits)


def _log_ticks(first: float, last: float) -> list[float]:
    """Returns 1, 2 and 5 times powers of ten within a range; powers of ten only where these would be too many."""
    powers = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    factors = (1, 2, 5) if len(powers) <= 4 else (1,)
    return [tick for n in powers for factor in factors if first <= (tick := factor * 10.0**n) <= last]


def _short(value: float) -> str:
    unit, letter = (1e6, "M") if value >= 2e6 else (1e3, "k") if value >= 10_000 else (1, "")
    return f"{value / unit:g}{letter}"


def abbreviate_numbers(axis: Any, largest: float) -> None:
    """Writes large numbers as 10k and 2M."""
    unit, letter = (1e6, "M") if largest >= 2e6 else (1e3, "k")
    if largest >= 10_000:
        axis.set_major_formatter(lambda value, _: f"{value / unit:g}{letter}" if value else "0")
