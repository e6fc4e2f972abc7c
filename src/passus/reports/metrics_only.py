"""Reports of runs that record metrics and no accuracy, as other tools often leave them."""

from collections.abc import Sequence

from passus.diagnosis.diagnose import diagnose
from passus.diagnosis.trace import read_trace
from passus.diagnosis.wording import sentence
from passus.reports.document import Block
from passus.runs.read_curves import recorded_names
from passus.runs.run_folder import RunFolder

MAX_METRICS = 30
"""Metrics that the report names."""


def no_accuracy(runs: Sequence[RunFolder]) -> str:
    """Says that nothing can be told about accuracy, and what is recorded."""
    names = sorted(set(recorded_names(runs)) - {"step"})
    more = f" and {len(names) - MAX_METRICS} more" if len(names) > MAX_METRICS else ""
    text = f"{len(runs)} run{'s' * (len(runs) > 1)} without accuracy, so that nothing is compared. Recorded metrics: "
    text += f"{', '.join(names[:MAX_METRICS])}{more}. passus plot --y NAME draws one of them."
    is_imported = any(run.is_imported for run in runs)
    hint = " If one of them is an accuracy, passus import --accuracy NAME makes it one." if is_imported else ""
    return text + hint


def diagnosis_blocks(runs: Sequence[RunFolder]) -> list[Block]:
    """Returns what training metrics alone say about each run."""
    return [f"{run.path.name}: {sentence(diagnose(read_trace(run)))}" for run in runs]
