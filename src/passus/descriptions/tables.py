"""Tables of a chart description: which cells are places on the x-axis, which are names, which are values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from passus.descriptions.axes import Axes, singular
from passus.descriptions.labels import without_look
from passus.descriptions.layout import Passage
from passus.descriptions.numbers import Number, numbers_in
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, X_NOUNS

START = re.compile(
    r"(?:start|initial|first|base(?:line)?|before(?: training)?|begin\w*)(?: (?:value|step|checkpoint|accuracy))?$", re.I
)
END = re.compile(r"(?:end|final|last|after(?: training)?)(?: (?:value|step|checkpoint|accuracy))?$", re.I)
MISSING = re.compile(r"(?:[-\u2014\u2013.]*|n/?a|missing|none|nan|\?)$", re.I)
UNIT_OF_NAME = re.compile(r"\s*[\[(](%|percent|tokens?|pp|points|nats|k tokens|in %)[\])]\s*$", re.I)
MEASURE_OF_NAME = re.compile(r"[,:/-]\s*(acc(?:uracy)?|len(?:gth)?|tokens|response length|completion length|pass@1)\.?$", re.I)


@dataclass(frozen=True)
class TablePoint:
    series: str
    is_length: bool
    x: Number
    y: Number
    line: int


@dataclass(frozen=True)
class ReadTable:
    names: list[str]
    points: list[TablePoint]
    xs: list[float]
    is_legend: bool = False
    """Whether it names lines and their looks, and has no values."""
    rows_are_panels: bool = False
    """Whether its rows are benchmarks of one model."""
    series: str = ""


def read_table(passage: Passage, axes: Axes) -> ReadTable:
    """Reads a table whose rows or columns are places on the x-axis. A table without values gives names only."""
    (_, head), *body = _with_columns_of_lists(passage.rows, axes)
    body = [(line, cells) for line, cells in body if any(cells)]
    if not body:
        return ReadTable([], [], [])
    head, body = _without_words(head, body, axes)
    row_places = [_place(cells[0], head[0], axes) for _, cells in body if cells]
    column_places = [_place(cell, "", axes) for cell in head[1:]]
    if row_places and all(row_places) and not all(column_places):
        return _rows_are_places(head, body, row_places, axes)
    if column_places and all(column_places):
        table = _columns_are_places(head, body, column_places, axes)
        return replace(
            table, rows_are_panels=bool(re.match(r"\W*(?:benchmark|task|dataset|test set|suite)s?\b", head[0], re.I))
        )
    if (long := _long_table(head, body, axes)) is not None:
        return long
    is_legend = any(COLOUR.search(cell) for _, cells in body for cell in cells)
    return ReadTable([_name(cells[0])[0] for _, cells in body if cells and cells[0]], [], [], is_legend)


def _without_words(
    head: list[str], body: list[tuple[int, list[str]]], axes: Axes
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Leaves out columns of words between names and values, such as colours, where all others are of places."""
    words = {
        at
        for at in range(1, len(head))
        if _place(head[at], "", axes) is None
        and not any(at < len(cells) and numbers_in(cells[at], axes.style) for _, cells in body)
    }
    rest = [at for at in range(len(head)) if at not in words]
    if not words or len(rest) < 3 or any(_place(head[at], "", axes) is None for at in rest[1:]):
        return head, body
    return [head[at] for at in rest], [(line, [cells[at] for at in rest if at < len(cells)]) for line, cells in body]


def _with_columns_of_lists(rows: Sequence[tuple[int, list[str]]], axes: Axes) -> list[tuple[int, list[str]]]:
    """Splits a column whose cells list the values at the places that its head lists: "values at epochs 0, 1, 2"."""
    head = rows[0][1]
    for at in range(len(head) - 1, 0, -1):
        places = [number for number in numbers_in(head[at], axes.style) if not number.is_range]
        cells = [numbers_in(row[at], axes.style) if at < len(row) else [] for _, row in rows[1:]]
        if len(places) > 2 and cells and all(len(values) == len(places) for values in cells):
            lists = [places, *cells]
            return [
                (line, [row[0], *(row[at][value.start : value.end] for value in values)])
                for (line, row), values in zip(rows, lists, strict=True)
            ]
    return list(rows)


