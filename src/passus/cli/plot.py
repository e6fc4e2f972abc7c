"""`passus plot`: a figure of learning curves, or the data behind it."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def plot(
    *sources: Path,
    out: Path,
    kind: Literal[
        "curves", "grid", "heatmap", "solved", "readers", "rm-at-k", "profile", "reward-hacking", "signals"
    ] = "curves",
    x: Literal["step", "tokens", "time", "progress"] | None = None,
    y: str = "accuracy",
    title: str | None = None,
    reference: Annotated[list[Path] | None, Parameter(negative=())] = None,
    fit: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    column: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Plot runs or curve files, or write the data behind the figure.

    Parameters
    ----------
    sources
        Run folders, folders of run folders, or curve files (JSON).
    out
        File of the figure (.svg, .pdf or .png), or of its data (.csv).
    kind
        curves: one line per run, one panel per benchmark.
        grid: accuracy and length of one run on every benchmark.
        heatmap: one row per line, training progress along x.
        solved: items by steps of one run.
        readers: accuracy of the CoT readers of a run.
        rm-at-k: rm@k of reward models against k.
        profile: share of runs and benchmarks that end above an accuracy.
        signals: reward, entropy, KL, gradient norm and other signals of training.
        reward-hacking: score of the reward model beside the verifier's accuracy.
    x
        Horizontal axis. Default: step, and progress for a heatmap.
    y
        Vertical axis: accuracy, length, or a recorded metric such as train/reward.
    title
        Title above the figure.
    reference
        Curve file to draw in the background. May be repeated.
    fit
        Draw a sigmoid fit behind each line, and the interval of the level that it tends to.
    column
        Draw the figure for one column of a two-column paper, with small type.
    """
    from passus.console import print_next_commands
    from passus.figures import export, kinds

    figure = kinds.figure(list(sources), kind, x, y, title, list(reference or []), fit)
    export.draw(figure, out, column=column)
    print(f"{'data' if out.suffix == '.csv' else 'figure'}: {out}")
    arguments = " ".join(map(str, sources))
    other_y = "accuracy" if y == "length" else "length"
    print_next_commands(
        f"passus plot {arguments} --y {other_y} --out {out.with_stem(f'{out.stem}-{other_y}')}", f"passus analyse {arguments}"
    )
    return 0
