"""Run folders with synthetic eval points and item rows."""

import numpy as np
import pyarrow.parquet

from helpers.small_run import small_config
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder
from passus.stats import intervals

ITEMS, SAMPLES, STEPS = 60, 4, (0, 10, 20, 30, 40, 50)


def make_run(
    path, shifts: dict[str, float], seed: int = 0, items: int = ITEMS, steps=STEPS, label: str = "", config=None
) -> RunFolder:
    """Writes a run with an accuracy of 0.5 plus a shift per benchmark. All runs share the difficulty of their items."""
    path.mkdir(parents=True)
    run = RunFolder(path)
    run.start(config or small_config(), {"label": label or path.name, "tuning": "live"}, None)
    rng = np.random.default_rng(seed)
    for step in steps:
        rows: dict[str, list] = {}
        for number, (benchmark, shift) in enumerate(shifts.items()):
            chance_Q = np.random.default_rng(number).uniform(0.2, 0.8, items) + shift
            correct_QK = rng.random((items, SAMPLES)) < chance_Q[:, None]
            run.append_evals([point(step, benchmark, correct_QK)])
            for name, values in columns(benchmark, correct_QK).items():
                rows.setdefault(name, []).extend(values)
        run.write_rows("items", step, rows)
    return run


def point(step: int, benchmark: str, correct_QK: np.ndarray) -> EvalPoint:
    fixed = {"temperature": 1.0, "ci_low": 0.0, "ci_high": 1.0, "tokens_mean": 5.0, "tokens_p95": 5.0}
    sizes = {"q": len(correct_QK), "k": correct_QK.shape[1], "acc": float(correct_QK.mean())}
    sizes["se"] = intervals.fixed_set_se(correct_QK)
    return EvalPoint.from_row({"step": step, "benchmark": benchmark} | fixed | sizes)


def columns(benchmark: str, correct_QK: np.ndarray) -> dict[str, list]:
    n = correct_QK.size
    return {
        "benchmark": [benchmark] * n, "temperature": [1.0] * n, "item": np.repeat(np.arange(len(correct_QK)), SAMPLES).tolist(),
        "sample": list(range(SAMPLES)) * len(correct_QK), "verdict": ["correct" if c else "wrong" for c in correct_QK.flat],
        "extracted": [None] * n, "tokens": [5] * n, "logp": [0.0] * n, "completion": ["\x1b[31mred"] * n, "value": [None] * n,
    }  # fmt: skip


def with_clusters(run: RunFolder, names: list[str]) -> RunFolder:
    """Writes the item rows of a run again, with the cluster of every item."""
    for path in sorted((run.path / "items").iterdir()):
        rows = pyarrow.parquet.read_table(path).to_pydict()
        run.write_rows("items", int(path.stem[5:]), rows | {"cluster": [names[item] for item in rows["item"]]})
    return run
