"""What an analysis finds: a claim about curves with its numbers, what it rests on, and whether it holds.

Evidence levels: L0 points alone; L1 also how many items and samples are behind a point; L2 every item; L3 several seeds. One
run an arm says something of these checkpoints; only L3 says something of the method.
"""

import math
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

PLAUSIBLE = 0.10
"""A larger change than this is not to be expected of a late drop or of a method: who cannot see less, cannot see."""
OVERALL = "mean of the benchmarks"
"""In a benchmark's place: each counts the same."""
QUESTIONS = {
    "A1": "improvement", "A2": "plateau", "A3": "late degradation", "A4": "dips and spikes", "A5": "scatter",
    "A6": "comparison", "A7": "tiers", "A8": "speed", "A9": "common start", "A10": "length and accuracy",
    "A11": "stability", "A12": "size", "A13": "early dip", "A14": "best checkpoint", "A15": "audit",
    "A16": "cause of a drop", "A17": "token budget", "A18": "items solved and forgotten", "A19": "sensitivity",
    "A20": "legibility",
}  # fmt: skip


class Verdict(StrEnum):
    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    UNDERPOWERED = "underpowered"
    """The data could not have shown it if it were so."""
    UNTESTABLE = "untestable"
    """The data do not bear on it."""


@dataclass
class Finding:
    id: str
    series: str
    """Line, or lines, it is about."""
    benchmark: str
    claim: str
    """A statement that the verdict is on."""
    verdict: Verdict
    level: str
    said: str
    """What the data say, in a sentence with its numbers."""
    numbers: dict[str, float] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    """95 % interval of the effect, not adjusted for multiplicity."""
    p: float | None = None
    q: float | None = None
    """p after Benjamini and Hochberg over all tests of the report."""
    line: int | None = None
    """Of the text that makes the claim."""

    @property
    def question(self) -> str:
        return QUESTIONS[self.id]

    def to_json(self) -> dict[str, Any]:
        given = asdict(self) | {"question": self.question, "verdict": str(self.verdict)}
        given["numbers"] = {key: value for key, value in self.numbers.items() if math.isfinite(value)}
        return {key: v for key, v in given.items() if v is not None and not (isinstance(v, float) and not math.isfinite(v))}
