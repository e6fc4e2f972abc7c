"""A learning curve with the noise of its eval points: the input of every question about a curve.

There are two kinds of noise: over the population of items (other items would give another mean) and over a fixed item set
(other samples of the same items would). Eval points of one run share their items, so comparing them rests on the second.

Shapes: T eval points, Q items, K samples per item.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from passus.analysis.finding import Conclusion, Finding
from passus.runs.curve import Curve, ItemOutcomes, final_points
from passus.stats import intervals
from passus.stats.wiggle import CurveNoise, curve_noise

MIN_POINTS = 5
"""Eval points that a curve needs before anything is said about its shape."""
DETECTABLE_Z = 1.645 + 0.842
"""Standard errors of a drop that a one-sided test detects in four of five cases."""


def x_at(label: str, x: float) -> str:
    """Names a place on the x-axis: step 60."""
    return f"{label} {x:g}"


def x_range(label: str, first: float, last: float) -> str:
    """Names a stretch of the x-axis: steps 40 to 60."""
    return f"{x_plural(label)} {first:g} to {last:g}"


def x_plural(label: str) -> str:
    return label if label.endswith("s") else f"{label}s"


def x_singular(label: str) -> str:
    """Returns the label of an x-axis as the name of one value: "Iterations" becomes "iteration"."""
    name = label.lower() or "step"
    return name if name.endswith("ss") else name.removesuffix("s")


@dataclass
class MeasuredCurve:
    """A curve without its gaps, and the noise of its points where that is known."""

    curve: Curve
    name: str
    x_T: np.ndarray
    y_T: np.ndarray
    se_T: np.ndarray | None
    """Standard errors over the fixed item set."""
    items: ItemOutcomes | None
    """Outcomes at the same eval points."""
    x_label: str = "step"

    @cached_property
    def noise(self) -> CurveNoise | None:
        """The noise of the points, from sampling and from checkpoint to checkpoint; None where sampling is unknown."""
        return None if self.se_T is None else curve_noise(self.y_T, self.se_T)

    def finding(
        self,
        id: str,
        claim: str,
        verdict: Conclusion,
        sentence: str,
        *,
        numbers: dict[str, float] | None = None,
        low: float | None = None,
        high: float | None = None,
        p: float | None = None,
    ) -> Finding:
        level = "L2" if self.items is not None else "L1" if self.se_T is not None else "L0"
        return Finding(
            id, self.name, self.curve.benchmark, claim, verdict, level, sentence, numbers or {}, low, high, p,
            items=len(self.items.item_Q) if self.items is not None else self.curve.n, seeds=1 if self.curve.origin else None,
        )  # fmt: skip

    def at(self, x: float) -> str:
        return x_at(self.x_label, x)

    @property
    def window(self) -> int:
        return len(final_points(self.x_T.tolist()))

    @property
    def start(self) -> float:
        return float(self.y_T[0])

    @property
    def end(self) -> float:
        return float(self.y_T[-self.window :].mean())

    @property
    def end_words(self) -> str:
        return "over the last three eval points" if self.window > 1 else "at the last eval point"


def measure_curve(curve: Curve, name: str, x_label: str = "step") -> MeasuredCurve:
    """Estimates the noise of a curve's points from its items, else from their number, else not at all."""
    known_T = ~np.isnan(curve.y_T)
    x_T, y_T = curve.x_T[known_T], curve.y_T[known_T]
    label, items = x_singular(x_label), curve.items
    if items is not None and 2 * sum(has_T := np.isin(x_T, items.steps_T)) >= len(x_T) > 0:
        x_T, y_T = x_T[has_T], y_T[has_T]  # eval points whose rows are lost are left out: the others can be paired
        items = items.at(items.item_Q, [int(x) for x in x_T])
        floor = 1 / items.correct_TQK[0].size  # one sample of all: nothing is known better than that
        se_T = np.array([max(_fixed_set_se(items, correct_QK), floor) for correct_QK in items.correct_TQK])
        return MeasuredCurve(curve, name, x_T, y_T, se_T, items, label)
    if curve.n:
        return MeasuredCurve(curve, name, x_T, y_T, intervals.counted_se(y_T, curve.answers), None, label)
    return MeasuredCurve(curve, name, x_T, y_T, None, None, label)


def _fixed_set_se(items: ItemOutcomes, correct_QK: np.ndarray) -> float:
    if items.choices:
        return intervals.best_of_k_se(correct_QK[:, 0], items.choices)
    return intervals.fixed_set_se(correct_QK)
