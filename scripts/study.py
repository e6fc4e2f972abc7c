"""What two thousand runs say about nine methods on six families, and what fewer seeds would have said (docs/study.md).

passus run study-sums --out runs/study          # 1,080 short runs; likewise study-differences. Run again to go on
python scripts/study.py reduce runs/study       # docs/study.parquet: the accuracy and the answers of every run
python scripts/study.py score                   # docs/study.json and docs/figures/study.png
python scripts/study.py null                    # docs/study-null.json: verdicts on pairs of groups of one configuration

Shapes: M methods, F families, S seeds.
"""

import argparse
import itertools
import json
import zlib
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy import stats
from simulated_runs import SimulatedRun, curves_in_memory
from study_runs import StudyRun, by_configuration, read_run, read_runs, write_runs

from passus.analysis import curve_fit
from passus.analysis.analyse import analyse
from passus.analysis.finding import Conclusion, Scope
from passus.atomic_io import write_text
from passus.runs.run_folder import RunFolder, find_runs

DOCS = Path(__file__).parent.parent / "docs"
RUNS, SCORES, NULL, FIGURE = (
    DOCS / "study.parquet",
    DOCS / "study.json",
    DOCS / "study-null.json",
    DOCS / "figures" / "study.png",
)
FEW = (1, 3, 5)
"""Seeds of the comparisons that are held against the whole."""
DRAWS = 400
"""Draws of few seeds per comparison."""
NULL_SEEDS = (2, 3, 5)
NULL_SPLITS = 32
"""Splits per configuration and number of seeds."""
TWO_POINTS, POWER = 0.02, 0.8
Table = dict[str, object]


def table_MFS(runs: Sequence[StudyRun], task: str) -> tuple[list[str], list[str], np.ndarray]:
    """Returns methods, families, and the final accuracy of the seeds that all configurations of a task have."""
    configurations = {key[1:]: own for key, own in by_configuration(runs).items() if key[0] == task}
    methods, families = sorted({m for m, _ in configurations}), sorted({f for _, f in configurations})
    seeds = set.intersection(*({run.seed for run in own} for own in configurations.values()))
    accuracy = [
        [[run.accuracy for run in configurations[method, family] if run.seed in seeds] for family in families]
        for method in methods
    ]
    return methods, families, np.array(accuracy)


def ranking(methods: Sequence[str], y_MFS: np.ndarray) -> list[Table]:
    """Ranks the methods over these families, by differences from the mean of all methods with the same seed.

    Runs of one seed share items and noise, so that differences are taken within seeds. Intervals are simultaneous over methods
    (Bonferroni), with seeds as the unit.
    """
    effect_MS = (y_MFS - y_MFS.mean(0)).mean(1)
    seeds = effect_MS.shape[1]
    t = stats.t.ppf(1 - 0.025 / len(methods), seeds - 1)
    half_M = t * effect_MS.std(1, ddof=1) / seeds**0.5
    order = np.argsort(-effect_MS.mean(1))
    return [
        {"method": methods[m], "accuracy": y_MFS[m].mean(), "effect": effect_MS[m].mean(), "half": half_M[m]} for m in order
    ]


def variance_components(y_MFS: np.ndarray) -> Table:
    """Splits the variance of final accuracy into methods, families, their interaction, and runs of one configuration.

    Methods and families are fixed, seeds are random. The interaction is tested against the spread of runs.
    """
    m, f, s = y_MFS.shape
    cell_MF = y_MFS.mean(2)
    rows, columns, grand = cell_MF.mean(1), cell_MF.mean(0), cell_MF.mean()
    within = ((y_MFS - cell_MF[:, :, None]) ** 2).sum() / (m * f * (s - 1))
    mixed = cell_MF - rows[:, None] - columns + grand
    mean_square = s * (mixed**2).sum() / ((m - 1) * (f - 1))
    parts = {
        "method": max(0.0, float(rows.var(ddof=1)) - within / (f * s)),
        "family": max(0.0, float(columns.var(ddof=1)) - within / (m * s)),
        "interaction": max(0.0, (mean_square - within) / s), "run": float(within),
    }  # fmt: skip
    p = float(stats.f.sf(mean_square / within, (m - 1) * (f - 1), m * f * (s - 1)))
    return {"variance": parts, "sd_of_runs": within**0.5, "interaction_p": p}


