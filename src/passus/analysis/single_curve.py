"""What one curve does: whether it rises, where it stops rising, falls, dips, scatters, and what it cost.

Two kinds of noise. "Problems like these" asks what other items would give, "these items" what other samples of the same items
would; eval points of one run share their items, so everything here that compares them rests on the second.

Shapes: T eval points, Q items, K samples an item.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from passus.analysis.finding import PLAUSIBLE, Finding, Verdict
from passus.formatting import between, p_value, points, share, step
from passus.grading.grade import Verdict as Grade
from passus.runs.curves import Curve, Items
from passus.runs.run_folder import RunFolder
from passus.stats import curve_tests, intervals
from passus.stats.curve_tests import MARGIN

WINDOW = 3
"""Eval points whose mean stands for the end of a curve."""
FEWEST = 5
"""Points of a curve that can be said to have a shape."""
COUPLED = 8
CLEAR = 0.001
POWER = 1.645 + 0.842
"""Standard errors of a drop that is found in four of five cases, one-sided."""


def last(x: Sequence[float]) -> list[float]:
    """The eval points that stand for the end: three, where there are six or more, else one."""
    return list(x)[-(WINDOW if len(x) >= 2 * WINDOW else 1) :]


@dataclass
class Measured:
    """A curve without its gaps, and the noise of its points where that is known."""

    curve: Curve
    name: str
    x_T: np.ndarray
    y_T: np.ndarray
    se_T: np.ndarray | None
    """Of these items."""
    items: Items | None
    """Of the same eval points."""

    def finding(self, id: str, claim: str, verdict: Verdict, said: str, **given) -> Finding:
        level = "L2" if self.items is not None else "L1" if self.se_T is not None else "L0"
        return Finding(id, self.name, self.curve.benchmark, claim, verdict, level, said, **given)

    @property
    def window(self) -> int:
        return len(last(self.x_T.tolist()))

    @property
    def start(self) -> float:
        return float(self.y_T[0])

    @property
    def end(self) -> float:
        return float(self.y_T[-self.window :].mean())

    @property
    def end_words(self) -> str:
        return "over the last three eval points" if self.window > 1 else "at the last eval point"


def _noise(items: Items, correct_QK: np.ndarray) -> float:
    """The standard error over these very items, at one eval point."""
    return intervals.chosen_set_se(correct_QK[:, 0], items.choices) if items.choices else intervals.fixed_set_se(correct_QK)


def measured(curve: Curve, name: str) -> Measured:
    known_T = ~np.isnan(curve.y_T)
    x_T, y_T = curve.x_T[known_T], curve.y_T[known_T]
    items = curve.items
    if items is not None and 2 * sum(has_T := np.isin(x_T, items.steps_T)) >= len(x_T) > 0:
        x_T, y_T = x_T[has_T], y_T[has_T]  # eval points whose rows are lost are left out: the others can be paired
        items = items.at(items.item_Q, [int(x) for x in x_T])
        smallest = 1 / items.correct_TQK[0].size  # one sample of all: nothing is known better than that
        se_T = np.array([max(_noise(items, correct_QK), smallest) for correct_QK in items.correct_TQK])
        return Measured(curve, name, x_T, y_T, se_T, items)
    if curve.n:
        size = curve.n * (curve.k or 1)
        near_T = (y_T * size + 1) / (size + 2)  # 0 and 1 are not without noise
        return Measured(curve, name, x_T, y_T, np.sqrt(near_T * (1 - near_T) / size), None)
    return Measured(curve, name, x_T, y_T, None, None)


def findings(m: Measured) -> list[Finding]:
    """All that can be said of it by itself."""
    if len(m.x_T) < 2:
        said = f"{len(m.x_T)} eval point" + (f": {share(m.start)}" if len(m.x_T) else "s")
        return [m.finding("A1", "accuracy rises", Verdict.UNTESTABLE, f"{said}. A curve needs two.")]
    asked = [
        improvement, plateau, degradation, dips, scatter, speed, coupling, stability, early_dip, best_checkpoint, budget,
        solved,
    ]  # fmt: skip
    if m.curve.reader:  # the length of a reader's answer says nothing
        asked = [ask for ask in asked if ask not in (coupling, budget)]
    return [found for ask in asked if (found := ask(m)) is not None]


def improvement(m: Measured) -> Finding:
    """A1, and the test of the first eval point against the end."""
    gain = m.end - m.start
    said = f"from {share(m.start)} to {share(m.end)} {m.end_words}, {points(gain)}"
    claim = "accuracy rises"
    if m.items is not None:
        differences_Q = m.items.means_TQ[-m.window :].mean(0) - m.items.means_TQ[0]
        test, over = intervals.sign_flip(differences_Q), intervals.paired_bootstrap(differences_Q[:, None])
        power = intervals.smallest_paired_effect(differences_Q)
        verdict = decide(test.p, gain, power)
        said += f" {between(over.low, over.high)}, {p_value(test.p)}, {len(differences_Q)} items"
        return m.finding("A1", claim, verdict, said, numbers={"gain": gain}, low=over.low, high=over.high, p=test.p)
    if m.se_T is not None:
        return _improvement_of_points(m, claim, said, gain)
    return m.finding("A1", claim, Verdict.UNTESTABLE, f"{said}; the number of items is not known", numbers={"gain": gain})


def _improvement_of_points(m: Measured, claim: str, said: str, gain: float) -> Finding:
    """Without the items: the first third of the eval points against the last. Samples of items that stay the same scatter less
    than p (1 - p) / n, which is taken here, so this is careful."""
    assert m.se_T is not None
    third = max(1, len(m.y_T) // 3)
    first, last = m.y_T[:third], m.y_T[-third:]
    se = float(np.sqrt((m.se_T[:third] ** 2).sum() + (m.se_T[-third:] ** 2).sum())) / third
    rise = float(last.mean() - first.mean())
    p = intervals.normal_p(rise / se)
    many = f"first {third} eval points to last {third}" if third > 1 else "first eval point to last"
    said += f"; {many} {points(rise)}, {p_value(p)} for these {m.curve.n} items"
    verdict = decide(p, rise, POWER * se)
    return m.finding("A1", claim, verdict, said, numbers={"gain": gain, "thirds": rise}, p=p)


def decide(p: float, effect: float, power: float) -> Verdict:
    """Of the claim that an effect is above 0, where `power` is the smallest that would be seen in four of five cases.

    Who can only see large effects and sees one has mostly seen luck, unless it is very clear."""
    if power <= PLAUSIBLE:
        return Verdict.SUPPORTED if p < 0.05 and effect > 0 else Verdict.NOT_SUPPORTED
    return Verdict.SUPPORTED if p < CLEAR and effect >= power else Verdict.UNDERPOWERED


def plateau(m: Measured) -> Finding:
    """A2: not that no slope was found, but that the slope is shown to be small."""
    claim = "it reaches a plateau"
    if len(m.x_T) < FEWEST:
        return m.finding("A2", claim, Verdict.UNTESTABLE, f"{len(m.x_T)} eval points; {FEWEST} are needed")
    stretch = float(m.x_T[-1] - m.x_T[0]) / 6
    start = curve_tests.plateau_start(m.x_T, m.y_T, MARGIN / stretch)
    fit = curve_tests.saturation(m.x_T, m.y_T)
    numbers, tail = {}, ""
    if fit and fit.aicc_exponential < fit.aicc_linear and 3 * fit.tau < 2 * (m.x_T[-1] - m.x_T[0]):
        numbers = {"ceiling": fit.a, "tau": fit.tau}
        there = step(round(float(m.x_T[0]) + 3 * fit.tau, 1))
        tail = f"; as a saturating curve it tends to {share(min(1.0, fit.a))}, 95 % of the way by {there}"
    rule = f"to within a point in {step(round(stretch, 2))}"
    if start is None:
        half = len(m.x_T) // 2
        slope = curve_tests.equivalent_slope(m.x_T[-half:], m.y_T[-half:], MARGIN / stretch)
        flat = not (slope.low > 0 or slope.high < 0)  # also where too few points are left to say
        verdict = Verdict.UNDERPOWERED if flat else Verdict.NOT_SUPPORTED
        why = "too few or too noisy points to show that it is flat" if flat else "it still moves at the end"
        return m.finding("A2", claim, verdict, f"{why}{tail}", numbers=numbers)
    numbers["start"] = float(m.x_T[start])
    since = f"from {step(m.x_T[start])} on" if start else "from the first eval point on"
    return m.finding("A2", claim, Verdict.SUPPORTED, f"flat {since}, {rule}{tail if start else ''}", numbers=numbers)


def degradation(m: Measured) -> Finding:
    """A3: a fall from the best stretch to the end that noise would not make."""
    claim = "accuracy falls late"
    if len(m.x_T) < 2 * WINDOW:
        return m.finding("A3", claim, Verdict.UNTESTABLE, f"{len(m.x_T)} eval points; {2 * WINDOW} are needed")
    means = np.convolve(m.y_T, np.ones(WINDOW) / WINDOW, "valid")
    best = int(means[:-WINDOW].argmax()) if len(means) > WINDOW else 0
    drop = float(means[best] - means[-1])
    around = f"{step(m.x_T[best])} to {step(m.x_T[best + WINDOW - 1])}"
    if m.se_T is None:
        said = f"best three eval points ({around}) less last three: {points(drop)}; their noise is not known"
        return m.finding("A3", claim, Verdict.UNTESTABLE, said, numbers={"drop": drop})
    test = curve_tests.monotone_against_unimodal(m.y_T, m.se_T)
    power = POWER * float(np.sqrt(2 / WINDOW) * m.se_T.mean())
    numbers = {"drop": drop, "smallest": power, "before": float(m.x_T[curve_tests.fall_begins(m.y_T, m.se_T, best)])}
    low = high = None
    if m.items is not None and len(m.items.item_Q) >= 4:
        over = curve_tests.crossfit_drop(m.items.means_TQ, WINDOW)
        drop, low, high = over.mean, over.low, over.high
        numbers["drop"] = drop
        how = "the best chosen on one half of the items and measured on the other"
        said = f"best three eval points less last three {points(drop)} {between(low, high)}, {p_value(test.p)}; {how}"
    else:
        said = f"best three eval points ({around}) less last three: {points(drop)}, too large by selection, {p_value(test.p)}"
    verdict = decide(test.p, drop - MARGIN, power)
    if verdict is Verdict.SUPPORTED and low is not None and low <= 0:
        verdict = Verdict.NOT_SUPPORTED
    if verdict is Verdict.UNDERPOWERED:
        said += f"; a fall of less than {100 * power:.0f} points could not be seen"
    return m.finding("A3", claim, verdict, said, numbers=numbers, low=low, high=high, p=test.p)


def dips(m: Measured) -> Finding:
    """A4: single points off the level of their neighbours."""
    claim = "single eval points stand out"
    if m.se_T is None or len(m.x_T) < FEWEST:
        why = "the noise of the points is not known" if m.se_T is None else f"{len(m.x_T)} eval points"
        return m.finding("A4", claim, Verdict.UNTESTABLE, why)
    found = curve_tests.dips(m.y_T, m.se_T)
    if not found:
        return m.finding("A4", claim, Verdict.NOT_SUPPORTED, "no point is off its neighbours by more than noise")
    kinds = [f"{'dip' if z < 0 else 'spike'} at {step(m.x_T[i])} (z = {z:.1f})" for i, z in found]
    largest = max(found, key=lambda one: abs(one[1]))
    return m.finding("A4", claim, Verdict.SUPPORTED, "; ".join(kinds), numbers={"x": float(m.x_T[largest[0]]), "z": largest[1]})


def scatter(m: Measured) -> Finding:
    """A5: around a smooth curve."""
    claim = "it departs from a smooth curve by more than sampling explains"
    if m.se_T is None or len(m.x_T) < COUPLED:
        why = "the noise of the points is not known" if m.se_T is None else f"{len(m.x_T)} eval points; {COUPLED} are needed"
        return m.finding("A5", claim, Verdict.UNTESTABLE, why)
    ratio, test = curve_tests.overdispersion(m.y_T, m.y_T - curve_tests.without_trend(m.x_T, m.y_T), m.se_T**2, 4)
    said = f"variance around a cubic or saturating curve is {ratio:.2f} times that of sampling, {p_value(test.p)}"
    if m.items is None and ratio < 1:
        said += "; below 1 is to be expected where the items stay the same"
    verdict = Verdict.SUPPORTED if test.p < 0.05 else Verdict.NOT_SUPPORTED
    return m.finding("A5", claim, verdict, said, numbers={"ratio": ratio}, p=test.p)


def speed(m: Measured) -> Finding | None:
    """A8: when half and nine tenths of the gain are reached, on the curve without its falls."""
    if len(m.x_T) < FEWEST:
        return None
    claim, area = "it learns at a speed that can be told", curve_tests.area(m.x_T, m.y_T)
    weights_T = None if m.se_T is None else m.se_T**-2
    times = {q: curve_tests.time_to(m.x_T, m.y_T, q, weights_T) for q in (0.5, 0.9)}
    if m.end - m.start < MARGIN or None in times.values():
        return m.finding(
            "A8", claim, Verdict.UNTESTABLE, f"no gain to time; mean over the run {share(area)}", numbers={"area": area}
        )
    half, most = (float(times[q] or 0) for q in (0.5, 0.9))
    numbers = {"half": half, "nine_tenths": most, "area": area}
    low = high = None
    spread = ""
    if m.items is not None:
        low, high = _half_interval(m)
        spread = f" ({step(round(low, 1))} to {step(round(high, 1))} with other items)"
    said = f"half of the gain by {step(round(half, 1))}{spread}, nine tenths by {step(round(most, 1))}"
    spent = _spent(m, half)
    if spent:
        numbers |= {"half_tokens": spent[0], "half_seconds": spent[1]}
        said += f"; for that half, {spent[0] / 1000:,.0f}k training tokens and {spent[1]:.0f} s"
    verdict = Verdict.SUPPORTED if m.se_T is not None else Verdict.UNTESTABLE
    return m.finding("A8", claim, verdict, f"{said}; mean over the run {share(area)}", numbers=numbers, low=low, high=high)


def _spent(m: Measured, until: float) -> tuple[float, float] | None:
    """Training tokens and seconds up to a step, where the run's own record is there."""
    if m.curve.origin is None:
        return None
    rows = [row for row in RunFolder(m.curve.origin.path).metrics() if "train/num_tokens" in row and "time/elapsed" in row]
    if not rows:
        return None
    steps = [0, *(row["step"] for row in rows)]
    tokens, seconds = ([0.0, *(row[name] for row in rows)] for name in ("train/num_tokens", "time/elapsed"))
    return float(np.interp(until, steps, tokens)), float(np.interp(until, steps, seconds))


