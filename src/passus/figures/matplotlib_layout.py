"""Layout of figures in matplotlib: the sheet, its panels, titles, axes, notes and legends."""

import textwrap
from dataclasses import dataclass
from typing import Any

from passus.figures.spec import Figure
from passus.figures.totals import TOTAL_PANEL

QUIET = "#555555"
"""Colour of notes."""
LETTER = 0.0079
"""Average width of a character in inches, per point of type size."""


@dataclass(frozen=True)
class Sheet:
    """The paper of a figure, in inches and points."""

    type: float
    small: float
    """Type size of notes and of labels beside lines."""
    width: float | None
    """None: as wide as the panels need."""
    dpi: int


PAGE, COLUMN = Sheet(9, 7, None, 150), Sheet(7.5, 7, 3.3, 300)


def panel_columns(panels: int, most: int, sheet: Sheet) -> int:
    return min(most, panels) if sheet.width is None else 1 if panels <= 5 else 2


def figure_height(rows: int, columns: int, panel: float, sheet: Sheet) -> float:
    if sheet.width is None:
        return 0.7 + panel * rows
    return 0.5 + rows * (min(panel, 1.9) if columns == 1 else min(panel, 1.35))


def empty_canvas(figure: Figure, width: float, height: float, rows: int, columns: int) -> tuple[Any, list[Any]]:
    """Returns an empty matplotlib figure and its axes by rows. Axes without a panel are invisible."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width, height), layout="constrained")
    axes = list(canvas.subplots(rows, columns, squeeze=False).flat)
    for ax in axes[len(figure.panels) :]:
        ax.set_visible(False)
    if figure.title:
        canvas.suptitle(wrapped(figure.title, width, 11))
    return canvas, axes


def wrapped(text: str, inches: float, size: float) -> str:
    letters = max(12, int(inches / (0.92 * LETTER * size)))
    return "\n".join(textwrap.fill(line, letters) for line in text.splitlines())


def add_note(canvas: Any, axes: list[Any], note: str, legend_columns: int, sheet: Sheet) -> None:
    """Adds the note below the panels, and under it a legend with this number of columns; 0 for no legend."""
    note = wrapped(note, canvas.get_figwidth(), sheet.small)
    if not legend_columns:
        canvas.supxlabel(note, fontsize=sheet.small, color=QUIET)
        return
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    # The note is the legend's title: the layout would put a label of the figure on top of the legend.
    legend = canvas.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=legend_columns, frameon=False,
        title=note or None, title_fontproperties={"size": sheet.small},
    )  # fmt: skip
    legend.get_title().set(color=QUIET, multialignment="center")


def hide_inner_labels(axes: list[Any], columns: int, sheet: Sheet) -> None:
    """Labels axes once per row and column on a narrow sheet."""
    shown = [ax for ax in axes if ax.get_visible()]
    for i, ax in enumerate(shown):
        if sheet.width is not None and i + columns < len(shown):
            ax.set_xlabel("")
        if sheet.width is not None and i % columns:
            ax.set_ylabel("")


def set_title(ax: Any, figure: Figure, panel: str, margin: float, sheet: Sheet) -> None:
    """Sets the title of a panel. Totals are bold, except in a figure of curves."""
    weight = "bold" if figure.kind != "curves" and TOTAL_PANEL.match(panel) else "normal"
    columns = ax.get_subplotspec().get_gridspec().ncols
    ax.set_title(wrapped(panel, ax.figure.get_figwidth() / columns - margin, sheet.type + 1), fontweight=weight)


def abbreviate_numbers(axis: Any, largest: float) -> None:
    """Writes large numbers as 10k and 2M."""
    unit, letter = (1e6, "M") if largest >= 2e6 else (1e3, "k")
    if largest >= 10_000:
        axis.set_major_formatter(lambda value, _: f"{value / unit:g}{letter}" if value else "0")
