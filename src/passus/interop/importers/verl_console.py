"""Console logs of verl: lines `step:12 - name:value - name:value` among all else that was printed."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from passus.bounded_json import open_plain
from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import CHUNK, MAX_LINE, tell, unreadable
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.values import flatten, parse_number

KIND = "verl console log"
COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
ACTOR = re.compile(r"^\s*\((?:\w+ )?[^()\n]{0,80}pid=\d+[^()\n]{0,80}\) ?")
"""What Ray writes before a line of another process."""
STEP = re.compile(r"(?:^|\s)step:(\d{1,15}) - ")
NUMPY = re.compile(r"^(?:np|numpy)\.\w+\((.*)\)$")
TENSOR = re.compile(r"^tensor\(([^,()]+)[^()]*\)$")
CONFIG_START = re.compile(r"^\{'[a-z_]+': ?\S")
MAX_CONFIG_LINES = 5000


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads each log as a run."""
    return [_read_log(path, options) for path in paths]


def _read_log(path: Path, options: ReadOptions) -> SourceRun:
    run = SourceRun(run_name(path.with_suffix(""), options), KIND, [path])
    recorder, config = PointRecorder(run.points), _ConfigPrint()
    for raw in console_lines(path, run.remarks):
        line = ACTOR.sub("", COLOUR.sub("", raw), count=1)
        if match := STEP.search(line):
            recorder.add_row(match[1], parse_pairs(line[match.end() :]))
        elif not config.settings:
            config.add(line)
    run.settings = config.settings
    run.remarks += recorder.remarks()
    return run


def parse_pairs(text: str) -> Iterator[tuple[str, float]]:
    """Yields the names and values of a line after its step. What is no number is left out."""
    for pair in text.split(" - "):
        name, colon, written = pair.strip().rpartition(":")
        value = parse_value(written) if colon else None
        if name and value is not None:
            yield name, value


def parse_value(text: str) -> float | None:
    """Returns a printed number, which NumPy 2 prints with its type."""
    text = text.strip()
    if match := NUMPY.match(text) or TENSOR.match(text):
        text = match[1]
    return parse_number(text)


def console_lines(path: Path, remarks: list[str]) -> Iterator[str]:
    """Yields the lines of a console. Progress bars end theirs with carriage returns, and very long lines are left out."""
    try:
        with open_plain(path) as file:
            rest, is_long = b"", False
            while chunk := file.read(CHUNK):
                lines = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
                rest = lines.pop()
                yield from (line.decode("utf-8", "replace") for line in lines[is_long:])
                is_long = is_long and not lines
                if len(rest) > MAX_LINE:
                    rest, is_long = b"", True
                    tell(remarks, f"{path.name}: a line has more than {MAX_LINE:,} bytes and was left out")
            if rest and not is_long:
                yield rest.decode("utf-8", "replace")
    except OSError as error:
        raise unreadable(path, error) from None


class _ConfigPrint:
    """Recognises the settings that verl prints as a Python dict over many lines before the first step."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        if CONFIG_START.match(line):
            self.lines = []
        elif not self.lines:
            return
        self.lines.append(line)
        if line.rstrip().endswith("}"):
            self.settings = parse_config("\n".join(self.lines))
        if self.settings or len(self.lines) > MAX_CONFIG_LINES:
            self.lines = []


def parse_config(text: str) -> dict[str, Any]:
    """Returns the settings in a printed dict of literals, and none for other texts."""
    if text.count("{") != text.count("}") or len(text) > CHUNK:
        return {}
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # what literal_eval raises for texts of all kinds
        return {}
    return flatten(value) if isinstance(value, dict) and len(value) > 1 else {}
