"""Completions that TRL logs as Parquet: `completions/completions_<step>.parquet`, which are no evaluation.

Only the last generation batch of a step is kept, and evaluation and training write to one file name, so that nobody can tell
which of the two a file holds. They are recognised, and a remark says what to do instead.
"""

from collections.abc import Sequence
from pathlib import Path

from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.source_run import SourceRun

KIND = "TRL completions"
COLUMNS = {"step", "prompt", "completion", "advantage"}


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Returns a run without points and samples, with the remark."""
    folder = paths[0].parent
    run = SourceRun(run_name(folder.parent if folder.name == "completions" else folder, options), KIND, sorted(paths))
    run.remarks.append(
        f"{len(paths)} files of completions were not read: TRL keeps only the last batch of a step, and does not say whether "
        "it is of training or evaluation; for items and samples evaluate the checkpoints (passus eval), or record the next run "
        "with TRLRecording"
    )
    return [run]
