"""Provenance of a run: command line, time, package versions and git commit, as meta.json records them."""

import os
import platform
import subprocess
import sys
import time
import uuid
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("passus", "torch", "transformers", "peft", "tokenizers", "safetensors", "numpy", "pyarrow", "pydantic")


def launch_record(resumed_from: int | None, data: dict[str, Any], threads: int | None) -> dict[str, Any]:
    """Returns the record of this process as one launch of a run."""
    record = {"argv": sys.argv, "time": now(), "resumed_from": resumed_from, "versions": _versions(), "pid": os.getpid()}
    return record | {"data": data, "threads": threads}


def first_meta(launch: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """Returns the content of meta.json at the first launch."""
    meta = launch | {"id": uuid.uuid4().hex, "created": now(), "git_commit": _git_commit(), "model": model}
    return meta | {"python": platform.python_version(), "launches": [launch]}


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _git_commit() -> str | None:
    """Returns the commit of the current folder, which is where the experiment file usually is."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
