"""Curves against each other: which ends higher, which start apart, tiers, sizes, and what a sweep's spread is due to.

Where two runs have the same items, differences are taken item by item: what makes an item hard is hard for both and drops out.
The summary is stated beforehand, the mean of the last three eval points that both have, and never a step that was picked.

Shapes: S eval points in common, Q items, M lines.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from passus import shapes, stats
from passus.course import WINDOW, Measured, decide
from passus.finding import Finding, Verdict, between, p_value, points, share

SEEDS = 3
"""Fewer say nothing of a method."""
SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s?([kmbKMB])\b")


@dataclass
class Line:
    """One name on one benchmark; several curves where there are several seeds."""

    name: str
    benchmark: str
    curves: list[Measured]

    @property
    def end(self) -> float:
        return float(np.mean([m.end for m in self.curves]))


@dataclass(frozen=True)
class Difference:
    """Of two lines, first less second."""

    mean: float
    low: float | None
    high: float | None
    p: float | None
    smallest: float | None
    """The least that would be seen in four of five cases."""
    level: str
    basis: str
    """What it rests on, in words."""


def lines_of(curves: Sequence[Measured]) -> dict[str, list[Line]]:
    """By benchmark, in the order they came."""
    found: dict[str, dict[str, Line]] = {}
    for m in curves:
        of_benchmark = found.setdefault(m.curve.benchmark, {})
        of_benchmark.setdefault(m.curve.name, Line(m.curve.name, m.curve.benchmark, [])).curves.append(m)
    return {benchmark: list(lines.values()) for benchmark, lines in found.items()}


def findings(curves: Sequence[Measured]) -> list[Finding]:
    found: list[Finding] = []
    for every in lines_of(curves).values():
        lines = [line for line in every if all(len(m.x_T) for m in line.curves)]
        if len(lines) < 2:
            continue
        ends = {(a.name, b.name): difference(a, b) for a, b in combinations(lines, 2)}
        found += [_compared(a, b, ends[a.name, b.name]) for a, b in combinations(lines, 2)]
        found += [tiers(lines, ends), common_start(lines)]
        found += [one for one in (size(lines),) if one is not None]
    return found + sensitivity(curves)


def difference(a: Line, b: Line, summary: str = "last") -> Difference | None:
    """None where the two have no eval point in common."""
    if min(len(a.curves), len(b.curves)) >= SEEDS:
        over, test = stats.welch([_summary(m, summary) for m in a.curves], [_summary(m, summary) for m in b.curves])
        return Difference(
            over.mean, over.low, over.high, test.p, None, "L3", f"{len(a.curves)} and {len(b.curves)} seeds, Welch"
        )
    first, second = a.curves[0], b.curves[0]
    common = sorted(set(first.x_T.tolist()) & set(second.x_T.tolist()))
    if not common:
        return None
    steps = common if summary == "area" else common[-(WINDOW if len(common) >= 2 * WINDOW else 1) :]
    paired = paired_items(first, second, steps)
    if paired is not None:
        over, test = stats.paired_bootstrap(paired), stats.sign_flip(paired.mean(1))
        smallest = stats.smallest_paired_effect(paired.mean(1))
        samples = first.items.correct_TQK.shape[2] if first.items is not None else 0
        return Difference(
            over.mean, over.low, over.high, test.p, smallest, "L2", f"paired over {len(paired)} items x {samples} samples"
        )
    ys = [np.array([m.y_T[m.x_T.tolist().index(x)] for x in steps]).mean() for m in (first, second)]
    n = [m.curve.n for m in (first, second)]
    if n[0] and n[1]:
        counts = [round(float(y) * size) for y, size in zip(ys, n, strict=True) if size]
        test = stats.fisher(counts[0], n[0], counts[1], n[1])
        smallest = stats.smallest_effect(min(n[0], n[1]), float(min(ys)))
        return Difference(float(ys[0] - ys[1]), None, None, test.p, smallest, "L1", f"unpaired, {n[0]} and {n[1]} items")
    return Difference(float(ys[0] - ys[1]), None, None, None, None, "L0", "points alone")


def _summary(m: Measured, summary: str) -> float:
    return m.end if summary == "last" else shapes.area(m.x_T, m.y_T)


def paired_items(a: Measured, b: Measured, steps: Sequence[float]) -> np.ndarray | None:
    """differences_QS of the items that both have, or None where the two were not measured on the same ones."""
    if a.items is None or b.items is None or set(a.items.item_Q) != set(b.items.item_Q):
        return None
    whole = [int(step) for step in steps]
    mine, theirs = (items.at(a.items.item_Q, whole).means_TQ for items in (a.items, b.items))
    return (mine - theirs).T


def _compared(a: Line, b: Line, found: Difference | None) -> Finding:
    """A6."""
    who, claim = f"{a.name} and {b.name}", f"{a.name} and {b.name} end at different accuracies"
    if found is None:
        said = "no eval point in common"
        return Finding("A6", who, a.benchmark, claim, Verdict.UNTESTABLE, "L0", said)
    said = f"{a.name} less {b.name}: {points(found.mean)}"
    if found.low is not None and found.high is not None:
        said += f" {between(found.low, found.high)}"
    if found.p is None:
        return Finding(
            "A6", who, a.benchmark, claim, Verdict.UNTESTABLE, found.level, f"{said}, {found.basis}: their noise is not known",
            numbers={"difference": found.mean},
        )  # fmt: skip
    said += f", {p_value(found.p)}, {found.basis}; {_ahead(a.curves[0], b.curves[0])}"
    verdict = Verdict.SUPPORTED if found.p < 0.05 else Verdict.NOT_SUPPORTED
    if found.smallest is not None:
        verdict = decide(found.p, abs(found.mean), found.smallest)
        if verdict is Verdict.UNDERPOWERED:
            said += f"; less than {100 * found.smallest:.0f} points could not be seen"
    return Finding(
        "A6", who, a.benchmark, claim, verdict, found.level, said, {"difference": found.mean}, found.low, found.high, found.p
    )


def _ahead(a: Measured, b: Measured) -> str:
    """At how many of the common eval points the first is above."""
    common = [x for x in a.x_T.tolist() if x in set(b.x_T.tolist())]
    above = sum(a.y_T[a.x_T.tolist().index(x)] > b.y_T[b.x_T.tolist().index(x)] for x in common)
    return f"above at {above} of {len(common)} eval points"


def tiers(lines: list[Line], ends: dict[tuple[str, str], Difference | None]) -> Finding:
    """A7: who is not told apart from a tier's best, after Holm, stays in its tier."""
    ps = [found.p if found and found.p is not None else np.nan for found in ends.values()]
    names = [line.name for line in lines]
    ordered = sorted(lines, key=lambda line: -line.end)
    who, benchmark, claim = "all", lines[0].benchmark, "the lines fall into tiers"
    if all(np.isnan(p) for p in ps):
        gaps = [(a.end - b.end, a.name, b.name) for a, b in pairwise(ordered)]
        largest = sorted(gaps, reverse=True)[:2]
        said = "largest gaps at the end: " + ", ".join(f"{points(gap)} between {a} and {b}" for gap, a, b in largest)
        return Finding("A7", who, benchmark, claim, Verdict.UNTESTABLE, "L0", f"{said}; their noise is not known")
    apart_MM = np.zeros((len(lines), len(lines)), dtype=bool)
    for (a, b), p in zip(ends, stats.holm(ps), strict=True):
        i, j = names.index(a), names.index(b)
        apart_MM[i, j] = apart_MM[j, i] = p < 0.05
    found = stats.tiers(np.array([line.end for line in lines]), apart_MM)
    words = " | ".join(", ".join(f"{names[i]} {share(lines[i].end)}" for i in tier) for tier in found)
    said = f"{len(found)} tier{'s' if len(found) > 1 else ''} after Holm: {words}"
    level = next(one.level for one in ends.values() if one is not None)
    verdict = Verdict.SUPPORTED if len(found) > 1 else Verdict.NOT_SUPPORTED
    return Finding("A7", who, benchmark, claim, verdict, level, said, numbers={"tiers": len(found)})


