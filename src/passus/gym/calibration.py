"""Calibrates the diagnosis: counts signs in the runs of the collection, and chooses how much of a sign's evidence counts.

Only the training seeds of the known causes are used. The weight of signs and the prior of `unknown` are chosen by leaving out
seeds, and whole causes, in turn: a cause that is left out should be called unknown.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from passus.atomic_io import write_text
from passus.diagnosis.causes import HEALTHY, UNKNOWN
from passus.diagnosis.likelihoods import Likelihoods
from passus.diagnosis.sign import Sign
from passus.gym.arms import TEST_SEEDS, cause_of, seed_of
from passus.gym.catalogue import UNSEEN

WEIGHTS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0)
UNKNOWN_PRIORS = (0.02, 0.05, 0.1, 0.15, 0.2)
HEALTHY_PRIOR = 0.5
"""Half of the runs that somebody diagnoses may well be sound."""
FOLDS = 4

Signs = Mapping[str, Sequence[Sign]]
"""Signs by the name of the run."""


def training_runs(runs: Iterable[str]) -> list[str]:
    """Returns the runs that rules may be made from."""
    return [run for run in runs if seed_of(run) not in TEST_SEEDS and cause_of(run) not in UNSEEN]


def calibrate(signs: Signs) -> Likelihoods:
    """Returns the table of counts with the best weight and prior."""
    runs = training_runs(signs)
    scores = {(weight, unknown): _score(signs, runs, weight, unknown) for weight in WEIGHTS for unknown in UNKNOWN_PRIORS}
    weight, unknown = max(scores, key=lambda choice: scores[choice])
    return count_signs(signs, runs, weight, unknown)


def count_signs(signs: Signs, runs: Sequence[str], weight: float, unknown: float) -> Likelihoods:
    there: dict[str, dict[str, int]] = {}
    measured: dict[str, dict[str, int]] = {}
    for run in runs:
        cause = cause_of(run)
        for sign in signs[run]:
            row = measured.setdefault(cause, {})
            row[sign.name] = row.get(sign.name, 0) + 1
            row = there.setdefault(cause, {})
            row[sign.name] = row.get(sign.name, 0) + sign.is_there
    return Likelihoods(there, measured, weight, {HEALTHY: HEALTHY_PRIOR, UNKNOWN: unknown})


def _score(signs: Signs, runs: Sequence[str], weight: float, unknown: float) -> float:
    """Returns the mean log-probability of the right answer, over seeds and causes left out in turn.

    Every cause counts the same, and a cause that is left out as much as one that is known.
    """
    by_cause: dict[str, list[float]] = {}
    for fold in range(FOLDS):
        known = count_signs(signs, [run for run in runs if seed_of(run) % FOLDS != fold], weight, unknown)
        for run in (run for run in runs if seed_of(run) % FOLDS == fold):
            by_cause.setdefault(cause_of(run), []).append(_log_probability(known, signs[run], cause_of(run)))
    everything = count_signs(signs, runs, weight, unknown)
    for cause in everything.causes:
        without = Likelihoods(
            {name: row for name, row in everything.there.items() if name != cause},
            {name: row for name, row in everything.measured.items() if name != cause}, weight, everything.prior,
        )  # fmt: skip
        own = [run for run in runs if cause_of(run) == cause]
        by_cause[f"without {cause}"] = [_log_probability(without, signs[run], UNKNOWN) for run in own]
    means = [sum(values) / len(values) for values in by_cause.values()]
    return sum(means) / len(means)


def _log_probability(likelihoods: Likelihoods, signs: Sequence[Sign], truth: str) -> float:
    return math.log(max(likelihoods.probabilities(signs).get(truth, 0.0), 1e-6))


def write_likelihoods(likelihoods: Likelihoods, path: Path) -> None:
    """Writes the table: per cause and sign, the runs that have it and those in which it could be read."""
    counts = {
        cause: {sign: [likelihoods.there[cause][sign], n] for sign, n in sorted(row.items())}
        for cause, row in sorted(likelihoods.measured.items())
    }
    lines = ",\n".join(f'  "{cause}": {json.dumps(row)}' for cause, row in counts.items())
    text = f'{{"weight": {likelihoods.weight}, "prior": {json.dumps(likelihoods.prior)}, "counts": {{\n{lines}\n}}}}\n'
    write_text(path, text)