def _half_interval(m: Measured, resamples: int = 400) -> tuple[float, float]:
    assert m.items is not None
    weights_RQ = intervals.bootstrap_weights([len(m.items.item_Q)], resamples, seed=0)
    times_R = curve_tests.times_to(m.x_T, weights_RQ @ m.items.means_TQ.T, 0.5)
    return float(np.nanquantile(times_R, 0.025)), float(np.nanquantile(times_R, 0.975))


def coupling(m: Measured) -> Finding | None:
    """A10: two curves that both rise go together whatever they are; what is left without the trend is the question."""
    tokens = [p.tokens for p in m.curve.points if p.y == p.y]
    if any(t is None for t in tokens) or len(m.x_T) < COUPLED:
        return None
    tokens_T = np.array(tokens, dtype=float)
    if tokens_T.std() == 0 or m.y_T.std() == 0:
        return None
    found = curve_tests.coupling(tokens_T, m.y_T, m.x_T)
    # Both: changes alone still share a trend where two curves rise fast and then slowly, as all of these do.
    same = found["partial"] * found["differences"] > 0
    p = max(found["differences_p"], found["partial_p"]) if same else 1.0
    rest = f"of what is left without their trends {found['partial']:+.2f} ({p_value(found['partial_p'])})"
    levels, changes = f"{found['level_pearson']:+.2f}", f"{found['differences']:+.2f} ({p_value(found['differences_p'])})"
    said = f"correlation of levels {levels}, of changes {changes}, {rest}"
    if p >= 0.05 and abs(found["level_pearson"]) > 0.5:
        said = f"a shared trend (correlation of levels {levels}), nothing shown beyond it: of changes {changes}, {rest}"
    numbers = {key: float(value) for key, value in found.items()}
    verdict = Verdict.SUPPORTED if p < 0.05 else Verdict.NOT_SUPPORTED
    return m.finding("A10", "length and accuracy move together beyond a shared trend", verdict, said, numbers=numbers, p=p)


