"""A run of seconds on the CPU, and the comparison of two run folders bit for bit."""

import json
from pathlib import Path

import pyarrow.parquet

from passus.config.resolve import resolve
from passus.config.tables import Config
from passus.errors import Stop
from passus.runs.run_folder import RunFolder

EXPERIMENT = """
[model]
base = "nano/qwen3"
[task]
name = "abacus/add2"
[train]
steps = 8
prompts = 4
samples = 4
max_tokens = 24
learning_rate = 5e-4
[eval]
every = 3
suite = ["abacus/add2", "abacus/sub"]
samples = 2
limit = 8
[run]
device = "cpu"
save_every = 2
keep_checkpoints = 0
"""


def small_config(**tables: dict) -> Config:
    """Returns the config of EXPERIMENT with some tables changed, for a run in this process."""
    import tomllib

    base = tomllib.loads(EXPERIMENT)
    base["run"] |= {"dtype": "float32"}
    for name, changes in tables.items():
        if isinstance(changes, dict):
            base[name] = base.get(name, {}) | changes
        else:
            base[name] = changes
    return resolve(base, "test")


def write_experiment(folder: Path, text: str = EXPERIMENT) -> str:
    path = folder / "small.toml"
    path.write_text(text)
    return str(path)


def record(run: Path) -> dict:
    """Returns everything that must be equal between a resumed run and the uninterrupted one: all but times."""
    from safetensors.torch import load_file

    def lines(name: str) -> list[dict]:
        rows = [json.loads(line) for line in (run / name).read_text().splitlines()]
        return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in rows]

    rows = {
        f"{kind}/{path.name}": pyarrow.parquet.read_table(path).to_pylist()
        for kind in ("items", "readings", "samples")
        for path in sorted((run / kind).glob("*.parquet"))
    }
    last = sorted((run / "checkpoints").glob("step-*"))[-1]
    weights = {
        path.name: {key: tensor.numpy().tobytes() for key, tensor in load_file(path).items()}
        for path in sorted(last.glob("*.safetensors"))
    }
    assert len(weights) == 2  # those of the model or the adapter, and those of the optimizer
    return {
        "metrics": lines("metrics.jsonl"),
        "evals": lines("evals.jsonl"),
        "readings": lines("readings.jsonl") if (run / "readings.jsonl").exists() else [],
        "rows": rows,
        "weights": weights,
        "last": last.name,
    }


def assert_same(run: Path, reference: Path) -> None:
    """Fails with the first difference between the records of two runs."""
    mine, theirs = record(run), record(reference)
    for part in theirs:
        assert mine[part] == theirs[part], (
            f"{part} of {run} and {reference} differ: {_first_difference(mine[part], theirs[part])}"
        )


def _first_difference(mine: object, theirs: object) -> object:
    """Returns the path to the first difference of two nested values."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in mine | theirs:
            if mine.get(key) != theirs.get(key):
                return key, _first_difference(mine.get(key), theirs.get(key))
    if isinstance(mine, list) and isinstance(theirs, list):
        for i, (a, b) in enumerate(zip(mine, theirs, strict=False)):
            if a != b:
                return i, _first_difference(a, b)
        return f"{len(mine)} and {len(theirs)} rows"
    return (mine, theirs) if not isinstance(mine, bytes) else "bytes"


def run_small(path: Path, *, check_stop=lambda: None, **tables) -> RunFolder:
    """Trains EXPERIMENT with some tables changed, in this process."""
    from passus.training import loop  # torch comes in here

    path.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(path)
    loop.train(small_config(**tables), folder, check_stop, lambda text: None)
    return folder


def stop_in_step(path, step):
    """Returns a check that asks for a stop at the first safe point of a step."""

    def check():
        if len(RunFolder(path).metrics()) >= step - 1:
            raise Stop

    return check
