"""Lines against each other: which finishes higher, per benchmark and overall (A6), tiers (A7), and common start (A9).

Shapes: M lines, R resamples, Q items.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from passus.analysis.compared_line import ComparedLine, common_points, final_item_means, same_items
from passus.analysis.end_difference import Difference, end_difference, overall_difference
from passus.analysis.finding import OVERALL, Conclusion, Finding, conclude
from passus.analysis.wording import amount, ci, supported_if
from passus.formatting import p_value, points, share
from passus.stats import multiplicity, paired_tests, ranking, unpaired_tests


def findings(benchmarks: Sequence[list[ComparedLine]]) -> list[Finding]:
    """Compares all pairs of lines on each benchmark, and overall."""
    results: list[Finding] = []
    for lines in benchmarks:
        if len(lines) < 2:
            continue
        if not lines[0].steps:
            names, claim = ", ".join(line.name for line in lines), "the lines end at different accuracies"
            sentence = "The lines have no eval point in common."
            results.append(Finding("A6", names, lines[0].benchmark, claim, Conclusion.UNTESTABLE, "L0", sentence))
            continue
        differences = {(a.name, b.name): end_difference(a, b) for a, b in combinations(lines, 2)}
        results += [comparison(a, b, differences[a.name, b.name]) for a, b in combinations(lines, 2)]
        results += [tiers(lines, differences), common_start(lines)]
    return results + overall_comparisons(benchmarks)


def comparison(a: ComparedLine, b: ComparedLine, difference: Difference) -> Finding:
    """Compares two lines on one benchmark (A6)."""
    names, claim = f"{a.name} and {b.name}", f"“{a.name}” and “{b.name}” end at different accuracies"
    numbers = {"difference": difference.mean}
    if difference.p != difference.p:
        reason = "Their noise is unknown." if difference.level == "L0" else "Seeds that all end alike leave no spread to test."
        sentence = f"{_finish(a.name, b.name, difference, difference.basis)} {reason}"
        return Finding("A6", names, a.benchmark, claim, Conclusion.UNTESTABLE, difference.level, sentence, numbers)
    verdict = supported_if(difference.p < 0.05)
    if difference.detectable is not None:
        verdict = conclude(difference.p, abs(difference.mean), difference.detectable)
    sentence = _finish(a.name, b.name, difference, f"{p_value(difference.p)}, {difference.basis}")
    sentence += f" {a.name} is above at {_count_above(a, b)}."
    if verdict is Conclusion.UNDERPOWERED and difference.detectable is not None:
        sentence += f" Less than {100 * difference.detectable:.0f} points could not be detected."
    return Finding(
        "A6", names, a.benchmark, claim, verdict, difference.level, f"{sentence} {difference.scope}", numbers, difference.low,
        difference.high, difference.p,
    )  # fmt: skip


def _finish(a: str, b: str, difference: Difference, evidence: str) -> str:
    """Says by how much one line finishes above or below the other."""
    side = "above" if difference.mean >= 0 else "below"
    if difference.low is not None and difference.high is not None:
        signed = (
            "" if difference.mean >= 0 else f"difference {points(difference.mean)}, "
        )  # else the interval's sign is unclear
        evidence = f"{signed}{ci(difference.low, difference.high)}, {evidence}"
    return f"{a} finishes {amount(difference.mean)} {side} {b} ({evidence})."


def _count_above(a: ComparedLine, b: ComparedLine) -> str:
    """Counts the common eval points at which the first line is above, in the mean over seeds."""
    common = common_points([a, b])

    def mean_at(line: ComparedLine, x: float) -> float:
        return float(np.mean([m.y_T[m.x_T.tolist().index(x)] for m in line.curves]))

    gaps = np.array([mean_at(a, x) - mean_at(b, x) for x in common])
    words, p = f"{(gaps > 0).sum()} of {len(common)} eval points", paired_tests.block_sign_flip_test(gaps).p
    return words if p != p else f"{words} ({p_value(p)}, neighbouring points flipped together)"


def tiers(lines: list[ComparedLine], differences: dict[tuple[str, str], Difference]) -> Finding:
    """Groups lines into tiers: a line that is not distinguishable from a tier's best, after Holm, belongs to it (A7)."""
    benchmark, claim = lines[0].benchmark, "the lines fall into tiers"
    level = next(iter(differences.values())).level
    ps = [difference.p for difference in differences.values()]
    if all(p != p for p in ps):
        ordered = sorted(lines, key=lambda line: -line.end)
        gaps = sorted(((a.end - b.end, a.name, b.name) for a, b in pairwise(ordered)), reverse=True)[:2]
        largest = ", then ".join(f"{points(gap)} between {a} and {b}" for gap, a, b in gaps)
        sentence = f"The largest gap at the end is {largest}. Their noise is unknown."
        return Finding("A7", "all", benchmark, claim, Conclusion.UNTESTABLE, level, sentence)
    names = [line.name for line in lines]
    separated_MM = np.zeros((len(lines), len(lines)), dtype=bool)
    for (a, b), p in zip(differences, multiplicity.holm(ps), strict=True):
        i, j = names.index(a), names.index(b)
        separated_MM[i, j] = separated_MM[j, i] = p < 0.05
    groups = ranking.tiers(np.array([line.end for line in lines]), separated_MM)
    ranks = _rank_words(lines, groups) if level == "L2" else [""] * len(lines)
    listed = " | ".join(", ".join(f"{names[i]} {share(lines[i].end)}{ranks[i]}" for i in group) for group in groups)
    sentence = f"{len(groups)} tier{'s' * (len(groups) > 1)} after Holm's correction: {listed}. Lines of one tier are not "
    sentence += "distinguishable from its best."
    if any(ranks):
        sentence += (
            " Brackets, with the items resampled: ranks in 95 % of resamples, and how often the rank is one of its tier's."
        )
    return Finding(
        "A7", "all", benchmark, claim, supported_if(len(groups) > 1), level, sentence, numbers={"tiers": len(groups)}
    )  # fmt: skip


