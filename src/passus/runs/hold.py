"""Keeps others from recording a run while a command works on its folder. `ArmLock` is the lock of the recording itself."""

import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from passus.errors import PassusError

LOCK = ".lock"
ATTEMPTS, SECONDS = 20, 1.0
"""A monitor may hold the lock for a moment."""


@contextmanager
def held(folder: Path, *, alone: bool = False, create: bool = True) -> Iterator[None]:
    """Refuses a run that is being recorded, and lets nobody record it meanwhile. `alone` also excludes other such commands.

    Without `create`, a folder that was never locked, such as one on a disk that is read-only, is left as it is.
    """
    path = folder / LOCK
    if not create and not path.exists():
        yield
        return
    with open(path, "a+" if create else "r") as file:
        _take(file.fileno(), folder, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def _take(descriptor: int, folder: Path, kind: int) -> None:
    for attempt in range(ATTEMPTS):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if attempt + 1 < ATTEMPTS:
                threading.Event().wait(SECONDS / ATTEMPTS)
    raise PassusError(f"{folder} is being recorded", expected="a run that has ended or was stopped")
