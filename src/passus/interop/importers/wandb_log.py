"""Logs of W&B: `run-<id>.wandb` in the folder of a run, offline or online. A log is LevelDB's, of protobuf records.

Runs that were resumed or rewound have several folders of one id; later steps win.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from passus.bounded_json import open_plain
from passus.errors import PassusError
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import parse_text, tell, unreadable
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.values import MAX_NAME, clean, flatten, to_name
from passus.interop.importers.wandb_axis import StepAxis, record_rows
from passus.interop.importers.wire import WANDB_HEADER, WANDB_MAGIC, Field, read_fields, wandb_records

KIND = "W&B log"
HISTORY, CONFIG, METRIC, RUN, EXIT = 2, 5, 12, 17, 18
"""Records that are read. The others are output, system metrics, telemetry and files."""
ITEM, HISTORY_STEP = 1, 2
ITEM_KEY, ITEM_NESTED, ITEM_VALUE = 1, 2, 16
METRIC_NAME, METRIC_GLOB, METRIC_AXIS = 1, 2, 4
RUN_FIELDS = {1: "run_id", 2: "entity", 3: "project", 6: "group", 7: "job_type", 8: "name", 12: "sweep_id"}
RUN_CONFIG = 4
DROPPED = "_wandb"
"""Key of the settings with W&B's own telemetry."""
MAX_ITEMS = 100_000
"""Values of one row, and settings of one record."""


@dataclass
class WandbLog:
    """What the records of all logs of one run say, besides the rows."""

    settings: dict[str, Any] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    axis: StepAxis = field(default_factory=StepAxis)
    exit_code: int | None = None


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads the logs of one run, in the order of their folders' times."""
    run = SourceRun("", KIND, sorted(paths, key=lambda path: (path.parent.name.rpartition("run-")[2], str(path))))
    log, recorder = WandbLog(), PointRecorder(run.points)
    remarks = record_rows(_rows(run, log), log.axis, recorder)
    run.remarks += remarks if run.points or recorder.without_step else ["the log has no history: nothing was logged"]
    run.name = to_name(log.about.get("name") or log.about.get("run_id") or run.files[0].stem.removeprefix("run-"))
    settings = {key: value for key, value in flatten(log.settings).items() if not key.startswith(DROPPED)}
    run.settings = settings | {f"wandb.{key}": value for key, value in log.about.items() if key != "name"}
    run.is_finished = log.exit_code == 0
    if log.exit_code is None:
        run.remarks.append("the log has no exit record: the run was killed, or is still running")
    elif log.exit_code:
        run.remarks.append(f"the run ended with the exit code {log.exit_code}")
    return [run]


def _rows(run: SourceRun, log: WandbLog) -> Iterator[dict[str, Any]]:
    """Yields the rows of the history of all files."""
    for path in run.files:
        broken = 0
        log.exit_code = None
        try:
            with open_plain(path) as file:
                _check_header(path, file.read(WANDB_HEADER.size))
                for record in wandb_records(file, path.name, run.remarks):
                    try:
                        yield from _read_record(record, log)
                    except (ValueError, TypeError):  # TypeError: a number where the format has a message
                        broken += 1
        except OSError as error:
            raise unreadable(path, error) from None
        if broken:
            tell(run.remarks, f"{path.name}: {broken:,} records cannot be parsed and were left out")


def _check_header(path: Path, header: bytes) -> None:
    if len(header) < WANDB_HEADER.size or header[:4] != WANDB_MAGIC:
        raise PassusError(f"{path} does not begin as a log of W&B", expected="the bytes ':W&B'")
    version = WANDB_HEADER.unpack(header)[2]
    if version:
        raise PassusError(f"{path} has version {version} of the format", expected="version 0")


def _read_record(record: bytes, log: WandbLog) -> list[dict[str, Any]]:
    """Reads one record: returns the row of a history record, and notes what the others say."""
    rows = []
    for number, message in read_fields(record):
        if number == HISTORY:
            rows.append(_row(_message(message)))
        elif number == CONFIG:
            log.settings |= _items(_message(message), parse_text)
        elif number == RUN:
            _read_run(_message(message), log)
        elif number == METRIC:
            _read_metric(_message(message), log)
        elif number == EXIT:
            log.exit_code = next((int(value) for n, value in read_fields(_message(message)) if n == 1), 0)
    return rows


def _message(value: Field) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError("a field is a number")
    return value


def _text(value: Field) -> str:
    return clean(_message(value).decode("utf-8", "replace"))


def _row(message: bytes) -> dict[str, Any]:
    """Returns the values of a history record by name."""
    row = _items(message, parse_value)
    if "_step" not in row:
        for number, value in read_fields(message):
            if number == HISTORY_STEP:
                row["_step"] = next((n for f, n in read_fields(_message(value)) if f == 1), 0)
    return row


def _items(message: bytes, parse: Callable[[bytes], Any]) -> dict[str, Any]:
    """Returns the items of a history or a config record. A name may be nested."""
    values: dict[str, Any] = {}
    for number, item in read_fields(message):
        if number == ITEM and len(values) < MAX_ITEMS:
            name, nested, written = "", [], b""
            for part, value in read_fields(_message(item)):
                if part == ITEM_KEY:
                    name = _text(value)
                elif part == ITEM_NESTED:
                    nested.append(_text(value))
                elif part == ITEM_VALUE:
                    written = _message(value)
            if name or nested:
                values[name or ".".join(nested)] = parse(written)
    return values


def parse_value(written: bytes) -> Any:
    """Returns the value of a JSON text. Most are numbers, and NaN and infinities are among them."""
    try:
        return float(written)
    except ValueError:
        return parse_text(written)


def _read_run(message: bytes, log: WandbLog) -> None:
    for number, value in read_fields(message):
        if number == RUN_CONFIG:
            log.settings |= _items(_message(value), parse_text)
        elif number in RUN_FIELDS and value:
            log.about[RUN_FIELDS[number]] = _text(value)


def _read_metric(message: bytes, log: WandbLog) -> None:
    """Notes the axis that define_metric declares."""
    wanted = (METRIC_NAME, METRIC_GLOB, METRIC_AXIS)
    named = {number: _text(value) for number, value in read_fields(message) if number in wanted}
    axis, name = named.get(METRIC_AXIS), named.get(METRIC_NAME) or named.get(METRIC_GLOB)
    if axis and name:
        log.axis.declare(name[:MAX_NAME], axis, is_pattern=METRIC_NAME not in named)
