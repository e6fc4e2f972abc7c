"""Runs that are killed, stopped or fail: the same command again gives the record of the uninterrupted run."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.command import ONE_THREAD, passus, passus_in_process
from helpers.small_run import EXPERIMENT, assert_same, write_experiment
from passus.atomic_io import last_line
from passus.runs.lock import is_held
from passus.runs.run_folder import RunFolder

GRID = EXPERIMENT + "[sweep]\nseed = [0, 1]\n"


def start(*arguments: str, cwd: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "passus", *arguments], cwd=cwd, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def wait_for_step(run: Path, step: int, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 600
    while (last_line(run / "metrics.jsonl") or {"step": 0})["step"] < step:
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[0]
        time.sleep(0.01)


@pytest.fixture
def reference(small_run):
    """The run that nobody interrupts."""
    return small_run.path


@pytest.fixture(scope="module")
def halfway(tmp_path_factory):
    """A run that was killed after its checkpoint of step 4. Tests work on copies of it."""
    folder = tmp_path_factory.mktemp("halfway")
    arguments = ("run", write_experiment(folder), "--arm", "qwen3", "--out", "out")
    assert passus(*arguments, cwd=folder, env={"PASSUS_FAULT": "kill@save:renamed:2"}).returncode == -signal.SIGKILL
    return folder


def copy_of(halfway: Path, tmp_path: Path) -> tuple[Path, list[str]]:
    shutil.copytree(halfway, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out/qwen3", ["run", str(tmp_path / "small.toml"), "--arm", "qwen3", "--out", "out"]


FAULTS = [
    "kill@save:model:1",  # only the weights are written
    "kill@write:step-000002.parquet:1",  # the file is written and not yet renamed
    "kill@save:optimizer:1",
    "kill@save:manifest:1",  # the checkpoint is complete and not yet renamed
    "kill@save:renamed:1",  # the first valid checkpoint
    "kill@write:meta.json:1",  # twice: its checksum is written, and not yet its content
    "kill@write:meta.json:1",
    "kill@write:step-000003.parquet:2",  # inside an eval point: the items of step 3, after the samples of step 3
]


@pytest.mark.parametrize("faults", [FAULTS[-2:], pytest.param(FAULTS, marks=pytest.mark.slow)], ids=["two", "all"])
def test_kill_9_inside_saves_and_writes(reference, tmp_path, faults):
    arguments = ("run", write_experiment(tmp_path), "--arm", "qwen3", "--out", "out")
    for fault in faults:
        done = passus(*arguments, cwd=tmp_path, env={"PASSUS_FAULT": fault})
        assert done.returncode == -signal.SIGKILL, (fault, done.stdout, done.stderr)
    assert passus(*arguments, cwd=tmp_path).returncode == 0
    assert_same(tmp_path / "out/qwen3", reference)
    aside = [path.name for path in (tmp_path / "out/qwen3/set-aside").rglob("*") if path.is_file()]
    assert "metrics.jsonl" in aside and "step-000003.parquet" in aside


@pytest.mark.slow
def test_kill_9_from_outside_with_two_jobs(reference, tmp_path):
    """The runner is killed twice. Its arms die with it, and the next runner resumes them."""
    # The save interval does not change a run, so that both arms must equal the uninterrupted run.
    experiment = write_experiment(tmp_path, EXPERIMENT + '[sweep]\n"run.save_every" = [2, 3]\n')
    arguments = ("run", experiment, "--jobs", "2", "--out", "cut")
    for step in (1, 5):
        process = start(*arguments, cwd=tmp_path)
        wait_for_step(tmp_path / "cut/save-every-3", step, process)
        process.kill()
        process.wait()
    done = passus(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for arm in ("save-every-2", "save-every-3"):
        assert_same(tmp_path / "cut" / arm, reference)
    again = passus(*arguments, cwd=tmp_path)
    assert again.returncode == 0 and again.stdout.count("already finished") == 2
    assert (tmp_path / "cut/small.png").stat().st_size > 10_000


@pytest.mark.parametrize("command", [passus_in_process, pytest.param(passus, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "code"), [("term", 143), ("int", 130)])
def test_a_signal_stops_the_run_after_a_checkpoint_and_it_resumes(halfway, reference, tmp_path, name, code, command):
    """The signal comes while the rows of step 5 are written. The step is finished and saved, and the run resumes after it."""
    run, arguments = copy_of(halfway, tmp_path)
    done = command(*arguments, cwd=tmp_path, env={"PASSUS_FAULT": f"{name}@write:step-000005.parquet:1"})
    assert done.returncode == code, done.stderr
    assert "saved: the same command resumes from out/qwen3/checkpoints/step-000005" in done.stdout
    assert passus_in_process("ls", "out", "--json", cwd=tmp_path).stdout.count('"killed"') == 1
    assert command(*arguments, cwd=tmp_path).returncode == 0
    assert_same(run, reference)


@pytest.mark.slow
def test_the_runner_passes_a_signal_on_to_its_arms(tmp_path):
    """After SIGTERM both arms save. A second SIGTERM, while the arms are still starting, does not count as a failure."""
    arguments = ("run", write_experiment(tmp_path, GRID), "--jobs", "2", "--out", "out", "--set", "train.steps=2000")
    process = start(*arguments, cwd=tmp_path)
    wait_for_step(tmp_path / "out/seed-0", 1, process)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 143, out
    assert "resumes from out/seed-0/checkpoints/step-" in out and "failed" not in out
    assert not is_held(tmp_path / "out/seed-0") and not is_held(tmp_path / "out/seed-1")
    logged = (tmp_path / "out/seed-1/.experiment.toml").stat().st_mtime_ns
    early = start(*arguments, cwd=tmp_path)
    while (tmp_path / "out/seed-1/.experiment.toml").stat().st_mtime_ns == logged:
        time.sleep(0.01)
    time.sleep(0.2)  # the arms' processes exist and are importing
    early.send_signal(signal.SIGTERM)
    out, _ = early.communicate(timeout=600)
    assert early.returncode == 143 and "failed" not in out, out


def test_a_second_ctrl_c_exits_at_once():
    code = """
