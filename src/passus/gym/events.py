"""The events of the five charts, as conditions on one curve: a collapse, a plateau that stays low, a late fall.

Shapes: T eval points.
"""

from collections.abc import Callable

import numpy as np

WIDTH = 3
"""Eval points that are averaged, so that the noise of one point makes no event."""
RISE, FALL = 0.15, 0.1


def _level(y_T: np.ndarray) -> np.ndarray:
    return np.convolve(y_T, np.ones(WIDTH) / WIDTH, "valid")


def collapses(y_T: np.ndarray) -> bool:
    """The last three points are on average below half of the first one."""
    return float(_level(y_T)[-1]) < float(y_T[0]) / 2


def stays_low(y_T: np.ndarray) -> bool:
    """No three points are on average more than 15 points above the first one, and the last three are not below half of it."""
    return float(_level(y_T).max()) < float(y_T[0]) + RISE and not collapses(y_T)


def falls_late(y_T: np.ndarray) -> bool:
    """Three points are on average more than 15 points above the first, and the last three 10 points or more below those."""
    level = _level(y_T)
    return float(level.max()) > float(y_T[0]) + RISE and float(level[-1]) <= float(level.max()) - FALL


EVENTS: dict[str, Callable[[np.ndarray], bool]] = {"collapse": collapses, "low-plateau": stays_low, "late-fall": falls_late}
"""By the name of the experiment that makes the event and removes it."""
