"""Sources of the spread of a sweep's results (A19): each setting, the seed, and the items.

Main effects come from an analysis of variance over the runs' final accuracies, with intervals from resampling the items. Fewer
than three seeds per setting cannot separate a setting from luck.

Shapes: N runs, Q items, R resamples.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from scipy.special import fdtrc

from passus.analysis.compared_line import ComparedLine, same_items
from passus.analysis.finding import Conclusion, Finding
from passus.analysis.wording import supported_if
from passus.formatting import p_value, share
from passus.stats import intervals, resampling, variance
from passus.stats.clusters import unit_levels

RESAMPLES = 1000
MIN_SEEDS = 3
"""Runs per setting that an analysis of variance needs here."""
MAX_NAMED_KEYS = 3
"""Keys of one factor that are listed by name."""
CLAIM = "settings change the final accuracy beyond the spread of seeds"


def findings(benchmarks: Sequence[list[ComparedLine]]) -> list[Finding]:
    return [finding for lines in benchmarks if lines[0].steps and (finding := sensitivity(lines)) is not None]


def sensitivity(lines: list[ComparedLine]) -> Finding | None:
    """Tests the variance between settings against that between seeds; None where this is no sweep over runs with seeds."""
    seeds = [len(line.curves) for line in lines]
    if len(lines) < 2 or max(seeds) < 2 or any(m.curve.origin is None for line in lines for m in line.curves):
        return None
    if min(seeds) < MIN_SEEDS:
        count = f"{min(seeds)} to {max(seeds)}" if min(seeds) < max(seeds) else str(min(seeds))
        sentence = f"{count} seeds per setting: {MIN_SEEDS} are needed."
        return Finding("A19", "all", lines[0].benchmark, CLAIM, Conclusion.UNDERPOWERED, "L3", sentence)
    ends_N = np.array([end for line in lines for end in line.ends])
    if np.ptp(ends_N) < 1e-12:
        sentence = f"All {len(ends_N)} runs end at {share(float(ends_N[0]))}: there is no variance to explain."
        return Finding("A19", "all", lines[0].benchmark, CLAIM, Conclusion.UNTESTABLE, "L3", sentence)
    line_N: list[Hashable] = [line.name for line in lines for _ in line.curves]
    shares = {name: float(value) for name, value in variance.variance_shares(ends_N, {"setting": line_N}).items()}
    between_df, within_df = len(lines) - 1, len(ends_N) - len(lines)
    ratio = (shares["setting"] / between_df) / max(shares["remainder"] / within_df, 1e-12)
    p = float(fdtrc(between_df, within_df, ratio))
    split, words = _split(lines, ends_N)
    sentence = (
        f"{shares['setting']:.0%} of the variance of {len(ends_N)} final accuracies lies between the {len(lines)} settings "
    )
    sentence += f"(F({between_df}, {within_df}) = {ratio:.1f}, {p_value(p)}). {words}"
    numbers = {"between_settings": shares["setting"]} | split
    return Finding("A19", "all", lines[0].benchmark, CLAIM, supported_if(p < 0.05), "L3", sentence, numbers, p=p)


def _split(lines: list[ComparedLine], ends_N: np.ndarray) -> tuple[dict[str, float], str]:
    """Returns the shares of each setting, of the seed and of the rest, and the effect of other items, in numbers and words."""
    factors = factors_of(lines)
    shares = {name: float(value) for name, value in variance.variance_shares(ends_N, factors).items()}
    ends_NQ = _final_item_means(lines)
    if ends_NQ is None:
        return shares, f"Shares of the total: {', '.join(f'{name} {value:.0%}' for name, value in shares.items())}."
    weights_RQ = resampling.bootstrap_weights([ends_NQ.shape[1]], RESAMPLES)
    resampled = variance.variance_shares(ends_NQ @ weights_RQ.T, factors)
    listed = []
    for name, value in shares.items():
        low, high = np.nanquantile(resampled[name], [0.025, 0.975])
        listed.append(f"{name} {value:.0%} (95 % CI {100 * low:.0f} to {100 * high:.0f})")
    items_se = intervals.population_se(ends_NQ.mean(0)[:, None])
    words = f"Shares of the total, with the items resampled: {', '.join(listed)}. Other items would move all final accuracies "
    words += f"together by about {100 * items_se:.1f} points (SE)."
    return shares | {"items_se": items_se}, words


def factors_of(lines: list[ComparedLine]) -> dict[str, Sequence[Hashable]]:
    """Returns the settings that vary between the runs, and the seed. Keys that vary together are one factor, named by all."""
    origins = [m.curve.origin for line in lines for m in line.curves if m.curve.origin is not None]
    settings = [dict(origin.settings) | {"model": origin.model} for origin in origins]
    keys_by_pattern: dict[tuple[int, ...], list[str]] = {}
    for key in dict.fromkeys(key for run in settings for key in run):
        values = [run.get(key) for run in settings]
        if len(set(values)) > 1:  # the pattern by first appearance: which runs are alike in this key
            keys_by_pattern.setdefault(tuple(values.index(value) for value in values), []).append(key.rpartition(".")[2])
    few = max(map(len, keys_by_pattern.values()), default=0) <= MAX_NAMED_KEYS
    named = {
        ", ".join(keys) if few or len(keys) <= MAX_NAMED_KEYS else "setting": pattern
        for pattern, keys in keys_by_pattern.items()
    }
    return {**named, "seed": [origin.seed for origin in origins]}


def _final_item_means(lines: list[ComparedLine]) -> np.ndarray | None:
    """Returns every run's final accuracy per item [N, Q]; None where runs were not measured on the same items."""
    rows: list[np.ndarray] = []
    for line in lines:
        for m in line.curves:
            means_SQ = ComparedLine(line.name, line.benchmark, [m], line.steps).means_SQ(line.steps, unit_levels)
            if means_SQ is None or not same_items(lines[0], line):
                return None
            rows.append(means_SQ.mean(0))
    return np.array(rows)
