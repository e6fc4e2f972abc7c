"""JSON as the page sends it."""

import json


def to_json(value: object) -> str:
    """Returns compact JSON that can be encoded whatever a text holds: half of a surrogate pair becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode("utf-8")
