"""Reads the outcome of every sample from items/ and readings/ of a run folder.

Shapes: N rows of one eval point, T eval points, Q items, K samples per item.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passus.grading.verdict import Verdict
from passus.runs.curve import ItemOutcomes
from passus.runs.eval_point import BEST_OF, UNKNOWN_TEMPERATURE
from passus.runs.record_check import check_row_file
from passus.runs.row_files import OPTIONAL, SOURCE_SCORE, read_table
from passus.runs.run_folder import RunFolder

COLUMNS = ("benchmark", "temperature", "item", "sample", "verdict", "tokens")


@dataclass(frozen=True)
class SortedRows:
    """The rows of one eval point by item and sample. Of rows with the same item and sample, the last one counts."""

    keys_2N: np.ndarray
    """Items and samples, sorted."""
    values_3N: np.ndarray
    """The value, the tokens, and whether the completion was truncated."""
    items: list[int]
    samples: list[int]
    """In the order of the file."""

    @classmethod
    def of(cls, keys_2N: np.ndarray, values_3N: np.ndarray) -> "SortedRows":
        order_N = np.lexsort(keys_2N[::-1])
        sorted_2N = keys_2N[:, order_N]
        is_last_N = np.append((np.diff(sorted_2N) != 0).any(0), True)[: len(order_N)]
        items, samples = (list(dict.fromkeys(names.tolist())) for names in keys_2N)
        return cls(sorted_2N[:, is_last_N], values_3N[:, order_N[is_last_N]], items, samples)

    def __len__(self) -> int:
        return int(self.keys_2N.shape[1])

    @property
    def is_full(self) -> bool:
        """Whether every item has every sample."""
        return len(self) == len(self.items) * len(self.samples)


class ItemReader:
    """Reads the item rows of one run. Each file is read once, however many benchmarks it holds."""

    def __init__(self, run: RunFolder, kind: str = "items"):
        self.run, self.kind = run, kind
        self._tables: dict[int, dict[str, np.ndarray] | None] = {}
        self._clusters: dict[tuple[str, int], str] = {}

    def outcomes(self, benchmark: str, temperature: float, steps: Sequence[int], reader: str = "") -> ItemOutcomes | None:
        """Returns the outcomes at these steps; None where no rows are kept, or where they do not fit together."""
        by_step = {step: self._of_step(step, benchmark, temperature, reader) for step in steps}
        known = {step: rows for step, rows in by_step.items() if rows is not None}
        complete = max(map(len, known.values()), default=0)
        known = {step: rows for step, rows in known.items() if len(rows) == complete}
        first = next(iter(known.values()), None)
        if first is None or not first.is_full or any((rows.keys_2N != first.keys_2N).any() for rows in known.values()):
            return None
        sorted_3TQK = np.array([rows.values_3N for rows in known.values()]).swapaxes(0, 1)
        sorted_3TQK = sorted_3TQK.reshape(3, len(known), len(first.items), len(first.samples))
        rank_Q, rank_K = (np.argsort(np.argsort(names)) for names in (first.items, first.samples))
        correct, tokens, truncated = sorted_3TQK[:, :, rank_Q][:, :, :, rank_K]
        source, choices = _data_fingerprint(self.run, benchmark), _choices(self.run)
        clusters = [self._clusters.get((benchmark, item), "") for item in first.items]
        return ItemOutcomes(
            list(known), first.items, correct, tokens, truncated, source, choices, clusters if any(clusters) else []
        )  # fmt: skip

    def has_incomplete_rows(self, benchmark: str, temperature: float, step: int, reader: str = "") -> bool:
        """Whether rows of an eval point are kept, and not those of every sample of every item."""
        rows = self._of_step(step, benchmark, temperature, reader)
        return rows is not None and not rows.is_full

    def _of_step(self, step: int, benchmark: str, temperature: float, reader: str) -> SortedRows | None:
        """Returns the rows of one eval point; None where there are none."""
        columns = self._columns(step)
        if columns is None:
            return None
        is_known_N = _valid(columns["item"]) & _valid(columns["sample"])
        is_own_N = (columns["benchmark"] == benchmark) & (columns["temperature"] == float(temperature)) & is_known_N
        if reader:
            is_own_N &= columns["reader"] == reader
        if not is_own_N.any():
            return None
        rows = {name: column[is_own_N] for name, column in columns.items()}
        if "cluster" in rows:
            names = zip(rows["item"].tolist(), rows["cluster"].tolist(), strict=True)
            self._clusters |= {(benchmark, int(item)): name for item, name in names if name}
        correct_N, truncated_N = (
            (rows["verdict"] == verdict).astype(float) for verdict in (Verdict.CORRECT, Verdict.TRUNCATED)
        )
        value_N = np.where(_valid(rows["value"]), rows["value"], correct_N) if "value" in rows else correct_N
        values = [np.asarray(column, dtype=float) for column in (value_N, rows["tokens"], truncated_N)]
        return SortedRows.of(np.array([rows["item"], rows["sample"]]).astype(int), np.array(values))

    def _columns(self, step: int) -> dict[str, np.ndarray] | None:
        """Returns the rows of a step by column, or None where no file was written."""
        path = self.run.path / self.kind / f"step-{step:06d}.parquet"
        if step not in self._tables:
            self._tables[step] = None
            check_row_file(path)
            if path.exists():
                more = ["reader"] if self.kind == "readings" else []
                table = read_table(path, [*COLUMNS, *more, *OPTIONAL])
                columns = {name: _to_numpy(table[name]) for name in table.column_names if name != SOURCE_SCORE}
                # Other tools may not record the temperature.
                columns["temperature"] = np.nan_to_num(columns["temperature"], nan=UNKNOWN_TEMPERATURE)
                self._tables[step] = columns
        return self._tables[step]


def _to_numpy(column: Any) -> np.ndarray:
    """Returns a column of a pyarrow table; missing numbers are NaN, missing texts None.

    pyarrow's own conversion imports pandas, where it is installed, which takes half a second.
    """
    import pyarrow

    array = pyarrow.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
    is_text = pyarrow.types.is_string(array.type)
    if array.null_count:
        return np.array(array.to_pylist(), dtype=object if is_text else float)
    if is_text:
        encoded = array.dictionary_encode()
        texts: np.ndarray = np.array(encoded.dictionary.to_pylist(), dtype=object)
        return np.asarray(texts[np.from_dlpack(encoded.indices)])
    return np.from_dlpack(array)


def _valid(column_N: np.ndarray) -> np.ndarray:
    """Returns which rows have a value: missing numbers are NaN, missing texts None."""
    if column_N.dtype == object:
        return np.array([value is not None for value in column_N], dtype=bool)
    return np.asarray(~np.isnan(column_N))


def _choices(run: RunFolder) -> float:
    config = run.config()
    return config.candidates.pool / min(BEST_OF, config.candidates.pool) if config.kind == "reward_model" else 0


def _data_fingerprint(run: RunFolder, benchmark: str) -> str:
    launches = run.meta()["launches"]
    fingerprints: dict[str, str] = (launches[0].get("data") or {}).get("sha256", {}) if launches else {}
    return fingerprints.get(benchmark, "")
