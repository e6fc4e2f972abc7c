"""Event files of TensorBoard. A folder is a run, and several files in it are its sessions in order of time.

Scalars have two forms: `simple_value` from PyTorch and TensorFlow 1, tensors from TensorFlow 2. TensorBoard's own reader
finds only the first ones under scalars. What a resume has written again is kept in order, for the last value counts.
"""

import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from passus.bounded_json import open_plain
from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import parse_text, tell, unreadable
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.values import as_object, flatten
from passus.interop.importers.wire import Field, read_fields, read_varint, tensorflow_records

KIND = "TensorBoard"
EVENT_FILE = re.compile(r"\.tfevents\.(\d{1,15})")
WALL_TIME, STEP, SUMMARY, VALUE = 1, 2, 5, 1
TAG, SIMPLE_VALUE, TENSOR = 1, 2, 8
DTYPE, CONTENT, FLOATS, DOUBLES, STRINGS, INTS, INTS_64 = 1, 4, 5, 6, 8, 7, 10
FLOAT, DOUBLE, INT_32, INT_64, STRING = 1, 2, 3, 9, 7
NUMBERS = {FLOAT: struct.Struct("<f"), DOUBLE: struct.Struct("<d"), INT_32: struct.Struct("<i"), INT_64: struct.Struct("<q")}
SETTINGS = {"args/text_summary": "", "model_config/text_summary": "model_config"}
"""Tags under which Hugging Face's callback writes settings as JSON, and the prefix for each."""
SIGN = 1 << 63
WALL = struct.Struct("<d")


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads the event files of one folder."""
    run = SourceRun(run_name(paths[0].parent, options), KIND, sorted(paths, key=file_order))
    recorder, settings = PointRecorder(run.points), dict[str, Any]()
    for path in run.files:
        broken = 0
        try:
            with open_plain(path) as file:
                for record in tensorflow_records(file, path.stat().st_size, path.name, run.remarks):
                    try:
                        _read_event(record, recorder, settings)
                    except (ValueError, TypeError, struct.error):
                        broken += 1
        except OSError as error:
            raise unreadable(path, error) from None
        if broken:
            tell(run.remarks, f"{path.name}: {broken:,} records cannot be parsed and were left out")
    run.settings = settings
    run.remarks += recorder.remarks() if run.points else ["the event files have no scalars"]
    return [run]


def file_order(path: Path) -> tuple[int, str]:
    """Sorts event files by the time in their names."""
    match = EVENT_FILE.search(path.name)
    return int(match[1]) if match else 0, path.name


def _read_event(record: bytes, recorder: PointRecorder, settings: dict[str, Any]) -> None:
    """Records the scalars of an event."""
    if (scalar := _read_plain(record)) is not None:
        step, tag, number, wall_time = scalar
        recorder.add(step, tag, number, wall_time)
        return
    time: float | None = None
    step, summaries = 0, []
    for number, value in read_fields(record):
        if number == WALL_TIME and isinstance(value, bytes):
            time = WALL.unpack(value)[0]
        elif number == STEP and isinstance(value, int):
            step = value - (1 << 64) if value >= SIGN else value
        elif number == SUMMARY and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for number, value in read_fields(summary):
            if number == VALUE and isinstance(value, bytes):
                for tag, scalar_value in _read_value(value, settings):
                    recorder.add(step, tag, scalar_value, time)


def _read_plain(record: bytes) -> tuple[int, str, float, float] | None:
    """Returns step, tag, value and time of an event with one simple scalar; None for all other events.

    Nearly all events are of this form, and each has these fields in this order: this takes a fifth of the time.
    """
    if len(record) < 20 or record[0] != 9 or record[9] != 16 or record[-5] != 21:
        return None
    step, at = read_varint(record, 10)
    left = len(record) - at
    # A summary with one value with a tag and a float: 4 pairs of key and length, of one byte each if all is shorter than 128.
    if left < 11 or left > 127 or record[at] != 42 or record[at + 1] != left - 2:
        return None
    if record[at + 2] != 10 or record[at + 3] != left - 4 or record[at + 4] != 10 or record[at + 5] != left - 11:
        return None
    tag = record[at + 6 : -5].decode("utf-8", "replace")
    return step, tag, NUMBERS[FLOAT].unpack_from(record, len(record) - 4)[0], WALL.unpack_from(record, 1)[0]


def _read_value(message: bytes, settings: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yields tag and number of a value if it is a scalar. Settings in a text are added to the settings."""
    tag, number, tensor = "", None, None
    for field, value in read_fields(message):
        if field == TAG and isinstance(value, bytes):
            tag = value.decode("utf-8", "replace")
        elif field == SIMPLE_VALUE and isinstance(value, bytes):
            number = NUMBERS[FLOAT].unpack(value)[0]
        elif field == TENSOR and isinstance(value, bytes):
            tensor = value
    if number is not None:
        yield tag, number
    elif tensor is not None:
        fields = list(read_fields(tensor))
        if tag in SETTINGS:
            texts = [value for field, value in fields if field == STRINGS and isinstance(value, bytes)]
            settings |= flatten(as_object(parse_text(texts[0])), SETTINGS[tag]) if texts else {}
        else:
            scalar = _tensor_scalar(fields)
            if scalar is not None:
                yield tag, scalar


def _tensor_scalar(fields: Sequence[tuple[int, Field]]) -> float | None:
    """Returns the number of a tensor with one number; None for other tensors."""
    dtype = next((value for field, value in fields if field == DTYPE), 0)
    kind = NUMBERS.get(dtype) if isinstance(dtype, int) else None
    if kind is None:
        return None
    for field, value in fields:
        if field in (CONTENT, FLOATS, DOUBLES) and isinstance(value, bytes) and len(value) == kind.size:
            return float(kind.unpack(value)[0])
        if field in (INTS, INTS_64):
            integer = value if isinstance(value, int) else read_varint(value, 0)[0]
            return float(integer - (1 << 64) if integer >= SIGN else integer)
    return None
