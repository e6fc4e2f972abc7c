"""`passus plot`: a figure of learning curves, or the data behind it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from passus.errors import UsageError

if TYPE_CHECKING:
    from passus.figures.spec import Figure

Kind = Literal[
    "curves", "grid", "heatmap", "solved", "readers", "rm-at-k", "profile", "reward-hacking", "signals", "difference", "path"
]
Names = Annotated[list[str] | None, Parameter(negative=())]
Switch = Annotated[bool, Parameter(negative=(), show_default=False)]


def plot(
    *sources: Path,
    out: Path,
    kind: Kind | None = None,
    x: str | None = None,
    y: str | None = None,
    title: str | None = None,
    reference: Annotated[list[Path] | None, Parameter(negative=())] = None,
    fit: Switch = False,
    diff: Annotated[str | None, Parameter(show_default=False)] = None,
    select: Names = None,
    rename: Names = None,
    order: Names = None,
    style: Names = None,
    smooth: Annotated[int | None, Parameter(show_default=False)] = None,
    log: Annotated[list[Literal["x", "y"]] | None, Parameter(negative=())] = None,
    ylim: Annotated[tuple[float, float] | None, Parameter(negative=(), show_default=False)] = None,
    column: Switch = False,
    size: Annotated[tuple[float, float] | None, Parameter(negative=(), show_default=False)] = None,
    font: Annotated[float | None, Parameter(show_default=False)] = None,
    no_caption: Switch = False,
    every_metric: Annotated[bool, Parameter(name="--all", negative=(), show_default=False)] = False,
) -> int:
    """Plot runs or curve files, or write the data behind the figure.

    Parameters
    ----------
    sources
        Run folders, folders of run folders, or curve files (JSON).
    out
        File of the figure (.svg, .pdf or .png), or of its data (.csv).
    kind
        curves: one line per run, one panel per benchmark. Default.
        grid: accuracy and length of one run on every benchmark.
        heatmap: one row per line, training progress along x.
        solved: items by steps of one run.
        readers: accuracy of the CoT readers of a run.
        rm-at-k: rm@k of reward models against k.
        profile: share of runs and benchmarks that end above an accuracy.
        reward-hacking: score of the reward model beside the verifier's accuracy.
        signals: reward, entropy, KL, gradient norm and other signals of training.
        difference: every line minus that of --diff, with an interval.
        path: accuracy against mean length, joined in the order of steps.
    x
        Horizontal axis: step, tokens, time, progress, or a recorded metric. Default: step, and progress for a heatmap.
    y
        Vertical axis: accuracy, length, or a recorded metric such as train/reward. Default: accuracy, or that of the file.
    title
        Title above the figure.
    reference
        Curve file to draw in the background. May be repeated.
    fit
        Draw a sigmoid fit behind each line, and the interval of the level that it tends to.
    diff
        Name of the line that is subtracted from all others. Implies --kind difference.
    select
        Lines to show: a name, or a regular expression that is found in names. May be repeated.
    rename
        New name of a line, as OLD=NEW. May be repeated.
    order
        Name of a line that comes first. May be repeated, in order.
    style
        Colour of a line, as NAME=COLOUR. May be repeated.
    smooth
        Smooth lines by a centred mean over this odd number of points; raw values stay behind.
    log
        Logarithmic axis: x or y. May be repeated.
    ylim
        Lowest and highest y.
    column
        Draw the figure for one column of a two-column paper, with small type.
    size
        Width and height in inches.
    font
        Type size in points.
    no_caption
        Leave out the note under the figure.
    every_metric
        Write every recorded metric of the runs into one table (.csv) instead.
    """
    from passus.console import print_next_commands
    from passus.figures import axes, export, kinds, smoothing
    from passus.figures import every_metric as tables
    from passus.figures.line_options import LineOptions

    if every_metric:
        print(f"data: {out}, {tables.write_every_metric(list(sources), out)} numbers")
        return 0
    if diff is not None and kind is None:
        kind = "difference"
    lines = LineOptions(select or (), rename or (), order or (), style or ())
    figure = kinds.figure(list(sources), kind or "curves", x, y, title, list(reference or []), fit, lines, diff)
    if smooth is not None:
        if figure.kind in ("heatmap", "solved", "profile", "grid"):
            raise UsageError(f"--smooth in a {figure.kind}", expected="a figure of lines", write="--kind curves")
        figure = smoothing.smoothed(figure, smooth)
    figure = axes.with_axes(figure, log or (), ylim)
    export.draw(replace(figure, note="") if no_caption else figure, out, column=column, size=size, font=font)
    print(f"{'data' if out.suffix == '.csv' else 'figure'}: {out}")
    print_next_commands(*_next_commands(sources, out, y, figure))
    return 0


def _next_commands(sources: Sequence[Path], out: Path, y: str | None, figure: "Figure") -> list[str]:
    """Returns the same figure of lengths, or of accuracy, where the sources have lengths; then the analysis."""
    arguments, other_y = " ".join(map(str, sources)), "accuracy" if y == "length" else "length"
    has_lengths = y == "length" or any(p.tokens is not None for s in figure.series for p in s.points)
    other = f"passus plot {arguments} --y {other_y} --out {out.with_stem(f'{out.stem}-{other_y}')}"
    return [*([other] if has_lengths else []), f"passus analyse {arguments}"]
