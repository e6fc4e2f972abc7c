"""Two runs on the same items, A against B: how far apart they are, on each benchmark and over all, and which items make it.

The summary is stated: the mean of the last three eval points that both have, or the area under the curve. Never a step that
somebody picked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from passus import course, curves, stats
from passus.contrast import paired_items
from passus.course import WINDOW, Measured
from passus.errors import UsageError, nearest
from passus.finding import between, p_value, points
from passus.record import RunFolder, find_runs

EXAMPLES = 3
OVERALL = "mean of the benchmarks"
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
    samples: int
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

    @property
    def regressed(self) -> bool:
        """A, the new one, is worse beyond noise."""
        return self.p < 0.05 and self.difference < 0

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"said": self.said}


def compare(a: Path, b: Path, benchmark: str | None = None, summary: Summary = "last") -> list[Compared]:
    """Every benchmark that both runs have with the same items; over all of them last, where there are several."""
    mine, theirs = one_run(a), one_run(b)
    shared = [name for name in mine if name in theirs]
    if not shared:
        raise UsageError(
            f"{a} and {b} have no benchmark in common: {', '.join(mine) or 'none'}; {', '.join(theirs) or 'none'}",
            expected="two runs of one suite",
        )
    if benchmark is not None and benchmark not in shared:
        raise UsageError(f"--benchmark {benchmark}", expected=", ".join(shared), write=nearest(benchmark, shared))
    chosen = [benchmark] if benchmark else shared
    differences = {name: _differences(mine[name], theirs[name], summary, a, b) for name in chosen}
    found = [_compared(name, *differences[name], mine[name], theirs[name]) for name in chosen]
    return found if len(found) == 1 else [*found, _overall(found, [differences[name][0] for name in chosen])]


def one_run(path: Path) -> dict[str, Measured]:
    """Its curves by benchmark."""
    runs = find_runs(path)
    if len(runs) != 1:
        raise UsageError(
            f"{path} holds {len(runs)} runs" if runs else f"{path} is not a run",
            expected="one run folder",
            write=str(runs[0]) if runs else "passus ls",
        )
    return {curve.benchmark: course.measured(curve, curve.name) for curve in curves.of_runs([RunFolder(runs[0])]).series}


def _differences(a: Measured, b: Measured, summary: Summary, path_a: Path, path_b: Path) -> tuple[np.ndarray, list[float]]:
    """differences_QS and the eval points they are taken at."""
    name = a.curve.benchmark
    common = [x for x in a.x_T.tolist() if x in set(b.x_T.tolist())]
    if not common:
        raise UsageError(f"{name}: {path_a} and {path_b} have no eval point in common", expected="the same eval.every")
    steps = common if summary == "area" else common[-(WINDOW if len(common) >= 2 * WINDOW else 1) :]
    differences_QS = paired_items(a, b, steps)
    if differences_QS is None:
        raise UsageError(
            f"{name}: {path_a} and {path_b} were not evaluated on the same items, or their rows are not kept",
            expected="the same benchmark, eval.limit and items/ folders",
        )
    return differences_QS, steps


def _compared(name: str, differences_QS: np.ndarray, steps: list[float], a: Measured, b: Measured) -> Compared:
    assert a.items is not None and b.items is not None
    items = a.items.item_Q
    last = int(steps[-1])
    solved_a, solved_b = (one.at(items, [last]).means_TQ[0] > 0.5 for one in (a.items, b.items))
    over, p = _tested(differences_QS)
    return Compared(
        name, over.mean, over.low, over.high, p, len(items), a.items.correct_TQK.shape[2], steps,
        stats.smallest_paired_effect(differences_QS.mean(1)),
        [item for item, mine, other in zip(items, solved_a, solved_b, strict=True) if mine and not other],
        [item for item, mine, other in zip(items, solved_a, solved_b, strict=True) if other and not mine],
    )  # fmt: skip


def _tested(differences_QS: np.ndarray, counts: Sequence[int] | None = None) -> tuple[stats.Interval, float]:
    """Interval and p-value. Greedy answers at one eval point are right or wrong: McNemar, exactly."""
    over = stats.paired_bootstrap(differences_QS, counts)
    if differences_QS.shape[1] == 1 and counts is None and set(np.unique(differences_QS)) <= {-1.0, 0.0, 1.0}:
        return over, stats.mcnemar(differences_QS[:, 0] > 0, differences_QS[:, 0] < 0).p
    return over, stats.sign_flip(differences_QS.mean(1), counts).p


def _overall(found: list[Compared], differences: list[np.ndarray]) -> Compared:
    """The mean of the benchmarks, each counting the same; items are drawn again within each."""
    counts = [len(d) for d in differences]
    whole_QS = np.concatenate([d.mean(1, keepdims=True) for d in differences])
    over, p = _tested(whole_QS, counts)
    variance = sum(float(d.mean(1).var(ddof=1)) / len(d) for d in differences) / len(differences) ** 2
    samples = found[0].samples if len({one.samples for one in found}) == 1 else 0
    smallest = (1.96 + 0.842) * float(np.sqrt(variance))
    return Compared(OVERALL, over.mean, over.low, over.high, p, sum(counts), samples, found[0].steps, smallest)
