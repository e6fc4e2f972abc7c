"""Files of candidates: graded answers to problems, as Parquet, with the problem and the generator of each.

Questions of gated benchmarks must not be written in plain text, so a file holds their fingerprint instead.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from passus.errors import UsageError
from passus.evaluation.contamination import question_fingerprint
from passus.grading.verdict import Verdict
from passus.runs.record_check import check_row_file
from passus.runs.row_files import check_table_size, write_table
from passus.tasks.item import Item
from passus.tasks.lookup import is_private

TRAIN, EVAL = "train", "eval"
"""Splits: answers to training problems, and to the suite's items."""
COLUMNS = {
    "benchmark": "string", "item": "int64", "question": "string", "gold": "string", "completion": "string",
    "verdict": "string", "extracted": "string", "score": "float64", "generator": "string", "temperature": "float64",
    "sample": "int64",
}  # fmt: skip
"""Columns and types. `score` is the confidence of the generator: the mean log-prob of the completion's tokens, in standard
deviations over the answers of that generator at that temperature."""
REQUIRED, OPTIONAL = ("benchmark", "item", "question", "completion", "verdict"), ("extracted", "score", "gold")
EXPECTED = f"a Parquet file with columns {', '.join(REQUIRED)} (and extracted, score, gold)"
MAX_TEXT = 1_000_000
"""Characters of a question, an answer or a completion."""
FINGERPRINT_PREFIX = "sha256:"
FINGERPRINT = re.compile(f"{FINGERPRINT_PREFIX}[0-9a-f]{{64}}")


def candidate_file(run: Path, split: str, temperature: float) -> Path:
    """Returns the path of a generator's answers at one temperature."""
    return run / "candidates" / f"{split}-{temperature:g}.parquet"


def write_candidates(
    path: Path, columns: dict[str, list[Any]], before_rename: Callable[[Path], object] = lambda written: None
) -> None:
    import pyarrow

    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pyarrow.schema({name: pyarrow.type_for_alias(dtype) for name, dtype in COLUMNS.items()})
    write_table(path, pyarrow.table(columns, schema=schema), before_rename)


def read_candidates(path: Path) -> list[dict[str, Any]]:
    """Reads the rows of a candidates file and checks them; missing optional columns are None."""
    table = _read_table(path)
    columns = {name: _read_column(path, table, name) for name in (*REQUIRED, *OPTIONAL)}
    unknown = [n for n, verdict in enumerate(columns["verdict"]) if verdict not in set(Verdict)]
    if unknown:
        verdict = columns["verdict"][unknown[0]]
        raise UsageError(f"{path}, row {unknown[0]}: verdict {verdict!r}", expected=", ".join(Verdict))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _read_table(path: Path) -> Any:
    import pyarrow
    import pyarrow.parquet

    check_row_file(path)
    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            check_table_size(file.metadata)
            table = file.read([name for name in COLUMNS if name in file.schema_arrow.names])
        table.validate(full=True)  # texts may hold bytes that are not UTF-8
    except FileNotFoundError:
        raise UsageError(f"no candidates file {path}", expected=EXPECTED) from None
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read: {(str(error).splitlines() or [''])[0]}", expected=EXPECTED, write="the complete file again"
        ) from None
    if missing := [name for name in REQUIRED if name not in table.column_names]:
        raise UsageError(f"{path} has no column {missing[0]}", expected=EXPECTED)
    return table


def _read_column(path: Path, table: Any, name: str) -> list[Any]:
    import pyarrow

    if name not in table.column_names:
        return [None] * len(table)
    try:
        values: list[Any] = table.column(name).cast(pyarrow.type_for_alias(COLUMNS[name])).to_pylist()
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        dtype = table.column(name).type
        raise UsageError(f"{path}: column {name} is {dtype}", expected=f"a column of {COLUMNS[name]}") from None
    if (longest := max((len(value) for value in values if isinstance(value, str)), default=0)) > MAX_TEXT:
        raise UsageError(f"{path}: a {name} of {longest:,} characters", expected=f"at most {MAX_TEXT:,}")
    if name in REQUIRED and (empty := [n for n, value in enumerate(values) if value is None]):
        raise UsageError(f"{path}, row {empty[0]}: no {name}", expected="a value in every row")
    return values


def recorded_question(item: Item) -> str:
    """Returns the text that a file holds for an item: its question, or the question's fingerprint if it must not be written."""
    if is_private(item.benchmark):
        return FINGERPRINT_PREFIX + question_fingerprint(item.question).hex()
    return item.question


def is_fingerprint(recorded: str) -> bool:
    """Returns whether a row has only the fingerprint of its question."""
    return FINGERPRINT.fullmatch(recorded) is not None


def recorded_fingerprint(recorded: str) -> bytes:
    """Returns the fingerprint of a row's question, whichever of both the row has."""
    if is_fingerprint(recorded):
        return bytes.fromhex(recorded.removeprefix(FINGERPRINT_PREFIX))
    return question_fingerprint(recorded)


def is_question_of(recorded: str, item: Item) -> bool:
    """Returns whether a row's question is that of the item. Gated questions are compared by fingerprint, others exactly."""
    if is_private(item.benchmark):
        return recorded_fingerprint(recorded) == question_fingerprint(item.question)
    return recorded == item.question