import os, signal
from passus.launch.arm_process import StopRequest
stop = StopRequest()
os.kill(os.getpid(), signal.SIGINT)
print(stop.signal == signal.SIGINT, flush=True)
os.kill(os.getpid(), signal.SIGINT)
print("still here", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "True\n"), done.stderr


@pytest.mark.slow
def test_an_arm_stopped_from_outside_fails_the_command_and_says_so(tmp_path):
    process = start("run", write_experiment(tmp_path), "--out", "out", "--set", "train.steps=2000", cwd=tmp_path)
    wait_for_step(tmp_path / "out/qwen3", 1, process)
    os.kill(int(RunFolder(tmp_path / "out/qwen3").status()["pid"]), signal.SIGTERM)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 1 and "qwen3: stopped; the same command resumes from" in out


@pytest.mark.slow
def test_a_closed_pipe_does_not_stop_the_run(reference, tmp_path):
    arguments = ("run", write_experiment(tmp_path), "--arm", "qwen3", "--out", "out")
    process = start(*arguments, cwd=tmp_path)
    process.stdout.readline()
    process.stdout.close()  # as `| head -1` does
    assert process.wait(timeout=600) == 0
    assert_same(tmp_path / "out/qwen3", reference)


@pytest.mark.slow
def test_editing_the_file_while_it_runs_changes_nothing(tmp_path):
    """Neither does a file of the user that has the name of a standard module."""
    (tmp_path / "random.py").write_text("raise RuntimeError")
    experiment = write_experiment(tmp_path, GRID)
    process = start("run", experiment, "--out", "out", "--set", "train.steps=1", cwd=tmp_path)
    while not (tmp_path / "out/seed-0/status.json").exists():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    write_experiment(tmp_path, GRID.replace("prompts = 4", "prompts = 5"))
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0, out
    assert RunFolder(tmp_path / "out/seed-1").config().train.prompts == 4


@pytest.mark.slow
def test_two_runners_on_one_folder(tmp_path):
    arguments = ("run", write_experiment(tmp_path), "--out", "out", "--set", "train.steps=2000")
    first = start(*arguments, "--arm", "qwen3", cwd=tmp_path)
    try:
        wait_for_step(tmp_path / "out/qwen3", 1, first)
        for second in (passus(*arguments, "--arm", "qwen3", cwd=tmp_path), passus(*arguments, cwd=tmp_path)):
            assert second.returncode == 0 and f"process {first.pid} is running it in" in second.stdout
        assert first.poll() is None
    finally:
        first.kill()
        first.wait()


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "reason"), [("enospc", "the disk is full"), ("efbig", "limit on the size of files")])
def test_no_space_while_saving(halfway, reference, tmp_path, fault, reason):
    run, arguments = copy_of(halfway, tmp_path)
    done = passus_in_process(*arguments, cwd=tmp_path, env={"PASSUS_FAULT": f"{fault}@save:optimizer:1"})
    assert done.returncode == 1 and reason in done.stderr and "Traceback" not in done.stderr
    assert not list((run / "checkpoints").glob(".step*"))
    assert passus_in_process(*arguments, cwd=tmp_path).returncode == 0
    assert_same(run, reference)


