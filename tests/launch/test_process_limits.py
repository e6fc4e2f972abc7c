"""Limits of the process: too small files and too little memory end a command with a message and the right exit code."""

import os
import resource
import subprocess
import sys
from unittest import mock

import pytest

from helpers.command import ONE_THREAD, passus_in_process
from helpers.small_run import assert_same, write_experiment
from helpers.tiers import slow_cases
from passus.errors import is_out_of_memory
from passus.runs.run_folder import RunFolder


def limited(limit: str, *arguments: str, cwd) -> subprocess.CompletedProcess:
    """Runs a command under a limit of the shell, such as `-f 1000`."""
    command = f'ulimit {limit} && exec "$0" -P -m passus "$@"'
    shell = ["bash", "-c", command, sys.executable, *arguments]
    return subprocess.run(shell, cwd=cwd, env=os.environ | ONE_THREAD, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_a_limit_on_the_size_of_files(small_run, tmp_path):
    """The checkpoint is larger than the limit. The rows before it stay, and the run resumes without the limit."""
    arguments = ("run", write_experiment(tmp_path), "--arm", "qwen3", "--out", "out")
    done = limited("-f 1000", *arguments, cwd=tmp_path)
    assert done.returncode == 1 and "limit on the size of files" in done.stderr and "Traceback" not in done.stderr, done.stderr
    run = RunFolder(tmp_path / "out/qwen3")
    assert [row["step"] for row in run.metrics()] == [1, 2] and run.status()["state"] == "failed"
    assert not list(run.checkpoints.glob(".step*"))
    assert passus_in_process(*arguments, cwd=tmp_path).returncode == 0
    assert_same(run.path, small_run.path)


@pytest.mark.slow
def test_a_limit_that_the_first_rows_exceed(tmp_path):
    done = limited("-f 1", "run", write_experiment(tmp_path), "--out", "out", cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr + done.stdout, done.stderr


@pytest.mark.parametrize("name", ["x.csv", "x.txt", *slow_cases("x.svg", "x.png", "x.pdf", "x.html", "x.md")])
def test_outputs_that_exceed_the_limit_on_the_size_of_files(tmp_path, name):
    command = {".html": "report", ".md": "report", ".txt": "describe"}.get(name[1:], "plot")
    done = limited("-f 1", command, "kimi-k1.5", "--out", name, cwd=tmp_path)
    assert done.returncode == 1 and "File too large" in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert "error: x" in done.stderr and not list(tmp_path.iterdir())


NEEDS_TORCH = [
    ("eval", "nano/qwen3", "--suite", "abacus/add2"), ("run", "families", "--arm", "qwen3"), ("run", "families"),
    ("run", "families", "--dry-run"),
    ("export", "nano/qwen3", "--out", "out"), ("bench", "step"), ("show", "abacus/add2"), ("benchmarks", "pull", "abacus/add2"),
    ("pretrain", "--out", "out"),
]  # fmt: skip


@pytest.mark.parametrize("arguments", NEEDS_TORCH, ids=" ".join)
def test_too_little_address_space(tmp_path, arguments):
    """Libraries of torch would end the process with a signal, or with an exception of any kind."""
    done = limited("-v 1200000", *arguments, cwd=tmp_path)
    assert done.returncode == 1 and "run out of memory" in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.mark.slow
def test_curves_need_little_address_space(tmp_path):
    done = limited("-v 1200000", "plot", "kimi-k1.5", "--out", "x.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: can't allocate memory: ..."),
     ImportError("libtorch_cpu.so: failed to map segment from shared object"), OSError(12, os.strerror(12))],
)  # fmt: skip
def test_errors_of_memory(error):
    assert is_out_of_memory(error) and not is_out_of_memory(RuntimeError("shapes differ"))


def test_memory_that_runs_out_in_training_is_reported(tmp_path, monkeypatch):
    from passus.training import loop

    def train(*_: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")

    monkeypatch.setattr(loop, "train", train)
    done = passus_in_process("run", write_experiment(tmp_path), "--arm", "qwen3", "--out", "out", cwd=tmp_path)
    assert done.returncode == 1 and "run out of memory" in done.stderr
    assert "run out of memory" in RunFolder(tmp_path / "out/qwen3").status()["error"]


def test_a_limit_is_known_also_when_nothing_can_be_imported_any_more(monkeypatch):
    """Without memory an import fails too, and the error of an extension module would end in a traceback."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 27, 1 << 27))
    monkeypatch.setattr("builtins.__import__", mock.Mock(side_effect=ImportError("failed to map segment")))
    assert is_out_of_memory(SystemError("error return without exception set"))
