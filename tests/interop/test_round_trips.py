"""Runs written for other tools and imported again: the same curve, to float32 where the format has no more."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.rising_runs import make_rising_run
from passus.errors import UsageError
from passus.interop.curve_export import export_curves
from passus.interop.importers.import_options import ImportOptions
from passus.interop.importers.import_sources import import_runs, plan_import
from passus.runs.run_folder import RunFolder, find_runs

SINK_PYTHON = os.environ.get("PASSUS_SINK_PYTHON", sys.executable)
"""A Python with wandb and trackio, which need not be the one that runs the tests."""
ROOT = Path(__file__).parents[2]
RECORDED = ("temperature", "q", "k", "acc", "ci_low", "ci_high", "se", "tokens_mean", "tokens_p95")
"""Numbers of an eval point of these runs."""
KEYS = ("step", "benchmark", "acc", "ci_low", "ci_high", "q", "k", "tokens_mean")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two seeds with 8 eval points and 70 rows of metrics, one of which has a gap."""
    folder = tmp_path_factory.mktemp("runs")
    made = [make_rising_run(folder / f"families/grpo-s{seed}", seed=seed, points=8) for seed in (3, 4)]
    made[0].append_metrics({"step": 71, "train/num_tokens": 71000, "train/kl": None, "train/entropy": 1 / 3})
    return made


def imported(source, out):
    import_runs(plan_import([source], out, ImportOptions()), ImportOptions())
    return {run.config().seed: run for run in map(RunFolder, find_runs(out))}


def assert_same(run, again, tolerance=0.0):
    for point, other in zip(run.evals(), again.evals(), strict=True):
        mine, theirs = point.to_row(), other.to_row()
        assert (mine["step"], mine["benchmark"]) == (theirs["step"], theirs["benchmark"])
        np.testing.assert_allclose([theirs[key] for key in KEYS[2:]], [mine[key] for key in KEYS[2:]], rtol=tolerance)
    rows = {row["step"]: row for row in again.metrics()}
    for row in run.metrics():
        for key, value in row.items():
            other = rows[row["step"]].get(key)
            if isinstance(value, (int, float)) and value == value and key != "time/elapsed":
                assert other == pytest.approx(value, rel=tolerance, abs=0), (row["step"], key)
            elif key != "time/elapsed":
                assert other is None


@pytest.mark.parametrize(
    "to, suffix, tolerance", [("csv", ".csv", 0.0), ("parquet", ".parquet", 0.0), ("tensorboard", "", 1e-7)]
)
def test_exported_curves_come_back(runs, tmp_path, to, suffix, tolerance):
    out = tmp_path / f"curves{suffix}"
    finite = [
        value for run in runs for row in run.metrics() for key, value in row.items() if key != "step" and value is not None
    ]
    assert export_curves(runs, to, out) == len(finite) + 2 * 8 * len(RECORDED)
    again = imported(out, tmp_path / "again")
    assert set(again) == {3, 4}
    for run in runs:
        assert_same(run, again[run.config().seed], tolerance)


def test_names_that_repeat_are_told_apart(tmp_path):
    made = [make_rising_run(tmp_path / name / "seed-0", points=2) for name in ("a", "b")]
    export_curves(made, "csv", tmp_path / "curves.csv")
    assert {line.split(",")[0] for line in (tmp_path / "curves.csv").read_text().splitlines()[1:]} == {"a/seed-0", "b/seed-0"}


@pytest.mark.parametrize("to, suffix, tolerance", [("csv", ".csv", 0.0), ("tensorboard", "", 1e-7)])
def test_temperatures_stay_apart(tmp_path, to, suffix, tolerance):
    run = make_rising_run(tmp_path / "runs/grpo-s3", seed=3, points=2)
    run.append_evals([replace(point, temperature=0.0, acc=point.acc / 2, ci_low=0.0) for point in run.evals()])
    export_curves([run], to, tmp_path / f"curves{suffix}")
    again = {(p.step, p.benchmark): p.acc for p in imported(tmp_path / f"curves{suffix}", tmp_path / "again")[3].evals()}
    wanted = {(p.step, f"{p.benchmark}, temperature {p.temperature:g}"): p.acc for p in run.evals()}
    assert len(wanted) == 4 and again == pytest.approx(wanted, rel=tolerance, abs=0)
    handed = []
    run.sinks = [SimpleNamespace(put=lambda step, numbers: handed.append((step, *numbers)))]
    run.append_evals([replace(point, step=20) for point in run.evals() if point.step == 10])
    assert [(step, first) for step, first, *_ in handed] == [
        (20, "eval/abacus/add2, temperature 1/temperature"), (20, "eval/abacus/add2, temperature 0/temperature"),
    ]  # fmt: skip