def common_start(lines: list[Line]) -> Finding:
    """A9: arms of one base must agree at step 0; of several bases they need not."""
    ordered = sorted(lines, key=lambda line: -line.curves[0].start)
    pairs = list(combinations(ordered, 2))
    ps = [_start_p(a.curves[0], b.curves[0]) for a, b in pairs]
    low, high = ordered[-1], ordered[0]
    said = (
        f"from {share(low.curves[0].start)} ({low.name}) to {share(high.curves[0].start)} ({high.name}) at the first eval point"
    )
    claim = "the lines start at different accuracies"
    if all(np.isnan(p) for p in ps):
        return Finding("A9", "all", low.benchmark, claim, Verdict.UNTESTABLE, "L0", f"{said}; their noise is not known")
    adjusted = stats.holm(ps)
    smallest = float(np.nanmin(adjusted))
    apart = [f"{a.name} and {b.name}" for (a, b), p in zip(pairs, adjusted, strict=True) if p < 0.05]
    said += f"; smallest p of {len(pairs)} pairs after Holm {p_value(smallest)[2:].lstrip('= ')}"
    said += f": {len(apart)} differ" if apart else ", so no pair differs"
    level = "L2" if low.curves[0].items is not None else "L1"
    verdict = Verdict.SUPPORTED if apart else Verdict.NOT_SUPPORTED
    return Finding("A9", "all", low.benchmark, claim, verdict, level, said, p=smallest)


