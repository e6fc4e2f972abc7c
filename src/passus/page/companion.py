"""The page beside a command that trains: a process of its own, which ends with that command and never holds it up."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PARENT = "PASSUS_PAGE_PARENT"
"""Id of the process beside which the page runs. The page ends when that process is gone, however it ended."""
START_SECONDS = 30.0
END_SECONDS = 5.0
ADDRESS = "page: "


@contextmanager
def page_beside(folder: Path, *, wanted: bool) -> Iterator[str | None]:
    """Serves the page of a folder, and yields its address; None where none is wanted, or where it does not start."""
    if not wanted:
        yield None
        return
    folder.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "passus", "serve", str(folder)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=os.environ | {PARENT: str(os.getpid())},
    )  # fmt: skip
    try:
        yield _address(process)
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: "subprocess.Popen[bytes]") -> str | None:
    """Returns the address that the page prints once it listens."""
    assert process.stdout is not None  # it is a pipe
    until, said = time.monotonic() + START_SECONDS, b""
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([process.stdout], [], [], left)
        more = os.read(process.stdout.fileno(), 4096) if ready else b""
        said += more
        for line in said.decode(errors="replace").splitlines(keepends=True):
            if line.startswith(ADDRESS) and line.endswith("\n"):
                return line.removeprefix(ADDRESS).strip()
        if not more:
            break  # it has ended, or time is up
    return None
