"""Makes the tables of docs/simulations.md: how often verdicts are false where the truth is known, and what they find.

    python scripts/simulate.py                       # all cells that docs/simulations.json lacks, then the page
    python scripts/simulate.py --cells seeds alarm   # only these
    python scripts/simulate.py --minutes 60          # stops between cells after an hour; run it again to go on

A cell is one truth with a number of draws. Cells are made in order of importance. Draws have seeds of their own, so that the
numbers do not depend on the number of processes.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from unittest.mock import patch

import numpy as np
from simulated_runs import SimulatedRun, Size, curves_in_memory, difficulties, simulate_run, write_folder
from simulation_page import page

from passus.analysis import curve_fit
from passus.analysis.analyse import analyse, measure_curves
from passus.analysis.compared_line import comparable_lines
from passus.analysis.end_difference import end_differences
from passus.analysis.finding import Conclusion, Finding, Scope
from passus.analysis.growing_comparison import growing_comparison
from passus.cli.analyse import analyse as passus_analyse
from passus.stats.alarm import alarm_bound, alarm_statistic
from passus.stats.falls import MARGIN, window_means
from passus.stats.intervals import accuracy_interval, fixed_set_se

RESULTS = Path(__file__).parent.parent / "docs" / "simulations.json"
POINTS = 15
TIME_T = np.arange(POINTS) / (POINTS - 1)
RISING_T = 0.85 - 0.5 * np.exp(-np.arange(POINTS) / 3)
FLAT_T = np.full(POINTS, 0.6)
SETTLED_T = np.minimum(1.0, np.arange(POINTS) / 5)
"""How much of a run's luck has come to bear: runs begin from the same weights."""
SIZES = (Size(30, 16), Size(200, 4), Size(500, 1))
USUAL = SIZES[1]
THROUGH_FOLDERS = 20
"""Draws per cell that are also made as run folders and analysed by the command."""
Measures = dict[str, float]


@dataclass(frozen=True)
class Cell:
    table: str
    name: str
    draws: int
    draw: Callable[[np.random.Generator], Measures]
    runs: Callable[[np.random.Generator], list[SimulatedRun]] | None = None
    """The runs of a draw, where the cell analyses a report."""

    @property
    def key(self) -> str:
        return f"{self.table}: {self.name}"

    def rng(self, draw: int) -> np.random.Generator:
        return np.random.default_rng([zlib.crc32(self.key.encode()), draw])


# Seeds: reports without any effect of the arms.


def arms_without_effect(
    rng: np.random.Generator, arms: int, seeds: int, sds: list[float], truth_T: np.ndarray = RISING_T, item_by_run: float = 0.0
) -> list[SimulatedRun]:
    hard_Q = difficulties(rng, USUAL)
    return [
        simulate_run(
            rng, f"arm {arm}", seed, truth_T + SETTLED_T * sds[arm] * rng.standard_normal(), hard_Q, USUAL.samples, item_by_run
        )
        for arm in range(arms)
        for seed in range(seeds)
    ]


def is_claim(finding: Finding) -> bool:
    return finding.scope is Scope.CONFIGURATION and finding.verdict is Conclusion.SUPPORTED


def seeds_draw(runs: list[SimulatedRun]) -> Measures:
    """Learning-curve fits are left out: they make no claim about arms, and take half of the time."""
    with patch.object(curve_fit, "findings", return_value=[]):
        findings = analyse(curves_in_memory(runs))
    contrasts = [f for f in findings if f.id == "A6" and f.scope is Scope.CONFIGURATION and f.low is not None]
    measures = {"any configuration claim": float(any(map(is_claim, findings)))}
    if contrasts:
        measures["coverage"] = float(np.mean([f.low <= 0 <= f.high for f in contrasts]))
    return measures


def seeds_cells() -> list[Cell]:
    unlike = [0.01] * 4 + [0.08]
    return [
        *(
            seeds_cell(f"sd {sd}, {seeds} seeds, {arms} arms", arms, seeds, [sd / 100] * arms)
            for sd in (2, 0, 4)
            for seeds in (1, 2, 3, 5)
            for arms in (2, 5)
        ),
        *(seeds_cell(f"one arm has sd 8, the others 1, {seeds} seeds, 5 arms", 5, seeds, unlike) for seeds in (3, 2, 5)),
        seeds_cell("sd 2, and runs differ on single items, 2 seeds, 5 arms", 5, 2, [0.02] * 5, 0.5),
    ]


def seeds_cell(name: str, arms: int, seeds: int, sds: list[float], item_by_run: float = 0.0) -> Cell:
    def runs(rng: np.random.Generator) -> list[SimulatedRun]:
        return arms_without_effect(rng, arms, seeds, sds, item_by_run=item_by_run)

    return Cell("seeds", name, 1000, lambda rng: seeds_draw(runs(rng)), runs)


