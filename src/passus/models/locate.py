"""From the name of a model to the folder or hub id that holds it."""

import os.path
from importlib.resources import files
from pathlib import Path

from passus.config.hub_revision import split_revision
from passus.errors import UsageError, nearest
from passus.models.lora import is_adapter
from passus.runs.run_folder import saved_checkpoints

SHIPPED_PREFIX = "nano/"


def shipped_models() -> list[str]:
    """Returns the names of the models that come with passus."""
    root = files("passus") / "nano"
    return sorted(SHIPPED_PREFIX + entry.name for entry in root.iterdir() if (entry / "config.json").is_file())


def locate_model(base: str) -> str:
    """Returns the folder or hub id of a shipped model, a folder, a run, RUN@step, or a hub id with or without a revision.

    `os.path` answers also for names that cannot be paths, such as very long ones, for which pathlib raises.
    """
    if base.startswith(SHIPPED_PREFIX):
        if base not in shipped_models():
            raise UsageError(
                f"no shipped model {base!r}", expected=", ".join(shipped_models()), write=nearest(base, shipped_models())
            )
        return str(files("passus") / base)
    if os.path.isdir(base):
        return str(_model_folder(Path(base), ""))
    if split_revision(base)[1] and not os.path.isdir(base.rpartition("@")[0]):
        return base
    path, _, step = base.rpartition("@") if "@" in base else (base, "", "")
    if os.path.isdir(path):
        return str(_model_folder(Path(path), step))
    if step or base.startswith((".", "/", "~")) or base.count("/") > 1:
        raise UsageError(
            f"no folder {path}",
            expected=f"a folder, a hub id (owner/name or owner/name@revision), or one of: {', '.join(shipped_models())}",
            write=_command_for_run(Path(path)),
        )
    return base


def _command_for_run(path: Path) -> str | None:
    """Returns the command that creates a missing run, if a shipped experiment does."""
    from passus.config.experiment import shipped_experiments  # only for this message

    name = path.parent.name
    return f"passus run {name}   first, from this folder" if name in shipped_experiments() else None


def _model_folder(path: Path, step: str) -> Path:
    """Returns the folder itself, or, for a run, the folder of its last checkpoint or of the one at `step`."""
    if (path / "checkpoints").is_dir():
        checkpoints = saved_checkpoints(path / "checkpoints")
        if not checkpoints:
            raise UsageError(f"run {path} has no checkpoint yet", expected="a run that has saved one (run.save_every)")
        if step and step not in map(str, checkpoints):
            raise UsageError(
                f"run {path} has no checkpoint of step {step}", expected=f"one of: {', '.join(map(str, checkpoints))}"
            )
        return checkpoints[int(step)] if step else checkpoints[max(checkpoints)]
    if not (path / "config.json").is_file() and not is_adapter(path):
        raise UsageError(
            f"{path} is not a model: it has no config.json and no adapter_config.json",
            expected="a folder in Hugging Face layout (config.json, model.safetensors, tokenizer.json), an adapter or a run",
        )
    return path


def portable_name(base: str) -> tuple[str, str]:
    """Returns the name that an adapter records for its base, and the folder or hub id behind it.

    A shipped model is found by its name on any machine. Any other path is made absolute, so that it is valid from any folder.
    """
    folder = locate_model(base)
    path = str(Path(folder).resolve()) if os.path.isdir(folder) else folder
    return base if base.startswith(SHIPPED_PREFIX) else path, split_revision(path)[0]
