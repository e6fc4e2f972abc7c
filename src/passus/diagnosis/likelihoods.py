"""How likely the signs of a run are under each cause: counts from the collection of runs with known faults.

Every sign is there or not. The counts say in how many runs with a cause it was there; a cause is likely if it makes the signs
likely that are there, and those unlikely that are not. Signs of one group overlap, so each counts for less than it would alone
(`weights`). "Unknown" has the signs as often as all faults together have them: it wins where the pattern fits none of them.

Shapes: C causes with `healthy` and `unknown`, M signs of the table.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from passus.diagnosis.causes import HEALTHY, UNKNOWN
from passus.diagnosis.sign import Group, Sign

LEAST_RATE = 0.01
"""Least rate of a sign over all causes."""
SMOOTHING = 1.0
"""Runs added to those of every cause, with each sign as often as in all causes together. So a sign that is rare elsewhere says
much where it is there, and no rate is 0 or 1."""
TABLE = Path(__file__).parent / "likelihoods.json"


@dataclass(frozen=True)
class Likelihoods:
    there: Mapping[str, Mapping[str, int]]
    """Runs with a sign, by cause and sign."""
    measured: Mapping[str, Mapping[str, int]]
    """Runs in which the sign could be read, likewise."""
    weights: Mapping[Group, float]
    """Share of a sign's evidence that counts, by its group."""
    prior: Mapping[str, float]
    """Prior probability of `healthy` and of `unknown`; the known causes share the rest equally."""

    @property
    def causes(self) -> list[str]:
        return [cause for cause in self.there if cause != HEALTHY]

    @cached_property
    def signs(self) -> list[str]:
        """Names of all signs of the table."""
        return list(dict.fromkeys(name for row in self.measured.values() for name in row))

    @cached_property
    def names(self) -> list[str]:
        return [HEALTHY, UNKNOWN, *self.causes]

    @cached_property
    def rates_CM(self) -> np.ndarray:
        """The probability of every sign under every cause, in the order of `names` and `signs`."""
        counts = [
            np.array([[table.get(cause, {}).get(sign, 0) for sign in self.signs] for cause in (HEALTHY, *self.causes)], float)
            for table in (self.there, self.measured)
        ]
        there_CM, measured_CM = counts
        with np.errstate(invalid="ignore"):
            common_M = np.nanmean(np.where(measured_CM > 0, there_CM / measured_CM, np.nan), axis=0)
        common_M = np.clip(common_M, LEAST_RATE, 1 - LEAST_RATE)
        rates_CM = (there_CM + SMOOTHING * common_M) / (measured_CM + SMOOTHING)
        return np.vstack([rates_CM[:1], rates_CM[1:].mean(0), rates_CM[1:]])

    def evidence(self, signs: Sequence[Sign]) -> tuple[list[Sign], np.ndarray]:
        """Returns the signs that the table knows, and the log-likelihood [C, M] of each under every cause."""
        place = {name: m for m, name in enumerate(self.signs)}
        known = [sign for sign in signs if sign.name in place]
        rates_CM = self.rates_CM[:, [place[sign.name] for sign in known]]
        is_there_M = np.array([sign.is_there for sign in known], dtype=bool)
        weight_M = np.array([self.weights[sign.group] for sign in known])
        return known, weight_M * np.log(np.where(is_there_M, rates_CM, 1 - rates_CM))

    def probabilities(self, signs: Sequence[Sign]) -> dict[str, float]:
        """Returns the probability of every cause, of `healthy` and of `unknown`, the most probable first."""
        share = (1 - sum(self.prior.values())) / len(self.causes)
        prior_C = np.array([self.prior.get(name, share) for name in self.names])
        score_C = np.log(prior_C) + self.evidence(signs)[1].sum(1)
        weight_C = np.exp(score_C - score_C.max())
        order = np.argsort(-weight_C)
        return {self.names[c]: float(weight_C[c] / weight_C.sum()) for c in order}


@cache
def load_likelihoods() -> Likelihoods:
    """Loads the table that comes with passus."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    there, measured = (
        {cause: {sign: counts[n] for sign, counts in row.items()} for cause, row in table["counts"].items()} for n in (0, 1)
    )
    return Likelihoods(there, measured, table["weights"], table["prior"])
