"""`passus bundle`: the record of runs in one file."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def bundle(
    folder: Path, *, out: Path, weights: Annotated[bool, Parameter(negative=(), show_default=False)] = False
) -> int:  # fmt: skip
    """Write the record of runs into one file that others can verify, report and compare.

    It holds settings, versions, commits, metrics, eval points, items and figures, with a hash of each file, and no training
    samples.

    Parameters
    ----------
    folder
        A run folder, or a folder of them.
    out
        File to write, ending in .zip.
    weights
        Also include the weights of the last checkpoint of every run.
    """
    from passus.console import print_next_commands
    from passus.interop.bundle import write_bundle

    count = write_bundle(folder, out, weights=weights)
    print(f"bundle of {count} run{'s' * (count > 1)}: {out} ({out.stat().st_size:,} bytes)")
    print_next_commands(f"passus verify {out}")
    return 0