def _rank_words(lines: list[ComparedLine], groups: list[list[int]]) -> list[str]:
    """Returns the ranks of each line under resampling of the items; empty where lines have other items."""
    means = final_item_means(lines)
    words = [""] * len(lines)
    if means is None:
        return words
    ranks_RM, first = ranking.resampled_ranks(np.array(means)), 1
    for group in groups:
        for i in group:
            low, high = np.quantile(ranks_RM[:, i], [0.025, 0.975])
            inside = np.mean((ranks_RM[:, i] >= first) & (ranks_RM[:, i] < first + len(group)))
            words[i] = f" [{f'{low:g}' if low == high else f'{low:g} to {high:g}'}; {inside:.0%}]"
        first += len(group)
    return words


def common_start(lines: list[ComparedLine]) -> Finding:
    """Tests whether lines start apart. Arms of one base must agree at step 0; of several bases they need not (A9)."""
    ordered = sorted(lines, key=lambda line: -line.start)
    ps = [_start_p(a, b) for a, b in combinations(ordered, 2)]
    lowest, highest = ordered[-1], ordered[0]
    span = f"At the first eval point the lines lie between {share(lowest.start)} ({lowest.name}) and "
    span += f"{share(highest.start)} ({highest.name})"
    claim = "the lines start at different accuracies"
    if all(p != p for p in ps):
        different_starts = len({float(m.x_T[0]) for line in lines for m in line.curves}) > 1
        reason = "They do not start at the same step." if different_starts else "Their noise is unknown."
        level = lowest.curves[0].curve.level
        return Finding("A9", "all", lowest.benchmark, claim, Conclusion.UNTESTABLE, level, f"{span}. {reason}")
    adjusted = multiplicity.holm(ps)
    smallest = float(np.nanmin(adjusted))
    different = int((adjusted < 0.05).sum())
    sentence = f"{span}; {different} of {len(ps)} pairs differ after Holm's correction (smallest {p_value(smallest)})."
    level = "L2" if lowest.curves[0].items is not None else "L1"
    return Finding("A9", "all", lowest.benchmark, claim, supported_if(different > 0), level, sentence, p=smallest)


def _start_p(a: ComparedLine, b: ComparedLine) -> float:
    firsts = {float(m.x_T[0]) for m in [*a.curves, *b.curves]}
    if len(firsts) > 1:
        return float("nan")
    mine, theirs = a.means_SQ(list(firsts)), b.means_SQ(list(firsts))
    if mine is not None and theirs is not None and same_items(a, b):
        return paired_tests.sign_flip_test(mine[0] - theirs[0]).p if (mine != theirs).any() else 1.0
    n_a, n_b = a.curves[0].curve.n, b.curves[0].curve.n
    if n_a and n_b:
        return unpaired_tests.fisher_test(round(a.start * n_a), n_a, round(b.start * n_b), n_b).p
    return float("nan")


def overall_comparisons(benchmarks: Sequence[list[ComparedLine]]) -> list[Finding]:
    """Compares pairs of lines over all benchmarks that both have (A6). Temperatures are not benchmarks: their items are the
    same, so each has a comparison of its own."""
    results = []
    for temperature in dict.fromkeys(lines[0].curves[0].curve.temperature for lines in benchmarks):
        here = [lines for lines in benchmarks if lines[0].curves[0].curve.temperature == temperature and lines[0].steps]
        by_name = [{line.name: line for line in lines} for lines in here]
        for a, b in combinations(dict.fromkeys(name for lines in by_name for name in lines), 2):
            pairs = [(lines[a], lines[b]) for lines in by_name if a in lines and b in lines]
            difference = overall_difference(pairs) if len(pairs) > 1 else None
            if difference is not None:
                benchmark = OVERALL + (f", temperature {temperature:g}" if temperature is not None else "")
                results.append(_overall_comparison(a, b, benchmark, difference))
    return results


def _overall_comparison(a: str, b: str, benchmark: str, difference: Difference) -> Finding:
    claim = f"“{a}” and “{b}” end at different accuracies over all benchmarks"
    assert difference.detectable is not None
    sentence = f"{_finish(a, b, difference, f'{p_value(difference.p)}, {difference.basis}')} {difference.scope}"
    verdict = conclude(difference.p, abs(difference.mean), difference.detectable)
    numbers = {"difference": difference.mean}
    return Finding(
        "A6", f"{a} and {b}", benchmark, claim, verdict, difference.level, sentence, numbers, difference.low, difference.high,
        difference.p,
    )  # fmt: skip
