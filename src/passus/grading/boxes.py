"""Boxes in an output: the content of the last \\boxed{...} that closes. Every scan is linear in the text."""

import re
from collections import deque
from typing import NamedTuple

BOX = "\\boxed{"
BOX_START = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{")
BARE_BOX = re.compile(r"(?<!\\)\\boxed\s*([A-Z0-9])(?![A-Za-z0-9.,^_{(\\/])|(?<!\\)\\boxed\s+(-?\d{1,20})(?![\d.,^_{(\\/])")
"""`\\boxed 5` without braces boxes the next character or integer."""
BRACE = re.compile(r"\\.|[{}]", re.S)
MAX_ANSWER = 2048
"""Characters in a box."""
LONG_INTEGER = re.compile(r"[A-Za-z\s$=]{0,12}-?\d[\d,]{1000,16000}(?:\.0{0,9})?[\s$.]{0,4}")
"""An integer may be longer than other answers."""
MAX_BOXES = 64
"""Boxes that are tried, from the end. It bounds the time on a text that is full of broken boxes."""
TAIL = 8000
"""Characters at the end of the output that are searched for a box without braces, and for announcements."""


class Box(NamedTuple):
    text: str
    end: int
    """Where the text after the box begins."""


def last_box(output: str) -> str | None:
    """Returns the content of the last \\boxed{...} that closes, the outermost if boxes are nested; None without one."""
    found = _plain_box(output) or _last_braced_box(output)
    return found.text if found else None


def find_box(output: str) -> Box | None:
    """Returns the last box that closes, else the last box without braces; None without either."""
    if "box" not in output:
        return None
    return _plain_box(output) or _last_braced_box(output) or _last_bare_box(output)


def _plain_box(output: str) -> Box | None:
    """Returns the box of the common case: one box without inner braces."""
    head, box, rest = output.rpartition(BOX)
    content, closing, _ = rest[: MAX_ANSWER + 1].partition("}")
    if box and closing and "box" not in head and "box" not in rest and "{" not in content and "\\" not in content:
        return Box(content, len(head) + len(BOX) + len(content) + 1)
    return None


def _last_bare_box(output: str) -> Box | None:
    *_, match = (None, *BARE_BOX.finditer(output, max(0, len(output) - TAIL)))
    return Box(match[1] or match[2], match.end()) if match else None


def has_open_box(output: str) -> bool:
    """Returns whether a box begins near the end of the output: called where no box closes."""
    return BOX_START.search(output, max(0, len(output) - TAIL)) is not None


def _last_braced_box(output: str) -> Box | None:
    outermost: Box | None = None
    for start in reversed(_box_starts(output)):
        inner = _balanced_content(output, start)
        if inner is None:
            continue
        end = start + len(inner)
        if outermost is not None and end < outermost.end - 1:
            break  # an earlier box that does not contain the last one
        outermost = Box(inner, end + 1)
    return outermost


def _box_starts(output: str) -> deque[int]:
    """Returns where the contents of the last MAX_BOXES boxes begin, in one pass over the text."""
    return deque((match.end() for match in BOX_START.finditer(output)), maxlen=MAX_BOXES)


def _balanced_content(output: str, start: int) -> str | None:
    """Returns the text from `start` to its closing brace; None if it is too long or never closed."""
    depth = 1
    for match in BRACE.finditer(output, start, min(len(output), start + MAX_ANSWER + 1)):
        depth += (match[0] == "{") - (match[0] == "}")
        if depth == 0:
            return output[start : match.start()]
    number = LONG_INTEGER.match(output, start)
    return number[0] if number and output.startswith("}", number.end()) else None
