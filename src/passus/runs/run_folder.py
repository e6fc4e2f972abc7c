"""The run folder: the only interface between training and everything that looks at it.

    config.toml meta.json status.json metrics.jsonl evals.jsonl items/ samples/ checkpoints/

Nothing is pickled and no row is deleted: rows that a resume will write again are set aside in `set-aside/`.
"""

import json
import os
import platform
import subprocess
import sys
import time
import tomllib
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from passus.atomic_io import append_lines, fsync, last_step, read_lines, write_atomic, write_text
from passus.config import resolve
from passus.config.tables import Config
from passus.errors import PassusError, UsageError
from passus.runs.eval_point import EvalPoint, ReaderPoint

ROWS = {
    "items": {
        "benchmark": "string", "temperature": "float64", "item": "int64", "sample": "int64", "verdict": "string",
        "extracted": "string", "tokens": "int64", "logp": "float64", "completion": "string",
        "value": "float64",
    },
    "readings": {
        "benchmark": "string", "temperature": "float64", "reader": "string", "item": "int64", "sample": "int64",
        "verdict": "string", "extracted": "string", "tokens": "int64", "answer": "string",
    },
    "samples": {
        "task": "string", "item": "int64", "sample": "int64", "prompt": "string", "completion": "string",
        "prompt_ids": "list", "completion_ids": "list", "gold": "string", "verdict": "string", "extracted": "string",
        "reward": "float64", "advantage": "float64", "used": "bool", "logp": "float64",
    },
}  # fmt: skip
"""Columns and types of items/, readings/ and samples/; `list` is of token ids."""

LINES = ("metrics.jsonl", "evals.jsonl", "events.jsonl", "totals.jsonl", "readings.jsonl")
VERSIONED = ("passus", "torch", "transformers", "peft", "tokenizers", "safetensors", "numpy", "pyarrow", "pydantic")

Parsed = TypeVar("Parsed")


