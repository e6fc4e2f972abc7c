"""Checks the types of recorded rows when they are read back, because a run folder may come from anywhere."""

import math
from collections.abc import Mapping
from typing import Any

from passus.errors import shown

Row = Mapping[str, Any]
INTEGERS = {"step", "q", "k", "unjudged", "clusters"}
TEXTS = {"benchmark", "extract", "reader", "label", "kind", "family", "suite", "mean_over"}
MAPPINGS = {"pass", "maj", "rm", "judge"}
"""Keys whose values are objects with a number per k, or per reason."""
PAIRS_BY_K = {"pass_ci", "maj_ci", "rm_ci"}
PAIRS = {"mean_ci", "efficiency_ci", "over_maj_ci"}
NEVER_NULL = {"step", "benchmark", "unjudged", "clusters"}
MAX_NAME = 1000
"""Characters of a name in a row."""
EVENTS = ("warn", "stop", "return")
TOTAL_KEYS = ("step", "suite", "mean_over", "temperature", "acc", "ci_low", "ci_high", "tokens_mean")


def check_numbers(row: Row) -> None:
    """Checks a row of metrics.jsonl: all values are numbers, or null where there is none."""
    try:
        # The fast path: one call of a built-in function per value, because a run has many rows.
        if all(map(math.isfinite, [value for value in row.values() if value is not None])):
            return
    except TypeError:
        pass
    for key, value in row.items():
        if value is not None and not _is_number(value):
            raise _error(key, value, "a number")


def check_eval_row(row: Row, known: Mapping[str, Any]) -> None:
    """Checks the values of the known keys of a row of evals.jsonl, readings.jsonl or totals.jsonl."""
    for key, value in row.items():
        if key in known and (value is not None or key in NEVER_NULL):
            _check_value(key, value)


def _check_value(key: str, value: Any) -> None:
    if key in INTEGERS:
        if not isinstance(value, int) or value < 0:
            raise _error(key, value, "a whole number")
    elif key in TEXTS:
        if not isinstance(value, str) or len(value) > MAX_NAME:
            raise _error(key, value, "a name")
    elif key in MAPPINGS:
        if not isinstance(value, Mapping) or not all(map(_is_number, value.values())):
            raise _error(key, value, "an object of numbers")
    elif key in PAIRS_BY_K:
        if not isinstance(value, Mapping) or not all(map(_is_pair, value.values())):
            raise _error(key, value, "an object of intervals")
    elif key in PAIRS:
        if not _is_pair(value):
            raise _error(key, value, "an interval")
    elif not _is_number(value):
        raise _error(key, value, "a number")


def check_total(row: Row) -> None:
    """Checks a row of totals.jsonl; raises KeyError where a key is missing."""
    check_eval_row({key: row[key] for key in TOTAL_KEYS}, dict.fromkeys(TOTAL_KEYS))


def check_event(row: Row) -> None:
    """Checks a row of events.jsonl."""
    if row.get("event") not in EVENTS:
        raise _error("event", row.get("event"), ", ".join(EVENTS))
    check_numbers({key: value for key, value in row.items() if key not in ("event", "causes")})
    check_causes(row.get("causes", []))
    if not isinstance(row.get("best"), int):
        raise _error("best", row.get("best"), "a step")


def check_causes(causes: Any) -> None:
    """Checks the causes that an alarm names: the name of each with its probability."""
    if not isinstance(causes, list) or not all(isinstance(cause, Mapping) for cause in causes):
        raise _error("causes", causes, "a list of causes")
    for cause in causes:
        if (
            not isinstance(cause.get("cause"), str)
            or len(cause["cause"]) > MAX_NAME
            or not _is_number(cause.get("probability"))
        ):
            raise _error("causes", cause, "a name and a probability")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_number, value))


def _error(key: str, value: Any, expected: str) -> ValueError:
    return ValueError(f"{key} is {shown(value, 60)}; expected {expected}")
