"""A finding: a claim about curves with its numbers, its evidence, its scope and a conclusion.

Evidence levels: L0 has points only, L1 also the number of items and samples behind a point, L2 every item and sample, L3
several runs per arm. Only with several runs per arm has a claim the scope of a configuration.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

PLAUSIBLE_EFFECT = 0.10
"""The largest change to be expected of a late fall or of a method. A test that detects only larger ones is underpowered."""
OVERALL = "mean of the benchmarks"
"""Stands in place of a benchmark's name: the mean in which each benchmark counts the same."""
QUESTIONS = {
    "A1": "improvement", "A2": "plateau", "A3": "late degradation", "A4": "dips and spikes", "A5": "scatter",
    "A6": "comparison", "A7": "tiers", "A8": "speed", "A9": "common start", "A10": "length and accuracy",
    "A11": "stability", "A12": "size", "A13": "early dip", "A14": "best checkpoint", "A15": "audit",
    "A16": "diagnosis", "A17": "token budget", "A18": "items solved and forgotten", "A19": "sensitivity",
    "A20": "legibility", "A21": "aggregate", "A22": "learning-curve fit",
}  # fmt: skip
EVIDENCE = {"L0": "points only", "L1": "counts", "L2": "items + samples", "L3": "several seeds"}


class Scope(StrEnum):
    CHECKPOINT = "checkpoint"
    """About these weights, on items like these. Items are the unit, and other seeds may give another result."""
    CONFIGURATION = "configuration"
    """About a method, family, size or setting. Runs are the unit."""


class Conclusion(StrEnum):
    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    UNDERPOWERED = "underpowered"
    """The data could not have shown the claim if it were true."""
    UNTESTABLE = "untestable"
    """The data do not bear on the claim."""


@dataclass
class Finding:
    id: str
    """Code of the question, for JSON and docs/analysis.md; people read `name`."""
    series: str
    """The line, or lines, that it is about."""
    benchmark: str
    claim: str
    verdict: Conclusion
    """Whether the data support the claim."""
    level: str
    """Code of the evidence level, for JSON and docs/analysis.md; people read `evidence`."""
    sentence: str
    """The result in words: the number, its meaning, and how sure it is."""
    numbers: dict[str, float] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    """CI of the effect, not adjusted for multiplicity: 95 %, and 90 % for the share of a variance (A19)."""
    p: float | None = None
    q: float | None = None
    """p after Holm's correction over all tests of the report."""
    line: int | None = None
    """Line of the chart description that makes the claim."""
    scope: Scope = Scope.CHECKPOINT
    items: int | None = None
    """Items behind it."""
    seeds: int | None = None
    """Runs per arm, the smallest number where arms differ."""
    margin: float | None = None
    """Margin that the claim was tested against, where there is one."""

    @property
    def name(self) -> str:
        return QUESTIONS[self.id]

    @property
    def evidence(self) -> str:
        return EVIDENCE[self.level]

    def to_json(self) -> dict[str, Any]:
        """Returns the finding without missing and non-finite values."""
        numbers = {key: value for key, value in self.numbers.items() if math.isfinite(value)}
        has_interval = self.low is not None and self.high is not None and math.isfinite(self.low + self.high)
        fields = {
            "id": self.id, "name": self.name, "series": self.series, "benchmark": self.benchmark, "claim": self.claim,
            "scope": str(self.scope), "verdict": str(self.verdict), "level": self.level, "evidence": self.evidence,
            "estimate": next(iter(numbers.values()), None), "interval": [self.low, self.high] if has_interval else None,
            "p": self.p, "q": self.q, "items": self.items, "seeds": self.seeds, "margin": self.margin, "numbers": numbers,
            "line": self.line, "text": self.sentence,
        }  # fmt: skip
        return {key: v for key, v in fields.items() if v is not None and not (isinstance(v, float) and not math.isfinite(v))}


def conclude(p: float, effect: float, detectable: float) -> Conclusion:
    """Decides on the claim that an effect is above 0; `detectable` is the smallest effect found in four of five cases.

    A test that detects only large effects has mostly found luck where it finds a smaller one.
    """
    if detectable <= PLAUSIBLE_EFFECT:
        return Conclusion.SUPPORTED if p < 0.05 and effect > 0 else Conclusion.NOT_SUPPORTED
    return Conclusion.SUPPORTED if p < 0.05 and effect >= detectable else Conclusion.UNDERPOWERED
