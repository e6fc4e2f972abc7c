"""The run folder: the only interface between training and everything that reads its results.

    config.toml meta.json status.json metrics.jsonl evals.jsonl items/ samples/ checkpoints/ manifest.json checksums.jsonl

Nothing is pickled and no row is deleted: rows that a resume will write again are moved to `set-aside/`.
"""

import json
import math
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from passus import bounded_json
from passus.atomic_io import append_lines, fsync, last_line, last_step, read_lines, write_atomic, write_text
from passus.config import resolve
from passus.config.tables import Config
from passus.errors import PassusError, UsageError
from passus.runs import provenance, row_checks, set_aside
from passus.runs.checksum_writer import ChecksumWriter
from passus.runs.checksums import CHECKSUMS, read_checksums
from passus.runs.damage import MISSING, Damage, DamagedRecordError
from passus.runs.eval_point import EvalPoint, ReaderPoint, has_several_temperatures
from passus.runs.file_hash import hash_file
from passus.runs.manifest import IN_META, MANIFEST
from passus.runs.record_check import check_row_files, check_single_file, checked_size, is_row_file_recorded
from passus.runs.row_files import ROWS, read_row_file, row_file, write_row_file
from passus.runs.sinks.queue import QueuedSink

SETTINGS = "settings.json"
"""Settings of an imported run."""
LINES = (*set_aside.STEP_LINES, *set_aside.EVAL_LINES)

MAX_TREE_LEVELS, MAX_FOLDERS = 8, 20_000
"""Levels of folders, and folders, that are searched for runs."""
FIRST_BYTES = 1 << 16
"""Bytes of the manifest and the checksums that are searched for the name of the config, which is among the first."""
NO_RUNS = ("checkpoints", "items", "samples", "readings", "set-aside", "candidates")
"""Folders inside a run."""

Row = dict[str, Any]
Parsed = TypeVar("Parsed")
Note = Callable[[Path], object]
"""Called with the content of a file before it gets its name."""


