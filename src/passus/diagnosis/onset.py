"""Since when a run is in a state: the step from which a condition holds for most of the rest, and the step of a jump.

Shapes: S steps.
"""

from dataclasses import dataclass

import numpy as np

HOLDS = 0.8
"""Share of the remaining steps at which a condition that holds must be true."""


def since(step_S: np.ndarray, is_true_S: np.ndarray, least: int = 1) -> float | None:
    """Returns the first step from which a condition holds for most of the rest, over `least` steps or more; else None."""
    n = len(step_S)
    if n < least:
        return None
    share_S = np.cumsum(is_true_S[::-1])[::-1] / np.arange(n, 0, -1)
    candidates = np.flatnonzero(is_true_S & (share_S >= HOLDS) & (np.arange(n, 0, -1) >= least))
    return float(step_S[candidates[0]]) if len(candidates) else None


@dataclass(frozen=True)
class Jump:
    size: float
    """Mean of the steps from the jump on minus the mean of those before, over a few steps on each side."""
    noise: float
    """Standard error of that difference, from the differences of neighbouring steps."""
    step: float
    """First step after the jump."""


def largest_jump(step_S: np.ndarray, value_S: np.ndarray, width: int = 4, direction: int = 0) -> Jump | None:
    """Returns the largest change of level between neighbouring stretches of `width` steps; None with too few known steps.

    With a direction (1 or -1), only rises or falls count.
    """
    is_known_S = ~np.isnan(value_S)
    step_S, value_S = step_S[is_known_S], value_S[is_known_S]
    if len(value_S) < 2 * width:
        return None
    means = np.convolve(value_S, np.ones(width) / width, "valid")
    change = means[width:] - means[:-width]
    signed = np.abs(change) if direction == 0 else direction * change
    best = int(signed.argmax())
    near = slice(max(0, best - width), best + 3 * width)
    # The step of the jump is where neighbours differ most within the window.
    inside = value_S[best : best + 2 * width]
    shift = int((np.sign(change[best]) * np.diff(inside)).argmax()) + 1
    noise = float(np.median(np.abs(np.diff(value_S[near])))) * 1.05 * (2 / width) ** 0.5
    return Jump(float(change[best]), noise, float(step_S[best + shift]))
