"""Runs the command line as a user would."""

import os
import subprocess
import sys
from pathlib import Path


def passus(*arguments: str, cwd: Path, env: dict[str, str] | None = None, timeout: float = 600) -> subprocess.CompletedProcess:
    """Run the command line as a user would, with one thread a process."""
    environment = os.environ | {"PASSUS_THREADS": "1", "OMP_NUM_THREADS": "1"} | (env or {})
    return subprocess.run(
        [sys.executable, "-P", "-m", "passus", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