# Curves: reports of one run, whose course is known.

ALWAYS_FALSE = {"A4", "A10", "A13", "A16", "A17", "A18"}
FALSE_FINDINGS = {
    "flat": ALWAYS_FALSE | {"A1", "A3", "A5", "A8", "A11", "A14", "A22"},
    "rises by 5": (ALWAYS_FALSE - {"A18"}) | {"A2", "A3", "A5", "A11", "A14", "A22"},
    "rises and falls by 5": ALWAYS_FALSE | {"A1", "A2", "A5", "A8", "A22"},
    "wiggles by 1": (ALWAYS_FALSE - {"A18"}) | {"A1", "A3", "A8", "A11", "A14", "A22"},
    "wiggles by 2": (ALWAYS_FALSE - {"A18"}) | {"A1", "A3", "A8", "A11", "A14", "A22"},
}
"""Findings that must not be supported. A linear rise has no final level that could be told. Where checkpoints move, the last
one may truly solve other items than the first, which is what A18 says."""


def course_T(rng: np.random.Generator, shape: str, by: float = 0.05) -> np.ndarray:
    if shape.startswith("wiggles"):
        return FLAT_T + float(shape.split()[-1]) / 100 * rng.standard_normal(POINTS)
    return {
        "flat": FLAT_T, "rises": FLAT_T + by * (TIME_T - 0.5), "rises and falls": FLAT_T + by * (0.5 - abs(2 * TIME_T - 1)),
        "falls late": FLAT_T - by * np.clip((TIME_T - 0.5) / 0.25, 0, 1),
    }[shape.partition(" by ")[0]]  # fmt: skip


def one_run(rng: np.random.Generator, truth_T: np.ndarray, size: Size) -> list[SimulatedRun]:
    return [simulate_run(rng, "arm 0", 0, truth_T, difficulties(rng, size), size.samples)]


def course_cells() -> list[Cell]:
    return [course_cell(shape, size, false) for shape, false in FALSE_FINDINGS.items() for size in SIZES]


def course_cell(shape: str, size: Size, false: set[str]) -> Cell:
    def runs(rng: np.random.Generator) -> list[SimulatedRun]:
        return one_run(rng, course_T(rng, shape), size)

    def draw(rng: np.random.Generator) -> Measures:
        found = {f.id for f in analyse(curves_in_memory(runs(rng))) if f.verdict is Conclusion.SUPPORTED}
        return {"any": float(bool(found & false))} | {id: float(id in found) for id in sorted(false)}

    return Cell("courses", f"{shape}, {size}", 1000, draw, runs)


# Power: how often a true effect is found.


def power_cells() -> list[Cell]:
    effects = (3, 5, 10)
    return [
        *(arms_found_cell(points, seeds, arms) for points in effects for seeds in (2, 3, 5) for arms in (2, 5)),
        *(found_cell(f"rise of {points}, {size}", f"rises by {points}", size, "A1") for points in effects for size in SIZES),
        *(found_cell(f"late fall of {by}, {size}", f"falls late by {by}", size, "A3") for by in effects for size in SIZES),
        *(found_cell(f"plateau, {size}", "flat", size, "A2") for size in SIZES),
    ]


def found_cell(name: str, shape: str, size: Size, id: str) -> Cell:
    by = float(shape.split()[-1]) / 100 if shape[-1].isdigit() else 0.0

    def runs(rng: np.random.Generator) -> list[SimulatedRun]:
        return one_run(rng, course_T(rng, shape, by), size)

    def draw(rng: np.random.Generator) -> Measures:
        found = {f.id for f in analyse(curves_in_memory(runs(rng))) if f.verdict is Conclusion.SUPPORTED}
        return {"found": float(id in found)}

    return Cell("power", name, 200, draw)


def arms_found_cell(points: int, seeds: int, arms: int) -> Cell:
    def draw(rng: np.random.Generator) -> Measures:
        hard_Q = difficulties(rng, USUAL)
        runs = [
            simulate_run(
                rng, f"arm {arm}", seed,
                FLAT_T + SETTLED_T * (0.02 * rng.standard_normal() + points / 100 * (arm == 0)), hard_Q, USUAL.samples,
            )
            for arm in range(arms)
            for seed in range(seeds)
        ]  # fmt: skip
        with patch.object(curve_fit, "findings", return_value=[]):
            findings = [f for f in analyse(curves_in_memory(runs)) if f.id == "A6" and "arm 0" in f.series]
        return {"found": float(np.mean([f.verdict is Conclusion.SUPPORTED for f in findings]))}

    return Cell("power", f"an arm better by {points}, sd 2, {seeds} seeds, {arms} arms", 100, draw)


