"""Who works on a run: a lock that dies with its process, and a heartbeat for those who look."""

import fcntl
import os
import sys
import threading
from pathlib import Path
from typing import IO, Any

from passus.runs.run_folder import RunFolder, now

HEARTBEAT_SECONDS = 2.0
LOCK_ATTEMPTS = 20


class ArmLock:
    """Held from the first write to the last. The kernel frees it when its process dies, however it dies."""

    def __init__(self, folder: RunFolder):
        self.folder = folder
        self._file: Any = None
        self._beat = threading.Event()
        self._mutex = threading.Lock()
        self._status: dict[str, Any] = {}
        self._thread: threading.Thread | None = None

    def acquire(self) -> bool:
        self.folder.path.mkdir(parents=True, exist_ok=True)
        file = open(self.folder.path / ".lock", "a+")  # noqa: SIM115 (held until release)
        if not _lock(file):
            file.close()
            return False
        self._file = file
        self.update(state="running", pid=os.getpid(), error=None)
        self._thread = threading.Thread(target=self._heart, daemon=True)
        self._thread.start()
        return True

    def update(self, **changes: Any) -> None:
        with self._mutex:
            self._status |= changes | {"heartbeat": now()}
            self.folder.write_status(**self._status)

    def release(self, **changes: Any) -> None:
        self._beat.set()
        if self._thread:
            self._thread.join()
        self._try_update(**changes)
        self._file.close()

    def _heart(self) -> None:
        while not self._beat.wait(HEARTBEAT_SECONDS):
            self._try_update()

    def _try_update(self, **changes: Any) -> None:
        """A status that cannot be written (a full disk) must neither end the run nor hide why it ended."""
        try:
            self.update(**changes)
        except OSError as error:
            print(f"status.json cannot be written: {error}", file=sys.stderr)


def _lock(file: IO[str]) -> bool:
    """Take the lock; somebody who only looks holds it for a moment, so ask for a second before giving up."""
    for attempt in range(LOCK_ATTEMPTS):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt + 1 < LOCK_ATTEMPTS:
                threading.Event().wait(1.0 / LOCK_ATTEMPTS)
        else:
            return True
    return False


def is_held(path: Path) -> bool:
    """Whether a live process holds the run's lock."""
    try:
        with open(path / ".lock") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def state_of(path: Path) -> dict[str, Any]:
    """status.json, put right: a run that says it is running, but whose process is gone, was killed."""
    status = RunFolder(path).status()
    if status.get("state") == "running" and not is_held(path):
        status = RunFolder(path).status()  # it may have ended, properly, while we looked at the lock
        if status.get("state") == "running":
            status["state"] = "killed"
    return status
