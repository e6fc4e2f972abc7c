"""Printing to a terminal that may close at any time."""

import os
import shutil
import sys
from pathlib import Path


def print_line(text: str) -> None:
    """Prints a line at once. A reader that closes the pipe (`| head`) does not stop the work."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (replaces stdout until the process ends)


def print_next_commands(*commands: str) -> None:
    """Prints commands to run next, in a form that can be pasted.

    `make` installs passus in .venv/bin, which is not on the path; the commands then begin with the path of the program.
    """
    is_off_path = Path(sys.argv[0]).name == "passus" and not shutil.which("passus")
    program = os.path.relpath(sys.argv[0]) if is_off_path else "passus"
    lines = [f"{program}{command.removeprefix('passus')}" if command.startswith("passus ") else command for command in commands]
    print_line("\n".join(["next:", *(f"  {line}" for line in lines)]))
