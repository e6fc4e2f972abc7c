"""Source files: JSON, JSON lines and text lines of other tools, bounded before they are parsed.

`passus.bounded_json` reads passus's own files and refuses NaN. Other tools write NaN and infinities, longer lines, and tails
that a kill has torn, so their files are read here.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from passus.bounded_json import MAX_DEPTH, check_values, open_plain
from passus.errors import PassusError, UsageError
from passus.interop.importers.values import clean

MAX_LINE = 1 << 24
"""Bytes of a line. A line with 64 long completions, or with the tokens of an agent's trace, has some megabytes."""
MAX_FILE = 1 << 28
"""Bytes of a file that is read as a whole."""
MAX_VALUES = 10_000_000
"""Commas and brackets of one JSON text. Each can become an object in memory."""
CHUNK = 1 << 20


def parse_json(data: bytes) -> Any:
    """Parses JSON in which NaN and infinities are numbers. Raises ValueError, also for what is too large or too deep."""
    brackets = data.count(b"[") + data.count(b"{")
    if len(data) > MAX_VALUES and brackets + data.count(b",") > MAX_VALUES:
        raise ValueError(f"it has more than {MAX_VALUES:,} values")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError(f"values are nested more than {MAX_DEPTH} levels deep") from None
    if brackets > MAX_DEPTH:
        check_values(value)
    return value


def parse_text(text: str | bytes) -> Any:
    """Parses the JSON of one recorded value; None where it is none."""
    try:
        return parse_json(text.encode("utf-8", "replace") if isinstance(text, str) else text)
    except ValueError:
        return None


def read_bytes(path: Path, most: int = MAX_FILE) -> bytes:
    """Reads a whole file of at most `most` bytes."""
    try:
        with open_plain(path) as file:
            data = file.read(most + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    if len(data) > most:
        raise UsageError(f"{path} has more than {most:,} bytes", expected="a smaller file")
    return data


def read_json(path: Path) -> Any:
    """Reads a JSON file."""
    try:
        return parse_json(read_bytes(path))
    except ValueError as error:
        raise PassusError(f"{path} is not JSON: {str(error)[:200]}", expected="the file as its tool wrote it") from None


def read_object(path: Path) -> dict[str, Any]:
    """Reads a JSON file that holds an object."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise PassusError(f"{path} holds a {type(content).__name__}", expected="a JSON object")
    return content


def unreadable(path: Path, error: OSError) -> PassusError:
    """Returns the error for a file that the system does not let us read."""
    return PassusError(f"{path} cannot be read: {error.strerror or error}", expected="a file that this user may read")


def tell(remarks: list[str], text: str) -> None:
    """Adds a remark, unless it was already made."""
    text = clean(text)  # names of files may hold bytes that are not UTF-8
    if text not in remarks:
        remarks.append(text)


def read_lines(path: Path, remarks: list[str]) -> Iterator[tuple[int, bytes]]:
    """Yields the number and the bytes of every complete line. A last line without a line feed is yielded too."""
    try:
        with open_plain(path) as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) <= MAX_LINE:
                    yield number, line
                    continue
                tell(remarks, f"{path.name}: line {number} has more than {MAX_LINE:,} bytes and was left out")
                while line and not line.endswith(b"\n"):
                    line = file.readline(CHUNK)
    except OSError as error:
        raise unreadable(path, error) from None


def read_rows(path: Path, remarks: list[str]) -> Iterator[dict[str, Any]]:
    """Yields the objects of a file of JSON lines. Lines that cannot be parsed are left out and told."""
    broken: list[int] = []
    for number, line in read_lines(path, remarks):
        try:
            row = parse_json(line)
        except ValueError:
            if not line.strip():
                continue
            row = None
        if isinstance(row, dict):
            yield row
        elif line.endswith(b"\n"):
            broken.append(number)
        else:
            tell(remarks, f"{path.name}: the last line is cut off and was dropped")
    if broken:
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        tell(remarks, f"{path.name}: line {broken[0]}{more} cannot be read as a JSON object and was left out")
