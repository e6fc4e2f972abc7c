"""The alarm while a run trains: accuracy has fallen from its best stretch by more than noise would make it.

At every eval point the best three in a row so far are compared with the last three (shapes.py), over the mean of all benchmarks
of the suite and with the noise of these very items. The bound is such that a run of pure noise raises an alarm in one case of
twenty, all its eval points together. After an alarm the watch begins anew.

Shapes: T eval points.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from passus.runs.run_folder import RunFolder
from passus.stats import falls
from passus.stats.falls import MARGIN

WINDOW = 3
SLOWER = 0.5
"""What the learning rate is multiplied by when a run goes back."""


@dataclass(frozen=True)
class Fall:
    best: int
    """The step in the middle of the best stretch."""
    drop: float
    statistic: float

    def event(self, step: int, action: str) -> dict[str, Any]:
        return {"step": step, "event": action, "best": self.best, "drop": self.drop, "statistic": self.statistic}


def fall(folder: RunFolder, after: int, looks: int) -> Fall | None:
    """The fall that the eval points after a step show, if they show one; `looks` are the eval points of a whole run."""
    steps, mean_T, se_T = watched(folder, after)
    if len(steps) < 2 * WINDOW:
        return None
    statistic = falls.alarm_statistic(mean_T, se_T, WINDOW)
    means = np.convolve(mean_T, np.ones(WINDOW) / WINDOW, "valid")
    best = int(means[:-WINDOW].argmax())
    drop = float(means[best] - means[-1])
    if statistic <= falls.alarm_bound(looks, WINDOW) or drop <= MARGIN:
        return None
    return Fall(steps[best + WINDOW // 2], drop, float(statistic))


def wanted(folder: RunFolder, after: int) -> list[int]:
    """Steps that a run may still go back to: the middle of the best stretch so far, and those that may be in a better one."""
    steps, mean_T, _ = watched(folder, after)
    means = np.convolve(mean_T, np.ones(WINDOW) / WINDOW, "valid") if len(steps) >= WINDOW else np.array([])
    best = [steps[int(means.argmax()) + WINDOW // 2]] if len(means) else []
    return best + steps[-WINDOW:]


def watched(folder: RunFolder, after: int) -> tuple[list[int], np.ndarray, np.ndarray]:
    """The eval points after a step: steps, means over benchmarks and temperatures, and their standard errors."""
    by_step: dict[int, list[tuple[float, float]]] = {}
    for point in folder.evals():
        if point.step > after and point.se is not None:
            by_step.setdefault(point.step, []).append((point.acc, point.se))
    parts = [np.array(by_step[step]) for step in sorted(by_step)]
    se_T = np.array([np.sqrt((part[:, 1] ** 2).sum()) / len(part) for part in parts])
    return sorted(by_step), np.array([part[:, 0].mean() for part in parts]), se_T
