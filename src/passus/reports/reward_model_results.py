"""Results of reward models: rm@k at the last eval point, against the majority vote."""

import numpy as np

from passus.formatting import between, points, share
from passus.reports.document import Block, Note, Table
from passus.runs.curve import Curves
from passus.runs.run_folder import RunFolder
from passus.stats.intervals import Interval, macro_interval

NOTE = (
    "The choice among k candidates at the last eval point: by the reward model (rm@k) and by majority (maj@k). Efficiency is "
    "the share of the way from a random choice (0) to the best candidate (1)."
)


def best_of_n(curves: Curves) -> list[Block]:
    """Returns rm@k and maj@k of every reward model, as means over the benchmarks; nothing for policies."""
    rows, size = [], 0
    for origin in dict.fromkeys(curve.origin for curve in curves.series if curve.origin):
        evals = [point for point in RunFolder(origin.path).evals() if None not in (point.over_maj, point.efficiency_ci)]
        last = [point for point in evals if point.step == max(point.step for point in evals)]
        if not last:
            continue
        size = last[0].k
        name = next(curve.name for curve in curves.series if curve.origin == origin)
        over_maj, efficiency = (
            macro_interval([Interval(getattr(point, key), *getattr(point, f"{key}_ci")) for point in last])
            for key in ("over_maj", "efficiency")
        )
        rm, maj = (float(np.mean([getattr(p, key)[str(p.k)] for p in last])) for key in ("rm_at_k", "maj_at_k"))
        rows.append([
            name, share(rm), share(maj), f"{points(over_maj.mean)} {between(over_maj.low, over_maj.high)}",
            f"{efficiency.mean:.2f} [{efficiency.low:.2f}, {efficiency.high:.2f}]",
        ])  # fmt: skip
    if not rows:
        return []
    head = ["line", f"rm@{size}", f"maj@{size}", f"rm@{size} minus maj@{size}", "efficiency"]
    return [Note(NOTE.replace("k candidates", f"{size} candidates").replace("@k", f"@{size}")), Table(head, rows)]
