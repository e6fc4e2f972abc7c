"""Calibrates the diagnosis: counts signs in the runs of the collection, and chooses how much of a sign's evidence counts.

Only the training seeds of the known causes are used. The weight of signs and the prior of `unknown` are chosen by leaving out
seeds, and whole causes, in turn: a cause that is left out should be called unknown.
"""

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from passus.atomic_io import write_text
from passus.diagnosis.causes import HEALTHY, UNKNOWN
from passus.diagnosis.likelihoods import Likelihoods
from passus.diagnosis.sign import Group, Sign
from passus.gym.arms import TEST_SEEDS, cause_of, seed_of
from passus.gym.catalogue import UNSEEN

ACCURACY_WEIGHTS, SIGNAL_WEIGHTS, SURE_WEIGHTS = (0.2, 0.35, 0.5), (0.5, 0.8), (1.0, 1.4)
"""Weights that are tried: of signs of accuracy, of training signals, and of signs in samples and settings."""
UNKNOWN_PRIORS = (0.02, 0.05, 0.1, 0.2)
HEALTHY_PRIOR = 0.3
"""A third of the runs that somebody diagnoses may well be sound."""
FOLDS = 4

Signs = Mapping[str, Sequence[Sign]]
"""Signs by the name of the run."""


def training_runs(runs: Iterable[str]) -> list[str]:
    """Returns the runs that rules may be made from."""
    return [run for run in runs if seed_of(run) not in TEST_SEEDS and cause_of(run) not in UNSEEN]


def calibrate(signs: Signs) -> Likelihoods:
    """Returns the table of counts with the best weights and prior."""
    runs = training_runs(signs)
    choices = itertools.product(ACCURACY_WEIGHTS, SIGNAL_WEIGHTS, SURE_WEIGHTS, UNKNOWN_PRIORS)
    scores = {choice: _score(signs, runs, *choice) for choice in choices}
    return count_signs(signs, runs, *max(scores, key=lambda choice: scores[choice]))


def count_signs(signs: Signs, runs: Sequence[str], accuracy: float, signals: float, sure: float, unknown: float) -> Likelihoods:
    """Counts the signs of runs, with these weights and this prior of `unknown`."""
    there: dict[str, dict[str, int]] = {}
    measured: dict[str, dict[str, int]] = {}
    for run in runs:
        cause = cause_of(run)
        for sign in signs[run]:
            row = measured.setdefault(cause, {})
            row[sign.name] = row.get(sign.name, 0) + 1
            row = there.setdefault(cause, {})
            row[sign.name] = row.get(sign.name, 0) + sign.is_there
    weights: dict[Group, float] = {"accuracy": accuracy, "signals": signals, "samples": sure, "settings": sure}
    return Likelihoods(there, measured, weights, {HEALTHY: HEALTHY_PRIOR, UNKNOWN: unknown})


def count_like(table: Likelihoods, signs: Signs, runs: Sequence[str]) -> Likelihoods:
    """Counts the signs of runs, with the weights and the prior of a table."""
    weights = table.weights
    return count_signs(signs, runs, weights["accuracy"], weights["signals"], weights["samples"], table.prior[UNKNOWN])


def _score(signs: Signs, runs: Sequence[str], accuracy: float, signals: float, sure: float, unknown: float) -> float:
    """Returns the mean log-probability of the right answer, over seeds and causes left out in turn.

    Every cause counts the same, and a cause that is left out as much as one that is known.
    """
    by_cause: dict[str, list[float]] = {}
    for fold in range(FOLDS):
        known = count_signs(signs, [run for run in runs if seed_of(run) % FOLDS != fold], accuracy, signals, sure, unknown)
        for run in (run for run in runs if seed_of(run) % FOLDS == fold):
            by_cause.setdefault(cause_of(run), []).append(_log_probability(known, signs[run], cause_of(run)))
    everything = count_signs(signs, runs, accuracy, signals, sure, unknown)
    for cause in everything.causes:
        without = Likelihoods(
            {name: row for name, row in everything.there.items() if name != cause},
            {name: row for name, row in everything.measured.items() if name != cause}, everything.weights,
            everything.prior,
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
    head = f'"weights": {json.dumps(likelihoods.weights)}, "prior": {json.dumps(likelihoods.prior)}'
    text = f'{{{head}, "counts": {{\n{lines}\n}}}}\n'
    write_text(path, text)
