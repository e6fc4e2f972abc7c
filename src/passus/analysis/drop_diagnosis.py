"""The cause of a late fall, as far as the run's record shows it (A16).

Overfitting: accuracy on the training items, which come again and again, holds while accuracy on unseen items falls.
Truncation: completions outgrow the token limit by as much as accuracy falls.
Instability: the policy got worse on its training items too. The first recorded signal to leave the band of its past is named,
where there is one; at a learning rate that is too high, entropy and gradient norm often look well while accuracy falls.

An order in time does not prove a cause.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from passus.analysis.finding import Conclusion, Finding
from passus.analysis.measured_curve import MeasuredCurve
from passus.formatting import points
from passus.runs.run_folder import RunFolder

SIGNALS = {
    "train/grad_norm": 0.0, "train/entropy": 0.0, "train/approx_kl": 0.0, "train/kl": 0.0,
    "train/clip_ratio/region_mean": 0.05, "sampling/sampling_logp_difference/mean": 1e-3,
}  # fmt: skip
"""Recorded signals, each with a change that is too small to matter."""
BAND = 4.0
"""Median absolute deviations from the median of the past."""
MIN_BAND_STEPS = 8
CLAIM = "the cause of the fall can be identified"
Row = dict[str, Any]


def findings(curves: Sequence[MeasuredCurve], earlier: Sequence[Finding]) -> list[Finding]:
    """Looks for the cause of every late fall that the earlier findings support."""
    by_name = {(m.name, m.curve.benchmark): m for m in curves}
    falls = [finding for finding in earlier if finding.id == "A3" and finding.verdict is Conclusion.SUPPORTED]
    return [
        cause(by_name[fall.series, fall.benchmark], fall.numbers["before"])
        for fall in falls
        if (fall.series, fall.benchmark) in by_name
    ]


def cause(m: MeasuredCurve, peak: float) -> Finding:
    """Names the cause of the fall that begins after `peak`."""
    if m.curve.origin is None:
        return m.finding("A16", CLAIM, Conclusion.UNTESTABLE, "A published curve has no training signals.")
    run = RunFolder(m.curve.origin.path)
    rows = [row for row in run.metrics() if row.get("train/accuracy") is not None]
    if sum(row["step"] <= peak for row in rows) < 3 or not any(row["step"] > peak for row in rows):
        sentence = "Too few training steps are recorded before or after the fall."
        return m.finding("A16", CLAIM, Conclusion.UNTESTABLE, sentence)
    peak_index = int(np.abs(m.x_T - peak).argmin())
    fall = float(m.y_T[max(0, peak_index - 2) : peak_index + 1].mean() - m.end)
    training = _training_change(rows, peak)
    numbers = {"fall": fall, "training": training}
    repeated = _repeated_items(run, peak)
    if repeated and training > -fall / 2:
        sentence = f"Accuracy on the {repeated} training items changed by {points(training)}, on unseen items by "
        sentence += f"{points(-fall)}: overfitting."
        return m.finding("A16", CLAIM, Conclusion.SUPPORTED, sentence, numbers=numbers)
    truncation = _truncation(m, peak_index, fall)
    if truncation is not None:
        return m.finding("A16", CLAIM, Conclusion.SUPPORTED, f"{truncation}: truncation.", numbers=numbers)
    signs = _signs_of_instability(rows, peak, training, fall)
    if signs:
        return m.finding("A16", CLAIM, Conclusion.SUPPORTED, f"{'; '.join(signs)}: instability.", numbers=numbers)
    sentence = "No recorded signal moved with the fall: the cause is unknown."
    return m.finding("A16", CLAIM, Conclusion.NOT_SUPPORTED, sentence, numbers=numbers)


def _repeated_items(run: RunFolder, peak: float) -> int:
    """Returns the number of training items if each came at least twice before the fall, else 0."""
    config = run.config()
    limit = config.task.limit
    return limit if peak * config.train.prompts >= 2 * limit else 0


def _training_change(rows: list[Row], peak: float) -> float:
    """Computes the change of training accuracy from around the peak to the end."""
    width = max(2, len(rows) // 10)
    around = [row["train/accuracy"] for row in sorted(rows, key=lambda row: abs(row["step"] - peak))[:width]]
    return float(np.mean([row["train/accuracy"] for row in rows[-width:]]) - np.mean(around))


def _truncation(m: MeasuredCurve, peak_index: int, fall: float) -> str | None:
    """Describes truncation if, by the time half of the fall has happened, it has grown by at least half as much."""
    if m.items is None:
        return None
    fallen = [t for t in range(peak_index + 1, len(m.y_T)) if m.y_T[peak_index] - m.y_T[t] >= fall / 2]
    truncated_T = m.items.truncated_TQK.mean((1, 2))
    if not fallen or truncated_T[fallen[0]] - truncated_T[peak_index] < (m.y_T[peak_index] - m.y_T[fallen[0]]) / 2:
        return None
    rise = f"{truncated_T[peak_index]:.0%} to {truncated_T[fallen[0]]:.0%}"
    return f"Completions cut off by the token limit went from {rise} at {m.at(m.x_T[fallen[0]])}"


def _signs_of_instability(rows: list[Row], peak: float, training: float, fall: float) -> list[str]:
    signs = [f"Accuracy on training items changed by {points(training)} as well"] if training <= -fall / 2 else []
    left = sorted((at, name) for name, least in SIGNALS.items() if (at := _leaves_band(rows, name, least, peak)) is not None)
    if left:
        signs.append(f"{left[0][1]} left the band of its own past at step {left[0][0]}")
    return signs


def _leaves_band(rows: list[Row], name: str, least: float, peak: float) -> int | None:
    """Returns the first step, up to halfway into the fall, at which a signal is off the band of its past twice in a row."""
    known = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
    values = np.array([value for _, value in known], dtype=float)
    for i in range(MIN_BAND_STEPS, len(known) - 1):
        if known[i][0] > (peak + rows[-1]["step"]) / 2:
            return None
        middle = np.median(values[:i])
        spread = 1.4826 * np.median(np.abs(values[:i] - middle)) + 0.02 * abs(middle)
        if (np.abs(values[i : i + 2] - middle) > BAND * spread + least).all():
            return int(known[i][0])
    return None
