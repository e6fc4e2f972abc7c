"""The regression alarm: accuracy has fallen from its best stretch by more than noise explains.

At every eval point the best earlier stretch is compared with the last three eval points (stats/alarm.py), over the mean of all
benchmarks of the suite. The noise includes the movement between checkpoints, estimated from the run itself. A run without a
fall raises an alarm in at most one case of twenty, over all its planned eval points together. After an alarm the watch starts
again.

Shapes: T eval points.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from passus.runs.run_folder import RunFolder
from passus.stats import alarm
from passus.stats.alarm import WINDOW
from passus.stats.falls import MARGIN

SLOWER = 0.5
"""Factor of the learning rate when a run returns to an earlier checkpoint."""


@dataclass(frozen=True)
class Regression:
    best_step: int
    """Step in the middle of the best stretch."""
    drop: float
    statistic: float

    def event(self, step: int, action: str) -> dict[str, Any]:
        return {"step": step, "event": action, "best": self.best_step, "drop": self.drop, "statistic": self.statistic}


def find_regression(folder: RunFolder, after: int, looks: int) -> Regression | None:
    """Returns the regression that the eval points after a step show, if any; `looks` counts the eval points of a whole run."""
    steps, mean_T, se_T = eval_means(folder, after)
    if len(steps) < 2 * WINDOW:
        return None
    statistic = alarm.alarm_statistic(mean_T, se_T)
    means = np.convolve(mean_T, np.ones(WINDOW) / WINDOW, "valid")
    best = int(means[:-WINDOW].argmax())
    drop = float(means[best] - means[-1])
    if statistic <= alarm.alarm_bound(len(steps), looks, se_T) or drop <= MARGIN:
        return None
    return Regression(steps[best + WINDOW // 2], drop, float(statistic))


def steps_to_keep(folder: RunFolder, after: int) -> list[int]:
    """Returns the steps that a run may still return to: the middle of the best stretch so far, and the newest ones."""
    steps, mean_T, _ = eval_means(folder, after)
    means = np.convolve(mean_T, np.ones(WINDOW) / WINDOW, "valid") if len(steps) >= WINDOW else np.array([])
    best = [steps[int(means.argmax()) + WINDOW // 2]] if len(means) else []
    return best + steps[-WINDOW:]


def eval_means(folder: RunFolder, after: int) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Returns steps, means over benchmarks and temperatures, and standard errors of the eval points after a step."""
    by_step: dict[int, list[tuple[float, float]]] = {}
    for point in folder.evals():
        if point.step > after and point.se is not None:
            by_step.setdefault(point.step, []).append((point.acc, point.se))
    parts = [np.array(by_step[step]) for step in sorted(by_step)]
    se_T = np.array([np.sqrt((part[:, 1] ** 2).sum()) / len(part) for part in parts])
    return sorted(by_step), np.array([part[:, 0].mean() for part in parts]), se_T
