"""Random sweeps for property tests: arms, seeds, shapes, gaps and evidence of any kind."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from passus.runs.curve import Curve, CurvePoint, ItemOutcomes
from passus.runs.origin import Origin

SHAPES = ("flat", "rise", "rise and fall", "jump", "wild", "all right", "all wrong")
NAMES = ("alder", "birch", "cedar")


@dataclass(frozen=True)
class Sweep:
    """What a random sweep is made of. Curves follow from it and from its seed alone."""

    arms: tuple[tuple[str, int], ...]
    """Shape and runs of each arm."""
    points: int
    items: int
    samples: int
    evidence: str
    """items, counts, or points."""
    gaps: str
    """none, values (NaN), points (eval points that some runs lack) or items (runs of other items)."""
    benchmarks: int
    luck: float
    """Standard deviation between runs."""
    wiggle: float
    """Standard deviation between checkpoints."""
    seed: int

    def curves(self) -> list[Curve]:
        rng = np.random.default_rng(self.seed)
        return [
            self._curve(rng, n, shape, run, benchmark)
            for n, (shape, runs) in enumerate(self.arms)
            for run in range(runs)
            for benchmark in range(self.benchmarks)
        ]

    def _curve(self, rng: np.random.Generator, arm: int, shape: str, run: int, benchmark: int) -> Curve:
        truth_T = truth(rng, shape, self.points)
        if not shape.startswith("all"):
            truth_T = np.clip(truth_T + rng.normal(0, self.luck) + rng.normal(0, self.wiggle, self.points), 0, 1)
        hard_Q = np.random.default_rng(benchmark).uniform(-0.2, 0.2, self.items) * (not shape.startswith("all"))
        chance_TQ = np.clip(truth_T[:, None] + hard_Q, 0, 1)
        correct_TQK = (rng.random((*chance_TQ.shape, self.samples)) < chance_TQ[:, :, None]).astype(float)
        kept = self._kept(rng)
        tokens_TQK = rng.integers(5, 50, correct_TQK.shape).astype(float)
        steps = [10 * t for t in kept]
        values_T = correct_TQK.mean((1, 2))
        values_T[rng.random(self.points) < 0.2 * (self.gaps == "values")] = np.nan
        points = [CurvePoint(10 * t, float(values_T[t]), tokens=float(tokens_TQK[t].mean())) for t in kept]
        first = 100 * int(rng.integers(2)) if self.gaps == "items" else 0
        items = ItemOutcomes(
            steps, list(range(first, first + self.items)), correct_TQK[kept], tokens_TQK[kept], 1.0 - correct_TQK[kept]
        )
        origin = Origin(Path("nowhere"), NAMES[arm], "live", NAMES[arm], run, ())
        curve = Curve(NAMES[arm], f"b{benchmark}", points, self.items, self.samples, items, origin)
        if self.evidence != "items":
            curve = replace(curve, items=None, n=self.items if self.evidence == "counts" else None)
        return curve

    def _kept(self, rng: np.random.Generator) -> list[int]:
        """Returns the eval points that a run has: at least one."""
        if self.gaps != "points":
            return list(range(self.points))
        kept = [t for t in range(self.points) if rng.random() < 0.8]
        return kept or [int(rng.integers(self.points))]


def truth(rng: np.random.Generator, shape: str, points: int) -> np.ndarray:
    """Returns a curve of true accuracies."""
    place_T, low, size = np.linspace(0, 1, points), rng.uniform(0.2, 0.5), rng.uniform(0.05, 0.4)
    return {
        "flat": np.full(points, low),
        "rise": low + size * (1 - np.exp(-4 * place_T)),
        "rise and fall": low + size * np.minimum(3 * place_T, 1.5 * (1 - place_T)),
        "jump": low + size * (place_T > 0.5),
        "wild": rng.random(points),
        "all right": np.ones(points),
        "all wrong": np.zeros(points),
    }[shape]


@st.composite
def sweeps(draw, evidence=("items", "items", "counts", "points"), gaps=("none", "none", "values", "points", "items")):
    return Sweep(
        arms=tuple(draw(st.lists(st.tuples(st.sampled_from(SHAPES), st.integers(1, 3)), min_size=1, max_size=3))),
        points=draw(st.integers(1, 20)),
        items=draw(st.integers(1, 60)),
        samples=draw(st.integers(1, 4)),
        evidence=draw(st.sampled_from(evidence)),
        gaps=draw(st.sampled_from(gaps)),
        benchmarks=draw(st.integers(1, 2)),
        luck=draw(st.sampled_from((0.0, 0.02, 0.1))),
        wiggle=draw(st.sampled_from((0.0, 0.02))),
        seed=draw(st.integers(0, 2**32 - 1)),
    )