def _long_table(head: Sequence[str], body: Sequence[tuple[int, list[str]]], axes: Axes) -> ReadTable | None:
    """Reads a table with a name, a place and a value in each row."""
    if len(head) < 3:
        return None
    at = next((n for n, cell in enumerate(head) if n and singular(cell.strip().lower()) in X_NOUNS), 0)
    values = [n for n, cell in enumerate(head) if n not in (0, at)]
    if (
        not at
        or not values
        or any(len(cells) != len(head) or numbers_in(cells[0], axes.style)[:1] == cells[:1] for _, cells in body)
    ):
        return None
    points = []
    for line, cells in body:
        place, value = _place(cells[at], head[at], axes), _value(cells[values[0]], axes)
        if place is None or (value is None and not MISSING.match(cells[values[0]].strip())):
            return None
        points += [TablePoint(_name(cells[0])[0], False, place, value, line)] if value is not None else []
    names = list(dict.fromkeys(point.series for point in points))
    return ReadTable(names, points, sorted({point.x.low for point in points}))


def _place(cell: str, head: str, axes: Axes) -> Number | None:
    """Returns the place on the x-axis that a cell names."""
    short = re.fullmatch(r"([A-Za-z]{1,2})(\d[\d,.]*[kKMB]?)", cell.strip())
    if short and any(noun.startswith(short[1].lower()) for noun in axes.x_nouns):  # "E3" for epoch 3
        cell = short[2]
    numbers = numbers_in(cell, axes.style)
    if not numbers and axes.x.low is not None and axes.x.high is not None:
        if START.match(cell.strip()):
            return Number(0, 0, axes.x.low, axes.x.low)
        if END.match(cell.strip()):
            return Number(0, 0, axes.x.high, axes.x.high)
    if len(numbers) != 1 or numbers[0].is_range:
        return None
    rest = re.sub(r"\s*\([^)]*\)", "", cell[: numbers[0].start] + cell[numbers[0].end :])
    rest = re.sub(r"\s+", " ", rest).strip(" ~:()").lower()
    noun = singular(rest.split()[-1].rstrip(".")) if rest else ""
    noun = next((full for full in X_NOUNS if len(noun) > 1 and full.startswith(noun)), noun)  # "ep. 3", "it 40"
    return numbers[0] if noun in ("", "h", "k", *X_NOUNS) or axes.is_x_noun(noun) else None


def _value(cell: str, axes: Axes) -> Number | None:
    if MISSING.match(cell.strip()):
        return None
    numbers = numbers_in(cell, axes.style)
    return numbers[0] if numbers else None


def _name(cell: str) -> tuple[str, bool]:
    """Returns the name in a header, and whether the column is of lengths."""
    is_length = bool(LENGTH_WORD.search(cell) or re.search(r"\[tokens?\]|\(tokens?\)", cell, re.I))
    name, _ = without_look(UNIT_OF_NAME.sub("", cell).strip())
    return MEASURE_OF_NAME.sub("", name).strip(" ,:") or name, is_length


def _rows_are_places(
    head: Sequence[str], body: Sequence[tuple[int, list[str]]], places: Sequence[Number | None], axes: Axes
) -> ReadTable:
    names = [_name(cell) for cell in head[1:]]
    points = [
        TablePoint(*names[column], place, value, line)
        for place, (line, cells) in zip(places, body, strict=True)
        for column, cell in enumerate(cells[1 : len(head)])
        if place is not None and (value := _value(cell, axes)) is not None
    ]
    return ReadTable(list(dict.fromkeys(name for name, _ in names)), points, [p.low for p in places if p])


def _columns_are_places(
    head: Sequence[str], body: Sequence[tuple[int, list[str]]], places: Sequence[Number | None], axes: Axes
) -> ReadTable:
    names = [_name(cells[0]) for _, cells in body]
    points = [
        TablePoint(*name, place, value, line)
        for name, (line, cells) in zip(names, body, strict=True)
        for place, cell in zip(places, cells[1:], strict=False)
        if place is not None and (value := _value(cell, axes)) is not None
    ]
    return ReadTable(list(dict.fromkeys(name for name, _ in names)), points, [p.low for p in places if p])
