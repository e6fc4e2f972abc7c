"""Lines against each other: which finishes higher, per benchmark and overall (A6), tiers (A7), and common start (A9).

Shapes: M lines.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from passus.analysis.compared_line import MAX_ALL_PAIRS, ComparedLine, common_points, compared_pairs, same_items
from passus.analysis.end_difference import Difference, Pair, end_differences, overall_differences
from passus.analysis.finding import OVERALL, Conclusion, Finding, Scope, conclude
from passus.analysis.wording import amount, ci, supported_if
from passus.formatting import p_value, points, share
from passus.stats import multiplicity, paired_tests, ranking, unpaired_tests

TIERS = "the lines fall into tiers"


def findings(benchmarks: Sequence[list[ComparedLine]]) -> list[Finding]:
    """Compares the pairs of lines on each benchmark, and overall."""
    results: list[Finding] = []
    for lines in benchmarks:
        if len(lines) < 2:
            continue
        if not lines[0].steps:
            names, claim = ", ".join(line.name for line in lines), "the lines end at different accuracies"
            sentence = "The lines have no eval point in common."
            results.append(Finding("A6", names, lines[0].benchmark, claim, Conclusion.UNTESTABLE, "L0", sentence))
            continue
        differences = end_differences(lines)
        results += [comparison(a, b, differences[a.name, b.name]) for a, b in compared_pairs(lines)]
        results.append(common_start(lines))
    return results + overall_comparisons(benchmarks)


def comparison(a: ComparedLine, b: ComparedLine, difference: Difference) -> Finding:
    """Compares two lines on one benchmark (A6)."""
    names, claim = pair_name(a.name, b.name), f"“{a.name}” and “{b.name}” end at different accuracies"
    if difference.p != difference.p:
        reason = {"L0": "Their noise is unknown.", "L2": difference.caveat}.get(
            difference.level, "Runs that all end alike leave no spread to test."
        )
        sentence = f"{_finish(a.name, b.name, difference, difference.basis)} {reason}"
        return _pair_finding(names, a.benchmark, claim, Conclusion.UNTESTABLE, sentence, difference)
    verdict = supported_if(difference.p < 0.05)
    if difference.detectable is not None:
        verdict = conclude(difference.p, abs(difference.mean), difference.detectable)
    sentence = _finish(a.name, b.name, difference, f"{p_value(difference.p)}, {difference.basis}")
    sentence += f" {a.name} is above at {_count_above(a, b)}."
    if verdict is Conclusion.UNDERPOWERED and difference.detectable is not None and np.isfinite(difference.detectable):
        sentence += f" Less than {100 * difference.detectable:.0f} points could not be detected."
    return _pair_finding(names, a.benchmark, claim, verdict, f"{sentence} {difference.caveat}", difference)


def _pair_finding(names: str, benchmark: str, claim: str, verdict: Conclusion, sentence: str, d: Difference) -> Finding:
    return Finding(
        "A6", names, benchmark, claim, verdict, d.level, sentence, {"difference": d.mean}, d.low, d.high,
        None if d.p != d.p else d.p, scope=d.scope, items=d.items, seeds=d.seeds,
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


def tiers(findings: Sequence[Finding], benchmarks: Sequence[list[ComparedLine]]) -> list[Finding]:
    """Groups the lines of each benchmark into tiers, from the comparisons of configurations after their correction (A7)."""
    return [_tiers(findings, lines) for lines in benchmarks if len(lines) > 1 and lines[0].steps]


def _tiers(findings: Sequence[Finding], lines: list[ComparedLine]) -> Finding:
    """A line that is not distinguishable from a tier's best belongs to it. A ranking of single runs would rank their luck."""
    benchmark, names = lines[0].benchmark, [line.name for line in lines]
    pairs = {f.series: f for f in findings if f.id == "A6" and f.benchmark == benchmark}
    ordered = ", ".join(f"{line.name} {share(line.end)}" for line in sorted(lines, key=lambda line: -line.end))
    runs = min(len(line.curves) for line in lines)
    if len(lines) > MAX_ALL_PAIRS:
        return _no_tiers(lines, _too_many(lines), runs)
    tested = [f for f in pairs.values() if f.scope is Scope.CONFIGURATION and f.p is not None]
    if len(tested) < len(pairs):
        sentence = f"Final accuracies are {ordered}. "
        sentence += "Runs that all end alike leave no spread to test." if runs > 1 else (
            "A ranking needs two or more runs of every line: one run cannot separate a line from the luck of its seed."
        )  # fmt: skip
        return _no_tiers(lines, sentence, runs)
    separated_MM = np.zeros((len(lines), len(lines)), dtype=bool)
    for i, j in combinations(range(len(lines)), 2):
        finding = pairs[pair_name(names[i], names[j])]
        separated_MM[i, j] = separated_MM[j, i] = finding.verdict is Conclusion.SUPPORTED
    groups = ranking.tiers(np.array([line.end for line in lines]), separated_MM)
    listed = " | ".join(", ".join(f"{names[i]} {share(lines[i].end)}" for i in group) for group in groups)
    sentence = f"{len(groups)} tier{'s' * (len(groups) > 1)} ({runs} or more runs per line): {listed}. "
    sentence += "Lines of one tier are not distinguishable from its best."
    return Finding(
        "A7", "all", benchmark, TIERS, supported_if(len(groups) > 1), "L3", sentence, numbers={"tiers": len(groups)},
        scope=Scope.CONFIGURATION, items=tested[0].items, seeds=runs,
    )  # fmt: skip


