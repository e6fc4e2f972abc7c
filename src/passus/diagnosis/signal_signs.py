"""Signs in the signals of training: reward, groups, entropy, gradient, KL, length, and the gap between sampler and trainer.

Shapes: S steps.
"""

from collections.abc import Callable

import numpy as np

from passus.diagnosis.onset import largest_jump, since
from passus.diagnosis.sign import Sign, absent
from passus.diagnosis.trace import Trace

EARLY = 8
"""Steps at the start that later ones are compared with."""
ROUNDING = 1e-6
"""Gap of log-probs, in nats, of two computations in float32."""
FLOAT32_GAP, BF16_GAP, LARGE_GAP = 3e-5, 0.015, 0.5
"""Gaps that the rounding of float32, and of bf16, does not explain, and one that no precision explains."""


def signal_signs(trace: Trace) -> list[Sign]:
    """Returns the signs of all signals that the run records."""
    signs = [groups_without_signal, groups_often_without_signal, reward_never_varies, reward_is_no_accuracy]
    signs += [reward_against_accuracy, entropy_grows, entropy_vanishes, truncated_from_the_start, truncated_suddenly]
    signs += [truncated_more_and_more, length_shrinks, gap_is_small, gap_grows, gap_is_large, kl_grows, gradient_vanishes]
    signs += [gradient_jumps, entropy_jumps, updates_skipped, unparseable_grows, many_clipped]
    return [sign for read in signs if (sign := read(trace)) is not None]


