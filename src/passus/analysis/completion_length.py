"""Questions about the length of completions: length and accuracy (A10), token budget and verbosity (A17).

Shapes: T eval points, Q items, K samples per item.
"""

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from passus.analysis.finding import Conclusion, Finding
from passus.analysis.measured_curve import MIN_POINTS, MeasuredCurve
from passus.analysis.wording import supported_if
from passus.formatting import p_value, share
from passus.grading.verdict import Verdict
from passus.runs.run_folder import RunFolder
from passus.stats import coupling, intervals, paired_tests
from passus.stats.clusters import count_units, unit_values

MIN_COUPLING_POINTS = 8


def length_and_accuracy(m: MeasuredCurve) -> Finding | None:
    """Tests whether length and accuracy move together beyond a shared trend, which any two rising curves have (A10)."""
    by_x = {point.x: point.tokens for point in m.curve.points}
    tokens = [by_x[x] for x in m.x_T]  # a point whose items are missing is not measured
    if any(t is None for t in tokens) or len(m.x_T) < MIN_COUPLING_POINTS:
        return None
    tokens_T = np.array(tokens, dtype=float)
    if np.ptp(tokens_T) <= 1e-9 or np.ptp(m.y_T) <= 1e-9:  # rounding is no change
        return None
    c = coupling.length_accuracy_coupling(tokens_T, m.y_T, m.x_T)
    # Both: changes alone still share a trend where two curves rise fast and then slowly, as all of these do.
    # And whatever the form of the trend: on published curves the sign of the rest depends on it.
    same_sign = min(c.partial_low * c.differences, c.partial_high * c.differences) > 0
    p = max(c.differences_p, c.partial_p) if same_sign else 1.0
    verdict = supported_if(p < 0.05)
    if verdict is Conclusion.SUPPORTED:
        meaning = "they move together beyond their trends"
    elif abs(c.level_pearson) > 0.5:
        meaning = "a shared trend, and nothing beyond it is shown"
    else:
        meaning = "no link is shown"
    sentence = f"Length and accuracy correlate at {c.level_pearson:+.2f} in levels, {c.differences:+.2f} in changes "
    sentence += f"({p_value(c.differences_p)}) and {c.partial:+.2f} without their trends ({c.partial_low:+.2f} to "
    sentence += f"{c.partial_high:+.2f} by the form of the trend, {p_value(c.partial_p)}): {meaning}."
    claim = "length and accuracy move together beyond a shared trend"
    return m.finding("A10", claim, verdict, sentence, numbers=asdict(c), p=p)


def token_budget(m: MeasuredCurve) -> Finding | None:
    """Measures the tokens that correct and wrong answers take, and how many would be enough (A17)."""
    if m.items is None:
        return None
    correct_QK, tokens_QK = m.items.correct_TQK[-1], m.items.tokens_TQK[-1]
    if not correct_QK.any() or not tokens_QK.any():  # a reward model writes nothing
        return None
    numbers, usage = _token_usage(m, correct_QK, tokens_QK)
    claim = "wrong answers are longer than correct ones"
    longer_Q, both_Q = _extra_length_when_wrong(correct_QK, tokens_QK)
    if len(longer_Q) < MIN_POINTS:
        sentence = f"{len(longer_Q)} items have both correct and wrong answers: a comparison needs {MIN_POINTS}. {usage}"
        return m.finding("A17", claim, Conclusion.UNTESTABLE, sentence, numbers=numbers)
    clusters = [name for name, both in zip(m.items.cluster_Q, both_Q, strict=False) if both]
    p = paired_tests.sign_flip_test(unit_values(longer_Q, clusters)).p
    difference = f"{abs(longer_Q.mean()):.1f} tokens {'longer' if longer_Q.mean() > 0 else 'shorter'}"
    sentence = f"Wrong answers are {difference} than correct ones within the {len(longer_Q)} items that have both "
    verdict = supported_if(p < 0.05 and float(longer_Q.mean()) > 0)
    return m.finding("A17", claim, verdict, f"{sentence}({p_value(p)}). {usage}", numbers=numbers, p=p)


