"""What a report cannot tell, and what to run to tell it: the power of its design, and questions with too few data."""

from collections import Counter
from collections.abc import Sequence

from passus.analysis.finding import Conclusion, Finding
from passus.analysis.measured_curve import MeasuredCurve
from passus.analysis.planned_experiment import PlannedBenchmark, PlannedExperiment, plan_experiment
from passus.analysis.power_forecast import report_test
from passus.analysis.recorded_noise import noise_by_benchmark
from passus.config.experiment import Arm, Experiment
from passus.errors import UsageError
from passus.reports.document import Block, Details, Listing
from passus.reports.next_experiments import experiment_file, proposals
from passus.runs.run_folder import RunFolder
from passus.stats.run_power import PlannedTest, least_seeds
from passus.stats.run_spread import MIN_RUNS

POLICY_KINDS = ("rl", "sft")
DIFFERENCE = 0.02
"""The difference that plans are made for."""


def open_questions(runs: Sequence[RunFolder], curves: Sequence[MeasuredCurve], findings: Sequence[Finding]) -> list[Block]:
    """Returns sentences on what cannot be told, and experiment files that would tell it."""
    blocks: list[Block] = [*_power(runs, [m for m in curves if not m.curve.reader])]
    asked = Counter(f.name for f in findings)
    underpowered = Counter(f.name for f in findings if f.verdict is Conclusion.UNDERPOWERED)
    if underpowered:
        listed = ", ".join(f"{question} ({count} of {asked[question]})" for question, count in underpowered.items())
        blocks.append(f"Questions with too few items, samples or seeds: {listed}.")
    if any(f.id == "A16" for f in findings):
        blocks.append("Causes of falls are inferred from signals that moved first; only a run that changes one proves it.")
    proposed = proposals(list(runs), list(findings)) if runs else []
    for proposal in proposed:
        name = f"{runs[0].config().name}-{proposal.name}.toml"
        blocks.append(Details(f"To run next: {name}. {proposal.reason}", [Listing(experiment_file(list(runs), proposal))]))
    return blocks


def _power(runs: Sequence[RunFolder], curves: Sequence[MeasuredCurve]) -> list[str]:
    """Says which differences this design shows, and the seeds that would show two points."""
    trained = [run for run in runs if run.config().kind in POLICY_KINDS]
    noise = noise_by_benchmark([m for m in curves if m.items is not None]) if len(trained) == len(runs) else {}
    if not noise or len(runs) < 2:
        return []
    try:
        plan = _plan_of(trained)
    except UsageError as error:  # runs that no single experiment would make, such as two with one seed
        reason = str(error).splitlines()[0]
        return [f"The power of this design is unknown: {reason}."]
    # The most precise benchmark stands for all: the others show less.
    precise = report_test(plan, noise)
    return [] if precise is None else [_seeds_sentence(plan, *precise, several=len(noise) > 1)]


def _seeds_sentence(plan: PlannedExperiment, benchmark: PlannedBenchmark, test: PlannedTest, several: bool) -> str:
    smallest, needed, where = test.detectable(), least_seeds(test, DIFFERENCE), f" on {benchmark.name}" if several else ""
    shown = f"{100 * smallest:.1f} points"
    seeds = "more than 1,000 seeds per line" if needed is None else f"{needed} seeds per line"
    if not smallest <= 1:  # NaN where nothing varies
        count = "two" if plan.seeds < MIN_RUNS else f"{plan.seeds}"
        none = f"{count} seeds per line would show no difference{where} in 80 % of cases"
        return f"Which line is better: {none}; one of 2 points takes {seeds}."
    if plan.seeds < MIN_RUNS:
        return (
            f"Which line is better: this needs two seeds or more per line. With two, a true difference of {shown}{where} would "
            f"be shown in 80 % of cases; one of 2 points takes {seeds}."
        )
    return (
        f"Smaller differences: with {plan.seeds} seeds per line, a true difference of {shown}{where} is shown in 80 % of "
        f"cases, after the correction for {plan.tests} planned comparisons; one of 2 points takes {seeds}."
    )


def _plan_of(runs: Sequence[RunFolder]) -> PlannedExperiment:
    """Returns what the recorded runs were, as a plan: as many arms, seeds, items and samples."""
    items = {point.benchmark: point.q for run in runs for point in run.evals()}
    arms = [Arm(run.path.name, run.config(), {}) for run in runs]
    return plan_experiment(Experiment(arms[0].config.name, arms, ""), lambda benchmark, _: items.get(benchmark, 1))