def _known(trace: Trace, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns steps and values of a metric where it is recorded; None with fewer than five values."""
    value_S = trace.metric(name)
    is_known_S = ~np.isnan(value_S)
    if is_known_S.sum() < 5:
        return None
    return trace.metrics["step"][is_known_S], value_S[is_known_S]


def _smooth(value_S: np.ndarray, width: int = 4) -> np.ndarray:
    """Returns the mean of each value and the next ones, so that a state that begins shows in its first step."""
    width = min(width, len(value_S))
    padded = np.concatenate([value_S, np.full(width - 1, value_S[-width:].mean())])
    return np.convolve(padded, np.ones(width) / width, "valid")


def groups_without_signal(trace: Trace) -> Sign | None:
    """Groups without signal are normal where nearly all answers are right, and telling where they are not."""
    known, accuracy = _known(trace, "train/frac_reward_zero_std"), _known(trace, "train/accuracy")
    if known is None or accuracy is None:
        return None
    step_S, share_S = known
    accuracy_S = np.interp(step_S, *accuracy)
    start = since(step_S, (_smooth(share_S) > 0.9) & (accuracy_S > 0.05) & (accuracy_S < 0.9), 6)
    if start is None:
        return absent("groups without signal")
    words = f"in {share_S[step_S >= start].mean():.0%} of groups all rewards are equal"
    return Sign("groups without signal", True, words, start)


def groups_often_without_signal(trace: Trace) -> Sign | None:
    known, accuracy = _known(trace, "train/frac_reward_zero_std"), _known(trace, "train/accuracy")
    if known is None or accuracy is None:
        return None
    early, level = float(known[1][:EARLY].mean()), float(accuracy[1][:EARLY].mean())
    if not 0.25 < early < 0.85 or not 0.2 < level < 0.8:
        return absent("groups often without signal")
    return Sign("groups often without signal", True, f"all rewards are equal in {early:.0%} of the first groups", 1.0)


def reward_never_varies(trace: Trace) -> Sign | None:
    known = _known(trace, "train/reward_std")
    if known is None:
        return None
    if (known[1][:EARLY] > 1e-6).mean() > 0.5:
        return absent("reward never varies")
    return Sign("reward never varies", True, "the rewards of a group are equal in most of the first steps", 1.0)


def reward_is_no_accuracy(trace: Trace) -> Sign | None:
    """With the usual reward of 1 and 0, mean reward and accuracy are one number."""
    reward, accuracy = trace.metric("train/reward"), trace.metric("train/accuracy")
    difference_S = np.abs(reward - accuracy)
    if np.isnan(difference_S).all():
        return None
    start = since(trace.metrics["step"], difference_S > 0.1, 5)
    if start is None:
        return absent("reward is not accuracy")
    return Sign("reward is not accuracy", True, f"mean reward and accuracy differ by {np.nanmean(difference_S):.2f}", start)


def reward_against_accuracy(trace: Trace) -> Sign | None:
    reward, accuracy = _known(trace, "train/reward"), _known(trace, "train/accuracy")
    if reward is None or accuracy is None:
        return None
    third = max(3, len(reward[1]) // 3)
    gains = [float(value_S[-third:].mean() - value_S[:third].mean()) for _, value_S in (reward, accuracy)]
    if gains[0] < 0.05 or gains[1] > 0.02:
        return absent("reward rises without accuracy")
    words = f"reward changes by {gains[0]:+.2f} and training accuracy by {gains[1]:+.2f}"
    return Sign("reward rises without accuracy", True, words, 1.0)


def entropy_grows(trace: Trace) -> Sign | None:
    known = _known(trace, "train/entropy")
    if known is None:
        return None
    step_S, entropy_S = known
    early = float(np.median(entropy_S[:EARLY]))
    start = since(step_S, _smooth(entropy_S) > 1.6 * early + 0.05, 5)
    if start is None:
        return absent("entropy grows")
    return Sign("entropy grows", True, f"entropy rises from {early:.2f} to {entropy_S[-EARLY:].mean():.2f}", start)


def entropy_vanishes(trace: Trace) -> Sign | None:
    """Entropy falls in every run that learns; it is telling while many answers are still wrong."""
    known, accuracy = _known(trace, "train/entropy"), _known(trace, "train/accuracy")
    if known is None or accuracy is None:
        return None
    step_S, entropy_S = known
    early = float(np.median(entropy_S[:EARLY]))
    accuracy_S = np.interp(step_S, *accuracy)
    start = since(step_S, (_smooth(entropy_S) < 0.35 * early) & (_smooth(accuracy_S) < 0.8), 5)
    if start is None:
        return absent("entropy vanishes")
    words = f"entropy falls from {early:.2f} to {entropy_S[-EARLY:].mean():.3f} while answers are still wrong"
    return Sign("entropy vanishes", True, words, start)


def truncated_from_the_start(trace: Trace) -> Sign | None:
    known = _known(trace, "train/truncated")
    if known is None:
        return None
    share = float(known[1][:5].mean())
    if share < 0.15:
        return absent("completions cut off from the start")
    words = f"{share:.0%} of the first completions reach the token limit"
    return Sign("completions cut off from the start", True, words, 1.0)


def truncated_suddenly(trace: Trace) -> Sign | None:
    known = _known(trace, "train/truncated")
    jump = largest_jump(*known, direction=1) if known else None
    if jump is None:
        return None
    if jump.size < 0.4:
        return absent("completions suddenly cut off")
    words = f"the share of completions that reach the token limit jumps by {jump.size:.0%}"
    return Sign("completions suddenly cut off", True, words, jump.step)


def truncated_more_and_more(trace: Trace) -> Sign | None:
    known = _known(trace, "train/truncated")
    if known is None:
        return None
    step_S, share_S = known
    early = float(share_S[:5].mean())
    start = since(step_S, _smooth(share_S) > early + 0.15, 5)
    if start is None:
        return absent("completions cut off more and more")
    words = f"completions that reach the token limit: {early:.0%} at first, {share_S[-5:].mean():.0%} at the end"
    return Sign("completions cut off more and more", True, words, start)


def length_shrinks(trace: Trace) -> Sign | None:
    known = _known(trace, "train/completions/mean_length")
    if known is None:
        return None
    step_S, length_S = known
    early = float(length_S[:5].mean())
    start = since(step_S, _smooth(length_S) < 0.7 * early, 5)
    if start is None:
        return absent("completions get short")
    words = f"completions shrink from {early:.0f} to {length_S[-5:].mean():.0f} tokens"
    return Sign("completions get short", True, words, start)


def _gap(trace: Trace) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Returns steps, gaps, and the gap that rounding explains: the least of this run, where that says it is float32."""
    known = _known(trace, "sampling/sampling_logp_difference/mean")
    if known is None:
        return None
    is_float32 = trace.settings.get("run.dtype") == "float32" or known[1].min() < ROUNDING
    return known[0], known[1], FLOAT32_GAP if is_float32 else BF16_GAP


def gap_is_small(trace: Trace) -> Sign | None:
    """The sign of another precision: a gap that begins at once and stays as it is."""
    return _gap_sign(
        trace, "sampler a little off", lambda first, last, begins: begins and last < 8 * first and last < LARGE_GAP
    )


def gap_grows(trace: Trace) -> Sign | None:
    """The sign of old weights: a gap that grows with every update."""
    return _gap_sign(trace, "sampler drifts from trainer", lambda first, last, begins: last > 8 * first and last > 0.02)


def gap_is_large(trace: Trace) -> Sign | None:
    """The sign of other text: a gap that is large from its first step on."""
    return _gap_sign(trace, "trainer sees other text", lambda first, last, begins: begins and first > LARGE_GAP)


def _gap_sign(trace: Trace, name: str, is_shape: Callable[[float, float, bool], bool]) -> Sign | None:
    """A sign of a certain shape: (gap when it begins, gap at the end, whether it begins from one step to the next)."""
    gap = _gap(trace)
    if gap is None:
        return None
    step_S, gap_S, normal = gap
    start = since(step_S, gap_S > normal, 4)
    if start is None:
        return absent(name)
    later, before = gap_S[step_S >= start], gap_S[step_S < start]
    first, last = float(np.median(later[:3])), float(np.median(later[-5:]))
    begins = not len(before) or float(before[-1]) < first / 5
    if not is_shape(first, last, begins):
        return absent(name)
    size = f"{first:.2g}" if last < 8 * first else f"{first:.2g} to {last:.2g}"
    return Sign(name, True, f"log-probs of sampler and trainer differ by {size} nats per token", start)


def kl_grows(trace: Trace) -> Sign | None:
    known = _known(trace, "train/kl")
    if known is None:
        return None
    step_S, kl_S = known
    third = max(5, len(kl_S) // 4)
    before, last = float(np.median(kl_S[:third])), float(np.median(kl_S[-third:]))
    # How KL grows on its way matters more than where it ends: a policy that learns moves away, and slows down.
    middle = float(np.median(kl_S[len(kl_S) // 2 - third // 2 : len(kl_S) // 2 + third // 2 + 1]))
    is_accelerating = last - middle > 1.5 * max(middle - before, 0.02) and last > 0.1
    if not is_accelerating:
        return absent("KL accelerates")
    jump = since(step_S, kl_S > middle + (last - middle) / 3, 4)
    return Sign("KL accelerates", True, f"KL to the reference grows from {middle:.2f} to {last:.2f}", jump)


def gradient_vanishes(trace: Trace) -> Sign | None:
    known, accuracy = _known(trace, "train/grad_norm"), _known(trace, "train/accuracy")
    if known is None or accuracy is None:
        return None
    step_S, norm_S = known
    accuracy_S = np.interp(step_S, *accuracy)
    start = since(step_S, (norm_S < 1e-6) & (accuracy_S < 0.9), 5)
    if start is None:
        return absent("gradient is zero")
    return Sign("gradient is zero", True, "most updates have no gradient", start)


def gradient_jumps(trace: Trace) -> Sign | None:
    """Steps without a gradient, because all groups agree, are left out."""
    known = _known(trace, "train/grad_norm")
    if known is None:
        return None
    has_signal_S = known[1] > 0.05 * _typical(known[1])
    jump = largest_jump(known[0][has_signal_S], np.log(np.maximum(known[1][has_signal_S], 1e-9)), direction=1)
    if jump is None:
        return None
    if jump.size < 0.7 or jump.size < 4 * jump.noise:
        return absent("gradient jumps")
    return Sign("gradient jumps", True, f"the norm of the gradient grows {np.exp(jump.size):.1f}-fold", jump.step)


def entropy_jumps(trace: Trace) -> Sign | None:
    """One update that goes far too far changes the entropy from one step to the next; training changes it by and by."""
    known = _known(trace, "train/entropy")
    if known is None or len(known[0]) < 2 * EARLY:
        return None
    step_S, log_S = known[0], np.log(np.maximum(known[1], 1e-4))
    change_S = np.abs(np.diff(log_S))
    place = int(change_S.argmax())
    before, after = log_S[max(0, place - 2) : place + 1], log_S[place + 1 : place + 4]
    if abs(after.mean() - before.mean()) < 0.7 or change_S[place] < 0.7 * abs(after.mean() - before.mean()):
        return absent("entropy jumps")
    words = f"entropy changes from {np.exp(log_S[place]):.2g} to {np.exp(log_S[place + 1]):.2g} in one step"
    return Sign("entropy jumps", True, words, float(step_S[place + 1]))


def updates_skipped(trace: Trace) -> Sign | None:
    known = _known(trace, "train/skipped_updates")
    if known is None:
        return None
    if not (known[1] > 0).any():
        return absent("updates skipped")
    first = float(known[0][(known[1] > 0).argmax()])
    return Sign("updates skipped", True, f"{known[1].sum():.0f} updates were not finite and were skipped", first)


def unparseable_grows(trace: Trace) -> Sign | None:
    known = _known(trace, "train/unparseable")
    if known is None:
        return None
    step_S, share_S = known
    early = float(share_S[:5].mean())
    start = since(step_S, _smooth(share_S) > early + 0.1, 5)
    if start is None:
        return absent("answers become unreadable")
    words = f"completions without an answer: {early:.0%} at first, {share_S[-5:].mean():.0%} at the end"
    return Sign("answers become unreadable", True, words, start)


def many_clipped(trace: Trace) -> Sign | None:
    clipped = _known(trace, "train/clip_ratio/region_mean")
    if clipped is None:
        return None
    early = float(clipped[1][:EARLY].mean())
    if early < 0.005:
        return absent("many tokens clipped")
    return Sign("many tokens clipped", True, f"{early:.1%} of the tokens of the first steps are clipped", 1.0)


def _typical(norm_S: np.ndarray) -> float:
    positive = norm_S[norm_S > 0]
    return float(np.median(positive)) if len(positive) else 0.0
