"""NVIDIA's Multi-Process Service is started for workers that share a GPU, and ends with the runner. Here it is a script."""

import os
import stat

import pytest

from passus.launch import gpu_sharing
from passus.launch.gpu_sharing import CONTROL, PIPES, VISIBLE, shared_gpus

SERVICE = """#!/bin/sh
if [ "$1" = -f ]; then
    echo "visible=$CUDA_VISIBLE_DEVICES" > {notes}
    touch "$CUDA_MPS_PIPE_DIRECTORY/control"
    while [ ! -e "$CUDA_MPS_PIPE_DIRECTORY/quit" ]; do sleep 0.02; done
    echo ended >> {notes}
else
    read command && touch "$CUDA_MPS_PIPE_DIRECTORY/$command"
fi
"""


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """Puts a script in the place of the service's command. Returns the file in which it notes what happens."""
    path, notes = tmp_path / CONTROL, tmp_path / "notes"
    path.write_text(SERVICE.format(notes=notes))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv(PIPES, raising=False)
    monkeypatch.setenv(VISIBLE, "2")
    return notes


def test_workers_of_one_gpu_get_the_service(notes, monkeypatch):
    monkeypatch.setattr(gpu_sharing, "_accepts_clients", lambda own: True)
    with shared_gpus(["2", "2"]) as environment:
        assert os.path.exists(f"{environment[PIPES]}/control")
        assert VISIBLE not in environment  # the workers set their own
    assert notes.read_text() == "visible=\nended\n"  # the service sees all GPUs, and ends
    assert not os.path.exists(environment[PIPES])


def test_a_service_that_accepts_no_process_is_not_used(notes):
    """There is no driver where tests run, so that a process that wants a GPU ends with an error."""
    with shared_gpus(["2", "2"]) as environment:
        assert environment == {}
    assert notes.read_text().endswith("ended\n")


@pytest.mark.parametrize("gpus", [[], [None, None], ["0"], ["0", "1"]])
def test_workers_that_share_no_gpu_need_no_service(notes, gpus):
    with shared_gpus(gpus) as environment:
        assert environment == {}
    assert not notes.exists()


def test_a_service_of_the_user_is_left_alone(notes, monkeypatch):
    monkeypatch.setenv(PIPES, "/somewhere")
    with shared_gpus(["0", "0"]) as environment:
        assert environment == {}
    assert not notes.exists()


def test_a_service_that_ends_at_once_is_not_used(notes, tmp_path):
    (tmp_path / CONTROL).write_text("#!/bin/sh\nexit 1\n")
    with shared_gpus(["0", "0"]) as environment:
        assert environment == {}
