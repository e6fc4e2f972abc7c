"""Checkpoints: a folder in Hugging Face layout, with the optimizer state and progress that exact resume needs.

A checkpoint is written under a temporary name and renamed when it is complete, so it is either whole or absent. Its manifest
holds the size and SHA-256 of every file, so that a changed byte is found before training continues from it.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from passus.atomic_io import fault, fsync, no_space_errno, write_text
from passus.errors import PassusError
from passus.models.policy import Policy
from passus.runs.run_folder import saved_checkpoints
from passus.training.optimizer import Optimizer

MANIFEST = "passus.json"
OPTIMIZER = "optimizer.safetensors"


@dataclass
class Progress:
    """Progress of a run, beside its weights. It has no random state, because all draws derive from seed and step.

    The manifest records these fields by name.
    """

    step: int = 0
    num_tokens: int = 0
    elapsed: float = 0.0
    drawn: int = 0
    """Places of the training stream that have been used."""
    skipped_in_a_row: int = 0
    watched_from: int = -1
    """Step of the last regression alarm. Only later eval points are tested for a regression."""
    slower: float = 1.0
    """Factor of the learning rate, which alarms reduce."""
    ended: bool = False
    """Whether an alarm ended the run before its last step."""
    base_rates: list[float] = field(default_factory=list)
    """Success rate of the base model on every item of a finite training set, if task.order needs it."""
    rates: list[float] = field(default_factory=list)
    """Success rate of the policy on every such item, as far as it is known."""


def save(
    checkpoints: Path, policy: Policy, optimizer: Optimizer, progress: Progress, keep: int, keep_steps: Sequence[int] = ()
) -> Path:
    """Saves a checkpoint and removes old ones: all but the `keep` newest and those of `keep_steps`; 0 keeps all."""
    target = checkpoints / f"step-{progress.step:06d}"
    temporary = checkpoints / f".{target.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        _write_files(temporary, policy, optimizer, progress)
        os.replace(temporary, target)
        fsync(checkpoints)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if number := no_space_errno(error):  # safetensors reports it with a class of its own
            raise OSError(number, str(error)) from error
        raise
    fault("save:renamed")
    _prune(checkpoints, keep, keep_steps)
    return target


def _write_files(folder: Path, policy: Policy, optimizer: Optimizer, progress: Progress) -> None:
    if policy.adapter:
        policy.adapter.save(folder)
    else:
        policy.model.save_pretrained(folder)
    fault("save:model")
    policy.chat.tokenizer.save_pretrained(folder)
    save_file({name: t.detach().cpu().contiguous() for name, t in optimizer.state_dict().items()}, folder / OPTIMIZER)
    fault("save:optimizer")
    files = {path.name: _fingerprint(path) for path in sorted(folder.iterdir())}
    for name in files:
        fsync(folder / name)
    body = {"progress": asdict(progress), "files": files}
    write_text(folder / MANIFEST, json.dumps(body | {"sha256": _digest(body)}, indent=2) + "\n")
    fault("save:manifest")


def latest(checkpoints: Path) -> Path | None:
    """Returns the newest checkpoint of a run."""
    saved = list(saved_checkpoints(checkpoints).values())
    return saved[-1] if saved else None


def clean(checkpoints: Path) -> None:
    """Removes the remains of a save or prune that was killed."""
    for path in checkpoints.glob(".step-*"):
        shutil.rmtree(path)


def read(folder: Path) -> Progress:
    """Verifies every byte of a checkpoint and returns its progress."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        body = {key: manifest[key] for key in ("progress", "files")}
        is_intact = manifest["sha256"] == _digest(body)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, f"{MANIFEST} cannot be read ({error})") from None
    if not is_intact:
        raise _damaged(folder, f"{MANIFEST} has changed since it was written (its SHA-256 differs)")
    for name, expected in body["files"].items():
        if not (folder / name).is_file():
            raise _damaged(folder, f"{name} is missing")
        if _fingerprint(folder / name) != expected:
            raise _damaged(folder, f"{name} has changed since it was written (its SHA-256 differs)")
    return Progress(**body["progress"])


def restore(folder: Path, optimizer: Optimizer) -> None:
    """Loads the optimizer state of a checkpoint."""
    optimizer.load_state_dict(load_file(folder / OPTIMIZER))


def _damaged(folder: Path, damage: str) -> PassusError:
    others = [p.name for p in saved_checkpoints(folder.parent).values() if p != folder]
    start = f"from {others[-1]}" if others else "from the start"
    moved = f"{folder.parent.parent}/damaged-{folder.name}"
    return PassusError(
        f"checkpoint {folder} is damaged: {damage}",
        expected="the files that passus wrote",
        write=f"mv {folder} {moved}   and run the same command again, which resumes {start}",
    )


def _fingerprint(path: Path) -> dict[str, int | str]:
    with open(path, "rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _prune(checkpoints: Path, keep: int, keep_steps: Sequence[int]) -> None:
    saved = saved_checkpoints(checkpoints)
    for old in [path for step, path in list(saved.items())[:-keep] if step not in keep_steps] if keep else []:
        hidden = checkpoints / f".{old.name}.old"
        os.replace(old, hidden)  # a kill during removal must not leave half a checkpoint under a valid name
        shutil.rmtree(hidden)
