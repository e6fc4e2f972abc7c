"""Explains a field of an experiment file or a recorded metric, from the one place where it is defined."""

from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from passus.config.resolve import MAY_CHANGE, NOT_YET, fields, inner_fields, nearest_key
from passus.errors import UsageError, nearest
from passus.methods.presets import PRESETS
from passus.metric_names import METRICS
from passus.schema import Section


def explain(name: str | None) -> str:
    """Returns the explanation of one field, table or metric; of all fields, grouped by table, without a name."""
    if name is None:
        return _all_fields()
    keys = fields() | inner_fields()
    if name in keys:
        resume = "May change when a run is resumed." if name in MAY_CHANGE else "Fixed once a run has begun."
        return "\n".join([_entry(name, keys[name]), resume, *_inner_entries(name)])
    if name in NOT_YET:
        return f"{name}: not yet: {NOT_YET[name]}"
    if name in METRICS:
        return _metric(name)
    table = [_entry(key, field) for key, field in fields().items() if key.startswith(f"{name}.")]
    if name == "method":
        table.append(f"presets: {', '.join(PRESETS)}")
    table += [_metric(key) for key in METRICS if key.startswith(f"{name}/")]
    if table:
        return "\n".join(table)
    raise UsageError(
        f"no field or metric {name!r}",
        expected="`passus explain` lists all fields",
        write=nearest_key(name) or nearest(name, [*keys, *METRICS]),
    )


def _all_fields() -> str:
    lines: list[str] = []
    table = None
    for key, field in fields().items():
        if key.rpartition(".")[0] != table:
            table = key.rpartition(".")[0]
            lines.append(f"\n[{table}]" if table else "at the top of the file")
        lines.append(_entry(key, field))
    return "\n".join(
        [*lines, "next:", "  passus explain train          # a table", "  passus explain train/reward   # a metric"]
    )


def _inner_entries(name: str) -> list[str]:
    return [_entry(key, field) for key, field in inner_fields().items() if key.startswith(f"{name}.")]


def _metric(name: str) -> str:
    unit = f" [{METRICS[name].unit}]" if METRICS[name].unit else ""
    return f"{name}{unit}\n    {METRICS[name].meaning}"


def _entry(key: str, field: FieldInfo) -> str:
    return f"{key}  ({_type(field)}, {_default(field)})\n    {field.description}"


def _type(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return " | ".join(map(repr, get_args(field.annotation)))
    if isinstance(field.default, Section):
        return "table"
    return getattr(field.annotation, "__name__", str(field.annotation)).replace("typing.", "")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if isinstance(field.default, Section):
        return ", ".join(f"{key} = {value!r}" for key, value in field.default)
    return f"default {field.default!r}"
