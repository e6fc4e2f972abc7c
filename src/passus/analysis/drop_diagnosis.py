"""The cause of a late fall, as far as the run's record shows it (A16).

Overfitting: accuracy on the training items, which come again and again, holds while accuracy on unseen items falls.
Truncation: completions outgrow the token limit by as much as accuracy falls.
Instability: the policy got worse on its training items too, or a recorded signal left the line of its past; at a learning rate
that is too high, entropy and gradient norm often look well while accuracy falls.

Signals are noisy and neighbouring steps alike, so each is tested (stats/level_shift.py), and the tests of one fall are
corrected for their number. An order in time does not prove a cause.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from passus.analysis.finding import Conclusion, Finding
from passus.analysis.measured_curve import MeasuredCurve
from passus.analysis.wording import ci
from passus.formatting import p_value, points
from passus.runs.run_folder import RunFolder
from passus.stats import paired_tests
from passus.stats.clusters import unit_values
from passus.stats.level_shift import MIN_BEFORE, LevelShift, level_shift

SIGNALS = {
    "train/grad_norm": 0.0, "train/entropy": 0.0, "train/approx_kl": 0.0, "train/kl": 0.0,
    "train/clip_ratio/region_mean": 0.05, "sampling/sampling_logp_difference/mean": 1e-3,
}  # fmt: skip
"""Recorded signals, each with a change that is too small to matter."""
MAX_BEFORE = 60
"""Steps before the fall that a signal is compared with."""
LEVEL = 0.05
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
    numbers = {"fall": fall} | ({"training": training.change} if training else {})
    repeated = _repeated_items(run, peak)
    if repeated and training and training.interval()[0] > -fall / 2:
        sentence = f"Accuracy on the {repeated} training items changed by {points(training.change)} "
        sentence += f"({ci(*training.interval())}), on unseen items by {points(-fall)}: overfitting."
        return m.finding("A16", CLAIM, Conclusion.SUPPORTED, sentence, numbers=numbers)
    truncation = _truncation(m, peak_index, fall)
    if truncation is not None:
        words, p = truncation
        return m.finding("A16", CLAIM, Conclusion.SUPPORTED, f"{words}: truncation.", numbers=numbers, p=p)
    signs = _signs_of_instability(rows, peak, training, fall)
    if signs:
        sentence, p = f"{'; '.join(words for words, _ in signs)}: instability.", min(p for _, p in signs)
        return m.finding("A16", CLAIM, Conclusion.SUPPORTED, sentence, numbers=numbers, p=p)
    sentence = "No recorded signal is shown to have moved with the fall: the cause is unknown."
    return m.finding("A16", CLAIM, Conclusion.NOT_SUPPORTED, sentence, numbers=numbers)


def _repeated_items(run: RunFolder, peak: float) -> int:
    """Returns the number of training items if each came at least twice before the fall, else 0."""
    config = run.config()
    limit = config.task.limit
    return limit if peak * config.train.prompts >= 2 * limit else 0


def _training_change(rows: list[Row], peak: float) -> LevelShift | None:
    """Computes the change of training accuracy from before the fall to the end."""
    width = max(MIN_BEFORE, len(rows) // 10)
    before = [row["train/accuracy"] for row in rows if row["step"] <= peak][-width:]
    after = [row["train/accuracy"] for row in rows if row["step"] > peak][-width:]
    return level_shift(np.array(before), np.array(after))


def _truncation(m: MeasuredCurve, peak_index: int, fall: float) -> tuple[str, float] | None:
    """Tests whether truncation grew by at least half of the fall, item by item, and describes it; None where it did not."""
    if m.items is None:
        return None
    truncated_TQ = unit_values(m.items.truncated_TQK.mean(2), m.items.cluster_Q)
    before_Q, end_Q = truncated_TQ[max(0, peak_index - 2) : peak_index + 1].mean(0), truncated_TQ[-m.window :].mean(0)
    growth, p = float((end_Q - before_Q).mean()), paired_tests.sign_flip_test(end_Q - before_Q).p
    if growth < fall / 2 or p >= LEVEL:
        return None
    return f"Completions cut off by the token limit went from {before_Q.mean():.0%} to {end_Q.mean():.0%} ({p_value(p)})", p


def _signs_of_instability(rows: list[Row], peak: float, training: LevelShift | None, fall: float) -> list[tuple[str, float]]:
    """Returns what moved with the fall, in words, each with its p-value after correction for the number of signals."""
    shifts = {name: shift for name in SIGNALS if (shift := _signal_shift(rows, name, peak)) is not None}
    tests = len(shifts) + (training is not None)
    signs = []
    if training and training.change <= -fall / 2 and tests * training.p < LEVEL:
        words = f"Accuracy on training items changed by {points(training.change)} as well ({ci(*training.interval())})"
        signs.append((words, tests * training.p))
    for name, shift in shifts.items():
        p = tests * shift.p
        if p < LEVEL and abs(shift.change) > SIGNALS[name]:
            size = f"{'rose above' if shift.change > 0 else 'fell below'} the line of its past by {abs(shift.change):.2g}"
            signs.append((f"{name} {size} ({p_value(p)} for {tests} signals)", p))
    return signs


def _signal_shift(rows: list[Row], name: str, peak: float) -> LevelShift | None:
    """Compares a signal in the first half of the fall with the line of its past; None where too little is recorded."""
    known = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
    middle = (peak + rows[-1]["step"]) / 2
    before = [value for step, value in known if step <= peak][-MAX_BEFORE:]
    after = [value for step, value in known if peak < step <= middle]
    return level_shift(np.array(before), np.array(after), trend=True)
