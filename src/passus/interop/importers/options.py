"""Read options: what a user may say about a source that the source does not say itself."""

from dataclasses import dataclass
from pathlib import Path

from passus.interop.importers.values import to_name


@dataclass(frozen=True)
class ReadOptions:
    step: int | None = None
    """Step of an evaluation of one checkpoint; else it is taken from the names of the model and of the folders."""
    benchmark: str | None = None
    """Name of the benchmark of samples that do not name theirs."""
    filter: str | None = None
    """Filter of lm-eval, or scorer of Inspect, whose verdicts count."""
    texts: bool = True
    """Whether samples have their texts. Without them some sources are read faster."""
    root: Path | None = None
    """Folder that was asked for: runs are named by their path in it."""


GENERIC = {
    "val", "valid", "validation", "validation_data", "val_data", "val_generations", "generations", "dump", "dumps",
    "tensorboard", "tensorboard_log", "tb", "tb_logs", "logs", "log", "events", "runs", "output", "outputs", "results", "eval",
    "evals", "checkpoints", "ckpt", "ckpts", "actor", "critic", "huggingface", "hf", "policy", "model", "weights", "merged",
    "step", "",
}  # fmt: skip
"""Names of folders that say what lies in them, and not which run it is."""


def run_name(path: Path, options: ReadOptions) -> str:
    """Returns the name of the run in a folder, or in a file: its path below the folder that was asked for."""
    root = options.root
    inside = root is not None and path != root and root in path.parents
    parts = list(path.relative_to(root).parts) if root is not None and inside else [path.resolve().name]
    while len(parts) > 1 and parts[-1].lower() in GENERIC:
        parts.pop()
    if parts[0].lower() in GENERIC and len(parts) == 1:
        above = path.resolve().parent.name if not inside else (root or path).resolve().name
        parts = [above or parts[0]]
    return to_name("/".join(parts))
