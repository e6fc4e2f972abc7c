"""Figures of runs as objects of matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passus.errors import UsageError, nearest
from passus.figures import export, kinds
from passus.figures.line_options import LineOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

LINE_OPTIONS = ("select", "rename", "order", "style")
OPTIONS = ("fit", "baseline", "references", *LINE_OPTIONS)


def matplotlib_figure(
    paths: Sequence[Path], kind: str, x: str | None, y: str | None, title: str | None, out: Path | None,
    options: Mapping[str, Any],
) -> "MatplotlibFigure":  # fmt: skip
    """Draws a figure of runs, and writes it where a path is given."""
    from passus.figures.matplotlib_render import drawn

    if unknown := [name for name in options if name not in OPTIONS]:
        raise UsageError(f"plot({unknown[0]}=...)", expected=", ".join(OPTIONS), write=nearest(unknown[0], OPTIONS))
    lines = LineOptions(**{name: options[name] for name in LINE_OPTIONS if name in options})
    references = [Path(path) for path in options.get("references", ())]
    figure = kinds.figure(paths, kind, x, y, title, references, bool(options.get("fit")), lines, options.get("baseline"))
    if out is not None:
        export.draw(figure, out)
    with drawn(figure) as canvas:
        made: MatplotlibFigure = canvas
    return made
