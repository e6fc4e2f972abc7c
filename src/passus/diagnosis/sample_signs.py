"""Signs in training samples and eval items, which means cannot show."""

import numpy as np

from passus.diagnosis.onset import since
from passus.diagnosis.sign import Sign, absent
from passus.diagnosis.trace import Trace

WINDOW = 5
"""Files of samples that are averaged."""


def sample_signs(trace: Trace) -> list[Sign]:
    """Returns the signs in samples and in items; those that the run has no data for are left out."""
    signs = [wrong_answers_accepted, answers_in_prompts, rewards_partly_wrong, rewards_at_random, rewards_reversed]
    signs += [
        copies_in_groups,
        goes_on_after_the_answer,
        prompts_end_otherwise,
        items_repeat,
        reward_is_length,
        nothing_changes,
        little_changes,
    ]
    return [sign for read in signs if (sign := read(trace)) is not None]


def _fact(trace: Trace, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns steps and values of a fact where it is known; None where it never is."""
    if name not in trace.samples:
        return None
    is_known_R = ~np.isnan(trace.samples[name])
    if not is_known_R.any():
        return None
    return trace.samples["step"][is_known_R], trace.samples[name][is_known_R]


def _smooth(value_R: np.ndarray) -> np.ndarray:
    """Returns the mean of each value and the next ones, so that a state that begins shows in its first step."""
    padded = np.concatenate([value_R, np.full(WINDOW - 1, value_R[-1])])
    return np.convolve(padded, np.ones(WINDOW) / WINDOW, "valid")


def _lasting(trace: Trace, name: str, fact: str, low: float, high: float, words: str) -> Sign | None:
    """The sign that a fact lies within bounds from some step on."""
    known = _fact(trace, fact)
    if known is None:
        return None
    step_R, value_R = known
    smooth_R = _smooth(value_R)
    start = since(step_R, (smooth_R >= low) & (smooth_R <= high), min(WINDOW, len(step_R)))
    if start is None:
        return absent(name)
    is_inside_R = (step_R >= start) & (value_R >= low) & (value_R <= high)
    first = float(step_R[is_inside_R.argmax()]) if is_inside_R.any() else start
    return Sign(name, True, words.format(float(value_R[step_R >= first].mean())), first)


def wrong_answers_accepted(trace: Trace) -> Sign | None:
    """A few errors would be a matter of equality; a verifier at fault accepts them again and again."""
    name, known = "wrong answers accepted", _fact(trace, "wrong_accepted")
    if known is None:
        return None
    step_R, value_R = known
    is_wrong_R = value_R > 0
    if is_wrong_R.sum() < 3 or value_R.mean() < 0.002:
        return absent(name)
    first = float(step_R[is_wrong_R.argmax()])
    share = float(value_R[step_R >= first].mean())
    return Sign(name, True, f"{share:.0%} of the answers judged correct differ from the gold", first)


def answers_in_prompts(trace: Trace) -> Sign | None:
    return _lasting(trace, "answers in prompts", "gold_in_prompt", 0.6, 1.0, "the gold is in {:.0%} of the training prompts")


def rewards_partly_wrong(trace: Trace) -> Sign | None:
    return _order_sign(trace, "rewards partly wrong", 0.57, 0.97)


def rewards_at_random(trace: Trace) -> Sign | None:
    return _order_sign(trace, "rewards at random", 0.43, 0.57)


def rewards_reversed(trace: Trace) -> Sign | None:
    return _order_sign(trace, "rewards reversed", 0.0, 0.25)


def _order_sign(trace: Trace, name: str, low: float, high: float) -> Sign | None:
    """The sign that rewards follow the verdicts only so far, by the mean over all steps since they cease to follow them.

    A step has a few dozen pairs, so one step alone does not tell noise from chance.
    """
    known = _fact(trace, "reward_order")
    if known is None:
        return None
    step_R, order_R = known
    start = since(step_R, _smooth(order_R) < 0.97, min(WINDOW, len(step_R)))
    if start is None:
        return absent(name)
    is_off_R = (step_R >= start) & (order_R < 0.97)
    first = float(step_R[is_off_R.argmax()]) if is_off_R.any() else start
    order = float(order_R[step_R >= first].mean())
    if not low <= order < high:
        return absent(name)
    words = f"a correct completion has more reward than a wrong one in {order:.0%} of pairs"
    return Sign(name, True, words, first)


def copies_in_groups(trace: Trace) -> Sign | None:
    """A policy that is sure of itself repeats itself in many groups, and hardly ever in all of them."""
    words = "all completions of a group are equal in {:.0%} of groups"
    return _lasting(trace, "copies in groups", "equal_completions", 0.99, 1.0, words)


def goes_on_after_the_answer(trace: Trace) -> Sign | None:
    words = "{:.0%} of the completions that are cut off contain an answer"
    return _lasting(trace, "completions go on after the answer", "answered_before_cut", 0.6, 1.0, words)


def prompts_end_otherwise(trace: Trace) -> Sign | None:
    """Prompts that all ended alike end otherwise from some step on, or never end alike where evaluation goes better."""
    name, usual, common = "prompts end in another way", _fact(trace, "usual_ending"), _fact(trace, "common_ending")
    if usual is None or common is None:
        return None
    step_R, value_R = usual
    start = since(step_R, value_R < 0.5, min(WINDOW, len(step_R)))
    if start is not None and start > step_R[0]:
        return Sign(name, True, f"training prompts end otherwise from step {start:.0f} on", start)
    accuracy_S, accuracy_T = trace.metric("train/accuracy"), trace.evals["accuracy"]
    is_known = np.isfinite(accuracy_S).any() and np.isfinite(accuracy_T).any()
    better = float(np.nanmean(accuracy_T) - np.nanmean(accuracy_S)) if is_known else 0.0
    if np.median(common[1]) > 0.7 or better < 0.15:
        return absent(name)
    return Sign(
        name, True, "training prompts have no common ending, and evaluation goes better than training", float(step_R[0])
    )


def items_repeat(trace: Trace) -> Sign | None:
    known = _fact(trace, "draws_per_item")
    if known is None:
        return None
    step_R, value_R = known
    if value_R[-1] < 5:
        return absent("items repeat")
    start = float(step_R[(value_R >= 3).argmax()])
    return Sign("items repeat", True, f"each training item was drawn {value_R[-1]:.0f} times by step {step_R[-1]:.0f}", start)


def reward_is_length(trace: Trace) -> Sign | None:
    known = _fact(trace, "reward_per_length")
    if known is None:
        return None
    step_R, value_R = known
    correlation = float(np.median(value_R))
    if abs(correlation) < 0.66 or (np.sign(value_R) == np.sign(correlation)).mean() < 0.9:
        return absent("reward is length")
    return Sign("reward is length", True, f"within groups, reward and length correlate at {correlation:+.2f}", float(step_R[0]))


def nothing_changes(trace: Trace) -> Sign | None:
    """Weights that do not change at all give the same completions at every eval point, because the noise is the same."""
    return _unchanged(trace, "nothing changes", 1.0, "all eval completions equal those of the eval point before")


def little_changes(trace: Trace) -> Sign | None:
    return _unchanged(trace, "little changes", 0.94, "{:.0%} of eval completions equal those of the eval point before")


def _unchanged(trace: Trace, name: str, least: float, words: str) -> Sign | None:
    if "unchanged" not in trace.evals or np.isnan(trace.evals["unchanged"]).all():
        return None
    step_T, share_T, accuracy_T = (trace.evals[key] for key in ("step", "unchanged", "accuracy"))
    is_known_T = ~np.isnan(share_T)
    step_T, share_T, accuracy_T = step_T[is_known_T], share_T[is_known_T], accuracy_T[is_known_T]
    # Where nearly all answers are right there is little left to change.
    start = since(step_T, (share_T >= least) & (accuracy_T < 0.9), 3)
    if start is None:
        return absent(name)
    before = step_T[step_T < start]
    first = float(before[-1]) + 1 if len(before) else 1.0
    return Sign(name, True, words.format(float(share_T[step_T >= start].mean())), first)
