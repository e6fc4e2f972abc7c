"""The arms of an experiment in one table: a row per arm, and a column per field in which arms differ."""

from collections.abc import Mapping, Sequence
from typing import Any

from passus.config.experiment import Arm
from passus.config.resolve import flatten
from passus.formatting import printable_line, shorten

MAX_CELL = 40
"""Characters of a cell."""


def differing_fields(arms: Sequence[Arm]) -> list[str]:
    """Returns the fields that the sweep or an [[arm]] sets and in which arms differ, in the order of the experiment file.

    The fields that a method's preset sets are left out: its name stands for them.
    """
    flat = [flatten(arm.config) for arm in arms]
    set_by_arms = dict.fromkeys("model.base" if key == "generator" else key for arm in arms for key in arm.varied)
    fields = [key for given in set_by_arms for key in flat[0] if key == given or key.startswith(f"{given}.")]
    if "method" in set_by_arms:
        fields = ["method.name", *(key for key in fields if not key.startswith("method."))]
    return [key for key in fields if any(values[key] != flat[0][key] for values in flat)]


def arm_table(arms: Sequence[Arm], more: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Returns the lines of the table. `more` holds columns of derived values: a text per arm, by arm name."""
    fields = differing_fields(arms)
    rows = [["arm", *fields, *more]]
    for arm in arms:
        values = flatten(arm.config)
        rows.append([arm.name, *(_cell(values[key]) for key in fields), *(column[arm.name] for column in more.values())])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _cell(value: Any) -> str:
    if isinstance(value, list):
        text = ", ".join(map(str, value)) or "none"
    elif isinstance(value, float):
        text = f"{value:g}"
    else:
        text = str(value)
    return printable_line(shorten(text, MAX_CELL)) or '""'
