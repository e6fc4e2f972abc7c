"""Recorded values: numbers, steps, scores, texts and settings, as the tools spell them."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

GAPS = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}
"""Texts in which tools write what JSON has no number for."""
MISSING = {"", "none", "null", "na", "n/a"}
TRUE, FALSE = {"true", "yes", "correct"}, {"false", "no", "incorrect", "wrong"}
MAX_STEP = 1 << 53
"""Steps beyond it are not whole numbers in every tool."""
LARGEST = 1.7976931348623157e308
"""The largest float, as which MLflow writes infinity."""
MAX_NAME = 1000
"""Characters of the name of a run, a metric or a benchmark."""
MAX_SETTINGS, MAX_SETTING_DEPTH = 20_000, 12


def to_number(value: object) -> float | None:
    """Returns a recorded number, NaN for a gap, and None for what is not a number."""
    if isinstance(value, (int, float)):
        return finite(value)
    if value is None:
        return math.nan
    if isinstance(value, str) and value.strip().lower() in GAPS:
        return math.nan
    return None


def finite(value: int | float) -> float:
    """Returns a number as a float, and NaN for what is not finite."""
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    return number if abs(number) < LARGEST else math.nan


def parse_number(text: str, decimal_comma: bool = False) -> float | None:
    """Returns the number in a cell of text, NaN for a gap, and None for what is not a number. An empty cell is no gap."""
    text = text.strip()
    if decimal_comma and text.count(",") == 1:
        text = text.replace(",", ".")
    if text.lower() in GAPS or (text and text.lower() in MISSING):
        return math.nan
    try:
        return finite(float(text)) if "_" not in text else None
    except ValueError:
        return None


def to_step(value: object) -> int | None:
    """Returns a recorded step as a whole number from 0; None for what is none."""
    if isinstance(value, str):
        value = parse_number(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_STEP:
        return value
    return None


def to_score(value: object) -> float | None:
    """Returns the score of a sample as a number of any size; None for what is no score. Tools write bools also as texts."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in TRUE or word in FALSE:
            return float(word in TRUE)
        value = parse_number(value)
    if isinstance(value, (int, float)) and not math.isnan(number := finite(value)):
        return number
    return None


def is_share(value: float | None) -> bool:
    return value is not None and 0 <= value <= 1


def clean(text: str) -> str:
    """Returns a text that can be written to a file: lone surrogates become question marks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def to_text(value: object) -> str | None:
    """Returns a recorded text; other values as JSON, and None as None."""
    if value is None:
        return None
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def to_name(value: object) -> str:
    """Returns a name of bounded length on one line."""
    return clean(" ".join(str(value).split()))[:MAX_NAME]


def message_text(content: object) -> str | None:
    """Returns the text of a message, whose content is a text or a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return clean("\n".join(part for part in parts if isinstance(part, str)))
    return clean(content) if isinstance(content, str) else None


def chat_text(messages: object) -> str | None:
    """Returns the texts of a list of messages with their roles; a single text as it is."""
    if not isinstance(messages, list):
        return message_text(messages)
    lines = [(m.get("role"), message_text(m.get("content"))) for m in messages if isinstance(m, dict)]
    return clean("\n".join(f"{role}: {text}" for role, text in lines if text))


def flatten(settings: object, prefix: str = "") -> dict[str, Any]:
    """Returns nested settings with dotted keys. Lists stay whole; what is too deep becomes a text."""
    pairs: dict[str, Any] = {}
    for key, value in _leaves(settings, prefix, 0):
        if len(pairs) >= MAX_SETTINGS:
            break
        pairs[to_name(key)] = clean(value) if isinstance(value, str) else value
    return pairs


def _leaves(value: object, key: str, depth: int) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        if key:
            yield key, value
    elif depth >= MAX_SETTING_DEPTH:
        yield key, str(value)[:MAX_NAME]
    else:
        for name, child in value.items():
            yield from _leaves(child, f"{key}.{name}" if key else str(name), depth + 1)


def numbers_of(row: Mapping[str, Any], separator: str = "/") -> Iterator[tuple[str, Any]]:
    """Yields the names and values of a row whose objects are nested metrics. Objects with a `_type` are media."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            if "_type" not in value:
                yield from ((f"{name}{separator}{key}", child) for key, child in numbers_of(value, separator))
        else:
            yield name, value


def as_object(value: object) -> dict[str, Any]:
    """Returns an object of JSON, and an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Returns a list of JSON, and an empty one for what is none."""
    return value if isinstance(value, list) else []
