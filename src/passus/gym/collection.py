"""The collection as one Parquet file: the traces of all runs, which is all that diagnosis reads of them.

One row per number: the run, the table (metrics, evals, samples), the column, the step and the value. Settings are JSON.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from passus.diagnosis.trace import Trace, read_trace
from passus.runs.run_folder import RunFolder

TABLES = ("metrics", "evals", "samples")
FIRST_STEP = "fault.from_step"


def reduce_run(run: Path) -> tuple[str, Trace]:
    """Reads the trace of a run. The name of the folder tells its fault and its seed; the fault's first step is a setting."""
    return run.name, with_first_step(read_trace(RunFolder(run)), RunFolder(run).config().fault.from_step)


def with_first_step(trace: Trace, first_step: int) -> Trace:
    """Adds the first step with the fault to the settings of a run. Diagnosis does not read it."""
    return replace(trace, settings={**trace.settings, FIRST_STEP: first_step})


def write_collection(traces: Iterable[tuple[str, Trace]], path: Path) -> None:
    """Writes the traces of runs, as `reduce_run` returns them."""
    import pyarrow
    import pyarrow.parquet

    rows: dict[str, list[Any]] = {name: [] for name in ("run", "table", "column", "step", "value")}
    settings: dict[str, str] = {}
    for run, trace in traces:
        settings[run] = json.dumps(trace.settings)
        for table in TABLES:
            columns = getattr(trace, table)
            for name in (name for name in columns if name != "step"):
                count = len(columns["step"])
                rows["run"] += [run] * count
                rows["table"] += [table] * count
                rows["column"] += [name] * count
                rows["step"] += columns["step"].astype(int).tolist()
                rows["value"] += columns[name].astype(np.float32).tolist()
    types = {"run": pyarrow.string(), "table": pyarrow.string(), "column": pyarrow.string(), "step": pyarrow.int32()}
    schema = pyarrow.schema(types | {"value": pyarrow.float32()}, metadata={"settings": json.dumps(settings)})
    pyarrow.parquet.write_table(
        pyarrow.table(rows, schema=schema), path, compression="zstd", compression_level=19, use_byte_stream_split=["value"],
        use_dictionary=["run", "table", "column", "step"],
    )  # fmt: skip


def read_collection(path: Path) -> dict[str, Trace]:
    """Reads the traces of all runs, by the name of the run."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    settings = json.loads(table.schema.metadata[b"settings"])
    names = {name: np.array(table[name].to_pylist(), dtype=object) for name in ("run", "table", "column")}
    step_N, value_N = (table[name].to_numpy() for name in ("step", "value"))
    starts = np.flatnonzero(np.r_[True, np.any([column[1:] != column[:-1] for column in names.values()], axis=0)])
    parts: dict[str, dict[str, dict[str, np.ndarray]]] = {run: {table: {} for table in TABLES} for run in settings}
    for start, end in zip(starts, np.r_[starts[1:], len(step_N)], strict=True):
        columns = parts[names["run"][start]][names["table"][start]]
        columns["step"] = step_N[start:end].astype(float)
        columns[names["column"][start]] = value_N[start:end].astype(float)
    return {run: _trace(tables, json.loads(settings[run])) for run, tables in parts.items()}


def _trace(tables: Mapping[str, dict[str, np.ndarray]], settings: Mapping[str, Any]) -> Trace:
    known = {key: value for key, value in settings.items() if key != FIRST_STEP}
    return Trace(tables["metrics"], tables["evals"], tables["samples"], known)


def first_bad_steps(path: Path) -> dict[str, int]:
    """Returns the first step with the fault of every run; 1 where it is a setting."""
    import pyarrow.parquet

    settings = json.loads(pyarrow.parquet.read_schema(path).metadata[b"settings"])
    return {run: json.loads(text)[FIRST_STEP] for run, text in settings.items()}
