"""TOML of experiment files, which anybody may have written: size, keys, nesting and numbers are bounded."""

import tomllib
from typing import Any

from passus.bounded_json import check_values
from passus.errors import UsageError

MAX_BYTES = 1 << 19
"""Size of an experiment file."""
MAX_DOTS = 100
"""Dots in a key or a table's name. The time that TOML's parser takes for a key is quadratic in them."""
MAX_DEPTH = 8
"""Nesting of tables and lists. No field needs more than four levels."""


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Parses an experiment file, or the value of an override. Raises UsageError for anything that is not such a text."""
    _check_size(text, source)
    try:
        tables = tomllib.loads(text)
        check_values(tables, MAX_DEPTH)
    except RecursionError:
        raise UsageError(f"{source} is nested too deeply", expected=f"at most {MAX_DEPTH} levels of tables and lists") from None
    except ValueError as error:
        raise UsageError(f"{source} is not TOML: {error}") from None
    return tables


def _check_size(text: str, source: str) -> None:
    if len(text) > MAX_BYTES:
        raise UsageError(f"{source} has {len(text):,} characters", expected=f"at most {MAX_BYTES:,}")
    for number, line in enumerate(text.splitlines(), start=1):
        *keys, last = line.split("=")  # only what stands before an equals sign, or in brackets, can be a key
        keys += [last] if line.lstrip().startswith("[") else []
        if any(key.count(".") > MAX_DOTS for key in keys):
            raise UsageError(
                f"{source}, line {number}: a key with more than {MAX_DOTS} dots", expected="a key such as train.steps"
            )