def test_a_seed_that_is_not_known_is_not_exported(tmp_path):
    (tmp_path / "first.csv").write_text("step,eval/sums/acc\n0,0.25\n")
    (run,) = imported(tmp_path / "first.csv", tmp_path / "runs").values()
    for to in ("csv", "parquet"):
        export_curves([run], to, tmp_path / f"{to}/curves.{to}")
        (again,) = imported(tmp_path / to, tmp_path / f"again-{to}").values()
        assert not again.config().imported.seed_known


def test_exports_that_are_refused(runs, tmp_path):
    with pytest.raises(UsageError, match=r"curves\.txt\.csv"):
        export_curves(runs, "csv", tmp_path / "curves.txt")
    export_curves(runs, "tensorboard", tmp_path / "tb")
    with pytest.raises(UsageError, match="has event files already"):
        export_curves(runs, "tensorboard", tmp_path / "tb")


def test_tensorboards_own_reader_takes_the_event_files(runs, tmp_path):
    loader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_file_loader", reason="tensorboard is not installed"
    )
    export_curves(runs[:1], "tensorboard", tmp_path)
    (path,) = tmp_path.rglob("events.out.tfevents.*")
    values = [
        (event.step, value.tag, value.tensor.float_val[0] if value.HasField("tensor") else value.simple_value)
        for event in loader.EventFileLoader(str(path)).Load()
        for value in event.summary.value
    ]
    assert (10, "train/num_tokens", 10_000.0) in values and len(values) > 100


WRITE = """
import json
import sys
from pathlib import Path
from passus.runs.sinks.tools import open_sinks

run, said = Path(sys.argv[2]), []
settings = {"name": "exp", "seed": 3, "model.base": "nano/qwen3"}
(sink,) = open_sinks([sys.argv[1]], run, "0123456789abcdef", settings, said.append)
for line in sys.stdin:
    step, numbers = json.loads(line)
    sink.put(step, numbers)
sink.close()
sys.exit("; ".join(said) or None)
"""


def rows_for_sinks(run):
    """Returns what the run folder hands to sinks, in the order of steps."""
    handed: list = []

    class Collected:
        def put(self, step, numbers):
            handed.append((step, numbers))

    copy = RunFolder(run.path.parent / "copy")
    copy.path.mkdir(exist_ok=True)
    copy.sinks = [Collected()]
    points = {point.step: point for point in run.evals()}
    copy.append_evals([points[0]])
    for row in run.metrics():
        copy.append_metrics(row)
        if row["step"] in points:
            copy.append_evals([points[row["step"]]])
    return handed


def has_package(name):
    if sys.executable == SINK_PYTHON:
        return importlib.util.find_spec(name) is not None
    return subprocess.run([SINK_PYTHON, "-c", f"import {name}"], capture_output=True).returncode == 0


@pytest.mark.parametrize("sink, tolerance", [("tensorboard", 1e-7), ("wandb", 0.0), ("trackio", 0.0)])
def test_what_a_sink_wrote_comes_back(runs, tmp_path, sink, tolerance):
    if sink != "tensorboard" and not has_package(sink):
        pytest.skip(f"{sink} is not installed; PASSUS_SINK_PYTHON names a Python that has it")
    run = tmp_path / "exp" / "grpo-s3"
    run.mkdir(parents=True)
    text = "".join(json.dumps(row) + "\n" for row in rows_for_sinks(runs[0]))
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"), "WANDB_MODE": "offline", "WANDB_SILENT": "true",
        "TRACKIO_DIR": str(tmp_path / "trackio"),
    }  # fmt: skip
    done = subprocess.run(
        [SINK_PYTHON, "-c", WRITE, sink, str(run)], input=text, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    again = imported(tmp_path / ("trackio" if sink == "trackio" else "exp"), tmp_path / "again")
    assert_same(runs[0], again[3], tolerance)