@pytest.fixture
def small_disk(tmp_path):
    """A file system with room for one checkpoint and not for two."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=14m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
def test_a_full_file_system(small_disk, reference, tmp_path):
    arguments = ("run", write_experiment(tmp_path), "--arm", "qwen3", "--out", str(small_disk))
    # While rows are recorded, with no room even for status.json: the message names the full disk, not the second failure.
    process = start(*arguments, cwd=tmp_path)
    wait_for_step(small_disk / "qwen3", 1, process)
    os.kill(process.pid, signal.SIGSTOP)
    with open(small_disk / "filler", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    os.kill(process.pid, signal.SIGCONT)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 1 and "is full" in out and "Traceback" not in out, out
    (small_disk / "filler").unlink()
    # The disk fills up while the second checkpoint is written.
    done = passus(*arguments, cwd=tmp_path)
    assert done.returncode == 1 and "is full" in done.stderr and "Traceback" not in done.stderr
    assert sorted(path.name for path in (small_disk / "qwen3/checkpoints").iterdir()) == ["step-000002"]
    # There is room again.
    subprocess.run(["mount", "-o", "remount,size=100m", str(small_disk)], check=True)
    assert passus(*arguments, cwd=tmp_path).returncode == 0
    assert_same(small_disk / "qwen3", reference)


def test_a_damaged_checkpoint_is_refused_with_the_command_that_sets_it_aside(halfway, reference, tmp_path):
    run, arguments = copy_of(halfway, tmp_path)
    victim = run / "checkpoints/step-000004/model.safetensors"
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    rows = (run / "metrics.jsonl").read_bytes()
    done = passus_in_process(*arguments, cwd=tmp_path)
    assert done.returncode == 1 and "damaged: model.safetensors" in done.stderr and "Traceback" not in done.stderr
    assert (run / "metrics.jsonl").read_bytes() == rows
    advice = next(line for line in done.stderr.splitlines() if "write: mv" in line)
    subprocess.run(advice.split("write: ")[1].split("   and")[0], shell=True, check=True, cwd=tmp_path)
    assert passus_in_process(*arguments, cwd=tmp_path).returncode == 0
    assert_same(run, reference)


def test_another_config_is_refused_with_the_difference(halfway, tmp_path):
    run, arguments = copy_of(halfway, tmp_path)
    before = sorted(path.name for path in run.rglob("*"))
    for asked in ([*arguments], [a for a in arguments if a not in ("--arm", "qwen3")]):
        done = passus_in_process(*asked, "--set", "train.learning_rate=1e-3", cwd=tmp_path)
        assert done.returncode == 2 and "train.learning_rate: 0.0005 recorded, 0.001 asked" in done.stderr
    assert sorted(path.name for path in run.rglob("*")) == before


@pytest.mark.slow
def test_an_arm_that_cannot_run_is_told_before_any_other_trains(tmp_path):
    experiment = write_experiment(tmp_path, EXPERIMENT + '[sweep]\n"train.max_tokens" = [24, 511]\n')
    done = passus("run", experiment, "--out", "out", "--jobs", "2", "--set", "train.steps=1", cwd=tmp_path)
    assert done.returncode == 2 and "context" in done.stderr and "Traceback" not in done.stderr
    assert "max-tokens-511" in done.stderr and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_failing_arm_fails_the_command_and_the_others_finish(tmp_path):
    (tmp_path / "rewards.py").write_text("def fine(completions, **_): return [0.0] * len(completions)\n"
                                         "def fail(**_): raise ValueError('no reward today')\n")  # fmt: skip
    experiment = write_experiment(tmp_path, EXPERIMENT + '[sweep]\n"reward.function" = ["rewards:fine", "rewards:fail"]\n')
    done = passus("run", experiment, "--out", "out", "--jobs", "2", "--set", "train.steps=1", cwd=tmp_path)
    assert done.returncode != 0 and "no reward today" in done.stderr
    states = passus_in_process("ls", "out", cwd=tmp_path).stdout
    assert "finished" in states and "failed" in states


def test_the_record_before_the_first_checkpoint_is_checked(small_run, tmp_path):
    """It is refused where the resume would go on from it, and recovered by the command of the message."""
    run = tmp_path / "out/qwen3"
    shutil.copytree(small_run.path, run)
    shutil.rmtree(run / "checkpoints")
    path = run / "evals.jsonl"
    path.write_text(path.read_text().replace('"step": 0', '"step":  0', 1))
    arguments = ("run", write_experiment(tmp_path), "--arm", "qwen3", "--out", "out")
    done = passus_in_process(*arguments, cwd=tmp_path)
    assert done.returncode == 1 and "evals.jsonl, step 0: its content has changed" in done.stderr
    assert passus_in_process("verify", "out", "--set-aside", cwd=tmp_path).returncode == 0
    assert passus_in_process(*arguments, cwd=tmp_path).returncode == 0
    assert_same(run, small_run.path)
