"""Signs in accuracy: on the eval items over training, and on training items against eval items.

Shapes: T eval points, S steps.
"""

import numpy as np

from passus.diagnosis.onset import largest_jump, since
from passus.diagnosis.sign import Sign, absent
from passus.diagnosis.trace import Trace
from passus.formatting import points

WINDOW = 3
"""Eval points of which means are compared."""
MIN_EVALS = 4
NOISE = 2.5
"""Standard errors that a change must exceed."""
UNKNOWN_SE = 0.03
"""Standard error of an eval point that records none."""
HIGH = 0.9


def curve_signs(trace: Trace) -> list[Sign]:
    """Returns the signs of accuracy; none with too few eval points."""
    signs: list[Sign | None] = [_never_right(trace), _training_jump(trace, -1), _training_jump(trace, 1)]
    signs += [_breaks_in_one_step(trace, is_learnt=True), _breaks_in_one_step(trace, is_learnt=False)]
    if len(trace.evals["step"]) >= MIN_EVALS:
        step_T, y_T, se_T = trace.evals["step"], trace.evals["accuracy"], _se(trace)
        signs += [_falls(step_T, y_T, se_T), _falls_at_once(step_T, y_T, se_T), _stays(step_T, y_T, se_T)]
        signs += [_stops_low(step_T, y_T, se_T), _zigzags(step_T, y_T, se_T), _ends_at_zero(step_T, y_T), _learns_well(y_T)]
        signs += _training_signs(trace, step_T, y_T, se_T)
    return [sign for sign in signs if sign is not None]


def _se(trace: Trace) -> np.ndarray:
    se_T = trace.evals["se"]
    return np.where(np.isnan(se_T), UNKNOWN_SE, np.maximum(se_T, 1e-3))


