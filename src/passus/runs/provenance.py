"""Provenance of a run: command line, time, package versions and git commit, as meta.json records them."""

import os
import platform
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("passus", "torch", "transformers", "peft", "tokenizers", "safetensors", "numpy", "pyarrow", "pydantic")


def launch_record(resumed_from: int | None, data: dict[str, Any], threads: int | None) -> dict[str, Any]:
    """Returns the record of this process as one launch of a run."""
    record = {"argv": sys.argv, "time": now(), "resumed_from": resumed_from, "versions": versions(), "pid": os.getpid()}
    return record | {"data": data, "threads": threads, "python": platform.python_version()}


def first_meta(launch: dict[str, Any], model: dict[str, Any], *, with_commit: bool = True) -> dict[str, Any]:
    """Returns the content of meta.json at the first launch."""
    commit = _git_commit() if with_commit else None
    meta = launch | {"id": uuid.uuid4().hex, "created": now(), "git_commit": commit, "model": model}
    return meta | {"launches": [launch]}


def version_changes(launches: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Returns {package: [version of the last launch, version of this process]} where both are known and differ."""
    last = launches[-1] if launches else {}
    recorded = {**(last.get("versions") or {}), "python": last.get("python")}
    current = {**versions(), "python": platform.python_version()}
    return {
        name: [str(recorded[name]), version] for name, version in current.items() if recorded.get(name) not in (None, version)
    }


def version_remarks(launches: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns one sentence per launch that resumed a run under other versions than the launch before it."""
    return [
        version_remark(launch.get("resumed_from"), launch["version_changes"])
        for launch in launches
        if launch.get("version_changes")
    ]


def version_remark(step: int | None, changes: Mapping[str, Sequence[str]]) -> str:
    """Says under which versions a run was resumed. Step None is a run that had no checkpoint yet."""
    packages = ", ".join(f"{name} {after} instead of {before}" for name, (before, after) in changes.items())
    start = "from the start" if step is None else f"from step {step}"
    return f"resumed {start} with {packages}: from there on, results need not be equal to those of an uninterrupted run"


def check_meta(meta: Any) -> None:
    """Raises ValueError unless the parts of meta.json that are read later have the types that passus writes."""
    if not isinstance(meta, dict) or not {"model", "launches"} <= meta.keys():
        raise ValueError("model or launches is missing")
    model, launches = meta["model"] or {}, meta["launches"]
    if not isinstance(model, dict) or not all(isinstance(model.get(key, ""), str) for key in ("label", "tuning")):
        raise ValueError("model has no texts as label and tuning")
    if not isinstance(model.get("family") or "", str) or not isinstance(model.get("parameters") or 0, (int, float)):
        raise ValueError("family or parameters of the model have another type")
    if not isinstance(launches, list) or not launches or not all(map(_is_launch, launches)):
        raise ValueError("launches is not a list of launches")


def _is_launch(launch: Any) -> bool:
    """Returns whether the parts of a launch that are read later have the types that passus writes."""
    if not isinstance(launch, dict):
        return False
    data, changes, versions_then = (launch.get(key) or {} for key in ("data", "version_changes", "versions"))
    if not all(isinstance(part, dict) for part in (data, changes, versions_then)):
        return False
    if not isinstance(data.get("sha256") or {}, dict) or not isinstance(launch.get("threads") or 1, int):
        return False
    remarks = data.get("remarks") or []
    has_pairs = all(isinstance(pair, list) and len(pair) == 2 for pair in changes.values())
    return has_pairs and isinstance(remarks, list) and all(isinstance(remark, str) for remark in remarks)


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def versions() -> dict[str, str]:
    installed = {}
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def _git_commit() -> str | None:
    """Returns the commit of the current folder, which is where the experiment file usually is."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
