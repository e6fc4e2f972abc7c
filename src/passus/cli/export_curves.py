"""`passus export-curves`: the numbers of runs for other tools."""

from pathlib import Path
from typing import Literal


def export_curves(*sources: Path, to: Literal["tensorboard", "csv", "parquet"], out: Path) -> int:
    """Write metrics and eval points of runs as TensorBoard event files, or as one long table.

    Parameters
    ----------
    sources
        Run folders, or folders of run folders.
    to
        tensorboard: a folder of event files per run. csv, parquet: one table with run, seed, step, metric and value.
    out
        Folder for TensorBoard, else the file.
    """
    from passus.console import print_next_commands
    from passus.errors import UsageError
    from passus.interop.curve_export import export_curves as write_curves
    from passus.runs.run_folder import RunFolder, find_runs

    runs = [RunFolder(path) for source in sources for path in find_runs(source)]
    if not runs:
        raise UsageError(f"no runs in {', '.join(map(str, sources)) or 'nothing'}", expected="run folders", write="passus ls")
    print(f"{write_curves(runs, to, out)} numbers of {len(runs)} run{'s' * (len(runs) != 1)}: {out}")
    if to == "tensorboard":
        print_next_commands(f"tensorboard --logdir {out}")
    return 0
