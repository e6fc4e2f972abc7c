"""Workers: arms that run one after another in one process equal arms with a process of their own, and failures stay apart."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.command import ONE_THREAD, passus
from helpers.small_run import EXPERIMENT, assert_same, write_experiment
from passus.atomic_io import last_line
from passus.config.tables import Config
from passus.launch.worker import arm_shape
from passus.runs.run_folder import RunFolder

ARMS = """
[[arm]]
name = "first"
[[arm]]
name = "frozen"
"model.tuning" = "frozen"
"method.name" = "dapo"
"method.kl_coef" = 0.05
[[arm]]
name = "mel"
"method.name" = "mel"
"train.max_tokens" = 48
[[arm]]
name = "gemma"
"model.base" = "nano/gemma3"
"train.updates" = 2
[[arm]]
name = "again"
"""


def pid_of(run: Path) -> int:
    return RunFolder(run).meta()["launches"][-1]["pid"]


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """Five arms run by one worker, one after another."""
    folder = tmp_path_factory.mktemp("warm")
    done = passus("run", write_experiment(folder, EXPERIMENT + ARMS), "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_an_arm_in_a_warm_worker_equals_one_in_a_process_of_its_own(warm, tmp_path):
    experiment = write_experiment(tmp_path, EXPERIMENT + ARMS)
    for arm in ("frozen", "mel", "gemma", "again"):
        assert passus("run", experiment, "--arm", arm, "--out", "cold", cwd=tmp_path).returncode == 0
        assert_same(warm / "out" / arm, tmp_path / "cold" / arm)


@pytest.mark.slow
def test_all_arms_ran_in_one_process_and_those_of_one_shape_together(warm):
    arms = ("first", "frozen", "mel", "gemma", "again")
    assert len({pid_of(warm / "out" / arm) for arm in arms}) == 1
    created = {arm: RunFolder(warm / "out" / arm).metrics()[0]["step"] and mtime(warm / "out" / arm) for arm in arms}
    assert created["first"] < created["again"] < min(created[arm] for arm in ("frozen", "mel", "gemma"))


def mtime(run: Path) -> int:
    return (run / "meta.json").stat().st_mtime_ns


@pytest.mark.slow
def test_an_arm_records_the_command_that_runs_it_alone(warm, tmp_path):
    argv = RunFolder(warm / "out/again").meta()["argv"]
    assert argv[:3] == ["passus", "run", "out/again/.experiment.toml"] and argv[3:5] == ["--arm", "again"]
    (warm / "out/again/metrics.jsonl").rename(tmp_path / "metrics.jsonl")
    (warm / "out/again").rename(warm / "kept")
    (warm / "out/again").mkdir()
    (warm / "out/again/.experiment.toml").write_bytes((warm / "kept/.experiment.toml").read_bytes())
    assert passus(*argv[1:], cwd=warm).returncode == 0
    assert last_line(warm / "out/again/metrics.jsonl")["train/loss"] == last_line(tmp_path / "metrics.jsonl")["train/loss"]


@pytest.mark.slow
def test_an_arm_that_fails_does_not_touch_the_next(tmp_path, small_run):
    """The second arm's reward function fails in step 2. The third arm gets a new process."""
    (tmp_path / "rewards.py").write_text(
        "def fails(completions, trainer_state, **rest):\n"
        "    assert trainer_state.global_step < 1, 'no more'\n"
        "    return [0.0] * len(completions)\n"
    )
    arms = '[[arm]]\nname = "a"\n[[arm]]\nname = "b"\n"reward.function" = "rewards:fails"\n[[arm]]\nname = "c"\n'
    done = passus("run", write_experiment(tmp_path, EXPERIMENT + arms), "--out", "out", cwd=tmp_path, env={"PYTHONPATH": "."})
    assert done.returncode == 1 and "b failed: reward.function" in done.stderr and "Traceback" not in done.stderr
    assert "no more" in (tmp_path / "out/b/log.txt").read_text()
    assert RunFolder(tmp_path / "out/b").status()["state"] == "failed"
    # Arms of one shape run first, all in one process: b's reward is no part of the shape.
    assert pid_of(tmp_path / "out/a") == pid_of(tmp_path / "out/b") != pid_of(tmp_path / "out/c")
    assert_same(tmp_path / "out/c", small_run.path)


@pytest.mark.slow
def test_a_worker_that_is_killed_fails_its_arm_alone_and_the_arm_resumes(tmp_path, small_run):
    experiment = write_experiment(tmp_path, EXPERIMENT + '[sweep]\n"run.save_every" = [1, 2, 3]\n')
    command = [sys.executable, "-P", "-m", "passus", "run", experiment, "--out", "out"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    second = tmp_path / "out/save-every-2"
    deadline = time.monotonic() + 600
    while (last_line(second / "metrics.jsonl") or {"step": 0})["step"] < 3:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(json.loads((second / "status.json").read_text())["pid"], signal.SIGKILL)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 1 and "save-every-2 failed: its process ended with code -9" in out, out
    assert_same(tmp_path / "out/save-every-3", small_run.path)
    assert passus("run", experiment, "--out", "out", cwd=tmp_path).returncode == 0
    assert_same(second, small_run.path)


def test_the_shape_of_an_arm():
    def shape(**tables):
        return arm_shape(Config.model_validate({"model": {"base": "nano/qwen3"}} | tables))

    assert shape() == shape(seed=3) == shape(train={"learning_rate": 0.1})
    assert len({shape(), shape(model={"base": "nano/gemma3"}), shape(train={"samples": 4})}) == 3