def _start_p(a: Measured, b: Measured) -> float:
    if a.x_T[0] != b.x_T[0]:
        return float("nan")
    paired = paired_items(a, b, [float(a.x_T[0])])
    if paired is not None:
        return stats.sign_flip(paired[:, 0]).p if paired.any() else 1.0
    if a.curve.n and b.curve.n:
        return stats.fisher(round(a.start * a.curve.n), a.curve.n, round(b.start * b.curve.n), b.curve.n).p
    return float("nan")


def parameters(name: str) -> float | None:
    """Of a line that is called by its size: 0.8M, 32b."""
    found = SIZE.findall(name)
    return float(found[-1][0]) * {"k": 1e3, "m": 1e6, "b": 1e9}[found[-1][1].lower()] if found else None


def size(lines: list[Line]) -> Finding | None:
    """A12: do larger ones end higher? Only where at least three sizes are told by their names."""
    sized = [(parameters(line.name), line) for line in lines]
    known = sorted(((s, line) for s, line in sized if s is not None), key=lambda one: one[0])
    if len({s for s, _ in known}) < 3:
        return None
    claim, words = "larger ones end higher", ", ".join(f"{line.name} {share(line.end)}" for _, line in known)
    groups = [line.curves[0].items.means_TQ[-1] for _, line in known if line.curves[0].items is not None]
    if len(groups) < len(known):
        rising = all(a.end <= b.end for (_, a), (_, b) in pairwise(known))
        said = f"{words}: {'in' if rising else 'not in'} the order of size; their noise is not known"
        return Finding("A12", "all", lines[0].benchmark, claim, Verdict.UNTESTABLE, "L0", said)
    test = stats.jonckheere(groups)
    verdict = Verdict.SUPPORTED if test.p < 0.05 else Verdict.NOT_SUPPORTED
    return Finding("A12", "all", lines[0].benchmark, claim, verdict, "L2", f"{words}, Jonckheere {p_value(test.p)}", p=test.p)


def sensitivity(curves: Sequence[Measured]) -> list[Finding]:
    """A19: of a sweep, how much of the spread of the ends is due to each setting, and to the seed."""
    found = []
    for benchmark in dict.fromkeys(m.curve.benchmark for m in curves):
        runs = [m for m in curves if m.curve.benchmark == benchmark and m.curve.origin is not None and len(m.x_T)]
        settings = [dict(m.curve.origin.settings) | {"seed": str(m.curve.origin.seed)} for m in runs if m.curve.origin]
        vary = [key for key in (settings[0] if settings else {}) if len({s.get(key) for s in settings}) > 1]
        if len(runs) < 4 or "seed" not in vary or len(vary) < 2:
            continue
        factors: dict[str, Sequence[Hashable]] = {key: [s.get(key, "") for s in settings] for key in vary}
        shares = stats.variance_shares(np.array([m.end for m in runs]), factors)
        cells = {tuple(s[key] for key in vary if key != "seed") for s in settings}
        few = len(runs) / len(cells) < SEEDS
        said = ", ".join(f"{key} {value:.0%}" for key, value in shares.items()) + f" of the variance of {len(runs)} ends"
        claim = "settings matter more than the seed"
        larger = max(value for key, value in shares.items() if key not in ("seed", "remainder")) > shares["seed"]
        verdict = Verdict.UNDERPOWERED if few else Verdict.SUPPORTED if larger else Verdict.NOT_SUPPORTED
        found.append(Finding("A19", "all", benchmark, claim, verdict, "L3", said, numbers=shares))
    return found
