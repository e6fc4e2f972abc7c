"""Options that several commands share, and the checks that go with them."""

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from passus.errors import UsageError

Device = Literal["auto", "cpu", "cuda"]
Thinking = Literal["default", "on", "off"]
Data = Annotated[
    Path | None, Parameter(help="Folder that holds the files of benchmarks and training sets. Default: $PASSUS_DATA.")
]
Json = Annotated[bool, Parameter(name="--json", negative=(), show_default=False)]
Overrides = Annotated[
    list[str] | None,
    Parameter(name="--set", negative=(), help="Set a field of the experiment file, as key=value. May be repeated."),
]


def use_data(folder: Path | None) -> None:
    """Sets $PASSUS_DATA, which arms inherit: each runs in its own process."""
    if folder is None:
        return
    if not folder.is_dir():
        raise UsageError(f"--data {folder}: no such folder", expected="a folder with files such as gsm8k.jsonl")
    os.environ["PASSUS_DATA"] = str(folder.resolve())


def check_jobs(jobs: int) -> None:
    if jobs < 1:
        raise UsageError(f"--jobs {jobs}", expected="1 or more")
