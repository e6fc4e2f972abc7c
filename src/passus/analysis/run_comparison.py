"""Two runs on the same items, A against B: the difference per benchmark and overall, and the items that make it.

The summary is fixed: the mean of the last three eval points that both have, or the area under the curve. Never a step that
somebody picked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from passus.analysis.finding import OVERALL
from passus.analysis.measured_curve import MeasuredCurve, final_points, measure_curve
from passus.analysis.wording import ci
from passus.errors import UsageError, nearest
from passus.formatting import p_value, points
from passus.runs.read_curves import run_curves
from passus.runs.run_folder import RunFolder, find_runs
from passus.stats import multiplicity, paired_tests, power, resampling
from passus.stats.intervals import Interval

EXAMPLES = 3
Summary = Literal["last", "area"]


@dataclass
class BenchmarkComparison:
    """A minus B on one benchmark, or on the mean of all."""

    benchmark: str
    difference: float
    low: float
    high: float
    p: float
    items: int
    samples: str
    """Samples per item, of A and of B where they differ."""
    steps: list[float]
    detectable: float
    """The smallest difference that is detected in four of five cases."""
    gained: list[int] = field(default_factory=list)
    """Items that A solves in most samples and B does not, at the last eval point."""
    lost: list[int] = field(default_factory=list)
    extract: str = ""
    """Answers that counted, `any` or `boxed`, the same in both runs."""

    @property
    def sentence(self) -> str:
        evidence = f"{ci(self.low, self.high)}, {p_value(self.p)}, paired over {self.items} items x {self.samples} samples"
        evidence += f", extraction {self.extract}" if self.extract else ""
        return f"A minus B is {points(self.difference)} ({evidence})."

    def to_json(self) -> dict[str, Any]:
        fields = {"smallest" if name == "detectable" else name: value for name, value in vars(self).items()}
        return fields | {"said": self.sentence}


def has_regressed(comparisons: Sequence[BenchmarkComparison]) -> bool:
    """Returns whether A, the new run, is worse beyond noise on any benchmark, after Holm, or overall."""
    single = [c for c in comparisons if not c.benchmark.startswith(OVERALL)]
    overall = [c for c in comparisons if c.benchmark.startswith(OVERALL)]
    adjusted = multiplicity.holm([c.p for c in single]).tolist()
    return any(
        p < 0.05 and c.difference < 0 for c, p in [*zip(single, adjusted, strict=True), *((c, c.p) for c in overall)]
    )  # fmt: skip


def compare(a: Path, b: Path, benchmark: str | None = None, summary: Summary = "last") -> list[BenchmarkComparison]:
    """Compares every benchmark that both runs have, then their mean where there are several. Refuses runs on other items."""
    mine, theirs = curves_of_two_runs(a, b)
    shared = [name for name in mine if name in theirs]
    if not shared:
        raise UsageError(
            f"{a} and {b} have no benchmark in common: {', '.join(mine) or 'none'}; {', '.join(theirs) or 'none'}",
            expected="two runs of one suite, at one temperature",
        )
    if benchmark is not None and benchmark not in shared:
        raise UsageError(f"--benchmark {benchmark}", expected=", ".join(shared), write=nearest(benchmark, shared))
    chosen = [benchmark] if benchmark else shared
    differences = {name: _differences(mine[name], theirs[name], summary, a, b) for name in chosen}
    comparisons = [_compare_benchmark(name, *differences[name], mine[name], theirs[name]) for name in chosen]
    by_temperature: dict[float | None, list[str]] = {}
    for name in chosen:  # the items are the same at every temperature, so temperatures are not benchmarks
        by_temperature.setdefault(mine[name].curve.temperature, []).append(name)
    for temperature, names in by_temperature.items():
        if len(names) > 1:
            single = [c for c in comparisons if c.benchmark in names]
            overall = OVERALL + (f", temperature {temperature:g}" if temperature is not None else "")
            comparisons.append(_compare_overall(overall, single, [differences[name][0] for name in names]))
    return comparisons


def curves_of_two_runs(a: Path, b: Path) -> tuple[dict[str, MeasuredCurve], dict[str, MeasuredCurve]]:
    """Returns the curves of both runs by benchmark, and by temperature if the two have more than one."""
    runs = [RunFolder(single_run(path)) for path in (a, b)]
    series = run_curves(runs).series if runs[0].path != runs[1].path else run_curves(runs[:1]).series
    by_run: list[dict[str, MeasuredCurve]] = [
        {c.benchmark: measure_curve(c, c.name) for c in series if c.origin and c.origin.path == run.path} for run in runs
    ]
    return by_run[0], by_run[1]


def single_run(path: Path) -> Path:
    runs = find_runs(path)
    if len(runs) != 1:
        raise UsageError(
            f"{path} holds {len(runs)} runs" if runs else f"{path} is not a run",
            expected="one run folder",
            write=str(runs[0]) if runs else "passus ls",
        )
    return runs[0]


def _differences(
    a: MeasuredCurve, b: MeasuredCurve, summary: Summary, path_a: Path, path_b: Path
) -> tuple[np.ndarray, list[float]]:
    """Returns differences_Q of the summary, and the eval points that it covers."""
    name = a.curve.benchmark
    common = [x for x in a.x_T.tolist() if x in set(b.x_T.tolist())]
    if not common:
        raise UsageError(f"{name}: {path_a} and {path_b} have no eval point in common", expected="the same eval.every")
    steps = common if summary == "area" else final_points(common)
    if a.items is None or b.items is None or not a.items.same_as(b.items):
        raise UsageError(
            f"{name}: {path_a} and {path_b} were not evaluated on the same items, or their rows are not kept",
            expected="the same benchmark, eval.limit and items/ folders",
        )
    at = [int(x) for x in steps]
    mine, theirs = (items.at(a.items.item_Q, at).means_TQ for items in (a.items, b.items))
    return np.asarray(_weights(steps, summary) @ (mine - theirs)), steps


def _weights(steps: list[float], summary: Summary) -> np.ndarray:
    """Weights eval points equally, or by their distance, so that their sum is the area under the curve."""
    if summary == "last" or len(steps) == 1:
        return np.full(len(steps), 1 / len(steps))
    gaps = np.diff(steps) / (steps[-1] - steps[0])
    return np.asarray((np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2)


def _compare_benchmark(
    name: str, differences_Q: np.ndarray, steps: list[float], a: MeasuredCurve, b: MeasuredCurve
) -> BenchmarkComparison:
    assert a.items is not None and b.items is not None
    items = a.items.item_Q
    solved_a, solved_b = (outcomes.at(items, [int(steps[-1])]).means_TQ[0] > 0.5 for outcomes in (a.items, b.items))
    interval, p = _test(differences_Q)
    samples = " and ".join(dict.fromkeys(str(outcomes.correct_TQK.shape[2]) for outcomes in (a.items, b.items)))
    return BenchmarkComparison(
        name, interval.mean, interval.low, interval.high, p, len(items), samples, steps,
        power.detectable_paired_difference(differences_Q),
        [item for item, by_a, by_b in zip(items, solved_a, solved_b, strict=True) if by_a and not by_b],
        [item for item, by_a, by_b in zip(items, solved_a, solved_b, strict=True) if by_b and not by_a],
        a.curve.extract,
    )  # fmt: skip


def _test(differences_Q: np.ndarray, counts: Sequence[int] | None = None) -> tuple[Interval, float]:
    """Returns interval and p-value; exact, by McNemar, where one answer per item at one eval point is correct or wrong."""
    interval = resampling.paired_bootstrap(differences_Q, counts)
    if counts is None and set(np.unique(differences_Q)) <= {-1.0, 0.0, 1.0}:
        return interval, paired_tests.mcnemar_test(differences_Q > 0, differences_Q < 0).p
    return interval, paired_tests.sign_flip_test(differences_Q, counts).p


def _compare_overall(benchmark: str, single: list[BenchmarkComparison], differences: list[np.ndarray]) -> BenchmarkComparison:
    """Compares the mean of the benchmarks, each counting the same; items are resampled within each."""
    counts = [len(values_Q) for values_Q in differences]
    interval, p = _test(np.concatenate(differences), counts)
    # As many standard errors as on one benchmark.
    parts = [c.detectable / len(single) for c in single]
    samples = single[0].samples if len({c.samples for c in single}) == 1 else "several"
    detectable = float(np.sqrt(np.sum(np.square(parts))))
    return BenchmarkComparison(
        benchmark, interval.mean, interval.low, interval.high, p, sum(counts), samples, single[0].steps, detectable,
        extract=single[0].extract,
    )  # fmt: skip