class RunFolder:
    """One arm's run on disk. All writes go through this class."""

    def __init__(self, path: Path):
        self.path = path
        self._not_durable: list[Path] = []
        self._pending_write: Future[None] | None = None
        self._checksums = ChecksumWriter(path)
        self._known_id = ""
        self.is_started = False
        """Whether this process has begun to record."""
        self.sinks: list[QueuedSink] = []
        """Other tools that get a copy of the numbers."""

    @property
    def config_path(self) -> Path:
        return self.path / "config.toml"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def exists(self) -> bool:
        return self.config_path.exists()

    def config(self) -> Config:
        if not self.config_path.exists():
            if has_lost_config(self.path):
                raise DamagedRecordError(self.path, Damage(self.config_path.name, None, MISSING))
            raise UsageError(f"{self.path} is not a run: it has no config.toml", expected="a folder that `passus run` wrote")
        check_single_file(self.config_path)
        try:
            return resolve.from_toml(bounded_json.read_text(self.config_path), str(self.config_path))
        except UnicodeDecodeError as error:
            raise PassusError(f"{self.config_path} cannot be read: {error}", expected="the file as passus wrote it") from None

    @property
    def is_imported(self) -> bool:
        """Whether another tool trained the run."""
        return bool(self.config().imported.tool)

    def settings(self) -> dict[str, Any]:
        """Returns the known settings by dotted key. Those of an imported run are the ones that its tool recorded."""
        path = self.path / SETTINGS
        check_single_file(path)
        if not path.exists():
            return {key: value for key, value in resolve.flatten(self.config()).items() if not key.startswith("imported.")}
        try:
            settings = bounded_json.parse_json(bounded_json.read_text(path))
        except ValueError as error:
            raise PassusError(f"{path} cannot be read: {error}", expected="the file as passus wrote it") from None
        if not isinstance(settings, dict):
            raise PassusError(f"{path} is no object of settings", expected="the file as passus wrote it")
        return settings

    def meta(self) -> dict[str, Any]:
        path = self.path / "meta.json"
        check_single_file(path)
        try:
            meta: dict[str, Any] = bounded_json.parse_json(bounded_json.read_text(path))
            provenance.check_meta(meta)
        except (FileNotFoundError, ValueError) as error:
            raise PassusError(f"{path} cannot be read: {error}", expected="the file as passus wrote it") from None
        return meta

    def version_remarks(self) -> list[str]:
        """Returns one sentence per resume under other versions of passus, Python or the packages it uses."""
        return provenance.version_remarks(self.meta()["launches"])

    def start(
        self,
        config: Config,
        model: dict[str, Any],
        resumed_from: int | None,
        data: dict[str, Any] | None = None,
        threads: int | None = None,
    ) -> None:
        """Writes config.toml and meta.json. The first launch is kept; later launches are added to a list.

        `data` describes the data of this launch: benchmarks that were left out, overlaps, fingerprints.
        """
        launch = provenance.launch_record(resumed_from, data or {}, threads)
        if self.exists():
            meta = self.meta()
            meta["resumed_from"] = resumed_from
            if changes := provenance.version_changes(meta["launches"]):
                launch["version_changes"] = changes
            meta["launches"].append(launch)
            self._checksums.begin()
        else:
            meta = provenance.first_meta(launch, model)
        self.write_single("meta.json", json.dumps(meta | {IN_META: True}, indent=2) + "\n")
        self._known_id = str(meta.get("id", ""))
        self._checksums.begin()
        self.write_single("config.toml", resolve.to_toml(config))  # last: a folder with a config.toml is a run
        self.seal(resumed_from or 0)
        self.is_started = True

    def begin_record(self, *, is_own: bool = False) -> None:
        """Gives the folder a manifest, if it has none. `is_own` says that this process has written all of its files."""
        self._checksums.begin(is_own=is_own)

    def recover_manifest(self) -> None:
        """Writes a lost manifest again from the checksums. Raises DamagedRecordError where those are damaged."""
        self._checksums.recover()

    def leave_out(self, kinds: Sequence[str]) -> None:
        """Makes the record of a copy that lacks some folders of rows whole without them."""
        if (self.path / MANIFEST).exists():
            step = self.last_metrics_step()
            self._checksums.begin()
            kept = read_checksums(self.path / CHECKSUMS)[0]
            self._checksums.cut([checksum for checksum in kept if checksum.file.partition("/")[0] not in kinds], step)
            self._checksums.seal(step, is_final=True)

    def forget_checksums(self) -> None:
        """Removes the checksums of a folder whose files will all be written again. meta.json no longer promises them."""
        if (self.path / "meta.json").exists():
            write_text(self.path / "meta.json", json.dumps(self.meta() | {IN_META: False}, indent=2) + "\n")
        for name in (MANIFEST, CHECKSUMS):
            (self.path / name).unlink(missing_ok=True)
        self._checksums = ChecksumWriter(self.path)

    def write_single(self, name: str, text: str) -> None:
        """Writes a file of the record that is replaced as a whole."""

        def write(note: Note) -> None:
            write_atomic(self.path / name, lambda target: (target.write_text(text, encoding="utf-8"), note(target)))

        self.write_whole(self.path / name, None, write)

    def write_whole(self, path: Path, rows: int | None, write: Callable[[Note], object]) -> None:
        """Writes a file with its checksum: before it replaces one that has a checksum, else after it appeared.

        A kill between the two leaves the earlier content with its checksum, or a file without one, which counts as not there.
        """
        name = path.relative_to(self.path).as_posix()

        def note(content: Path) -> None:
            self._checksums.wrote(name, hash_file(content), rows)

        self._checksums.reopen()
        if self._checksums.has(name):
            write(note)
        else:
            write(lambda written: None)
            note(path)

    def seal(self, step: int | None = None, *, is_final: bool = False) -> None:
        """Renews the manifest: at a checkpoint with its step, and at the end of a process."""
        self.settle()
        if step is None:
            step = (last_line(self.path / "metrics.jsonl") or {"step": 0})["step"]
        self._checksums.seal(step, is_final=is_final)

    def status(self) -> dict[str, Any]:
        """Returns the content of status.json; empty where there is none to read."""
        path = self.path / "status.json"
        try:
            status = bounded_json.parse_json(bounded_json.read_text(path)) if path.is_file() else {}
        except (FileNotFoundError, ValueError, UsageError):
            return {}
        status = {key: value for key, value in status.items() if _is_plain(value)} if isinstance(status, dict) else {}
        crc32, run = status.pop("crc32", None), status.get("run")
        if (crc32 is not None and crc32 != _crc32(status)) or (run and self.recorded_id() and run != self.recorded_id()):
            return {"state": "unreadable", "error": f"{path} is not as passus wrote it for this run"}
        status.pop("run", None)
        return status

    def write_status(self, **status: Any) -> None:
        """Writes status.json, with the id of the run and a checksum."""
        status |= {"run": self.recorded_id()} if self.recorded_id() else {}
        write_text(self.path / "status.json", json.dumps(status | {"crc32": _crc32(status)}, indent=2) + "\n")

    def recorded_id(self) -> str:
        """Returns the id of the run; empty before its first launch, and where meta.json cannot be read."""
        if not self._known_id and (self.path / "meta.json").exists():
            with suppress(PassusError, OSError):
                self._known_id = str(self.meta().get("id", ""))
        return self._known_id

    def metrics(self) -> list[Row]:
        return self._checked(row_checks.check_numbers, self._read("metrics.jsonl"))

    def last_metrics_step(self) -> int:
        """Returns the step of the newest row of metrics; 0 where there is none."""
        row = last_line(self.path / "metrics.jsonl", checked_size(self.path, "metrics.jsonl"))
        return int(row["step"]) if row else 0

    def _read(self, name: str) -> list[Row]:
        """Returns the rows of a file of lines that agree with their checksums. Refuses the file if any does not."""
        size = checked_size(self.path, name)
        return read_lines(self.path / name, size)

    def _append(self, name: str, rows: Sequence[Row]) -> None:
        if rows:
            self._checksums.reopen()
        start, data = append_lines(self.path / name, rows)
        if rows:
            self._checksums.appended(name, start, data, rows[-1]["step"])

    def append_metrics(self, row: Row) -> None:
        self._append("metrics.jsonl", [row])
        for sink in self.sinks:
            sink.put(row["step"], finite_numbers(row))

    def evals(self) -> list[EvalPoint]:
        """Returns all eval points, in the order in which they were taken."""
        return self._parse(EvalPoint.from_row, self._read("evals.jsonl"))

    def last_evals(self) -> list[EvalPoint]:
        """Returns the eval points of the newest step, without reading the whole file."""
        return self._parse(EvalPoint.from_row, last_step(self.path / "evals.jsonl"))

    def append_evals(self, points: Iterable[EvalPoint]) -> None:
        taken = list(points)
        self._append("evals.jsonl", [point.to_row() for point in taken])
        if self.sinks:
            for step, numbers in eval_numbers(taken):
                for sink in self.sinks:
                    sink.put(step, numbers)

    def readings(self) -> list[ReaderPoint]:
        """Returns the eval points of CoT readers, which answer from the policy's reasoning."""
        return self._parse(ReaderPoint.from_row, self._read("readings.jsonl"))

    def append_readings(self, points: Iterable[ReaderPoint]) -> None:
        self._append("readings.jsonl", [point.to_row() for point in points])

    def _parse(self, from_row: Callable[[Row], Parsed], rows: Sequence[Row]) -> list[Parsed]:
        try:
            return [from_row(row) for row in rows]
        except KeyError as error:
            raise UsageError(f"a row of {self.path} has no {error}", expected="rows as passus writes them") from None
        except (TypeError, ValueError) as error:
            raise UsageError(f"a row of {self.path}: {error}", expected="rows as passus writes them") from None

    def _checked(self, check: Callable[[Row], None], rows: list[Row]) -> list[Row]:
        self._parse(check, rows)
        return rows

    def totals(self) -> list[Row]:
        """Returns the totals of named suites."""
        return self._checked(row_checks.check_total, self._read("totals.jsonl"))

    def append_totals(self, rows: Sequence[Row]) -> None:
        if rows:
            self._append("totals.jsonl", rows)

    def events(self) -> list[Row]:
        """Returns the alarms, and the action that followed each."""
        return self._checked(row_checks.check_event, self._read("events.jsonl"))

    def append_event(self, row: Row) -> None:
        self._append("events.jsonl", [row])

    def difficulty(self) -> list[Row]:
        """Returns the base model's success rate on each training item that was measured, in order."""
        check_single_file(self.path / "difficulty.jsonl")
        return read_lines(self.path / "difficulty.jsonl")

    def write_difficulty(self, rows: Sequence[Row]) -> None:
        self.write_single("difficulty.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))

    def phases(self) -> dict[str, float]:
        """Returns the seconds spent in each phase, including evaluation."""
        metrics = self.metrics()
        seconds = {phase: sum(row.get(f"time/{phase}", 0.0) for row in metrics) for phase in ("rollout", "grade", "update")}
        return seconds | {"eval": sum(point.seconds or 0.0 for point in self.evals())}

    def write_rows(self, kind: str, step: int, columns: Mapping[str, list[Any]]) -> None:
        """Writes the columns of one step; `kind` is `items`, `readings` or `samples`."""
        path = row_file(self.path, kind, step)
        self.write_whole(path, max(map(len, columns.values())), lambda note: write_row_file(path, columns, note))
        self._not_durable.append(path)

    def write_behind(self, kind: str, step: int, columns: Mapping[str, list[Any]]) -> None:
        """Writes rows in another thread: the files of small steps take longer than a GPU should wait."""
        self.settle()
        self._pending_write = _writer().submit(self.write_rows, kind, step, columns)

    def settle(self) -> None:
        """Waits for the pending write, and raises its error."""
        if self._pending_write is not None:
            pending, self._pending_write = self._pending_write, None
            pending.result()

    def read_rows(self, kind: str, step: int) -> list[Row]:
        self.settle()
        path = row_file(self.path, kind, step)
        if not is_row_file_recorded(path):
            steps = [p.stem.removeprefix("step-").lstrip("0") or "0" for p in self.row_paths(kind)]
            raise UsageError(f"{self.path} has no {kind} of step {step}", expected=f"one of: {', '.join(steps) or 'none yet'}")
        return read_row_file(path)

    def row_paths(self, kind: str) -> list[Path]:
        """Returns the files of a kind in order. Refuses a folder from which one is lost."""
        self.settle()
        names = check_row_files(self.path, kind)
        return sorted(p for p in (self.path / kind).glob("*.parquet") if names is None or f"{kind}/{p.name}" in names)

    def sample_pairs(self, first: int, last: int) -> list[tuple[Row, Row]]:
        """Returns the eval samples of two steps in pairs: the same item with the same noise."""
        key = ("benchmark", "temperature", "item", "sample")
        before = {tuple(row[k] for k in key): row for row in self.read_rows("items", first)}
        return [(before[k], row) for row in self.read_rows("items", last) if (k := tuple(row[k] for k in key)) in before]

    def sync(self) -> None:
        """Makes all rows durable. Called before a checkpoint that depends on them becomes visible."""
        self.settle()
        others = [self.path / name for name in (*LINES, CHECKSUMS, *ROWS, ".")]
        for path in [*self._not_durable, *(path for path in others if path.exists())]:
            fsync(path)
        self._not_durable.clear()

    def set_aside_after(self, step: int, expected_evals: int | None, also: Collection[str] = ()) -> None:
        """Cuts the record back to the checkpoint of `step`; later rows, and the files `also`, are moved to set-aside/."""
        set_aside.set_aside_after(self.path, step, expected_evals, self._checksums, also)


def eval_numbers(points: Sequence[EvalPoint]) -> Iterator[tuple[int, dict[str, float]]]:
    """Yields step and numbers of each eval point, under the names that other tools get: eval/<benchmark>/<key>.

    Where there are several temperatures, the benchmark has its own with it: eval/<benchmark>, temperature 0/<key>.
    """
    several = has_several_temperatures(points)
    for point in points:
        panel = point.panel(several_temperatures=several)
        yield point.step, {f"eval/{panel}/{key}": value for key, value in finite_numbers(point.to_row()).items()}


def finite_numbers(row: Row) -> dict[str, float]:
    """Returns the finite numbers of a row but its step."""
    return {
        key: float(value)
        for key, value in row.items()
        if key != "step" and isinstance(value, (int, float)) and math.isfinite(value)
    }


def _crc32(status: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(status, sort_keys=True).encode()):08x}"


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float))


