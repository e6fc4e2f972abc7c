"""Output to a terminal, which may close at any time, and which no text from a model or a file may control."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from passus.formatting import printable


class VisibleStream:
    """A text stream that makes control characters visible; everything else is done by the stream behind it."""

    def __init__(self, stream: TextIO):
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class VisibleConsole(Console):
    """A rich console whose own colours and cursor movements reach the terminal, and no control character of a text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def guard_output() -> None:
    """Makes control characters visible in all that this process prints: results, errors, warnings and tracebacks."""
    if not isinstance(sys.stdout, VisibleStream):
        sys.stdout = VisibleStream(sys.stdout)
    if not isinstance(sys.stderr, VisibleStream):
        sys.stderr = VisibleStream(sys.stderr)


def rich_console(*, stderr: bool = False, **options: Any) -> VisibleConsole:
    """Returns a console for tables and colours, which writes to the stream that `guard_output` guards."""
    stream = sys.stderr if stderr else sys.stdout
    return VisibleConsole(file=stream.stream if isinstance(stream, VisibleStream) else stream, **options)


def print_line(text: str) -> None:
    """Prints a line at once. A reader that closes the pipe (`| head`) does not stop the work."""
    try:
        print(printable(text), flush=True)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (replaces stdout until the process ends)


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Shows on stderr that work is going on."""
    with rich_console(stderr=True).status(text):
        guard_output()  # rich has replaced the streams, and would take colours from what is printed
        yield


def json_line(value: Any, *, allow_nan: bool = True) -> str:
    """Returns a value as one line of ASCII without control characters. DEL is the only one that JSON leaves as it is."""
    return json.dumps(value, allow_nan=allow_nan).replace("\x7f", "\\u007f")


def print_next_commands(*commands: str) -> None:
    """Prints commands to run next, in a form that can be pasted.

    `make` installs passus in .venv/bin, which is not on the path; the commands then begin with the path of the program.
    """
    is_off_path = Path(sys.argv[0]).name == "passus" and not shutil.which("passus")
    program = os.path.relpath(sys.argv[0]) if is_off_path else "passus"
    lines = [f"{program}{command.removeprefix('passus')}" if command.startswith("passus ") else command for command in commands]
    print_line("\n".join(["next:", *(f"  {line}" for line in lines)]))
