"""JSON from files that anybody may have written. Size, nesting and numbers are bounded before anything else reads them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from passus.errors import UsageError

MAX_LINE = 1 << 20
"""Bytes of one line. Problems, completions and recorded rows are thousands of times shorter."""
MAX_FILE = 1 << 25
"""Bytes of a file that is read as a whole."""
MAX_DEPTH = 40
"""Nesting of lists and objects. Python's own limit depends on the stack, and printing a value needs more of it than parsing."""
MAX_BITS = 1000
"""Bits of an integer, about 300 digits: every such integer can be printed, and converted to a float."""
MANY_DIGITS, MANY_DIGITS_BYTES = re.compile(r"[0-9]{300}"), re.compile(rb"[0-9]{300}")


def parse_json(text: str | bytes) -> Any:
    """Parses JSON. Raises ValueError also for values that are nested too deeply and for integers that are too long."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(f"values are nested more than {MAX_DEPTH} levels deep") from None
    if _may_exceed(text):
        check_values(value)
    return value


def _may_exceed(text: str | bytes) -> bool:
    """Returns whether a value of this text may be too deep or too long. Recorded rows never are, and there are many of them."""
    if isinstance(text, str):
        return text.count("[") + text.count("{") > MAX_DEPTH or bool(MANY_DIGITS.search(text))
    return text.count(b"[") + text.count(b"{") > MAX_DEPTH or bool(MANY_DIGITS_BYTES.search(text))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def check_values(value: Any, most_levels: int = MAX_DEPTH) -> None:
    """Raises ValueError for values that are nested too deeply, and for integers that are too long. Does not recurse itself."""
    level: list[Any] = [[value]]
    for _ in range(most_levels + 1):
        level = [child for parent in level for child in _nested(parent)]
        if not level:
            return
    raise ValueError(f"values are nested more than {most_levels} levels deep")


def _nested(parent: dict[str, Any] | list[Any]) -> Iterator[dict[str, Any] | list[Any]]:
    """Yields the lists and objects in a list or object, and checks its integers."""
    for child in parent.values() if isinstance(parent, dict) else parent:
        if isinstance(child, (dict, list)):
            yield child
        elif isinstance(child, int) and child.bit_length() > MAX_BITS:
            raise ValueError(f"an integer of {child.bit_length()} bits is longer than {MAX_BITS}")


def open_plain(path: Path) -> BinaryIO:
    """Opens a file for reading, unless it is a pipe."""
    refuse_pipe(path)
    return open(path, "rb")


def refuse_pipe(path: Path) -> None:
    """Raises UsageError for a pipe, because opening one waits until somebody writes to it."""
    if path.is_fifo():
        raise UsageError(f"{path} is a pipe", expected="a plain file")


def read_text(path: Path, most: int = MAX_FILE) -> str:
    """Reads a whole UTF-8 file of at most `most` bytes. Raises UsageError for a longer one, and UnicodeDecodeError."""
    with open_plain(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UsageError(f"{path} has more than {most:,} bytes", expected="a smaller file")
    return data.decode("utf-8")


def read_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yields the number and the bytes of every line from a place on, with its line feed.

    Raises UsageError for a line that is too long.
    """
    with open_plain(path) as file:
        file.seek(start)
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise UsageError(
                    f"{path}, line {number} has more than {MAX_LINE:,} bytes",
                    expected="one line per row, none longer than that",
                )
            yield number, line
