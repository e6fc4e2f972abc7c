"""What a report cannot tell, and what to run to tell it: the power of its design, and questions with too few data."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from passus.analysis.finding import OVERALL, Conclusion, Finding, Scope
from passus.analysis.measured_curve import MeasuredCurve
from passus.analysis.planned_experiment import PlannedBenchmark, PlannedExperiment, plan_experiment
from passus.analysis.power_forecast import report_test
from passus.analysis.recorded_noise import noise_by_benchmark
from passus.config.experiment import Arm, Experiment
from passus.errors import UsageError
from passus.formatting import between, points
from passus.reports.document import Block, Details, Listing
from passus.reports.next_experiments import experiment_file, proposals
from passus.runs.run_folder import RunFolder
from passus.stats.run_power import PlannedTest, least_seeds
from passus.stats.run_spread import MIN_RUNS

POLICY_KINDS = ("rl", "sft")
DIFFERENCE = 0.02
"""The difference that plans are made for."""
MAX_PAIRS = 4
"""Pairs of lines that are named; more are counted."""
QUESTIONS = {
    "improvement": "rises", "late degradation": "falls late", "plateau": "levels off",
    "comparison": "which of two lines ends higher", "learning-curve fit": "the final level",
    "best checkpoint": "whether an earlier checkpoint is better", "speed": "which line learns faster",
}  # fmt: skip
"""Questions in words, by the name of the finding that answers them."""
COURSES = ("improvement", "late degradation", "plateau")


def open_questions(runs: Sequence[RunFolder], curves: Sequence[MeasuredCurve], findings: Sequence[Finding]) -> list[Block]:
    """Returns sentences on what cannot be told, and experiment files that would tell it."""
    power = _report_power(runs, [m for m in curves if not m.curve.reader])
    blocks: list[Block] = []
    if isinstance(power, str):
        blocks.append(power)
    elif power is not None:
        blocks.append(_seeds_sentence(power))
    lead = _open_lead(findings)
    # The power is that of one benchmark, and says nothing of a lead on the mean of several.
    is_single = lead is not None and not lead.benchmark.startswith(OVERALL)
    seeds = _seeds_for(lead, power) if lead is not None and is_single and isinstance(power, ReportPower) else None
    blocks += _unlike_sentence(findings) + _lead_sentence(lead, seeds) + _too_few_sentence(findings)
    if any(f.id == "A16" and f.verdict is Conclusion.SUPPORTED for f in findings):
        blocks.append("A diagnosis is inferred from the record; only a run without the cause proves it.")
    own = [] if any(run.is_imported for run in runs) else list(runs)
    for proposal in proposals(own, list(findings), seeds) if own else []:
        name = f"{runs[0].config().name}-{proposal.name}.toml"
        blocks.append(f"To run next: passus run {name} (the file is below). {proposal.reason}")
        blocks.append(Details(name, [Listing(experiment_file(list(runs), proposal))]))
    return blocks


@dataclass(frozen=True)
class ReportPower:
    """What the design of a report can show on one benchmark: the middle one, where there are several."""

    plan: PlannedExperiment
    benchmark: PlannedBenchmark
    test: PlannedTest
    of_several: bool


def _report_power(runs: Sequence[RunFolder], curves: Sequence[MeasuredCurve]) -> ReportPower | str | None:
    """Returns the power of the design, or why it is unknown; None for a single run."""
    lines = {m.curve.name for m in curves if m.curve.origin}
    if len(runs) < 2 or len(lines) < 2:
        return None
    if any(run.config().kind not in POLICY_KINDS or run.is_imported for run in runs):
        few = len({run.config().seed for run in runs}) < MIN_RUNS
        return "Which line is better: this needs two seeds or more per line." if few else None
    noise = noise_by_benchmark([m for m in curves if m.items is not None])
    if not noise:
        return None
    try:
        plan = _plan_of(runs)
    except UsageError as error:  # runs that no single experiment would make, such as two with one seed
        return f"The power of this design is unknown: {str(error).splitlines()[0]}."
    typical = report_test(plan, noise)
    return None if typical is None else ReportPower(plan, *typical, of_several=len(noise) > 1)


def _seeds_sentence(power: ReportPower) -> str:
    """Says which differences this design shows, and the seeds that would show two points."""
    smallest, needed = power.test.detectable(), least_seeds(power.test, DIFFERENCE)
    where = f" on {power.benchmark.name} alone" if power.of_several else ""
    seeds = "more than 1,000 seeds per line" if needed is None else f"{needed} seeds per line"
    count = max(power.plan.seeds, MIN_RUNS)
    with_seeds = f"with {'two' if count == MIN_RUNS else count} seeds per line"
    if not smallest <= 1:  # NaN where nothing varies
        found = f"{with_seeds}, no difference{where} would be found in 80 % of cases"
    else:
        found = f"{with_seeds}, a true difference of {100 * smallest:.1f} points{where} is found in 80 % of cases"
    if power.plan.seeds < MIN_RUNS:
        needs = "Which line is better: this needs two seeds or more per line"
        return f"{needs}. {found[:1].upper()}{found[1:]}; one of 2 points takes {seeds}."
    return (
        f"Small differences: {found} and smaller ones less often, after the correction for {power.plan.tests} planned "
        f"comparisons. One of 2 points takes {seeds}."
    )


def _estimate(finding: Finding) -> float:
    return next(iter(finding.numbers.values()), 0.0)


def _configuration_pairs(findings: Sequence[Finding]) -> list[Finding]:
    """Returns the comparisons of lines over runs: of the means over benchmarks, where there are several."""
    pairs = [
        f for f in findings if f.id == "A6" and f.scope is Scope.CONFIGURATION and f.low is not None and f.high is not None
    ]
    overall = [f for f in pairs if f.benchmark.startswith(OVERALL)]
    return overall or pairs


def _open_lead(findings: Sequence[Finding]) -> Finding | None:
    """Returns the largest difference whose interval excludes 0 and that does not survive the correction."""
    leads = [
        f
        for f in _configuration_pairs(findings)
        if f.verdict is not Conclusion.SUPPORTED and f.low is not None and f.high is not None and f.low * f.high > 0
    ]
    return max(leads, key=lambda f: abs(_estimate(f)), default=None)


def _seeds_for(lead: Finding, power: ReportPower) -> int | None:
    """Returns the seeds per line that would show a difference; None where as many as there are should have."""
    seeds = least_seeds(power.test, abs(_estimate(lead)))
    return seeds if seeds is not None and seeds > power.plan.seeds else None


def _lead_sentence(lead: Finding | None, seeds: int | None) -> list[Block]:
    if lead is None or seeds is None:
        return []
    gap = f"{100 * abs(_estimate(lead)):.1f} points"
    return [f"Whether {lead.series} differ: a true difference of {gap} takes {seeds} seeds per line."]


def _unlike_sentence(findings: Sequence[Finding]) -> list[Block]:
    """Names the pairs of lines whose interval includes 0."""
    pairs = [f for f in _configuration_pairs(findings) if f.low is not None and f.high is not None and f.low * f.high <= 0]
    if not pairs or len(pairs) > MAX_PAIRS:
        return [f"{len(pairs)} pairs of lines are not distinguishable at the end."] if pairs else []
    named = [f"{_pair_name(f)} ({points(_estimate(f))} {between(f.low or 0.0, f.high or 0.0)})" for f in pairs]
    return [f"Not distinguishable at the end: {'; '.join(named)}."]


def _pair_name(finding: Finding) -> str:
    where = finding.benchmark.removeprefix(OVERALL).removeprefix(", ")
    return f"{finding.series} at {where}" if where.startswith("temperature") else finding.series


def _too_few_sentence(findings: Sequence[Finding]) -> list[Block]:
    """Says which questions have too few items, samples or seeds, and on how many curves."""
    asked = Counter(f.name for f in findings)
    few = Counter(f.name for f in findings if f.verdict is Conclusion.UNDERPOWERED)
    counted = {name: f"{words} ({few[name]} of {asked[name]})" for name, words in QUESTIONS.items() if few[name]}
    courses = [counted.pop(name) for name in COURSES if name in counted]
    named = (
        [f"whether accuracy {' or '.join([', '.join(courses[:-1]), courses[-1]] if courses[1:] else courses)}"]
        if courses
        else []
    )
    named += counted.values()
    return [f"Too few data to tell {'; '.join(named)}."] if named else []


def _plan_of(runs: Sequence[RunFolder]) -> PlannedExperiment:
    """Returns what the recorded runs were, as a plan: as many arms, seeds, items and samples."""
    items = {point.benchmark: point.q for run in runs for point in run.evals()}
    arms = [Arm(run.path.name, run.config(), {}) for run in runs]
    return plan_experiment(Experiment(arms[0].config.name, arms, ""), lambda benchmark, _: items.get(benchmark, 1))
