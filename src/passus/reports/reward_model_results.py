"""Results of reward models: rm@k at the last eval point, against the majority vote."""

import numpy as np

from passus.formatting import between, points, share
from passus.reports.document import Block, Table
from passus.runs.curve import Curves
from passus.runs.run_folder import RunFolder
from passus.stats.intervals import Interval, macro_interval

HEAD = ["at the last eval point", "rm@k", "maj@k", "rm@k minus maj@k", "efficiency (mean@k 0, pass@k 1)"]


def best_of_n(curves: Curves) -> list[Block]:
    """Returns rm@k and maj@k of every reward model, as means over the benchmarks; nothing for policies."""
    rows = []
    for origin in dict.fromkeys(curve.origin for curve in curves.series if curve.origin):
        evals = [point for point in RunFolder(origin.path).evals() if None not in (point.over_maj, point.efficiency_ci)]
        last = [point for point in evals if point.step == max(point.step for point in evals)]
        if not last:
            continue
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
    return [Table(HEAD, rows)] if rows else []
