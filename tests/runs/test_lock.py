"""The lock of a run and its state."""

import threading

from passus.runs.lock import ArmLock, is_held, state_of
from passus.runs.run_folder import RunFolder


def test_only_one_process_holds_the_lock(tmp_path):
    run = RunFolder(tmp_path)
    first, second = ArmLock(run), ArmLock(run)
    assert first.acquire() and not second.acquire()
    assert is_held(tmp_path) and state_of(tmp_path)["state"] == "running"
    first.release(state="finished")
    assert not is_held(tmp_path) and state_of(tmp_path)["state"] == "finished"
    assert second.acquire()
    second.release(state="failed", error="x")


def test_a_run_whose_process_is_gone_was_killed(tmp_path):
    RunFolder(tmp_path).write_status(state="running", pid=1)
    assert state_of(tmp_path)["state"] == "killed"


def test_monitors_do_not_keep_an_arm_from_its_lock(tmp_path):
    """A monitor takes the lock for a moment, so the arm tries again."""
    (tmp_path / ".lock").touch()
    stop = threading.Event()

    def monitor():
        while not stop.is_set():
            is_held(tmp_path)

    threads = [threading.Thread(target=monitor) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            lock = ArmLock(RunFolder(tmp_path))
            assert lock.acquire()
            lock.release(state="finished")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
