"""Curves against each other: which ends higher, on each benchmark and over all, which start apart, and tiers.

Where two runs have the same items, differences are taken item by item: what makes an item hard is hard for both and drops out.
The summary is stated beforehand, the mean of the last three eval points that all lines have, and never a step that was picked.

Shapes: S eval points in common, Q items, M lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from passus.analysis.finding import OVERALL, Finding, Verdict
from passus.analysis.single_curve import Measured, decide, last
from passus.formatting import between, p_value, points, share, step
from passus.stats import intervals

SEEDS = 3
"""Fewer say nothing of a method."""


@dataclass
class Line:
    """One name on one benchmark, at the eval points that it is compared at; several curves where there are several seeds."""

    name: str
    benchmark: str
    curves: list[Measured]
    steps: list[float]

    @property
    def ends(self) -> list[float]:
        """By seed: the mean over the eval points."""
        return [float(np.mean([m.y_T[m.x_T.tolist().index(x)] for x in self.steps])) for m in self.curves]

    @property
    def end(self) -> float:
        return float(np.mean(self.ends))

    @property
    def start(self) -> float:
        return float(np.mean([m.start for m in self.curves]))

    def means_SQ(self, steps: Sequence[float]) -> np.ndarray | None:
        """Of every item at these eval points, over the seeds; None where they were not measured on the same items."""
        items = [m.items for m in self.curves]
        first = items[0]
        if first is None or any(one is None or not one.same_as(first) for one in items):
            return None
        whole = [int(x) for x in steps]
        return np.mean([one.at(sorted(first.item_Q), whole).means_TQ for one in items if one is not None], axis=0)


@dataclass(frozen=True)
class Difference:
    """Of two lines, first less second."""

    mean: float
    low: float | None
    high: float | None
    p: float
    """Not a number where there is no test."""
    smallest: float | None
    """The least that would be seen in four of five cases."""
    level: str
    basis: str
    """What it rests on, in words."""


def lines_of(curves: Sequence[Measured]) -> list[list[Line]]:
    """By benchmark. Curves of one name are seeds of one line only where they are runs; curve files have no seeds."""
    found: dict[str, dict[str, Line]] = {}
    for m in curves:
        lines, name = found.setdefault(m.curve.benchmark, {}), m.curve.name
        known = lines.get(name)
        if known and m.curve.origin and all(one.curve.origin for one in known.curves):
            known.curves.append(m)
            continue
        same = sum(line == name or line.startswith(f"{name} (") for line in lines)
        name = f"{name} ({same + 1})" if known else name
        lines[name] = Line(name, m.curve.benchmark, [m], [])
    return [list(lines.values()) for lines in found.values()]


def comparable(curves: Sequence[Measured]) -> list[list[Line]]:
    """The same, with the last eval points that all lines of a benchmark have."""
    found = lines_of([m for m in curves if len(m.x_T)])
    for lines in found:
        common = set.intersection(*(set(m.x_T.tolist()) for line in lines for m in line.curves))
        for line in lines:
            line.steps = last(sorted(common))
    return found


def findings(benchmarks: Sequence[list[Line]]) -> list[Finding]:
    found: list[Finding] = []
    for lines in benchmarks:
        if len(lines) < 2:
            continue
        if not lines[0].steps:
            who, claim = ", ".join(line.name for line in lines), "the lines end at different accuracies"
            said = "they have no eval point in common"
            found.append(Finding("A6", who, lines[0].benchmark, claim, Verdict.UNTESTABLE, "L0", said))
            continue
        ends = {(a.name, b.name): difference(a, b) for a, b in combinations(lines, 2)}
        found += [_compared(a, b, ends[a.name, b.name]) for a, b in combinations(lines, 2)]
        found += [tiers(lines, ends), common_start(lines)]
    return found + overall(benchmarks)


def difference(a: Line, b: Line) -> Difference:
    where = f"at {step(a.steps[0])}" if len(a.steps) == 1 else f"over {step(a.steps[0])} to {step(a.steps[-1])}"
    if min(len(a.curves), len(b.curves)) >= SEEDS:
        return _over_seeds(a, b, where)
    few = "" if len(a.curves) == len(b.curves) == 1 else ", means of too few seeds to speak of a method"
    mine, theirs = a.means_SQ(a.steps), b.means_SQ(b.steps)
    if mine is not None and theirs is not None and same_items(a, b):
        paired_QS = (mine - theirs).T
        over, test = intervals.paired_bootstrap(paired_QS), intervals.sign_flip(paired_QS.mean(1))
        smallest = intervals.smallest_paired_effect(paired_QS.mean(1))
        basis = f"{where}, paired over {len(paired_QS)} items x {_samples(a, b)} samples{few}"
        return Difference(over.mean, over.low, over.high, test.p, smallest, "L2", basis)
    n = a.curves[0].curve.n, b.curves[0].curve.n
    gap = a.end - b.end
    if n[0] and n[1]:
        test = intervals.fisher(round(a.end * n[0]), n[0], round(b.end * n[1]), n[1])
        smallest = intervals.smallest_effect(min(n[0], n[1]), min(a.end, b.end))
        return Difference(gap, None, None, test.p, smallest, "L1", f"{where}, unpaired, {n[0]} and {n[1]} items")
    return Difference(gap, None, None, float("nan"), None, "L0", f"{where}, points alone")


def _over_seeds(a: Line, b: Line, where: str) -> Difference:
    over, test = intervals.welch(a.ends, b.ends)
    basis = f"{where}, {len(a.curves)} and {len(b.curves)} seeds, Welch"
    if test.p != test.p:  # seeds that end alike have no spread to test against
        return Difference(a.end - b.end, None, None, test.p, None, "L3", basis)
    return Difference(a.end - b.end, over.low, over.high, test.p, _seen_over_seeds(over), "L3", basis)


def _seen_over_seeds(over: intervals.Interval) -> float:
    """What is seen in four of five cases, in proportion to half the interval, as for many seeds: 1.96 and .842 SE."""
    return (over.high - over.low) / 2 * (1 + 0.842 / 1.96)


def same_items(a: Line, b: Line) -> bool:
    """Whether two lines can be compared item by item."""
    first, second = a.curves[0].items, b.curves[0].items
    return first is not None and second is not None and first.same_as(second)


def _samples(a: Line, b: Line) -> str:
    sizes = [m.items.correct_TQK.shape[2] for line in (a, b) for m in line.curves[:1] if m.items is not None]
    return str(sizes[0]) if len(set(sizes)) == 1 else " and ".join(map(str, sizes))


def _compared(a: Line, b: Line, found: Difference) -> Finding:
    """A6."""
    who, claim = f"{a.name} and {b.name}", f"“{a.name}” and “{b.name}” end at different accuracies"
    said = f"the first less the second {points(found.mean)}"
    if found.low is not None and found.high is not None:
        said += f" {between(found.low, found.high)}"
    numbers = {"difference": found.mean}
    if found.p != found.p:
        why = "their noise is not known" if found.level == "L0" else "the seeds do not differ at all, which no test can use"
        return Finding("A6", who, a.benchmark, claim, Verdict.UNTESTABLE, found.level, f"{said}, {found.basis}: {why}", numbers)
    said += f", {p_value(found.p)}, {found.basis}; {_ahead(a, b)}"
    verdict = Verdict.SUPPORTED if found.p < 0.05 else Verdict.NOT_SUPPORTED
    if found.smallest is not None:
        verdict = decide(found.p, abs(found.mean), found.smallest)
        if verdict is Verdict.UNDERPOWERED:
            said += f"; less than {100 * found.smallest:.0f} points could not be seen"
    return Finding("A6", who, a.benchmark, claim, verdict, found.level, said, numbers, found.low, found.high, found.p)


def _ahead(a: Line, b: Line) -> str:
    """At how many of the common eval points the first is above, in the mean over seeds."""
    common = sorted(set.intersection(*(set(m.x_T.tolist()) for m in [*a.curves, *b.curves])))

    def level(line: Line, x: float) -> float:
        return float(np.mean([m.y_T[m.x_T.tolist().index(x)] for m in line.curves]))

    apart = np.array([level(a, x) - level(b, x) for x in common])
    said, p = f"above at {(apart > 0).sum()} of {len(common)} eval points", intervals.block_sign_flip(apart).p
    return said if p != p else f"{said} ({p_value(p)}, neighbours taken together)"


def tiers(lines: list[Line], ends: dict[tuple[str, str], Difference]) -> Finding:
    """A7: who is not told apart from a tier's best, after Holm, stays in its tier."""
    ps = [found.p for found in ends.values()]
    names = [line.name for line in lines]
    ordered = sorted(lines, key=lambda line: -line.end)
    who, benchmark, claim = "all", lines[0].benchmark, "the lines fall into tiers"
    level = next(iter(ends.values())).level
    if all(p != p for p in ps):
        gaps = [(a.end - b.end, a.name, b.name) for a, b in pairwise(ordered)]
        largest = sorted(gaps, reverse=True)[:2]
        said = "largest gaps at the end: " + ", ".join(f"{points(gap)} between {a} and {b}" for gap, a, b in largest)
        return Finding("A7", who, benchmark, claim, Verdict.UNTESTABLE, level, f"{said}; their noise is not known")
    apart_MM = np.zeros((len(lines), len(lines)), dtype=bool)
    for (a, b), p in zip(ends, intervals.holm(ps), strict=True):
        i, j = names.index(a), names.index(b)
        apart_MM[i, j] = apart_MM[j, i] = p < 0.05
    found = intervals.tiers(np.array([line.end for line in lines]), apart_MM)
    ranks = _ranks(lines, found) if level == "L2" else [""] * len(lines)
    words = " | ".join(", ".join(f"{names[i]} {share(lines[i].end)}{ranks[i]}" for i in tier) for tier in found)
    said = f"{len(found)} tier{'s' if len(found) > 1 else ''} after Holm (of those not told apart from a tier's best): {words}"
    if any(ranks):
        said += "; in brackets, with the items drawn anew: ranks in 95 % of draws, and how often a rank is one of its tier's"
    verdict = Verdict.SUPPORTED if len(found) > 1 else Verdict.NOT_SUPPORTED
    return Finding("A7", who, benchmark, claim, verdict, level, said, numbers={"tiers": len(found)})


