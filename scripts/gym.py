"""Makes the collection of runs with known faults, and calibrates and scores the diagnosis of runs (docs/diagnosis.md).

python scripts/gym.py run --out runs/gym        # 425 runs of 60 steps: some hours on two cores; run it again to resume
python scripts/gym.py run --missing             # only the runs that docs/diagnosis.parquet lacks
python scripts/gym.py reduce runs/gym           # the traces of all runs, as docs/diagnosis.parquet; --add keeps those it has
python scripts/gym.py calibrate                 # src/passus/diagnosis/likelihoods.json, from the training seeds
python scripts/gym.py score                     # docs/diagnosis.json and its figures, from the runs set aside
python scripts/gym.py score --training-seeds    # the same by leaving out one training seed at a time
"""

import argparse
import json
from multiprocessing import Pool
from pathlib import Path

from passus.atomic_io import write_text
from passus.config.experiment import load_experiment
from passus.diagnosis.likelihoods import TABLE, load_likelihoods
from passus.diagnosis.signs import read_signs
from passus.gym.arms import gym_experiment
from passus.gym.calibration import calibrate, training_runs, write_likelihoods
from passus.gym.collection import first_bad_steps, read_collection, reduce_run, with_first_step, write_collection
from passus.gym.drawing import draw_calibration, draw_confusion
from passus.gym.evaluation import cross_validate, score_diagnoses
from passus.launch.runner import Runner
from passus.runs.run_folder import RunFolder, find_runs

COLLECTION = Path("docs/diagnosis.parquet")
SCORES, FIGURES = Path("docs/diagnosis.json"), Path("docs/figures")


def run(out: Path, jobs: int, is_missing: bool) -> int:
    out.mkdir(parents=True, exist_ok=True)
    experiment = out / "gym.toml"
    write_text(experiment, gym_experiment(without=read_collection(COLLECTION) if is_missing else ()))
    return Runner(load_experiment(str(experiment)), [], out, jobs).run()


def reduce(out: Path, is_added: bool) -> None:
    runs = [run for run in find_runs(out) if RunFolder(run).status().get("state") == "finished"]
    traces = read_collection(COLLECTION) if is_added else {}
    first_steps = first_bad_steps(COLLECTION) if is_added else {}
    known = {name: with_first_step(trace, first_steps[name]) for name, trace in traces.items()}
    with Pool() as pool:
        found = known | dict(pool.imap(reduce_run, runs))
    write_collection(sorted(found.items()), COLLECTION)
    print(f"{COLLECTION}: {len(found)} runs, {COLLECTION.stat().st_size / 1e6:.1f} MB")


def calibrate_table() -> None:
    traces = read_collection(COLLECTION)
    table = calibrate({name: read_signs(traces[name]) for name in training_runs(traces)})
    write_likelihoods(table, TABLE)
    print(f"{TABLE}: weights {table.weights}, prior {table.prior}")


def score(is_training: bool) -> None:
    traces, first_steps, table = read_collection(COLLECTION), first_bad_steps(COLLECTION), load_likelihoods()
    score_runs = cross_validate if is_training else score_diagnoses
    whole = score_runs(traces, first_steps, table)
    means = score_runs(traces, first_steps, table, lambda trace: trace.means_only())
    which = "training seeds, each left out in turn" if is_training else "seeds set aside"
    write_text(SCORES, json.dumps({"runs": which, "whole": whole.to_json(), "means": means.to_json()}, indent=1) + "\n")
    draw_confusion(whole, f"Runs of the {which}, by fault and answer", FIGURES / "diagnosis-confusion.png")
    draw_calibration({"whole record": whole, "means only": means}, FIGURES / "diagnosis-calibration.png")
    for name, scores in (("whole record", whole), ("means only", means)):
        print(
            f"{name}: right cause first {scores.first}/{scores.faulty}, among three {scores.among_three}/{scores.faulty}, "
            f"dated {scores.dated}/{scores.first}, healthy called faulty {scores.called_faulty}/{scores.healthy}, "
            f"unseen {scores.unseen_right}/{scores.unseen}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--out", type=Path, default=Path("runs/gym"))
    running.add_argument("--jobs", type=int, default=2)
    running.add_argument("--missing", action="store_true")
    reducing = commands.add_parser("reduce")
    reducing.add_argument("out", type=Path)
    reducing.add_argument("--add", action="store_true")
    commands.add_parser("calibrate")
    commands.add_parser("score").add_argument("--training-seeds", action="store_true")
    given = parser.parse_args()
    match given.command:
        case "run":
            return run(given.out, given.jobs, given.missing)
        case "reduce":
            reduce(given.out, given.add)
        case "calibrate":
            calibrate_table()
        case _:
            score(given.training_seeds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
