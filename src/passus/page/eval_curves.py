"""The learning curves of all runs, read again only for the runs whose eval points or settings have changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from passus.page.live_run import EVALS, SETTINGS, LiveRun
from passus.runs.curve import Curve
from passus.runs.read_curves import run_curves


@dataclass(frozen=True)
class RunCurves:
    version: tuple[int, int]
    """Of the eval points and of the settings of the run."""
    curves: list[Curve]
    temperatures: frozenset[float]
    extractions: frozenset[tuple[str, str]]
    """Benchmarks, each with how its answers were extracted."""


class EvalCurves:
    def __init__(self) -> None:
        self._kept: dict[str, RunCurves] = {}

    def of(self, runs: Sequence[LiveRun]) -> list[Curve]:
        """Returns the curves of some runs. Their names are those that `arrange` gives them."""
        kept = [self._of_run(run) for run in runs]
        self._kept |= {run.run_id: one for run, one in zip(runs, kept, strict=True)}
        temperatures = {temperature for one in kept for temperature in one.temperatures}
        extractions = {pair for one in kept for pair in one.extractions}
        if len(temperatures) > 1 or len({benchmark for benchmark, _ in extractions}) < len(extractions):
            return run_curves(runs, with_items=False).series  # panels have other names, or runs cannot be shown together
        return [curve for one in kept for curve in one.curves]

    def _of_run(self, run: LiveRun) -> RunCurves:
        version = run.versions[EVALS], run.versions[SETTINGS]
        kept = self._kept.get(run.run_id)
        if kept is not None and kept.version == version:
            return kept
        points = run.evals()
        extractions = frozenset((p.benchmark, p.extraction) for p in points if not p.is_reward_model)
        curves = run_curves([run], with_items=False).series
        return RunCurves(version, curves, frozenset(p.temperature for p in points), extractions)