def _ranks(lines: list[Line], tiers: list[list[int]]) -> list[str]:
    """Of each line, in words; nothing where lines were not measured on the same items. Seeds are not drawn anew."""
    means = [m.mean(0) for line in lines if same_items(lines[0], line) and (m := line.means_SQ(line.steps)) is not None]
    if len(means) < len(lines):
        return [""] * len(lines)
    ranks_RM = intervals.rank_draws(np.array(means))
    words, first = [""] * len(lines), 1
    for tier in tiers:
        for i in tier:
            low, high = np.quantile(ranks_RM[:, i], [0.025, 0.975])
            inside = np.mean((ranks_RM[:, i] >= first) & (ranks_RM[:, i] < first + len(tier)))
            words[i] = f" [{f'{low:g}' if low == high else f'{low:g} to {high:g}'}; {inside:.0%}]"
        first += len(tier)
    return words


def common_start(lines: list[Line]) -> Finding:
    """A9: arms of one base must agree at step 0; of several bases they need not."""
    ordered = sorted(lines, key=lambda line: -line.start)
    pairs = list(combinations(ordered, 2))
    ps = [_start_p(a, b) for a, b in pairs]
    low, high = ordered[-1], ordered[0]
    said = f"from {share(low.start)} ({low.name}) to {share(high.start)} ({high.name}) at the first eval point"
    claim = "the lines start at different accuracies"
    if all(p != p for p in ps):
        elsewhere = len({float(m.x_T[0]) for line in lines for m in line.curves}) > 1
        why = "they do not start at the same step" if elsewhere else "their noise is not known"
        return Finding("A9", "all", low.benchmark, claim, Verdict.UNTESTABLE, low.curves[0].curve.level, f"{said}; {why}")
    adjusted = intervals.holm(ps)
    smallest = float(np.nanmin(adjusted))
    apart = int((adjusted < 0.05).sum())
    said += f"; {apart} of {len(pairs)} pairs differ after Holm (smallest {p_value(smallest)})"
    level = "L2" if low.curves[0].items is not None else "L1"
    verdict = Verdict.SUPPORTED if apart else Verdict.NOT_SUPPORTED
    return Finding("A9", "all", low.benchmark, claim, verdict, level, said, p=smallest)


