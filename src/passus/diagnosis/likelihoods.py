"""How likely the signs of a run are under each cause: counts from the collection of runs with known faults.

Every sign is there or not. The counts say in how many runs with a cause it was there; a cause is likely if it makes the signs
likely that are there, and those unlikely that are not. Signs overlap, so each counts for less than it would alone (`weight`).
"Unknown" has the signs as often as all faults together have them: it wins where the pattern fits none of them.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from passus.diagnosis.causes import HEALTHY, UNKNOWN
from passus.diagnosis.sign import Sign

TABLE = Path(__file__).parent / "likelihoods.json"


@dataclass(frozen=True)
class Likelihoods:
    there: Mapping[str, Mapping[str, int]]
    """Runs with a sign, by cause and sign."""
    measured: Mapping[str, Mapping[str, int]]
    """Runs in which the sign could be read, likewise."""
    weight: float
    """Share of a sign's evidence that counts."""
    prior: Mapping[str, float]
    """Prior probability of `healthy` and of `unknown`; the known causes share the rest equally."""
    smoothing: float = 0.5
    """Runs added with and without each sign, so that no rate is 0 or 1."""

    @property
    def causes(self) -> list[str]:
        return [cause for cause in self.there if cause != HEALTHY]

    def rate(self, cause: str, sign: str) -> float:
        """Returns the probability of a sign under a cause."""
        if cause == UNKNOWN:
            rates = [self.rate(known, sign) for known in self.causes]
            return sum(rates) / len(rates)
        there, measured = self.there[cause].get(sign, 0), self.measured[cause].get(sign, 0)
        return (there + self.smoothing) / (measured + 2 * self.smoothing)

    def evidence(self, cause: str, sign: Sign) -> float:
        """Returns the log-likelihood of a sign that is there or not."""
        rate = self.rate(cause, sign.name)
        return self.weight * math.log(rate if sign.is_there else 1 - rate)

    def probabilities(self, signs: Sequence[Sign]) -> dict[str, float]:
        """Returns the probability of every cause, of `healthy` and of `unknown`, the most probable first."""
        known = [sign for sign in signs if any(sign.name in self.measured[cause] for cause in self.measured)]
        share = (1 - sum(self.prior.values())) / len(self.causes)
        scores = {
            cause: math.log(self.prior.get(cause, share)) + sum(self.evidence(cause, sign) for sign in known)
            for cause in (HEALTHY, UNKNOWN, *self.causes)
        }
        most = max(scores.values())
        weights = {cause: math.exp(score - most) for cause, score in scores.items()}
        total = sum(weights.values())
        return dict(sorted(((cause, value / total) for cause, value in weights.items()), key=lambda pair: -pair[1]))


@cache
def load_likelihoods() -> Likelihoods:
    """Loads the table that comes with passus."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    there, measured = (
        {cause: {sign: counts[n] for sign, counts in row.items()} for cause, row in table["counts"].items()} for n in (0, 1)
    )
    return Likelihoods(there, measured, table["weight"], table["prior"])
