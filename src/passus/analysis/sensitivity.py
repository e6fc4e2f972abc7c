"""What the spread of a sweep's results is due to (A19): each thing that was set, the seed, and the items that were asked.

Main effects by analysis of variance over the runs' ends, with intervals from drawing the items anew. Fewer than three seeds a
setting cannot tell a setting from luck.

Shapes: N runs, Q items, R resamples.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from scipy.special import fdtrc

from passus.analysis.curve_comparison import SEEDS, Line, same_items
from passus.analysis.finding import Finding, Verdict
from passus.formatting import p_value
from passus.stats import intervals

RESAMPLES = 1000
MOST_NAMED = 3
"""Keys of one factor that are told by name."""
CLAIM = "what was set changes the end beyond the spread of seeds"


def findings(benchmarks: Sequence[list[Line]]) -> list[Finding]:
    return [found for lines in benchmarks if lines[0].steps and (found := sensitivity(lines)) is not None]


def sensitivity(lines: list[Line]) -> Finding | None:
    """None where this is no sweep: one line, one seed, or curves that are not runs."""
    seeds = [len(line.curves) for line in lines]
    if len(lines) < 2 or max(seeds) < 2 or any(m.curve.origin is None for line in lines for m in line.curves):
        return None
    if min(seeds) < SEEDS:
        said = f"{min(seeds)} to {max(seeds)} seeds a setting; {SEEDS} are needed"
        return Finding("A19", "all", lines[0].benchmark, CLAIM, Verdict.UNDERPOWERED, "L3", said)
    values_N = np.array([end for line in lines for end in line.ends])
    of_line: list[Hashable] = [line.name for line in lines for _ in line.curves]
    whole = {name: float(value) for name, value in intervals.variance_shares(values_N, {"setting": of_line}).items()}
    between_df, within_df = len(lines) - 1, len(values_N) - len(lines)
    ratio = (whole["setting"] / between_df) / max(whole["remainder"] / within_df, 1e-12)
    p = float(fdtrc(between_df, within_df, ratio))
    said = f"{whole['setting']:.0%} of the variance of {len(values_N)} ends lies between the {len(lines)} settings, "
    said += f"F({between_df}, {within_df}) = {ratio:.1f}, {p_value(p)}"
    split, words = _split(lines, values_N)
    verdict = Verdict.SUPPORTED if p < 0.05 else Verdict.NOT_SUPPORTED
    numbers = {"between_settings": whole["setting"]} | split
    return Finding("A19", "all", lines[0].benchmark, CLAIM, verdict, "L3", said + words, numbers, p=p)


def _split(lines: list[Line], values_N: np.ndarray) -> tuple[dict[str, float], str]:
    """Shares of each key that was set, of the seed and of the rest, in numbers and in words; and what other items would do."""
    factors = factors_of(lines)
    shares = {name: float(value) for name, value in intervals.variance_shares(values_N, factors).items()}
    ends_NQ = _ends_of_items(lines)
    if ends_NQ is None:
        return shares, "; of the whole " + ", ".join(f"{name} {value:.0%}" for name, value in shares.items())
    weights_RQ = intervals.bootstrap_weights([ends_NQ.shape[1]], RESAMPLES)
    drawn_R = intervals.variance_shares(ends_NQ @ weights_RQ.T, factors)
    said = []
    for name, value in shares.items():
        low, high = np.nanquantile(drawn_R[name], [0.025, 0.975])
        said.append(f"{name} {value:.0%} [{100 * low:.0f}, {100 * high:.0f}]")
    items = float(ends_NQ.mean(0).std(ddof=1) / np.sqrt(ends_NQ.shape[1]))
    words = f"; of the whole {', '.join(said)} (intervals: items drawn anew)"
    words += f"; other items would move all ends together by some {100 * items:.1f} points (SE)"
    return shares | {"items_se": items}, words


def factors_of(lines: list[Line]) -> dict[str, Sequence[Hashable]]:
    """What varies between the runs, and the seed. Keys that vary together are one factor, called by all their names."""
    origins = [m.curve.origin for line in lines for m in line.curves if m.curve.origin is not None]
    settings = [dict(origin.settings) | {"model": origin.model} for origin in origins]
    together: dict[tuple[int, ...], list[str]] = {}
    for key in dict.fromkeys(key for one in settings for key in one):
        values = [one.get(key) for one in settings]
        if len(set(values)) > 1:  # by first appearance: which runs are alike in it
            together.setdefault(tuple(values.index(value) for value in values), []).append(key.rpartition(".")[2])
    most = max(map(len, together.values()), default=0)
    named = {", ".join(keys) if most <= MOST_NAMED or len(keys) <= MOST_NAMED else "setting": k for k, keys in together.items()}
    return {**named, "seed": [origin.seed for origin in origins]}


def _ends_of_items(lines: list[Line]) -> np.ndarray | None:
    """[N, Q]: every run's end on every item; None where runs were not measured on the same items."""
    rows: list[np.ndarray] = []
    for line in lines:
        for m in line.curves:
            means_SQ = Line(line.name, line.benchmark, [m], line.steps).means_SQ(line.steps)
            if means_SQ is None or not same_items(lines[0], line):
                return None
            rows.append(means_SQ.mean(0))
    return np.array(rows)
