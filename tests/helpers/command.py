"""Runs passus commands, in a process of their own or in this one."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

ONE_THREAD = {"PASSUS_THREADS": "1", "OMP_NUM_THREADS": "1"}


def passus(*arguments: str, cwd: Path, env: dict[str, str] | None = None, timeout: float = 600) -> subprocess.CompletedProcess:
    """Runs a command as a user would, with one thread."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "passus", *arguments],
        cwd=cwd,
        env=os.environ | ONE_THREAD | (env or {}),
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def passus_in_process(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    """Runs a command in this process, which saves the seconds that importing torch takes.

    Working directory, environment and signal handlers are restored, as a command may change all of them.
    """
    from passus import atomic_io
    from passus.cli.app import main

    out, err = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    code: int | str | None = 0
    try:
        with (
            contextlib.chdir(cwd),
            mock.patch.dict(os.environ, ONE_THREAD | (env or {})),
            mock.patch.dict(atomic_io._passed, clear=True),  # counts for PASSUS_FAULT
            mock.patch.object(sys, "argv", ["passus", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main()
            except SystemExit as ended:
                code = ended.code
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return subprocess.CompletedProcess(list(arguments), int(code or 0), out.getvalue(), err.getvalue())
