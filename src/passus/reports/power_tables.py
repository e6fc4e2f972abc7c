"""The power of a planned experiment in a terminal: two tables, and the sentences that say what they rest on."""

import math
from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from passus.analysis.finding import PLAUSIBLE_EFFECT
from passus.analysis.planned_experiment import PlannedExperiment
from passus.analysis.power_forecast import LARGEST, BenchmarkForecast, RunForecast
from passus.console import rich_console
from passus.stats.run_power import MAX_SEEDS
from passus.stats.run_spread import MIN_RUNS

NONE = "none"


def print_forecasts(plan: PlannedExperiment, forecasts: Sequence[BenchmarkForecast], difference: float) -> None:
    """Prints what the experiment can show, what would show the asked difference, and the basis of both."""
    console = rich_console(highlight=False)
    asked = f"{100 * difference:g} point{'s' * (difference != 0.01)}"
    console.print(Text(_plan_words(plan), style="bold"))
    console.print(Text("\nSmallest difference that is shown in 80 % of cases, in points"))
    console.print(_smallest_table(plan, forecasts))
    console.print(Text(f"What would show {asked}"))
    console.print(_needed_table(forecasts))
    for sentence in _sentences(plan, forecasts, asked):
        console.print(Text(sentence))


def _plan_words(plan: PlannedExperiment) -> str:
    window = "the last three" if plan.benchmarks[0].size.points > 1 else "the last"
    counts = f"{_count(plan.arms, 'arm')} x {_count(plan.seeds, 'seed')}, {_count(plan.eval_points, 'eval point')}"
    return f"{plan.name}: {counts}, of which {window} count{'s' * (window == 'the last')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _smallest_table(plan: PlannedExperiment, forecasts: Sequence[BenchmarkForecast]) -> Table:
    runs = f"{max(plan.seeds, MIN_RUNS)} seeds,\n"
    table = _table("items x\nsamples", f"{runs}one pair", f"{runs}in a report", "two\ncheckpoints")
    for f in forecasts:
        size = f"{f.benchmark.size.items} x {f.benchmark.size.samples}"
        report = _difference(f.report.smallest) if f.report else "-"
        table.add_row(Text(f.benchmark.name), size, _difference(f.pair.smallest), report, _difference(f.checkpoint))
    return table


def _needed_table(forecasts: Sequence[BenchmarkForecast]) -> Table:
    table = _table("seeds,\npair", "seeds,\nreport", "items,\npair", "items,\nreport", "items,\ncheckpoints")
    for f in forecasts:
        runs = [f.pair, f.report]
        cells = [*(_seeds(run) for run in runs), *(_items(run) for run in runs), _number(f.checkpoint_items)]
        table.add_row(Text(f.benchmark.name), *cells)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("benchmark", vertical="bottom")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _difference(value: float) -> str:
    return NONE if not math.isfinite(value) or value > LARGEST else f"{100 * value:.1f}"


def _number(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"


def _seeds(run: RunForecast | None) -> str:
    return "-" if run is None else _number(run.needed_seeds)


def _items(run: RunForecast | None) -> str:
    return "-" if run is None else _number(run.needed_items)


def _sentences(plan: PlannedExperiment, forecasts: Sequence[BenchmarkForecast], asked: str) -> list[str]:
    """Says why a number is missing, what the columns mean, and which variances were used."""
    sentences = []
    if plan.seeds < MIN_RUNS:
        sentences.append(
            "With one seed per arm, no difference of configurations can be shown: it could be the luck of a run. Two seeds "
            'would show what the table says (write: --set "sweep.seed=[0, 1]").'
        )
    runs = [run for f in forecasts for run in (f.pair, f.report) if run is not None]
    if without := [run.limit_of_items for run in runs if run.needed_items is None]:
        sentences.append(
            f"More items alone cannot show {asked} where the table says {NONE}: with {runs[0].seeds} seeds, the spread between "
            f"runs leaves {_range(without)} at any number of items."
        )
    if without := [run.limit_of_seeds for run in runs if run.needed_seeds is None]:
        sentences.append(
            f"{MAX_SEEDS:,} seeds do not show {asked} where the table says {NONE}: the arms differ on single items, which "
            f"leaves about {_range(without)} at any number of seeds. More items would lower this."
        )
    return [*sentences, *_meaning(plan, runs), *_bases(forecasts), *plan.notes]


def _range(values: Sequence[float]) -> str:
    low, high = (f"{100 * value:.1f}" for value in (min(values), max(values)))
    return f"{low} points" if low == high else f"{low} to {high} points"


def _meaning(plan: PlannedExperiment, runs: Sequence[RunForecast]) -> list[str]:
    sentences = [
        "Pair: two arms alone at the level of .05, as in passus compare; runs are the unit. Checkpoints: two single runs, "
        "paired over items; this says nothing about their arms."
    ]
    if plan.arms < 2:
        sentences.append("There is one arm: the pair is this arm and another with as many seeds.")
    else:
        sentences.append(
            f"Report: each of {_count(plan.tests, 'comparison')}, adjusted for all of them; the first step of Holm's "
            "correction is used, so that once a difference is shown, the others need a little less."
        )
    if any(run.smallest > PLAUSIBLE_EFFECT for run in runs):
        limit = f"{100 * PLAUSIBLE_EFFECT:.0f} points"
        sentences.append(f"Where only more than {limit} can be shown, a report says underpowered unless it finds as much.")
    return sentences


def _bases(forecasts: Sequence[BenchmarkForecast]) -> list[str]:
    """Returns the basis of the variances, once where it is the same for all benchmarks."""
    bases = {f.benchmark.name: f.measured.basis for f in forecasts}
    return list(dict.fromkeys(bases.values())) if len(set(bases.values())) == 1 else [f"{n}: {b}" for n, b in bases.items()]
