"""What an experiment will have when it is finished, as far as its power depends on it: arms, seeds and sizes of eval points."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from passus.analysis.compared_line import MAX_ALL_PAIRS, compared_pairs
from passus.config.experiment import Arm, Experiment
from passus.config.resolve import flatten
from passus.config.tables import Config
from passus.errors import UsageError
from passus.runs.curve import WINDOW, final_points
from passus.runs.eval_point import panel_name
from passus.runs.origin import NO_DIFFERENCE
from passus.stats.accuracy_noise import EvalSize

POLICY_KINDS = ("rl", "sft")
MAX_SAMPLES = 10**9
"""More samples per item than this make no difference."""
UNBLOCKED = (
    "Arms will be compared within seeds (eval.block_by_seed). The power is that of comparisons without blocks: those within "
    "seeds have more where a seed moves all arms alike, and less where it does not."
)
Panel = tuple[str, float]
"""Benchmark and temperature."""


@dataclass(frozen=True)
class PlannedBenchmark:
    name: str
    """As in findings: the benchmark, and the temperature where there are several."""
    size: EvalSize


@dataclass(frozen=True)
class PlannedExperiment:
    name: str
    arms: int
    """Arms that differ by more than the seed."""
    seeds: int
    """Seeds per arm, the fewest where arms differ."""
    eval_points: int
    benchmarks: list[PlannedBenchmark]
    """One per benchmark and temperature that all arms have."""
    tests: int
    """Claims about configurations in a report: the compared pairs of arms on every benchmark and over all of them, and the
    sensitivity to settings on every benchmark."""
    overall_tests: int
    """Those of them that are over all benchmarks."""
    notes: list[str]
    """Sentences on what was left out or counted in an unexpected way."""


def plan_experiment(experiment: Experiment, size_of: Callable[[str, int], int]) -> PlannedExperiment:
    """Counts what the experiment will have. `size_of` returns the items of a benchmark, given its name and eval.limit."""
    arms = [arm for arm in experiment.arms if arm.config.kind in POLICY_KINDS]
    if not arms:
        raise UsageError(
            f"{experiment.name} trains no policy", expected="an experiment of reinforcement learning or supervised fine-tuning"
        )
    seeds, configs = _seeds_by_arm(arms), [arm.config for arm in arms]
    points = [1 + -(-config.train.steps // config.eval.every) for config in configs]
    by_arm = [_sizes(config, size_of, _window(min(points))) for config in configs]
    sizes = {panel: _smallest([of_arm[panel] for of_arm in by_arm]) for panel in by_arm[0] if all(panel in a for a in by_arm)}
    benchmarks, notes = _benchmarks(sizes)
    if len(set(seeds)) > 1:
        notes.append(f"Arms have {min(seeds)} to {max(seeds)} seeds; the fewest count.")
    if len(set(points)) > 1 or any(of_arm != by_arm[0] for of_arm in by_arm):
        notes.append("Arms differ in their evaluation or their steps; the smallest numbers count.")
    per_temperature = Counter(temperature for _, temperature in sizes).values()
    pairs = len(compared_pairs(seeds))
    if len(seeds) > MAX_ALL_PAIRS:
        notes.append(f"More than {MAX_ALL_PAIRS} arms: each is compared with the first only.")
    if all(config.eval.block_by_seed for config in configs):
        notes.append(UNBLOCKED)
    overall = pairs * sum(count > 1 for count in per_temperature)
    tests = overall + pairs * len(sizes) + len(sizes) * (len(seeds) > 2)
    return PlannedExperiment(experiment.name, len(seeds), min(seeds), min(points), benchmarks, tests, overall, notes)


def _seeds_by_arm(arms: Sequence[Arm]) -> list[int]:
    """Returns the number of seeds of every group of arms that differ only by seed."""
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        settings = {key: value for key, value in flatten(arm.config).items() if key not in NO_DIFFERENCE}
        groups.setdefault(str(settings), []).append(arm)
    for group in groups.values():
        twice = [seed for seed, count in Counter(arm.config.seed for arm in group).items() if count > 1]
        if twice:
            names = " and ".join([arm.name for arm in group if arm.config.seed == twice[0]][:2])
            raise UsageError(f"{names} have the same settings and the same seed, {twice[0]}", expected="another seed per run")
    return [len(group) for group in groups.values()]


def _sizes(config: Config, size_of: Callable[[str, int], int], points: int) -> dict[Panel, EvalSize]:
    table = config.eval
    return {
        (name, temperature): EvalSize(size_of(name, table.limit), min(table.samples_at(temperature), MAX_SAMPLES), points)
        for name in table.benchmarks
        for temperature in table.temperatures
    }


def _window(points: int) -> int:
    """Returns the number of eval points that stand for the end. A file may ask for more of them than fit into memory."""
    return len(final_points(range(min(points, 2 * WINDOW))))


def _smallest(sizes: Sequence[EvalSize]) -> EvalSize:
    return EvalSize(min(size.items for size in sizes), min(size.samples for size in sizes), sizes[0].points)


def _benchmarks(sizes: dict[Panel, EvalSize]) -> tuple[list[PlannedBenchmark], list[str]]:
    """Names the benchmarks that can be planned, and those that cannot."""
    if not sizes:
        raise UsageError("the arms have no benchmark and temperature in common", expected="one suite, evaluated alike")
    several = len({temperature for _, temperature in sizes}) > 1
    named = {panel_name(name, temperature if several else None): size for (name, temperature), size in sizes.items()}
    unknown = ", ".join(name for name, size in named.items() if size.items < 2)
    benchmarks = [PlannedBenchmark(name, size) for name, size in named.items() if size.items > 1]
    if not benchmarks:
        raise UsageError(
            f"{unknown}: fewer than two items, or an unknown number",
            expected="two items or more",
            write="passus benchmarks pull",
        )
    return benchmarks, [f"Left out, with fewer than two items or an unknown number: {unknown}."] if unknown else []
