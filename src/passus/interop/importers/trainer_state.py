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
from passus.interop.importers.values import MAX_STEP, to_step

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
    *newer, oldest = sorted(paths, key=_progress, reverse=True)
    for path in newer:
        try:
            return [_read_state(path, options, remarks)]
        except PassusError as error:
            tell(remarks, f"{path.parent.name}/{path.name} was left out: {str(error).splitlines()[0]}")
    return [_read_state(oldest, options, remarks)]


def _progress(path: Path) -> tuple[int, bool, str]:
    """Sorts states by their steps. The copy beside the checkpoints is older than they are where a resume was not finished."""
    match = CHECKPOINT.match(path.parent.name)
    return int(match[1]) if match else _global_step(path), match is None, str(path)


def _global_step(path: Path) -> int:
    """Returns the step of a state. One that cannot be read counts as the newest, so that it is told."""
    try:
        return to_step(read_object(path).get("global_step")) or 0
    except PassusError:
        return MAX_STEP


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