def few_seeds(y_MFS: np.ndarray, seeds: int, rng: np.random.Generator) -> Table:
    """Compares pairs of methods on one family with few seeds, and holds what they conclude against all seeds.

    "Winner" is the method with the higher mean, as a table without intervals shows it; "claimed" is a t-test at 5 % for two or
    more seeds. A conclusion is false where the whole shows the opposite, and unfounded where the whole shows no difference.
    """
    m, f, _ = y_MFS.shape
    counts = dict.fromkeys(("comparisons", "winner_false", "winner_unfounded", "claims", "claim_false", "claim_unfounded"), 0)
    for (a, b), family in itertools.product(itertools.combinations(range(m), 2), range(f)):
        difference_S = y_MFS[a, family] - y_MFS[b, family]
        is_known = stats.ttest_1samp(difference_S, 0).pvalue < 0.05 if np.ptp(difference_S) else False
        truth = np.sign(difference_S.mean()) if is_known else 0.0
        for _ in range(DRAWS):
            own = [rng.choice(y_MFS[n, family], seeds, replace=False) for n in (a, b)]
            winner = np.sign(own[0].mean() - own[1].mean())
            is_claimed = seeds > 1 and _is_significant(*own)
            counts["comparisons"] += 1
            counts["winner_false"] += bool(truth and winner == -truth)
            counts["winner_unfounded"] += bool(not truth and winner)
            counts["claims"] += is_claimed
            counts["claim_false"] += is_claimed and bool(truth) and winner == -truth
            counts["claim_unfounded"] += is_claimed and not truth
    return {name: int(count) for name, count in counts.items()}


def _is_significant(a_S: np.ndarray, b_S: np.ndarray) -> bool:
    """Welch's t-test at 5 %; two groups without any spread differ if their means do."""
    variance = a_S.var(ddof=1) / len(a_S) + b_S.var(ddof=1) / len(b_S)
    if variance == 0:
        return bool(a_S.mean() != b_S.mean())
    return bool(stats.ttest_ind(a_S, b_S, equal_var=False).pvalue < 0.05)


def seeds_for(difference: float, sd: float) -> int:
    """Returns the seeds per side with which a t-test at 5 % finds a difference in four of five cases."""
    for seeds in range(2, 10_000):
        shift, freedom = difference / (sd * (2 / seeds) ** 0.5), 2 * seeds - 2
        critical = stats.t.ppf(0.975, freedom)
        if stats.nct.sf(critical, freedom, shift) + stats.nct.cdf(-critical, freedom, shift) >= POWER:
            return seeds
    return 10_000


def needed_seeds(methods: Sequence[str], families: Sequence[str], y_MFS: np.ndarray) -> list[Table]:
    """Returns the spread of runs per family, over its methods, and the seeds that two points need with it."""
    sd_MF = y_MFS.std(2, ddof=1)
    rows = []
    for n, family in enumerate(families):
        sd = float(np.sqrt((sd_MF[:, n] ** 2).mean()))
        extremes = [float(sd_MF[:, n].min()), float(sd_MF[:, n].max())]
        rows.append({"family": family, "sd": sd, "sd_of_methods": extremes, "seeds": seeds_for(TWO_POINTS, sd)})
    return rows


def score() -> None:
    runs = read_runs(RUNS)
    scores: dict[str, Table] = {}
    for task in sorted({run.task for run in runs}):
        methods, families, y_MFS = table_MFS(runs, task)
        rng = np.random.default_rng(zlib.crc32(task.encode()))
        scores[task] = {
            "methods": methods, "families": families, "seeds": y_MFS.shape[2], "runs": y_MFS.size,
            "mean_MF": y_MFS.mean(2).round(4).tolist(), "ranking": ranking(methods, y_MFS),
            "variance": variance_components(y_MFS),
            "few_seeds": {str(s): few_seeds(y_MFS, s, rng) for s in FEW if s < y_MFS.shape[2]},
            "seeds_for_two_points": needed_seeds(methods, families, y_MFS),
        }  # fmt: skip
    write_text(SCORES, json.dumps(scores, indent=1, default=float) + "\n")
    draw(scores)


