"""One arm in one process: the number of threads that a resumed run keeps."""

import pytest
import torch

from helpers.small_run import run_small
from passus.errors import UsageError
from passus.launch.arm_process import THREADS, arm_threads, process_threads
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
