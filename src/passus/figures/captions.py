"""Axis labels and the note under a figure, which explains its bands and lines."""

import math
from collections.abc import Sequence

from passus.figures.labels import shared_note
from passus.figures.spec import Series
from passus.metric_names import METRICS
from passus.runs.origin import Origin

X_AXES = {
    "step": "Step", "tokens": "Training tokens", "time": "Seconds", "progress": "Training progress", "iteration": "Iteration",
    "updates": "Optimizer updates",
}  # fmt: skip
ITEM_BAND = "95 % CI, clustered by item"
COUNT_BAND = "95 % CI of a share, with one answer per item"
BASELINES = "gray: mean@k (random choice), maj@k (majority vote) and pass@k (upper bound) of the same pools"


def x_label(x: str) -> str:
    """Returns the label of an x-axis, a metric's with its unit. A curve file may have an x of its own."""
    if x in METRICS and x not in X_AXES:
        return x + (f" ({METRICS[x].unit})" if METRICS[x].unit else "")
    return X_AXES.get(x) or x[:1].upper() + x[1:]


def curves_note(series: Sequence[Series]) -> str:
    """Explains the bands and lines of a figure of curves."""
    seeds = seed_counts(series)
    banded = [s for s in series if not s.seeds and not s.faint and any(p.low is not None for p in s.points)]
    notes = [shared] if (shared := shared_note(series)) else []
    if seeds:
        notes.append("thick: mean over seeds, at the steps that all have; thin: single seeds; " + _seed_band(series, seeds))
    if any(s.origin and not is_counted(s.origin) for s in banded):
        notes.append(f"band{' of a single run' if seeds else ''}: {ITEM_BAND}")
    if any(s.origin and is_counted(s.origin) for s in banded):
        notes.append(f"band{' of a single run' if seeds else ''} without recorded items: {COUNT_BAND}")
    if any(not s.origin for s in banded):
        notes.append("band of a curve file: as the file gives it")
    stretches = [stretch for s in series for stretch in s.stretches]
    if stretches:
        some = any(not stretch.is_throughout for stretch in stretches)
        notes.append(f"bars and boxes: ranges that the text gives{'; dashed: somewhere in the box' if some else ''}")
        if any(math.isnan(p.y) for s in series if s.stretches for p in s.points[1:-1]):
            notes.append("dotted: a guide through a range, from the point before to the point after")
    if faults := dict.fromkeys(s.origin.fault for s in series if s.origin and s.origin.fault):
        notes.append(f"faults on purpose: {'; '.join(faults)}")
    if any(s.approximate for s in series):
        which = "all values" if all(s.approximate for s in series) else "gray"
        notes.append(f"{which}: read off a chart, so approximate")
    return "\n".join(notes)


def is_counted(origin: Origin) -> bool:
    """Whether a run is another tool's and has the numbers of items only, not the items."""
    return bool(origin.tool) and not any(origin.path.glob("items/step-*.parquet"))


def _seed_band(series: Sequence[Series], seeds: str) -> str:
    """Explains the band of means over seeds, and that few seeds have none."""
    have = [any(p.low is not None for p in s.points) for s in series if s.seeds and s.points]
    if not any(have):
        return f"n = {seeds}{', too few for a band' if seeds == '2' else ''}"
    few = "; no band with two" if not all(have) else ""
    return f"band: 95 % t interval over seeds, n = {seeds}{few}"


def profile_note(series: Sequence[Series]) -> str:
    """Explains the lines and bands of performance profiles."""
    from passus.stats.aggregates import ENOUGH_RUNS

    notes = ["scores: runs x benchmarks, each the mean of the last eval points that all lines have"]
    seeds = seed_counts(series)
    if seeds:
        few = ", too short with so few" if min(s.seeds for s in series if s.seeds) < ENOUGH_RUNS else ""
        notes.append(f"band: 95 % interval of the stratified bootstrap over runs, n = {seeds} seeds{few}")
    if any(not s.seeds for s in series):
        notes.append("a line of one run has no band: it needs two or more")
    return "\n".join(notes)


def seed_counts(series: Sequence[Series]) -> str:
    """Returns the numbers of seeds that means are over, such as "3" or "2 or 3"; empty where there are no means."""
    return " or ".join(map(str, sorted({s.seeds for s in series if s.seeds})))
