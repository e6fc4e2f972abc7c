"""Why a curve fell, as far as its run can tell.

Overfitting: accuracy on the training items, which come again and again, holds while accuracy on items never seen falls.
Truncation: completions outgrow the token limit by as much as accuracy falls. Instability: the policy itself got worse, on its
training items too; the first recorded signal to leave the band of its own past is named, where there is one (at a learning rate
that is too high, entropy and gradient norm often look well while accuracy falls). An order in time is no proof of a cause.
"""

from collections.abc import Sequence

import numpy as np

from passus.analysis.finding import Finding, Verdict
from passus.analysis.single_curve import Measured
from passus.formatting import points, step
from passus.runs.run_folder import RunFolder

SIGNALS = {
    "train/grad_norm": 0.0, "train/entropy": 0.0, "train/approx_kl": 0.0, "train/kl": 0.0,
    "train/clip_ratio/region_mean": 0.05, "sampling/sampling_logp_difference/mean": 1e-3,
}  # fmt: skip
"""And a change of each that is too small to matter."""
BAND = 4.0
"""Median absolute deviations."""
FEWEST = 8
"""Steps that make a band."""


def findings(measured: Sequence[Measured], found: Sequence[Finding]) -> list[Finding]:
    """For every late fall that is supported."""
    by_name = {(m.name, m.curve.benchmark): m for m in measured}
    falls = [one for one in found if one.id == "A3" and one.verdict is Verdict.SUPPORTED]
    return [
        cause(by_name[fall.series, fall.benchmark], fall.numbers["before"])
        for fall in falls
        if (fall.series, fall.benchmark) in by_name
    ]


def cause(m: Measured, peak: float) -> Finding:
    """Of the fall that begins after `peak`."""
    claim = "the cause of the fall can be told"
    if m.curve.origin is None:
        return m.finding("A16", claim, Verdict.UNTESTABLE, "a published curve has no training signals")
    run = RunFolder(m.curve.origin.path)
    rows = [row for row in run.metrics() if row.get("train/accuracy") is not None]
    if sum(row["step"] <= peak for row in rows) < 3 or not any(row["step"] > peak for row in rows):
        return m.finding("A16", claim, Verdict.UNTESTABLE, "too few training steps are recorded before or after the fall")
    top = int(np.abs(m.x_T - peak).argmin())
    fall = float(m.y_T[max(0, top - 2) : top + 1].mean() - m.end)
    kept = _change(rows, peak)
    config = run.config()
    limit = config.task.limit if peak * config.train.prompts >= 2 * config.task.limit else 0  # else nothing came again
    numbers = {"fall": fall, "training": kept}
    if limit and kept > -fall / 2:
        said = (
            f"accuracy on the {limit} items that it trains on changed by {points(kept)}, on items never seen by {points(-fall)}"
        )
        return m.finding("A16", claim, Verdict.SUPPORTED, f"overfitting: {said}", numbers=numbers)
    cut = _truncation(m, top, fall)
    if cut is not None:
        return m.finding("A16", claim, Verdict.SUPPORTED, f"truncation: {cut}", numbers=numbers)
    left = sorted((at, name) for name, least in SIGNALS.items() if (at := _leaves(rows, name, least, peak)) is not None)
    words = f"{left[0][1]} left the band of its own past at step {left[0][0]}" if left else ""
    if kept <= -fall / 2:
        words = f"accuracy on training items fell as well, by {points(kept)}" + (f"; {words}" if words else "")
    if words:
        return m.finding("A16", claim, Verdict.SUPPORTED, f"instability: {words}", numbers=numbers)
    return m.finding("A16", claim, Verdict.NOT_SUPPORTED, "unknown: no recorded signal moved with the fall", numbers=numbers)


def _change(rows: list[dict], peak: float) -> float:
    """Of training accuracy, from around the peak to the end."""
    width = max(2, len(rows) // 10)
    around = [row["train/accuracy"] for row in sorted(rows, key=lambda row: abs(row["step"] - peak))[:width]]
    return float(np.mean([row["train/accuracy"] for row in rows[-width:]]) - np.mean(around))


def _truncation(m: Measured, top: int, fall: float) -> str | None:
    """By the time half of the fall has happened, have truncated completions grown by at least half as much?"""
    if m.items is None:
        return None
    fallen = [t for t in range(top + 1, len(m.y_T)) if m.y_T[top] - m.y_T[t] >= fall / 2]
    share_T = m.items.truncated_TQK.mean((1, 2))
    if not fallen or share_T[fallen[0]] - share_T[top] < (m.y_T[top] - m.y_T[fallen[0]]) / 2:
        return None
    return (
        f"completions cut off by the limit went from {share_T[top]:.0%} to {share_T[fallen[0]]:.0%} at {step(m.x_T[fallen[0]])}"
    )


def _leaves(rows: list[dict], name: str, least: float, peak: float) -> int | None:
    """The first step up to halfway into the fall at which a signal is off the band of all before it, two steps in a row,
    since one may be chance."""
    known = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
    values = np.array([value for _, value in known], dtype=float)
    for i in range(FEWEST, len(known) - 1):
        if known[i][0] > (peak + rows[-1]["step"]) / 2:
            return None
        middle = np.median(values[:i])
        spread = 1.4826 * np.median(np.abs(values[:i] - middle)) + 0.02 * abs(middle)
        if (np.abs(values[i : i + 2] - middle) > BAND * spread + least).all():
            return int(known[i][0])
    return None