def _token_usage(m: MeasuredCurve, correct_QK: np.ndarray, tokens_QK: np.ndarray) -> tuple[dict[str, float], str]:
    """Returns the tokens used at the last eval point, in numbers and in words."""
    correct_lengths, wrong_lengths = np.sort(tokens_QK[correct_QK > 0]), tokens_QK[correct_QK == 0]
    accuracy = float(m.y_T[-1])
    clusters = m.items.cluster_Q if m.items is not None else []
    has_spread = count_units(clusters, len(correct_QK)) > 1
    se = intervals.population_se(correct_QK, clusters) if has_spread else 0.0
    target = int(np.ceil((accuracy - se) * correct_QK.size))
    budget = correct_lengths[min(len(correct_lengths) - 1, max(0, target - 1))]
    numbers = {"budget": float(budget), "right": float(correct_lengths.mean())}
    words = f"At the last eval point {budget:.0f} tokens are enough for all but one standard error of {share(accuracy)}. "
    words += f"Correct answers take {correct_lengths.mean():.1f} tokens on average"
    if len(wrong_lengths):
        numbers["wrong"] = float(wrong_lengths.mean())
        words += f", wrong ones {wrong_lengths.mean():.1f}"
    if texts := _correct_completions(m):
        after, repeated = verbosity(texts)
        numbers |= {"after_answer": after, "repeated": repeated}
        words += f". In the text of correct answers {after:.0%} comes after the answer was first stated, and {repeated:.0%} of "
        words += "the 4-grams are repeats"
    return numbers, f"{words}."


def _correct_completions(m: MeasuredCurve) -> list[tuple[str, str]]:
    """Returns the correct completions of the last eval point with the answers extracted from them."""
    step = int(m.x_T[-1])
    if m.curve.origin is None or not (m.curve.origin.path / "items" / f"step-{step:06d}.parquet").exists():
        return []
    benchmark, temperature = m.curve.benchmark.partition(", temperature")[0], m.curve.temperature
    return [
        (row["completion"], row["extracted"])
        for row in RunFolder(m.curve.origin.path).read_rows("items", step)
        if row["completion"] is not None  # other tools may not have kept it
        and row["verdict"] == Verdict.CORRECT
        and row["benchmark"] == benchmark
        and temperature in (None, row["temperature"])
    ]


def verbosity(completions: Sequence[tuple[str, str]]) -> tuple[float, float]:
    """Returns the share of text after the answer was first stated and the share of repeated 4-grams.

    4-grams are over words, and over characters in texts of 8 words or fewer.
    """
    after = length = repeats = total = 0
    for text, answer in completions:
        place = text.find(answer) if answer else -1
        length += len(text)
        after += max(0, len(text) - place - len(answer) - 1) if place >= 0 else 0  # a closing brace belongs to the answer
        parts = text.split() if len(text.split()) > 8 else list(text)
        grams = [tuple(parts[i : i + 4]) for i in range(len(parts) - 3)]
        total += len(grams)
        repeats += len(grams) - len(set(grams))
    return after / max(1, length), repeats / max(1, total)


def _extra_length_when_wrong(correct_QK: np.ndarray, tokens_QK: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean length of wrong minus correct samples within each item that has both, and which items have both. Hard
    items are longer anyway."""
    correct_Q, wrong_Q = correct_QK.sum(1), (1 - correct_QK).sum(1)
    both_Q = (correct_Q > 0) & (wrong_Q > 0)
    wrong_length = (tokens_QK * (1 - correct_QK)).sum(1)[both_Q] / wrong_Q[both_Q]
    return np.asarray(wrong_length - (tokens_QK * correct_QK).sum(1)[both_Q] / correct_Q[both_Q]), both_Q
