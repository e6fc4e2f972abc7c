"""One arm in one process: the number of threads that a resumed run keeps, and how its record ends."""

import contextlib

import pytest
import torch

from helpers.run_folders import MODEL, folder
from helpers.small_run import run_small, small_config
from passus.config.experiment import Arm
from passus.errors import Stop, UsageError
from passus.launch import arm_process
from passus.launch.arm_process import THREADS, StopRequest, arm_threads, process_threads, train_arm
from passus.runs.manifest import read_manifest
from passus.runs.record_check import find_damage
from passus.runs.run_folder import RunFolder


def test_a_resumed_run_keeps_its_number_of_threads(tmp_path, monkeypatch):
    monkeypatch.setenv(THREADS, "7")
    assert arm_threads(RunFolder(tmp_path / "new")) == 7
    folder = run_small(tmp_path / "arm", train={"steps": 1}, eval={"limit": 2})
    recorded = folder.meta()["launches"][0]["threads"]
    assert recorded == torch.get_num_threads() == arm_threads(folder)


@pytest.mark.parametrize("threads", ["0", "-1", "two", "1.5"])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, threads):
    monkeypatch.setenv(THREADS, threads)
    with pytest.raises(UsageError, match="threads"):
        process_threads()


def fail(error, folder, *, is_started, breaks=None):
    """Stands for the training of an arm that ends with an error, before or after it began to record."""
    if is_started:
        folder.start(small_config(), MODEL, None)
    if breaks:
        (folder.path / breaks).write_text("no row\n")
    if error:
        raise error


CASES = {
    "a failed resume": (UsageError("no memory"), False, False),
    "a stop before the record": (Stop(), False, False),
    "a stop": (Stop(), True, True),
    "an error in a step": (UsageError("not finite"), True, False),
    "the last step": (None, True, True),
}


@pytest.mark.parametrize(("error", "is_started", "is_final"), CASES.values(), ids=CASES)
def test_only_a_record_that_this_process_began_and_ended_is_final(tmp_path, monkeypatch, error, is_started, is_final):
    run = folder(tmp_path)
    monkeypatch.setattr(arm_process, "_train_kind", lambda arm, config, of, *_: fail(error, of, is_started=is_started))
    with pytest.raises(type(error)) if error else contextlib.nullcontext():
        train_arm(Arm("arm", small_config(), {}), RunFolder(run.path), StopRequest(), print)
    assert read_manifest(run.path).is_final == is_final and find_damage(run.path) == []


def test_a_record_that_cannot_be_ended_does_not_hide_the_error(tmp_path, monkeypatch):
    run, error = folder(tmp_path), UsageError("the real error")

    def train(arm, config, of, *_):
        fail(error, of, is_started=True, breaks="metrics.jsonl")

    monkeypatch.setattr(arm_process, "_train_kind", train)
    with pytest.raises(UsageError, match="the real error"):
        train_arm(Arm("arm", small_config(), {}), RunFolder(run.path), StopRequest(), print)