@cache
def _writer() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "writer")


def find_runs(path: Path, known_by: str = "config.toml") -> list[Path]:
    """Returns the run folders at a path or below it, in order. The folders of a run are not searched.

    A run that has lost its config.toml is one of them, so that it is refused where it is read, and not passed over.
    """
    runs: list[Path] = []
    level, seen = [path], 0
    for _ in range(MAX_TREE_LEVELS):
        below: list[Path] = []
        for folder in level:
            if (folder / known_by).exists() or has_lost_config(folder):
                runs.append(folder)
            else:
                below += [child for child in folder.glob("*/") if child.name not in NO_RUNS and not child.is_symlink()]
            seen += 1
            if seen > MAX_FOLDERS:
                raise UsageError(f"{path} has more than {MAX_FOLDERS:,} folders", expected="a folder of runs")
        level = below
    return sorted(runs)


def has_lost_config(folder: Path) -> bool:
    """Whether a folder without a config.toml is the record of a run that had one."""
    if (folder / "config.toml").exists():
        return False
    if (folder / "metrics.jsonl").exists() and (folder / "checkpoints").is_dir():
        return True
    for path in (folder / MANIFEST, folder / CHECKSUMS):  # a run that is about to begin has them, and not yet its config
        if path.is_file():
            with bounded_json.open_plain(path) as file:
                if b'"config.toml"' in file.read(FIRST_BYTES):
                    return True
    return False


def saved_checkpoints(checkpoints: Path) -> dict[int, Path]:
    """Returns the checkpoints by step, oldest first. Copies under other names belong to the user."""
    by_step = {int(p.name[5:]): p for p in checkpoints.glob("step-*") if p.name[5:].isdigit()}
    return dict(sorted(by_step.items()))
