"""What a field of an experiment file or a recorded metric means, from the one place where it is defined."""

from typing import Any

from passus.config.tables import MAY_CHANGE, NOT_YET, fields
from passus.errors import UsageError, nearest
from passus.metric_names import METRICS


def explain(name: str | None) -> str:
    known = fields()
    if name is None:
        lines = [_line(key, field) for key, field in known.items()]
        return "\n".join(
            [*lines, "next:", "  passus explain train          # a table", "  passus explain train/reward   # a metric"]
        )
    if name in known:
        more = ["May be changed when a run is continued." if name in MAY_CHANGE else "Fixed once a run has begun."]
        return "\n".join([_line(name, known[name]), *more])
    if name in NOT_YET:
        return f"{name}: not yet: {NOT_YET[name]}"
    if name in METRICS:
        unit = f" [{METRICS[name].unit}]" if METRICS[name].unit else ""
        return f"{name}{unit}\n    {METRICS[name].meaning}"
    table = [_line(key, field) for key, field in known.items() if key.startswith(f"{name}.")]
    table += [f"{key} [{m.unit}]\n    {m.meaning}" for key, m in METRICS.items() if key.startswith(f"{name}/")]
    if table:
        return "\n".join(table)
    raise UsageError(
        f"no field or metric {name!r}", expected="`passus explain` lists all fields", write=nearest(name, [*known, *METRICS])
    )


def _line(key: str, field: Any) -> str:
    kind = getattr(field.annotation, "__name__", str(field.annotation)).replace("typing.", "")
    kind = kind if kind != "Literal" else " | ".join(map(repr, field.annotation.__args__))
    default = "required" if field.is_required() else f"default {field.default!r}"
    return f"{key}  ({kind}, {default})\n    {field.description}"
