"""What a user changes about the lines of a figure: which are shown, in which order, under which names and in which colours.

Every option refers to the names that the figure has without these options. References are always shown.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from passus.errors import UsageError, nearest, shown
from passus.figures.spec import Series

MAX_PATTERN = 100
"""Characters of a pattern."""
MAX_REPEATS = 3
"""Signs such as * in a pattern. With more, a search in a name of 200 characters could take minutes."""
MAX_UNBOUNDED = 2
"""Of these, signs that repeat without a bound. With three, one name takes a second."""

DOTS_THEN_REPEAT = re.compile(r"\.(?:[*+]|\{[^}]*\})[?+]?(?:\[[^\]]*\]|.)[*+{]")


@dataclass(frozen=True)
class LineOptions:
    select: Sequence[str] = ()
    """Names, or regular expressions that are found in names."""
    rename: Sequence[str] = ()
    """OLD=NEW."""
    order: Sequence[str] = ()
    """Names of the lines that come first."""
    style: Sequence[str] = ()
    """NAME=COLOUR."""

    def __bool__(self) -> bool:
        return any((self.select, self.rename, self.order, self.style))

    def apply(self, series: Sequence[Series]) -> list[Series]:
        """Returns the chosen lines in the wanted order, renamed and recoloured."""
        names = list(dict.fromkeys(_name(s) for s in series if not s.reference))
        kept = _selected(names, self.select)
        ordered = _ordered(kept, self.order)
        colours = {name: _hex(colour) for name, colour in (_pair(text, "--style", kept) for text in self.style)}
        new = dict(_pair(text, "--rename", kept) for text in self.rename)
        _check_new_names([new.get(name, name) for name in kept])
        shown_series = [s for s in series if s.reference or _name(s) in kept]
        shown_series.sort(key=lambda s: len(ordered) if s.reference else ordered.index(_name(s)))
        return [_changed(s, new.get(_name(s)), colours.get(_name(s))) for s in shown_series]


ALL_LINES = LineOptions()


def _name(s: Series) -> str:
    return s.line or s.name


def _selected(names: list[str], patterns: Sequence[str]) -> list[str]:
    if not patterns:
        return names
    kept: set[str] = set()
    for pattern in patterns:
        found = {name for name in names if name == pattern} or _search(pattern, names)
        if not found:
            raise UsageError(f"--select {shown(pattern)} selects no line", expected=f"a part of: {'; '.join(names)}")
        kept |= found
    return [name for name in names if name in kept]


def _search(pattern: str, names: Iterable[str]) -> set[str]:
    """Returns the names in which a pattern is found. Patterns that could take long are refused."""
    if len(pattern) > MAX_PATTERN or _may_take_long(pattern):
        raise UsageError(
            f"--select {shown(pattern)}",
            expected=f"at most {MAX_PATTERN} characters, {MAX_REPEATS} of * + ? {{, and {MAX_UNBOUNDED} of * + {{, "
            "none of these after a bracket, and none directly after a repeated dot",
        )
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise UsageError(
            f"--select {shown(pattern)}: {error}", expected="a name or a regular expression", write=re.escape(pattern)
        ) from None
    return {name for name in names if compiled.search(name[:200])}


def _may_take_long(pattern: str) -> bool:
    plain = re.sub(r"\\.|\(\?", "x", pattern)
    if len(re.findall(r"[*+{?]", plain)) > MAX_REPEATS or len(re.findall(r"[*+{]", plain)) > MAX_UNBOUNDED:
        return True
    return bool(re.search(r"\)[*+{]", plain) or DOTS_THEN_REPEAT.search(re.sub(r"[()]", "", plain)))


def _ordered(names: list[str], first: Sequence[str]) -> list[str]:
    for name in first:
        if name not in names:
            raise UsageError(f"--order {shown(name)}", expected="; ".join(names), write=nearest(name, names))
    return [*dict.fromkeys(first), *(name for name in names if name not in first)]


def _pair(text: str, option: str, names: Sequence[str]) -> tuple[str, str]:
    """Splits NAME=VALUE. A name may contain an equals sign itself."""
    parts = text.split("=")
    for n in range(1, len(parts)):
        name, value = "=".join(parts[:n]), "=".join(parts[n:])
        if name in names and value.strip():
            return name, value.strip()
    raise UsageError(f"{option} {shown(text)}", expected=f"NAME=VALUE, where NAME is one of: {'; '.join(names)}")


def _check_new_names(names: Sequence[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--rename gives two lines the name {shown(twice)}", expected="a name of its own for every line")


def _hex(colour: str) -> str:
    from matplotlib.colors import to_hex

    try:
        return str(to_hex(colour))
    except ValueError:
        raise UsageError(f"colour {shown(colour)}", expected="#rrggbb or a name such as darkorange") from None


def _changed(s: Series, name: str | None, colour: str | None) -> Series:
    if colour is not None:
        s = replace(s, style=replace(s.style, colour=colour))
    if name is None:
        return s
    old = _name(s)
    if s.name == old:
        return replace(s, name=name, line=name if s.line else "")
    return replace(s, name=f"{name}, {s.name.rpartition(', ')[2]}", line=name)  # one of the seeds: "A, seed 0"
