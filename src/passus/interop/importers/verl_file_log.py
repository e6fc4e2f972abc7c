"""File logs of verl: JSON lines `{"step": s, "data": {name: value}}`, in $VERL_FILE_LOGGER_ROOT/<project>/<experiment>.jsonl.

verl opens the file anew when it resumes, so that a log may begin long after the first step.
"""

from collections.abc import Sequence
from pathlib import Path

from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import read_rows
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.values import numbers_of

KIND = "verl file log"


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads each log as a run."""
    return [_read_log(path, options) for path in paths]


def _read_log(path: Path, options: ReadOptions) -> SourceRun:
    run = SourceRun(run_name(path.with_suffix(""), options), KIND, [path])
    recorder = PointRecorder(run.points)
    for row in read_rows(path, run.remarks):
        data = row.get("data")
        if isinstance(data, dict):
            recorder.add_row(row.get("step"), numbers_of(data))
    run.remarks += recorder.remarks()
    if run.points and run.points[0].step > 1:
        run.remarks.append(
            f"the log begins at step {run.points[0].step}: verl empties it when it resumes, so that earlier steps are elsewhere"
        )
    return run
