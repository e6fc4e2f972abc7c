"""TRL's trainer with passus's recording: every eval item is there, means are TRL's own, and a kill leaves it whole."""

import ast
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import passus
from helpers.command import ONE_THREAD
from passus.runs.lock import state_of
from passus.runs.run_folder import RunFolder

pytest.importorskip("trl", reason="trl is not installed")
from passus.interop.trl_recording import TRLRecording

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "trl_grpo.py"
ITEMS, GENERATIONS = 16, 8


def start(folder, steps):
    return subprocess.Popen(
        [sys.executable, str(EXAMPLE), "--out", str(folder), "--steps", str(steps), "--eval-items", str(ITEMS)],
        env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def logged_rows(text):
    """Returns the rows that the trainer prints, with numbers as texts of four digits."""
    return [ast.literal_eval(line.strip()) for line in text.splitlines() if line.strip().startswith("{'")]


def test_the_example_records_every_eval_item_and_writes_a_report(tmp_path):
    with start(tmp_path / "runs", 10) as process:
        text, _ = process.communicate(timeout=300)
    assert process.returncode == 0, text[-3000:]
    assert (tmp_path / "runs/report.html").stat().st_size > 10_000
    run = RunFolder(tmp_path / "runs/seed-0")
    printed = [float(row["eval_rewards/passus_reward/mean"]) for row in logged_rows(text) if "eval_reward" in row]
    assert [point.step for point in run.evals()] == [0, 10]
    assert [point.acc for point in run.evals()] == pytest.approx(printed, abs=1e-4)
    assert all(len(run.read_rows("items", step)) == ITEMS * GENERATIONS for step in (0, 10))
    assert all(point.q == ITEMS and point.k == GENERATIONS for point in run.evals())
    rewards = [float(row["reward"]) for row in logged_rows(text) if "reward" in row]
    assert [row["train/reward"] for row in run.metrics()] == pytest.approx(rewards, abs=1e-4)
    samples = passus.load(tmp_path / "runs").samples
    for step, reward in enumerate(rewards, 1):
        own = [
            value for value, at in zip(samples["reward"].to_pylist(), samples["step"].to_pylist(), strict=True) if at == step
        ]
        assert len(own) == 32 and sum(own) / 32 == pytest.approx(reward, abs=1e-4)
    assert state_of(run.path)["state"] == "finished" and run.config().seed == 0


def test_a_killed_training_leaves_a_whole_record(tmp_path):
    run = RunFolder(tmp_path / "runs/seed-0")
    deadline = time.monotonic() + 300
    with start(tmp_path / "runs", 2000) as process:
        while process.poll() is None and time.monotonic() < deadline:
            if run.exists() and len(run.metrics()) >= 12:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert state_of(run.path)["state"] == "killed"
    assert [point.step for point in run.evals()][:2] == [0, 10]
    assert all(len(run.read_rows("items", point.step)) == ITEMS * GENERATIONS for point in run.evals())
    steps = [row["step"] for row in run.metrics()]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) >= 12
    assert passus.load(run.path).findings() and len(passus.load(run.path).report(tmp_path / "report.md").read_text()) > 1000


def reward(prompts, completions, **columns):
    return [float(completion == answer) for completion, answer in zip(completions, columns["answer"], strict=True)]


def test_evaluations_before_the_training_of_several_datasets_and_again_at_one_step(tmp_path):
    """A trainer evaluates each dataset by itself, and a user may evaluate before the training and after it."""
    recording = TRLRecording(tmp_path / "run", benchmark="sums")
    callback, recorded, state = recording.callback(), recording.reward(reward), SimpleNamespace(global_step=0)
    for name, completions in (("", "12"), ("", "00"), ("hard_", "10")):
        recorded(prompts=["1", "2"], completions=list(completions), answer=["1", "2"], trainer_state=state)
        callback.on_evaluate(None, state, None, metrics={f"eval_{name}reward": 1.0, f"eval_{name}runtime": 1.0})
    callback.on_train_end(None, state, None)
    recorded(prompts=["1", "2"], completions=["0", "0"], answer=["1", "2"], trainer_state=state)
    callback.on_evaluate(None, SimpleNamespace(global_step=5), None, metrics={"eval_runtime": 1.0})
    run = RunFolder(tmp_path / "run")
    assert [(point.step, point.benchmark, point.acc) for point in run.evals()] == [(0, "sums", 1.0), (0, "sums/hard", 0.5)]
    assert not run.row_paths("samples")
