"""The diagnosis of one run: up to three causes with probabilities, the signs that speak for each, and what to try.

It reads the record and the settings alone. A fault on purpose stands in the settings too, and is not looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from passus.diagnosis.causes import CAUSES, HEALTHY, UNKNOWN, Cause
from passus.diagnosis.likelihoods import Likelihoods, load_likelihoods
from passus.diagnosis.sign import Sign
from passus.diagnosis.signs import read_signs
from passus.diagnosis.trace import Trace

MOST_CAUSES, MOST_SIGNS = 3, 4
LEAST_PROBABILITY = 0.05
"""Probability below which a cause is not named."""
MIN_STEPS, MIN_EVALS = 10, 4
"""Steps with metrics without which nothing is said, and eval points without which the record lacks something."""


class Health(StrEnum):
    """The verdict on a run."""

    HEALTHY = "healthy"
    FAULTY = "faulty"
    """A known cause is the most probable."""
    UNKNOWN = "unknown"
    """Something is wrong, and it is none of the known causes."""
    UNTESTABLE = "untestable"
    """The record is too short, or lacks what diagnosis reads."""


@dataclass(frozen=True)
class CauseEstimate:
    cause: Cause
    probability: float
    signs: tuple[Sign, ...]
    """Signs that speak for it, the strongest first."""
    since: float | None
    """First step with the defect; None where no sign dates it."""


@dataclass(frozen=True)
class Diagnosis:
    verdict: Health
    healthy: float
    """Probability that nothing is wrong."""
    unknown: float
    """Probability of a cause that is not known here."""
    causes: tuple[CauseEstimate, ...] = ()
    signs: tuple[Sign, ...] = ()
    """All signs that are there."""
    lacks: tuple[str, ...] = ()
    """What the record lacks, in words."""

    @property
    def since(self) -> float | None:
        """First bad step: that of the most probable cause, else of the earliest sign that dates itself."""
        if self.causes and self.verdict is Health.FAULTY:
            return self.causes[0].since
        return min((sign.since for sign in self.signs if sign.since is not None), default=None)

    def causes_in_short(self) -> list[dict[str, Any]]:
        """Returns names and probabilities, as an alarm's event records them."""
        return [{"cause": e.cause.name, "probability": round(e.probability, 4)} for e in self.causes]

    def to_json(self) -> dict[str, Any]:
        causes = [
            {
                "cause": estimate.cause.name, "probability": round(estimate.probability, 4), "words": estimate.cause.words,
                "fix": estimate.cause.fix, "since": estimate.since, "signs": [sign.name for sign in estimate.signs],
            }
            for estimate in self.causes
        ]  # fmt: skip
        signs = [{"name": sign.name, "text": sign.words, "since": sign.since} for sign in self.signs]
        return {
            "verdict": str(self.verdict), "healthy": round(self.healthy, 4), "unknown": round(self.unknown, 4),
            "since": self.since, "causes": causes, "signs": signs, "lacks": list(self.lacks),
        }  # fmt: skip


def diagnose(trace: Trace, likelihoods: Likelihoods | None = None) -> Diagnosis:
    """Weighs the signs of a run under every known cause."""
    lacks = _lacks(trace)
    if len(trace.metrics["step"]) < MIN_STEPS:
        return Diagnosis(Health.UNTESTABLE, 0.0, 0.0, lacks=lacks)
    likelihoods = likelihoods or load_likelihoods()
    signs = read_signs(trace)
    probabilities = likelihoods.probabilities(signs)
    named = [cause for cause in probabilities if cause in CAUSES and probabilities[cause] >= LEAST_PROBABILITY][:MOST_CAUSES]
    first = next(iter(probabilities))
    verdict = {HEALTHY: Health.HEALTHY, UNKNOWN: Health.UNKNOWN}.get(first, Health.FAULTY)
    estimates = [_estimate(CAUSES[cause], probabilities[cause], signs, likelihoods) for cause in named]
    there = tuple(sign for sign in signs if sign.is_there)
    return Diagnosis(verdict, probabilities[HEALTHY], probabilities[UNKNOWN], tuple(estimates), there, lacks)


def _estimate(cause: Cause, probability: float, signs: Sequence[Sign], likelihoods: Likelihoods) -> CauseEstimate:
    known, evidence_CM = likelihoods.evidence(signs)
    gain_M = evidence_CM[likelihoods.names.index(cause.name)] - evidence_CM[likelihoods.names.index(HEALTHY)]
    gains = [(gain, sign) for gain, sign in zip(gain_M.tolist(), known, strict=True) if sign.is_there and gain > 0]
    strongest = sorted(gains, key=lambda pair: -pair[0])[:MOST_SIGNS]
    return CauseEstimate(cause, probability, tuple(sign for _, sign in strongest), _first_bad_step(cause, signs))


def _first_bad_step(cause: Cause, signs: Sequence[Sign]) -> float | None:
    if not cause.timing:
        return 1.0
    dated = {sign.name: sign.since for sign in signs if sign.is_there and sign.since is not None}
    return next((dated[name] for name in cause.timing if name in dated), None)


def _lacks(trace: Trace) -> tuple[str, ...]:
    steps, evals = len(trace.metrics["step"]), len(trace.evals["step"])
    lacks = {
        f"metrics of at least {MIN_STEPS} steps (it has {steps})": steps < MIN_STEPS,
        f"at least {MIN_EVALS} eval points (it has {evals})": evals < MIN_EVALS,
        "training samples": not trace.samples,
        "eval items with the same noise": "unchanged" not in trace.evals,  # which runs of other tools never have
        "settings of passus": not trace.settings,
    }
    return tuple(words for words, is_missing in lacks.items() if is_missing)