def _no_tiers(lines: list[ComparedLine], sentence: str, runs: int) -> Finding:
    level = lines[0].curves[0].curve.level
    return Finding("A7", "all", lines[0].benchmark, TIERS, Conclusion.UNTESTABLE, level, sentence, seeds=runs)


def _too_many(lines: list[ComparedLine]) -> str:
    lowest, highest = (share(pick(line.end for line in lines)) for pick in (min, max))
    sentence = f"{len(lines)} lines end between {lowest} and {highest}. Of more than {MAX_ALL_PAIRS}, each is compared with "
    sentence += (
        f"the first only ({lines[0].name}), and a ranking needs all {len(lines) * (len(lines) - 1) // 2:,} comparisons: "
    )
    return sentence + "analyse fewer runs together to rank them."


def pair_name(a: str, b: str) -> str:
    return f"{a} and {b}"


def common_start(lines: list[ComparedLine]) -> Finding:
    """Tests whether lines start apart. Arms of one base must agree at step 0; of several bases they need not (A9)."""
    ordered = sorted(lines, key=lambda line: -line.start)
    ps = [_start_p(a, b) for a, b in compared_pairs(lines)]
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
    pairs = f"{len(ps)} pairs" + (f" with {lines[0].name}" if len(lines) > MAX_ALL_PAIRS else "")
    sentence = f"{span}; {different} of {pairs} differ after Holm's correction (smallest {p_value(smallest)})."
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
    """Compares pairs of lines over all benchmarks that both have (A6)."""
    return [
        _overall_comparison(pair, benchmark, difference)
        for benchmark, here in overall_panels(benchmarks).items()
        for pair, difference in overall_differences(here).items()
    ]


def overall_panels(benchmarks: Sequence[list[ComparedLine]]) -> dict[str, list[list[ComparedLine]]]:
    """Returns the benchmarks that are averaged, by the name of their mean. Temperatures are not benchmarks: their items are the
    same, so each has a mean of its own."""
    panels: dict[str, list[list[ComparedLine]]] = {}
    for lines in benchmarks:
        temperature = lines[0].curves[0].curve.temperature
        name = OVERALL + (f", temperature {temperature:g}" if temperature is not None else "")
        if lines[0].steps:
            panels.setdefault(name, []).append(lines)
    return panels


def _overall_comparison(pair: Pair, benchmark: str, difference: Difference) -> Finding:
    a, b = pair
    claim = f"“{a}” and “{b}” end at different accuracies over all benchmarks"
    assert difference.detectable is not None
    sentence = f"{_finish(a, b, difference, f'{p_value(difference.p)}, {difference.basis}')} {difference.caveat}"
    verdict = conclude(difference.p, abs(difference.mean), difference.detectable)
    return _pair_finding(pair_name(a, b), benchmark, claim, verdict, sentence, difference)
