"""Checkpoints: a folder in Hugging Face layout, with the optimizer state and progress that exact resume needs.

A checkpoint is written under a temporary name and renamed when it is complete, so it is either whole or absent. Its manifest
holds the size and SHA-256 of every file, so that a changed byte is found before training continues from it.
"""

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
from passus.models.policy import Policy
from passus.runs.run_folder import saved_checkpoints
from passus.runs.saved_checkpoint import CHECKPOINT_MANIFEST, RUN, checked_progress, digest, file_fingerprint
from passus.training.optimizer import Optimizer

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
    checkpoints: Path, policy: Policy, optimizer: Optimizer, progress: Progress, keep: int, keep_steps: Sequence[int] = (),
    run_id: str = "",
) -> Path:  # fmt: skip
    """Saves a checkpoint and removes old ones: all but the `keep` newest and those of `keep_steps`; 0 keeps all.

    `run_id` is the id in the run's meta.json, which the checkpoint must have when it is resumed.
    """
    target = checkpoints / f"step-{progress.step:06d}"
    temporary = checkpoints / f".{target.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        _write_files(temporary, policy, optimizer, asdict(progress) | ({RUN: run_id} if run_id else {}))
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


def _write_files(folder: Path, policy: Policy, optimizer: Optimizer, progress: dict[str, Any]) -> None:
    if policy.adapter:
        policy.adapter.save(folder)
    else:
        policy.model.save_pretrained(folder)
    fault("save:model")
    policy.chat.tokenizer.save_pretrained(folder)
    save_file({name: t.detach().cpu().contiguous() for name, t in optimizer.state_dict().items()}, folder / OPTIMIZER)
    fault("save:optimizer")
    files = {path.name: file_fingerprint(path) for path in sorted(folder.iterdir())}
    for name in files:
        fsync(folder / name)
    body = {"progress": progress, "files": files}
    write_text(folder / CHECKPOINT_MANIFEST, json.dumps(body | {"sha256": digest(body)}, indent=2) + "\n")
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
    """Verifies every byte of a checkpoint, and that it is one of its run, and returns its progress."""
    return Progress(**checked_progress(folder))


def restore(folder: Path, optimizer: Optimizer) -> None:
    """Loads the optimizer state of a checkpoint."""
    optimizer.load_state_dict(load_file(folder / OPTIMIZER))


def _prune(checkpoints: Path, keep: int, keep_steps: Sequence[int]) -> None:
    saved = saved_checkpoints(checkpoints)
    for old in [path for step, path in list(saved.items())[:-keep] if step not in keep_steps] if keep else []:
        hidden = checkpoints / f".{old.name}.old"
        os.replace(old, hidden)  # a kill during removal must not leave half a checkpoint under a valid name
        shutil.rmtree(hidden)