# The alarm: a watch over a growing curve.


def alarms_at(values_T: np.ndarray, se_T: np.ndarray) -> list[int]:
    """Returns the eval points at which a run raises an alarm."""
    at = []
    for seen in range(6, len(values_T) + 1):
        means = window_means(values_T[:seen], 3)
        drop = means[:-3].max() - means[-1]
        if alarm_statistic(values_T[:seen], se_T[:seen]) > alarm_bound(seen, len(values_T), se_T[:seen]) and drop > MARGIN:
            at.append(seen - 1)
    return at


def alarm_cells() -> list[Cell]:
    courses, wiggles = (("flat", FLAT_T), ("rising", RISING_T)), (0, 1, 2)
    return [
        *(alarm_cell(f"no fall, {name}, wiggle {w}", truth_T, w, None) for w in wiggles for name, truth_T in courses),
        *(alarm_cell(f"fall of 8 after {n} eval points, wiggle {w}", FLAT_T, w, n) for w in wiggles for n in (8, 10, 6)),
    ]


def alarm_cell(name: str, truth_T: np.ndarray, wiggle: int, first: int | None) -> Cell:
    """A fall happens at once, from the eval point `first` (counted from 0) on."""

    def draw(rng: np.random.Generator) -> Measures:
        level_T = truth_T + wiggle / 100 * rng.standard_normal(POINTS)
        level_T = level_T - 0.08 * (np.arange(POINTS) >= (POINTS if first is None else first))
        (run,) = one_run(rng, level_T, USUAL)
        values_T, se_T = run.correct_TQK.mean((1, 2)), np.array([fixed_set_se(correct_QK) for correct_QK in run.correct_TQK])
        at = alarms_at(values_T, se_T)
        if first is None:
            return {"any alarm": float(bool(at))}
        return {
            "seen within three": float(any(first <= t < first + 3 for t in at)),
            "before": float(any(t < first for t in at)),
        }

    return Cell("alarm", name, 2000, draw)


# Looks: comparisons of runs that still train.


def looks_cells() -> list[Cell]:
    return [looks_cell(seeds, looks) for seeds in (1, 3) for looks in (20, 10)]


def looks_cell(seeds: int, looks: int) -> Cell:
    sd = 0.02 if seeds > 1 else 0.0
    truth_T = 0.8 - 0.4 * np.exp(-np.arange(looks) / 5)

    def draw(rng: np.random.Generator) -> Measures:
        hard_Q = difficulties(rng, USUAL)
        sides = [
            np.stack(
                [
                    simulate_run(rng, "", seed, truth_T + sd * rng.standard_normal(), hard_Q, USUAL.samples).correct_TQK.mean(2)
                    for seed in range(seeds)
                ],
                axis=1,
            )
            for _ in range(2)
        ]
        growing = growing_comparison([float(t) for t in range(looks)], [(sides[0], sides[1])], looks)
        return {
            "mean so far excludes 0": float(any(not i.low <= 0 <= i.high for i in growing.so_far)),
            "band excludes 0": float(any(not i.low <= 0 <= i.high for i in growing.band)),
            "price": growing.price,
        }

    unit = "single runs, sd 0" if seeds == 1 else f"{seeds} seeds each, sd 2"
    return Cell("looks", f"{looks} planned looks, {unit}", 2000, draw)


# Intervals of an accuracy.


def interval_cells() -> list[Cell]:
    return [
        interval_cell(size, accuracy, concentration)
        for size in (*SIZES, Size(30, 1), Size(100, 8))
        for accuracy in (0.02, 0.1, 0.3, 0.5, 0.9, 0.98)
        for concentration in (1.0, 4.0)
    ]


def interval_cell(size: Size, accuracy: float, concentration: float) -> Cell:
    """Items have Beta distributed chances; a concentration of 1 puts most of them near 0 and 1."""

    def draw(rng: np.random.Generator) -> Measures:
        chance_Q = rng.beta(concentration * accuracy, concentration * (1 - accuracy), size.items)
        correct_QK = rng.random((size.items, size.samples)) < chance_Q[:, None]
        interval = accuracy_interval(correct_QK)
        return {"coverage": float(interval.low <= accuracy <= interval.high), "width": interval.high - interval.low}

    return Cell("intervals", f"{size}, accuracy {accuracy:g}, Beta concentration {concentration:g}", 4000, draw)


# The prediction of `passus power`.


def prediction_cells() -> list[Cell]:
    return [prediction_cell(arms, seeds) for arms in (2, 5) for seeds in (2, 3, 5)]