def draw(scores: dict[str, Table]) -> None:
    """Draws the ranking of the methods per task, with what single families say behind it."""
    from matplotlib.figure import Figure

    from passus.figures.styles import FAMILIES

    figure = Figure(figsize=(4.2 * len(scores), 3.6), layout="constrained")
    for axes, (task, own) in zip(figure.subplots(1, len(scores), squeeze=False)[0], scores.items(), strict=True):
        mean_MF = np.array(own["mean_MF"])
        effect_MF = mean_MF - mean_MF.mean(0)
        rows = own["ranking"]
        for place, row in enumerate(reversed(rows)):
            single = 100 * effect_MF[own["methods"].index(row["method"])]
            axes.plot(single, [place] * len(single), "|", color="#999999", markersize=7)
            colour, _ = FAMILIES["Qwen3"]
            axes.errorbar(100 * row["effect"], place, xerr=100 * row["half"], fmt="o", color=colour, markersize=4, capsize=2)
        axes.axvline(0, color="#999999", linewidth=0.7)
        axes.set_yticks(range(len(rows)), [row["method"] for row in reversed(rows)], fontsize=8)
        axes.set_xlabel("points above the mean of all methods")
        axes.set_title(f"{task}: {len(own['families'])} families, {own['seeds']} seeds", fontsize=9)
    figure.savefig(FIGURE, dpi=130)


def null_report(task: tuple[tuple[str, str, str], int, int]) -> dict[str, float]:
    """Analyses two groups of seeds of one configuration as if they were two methods."""
    configuration, seeds, split = task
    own = by_configuration(_RUNS)[configuration]
    rng = np.random.default_rng([zlib.crc32("/".join(configuration).encode()), seeds, split])
    chosen = rng.permutation(len(own))[: 2 * seeds]
    sides = [
        SimulatedRun(f"side {n // seeds}", n % seeds, run.correct_TQK.astype(float), _tokens(run))
        for n, run in enumerate(own[i] for i in chosen)
    ]
    with patch.object(curve_fit, "findings", return_value=[]):
        findings = analyse(curves_in_memory(sides))
    claims = [f for f in findings if f.scope is Scope.CONFIGURATION and f.verdict is Conclusion.SUPPORTED]
    contrasts = [f for f in findings if f.id == "A6" and f.scope is Scope.CONFIGURATION and f.low is not None]
    covered = [f.low <= 0 <= f.high for f in contrasts]
    return {"claim": float(bool(claims)), "covered": float(np.mean(covered)) if covered else float("nan")}


def _tokens(run: StudyRun) -> np.ndarray:
    """Means of tokens are kept per eval point only: every answer has that mean."""
    return np.broadcast_to(run.tokens_T[:, None, None], run.correct_TQK.shape).astype(float)


_RUNS: list[StudyRun] = []


def _load() -> None:
    _RUNS.extend(read_runs(RUNS))


def null(processes: int) -> None:
    _load()
    enough = {key: len(own) for key, own in by_configuration(_RUNS).items()}
    results: dict[str, dict[str, float]] = {}
    with Pool(processes, _load) as pool:
        for seeds in NULL_SEEDS:
            tasks = [(key, seeds, n) for key, count in enough.items() if count >= 2 * seeds for n in range(NULL_SPLITS)]
            rows = pool.map(null_report, tasks, chunksize=16)
            claims = np.array([row["claim"] for row in rows])
            results[str(seeds)] = {
                "comparisons": len(rows), "claims": float(claims.mean()), "se": float(claims.std() / len(claims) ** 0.5),
                "coverage": float(np.nanmean([row["covered"] for row in rows])),
            }  # fmt: skip
            print(seeds, results[str(seeds)])
    write_text(NULL, json.dumps(results, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("reduce").add_argument("out", type=Path)
    commands.add_parser("score")
    commands.add_parser("null").add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    match given.command:
        case "reduce":
            finished = [run for run in find_runs(given.out) if RunFolder(run).status().get("state") == "finished"]
            write_runs(map(read_run, finished), RUNS)
            print(f"{RUNS}: {len(finished)} runs, {RUNS.stat().st_size / 1e6:.1f} MB")
        case "score":
            score()
        case _:
            null(given.processes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
