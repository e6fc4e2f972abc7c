"""Compares what HEAD records with what the base commit records, bit for bit, on one machine.

    make golden            or:  python scripts/golden.py [EXPERIMENT ...]

The base commit is named in tests/golden/BASE and is checked out into a temporary git worktree. Every experiment in
tests/golden runs twice, side by side: once by the base commit, once by the working tree. Metrics (without `time/`), eval
points, item rows, samples, candidates and final weights must be equal, and so must the data behind the figure. Where the
base spells a field differently, tests/golden/base holds its version of the experiment.

A change that alters results on purpose moves BASE to the last commit before it, and says why in its message.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
LINES = ("metrics.jsonl", "evals.jsonl", "totals.jsonl", "readings.jsonl", "events.jsonl")


def main(names: list[str]) -> int:
    base = (GOLDEN / "BASE").read_text().strip()
    experiments = [p for p in sorted(GOLDEN.glob("*.toml")) if not names or p.stem in names]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", tree, base], check=True)
        try:
            for experiment in experiments:
                differences = compare(experiment, tree, Path(folder) / experiment.stem)
                failures += bool(differences)
                print(f"{experiment.stem}: {'equal' if not differences else ''}", *differences, sep="\n  ", flush=True)
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)
    print(f"{len(experiments) - failures} of {len(experiments)} experiments equal those of {base[:10]}")
    return 1 if failures or not experiments else 0


def compare(experiment: Path, tree: Path, out: Path) -> list[str]:
    """Runs one experiment by both trees at the same time and lists the files that differ."""
    out.mkdir()
    own = GOLDEN / "base" / experiment.name
    sides = {"base": (tree, own if own.exists() else experiment), "head": (ROOT, experiment)}
    started = {side: _run(source, file, out / side) for side, (source, file) in sides.items()}
    for side, process in started.items():
        if process.wait():
            return [f"{side} failed: {(out / side).with_suffix('.log').read_text()[-2000:]}"]
    runs = {side: sorted(p.parent.relative_to(out / side) for p in (out / side).rglob("config.toml")) for side in sides}
    if runs["base"] != runs["head"]:
        return [f"other arms: {runs['base']} and {runs['head']}"]
    differences = []
    for run in runs["head"]:
        base, head = record(out / "base" / run), record(out / "head" / run)
        differences += [f"{run}/{name}" for name in sorted(base.keys() | head.keys()) if base.get(name) != head.get(name)]
    return differences


def _run(source: Path, experiment: Path, out: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1", "PASSUS_THREADS": "1"}
    passus = f"{sys.executable} -m passus"
    figure = f"{passus} plot {out} --out {out}/figure.csv"
    findings = f"{passus} analyse {out} --json > {out}/findings.json"
    with out.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            ["sh", "-c", f"{passus} run {experiment} --out {out} && {figure} && {findings}"],
            cwd=source, env=environment, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip


def record(run: Path) -> dict[str, object]:
    """Everything that must be equal, by file name."""
    found: dict[str, object] = dict(_lines(run))
    for path in sorted(run.rglob("*.parquet")):
        found[str(path.relative_to(run))] = pyarrow.parquet.read_table(path).to_pylist()
    for path in sorted(run.rglob("*.safetensors")):
        found[str(path.relative_to(run))] = path.read_bytes()
    if (figure := run.parent / "figure.csv").exists():
        found["figure.csv"] = figure.read_text()
    return found


def _lines(run: Path) -> Iterator[tuple[str, list[dict]]]:
    for name in LINES:
        if (path := run / name).exists():
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            yield name, [{key: value for key, value in row.items() if not key.startswith("time/")} for row in rows]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
