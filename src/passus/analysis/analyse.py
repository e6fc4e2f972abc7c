"""From curves to findings: every question of docs/analysis.md that these curves can be asked, one verdict each.

The tests of one report are one family: verdicts that rest on a p-value stand on it after Benjamini and Hochberg (q < .05).
Dips (A4) are bounded within their curve, tiers (A7) by Holm; early dips (A13) and best checkpoints (A14) have no p-value.
Intervals stay as they are.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from passus.analysis import claim_check, curve_comparison, drop_diagnosis, legibility, model_size, sensitivity, single_curve
from passus.analysis.finding import Finding, Verdict
from passus.analysis.single_curve import Measured
from passus.runs.curves import Curves
from passus.stats import intervals

DISCOVERY = 0.05


def analyse(curves: Curves) -> list[Finding]:
    measured = measure(curves)
    found = [finding for m in measured if m.curve.reader != "control" for finding in single_curve.findings(m)]
    benchmarks = curve_comparison.comparable([m for m in measured if not m.curve.reader])
    found += legibility.findings(curve_comparison.comparable([m for m in measured if m.curve.reader]))
    found += curve_comparison.findings(benchmarks) + model_size.findings(benchmarks) + sensitivity.findings(benchmarks)
    adjust(found)
    found += drop_diagnosis.findings([m for m in measured if not m.curve.reader], found)
    return found + claim_check.findings(curves)


def measure(curves: Curves) -> list[Measured]:
    """Curves with their noise; where several share a name and a benchmark, the seed tells them apart."""
    count = Counter((curve.name, curve.benchmark) for curve in curves.series)
    return [
        single_curve.measured(
            curve,
            f"{curve.name}, seed {curve.origin.seed}"
            if curve.origin and count[curve.name, curve.benchmark] > 1
            else curve.name,
        )
        for curve in curves.series
        if curve.points
    ]


def adjust(found: Sequence[Finding]) -> None:
    """One false-discovery family: what does not survive it is not supported."""
    tested = [finding for finding in found if finding.p is not None]
    for finding, q in zip(
        tested, intervals.benjamini_hochberg([f.p if f.p is not None else np.nan for f in tested]), strict=True
    ):
        finding.q = float(q)
        if finding.verdict is Verdict.SUPPORTED and q >= DISCOVERY:
            finding.verdict = Verdict.NOT_SUPPORTED
            finding.said += f"; not after correction for the {len(tested)} tests of this report (q = {q:.2f})"