def _start_p(a: Line, b: Line) -> float:
    firsts = {float(m.x_T[0]) for m in [*a.curves, *b.curves]}
    if len(firsts) > 1:
        return float("nan")
    mine, theirs = a.means_SQ(list(firsts)), b.means_SQ(list(firsts))
    if mine is not None and theirs is not None and same_items(a, b):
        return intervals.sign_flip(mine[0] - theirs[0]).p if (mine != theirs).any() else 1.0
    n = a.curves[0].curve.n, b.curves[0].curve.n
    if n[0] and n[1]:
        return intervals.fisher(round(a.start * n[0]), n[0], round(b.start * n[1]), n[1]).p
    return float("nan")


def overall(benchmarks: Sequence[list[Line]]) -> list[Finding]:
    """A6 over the benchmarks that both lines of a pair have, each counting the same. Temperatures are not benchmarks: the
    items are the same, so each has a comparison of its own."""
    found = []
    for temperature in dict.fromkeys(lines[0].curves[0].curve.temperature for lines in benchmarks):
        here = [lines for lines in benchmarks if lines[0].curves[0].curve.temperature == temperature and lines[0].steps]
        by_name = [{line.name: line for line in lines} for lines in here]
        for one, other in combinations(dict.fromkeys(name for lines in by_name for name in lines), 2):
            pairs = [(lines[one], lines[other]) for lines in by_name if one in lines and other in lines]
            across = _across(pairs) if len(pairs) > 1 else None
            if across is not None:
                where = OVERALL + (f", temperature {temperature:g}" if temperature is not None else "")
                found.append(_compared_overall(one, other, where, across))
    return found


