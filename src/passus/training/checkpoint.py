"""Checkpoints: a folder in Hugging Face layout with what exact resume needs beside it.

A checkpoint is written under another name and renamed when it is whole, so it is either there or not. Its manifest holds the
size and SHA-256 of every file; one changed byte is found before anything is trained on it.
"""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from passus.atomic_io import fault, fsync, is_disk_full, write_text
from passus.errors import PassusError
from passus.models.policy import Policy
from passus.runs.run_folder import saved_checkpoints
from passus.training.optimizer import Optimizer

MANIFEST = "passus.json"
OPTIMIZER = "optimizer.safetensors"


@dataclass
class Progress:
    """What a run has done so far, beside the weights. All draws derive from seed and step, so no random state is here."""

    step: int = 0
    num_tokens: int = 0
    elapsed: float = 0.0
    drawn: int = 0
    """Places of the training stream that are used up."""
    skipped_in_a_row: int = 0
    watched_from: int = -1
    """The step of the last alarm: later eval points are watched for a fall."""
    slower: float = 1.0
    """What alarms have made of the learning rate."""
    ended: bool = False
    """An alarm ended the run before its last step."""
    base_rates: list[float] = field(default_factory=list)
    """The base model's success rate on every item of a finite training set, where a curriculum asks for it."""
    rates: list[float] = field(default_factory=list)
    """The policy's, as far as they are known."""


def save(
    checkpoints: Path, policy: Policy, optimizer: Optimizer, progress: Progress, keep: int, wanted: Sequence[int] = ()
) -> Path:
    """`wanted` are steps of those that stay, whatever their age."""
    target = checkpoints / f"step-{progress.step:06d}"
    temporary = checkpoints / f".{target.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        if policy.adapter:
            policy.adapter.save(temporary)
        else:
            policy.model.save_pretrained(temporary)
        fault("save:model")
        policy.chat.tokenizer.save_pretrained(temporary)
        save_file({name: t.detach().cpu().contiguous() for name, t in optimizer.tensors().items()}, temporary / OPTIMIZER)
        fault("save:optimizer")
        files = {path.name: _fingerprint(path) for path in sorted(temporary.iterdir())}
        for name in files:
            fsync(temporary / name)
        body = {"progress": asdict(progress), "files": files}
        write_text(temporary / MANIFEST, json.dumps(body | {"sha256": _digest(body)}, indent=2) + "\n")
        fault("save:manifest")
        os.replace(temporary, target)
        fsync(checkpoints)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if is_disk_full(error):  # safetensors says so in a class of its own
            raise OSError(errno.ENOSPC, str(error)) from error
        raise
    fault("save:renamed")
    _prune(checkpoints, keep, wanted)
    return target


def latest(checkpoints: Path) -> Path | None:
    found = list(saved_checkpoints(checkpoints).values())
    return found[-1] if found else None


def clean(checkpoints: Path) -> None:
    """Remove what a killed save or prune left behind."""
    for path in checkpoints.glob(".step-*"):
        shutil.rmtree(path)


def read(folder: Path) -> Progress:
    """The progress a checkpoint stands for, after checking every byte of it."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        body = {key: manifest[key] for key in ("progress", "files")}
        whole = manifest["sha256"] == _digest(body)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, f"{MANIFEST} cannot be read ({error})") from None
    if not whole:
        raise _damaged(folder, f"{MANIFEST} is not as it was written (its SHA-256 differs)")
    for name, expected in body["files"].items():
        if not (folder / name).is_file():
            raise _damaged(folder, f"{name} is missing")
        if _fingerprint(folder / name) != expected:
            raise _damaged(folder, f"{name} is not as it was written (its SHA-256 differs)")
    return Progress(**body["progress"])


def restore(folder: Path, optimizer: Optimizer) -> None:
    optimizer.restore(load_file(folder / OPTIMIZER))


def _damaged(folder: Path, what: str) -> PassusError:
    others = [p.name for p in saved_checkpoints(folder.parent).values() if p != folder]
    instead = f"from {others[-1]}" if others else "from the start"
    return PassusError(
        f"checkpoint {folder} is damaged: {what}",
        expected="the files that passus wrote",
        write=f"mv {folder} {folder.parent.parent}/damaged-{folder.name}   and run the same command again, to go on {instead}",
    )


def _fingerprint(path: Path) -> dict[str, int | str]:
    with open(path, "rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _digest(body: dict) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _prune(checkpoints: Path, keep: int, wanted: Sequence[int]) -> None:
    saved = saved_checkpoints(checkpoints)
    for old in [path for step, path in list(saved.items())[:-keep] if step not in wanted] if keep else []:
        hidden = checkpoints / f".{old.name}.old"
        os.replace(old, hidden)  # a kill halfway must not leave half a checkpoint under a good name
        shutil.rmtree(hidden)