class RunFolder:
    """One arm's run on disk. All writes go through here."""

    def __init__(self, path: Path):
        self.path = path
        self._not_durable: list[Path] = []
        self._behind: Future[None] | None = None

    @property
    def config_path(self) -> Path:
        return self.path / "config.toml"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def config(self) -> Config:
        if not self.config_path.exists():
            raise UsageError(f"{self.path} is not a run: it has no config.toml", expected="a folder that `passus run` wrote")
        try:
            return resolve.from_toml(self.config_path.read_text(encoding="utf-8"), str(self.config_path))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PassusError(f"{self.config_path} cannot be read: {error}", expected="the file as passus wrote it") from None

    def exists(self) -> bool:
        return self.config_path.exists()

    def metrics(self) -> list[dict]:
        return read_lines(self.path / "metrics.jsonl")

    def evals(self) -> list[EvalPoint]:
        """Returns all eval points, in the order in which they were taken."""
        return [self._parse(EvalPoint.from_row, row) for row in read_lines(self.path / "evals.jsonl")]

    def last_evals(self) -> list[EvalPoint]:
        """Returns the eval points of the newest step, without reading the whole file."""
        return [self._parse(EvalPoint.from_row, row) for row in last_step(self.path / "evals.jsonl")]

    def _parse(self, from_row: Callable[[dict[str, Any]], Parsed], row: dict[str, Any]) -> Parsed:
        try:
            return from_row(row)
        except KeyError as error:
            raise UsageError(f"a row of {self.path} has no {error}", expected="rows as passus writes them") from None

    def phases(self) -> dict[str, float]:
        """Seconds spent, by what on; evaluation included."""
        metrics = self.metrics()
        seconds = {phase: sum(row.get(f"time/{phase}", 0.0) for row in metrics) for phase in ("rollout", "grade", "update")}
        return seconds | {"eval": sum(point.seconds or 0.0 for point in self.evals())}

    def sample_pairs(self, first: int, last: int) -> list[tuple[dict, dict]]:
        """Eval samples at two steps: the same item, the same noise."""
        key = ("benchmark", "temperature", "item", "sample")
        before = {tuple(row[k] for k in key): row for row in self.read_rows("items", first)}
        return [(before[k], row) for row in self.read_rows("items", last) if (k := tuple(row[k] for k in key)) in before]

    def status(self) -> dict[str, Any]:
        """What status.json says; nothing, where there is none to read."""
        try:
            status = json.loads((self.path / "status.json").read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return status if isinstance(status, dict) else {}

    def meta(self) -> dict[str, Any]:
        path = self.path / "meta.json"
        try:
            meta = json.loads(path.read_text())
            if not {"model", "launches"} <= meta.keys():
                raise ValueError("model or launches is missing")
        except (FileNotFoundError, ValueError, AttributeError) as error:
            raise PassusError(f"{path} cannot be read: {error}", expected="the file as passus wrote it") from None
        return meta

    def start(
        self, config: Config, model: dict[str, Any], resumed_from: int | None, data: dict[str, Any] | None = None,
        threads: int | None = None,
    ) -> None:
        """Write config.toml and meta.json. The first launch's are kept; later launches are added to a list.

        `data` is what was found about the data when this launch began: what was left out, what overlaps.
        """
        meta_path = self.path / "meta.json"
        launch = {"argv": sys.argv, "time": now(), "resumed_from": resumed_from, "versions": _versions(), "pid": os.getpid()}
        launch |= {"data": data or {}, "threads": threads}
        if meta_path.exists():
            meta = self.meta()
            meta["resumed_from"] = resumed_from
            meta["launches"].append(launch)
        else:
            meta = launch | {"id": uuid.uuid4().hex, "created": now(), "git_commit": _git_commit(), "model": model}
            meta |= {"python": platform.python_version(), "launches": [launch]}
        write_text(meta_path, json.dumps(meta, indent=2) + "\n")
        write_text(self.config_path, resolve.to_toml(config))  # last: a folder with a config.toml is a run

    def write_status(self, **status: Any) -> None:
        write_text(self.path / "status.json", json.dumps(status, indent=2) + "\n")

    def append_metrics(self, row: dict) -> None:
        append_lines(self.path / "metrics.jsonl", [row])

    def events(self) -> list[dict]:
        """Alarms, and what was done about them."""
        return read_lines(self.path / "events.jsonl")

    def append_event(self, row: dict) -> None:
        append_lines(self.path / "events.jsonl", [row])

    def append_evals(self, points: Iterable[EvalPoint]) -> None:
        append_lines(self.path / "evals.jsonl", [point.to_row() for point in points])

    def readings(self) -> list[ReaderPoint]:
        """Returns the eval points of CoT readers, which answer from the policy's reasoning."""
        return [self._parse(ReaderPoint.from_row, row) for row in read_lines(self.path / "readings.jsonl")]

    def append_readings(self, points: Iterable[ReaderPoint]) -> None:
        append_lines(self.path / "readings.jsonl", [point.to_row() for point in points])

    def totals(self) -> list[dict]:
        return read_lines(self.path / "totals.jsonl")

    def append_totals(self, rows: Sequence[dict]) -> None:
        """Of named suites."""
        if rows:
            append_lines(self.path / "totals.jsonl", rows)

    def write_rows(self, kind: str, step: int, rows: dict[str, list]) -> None:
        """kind is `items`, `readings` or `samples`; rows are columns."""
        import pyarrow
        import pyarrow.parquet

        folder = self.path / kind
        folder.mkdir(exist_ok=True)
        types = {
            name: pyarrow.list_(pyarrow.int32()) if t == "list" else pyarrow.type_for_alias(t) for name, t in ROWS[kind].items()
        }
        table = pyarrow.table(rows, schema=pyarrow.schema(types))
        path = folder / f"step-{step:06d}.parquet"
        write_atomic(path, lambda target: pyarrow.parquet.write_table(table, target), durable=False)
        self._not_durable.append(path)

    def write_behind(self, kind: str, step: int, rows: dict[str, list]) -> None:
        """The same while the caller goes on: the files of small steps take longer than a GPU should wait."""
        self.settle()
        self._behind = _writer().submit(self.write_rows, kind, step, rows)

    def settle(self) -> None:
        """Wait for what is being written, and raise what it met."""
        if self._behind is not None:
            behind, self._behind = self._behind, None
            behind.result()

    def read_rows(self, kind: str, step: int) -> list[dict]:
        import pyarrow.parquet

        self.settle()

        path = self.path / kind / f"step-{step:06d}.parquet"
        if not path.exists():
            have = [p.stem.removeprefix("step-").lstrip("0") or "0" for p in sorted((self.path / kind).glob("step-*.parquet"))]
            raise UsageError(f"{self.path} has no {kind} of step {step}", expected=f"one of: {', '.join(have) or 'none yet'}")
        try:
            return pyarrow.parquet.read_table(path).to_pylist()
        except pyarrow.ArrowInvalid as error:
            raise PassusError(f"{path} cannot be read: {error}", expected="the file as passus wrote it") from None

    def sync(self) -> None:
        """Make all rows durable; called before a checkpoint that stands on them becomes visible."""
        self.settle()
        others = [self.path / name for name in (*LINES, *ROWS, ".")]
        for path in [*self._not_durable, *(path for path in others if path.exists())]:
            fsync(path)
        self._not_durable.clear()

    def set_aside_after(self, step: int, expected_evals: int) -> None:
        """Make the record end exactly where the checkpoint of `step` stands; what goes beyond is kept in set-aside/.

        An eval point of `step` itself that is not whole goes too: it will be taken again, with the same result.
        """
        evals = read_lines(self.path / "evals.jsonl")
        whole = sum(row["step"] == step for row in evals) == expected_evals
        last_eval = step if whole else step - 1
        aside = self.path / "set-aside" / f"{time.time_ns()}-after-{step:06d}"
        self._cut("metrics.jsonl", [row for row in self.metrics() if row["step"] <= step], aside)
        self._cut("evals.jsonl", [row for row in evals if row["step"] <= last_eval], aside)
        self._cut("events.jsonl", [row for row in self.events() if row["step"] <= step], aside)
        self._cut("totals.jsonl", [row for row in self.totals() if row["step"] <= last_eval], aside)
        readings = read_lines(self.path / "readings.jsonl")
        self._cut("readings.jsonl", [row for row in readings if row["step"] <= last_eval], aside)
        for kind, last in (("items", last_eval), ("readings", last_eval), ("samples", step)):
            for path in sorted((self.path / kind).glob("step-*.parquet")):
                if int(path.stem.removeprefix("step-")) > last:
                    (aside / kind).mkdir(parents=True, exist_ok=True)
                    os.replace(path, aside / kind / path.name)

    def _cut(self, name: str, keep: list[dict], aside: Path) -> None:
        path = self.path / name
        kept = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in keep).encode()
        whole = path.read_bytes() if path.exists() else b""
        if kept == whole:
            return
        if not whole.startswith(kept):
            raise PassusError(
                f"{path} was changed by hand: its rows are not as passus writes them",
                expected="the file as it was, or another --out",
            )
        aside.mkdir(parents=True, exist_ok=True)
        (aside / name).write_bytes(whole[len(kept) :])
        fsync(aside / name)
        write_atomic(path, lambda target: target.write_bytes(kept))


@cache
def _writer() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "writer")


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _versions() -> dict[str, str]:
    found = {}
    for name in VERSIONED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _git_commit() -> str | None:
    """Of the folder the command was given in, where the experiment file lives."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def find_runs(path: Path, known_by: str = "config.toml") -> list[Path]:
    """Run folders at or below a path."""
    if (path / known_by).exists():
        return [path]
    return [p.parent for pattern in (f"*/{known_by}", f"*/*/{known_by}") for p in sorted(path.glob(pattern))]


def saved_checkpoints(checkpoints: Path) -> dict[int, Path]:
    """By step, oldest first; a copy under another name is the user's own."""
    found = {int(p.name[5:]): p for p in checkpoints.glob("step-*") if p.name[5:].isdigit()}
    return dict(sorted(found.items()))
