"""Writes docs/simulations.md from docs/simulations.json."""

from collections.abc import Sequence

import numpy as np
from simulated_runs import DIFFICULTY_SD

from passus.stats.accuracy_noise import AccuracyNoise, EvalSize
from passus.stats.run_power import PlannedTest

Results = dict[str, dict[str, list[float]]]
"""By cell and measure: mean, Monte-Carlo standard error, number of draws."""

INTRODUCTION = """# False verdicts, power and coverage on simulated runs

`make simulate` makes these tables. A cell is one truth, drawn many times: runs of 15 eval points whose items have normally
distributed difficulties (SD 1.5 on the logistic scale), sampled answers, and lengths that have nothing to do with accuracy.
They are analysed in memory, just below the reader of run folders. Twenty draws per cell of the first two tables are also
written as run folders and analysed by `passus analyse`; none of these {folders} analyses differed in any finding. After ±
stands the Monte-Carlo standard error. All numbers are in [simulations.json](simulations.json).
"""

SEEDS = """
## Arms that do not differ

Reports of arms without any difference, on 200 items x 4 samples, with a stated spread between runs (SD in points). "Any
claim" is the share of reports with at least one supported claim about configurations, of whatever kind; at most 6 % was the
goal, and none with one seed. Coverage is that of the 95 % intervals of all pairs; 93 to 98 % was the goal.
"""

COURSES = """
## One run whose course is known

Reports of one run. The share of reports with any supported finding that is false, and the finding that is false most often
([analysis.md](analysis.md) explains the codes). At most 6 % and 5 % were the goals. "Wiggles" have a constant mean, around
which the true level of each checkpoint moves with the stated SD.
"""

ALARM = """
## The regression alarm

Runs of 15 eval points on 200 items x 4 samples. Without a fall: the share of runs with any alarm; at most 5 % was the goal.
With a fall of 8 points at once: the share that is seen within three eval points (at least 90 % was the goal after eight eval
points and with a wiggle of at most 1), and of alarms before the fall.
"""

LOOKS = """
## Comparisons that are looked at while runs train

Two sides that do not differ, compared at every planned eval point. The share of comparisons in which the interval excludes 0
at any look; at most 5 % was the goal. The price is the width relative to a single look.
"""

INTERVALS = """
## Intervals of an accuracy

Coverage of the 95 % interval of one eval point; at least 92 % was the goal. Items have Beta distributed chances of being
solved; with a concentration of 1, most items are always solved or never.
"""

PREDICTION = """
## The prediction of `passus power`

The smallest difference of two arms that is found in 80 % of cases at level .05 (run-to-run SD 2 points, 200 items x 4
samples), in points: simulated through the comparison of lines, and predicted. Within 10 % was the goal.
"""

POWER = """
## What is found

The share of reports in which a true effect is supported, after the correction for all tests of the report. For arms it is the
share of the pairs with the better arm. A plateau is a flat curve that is shown to stay within 2 points.
"""

LOOK_MEASURES = ("mean so far excludes 0", "band excludes 0")


def page(results: Results) -> str:
    folders = sum(int(measures["folders differ"][2]) for measures in results.values() if "folders differ" in measures)
    assert all(measures["folders differ"][0] == 0 for measures in results.values() if "folders differ" in measures)
    parts = [INTRODUCTION.replace("{folders}", f"{folders:,}")]
    for table, title, rows in (
        ("seeds", SEEDS, _seeds), ("courses", COURSES, _courses), ("alarm", ALARM, _alarm), ("looks", LOOKS, _looks),
        ("intervals", INTERVALS, _intervals), ("prediction", PREDICTION, _prediction), ("power", POWER, _power),
    ):  # fmt: skip
        cells = {key.partition(": ")[2]: measures for key, measures in results.items() if key.startswith(f"{table}: ")}
        parts.append(f"{title}\n{_table(rows(cells))}")
    return "".join(parts)


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *body))


