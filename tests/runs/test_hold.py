"""While a command works on a run folder, nobody records it, and a run that is being recorded is left alone."""

import shutil

import pytest

from helpers.command import passus_in_process
from passus.errors import PassusError
from passus.runs import hold, lock
from passus.runs.hold import held
from passus.runs.lock import ArmLock, is_held
from passus.runs.run_folder import RunFolder


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(hold, "SECONDS", 0.01)
    monkeypatch.setattr(lock, "LOCK_ATTEMPTS", 1)


def test_a_recording_and_a_command_exclude_each_other(tmp_path):
    recording = ArmLock(RunFolder(tmp_path))
    with held(tmp_path):
        assert not recording.acquire()
        with held(tmp_path):  # two that read do not
            pass
        with pytest.raises(PassusError, match="is being recorded"), held(tmp_path, alone=True):
            pass
    assert recording.acquire()
    try:
        with pytest.raises(PassusError, match="is being recorded"), held(tmp_path):
            pass
    finally:
        recording.release()
    with held(tmp_path, alone=True):
        assert is_held(tmp_path)
    assert not is_held(tmp_path)


def test_a_folder_that_is_only_read_stays_as_it_is(tmp_path):
    with held(tmp_path, create=False):
        assert list(tmp_path.iterdir()) == []


def test_damage_of_a_run_that_is_being_recorded_is_not_set_aside(small_run, tmp_path):
    shutil.copytree(small_run.path, tmp_path / "run")
    (tmp_path / "run/items/step-000003.parquet").unlink()
    with held(tmp_path / "run", alone=True):
        done = passus_in_process("verify", "run", "--set-aside", cwd=tmp_path)
    assert done.returncode == 1 and "is being recorded" in done.stderr and not (tmp_path / "run/set-aside").exists()
    assert passus_in_process("verify", "run", "--set-aside", cwd=tmp_path).returncode == 0
    assert (tmp_path / "run/set-aside").exists()
