"""Rows of candidates files."""

from typing import Any

RIGHT, WRONG = "correct", "wrong"


def candidate_row(item: int, completion: str, verdict: str, score: float | None = 0.0, benchmark: str = "b") -> dict[str, Any]:
    return {
        "benchmark": benchmark, "item": item, "question": f"q{item}", "gold": "1", "completion": completion, "verdict": verdict,
        "extracted": completion[-1:], "score": score,
    }  # fmt: skip
