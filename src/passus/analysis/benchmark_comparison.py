"""The result of comparing runs on one benchmark: the difference with its interval, and what it rests on."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from passus.analysis.finding import Scope
from passus.analysis.growing_comparison import GrowingComparison
from passus.analysis.wording import ci
from passus.formatting import p_value, points
from passus.runs.eval_point import SOURCE


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
    """Answers that counted, `any` or `boxed`, the same in all runs."""
    scope: Scope = Scope.CHECKPOINT
    seeds: tuple[int, int] = (1, 1)
    """Runs of A and of B."""
    growing: GrowingComparison | None = None
    """Set where a run has not reached its last step. Difference, interval and p-value are then those of the mean so far."""
    clusters: int | None = None
    """Clusters of the items, where there are fewer than items. They take the place of items as the unit."""
    basis: str = ""
    """The data behind it in words, where items are not recorded."""

    @property
    def sentence(self) -> str:
        clusters = f" in {self.clusters} cluster{'s' * (self.clusters > 1)}" if self.clusters else ""
        size = f"{self.items} items{clusters} x {self.samples} samples"
        unit = f"{self.seeds[0]} and {self.seeds[1]} runs, {size}"
        if self.scope is Scope.CHECKPOINT:
            unit = f"paired over {size}"
        unit = self.basis or unit
        evidence = f"{ci(self.low, self.high)}, {p_value(self.p)}, {unit}" if self.p == self.p else f"no test, {unit}"
        if self.extract:
            evidence += ", scored by the source" if self.extract == SOURCE else f", extraction {self.extract}"
        return f"A minus B is {points(self.difference)} ({evidence})." + (f" {self.growing.sentence}" if self.growing else "")

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison without values that are not finite."""
        fields = {"smallest" if name == "detectable" else name: value for name, value in vars(self).items()}
        fields |= {"scope": str(self.scope), "seeds": list(self.seeds), "text": self.sentence}
        fields["growing"] = self.growing.to_json() if self.growing else None
        return {key: v for key, v in fields.items() if v is not None and not (isinstance(v, float) and not np.isfinite(v))}
