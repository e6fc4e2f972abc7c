"""Two runs on the same items, A against B: how far apart they are, on each benchmark and over all, and which items make it.

The summary is stated: the mean of the last three eval points that both have, or the area under the curve. Never a step that
somebody picked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from passus.analysis import single_curve
from passus.analysis.finding import OVERALL
from passus.analysis.single_curve import Measured
from passus.errors import UsageError, nearest
from passus.formatting import between, p_value, points
from passus.runs import curves
from passus.runs.run_folder import RunFolder, find_runs
from passus.stats import intervals

EXAMPLES = 3
Summary = Literal["last", "area"]


@dataclass
class Compared:
    """A less B on one benchmark, or on all."""

    benchmark: str
    difference: float
    low: float
    high: float
    p: float
    items: int
    samples: str
    """An item; of A and of B, where they differ."""
    steps: list[float]
    smallest: float
    """The least that would be seen in four of five cases."""
    gained: list[int] = field(default_factory=list)
    """Items that A solves in most samples and B does not, at the last eval point."""
    lost: list[int] = field(default_factory=list)

    @property
    def said(self) -> str:
        effect = f"A - B = {points(self.difference)} {between(self.low, self.high)}, {p_value(self.p)}"
        return f"{effect}, {self.items} items x {self.samples}"

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"said": self.said}


def regressed(found: Sequence[Compared]) -> bool:
    """Whether A, the new one, is worse beyond noise on any benchmark, after Holm, or over all."""
    single = [one for one in found if not one.benchmark.startswith(OVERALL)]
    worse = [p < 0.05 and one.difference < 0 for one, p in zip(single, intervals.holm([one.p for one in single]), strict=True)]
    return any(worse) or any(one.p < 0.05 and one.difference < 0 for one in found if one.benchmark.startswith(OVERALL))


def compare(a: Path, b: Path, benchmark: str | None = None, summary: Summary = "last") -> list[Compared]:
    """Every benchmark that both runs have; over all of them last, where there are several. Refused where items differ."""
    mine, theirs = two_runs(a, b)
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
    found = [_compared(name, *differences[name], mine[name], theirs[name]) for name in chosen]
    by_temperature: dict[float | None, list[str]] = {}
    for name in chosen:  # the items are the same at every temperature, so temperatures are not benchmarks
        by_temperature.setdefault(mine[name].curve.temperature, []).append(name)
    for temperature, names in by_temperature.items():
        if len(names) > 1:
            single = [one for one in found if one.benchmark in names]
            where = OVERALL + (f", temperature {temperature:g}" if temperature is not None else "")
            found.append(_overall(where, single, [differences[name][0] for name in names]))
    return found


def two_runs(a: Path, b: Path) -> tuple[dict[str, Measured], dict[str, Measured]]:
    """Their curves by benchmark, which are told apart by temperature if the two have more than one."""
    runs = [RunFolder(one_run(path)) for path in (a, b)]
    series = curves.of_runs(runs).series if runs[0].path != runs[1].path else curves.of_runs(runs[:1]).series
    of_run: tuple[dict[str, Measured], ...] = tuple(
        {c.benchmark: single_curve.measured(c, c.name) for c in series if c.origin and c.origin.path == run.path}
        for run in runs
    )
    return of_run[0], of_run[1]


def one_run(path: Path) -> Path:
    runs = find_runs(path)
    if len(runs) != 1:
        raise UsageError(
            f"{path} holds {len(runs)} runs" if runs else f"{path} is not a run",
            expected="one run folder",
            write=str(runs[0]) if runs else "passus ls",
        )
    return runs[0]


def _differences(a: Measured, b: Measured, summary: Summary, path_a: Path, path_b: Path) -> tuple[np.ndarray, list[float]]:
    """differences_Q of the summary, and the eval points that it is over."""
    name = a.curve.benchmark
    common = [x for x in a.x_T.tolist() if x in set(b.x_T.tolist())]
    if not common:
        raise UsageError(f"{name}: {path_a} and {path_b} have no eval point in common", expected="the same eval.every")
    steps = common if summary == "area" else single_curve.last(common)
    if a.items is None or b.items is None or not a.items.same_as(b.items):
        raise UsageError(
            f"{name}: {path_a} and {path_b} were not evaluated on the same items, or their rows are not kept",
            expected="the same benchmark, eval.limit and items/ folders",
        )
    whole = [int(x) for x in steps]
    mine, theirs = (items.at(a.items.item_Q, whole).means_TQ for items in (a.items, b.items))
    return _weights(steps, summary) @ (mine - theirs), steps


def _weights(steps: list[float], summary: Summary) -> np.ndarray:
    """Of eval points: equal, or by how far apart they are, so that their sum is the area under the curve."""
    if summary == "last" or len(steps) == 1:
        return np.full(len(steps), 1 / len(steps))
    gaps = np.diff(steps) / (steps[-1] - steps[0])
    return (np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2


def _compared(name: str, differences_Q: np.ndarray, steps: list[float], a: Measured, b: Measured) -> Compared:
    assert a.items is not None and b.items is not None
    items = a.items.item_Q
    solved_a, solved_b = (one.at(items, [int(steps[-1])]).means_TQ[0] > 0.5 for one in (a.items, b.items))
    over, p = _tested(differences_Q)
    samples = " and ".join(dict.fromkeys(str(one.correct_TQK.shape[2]) for one in (a.items, b.items)))
    return Compared(
        name, over.mean, over.low, over.high, p, len(items), samples, steps,
        intervals.smallest_paired_effect(differences_Q),
        [item for item, mine, other in zip(items, solved_a, solved_b, strict=True) if mine and not other],
        [item for item, mine, other in zip(items, solved_a, solved_b, strict=True) if other and not mine],
    )  # fmt: skip


def _tested(differences_Q: np.ndarray, counts: Sequence[int] | None = None) -> tuple[intervals.Interval, float]:
    """Interval and p-value. One answer an item at one eval point is right or wrong: McNemar, exactly."""
    over = intervals.paired_bootstrap(differences_Q, counts)
    if counts is None and set(np.unique(differences_Q)) <= {-1.0, 0.0, 1.0}:
        return over, intervals.mcnemar(differences_Q > 0, differences_Q < 0).p
    return over, intervals.sign_flip(differences_Q, counts).p


def _overall(where: str, found: list[Compared], differences: list[np.ndarray]) -> Compared:
    """The mean of the benchmarks, each counting the same; items are drawn again within each."""
    counts = [len(d) for d in differences]
    over, p = _tested(np.concatenate(differences), counts)
    # As many standard errors as on one benchmark.
    least = [one.smallest / len(found) for one in found]
    samples = found[0].samples if len({one.samples for one in found}) == 1 else "several"
    smallest = float(np.sqrt(np.sum(np.square(least))))
    return Compared(where, over.mean, over.low, over.high, p, sum(counts), samples, found[0].steps, smallest)
