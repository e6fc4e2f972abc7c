"""How well diagnosis does on runs that no rule was made with: the right cause, its first bad step, and false alarms.

Shapes: N runs.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from passus.diagnosis.causes import HEALTHY
from passus.diagnosis.diagnose import Diagnosis, Health, diagnose
from passus.diagnosis.likelihoods import Likelihoods
from passus.diagnosis.signs import read_signs
from passus.diagnosis.trace import Trace
from passus.gym.arms import TEST_SEEDS, cause_of, seed_of
from passus.gym.calibration import count_like, training_runs
from passus.gym.catalogue import SAME_FIX, UNSEEN

EVAL_POINTS = 2
"""Eval points that the first bad step may be off."""
BINS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Edges of the bins of the stated probability in the calibration plot."""


@dataclass
class DiagnosisScores:
    """Counts over the runs that were set aside."""

    faulty: int = 0
    first: int = 0
    """Right cause first."""
    among_three: int = 0
    healthy: int = 0
    called_faulty: int = 0
    """Healthy runs that are called anything else."""
    dated: int = 0
    """Runs with a right cause whose first bad step is at most two eval points off."""
    unseen: int = 0
    unseen_right: int = 0
    """Unseen faults called unknown, or a cause with the same fix."""
    unseen_answers: Counter[str] = field(default_factory=Counter)
    confusion: dict[str, Counter[str]] = field(default_factory=dict)
    stated: list[tuple[float, bool]] = field(default_factory=list)
    """Probability of the first answer, and whether it was right."""

    def to_json(self) -> dict[str, Any]:
        return {
            "faulty": self.faulty, "first": self.first, "among_three": self.among_three, "healthy": self.healthy,
            "called_faulty": self.called_faulty, "dated": self.dated, "unseen": self.unseen, "unseen_right": self.unseen_right,
            "unseen_answers": dict(self.unseen_answers), "confusion": {k: dict(v) for k, v in sorted(self.confusion.items())},
            "calibration": self.calibration(),
        }  # fmt: skip

    def calibration(self) -> list[dict[str, float]]:
        """Returns the share of right answers per bin of the stated probability."""
        rows = []
        for low, high in itertools.pairwise(BINS):
            own = [(p, right) for p, right in self.stated if low < p <= high]
            if own:
                share = sum(right for _, right in own) / len(own)
                rows.append({"stated": sum(p for p, _ in own) / len(own), "right": share, "runs": len(own)})
        return rows


def score_diagnoses(
    traces: Mapping[str, Trace], first_steps: Mapping[str, int], likelihoods: Likelihoods,
    view: Callable[[Trace], Trace] = lambda trace: trace,
) -> DiagnosisScores:  # fmt: skip
    """Diagnoses the runs of the test seeds, and all runs with unseen faults. `view` takes parts of the record away."""
    scores = DiagnosisScores()
    for run in sorted(traces):
        if seed_of(run) in TEST_SEEDS or cause_of(run) in UNSEEN:
            _count(scores, run, traces[run], diagnose(view(traces[run]), likelihoods), first_steps[run])
    return scores


def cross_validate(
    traces: Mapping[str, Trace], first_steps: Mapping[str, int], likelihoods: Likelihoods,
    view: Callable[[Trace], Trace] = lambda trace: trace,
) -> DiagnosisScores:  # fmt: skip
    """Diagnoses every run of the training seeds with a table that was counted without the runs of its seed.

    The rules were written with these runs, so that this flatters the rules a little, but not the table.
    """
    scores, runs = DiagnosisScores(), sorted(training_runs(traces))
    signs = {run: read_signs(traces[run]) for run in runs}
    for seed in sorted(set(map(seed_of, runs))):
        table = count_like(likelihoods, signs, [run for run in runs if seed_of(run) != seed])
        for run in (run for run in runs if seed_of(run) == seed):
            _count(scores, run, traces[run], diagnose(view(traces[run]), table), first_steps[run])
    return scores


def _count(scores: DiagnosisScores, run: str, trace: Trace, diagnosis: Diagnosis, first_step: int) -> None:
    cause = cause_of(run)
    if cause in UNSEEN:
        _count_unseen(scores, cause, diagnosis)
    elif cause == HEALTHY:
        _count_healthy(scores, diagnosis)
    else:
        _count_known(scores, cause, diagnosis, first_step, _eval_distance(trace))


def answer(diagnosis: Diagnosis) -> str:
    """Returns the first answer: a cause, healthy or unknown."""
    return diagnosis.causes[0].cause.name if diagnosis.verdict is Health.FAULTY else str(diagnosis.verdict)


def _confidence(diagnosis: Diagnosis) -> float:
    match diagnosis.verdict:
        case Health.HEALTHY:
            return diagnosis.healthy
        case Health.UNKNOWN:
            return diagnosis.unknown
        case _:
            return diagnosis.causes[0].probability if diagnosis.causes else 0.0


def _count_unseen(scores: DiagnosisScores, cause: str, diagnosis: Diagnosis) -> None:
    given = answer(diagnosis)
    scores.unseen += 1
    scores.unseen_right += given == Health.UNKNOWN or given in SAME_FIX.get(cause, ())
    scores.unseen_answers[f"{cause}: {given}"] += 1


def _count_healthy(scores: DiagnosisScores, diagnosis: Diagnosis) -> None:
    scores.healthy += 1
    scores.called_faulty += diagnosis.verdict is not Health.HEALTHY
    scores.confusion.setdefault(HEALTHY, Counter())[answer(diagnosis)] += 1
    scores.stated.append((_confidence(diagnosis), diagnosis.verdict is Health.HEALTHY))


def _count_known(scores: DiagnosisScores, cause: str, diagnosis: Diagnosis, first_step: int, distance: float) -> None:
    given = answer(diagnosis)
    scores.faulty += 1
    scores.first += given == cause
    scores.among_three += cause in [estimate.cause.name for estimate in diagnosis.causes]
    scores.confusion.setdefault(cause, Counter())[given] += 1
    scores.stated.append((_confidence(diagnosis), given == cause))
    if given == cause and diagnosis.since is not None:
        scores.dated += abs(diagnosis.since - first_step) <= EVAL_POINTS * distance


def _eval_distance(trace: Trace) -> float:
    step_T = trace.evals["step"]
    return float(step_T[1] - step_T[0]) if len(step_T) > 1 else 1.0


def confusion_rows(scores: DiagnosisScores) -> Sequence[tuple[str, str, int]]:
    """Returns the wrong answers: cause, answer, runs."""
    return [
        (cause, given, count)
        for cause, answers in sorted(scores.confusion.items())
        for given, count in answers.most_common()
        if given != cause
    ]
