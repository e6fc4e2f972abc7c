"""Compares what HEAD records with what the base commit records, bit for bit, on one machine.

    make golden            or:  python scripts/golden.py [EXPERIMENT ...]

The base commit is named in tests/golden/BASE and is checked out into a temporary git worktree. Every experiment in
tests/golden runs twice, side by side: once by the base commit, once by the working tree. Metrics (without `time/`), eval
points, item rows, samples, candidates and weights must be equal, and so must the data behind the figure and the numbers of the
findings. Where the base spells a field differently, tests/golden/base holds its version of the experiment.

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
FINDING_KEYS = ("id", "series", "benchmark", "verdict", "level", "numbers", "low", "high", "p", "q")
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
    """Runs one experiment by both trees at the same time and lists what differs."""
    out.mkdir()
    base_file = GOLDEN / "base" / experiment.name
    sides = {"base": (tree, base_file if base_file.exists() else experiment), "head": (ROOT, experiment)}
    processes = {side: _passus(source, out / side, "run", file, "--out", out / side) for side, (source, file) in sides.items()}
    for side, process in processes.items():
        if process.wait():
            return [f"{side} failed:\n{(out / f'{side}.log').read_text()[-2000:]}"]
    runs = {side: sorted(p.parent.relative_to(out / side) for p in (out / side).rglob("config.toml")) for side in sides}
    if runs["base"] != runs["head"]:
        return [f"different arms: {runs['base']} and {runs['head']}"]
    differences = []
    for run in runs["head"]:
        base, head = record(out / "base" / run), record(out / "head" / run)
        differences += [f"{run}/{line}" for line in different(base, head)]
    base, head = (derived(source, out / side) for side, (source, _) in sides.items())
    return differences + different(base, head)


def different(base: dict[str, object], head: dict[str, object]) -> list[str]:
    """One line per entry that differs, with the place where it first does."""
    return [
        f"{name}: {first_difference(base.get(name), head.get(name))}"
        for name in sorted(base.keys() | head.keys())
        if base.get(name) != head.get(name)
    ]


def first_difference(base: object, head: object) -> str:
    if isinstance(base, dict) and isinstance(head, dict):
        key = next(key for key in {**base, **head} if base.get(key) != head.get(key))
        return f"{key}: {first_difference(base.get(key), head.get(key))}"
    if isinstance(base, list) and isinstance(head, list):
        if len(base) != len(head):
            return f"{len(base)} rows and {len(head)} rows"
        row = next(n for n, (mine, theirs) in enumerate(zip(base, head, strict=True)) if mine != theirs)
        return f"row {row}: {first_difference(base[row], head[row])}"
    return f"{str(base)[:200]!r} and {str(head)[:200]!r}"


def derived(source: Path, out: Path) -> dict[str, object]:
    """The data behind the figure, and the numbers and verdicts of the findings."""
    figure = out / "figure.csv"
    _passus(source, out, "plot", out, "--out", figure).wait()
    _passus(source, out, "analyse", out, "--json").wait()
    findings = [json.loads(line) for line in (out.parent / f"{out.name}.log").read_text().splitlines()]
    return {
        "figure.csv": figure.read_text() if figure.exists() else "failed",
        "findings": [{key: finding.get(key) for key in FINDING_KEYS} for finding in findings],
    }


def _passus(source: Path, out: Path, *arguments: str | Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1", "PASSUS_THREADS": "1"}
    with (out.parent / f"{out.name}.log").open("wb") as log:
        command = [sys.executable, "-P", "-m", "passus", *map(str, arguments)]
        return subprocess.Popen(
            command,
            cwd=source,
            env=environment,
            stdout=log,
            stderr=subprocess.DEVNULL if "--json" in arguments else subprocess.STDOUT,
        )


def record(run: Path) -> dict[str, object]:
    """Everything that must be equal, by file name."""
    found: dict[str, object] = dict(_lines(run))
    for path in sorted(run.rglob("*.parquet")):
        found[str(path.relative_to(run))] = pyarrow.parquet.read_table(path).to_pylist()
    for path in sorted(run.rglob("*.safetensors")):
        found[str(path.relative_to(run))] = path.read_bytes()
    return found


def _lines(run: Path) -> Iterator[tuple[str, list[dict]]]:
    for name in LINES:
        if (path := run / name).exists():
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            yield name, [{key: value for key, value in row.items() if not key.startswith("time/")} for row in rows]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
