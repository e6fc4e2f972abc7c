"""Training signals of runs: reward, entropy, KL, gradient norm, length, truncated and unparseable completions.

One panel per signal and one line per arm, in the styles of the accuracy figure of the same runs. Steps are many and noisy, so
lines are lightly smoothed, with the raw line behind.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from passus.figures.captions import curves_note, x_label
from passus.figures.line_options import ALL_LINES, LineOptions
from passus.figures.places import place_of_step
from passus.figures.series import alarm_marks, arrange, is_share, resume_marks
from passus.figures.smoothing import smoothed
from passus.figures.spec import Figure, PlotPoint, Series
from passus.runs.origin import Origin, origin_of
from passus.runs.run_folder import Row, RunFolder

SIGNALS = {
    "train/reward": "Reward",
    "train/pair_accuracy": "Pairs ranked correctly (share)",
    "train/loss": "Loss",
    "train/entropy": "Entropy (nats)",
    "train/kl": "KL to the start (nats)",
    "train/approx_kl": "KL to the sampler (nats)",
    "train/grad_norm": "Gradient norm",
    "train/completions/mean_length": "Completion length (tokens)",
    "train/truncated": "Truncated (share)",
    "train/unparseable": "Unparseable (share)",
}
"""Panel titles by metric. Which of them a run records depends on its kind and method."""
NOT_OF_POLICIES = ("train/loss",)
"""The loss of a policy says nothing: its advantages have mean 0 in every step."""
LABELLED_RESUMES = 3
"""Resumes that have a label each. More would hide the curves: many runs may have been resumed at many steps."""
MANY_STEPS = 40
"""Lines with more points than this are smoothed."""


def training_signals(
    runs: Sequence[RunFolder], x: str = "step", title: str | None = None, lines: LineOptions = ALL_LINES
) -> Figure:
    """Returns one panel per signal that a run recorded, one line per arm; alarms and resumes are marked.

    The figure has no series where no run has recorded anything yet.
    """
    series = [s for run in runs for s in _series(run, origin_of(run), x)]
    order = list(SIGNALS.values())
    arranged = [
        s for s in lines.apply(arrange(series)) if s.points
    ]  # runs without a signal still take part in naming and colouring
    arranged.sort(key=lambda s: order.index(s.panel))  # lines keep their order
    zero = [panel for panel in order if (own := [s for s in arranged if s.panel == panel]) and not any(map(_varies, own))]
    # A t band per step is as noisy as the steps; the seeds themselves are drawn.
    shown = [replace(s, points=[replace(p, low=None, high=None) for p in s.points]) for s in arranged if s.panel not in zero]
    resumes = resume_marks(shown, x)
    many = len(resumes) > LABELLED_RESUMES
    marks = alarm_marks(shown, x) + [replace(mark, text="") if many else mark for mark in resumes]
    notes = [
        curves_note(shown),
        "dotted: resumed" if many else "",
        f"not drawn, because they are 0 in all steps: {', '.join(zero)}" if zero else "",
    ]
    made = Figure(title or "", x_label(x), "", shown, "\n".join(filter(None, notes)), "signals", marks=marks)
    longest = max((len(s.points) for s in shown), default=0)
    return smoothed(made, light_window(longest)) if longest > MANY_STEPS else made


def light_window(points: int) -> int:
    """Returns an odd window of about a twentieth of a line."""
    return max(3, 2 * (points // 40) + 1)


def _varies(s: Series) -> bool:
    return any(p.y for p in s.points if not math.isnan(p.y))


def _series(run: RunFolder, origin: Origin, x: str) -> list[Series]:
    rows, place = run.metrics(), place_of_step(origin, x)
    metrics = [metric for metric in SIGNALS if metric not in NOT_OF_POLICIES or origin.kind != "rl"]
    return [
        replace(
            Series(origin.model, SIGNALS[metric], _points(rows, metric, place), origin.family, origin),
            parameters=origin.parameters, share=is_share(metric),
        )
        for metric in metrics
    ]  # fmt: skip


def _points(rows: Sequence[Row], metric: str, place: Callable[[int], float | None]) -> list[PlotPoint]:
    """Returns the values of a metric; none where every value is missing."""
    placed = [(place(row["step"]), row) for row in rows if metric in row]
    points = [
        PlotPoint(where, math.nan if row[metric] is None else float(row[metric]), step=row["step"])
        for where, row in placed
        if where is not None
    ]
    return points if any(not math.isnan(p.y) for p in points) else []
