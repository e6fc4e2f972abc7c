"""Printing to a terminal that may close at any time."""

import os
import shutil
import sys
from pathlib import Path


def say(text: str) -> None:
    """Print a line; whoever stops reading (`| head`) must not stop the work."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (stands in for stdout until the end)


def say_next(*commands: str) -> None:
    """What to do next. Installed by `make`, passus is in .venv/bin and not on the path: it can be pasted all the same."""
    by_path = Path(sys.argv[0]).name == "passus" and not shutil.which("passus")
    program = os.path.relpath(sys.argv[0]) if by_path else "passus"
    shown = [f"{program}{command.removeprefix('passus')}" if command.startswith("passus ") else command for command in commands]
    say("\n".join(["next:", *(f"  {command}" for command in shown)]))
