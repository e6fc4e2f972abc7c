"""Sources of the spread of a sweep's results (A19): what was set, the luck of a run, and the items.

The final accuracies of the runs are split into variance components: between settings, and between runs of one setting. Where
several settings vary, each has a component of its own. The choice of items moves all runs together, and has a standard error
beside them. The test needs runs of equal spread: with one setting of eight times the spread of four others, two to five runs
each, it would be false in 15 to 20 % of sweeps instead of 5 %.

Shapes: N runs, Q items.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from passus.analysis.compared_line import ComparedLine, same_items
from passus.analysis.finding import Conclusion, Finding, Scope
from passus.analysis.wording import amount, supported_if
from passus.formatting import p_value
from passus.stats.clusters import unit_levels
from passus.stats.run_spread import MIN_RUNS, UNLIKE_LEVEL, item_variance, run_spread
from passus.stats.variance import VarianceComponent, variance_component

MAX_NAMED_KEYS = 3
"""Keys of one factor that are listed by name."""
CLAIM = "settings change the final accuracy beyond the spread of runs"


def findings(benchmarks: Sequence[list[ComparedLine]]) -> list[Finding]:
    """Asks it of three lines or more; of two, their comparison is the same test."""
    swept = [lines for lines in benchmarks if lines[0].steps and len(lines) > 2]
    return [finding for lines in swept if (finding := sensitivity(lines)) is not None]


def sensitivity(lines: list[ComparedLine]) -> Finding | None:
    """Tests the variance between settings against that between runs of one; None where this is no sweep over repeated runs."""
    runs = [len(line.curves) for line in lines]
    if len(lines) < 2 or max(runs) < MIN_RUNS or any(m.curve.origin is None for line in lines for m in line.curves):
        return None
    items_se, items = _of_items(lines)
    found = Finding(
        "A19", "all", lines[0].benchmark, CLAIM, Conclusion.UNTESTABLE, "L3", "", scope=Scope.CONFIGURATION,
        items=items, seeds=min(runs),
    )  # fmt: skip
    if min(runs) < MIN_RUNS:
        sentence = f"{min(runs)} to {max(runs)} runs per setting: two or more of every setting are needed."
        return replace(found, verdict=Conclusion.UNDERPOWERED, sentence=sentence)
    spread = run_spread([line.ends for line in lines])
    ends_N = np.array([end for line in lines for end in line.ends])
    added = _of_items_by_line(lines)
    component = variance_component(ends_N, [line.name for line in lines for _ in line.curves], added=added)
    if component is None:
        return replace(found, sentence="Runs of one setting all end alike, which leaves no spread to test.")
    if not spread.is_pooled or not spread.varying_A.all():
        reason = f"Cochran's test, {p_value(spread.unlike_p)}, tested at {UNLIKE_LEVEL:g}"
        reason = reason if spread.varying_A.all() else "those of one setting all end alike"
        sentence = f"Runs of some settings may scatter more than those of others ({reason}), so one variance between runs may "
        sentence += "not describe them all. Only pairs are compared."
        return replace(found, sentence=sentence)
    return _split(found, lines, component, ends_N, items_se, added)


def _split(
    found: Finding, lines: list[ComparedLine], component: VarianceComponent, ends_N: np.ndarray, items_se: float | None,
    added: float,
) -> Finding:  # fmt: skip
    """Fills in the components of all settings together and of each, and the effect of other items, in numbers and words."""
    of_factors = _components(ends_N, factors_of(lines), added)
    sentence = f"{_share(component)} of the variance of a run's final accuracy lies between the {len(lines)} settings "
    sentence += f"(90 % CI {_bounds(component)}, F({component.between_df}, {component.within_df}) = {component.f:.1f}, "
    sentence += f"{p_value(component.p)}). The SD is {amount(float(np.sqrt(component.between)))} between settings and "
    sentence += f"{amount(float(np.sqrt(component.within)))} between runs of one setting ({len(ends_N)} runs)."
    if of_factors:
        listed = (f"{name} {_share(factor)} (90 % CI {_bounds(factor)})" for name, factor in of_factors.items())
        sentence += f" Single settings, each beside what all of them leave: {', '.join(listed)}."
    if items_se is not None:
        sentence += f" Other items would move all final accuracies together by about {100 * items_se:.1f} points (SE)."
    numbers = {
        "between_settings": component.share, "setting_sd": float(np.sqrt(component.between)),
        "run_sd": float(np.sqrt(component.within)), **{name: factor.share for name, factor in of_factors.items()},
    }  # fmt: skip
    numbers |= {"items_se": items_se} if items_se is not None else {}
    p = component.p
    return replace(
        found, verdict=supported_if(p < 0.05), sentence=sentence, numbers=numbers, low=component.low, high=component.high, p=p
    )


def _share(component: VarianceComponent) -> str:
    return f"{100 * component.share:.0f} %"


def _bounds(component: VarianceComponent) -> str:
    return f"{100 * component.low:.0f} to {100 * component.high:.0f}"


def _components(ends_N: np.ndarray, factors: dict[str, Sequence[Hashable]], added: float) -> dict[str, VarianceComponent]:
    """Returns the component of each factor beside the others, where there are several and they can be separated."""
    known = {}
    for name, levels in factors.items() if len(factors) > 1 else ():
        component = variance_component(ends_N, levels, [other for key, other in factors.items() if key != name], added)
        if component is not None:
            known[name] = component
    return known


def factors_of(lines: list[ComparedLine]) -> dict[str, Sequence[Hashable]]:
    """Returns the settings that vary between the runs. Keys that vary together are one factor, named by all of them."""
    origins = [m.curve.origin for line in lines for m in line.curves if m.curve.origin is not None]
    settings = [dict(origin.settings) | {"model": origin.model} for origin in origins]
    keys_by_pattern: dict[tuple[int, ...], list[str]] = {}
    for key in dict.fromkeys(key for run in settings for key in run):
        values = [run.get(key) for run in settings]
        if len(set(values)) > 1:  # the pattern by first appearance: which runs are alike in this key
            keys_by_pattern.setdefault(tuple(values.index(value) for value in values), []).append(key.rpartition(".")[2])
    few = max(map(len, keys_by_pattern.values()), default=0) <= MAX_NAMED_KEYS
    return {
        ", ".join(keys) if few or len(keys) <= MAX_NAMED_KEYS else "setting": pattern
        for pattern, keys in keys_by_pattern.items()
    }


def _of_items_by_line(lines: list[ComparedLine]) -> float:
    """Returns the variance of a line's mean because it is better on some items and worse on others; 0 where that is unknown."""
    means = [line.run_means_SQ() for line in lines]
    if any(means_SQ is None for means_SQ in means) or not all(same_items(lines[0], line) for line in lines):
        return 0.0
    pairs = combinations([means_SQ for means_SQ in means if means_SQ is not None], 2)
    return float(np.mean([item_variance(a, b) / 2 for a, b in pairs]))


def _of_items(lines: list[ComparedLine]) -> tuple[float | None, int | None]:
    """Returns the standard error of all runs' mean over the choice of items, and their number; None where runs have other
    items."""
    means = [line.means_SQ(line.steps, unit_levels) for line in lines if same_items(lines[0], line)]
    known = [means_SQ.mean(0) for means_SQ in means if means_SQ is not None]
    if len(known) < len(lines):
        return None, lines[0].curves[0].curve.n
    means_Q = np.average(known, axis=0, weights=[len(line.curves) for line in lines])
    items = lines[0].items
    count = len(items.item_Q) if items is not None else None
    return float(means_Q.std(ddof=1) / np.sqrt(len(means_Q))) if len(means_Q) > 1 else None, count
