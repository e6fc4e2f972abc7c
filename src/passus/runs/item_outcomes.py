"""Reads the outcome of every sample from items/ and readings/ of a run folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from passus.grading.grade import Verdict
from passus.runs.curve import ItemOutcomes
from passus.runs.eval_point import BEST_OF
from passus.runs.row_files import OPTIONAL, read_table
from passus.runs.run_folder import RunFolder

COLUMNS = ("benchmark", "temperature", "item", "sample", "verdict", "tokens")
Outcomes = dict[tuple[int, int], tuple[float, int, bool]]
"""By item and sample: the value, the tokens, and whether the completion was truncated."""


class ItemReader:
    """Reads the item rows of one run. Each file is read once, however many benchmarks it holds."""

    def __init__(self, run: RunFolder, kind: str = "items"):
        self.run, self.kind = run, kind
        self._tables: dict[int, Any] = {}
        self._clusters: dict[tuple[str, int], str] = {}

    def outcomes(self, benchmark: str, temperature: float, steps: Sequence[int], reader: str = "") -> ItemOutcomes | None:
        """Returns the outcomes at these steps; None where no rows are kept, or where they do not fit together."""
        by_step = {step: self._of_step(step, benchmark, temperature, reader) for step in steps}
        complete = max(map(len, by_step.values()), default=0)
        by_step = {step: rows for step, rows in by_step.items() if rows and len(rows) == complete}
        keys = list(next(iter(by_step.values()), {}))
        items = list(dict.fromkeys(item for item, _ in keys))
        samples = list(dict.fromkeys(sample for _, sample in keys))
        if len(keys) != len(items) * len(samples) or any(rows.keys() != set(keys) for rows in by_step.values()) or not keys:
            return None
        values = np.array([[[rows[i, s] for s in samples] for i in items] for rows in by_step.values()], dtype=float)
        correct, tokens, truncated = np.moveaxis(values, 3, 0)
        source, choices = _data_fingerprint(self.run, benchmark), _choices(self.run)
        clusters = [self._clusters.get((benchmark, item), "") for item in items]
        return ItemOutcomes(
            list(by_step), items, correct, tokens, truncated, source, choices, clusters if any(clusters) else []
        )  # fmt: skip

    def _of_step(self, step: int, benchmark: str, temperature: float, reader: str) -> Outcomes:
        import pyarrow.compute as pc

        table = self._table(step)
        if table is None:
            return {}
        mask = pc.and_(pc.equal(table["benchmark"], benchmark), pc.equal(table["temperature"], float(temperature)))
        if reader:
            mask = pc.and_(mask, pc.equal(table["reader"], reader))
        rows = table.filter(mask).to_pydict()
        if clusters := rows.get("cluster"):
            self._clusters |= {(benchmark, item): name for item, name in zip(rows["item"], clusters, strict=True) if name}
        values = rows.get("value") or [None] * len(rows["item"])
        return {
            (item, sample): (verdict == Verdict.CORRECT if value is None else value, tokens, verdict == Verdict.TRUNCATED)
            for value, item, sample, verdict, tokens in zip(
                values, *(rows[name] for name in ("item", "sample", "verdict", "tokens")), strict=True
            )
        }

    def _table(self, step: int) -> Any:
        """Returns the rows of a step as a pyarrow table, or None where no file was written."""
        path = self.run.path / self.kind / f"step-{step:06d}.parquet"
        if step not in self._tables:
            self._tables[step] = None
            if path.exists():
                more = ["reader"] if self.kind == "readings" else []
                self._tables[step] = read_table(path, [*COLUMNS, *more, *OPTIONAL])
        return self._tables[step]


def _choices(run: RunFolder) -> float:
    config = run.config()
    return config.candidates.pool / min(BEST_OF, config.candidates.pool) if config.kind == "reward_model" else 0


def _data_fingerprint(run: RunFolder, benchmark: str) -> str:
    launches = run.meta()["launches"]
    fingerprints: dict[str, str] = (launches[0].get("data") or {}).get("sha256", {}) if launches else {}
    return fingerprints.get(benchmark, "")
