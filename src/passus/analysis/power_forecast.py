"""Which differences a planned experiment can show, and what would show a given one.

Claims about configurations have runs as their unit and are tested as in stats/run_spread.py; claims about checkpoints have
items as theirs. A report adjusts its claims for their number: those about configurations on single benchmarks share a part of
the level, and the first step of Holm's correction, which is the strictest, stands for all of them.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from passus.analysis.level_share import QuestionKind, level_share
from passus.analysis.planned_experiment import PlannedBenchmark, PlannedExperiment
from passus.errors import UsageError
from passus.stats import run_power
from passus.stats.accuracy_noise import ASSUMED, AccuracyNoise, MeasuredNoise
from passus.stats.run_power import MAX_ITEMS, POWER, PlannedTest
from passus.stats.run_spread import MIN_RUNS

LEVEL = 0.05
LARGEST = 1.0
"""No two accuracies differ by more."""


@dataclass(frozen=True)
class RunForecast:
    """A comparison of configurations: one pair alone, or each pair of a whole report."""

    seeds: int
    """Seeds per arm that `smallest` is for: those planned, or two where one is planned."""
    smallest: float
    """The smallest difference that is shown in 80 % of cases."""
    needed_seeds: int | None
    """Seeds that would show the asked difference; None where no number of them would."""
    needed_items: int | None
    limit_of_seeds: float
    """The smallest difference that any number of seeds would show with as many items."""
    limit_of_items: float
    """The smallest difference that any number of items would show with as many seeds."""


@dataclass(frozen=True)
class BenchmarkForecast:
    benchmark: PlannedBenchmark
    measured: MeasuredNoise
    pair: RunForecast
    """Two arms alone, as in `passus compare`."""
    report: RunForecast | None
    """One of all pairs of a report; None with one arm."""
    checkpoint: float
    """The smallest difference of two single runs."""
    checkpoint_items: int | None
    """Items that would show the asked difference between two single runs."""

    def to_json(self) -> dict[str, Any]:
        """Returns the forecast with differences in points; null stands for a number that does not exist."""
        fields = {
            "benchmark": self.benchmark.name, **asdict(self.benchmark.size),
            "configuration": {"pair": _run_json(self.pair), "report": _run_json(self.report)},
            "checkpoint": {"smallest": _points(self.checkpoint), "needed_items": self.checkpoint_items},
            "sd": {name: _points(math.sqrt(v)) for name, v in asdict(self.measured.noise).items() if name != "sampling"},
            "sampling": self.measured.noise.sampling, "assumed": self.measured.is_assumed, "basis": self.measured.basis,
        }  # fmt: skip
        return fields


def _run_json(run: RunForecast | None) -> dict[str, Any] | None:
    if run is None:
        return None
    return {key: _points(value) if isinstance(value, float) else value for key, value in asdict(run).items()}


def _points(value: float) -> float | None:
    return round(100 * value, 4) if math.isfinite(value) and value <= LARGEST else None


def check_difference(points: float) -> float:
    """Returns a difference given in points as one of accuracies."""
    if not 0 < points <= 100:  # NaN is neither
        raise UsageError(f"--difference {points:g}", expected="points, more than 0 and at most 100", write="--difference 2")
    return points / 100


def forecast(
    plan: PlannedExperiment, recorded: Mapping[str, MeasuredNoise] | None = None, difference: float = 0.02
) -> list[BenchmarkForecast]:
    """Predicts the power of an experiment on each of its benchmarks."""
    return [_forecast(plan, benchmark, _noise_of(benchmark, recorded or {}), difference) for benchmark in plan.benchmarks]


def _noise_of(benchmark: PlannedBenchmark, recorded: Mapping[str, MeasuredNoise]) -> MeasuredNoise:
    """Returns the noise that was measured on a benchmark, else the mean over the benchmarks that were, else the assumption."""
    if not recorded:
        return ASSUMED
    known = recorded.get(benchmark.name)
    if known is not None:
        return known
    fields = [asdict(measured.noise) for measured in recorded.values()]
    mean = AccuracyNoise(**{name: sum(values[name] for values in fields) / len(fields) for name in fields[0]})
    names = ", ".join(recorded)
    return MeasuredNoise(mean, f"The runs were not evaluated on it: the mean variances of {names} are used.")


def _forecast(
    plan: PlannedExperiment, benchmark: PlannedBenchmark, measured: MeasuredNoise, difference: float
) -> BenchmarkForecast:
    pair, report = planned_tests(plan, benchmark, measured.noise)
    return BenchmarkForecast(
        benchmark,
        measured,
        _run_forecast(pair, difference),
        _run_forecast(report, difference) if report else None,
        run_power.detectable_by_items(measured.noise, benchmark.size),
        run_power.least_items_of_two_runs(measured.noise, benchmark.size, difference),
    )


def planned_tests(
    plan: PlannedExperiment, benchmark: PlannedBenchmark, noise: AccuracyNoise
) -> tuple[PlannedTest, PlannedTest | None]:
    """Returns the test of two arms alone, and that of each pair in a report; with one seed planned, those of two seeds."""
    pair = PlannedTest(2, max(plan.seeds, MIN_RUNS), benchmark.size, noise, LEVEL)
    share = level_share(QuestionKind.CONFIGURATION, has_overall=plan.overall_tests > 0)
    alpha = LEVEL * share / max(plan.tests - plan.overall_tests, 1)
    return pair, replace(pair, arms=plan.arms, alpha=alpha) if plan.arms > 1 else None


def report_test(plan: PlannedExperiment, noise: Mapping[str, MeasuredNoise]) -> tuple[PlannedBenchmark, PlannedTest] | None:
    """Returns the comparison of a report on the benchmark of middle precision; None without two arms and a measured one."""
    known = [(b, planned_tests(plan, b, noise[b.name].noise)[1]) for b in plan.benchmarks if b.name in noise]
    tests = [(benchmark, test) for benchmark, test in known if test is not None]
    ordered = sorted(tests, key=lambda pair: pair[1].detectable())
    return ordered[(len(ordered) - 1) // 2] if ordered else None


@lru_cache(maxsize=256)  # benchmarks of one size have one forecast
def _run_forecast(test: PlannedTest, difference: float) -> RunForecast:
    with_all_items, smallest = replace(test, size=replace(test.size, items=MAX_ITEMS)), test.detectable()
    return RunForecast(
        test.seeds,
        smallest,
        run_power.least_seeds(test, difference),
        run_power.least_items(test, difference),
        run_power.limit_of_seeds(test),
        min(smallest, with_all_items.detectable()),
    )


def summary(plan: PlannedExperiment) -> str:
    """Says in a line what the experiment can show under the assumptions, as far as that takes no search."""
    benchmarks, assumed = _extremes(plan.benchmarks), "(assumed: runs of one arm differ by 2 points; see passus power)"
    tests = [planned_tests(plan, benchmark, ASSUMED.noise) for benchmark in benchmarks]
    pair = _range([one.detectable() for one, _ in tests])
    if plan.seeds < MIN_RUNS:
        two_runs = _range([run_power.detectable_by_items(ASSUMED.noise, benchmark.size) for benchmark in benchmarks])
        return (
            "one seed per arm shows no difference of configurations; two seeds would show one of "
            f"{pair} in 80 % of cases, and two checkpoints one of {two_runs} {assumed}"
        )
    whole = _range([each.detectable() for _, each in tests if each])
    in_report = f", and of {whole} in a report of {plan.tests} comparisons" if plan.tests > 1 else ""
    return f"{plan.seeds} seeds show a difference of {pair} between two arms in 80 % of cases{in_report} {assumed}"


def _extremes(benchmarks: list[PlannedBenchmark]) -> list[PlannedBenchmark]:
    """Returns the benchmarks with the most and with the fewest completions, between which all others lie."""
    ordered = sorted(benchmarks, key=lambda benchmark: (benchmark.size.items, benchmark.size.samples))
    return [ordered[-1], ordered[0]] if len(ordered) > 1 else ordered


def _range(values: list[float]) -> str:
    shown = [f"{100 * value:.1f}" for value in values]
    return "" if not shown else f"{shown[0]} points" if len(set(shown)) == 1 else f"{shown[0]} to {shown[-1]} points"


def to_json(plan: PlannedExperiment, forecasts: list[BenchmarkForecast], difference: float) -> dict[str, Any]:
    """Returns the plan and its forecasts, with differences in points."""
    return {
        "experiment": plan.name, "arms": plan.arms, "seeds": plan.seeds, "eval_points": plan.eval_points, "tests": plan.tests,
        "power": POWER, "level": LEVEL, "difference": _points(difference), "notes": plan.notes,
        "benchmarks": [forecast.to_json() for forecast in forecasts],
    }  # fmt: skip
