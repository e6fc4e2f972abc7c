"""The lock of a run, which ends with its process, and a heartbeat for monitors."""

import fcntl
import os
import stat
import sys
import threading
from pathlib import Path
from typing import IO, Any

from passus.errors import UsageError
from passus.runs.provenance import now
from passus.runs.run_folder import RunFolder

HEARTBEAT_SECONDS = 2.0
LOCK_ATTEMPTS = 20


class ArmLock:
    """Held from the first write to the last. The kernel releases it when the process ends, however it ends."""

    def __init__(self, folder: RunFolder):
        self.folder = folder
        self._file: IO[str] | None = None
        self._stopped = threading.Event()
        self._mutex = threading.Lock()
        self._status: dict[str, Any] = {}
        self._thread: threading.Thread | None = None

    def acquire(self) -> bool:
        """Takes the lock and starts the heartbeat. Returns False where another process holds it."""
        self.folder.path.mkdir(parents=True, exist_ok=True)
        file = open(self.folder.path / ".lock", "a+")  # noqa: SIM115 (held until release)
        if not _try_lock(file):
            file.close()
            return False
        self._file = file
        self.update(state="running", pid=os.getpid(), error=None)
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()
        return True

    def update(self, **changes: Any) -> None:
        """Writes changes and the current time to status.json."""
        with self._mutex:
            self._status |= changes | {"heartbeat": now()}
            self.folder.write_status(**self._status)

    def release(self, **changes: Any) -> None:
        """Stops the heartbeat, writes the last status and releases the lock."""
        self._stopped.set()
        if self._thread:
            self._thread.join()
        self._try_update(**changes)
        if self._file:
            self._file.close()

    def _beat(self) -> None:
        while not self._stopped.wait(HEARTBEAT_SECONDS):
            self._try_update()

    def _try_update(self, **changes: Any) -> None:
        """Updates the status. A failure (a full disk) must neither end the run nor hide the reason why it ended."""
        try:
            self.update(**changes)
        except OSError as error:
            print(f"status.json cannot be written: {error}", file=sys.stderr)


def _try_lock(file: IO[str]) -> bool:
    """Tries for a second to take the lock, because a monitor may hold it for a moment."""
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
    """Returns whether a live process holds the run's lock. Raises UsageError where the lock is not a plain file."""
    try:
        descriptor = os.open(path / ".lock", os.O_RDONLY | os.O_NONBLOCK)  # opening a pipe would wait for a writer
    except FileNotFoundError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"{path / '.lock'} is not a plain file", expected="the lock of a run, as passus writes it")
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def state_of(path: Path) -> dict[str, Any]:
    """Returns status.json, corrected: a run with the state `running` whose process is gone was killed."""
    status = RunFolder(path).status()
    if status.get("state") == "running" and not is_held(path):
        status = RunFolder(path).status()  # the run may have ended properly in the meantime
        if status.get("state") == "running":
            status["state"] = "killed"
    if not status and (path / "status.json").exists():
        return {"state": "unreadable", "error": f"{path / 'status.json'} cannot be read"}
    return status
