"""Faults under a run: no file handles, a read-only disk, another user, clocks, moved and copied folders, SIGSTOP."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from helpers.command import ONE_THREAD, passus, passus_in_process
from helpers.small_run import assert_same, write_experiment
from passus.atomic_io import last_line
from passus.cli.ls import list_runs
from passus.runs.lock import state_of
from passus.runs.record_check import find_damage
from passus.runs.run_folder import RunFolder

ARGUMENTS = ("run", "small.toml", "--arm", "qwen3", "--out", "out")


@pytest.fixture
def killed(tmp_path):
    """A run that was killed after its checkpoint of step 4, in a folder with its experiment."""
    write_experiment(tmp_path)
    assert passus(*ARGUMENTS, cwd=tmp_path, env={"PASSUS_FAULT": "kill@save:renamed:2"}).returncode == -signal.SIGKILL
    return tmp_path


@pytest.fixture
def stopped(tmp_path):
    """A process that was stopped (SIGSTOP) after its first step. It is killed afterwards, if it still lives."""
    write_experiment(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "passus", *ARGUMENTS], cwd=tmp_path, env=os.environ | ONE_THREAD,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 600
    while (last_line(tmp_path / "out/qwen3/metrics.jsonl") or {"step": 0})["step"] < 1:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGSTOP)
    yield process
    process.kill()
    process.wait()


def check_refused(done, words):
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("handles", [14, 40])
def test_no_file_handles(killed, small_run, handles):
    command = f'ulimit -n {handles} && exec "$0" -P -m passus "$@"'
    shell = ["bash", "-c", command, sys.executable, *ARGUMENTS]
    done = subprocess.run(shell, cwd=killed, env=os.environ | ONE_THREAD, capture_output=True, text=True, timeout=600)
    if done.returncode:
        check_refused(done, "Too many open files")
    assert passus_in_process(*ARGUMENTS, cwd=killed).returncode == 0
    assert_same(killed / "out/qwen3", small_run.path)


@pytest.mark.slow
def test_a_read_only_disk(killed, small_run):
    disk = killed / "out"
    bind = subprocess.run(["mount", "--bind", str(disk), str(disk)], capture_output=True)
    if bind.returncode or subprocess.run(["mount", "-o", "remount,ro,bind", str(disk)], capture_output=True).returncode:
        pytest.skip("mounting needs root")
    try:
        check_refused(passus(*ARGUMENTS, cwd=killed), "Read-only file system")
        assert passus("verify", "out", cwd=killed).returncode == 0 and passus("ls", "out", cwd=killed).returncode == 0
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert passus_in_process(*ARGUMENTS, cwd=killed).returncode == 0
    assert_same(killed / "out/qwen3", small_run.path)


@pytest.mark.slow
def test_another_user(killed, small_run):
    """Who may only read sees the run and cannot resume it. Without its right to write to all files, root is such a user."""
    lost = "-dac_override,-dac_read_search"
    as_other = ["setpriv", f"--bounding-set={lost}", f"--inh-caps={lost}", sys.executable, "-P", "-m", "passus"]
    if os.getuid() or not shutil.which("setpriv"):
        pytest.skip("giving up rights needs root and setpriv")
    for path in (killed / "out").rglob("*"):
        os.chown(path, 65534, 65534)
    options = {"cwd": killed, "env": os.environ | ONE_THREAD, "capture_output": True, "text": True}
    check_refused(subprocess.run([*as_other, *ARGUMENTS], **options), "Permission denied")
    assert '"killed"' in subprocess.run([*as_other, "ls", "out", "--json"], **options).stdout
    verified = subprocess.run([*as_other, "verify", "out"], **options)
    check_refused(verified, "model.safetensors: Permission denied")  # safetensors writes weights for their owner alone
    for path in (killed / "out").rglob("*"):
        os.chown(path, 0, 0)
    assert passus_in_process(*ARGUMENTS, cwd=killed).returncode == 0
    assert_same(killed / "out/qwen3", small_run.path)


def test_a_clock_that_was_set_back(killed, small_run, monkeypatch):
    """The folders of set-aside/ are named by the time, and none is written over."""
    monkeypatch.setattr(time, "time_ns", lambda: 5)
    run = RunFolder(killed / "out/qwen3")
    run.set_aside_after(3, None)
    run.set_aside_after(2, None)
    run.set_aside_after(2, None)
    assert sorted(path.name for path in (run.path / "set-aside").iterdir()) == ["5-after-000002", "5-after-000003"]
    run.append_metrics({"step": 3})
    run.set_aside_after(2, None)
    assert sorted(path.name for path in (run.path / "set-aside").iterdir()) == [
        "5-after-000002", "5-after-000003", "6-after-000002",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_clock_of_another_machine(killed, small_run):
    """A heartbeat of the future or of long ago says nothing about whether a run lives: its lock does."""
    run = RunFolder(killed / "out/qwen3")
    for heartbeat in ("2001-01-01T00:00:00Z", "2101-01-01T00:00:00Z"):
        run.write_status(state="running", pid=1, heartbeat=heartbeat)
        assert state_of(run.path)["state"] == "killed" == list_runs(killed / "out")[0]["state"]
    for path in run.path.rglob("*"):
        os.utime(path, (5e9, 5e9))
    assert passus_in_process(*ARGUMENTS, cwd=killed).returncode == 0
    assert_same(run.path, small_run.path)


@pytest.mark.slow
def test_a_folder_that_is_moved_while_the_run_writes(stopped, small_run, tmp_path):
    os.rename(tmp_path / "out", tmp_path / "moved")
    stopped.send_signal(signal.SIGCONT)
    out, errors = stopped.communicate(timeout=600)
    assert stopped.returncode == 1 and "No such file or directory" in errors and "Traceback" not in errors, out + errors
    assert not (tmp_path / "out").exists()
    arguments = [*ARGUMENTS[:-1], "moved"]
    assert passus_in_process(*arguments, cwd=tmp_path).returncode == 0
    assert_same(tmp_path / "moved/qwen3", small_run.path)


@pytest.mark.slow
def test_a_folder_that_is_copied_while_the_run_writes(stopped, small_run, tmp_path):
    """The copy is a run of its own, and so is what it was copied from."""
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    assert state_of(tmp_path / "out/qwen3")["state"] == "running" and state_of(tmp_path / "copy/qwen3")["state"] == "killed"
    stopped.send_signal(signal.SIGCONT)
    assert stopped.wait(timeout=600) == 0
    assert passus_in_process(*ARGUMENTS[:-1], "copy", cwd=tmp_path).returncode == 0
    for folder in ("out", "copy"):
        assert_same(tmp_path / folder / "qwen3", small_run.path)
        assert find_damage(tmp_path / folder / "qwen3") == []


@pytest.mark.slow
def test_a_process_that_is_stopped_and_continued(stopped, small_run, tmp_path):
    run = tmp_path / "out/qwen3"
    assert state_of(run)["state"] == "running" and find_damage(run) == []
    done = passus_in_process(*ARGUMENTS, cwd=tmp_path)
    assert done.returncode == 0 and "is running it in" in done.stdout
    stopped.send_signal(signal.SIGCONT)
    assert stopped.wait(timeout=600) == 0
    assert_same(run, small_run.path)
