"""`trainer_state.json` of Hugging Face trainers, TRL's among them. Each checkpoint's state holds the whole history."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from passus.errors import PassusError
from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import read_object, tell
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.values import to_step

KIND = "trainer_state.json"
NAME = "trainer_state.json"
CHECKPOINT = re.compile(r"^checkpoint-(\d{1,15})$")
AXES = ("step", "epoch")
"""Keys of a row that say where it belongs. A train row and an eval row of one step both have the epoch."""
SETTINGS = ("max_steps", "num_train_epochs", "logging_steps", "eval_steps", "save_steps", "train_batch_size", "trial_name")
"""Keys of the state that are settings. The others are in `training_args.bin`, a pickle, which is never read."""
MODEL_FILES = {"adapter_config.json": "base_model_name_or_path", "config.json": "_name_or_path"}


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads the newest state of one training that can be read."""
    remarks: list[str] = []
    for path in sorted(paths, key=_progress, reverse=True)[:-1]:
        try:
            return [_read_state(path, options, remarks)]
        except PassusError as error:
            tell(remarks, f"{path.parent.name}/{path.name} was left out: {str(error).splitlines()[0]}")
    return [_read_state(min(paths, key=_progress), options, remarks)]


def _progress(path: Path) -> tuple[bool, int, str]:
    """Sorts states: the copy beside the checkpoints was saved last, and then the highest checkpoint."""
    match = CHECKPOINT.match(path.parent.name)
    return match is None, int(match[1]) if match else 0, str(path)


def output_folder(path: Path) -> Path:
    """Returns the folder of the training that a state belongs to."""
    return path.parent.parent if CHECKPOINT.match(path.parent.name) else path.parent


def _read_state(path: Path, options: ReadOptions, remarks: Sequence[str]) -> SourceRun:
    state = read_object(path)
    history = state.get("log_history")
    if not isinstance(history, list):
        raise PassusError(f"{path} has no log_history", expected="a list of rows, as the Trainer saves it")
    named = output_folder(path) if path.name == NAME else path.with_suffix("")
    run = SourceRun(run_name(named, options), KIND, [path], remarks=list(remarks))
    recorder = PointRecorder(run.points)
    for row in history:
        if isinstance(row, dict) and "train_runtime" not in row:  # that row sums the training up
            recorder.add_row(row.get("step"), ((name, value) for name, value in row.items() if name not in AXES))
    run.remarks += recorder.remarks()
    run.settings = {key: state[key] for key in SETTINGS if state.get(key) is not None} | _model(path.parent)
    step, last = to_step(state.get("global_step")), to_step(state.get("max_steps"))
    run.is_finished = None if step is None or not last else step >= last
    return run


def _model(folder: Path) -> dict[str, Any]:
    """Returns the model's name from the files of the checkpoint, where they have one."""
    for name, key in MODEL_FILES.items():
        path = folder / name
        if path.is_file():
            try:
                value = read_object(path).get(key)
            except PassusError:
                continue
            if isinstance(value, str) and value:
                return {"model_name_or_path": value}
    return {}