def _percent(value: Sequence[float] | None, digits: int = 1) -> str:
    return f"{100 * value[0]:.{digits}f} ± {100 * value[1]:.{digits}f} %" if value else ""


def _seeds(cells: Results) -> list[list[str]]:
    rows = [["truth", "draws", "any claim", "coverage"]]
    for name, m in cells.items():
        claim = m["any configuration claim"]
        rows.append([name.replace("1 seeds", "1 seed"), f"{claim[2]:,}", _percent(claim), _percent(m.get("coverage"))])
    return rows


def _courses(cells: Results) -> list[list[str]]:
    rows = [["truth, items x samples", "draws", "any false finding", "most often"]]
    for name, m in cells.items():
        worst = max((id for id in m if id.startswith("A")), key=lambda id: m[id][0])
        rows.append([name, f"{m['any'][2]:,}", _percent(m["any"]), f"{worst}: {_percent(m[worst])}" if m[worst][0] else "none"])
    return rows


def _alarm(cells: Results) -> list[list[str]]:
    rows = [["truth", "draws", "any alarm", "seen within three", "before the fall"]]
    for name, m in cells.items():
        measures = [m.get(key) for key in ("any alarm", "seen within three", "before")]
        draws = next(value[2] for value in measures if value)
        rows.append([name, f"{draws:,}", *map(_percent, measures)])
    return rows


def _looks(cells: Results) -> list[list[str]]:
    return [["truth", "draws", *LOOK_MEASURES, "price"]] + [
        [
            name,
            f"{m['price'][2]:,}",
            *(_percent(m[key]) for key in LOOK_MEASURES),
            f"{m['price'][0]:.2f}",
        ]
        for name, m in cells.items()
    ]


def _intervals(cells: Results) -> list[list[str]]:
    parsed = {tuple(name.split(", ")): m for name, m in cells.items()}
    accuracies = list(dict.fromkeys(accuracy for _, accuracy, _ in parsed))
    lines = dict.fromkeys((size, concentration) for size, _, concentration in parsed)
    rows = [["items x samples", "Beta concentration", *(accuracy.removeprefix("accuracy ") for accuracy in accuracies)]]
    for size, concentration in lines:
        found = [parsed.get((size, accuracy, concentration)) for accuracy in accuracies]
        shown = [f"{100 * m['coverage'][0]:.1f} %" if m else "" for m in found]
        rows.append([size, concentration.removeprefix("Beta concentration "), *shown])
    return rows


def _prediction(cells: Results) -> list[list[str]]:
    rows = [["experiment", "simulated", "predicted", "predicted / simulated"]]
    for name, m in cells.items():
        value, error, _ = m["smallest visible"]
        predicted = predict(name)
        rows.append([name, f"{100 * value:.1f} ± {100 * error:.1f}", f"{100 * predicted:.1f}", f"{predicted / value:.2f}"])
    return rows


def predict(name: str) -> float:
    """Predicts the smallest visible difference of a cell such as "sd 2, 200 x 4, 5 arms, 3 seeds"."""
    arms, seeds = (int(part.split()[0]) for part in name.split(", ")[-2:])
    noise = AccuracyNoise(0.02**2, 0.0, 0.0, 0.0, sampling_variance(0.6))
    return PlannedTest(arms, seeds, EvalSize(200, 4, 3), noise).detectable()


def sampling_variance(mean: float) -> float:
    """Returns the mean of p(1 - p) over the items of the simulations, at a mean accuracy."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    ability = np.linspace(-10, 10, 4001)[:, None]
    chance = 1 / (1 + np.exp(DIFFICULTY_SD * nodes - ability))
    at = np.abs(chance @ (weights / weights.sum()) - mean).argmin()
    return float((chance[at] * (1 - chance[at])) @ (weights / weights.sum()))


def _power(cells: Results) -> list[list[str]]:
    return [["effect", "draws", "found"]] + [[name, f"{m['found'][2]:,}", _percent(m["found"], 0)] for name, m in cells.items()]
