"""Counts the events of the charts in runs of the experiments that make and remove them, and draws them (docs/diagnosis.md).

passus run collapse --out runs/collapse         # likewise low-plateau and late-fall: some minutes each on two cores
python scripts/events.py runs                   # docs/events.json, docs/figures/event-*.png
"""

import json
import sys
from pathlib import Path

import numpy as np

import passus
from passus.atomic_io import write_text
from passus.diagnosis.diagnose import diagnose
from passus.diagnosis.trace import read_trace
from passus.gym.evaluation import answer
from passus.gym.events import EVENTS
from passus.runs.run_folder import RunFolder

COUNTS, FIGURES = Path("docs/events.json"), Path("docs/figures")


def count(folder: Path, event: str) -> dict[str, dict[str, object]]:
    """Counts the runs that show the event, for the cause and for its fix, with what the diagnosis says of each."""
    rows: dict[str, dict[str, object]] = {}
    for run in passus.load(folder):
        arm = run.name.partition("_seed")[0]
        row = rows.setdefault(arm, {"runs": 0, "event": 0, "first": [], "last": [], "diagnoses": {}})
        y_T = np.array([point.acc for point in RunFolder(run.path).evals()])
        given = answer(diagnose(read_trace(RunFolder(run.path))))
        row["runs"] += 1
        row["event"] += EVENTS[event](y_T)
        row["first"].append(round(float(y_T[0]), 3))
        row["last"].append(round(float(y_T[-1]), 3))
        row["diagnoses"][given] = row["diagnoses"].get(given, 0) + 1
    return rows


def main(runs: Path) -> int:
    counts = {}
    for event in EVENTS:
        counts[event] = count(runs / event, event)
        figure = passus.load(runs / event).plot()
        figure.savefig(FIGURES / f"event-{event}.png", dpi=130)
        for arm, row in counts[event].items():
            print(f"{event}: {arm}: {row['event']} of {row['runs']} runs; diagnoses {row['diagnoses']}")
    write_text(COUNTS, json.dumps(counts, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs")))