def _falls(step_T: np.ndarray, y_T: np.ndarray, se_T: np.ndarray) -> Sign:
    """Compares the best stretch with the last one. Choosing the best costs a little: the margin allows for it."""
    name, width = "accuracy falls", min(WINDOW, len(y_T) // 2)
    means = np.convolve(y_T, np.ones(width) / width, "valid")
    best = int(means[:-width].argmax()) if len(means) > width else 0
    drop = float(means[best] - means[-1])
    noise = float(np.hypot(se_T[best : best + width].mean(), se_T[-width:].mean())) / width**0.5
    if drop < 0.06 or drop < (NOISE + 1) * noise:
        return absent(name)
    low_T = y_T < means[best] - drop / 3
    start = since(step_T, low_T & (step_T > step_T[best + width - 1] - 1e-9))
    before = step_T[step_T < start].max() if start is not None and (step_T < start).any() else step_T[best + width - 1]
    return Sign(name, True, f"eval accuracy ends {points(-drop)} from its best stretch", float(before) + 1)


def _falls_at_once(step_T: np.ndarray, y_T: np.ndarray, se_T: np.ndarray) -> Sign:
    name = "accuracy breaks down"
    change_T = np.diff(y_T)
    worst = int(change_T.argmin())
    is_lasting = y_T[worst + 1 :].max() < y_T[worst] - abs(change_T[worst]) / 2
    if change_T[worst] > -max(0.25, NOISE * float(se_T.mean())) or not is_lasting:
        return absent(name)
    words = f"eval accuracy falls from {y_T[worst]:.2f} to {y_T[worst + 1]:.2f} between two eval points"
    return Sign(name, True, words, float(step_T[worst]) + 1)


def _stays(step_T: np.ndarray, y_T: np.ndarray, se_T: np.ndarray) -> Sign:
    name = "accuracy does not rise"
    width = min(WINDOW, len(y_T) // 2)
    gain = float(np.convolve(y_T, np.ones(width) / width, "valid").max() - y_T[0])
    if y_T[0] >= HIGH or gain > 0.06 + float(se_T[0]):
        return absent(name)
    return Sign(name, True, f"eval accuracy rises by at most {points(gain)} over {len(y_T)} eval points", 1.0)


def _stops_low(step_T: np.ndarray, y_T: np.ndarray, se_T: np.ndarray) -> Sign:
    """The sign of a rise that ends early: the rate of the later part is a small share of the rate before."""
    name = "accuracy stops rising"
    if len(y_T) < 8:
        return absent(name)
    best_score, best = 0.0, 0
    for cut in range(2, len(y_T) - 3):
        early = np.polyfit(step_T[: cut + 1], y_T[: cut + 1], 1)[0]
        late = np.polyfit(step_T[cut:], y_T[cut:], 1)[0]
        if early > 0 and (score := early - late) > best_score:
            best_score, best = score, cut
    if not best:
        return absent(name)
    early = float(np.polyfit(step_T[: best + 1], y_T[: best + 1], 1)[0])
    late = float(np.polyfit(step_T[best:], y_T[best:], 1)[0])
    level, rise = float(y_T[best:].mean()), early * float(step_T[best] - step_T[0])
    is_low = level < 0.85 and rise > 0.06 + 2 * float(se_T.mean()) and late < early / 5
    if not is_low:
        return absent(name)
    return Sign(name, True, f"eval accuracy stops rising at {level:.2f}", float(step_T[best]) + 1)


def _zigzags(step_T: np.ndarray, y_T: np.ndarray, se_T: np.ndarray) -> Sign:
    name = "accuracy goes up and down"
    change_T = np.diff(y_T)
    falls = np.minimum(change_T, 0)
    beyond = falls < -NOISE * np.hypot(se_T[1:], se_T[:-1]) - 0.03
    rises_again = (change_T > NOISE * np.hypot(se_T[1:], se_T[:-1])).sum()
    if beyond.sum() < 2 or rises_again < 2:
        return absent(name)
    words = f"eval accuracy falls beyond noise {beyond.sum()} times, and rises again"
    return Sign(name, True, words, float(step_T[beyond.argmax()]) + 1)


def _ends_at_zero(step_T: np.ndarray, y_T: np.ndarray) -> Sign:
    name = "accuracy ends at zero"
    start = since(step_T, y_T < 0.03, 2)
    if start is None or y_T[-1] >= 0.03:
        return absent(name)
    before = step_T[step_T < start]
    return Sign(name, True, f"eval accuracy is {y_T[-1]:.2f} at the end", float(before[-1]) + 1 if len(before) else 1.0)


def _learns_well(y_T: np.ndarray) -> Sign:
    """The sign of health: a good level that is kept."""
    end = float(y_T[-WINDOW:].mean())
    best = float(np.convolve(y_T, np.ones(WINDOW) / WINDOW, "valid").max())
    if end < 0.7 or best - end > 0.03 or end - y_T[0] < 0.1:
        return absent("accuracy learns and stays")
    return Sign("accuracy learns and stays", True, f"eval accuracy rises from {y_T[0]:.2f} to {end:.2f}")


def _training_signs(trace: Trace, step_T: np.ndarray, y_T: np.ndarray, se_T: np.ndarray) -> list[Sign]:
    """Compares accuracy on training items with that on eval items at the same step."""
    step_S, training_S = trace.metrics["step"], trace.metric("train/accuracy")
    if np.isnan(training_S).all():
        return []
    gap_S = _smooth(training_S) - np.interp(step_S, step_T, y_T)
    least = max(5, len(step_S) // 6)
    noise = NOISE * float(se_T.mean())
    above, below = since(step_S, gap_S > 0.12 + noise / 2, least), since(step_S, gap_S < -0.15 - noise / 2, least)
    signs = []
    for name, start, word in (("training above eval", above, "above"), ("training below eval", below, "below")):
        if start is None:
            signs.append(absent(name))
            continue
        gap = float(np.nanmean(gap_S[step_S >= start]))
        words = f"training accuracy lies {100 * abs(gap):.0f} points {word} eval accuracy"
        signs.append(Sign(name, True, words, start))
    return signs


def _smooth(value_S: np.ndarray, width: int = 4) -> np.ndarray:
    padded = np.concatenate([value_S, np.full(width - 1, value_S[-width:].mean())])
    return np.convolve(padded, np.ones(width) / width, "valid")


def _never_right(trace: Trace) -> Sign | None:
    accuracy_S = trace.metric("train/accuracy")
    first = accuracy_S[: max(5, len(accuracy_S) // 4)]
    if np.isnan(first).all():
        return None
    if np.nanmean(first) > 0.03 or (len(trace.evals["step"]) and trace.evals["accuracy"][0] > 0.06):
        return absent("almost nothing right at first")
    words = f"{np.nanmean(first):.1%} of the first training completions are right"
    return Sign("almost nothing right at first", True, words, 1.0)


def _breaks_in_one_step(trace: Trace, is_learnt: bool) -> Sign | None:
    """Most of the accuracy is gone from one step to the next, and not back at once: after a rise, or before any."""
    name = "what was learnt is lost in one step" if is_learnt else "training accuracy breaks before it rises"
    is_known_S = ~np.isnan(trace.metric("train/accuracy"))
    step_S, y_S = trace.metrics["step"][is_known_S], trace.metric("train/accuracy")[is_known_S]
    if len(y_S) < 8:
        return None
    place = int(np.diff(y_S).argmin())
    before, after = float(y_S[max(0, place - 2) : place + 1].mean()), float(y_S[place + 1 : place + 4].mean())
    if before < 0.2 or after > 0.4 * before or y_S[place + 1] > 0.5 * before:
        return absent(name)
    if (before > float(y_S[:3].mean()) + 0.1) is not is_learnt:
        return absent(name)
    words = f"training accuracy falls from {before:.2f} to {after:.2f} in one step"
    return Sign(name, True, words, float(step_S[place + 1]))


def _training_jump(trace: Trace, direction: int) -> Sign | None:
    name = "training accuracy jumps up" if direction > 0 else "training accuracy jumps down"
    jump = largest_jump(trace.metrics["step"], trace.metric("train/accuracy"), direction=direction)
    if jump is None:
        return None
    if direction * jump.size < max(0.2, 4 * jump.noise):
        return absent(name)
    return Sign(name, True, f"training accuracy changes by {points(jump.size)} within a few steps", jump.step)