def _across(pairs: list[tuple[Line, Line]]) -> Difference | None:
    over_seeds = _over_seeds_of_all(pairs) if min(len(line.curves) for pair in pairs for line in pair) >= SEEDS else None
    return over_seeds or _over_items_of_all(pairs)


def _over_items_of_all(pairs: list[tuple[Line, Line]]) -> Difference | None:
    """Items drawn anew within each benchmark; None where one of them is not paired."""
    differences = []
    for a, b in pairs:
        mine, theirs = a.means_SQ(a.steps), b.means_SQ(b.steps)
        if mine is None or theirs is None or not same_items(a, b):
            return None
        differences.append((mine - theirs).mean(0))
    counts = [len(one) for one in differences]
    joined_Q = np.concatenate(differences)
    over, test = intervals.paired_bootstrap(joined_Q, counts), intervals.sign_flip(joined_Q, counts)
    smallest = float(np.sqrt(sum(intervals.smallest_paired_effect(one) ** 2 for one in differences))) / len(counts)
    basis = f"mean of {len(counts)} benchmarks, paired over {len(joined_Q)} items"
    return Difference(over.mean, over.low, over.high, test.p, smallest, "L2", basis)


def _over_seeds_of_all(pairs: list[tuple[Line, Line]]) -> Difference | None:
    """Welch on each seed's mean over the benchmarks; None where a seed lacks one of them."""
    ends: list[list[float]] = []
    for side in (0, 1):
        of_seed = [{m.curve.origin: end for m, end in zip(p[side].curves, p[side].ends, strict=True)} for p in pairs]
        if any(part.keys() != of_seed[0].keys() for part in of_seed):
            return None
        ends.append(np.array([[part[origin] for origin in of_seed[0]] for part in of_seed]).mean(0).tolist())
    over, test = intervals.welch(ends[0], ends[1])
    if test.p != test.p:
        return None
    basis = f"mean of {len(pairs)} benchmarks, {len(ends[0])} and {len(ends[1])} seeds, Welch"
    return Difference(over.mean, over.low, over.high, test.p, _seen_over_seeds(over), "L3", basis)


def _compared_overall(one: str, other: str, where: str, found: Difference) -> Finding:
    claim = f"“{one}” and “{other}” end at different accuracies over all benchmarks"
    assert found.low is not None and found.high is not None and found.smallest is not None
    said = f"the first less the second {points(found.mean)} {between(found.low, found.high)}, {p_value(found.p)}, {found.basis}"
    verdict = decide(found.p, abs(found.mean), found.smallest)
    numbers = {"difference": found.mean}
    return Finding(
        "A6", f"{one} and {other}", where, claim, verdict, found.level, said, numbers, found.low, found.high, found.p
    )