def stability(m: Measured) -> Finding | None:
    """A11: the largest fall, and what is left of the changes around the trend when sampling noise is taken off."""
    if m.se_T is None or len(m.x_T) < FEWEST:
        return None
    excess, fall = curve_tests.excess_deviation(curve_tests.without_trend(m.x_T, m.y_T), m.se_T), curve_tests.drawdown(m.y_T)
    p = curve_tests.drawdown_test(m.y_T, m.se_T, resamples=1000).p
    said = f"largest fall {100 * fall:.1f} points ({p_value(p)} under noise alone), worst of the last three eval points "
    said += (
        f"{share(float(m.y_T[-WINDOW:].min()))}; around its trend it moves by {100 * excess:.1f} points beyond sampling noise"
    )
    verdict = Verdict.SUPPORTED if p < 0.05 else Verdict.NOT_SUPPORTED
    return m.finding("A11", "it is unstable", verdict, said, numbers={"excess": excess, "drawdown": fall}, p=p)


def early_dip(m: Measured) -> Finding | None:
    """A13: below its start in the first third, above it later."""
    third = -(-len(m.x_T) // 3)
    if m.items is None or third < 2:
        return None
    weights_RQ = intervals.bootstrap_weights([len(m.items.item_Q)], 2000, seed=0)
    curves_RT = weights_RQ @ m.items.means_TQ.T
    chance, falls = surely_below(curves_RT[:, 1 : third + 1] - curves_RT[:, :1])
    lowest = float((m.y_T[1 : third + 1] - m.start).min())
    recovers = bool(m.end > m.start)
    verdict = Verdict.SUPPORTED if falls and recovers else Verdict.NOT_SUPPORTED
    said = f"lowest of the first third {points(lowest)} from the start; more than a point below it in {chance:.0%} of resamples"
    return m.finding(
        "A13", "it falls first and rises later", verdict, said, numbers={"lowest": lowest, "chance": float(chance)}
    )


def surely_below(changes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of changes [resamples, ..., eval points]: in what share of resamples the surest is a fall that matters, and whether that
    is enough. One of several points always is the lowest, so each has to be surer than one alone would."""
    chance = (changes < -MARGIN).mean(0).max(-1)
    return chance, chance > 1 - 0.025 / changes.shape[-1]


def best_checkpoint(m: Measured) -> Finding | None:
    """A14: the largest of many noisy values is too large."""
    if m.se_T is None or len(m.x_T) < 3:
        return None
    best = int(m.y_T.argmax())
    luck = curve_tests.expected_luck(len(m.y_T)) * float(m.se_T.mean())
    said = (
        f"largest {share(float(m.y_T[best]))} at {step(m.x_T[best])}, where the luckiest of {len(m.y_T)} equal ones would be "
    )
    said += f"{100 * luck:.1f} points too high"
    numbers = {"best": float(m.y_T[best]), "x": float(m.x_T[best]), "luck": luck, "end": m.end}
    ahead = float(m.y_T[best]) - m.end
    if m.items is not None and len(m.items.item_Q) >= 4:
        at, honest = curve_tests.crossfit_best(m.items.means_TQ)
        numbers |= {"honest": honest, "chosen": float(m.x_T[at])}
        ahead = honest - m.end
        said += f"; chosen on one half of the items and scored on the other {share(honest)}"
    said += f", against {share(m.end)} {m.end_words}"
    verdict = Verdict.SUPPORTED if ahead > max(luck, MARGIN) else Verdict.NOT_SUPPORTED
    return m.finding("A14", "a checkpoint before the last is better", verdict, said, numbers=numbers)


def budget(m: Measured) -> Finding | None:
    """A17: what accuracy would be if longer completions counted as wrong."""
    if m.items is None:
        return None
    correct_QK, tokens_QK = m.items.correct_TQK[-1], m.items.tokens_TQK[-1]
    if not correct_QK.any() or not tokens_QK.any():  # a reward model writes nothing
        return None
    right = np.sort(tokens_QK[correct_QK > 0])
    enough = float(m.y_T[-1]) - intervals.population_se(correct_QK)
    needed = right[min(len(right) - 1, max(0, int(np.ceil(enough * correct_QK.size)) - 1))]
    wrong = tokens_QK[correct_QK == 0]
    said = (
        f"at the last eval point, {needed:.0f} tokens are enough for all but one standard error of {share(float(m.y_T[-1]))}; "
    )
    said += f"right answers take {right.mean():.1f} on average" + (f", wrong ones {wrong.mean():.1f}" if len(wrong) else "")
    numbers = {"budget": float(needed), "right": float(right.mean())} | ({"wrong": float(wrong.mean())} if len(wrong) else {})
    if texts := _right_texts(m):
        after, again = verbosity(texts)
        numbers |= {"after_answer": after, "repeated": again}
        said += f"; of the right ones' text {after:.0%} comes after the answer was first stated, and {again:.0%} of its "
        said += "4-grams are repeats"
    longer_Q = _longer_when_wrong(correct_QK, tokens_QK)
    claim = "wrong answers are the longer ones"
    if len(longer_Q) < FEWEST:
        return m.finding("A17", claim, Verdict.UNTESTABLE, said, numbers=numbers)
    p = intervals.sign_flip(longer_Q).p
    by = f"{abs(longer_Q.mean()):.1f} tokens {'longer' if longer_Q.mean() > 0 else 'shorter'}"
    said += f"; within the {len(longer_Q)} items that have both, wrong ones are {by}, {p_value(p)}"
    verdict = Verdict.SUPPORTED if p < 0.05 and longer_Q.mean() > 0 else Verdict.NOT_SUPPORTED
    return m.finding("A17", claim, verdict, said, numbers=numbers, p=p)


def _right_texts(m: Measured) -> list[tuple[str, str]]:
    """Completions that are right at the last eval point, with the answers that were found in them."""
    step = int(m.x_T[-1])
    if m.curve.origin is None or not (m.curve.origin.path / "items" / f"step-{step:06d}.parquet").exists():
        return []
    benchmark, temperature = m.curve.benchmark.partition(", temperature")[0], m.curve.temperature
    return [
        (row["completion"], row["extracted"])
        for row in RunFolder(m.curve.origin.path).read_rows("items", step)
        if row["verdict"] == Grade.CORRECT and row["benchmark"] == benchmark and temperature in (None, row["temperature"])
    ]


def verbosity(texts: Sequence[tuple[str, str]]) -> tuple[float, float]:
    """(share of text after the answer was first stated, share of 4-grams that were there before); words, else characters."""
    after = length = repeats = grams = 0
    for text, answer in texts:
        place = text.find(answer) if answer else -1
        length += len(text)
        after += max(0, len(text) - place - len(answer) - 1) if place >= 0 else 0  # a closing brace belongs to the answer
        parts = text.split() if len(text.split()) > 8 else list(text)
        found = [tuple(parts[i : i + 4]) for i in range(len(parts) - 3)]
        grams += len(found)
        repeats += len(found) - len(set(found))
    return after / max(1, length), repeats / max(1, grams)


def _longer_when_wrong(correct_QK: np.ndarray, tokens_QK: np.ndarray) -> np.ndarray:
    """Of the items that have both: mean length of wrong samples less that of right ones. Hard items are longer anyway."""
    right_Q, wrong_Q = correct_QK.sum(1), (1 - correct_QK).sum(1)
    both = (right_Q > 0) & (wrong_Q > 0)
    wrong = (tokens_QK * (1 - correct_QK)).sum(1)[both] / wrong_Q[both]
    return wrong - (tokens_QK * correct_QK).sum(1)[both] / right_Q[both]


def solved(m: Measured) -> Finding | None:
    """A18: items that most samples solve, at the first eval point and at the last."""
    if m.items is None:
        return None
    solved_TQ = m.items.means_TQ > 0.5
    first, last, ever = solved_TQ[0], solved_TQ[-1], solved_TQ.any(0)
    gained, lost = int((~first & last).sum()), int((first & ~last).sum())
    never, forgotten = int((~ever).sum()), int((ever & ~last).sum())
    said = f"of {len(first)} items {gained} newly solved and {lost} lost from first to last; {never} never solved, "
    said += f"{forgotten} solved at some time and not at the end"
    test = intervals.mcnemar(last, first)
    verdict = Verdict.SUPPORTED if test.p < 0.05 and gained > lost else Verdict.NOT_SUPPORTED
    numbers = {"gained": gained, "lost": lost, "never": never, "forgotten": forgotten}
    return m.finding("A18", "more items are solved than lost", verdict, f"{said}, {p_value(test.p)}", numbers=numbers, p=test.p)
