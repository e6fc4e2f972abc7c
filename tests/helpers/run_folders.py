"""A run folder with metrics, eval points, items and samples, written without a model."""

from helpers.small_run import small_config
from passus.runs.eval_point import EvalPoint
from passus.runs.row_files import ROWS
from passus.runs.run_folder import RunFolder

MODEL = {"label": "m", "family": "Qwen3", "parameters": 1}


def blank_rows(kind, n):
    return {name: [None] * n for name in ROWS[kind]}


def eval_point(step, benchmark):
    return EvalPoint(step=step, benchmark=benchmark, temperature=1.0, q=1, k=2, acc=0.5, ci_low=0.0, ci_high=1.0)


def folder(tmp_path, rows=6):
    run = RunFolder(tmp_path / "arm")
    run.path.mkdir()
    run.start(small_config(), MODEL, None)
    for step in range(1, rows + 1):
        run.append_metrics({"step": step, "train/reward": step / 10})
    for step in (0, 3, 6):
        run.append_evals([eval_point(step, b) for b in ("a", "b")])
        run.write_rows("items", step, blank_rows("items", 2))
    for step in range(1, rows + 1):
        run.write_rows("samples", step, blank_rows("samples", 1))
    return run


def ended_folder(tmp_path):
    """Steps 1 to 6 with eval points at 0, 3 and 6, sealed at step 4, and ended."""
    run = folder(tmp_path, rows=4)
    run.seal(4)
    for step in (5, 6):
        run.append_metrics({"step": step, "train/reward": step / 10})
    run.seal(6, is_final=True)
    return run
