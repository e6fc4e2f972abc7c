"""Formats numbers and untrusted text for terminals, figures, tables and reports."""

import math
import re

MAY_BE_CONTROL = re.compile(r"[^\x20-\x7e\n]")
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""The start of a text that a spreadsheet would run as a formula. The last four are the full-width forms of the first."""
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def score(accuracy: float, low: float | None, high: float | None) -> str:
    """Formats an accuracy with its interval: 0.983 [0.970, 0.991]."""
    if low is None or high is None or low != low:
        return f"{accuracy:.3f} (no interval: all items are of one cluster)"
    return f"{accuracy:.3f} [{low:.3f}, {high:.3f}]"


def printable(text: str) -> str:
    """Makes control characters visible: \\x1b for an escape, \\u202e for a character that reverses the direction of text.

    Line feeds stay. Everything that comes from a model or a file passes through here before a terminal, figure or page shows
    it.
    """
    return text if text.isprintable() else MAY_BE_CONTROL.sub(_visible, text)


def _visible(character: re.Match[str]) -> str:
    return character[0] if character[0].isprintable() else repr(character[0])[1:-1]


def shorten(text: str, most: int) -> str:
    """Leaves out the middle of a long text, because answers stand at its end."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} […{len(text) - 2 * half:,} characters…] {text[-half:]}"


def printable_line(text: str) -> str:
    """Makes control characters visible, line feeds included."""
    return printable(text).replace("\n", "\\n")


def spreadsheet_cell(text: str) -> str:
    """Makes control characters visible, and puts an apostrophe before a text that a spreadsheet would run as a formula."""
    is_formula = (FORMULA.match(text) or text.startswith(("\t", "\r"))) and not NUMBER.fullmatch(text)
    return printable_line(f"'{text}" if is_formula else text)


def duration(seconds: float) -> str:
    """Formats a time in at most two units: 47 s, 3 min 20 s, 5 h 3 min, 2 days 4 h."""
    whole = round(seconds)
    for unit, part, size, least in (("day", "h", 86400, 3600), ("h", "min", 3600, 60), ("min", "s", 60, 1)):
        if whole >= size:
            count, rest = whole // size, whole % size // least
            return f"{count} {unit}{'s' * (unit == 'day' and count > 1)}" + (f" {rest} {part}" if rest else "")
    return f"{whole} s"


def points(value: float) -> str:
    """Formats a difference of accuracies in points: +1.3 points."""
    return f"{round(100 * value, 1) + 0.0:+.1f} points"  # + 0.0: no "-0.0"


def share(value: float) -> str:
    """Formats an accuracy: .983."""
    return f"{value:.3f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.3f}"


def between(low: float, high: float, scale: float = 100.0) -> str:
    """Formats an interval, by default in points: [1.1, 3.3]."""
    return f"[{scale * low:.1f}, {scale * high:.1f}]"


def p_value(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".", 1)


def step(value: float) -> str:
    """Formats a step or another x without trailing zeros."""
    return f"{value:g}"


def significant(value: float, digits: int = 4) -> float:
    """Rounds a number for a text: four significant digits, and never a digit before the point. 0.4333, 22.43, 81234."""
    if not math.isfinite(value) or value == int(value):
        return value
    return round(value, max(0, digits - 1 - math.floor(math.log10(abs(value)))))