def prediction_cell(arms: int, seeds: int) -> Cell:
    """Each draw is a comparison without effect; the smallest visible difference follows from all of them together."""

    def draw(rng: np.random.Generator) -> Measures:
        runs = arms_without_effect(rng, arms, seeds, [0.02] * arms, FLAT_T)
        (lines,) = comparable_lines(measure_curves(curves_in_memory(runs)))
        difference = end_differences(lines)["arm 0", "arm 1"]
        return {"mean": difference.mean, "half": difference.high - difference.mean}

    return Cell("prediction", f"sd 2, {USUAL}, {arms} arms, {seeds} seeds", 2000, draw)


TABLES = {
    "seeds": seeds_cells, "courses": course_cells, "alarm": alarm_cells, "looks": looks_cells, "intervals": interval_cells,
    "prediction": prediction_cells, "power": power_cells,
}  # fmt: skip


def all_cells() -> list[Cell]:
    return [cell for make in TABLES.values() for cell in make()]


# Draws, in processes.

_CELLS: dict[str, Cell] = {}


def _start_process() -> None:
    _CELLS.update({cell.key: cell for cell in all_cells()})


def _draw(task: tuple[str, int]) -> Measures:
    cell = _CELLS[task[0]]
    measures = cell.draw(cell.rng(task[1]))
    if cell.runs is not None and task[1] < THROUGH_FOLDERS:
        measures["folders differ"] = float(differs_through_folders(cell.runs(cell.rng(task[1]))))
    return measures


def differs_through_folders(runs: list[SimulatedRun]) -> bool:
    """Whether `passus analyse` says something else of run folders than the analysis in memory.

    The texts of completions are in the folders alone, so that the words about them are left out, and so is the diagnosis, which
    reads whole records.
    """
    in_memory = [_comparable(finding.to_json()) for finding in analyse(curves_in_memory(runs))]
    with tempfile.TemporaryDirectory() as folder:
        for run in runs:
            write_folder(run, Path(folder))
        printed = Path(folder) / "findings.jsonl"
        with open(printed, "w") as out:
            saved, sys.stdout = sys.stdout, out
            try:
                passus_analyse(Path(folder), json_=True)
            finally:
                sys.stdout = saved
        found = [json.loads(line) for line in printed.read_text().splitlines()]
        from_folders = [_comparable(finding) for finding in found if finding["id"] != "A16"]
    return json.loads(json.dumps(in_memory)) != from_folders


def _comparable(finding: dict) -> dict:
    return {key: value for key, value in finding.items() if finding["id"] != "A17" or key not in ("text", "numbers")}


def run_cell(pool: Pool, cell: Cell, draws: int | None) -> dict[str, list[float]]:
    """Returns mean, standard error and count of every measure; of a prediction the values themselves are folded."""
    tasks = [(cell.key, n) for n in range(draws or cell.draws)]
    values: dict[str, list[float]] = defaultdict(list)
    for measures in pool.imap_unordered(_draw, tasks, chunksize=4):
        for name, value in measures.items():
            values[name].append(value)
    if cell.table == "prediction":
        return _smallest_visible(np.array(values["mean"]), np.array(values["half"]))
    # Processes return draws in any order; sums of sorted values do not depend on it.
    ordered = {name: sorted(of) for name, of in sorted(values.items())}
    return {name: [float(np.mean(of)), float(np.std(of) / math.sqrt(len(of))), len(of)] for name, of in ordered.items()}


def _smallest_visible(means: np.ndarray, halves: np.ndarray) -> dict[str, list[float]]:
    """Returns the difference that, added to all of them, excludes 0 in 80 %; its error by resampling."""
    needed = halves - means
    rng = np.random.default_rng(0)
    resampled = [np.quantile(rng.choice(needed, len(needed)), 0.8) for _ in range(400)]
    return {"smallest visible": [float(np.quantile(needed, 0.8)), float(np.std(resampled)), len(needed)]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cells", nargs="*", default=list(TABLES), help="tables to make, by the beginning of their cells' keys"
    )
    parser.add_argument("--draws", type=int, help="draws per cell instead of its own number")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    end = time.monotonic() + 60 * options.minutes
    with Pool(options.jobs, _start_process) as pool:
        for cell in all_cells():
            if cell.key in results or not cell.key.startswith(tuple(options.cells)) or time.monotonic() > end:
                continue
            began = time.monotonic()
            results[cell.key] = run_cell(pool, cell, options.draws)
            print(f"{cell.key}: {results[cell.key]} ({time.monotonic() - began:.0f} s)", flush=True)
            options.out.write_text(json.dumps(results, indent=1) + "\n")
    in_order = {cell.key: results[cell.key] for cell in all_cells() if cell.key in results}
    options.out.write_text(json.dumps(in_order, indent=1) + "\n")
    options.out.with_suffix(".md").write_text(page(in_order))
    return 0


if __name__ == "__main__":
    sys.exit(main())
