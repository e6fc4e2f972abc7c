"""CSV files: bounded rows as texts, with the delimiter, the decimal comma and the encoding that spreadsheets choose."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from passus.errors import PassusError
from passus.interop.importers.source_files import read_lines, tell

MAX_COLUMNS, MAX_ROWS = 10_000, 20_000_000
DELIMITERS = ",;\t"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class CsvFile:
    """The header of a CSV file, and how its cells are written."""

    path: Path
    header: tuple[str, ...]
    delimiter: str

    @property
    def has_decimal_commas(self) -> bool:
        """Whether a comma in a cell may be decimal, because it separates no cells."""
        return self.delimiter != ","

    def rows(self, remarks: list[str]) -> Iterator[list[str]]:
        """Yields the rows after the header. Rows of another length are left out and told."""
        width, odd = len(self.header), 0
        for n, row in enumerate(_parsed(self.path, self.delimiter, remarks)):
            if n > MAX_ROWS:
                raise PassusError(f"{self.path} has more than {MAX_ROWS:,} rows", expected="a smaller file")
            if n and len(row) == width:
                yield row
            else:
                odd += bool(n and row)
        if odd:
            tell(remarks, f"{self.path.name}: {odd:,} rows do not have the {width} cells of the header, and were left out")


def open_csv(path: Path) -> CsvFile:
    """Reads the header of a CSV file."""
    first = next((line for _, line in read_lines(path, [])), b"")
    if first.startswith(UTF_16):
        raise PassusError(f"{path} is in UTF-16", expected="UTF-8", write="the table saved again as CSV UTF-8")
    line = _decode(first)
    outside = "".join(line.split('"')[::2])  # what no quotes enclose
    delimiter = max(DELIMITERS, key=outside.count)
    header = next(_parsed(path, delimiter, []), [])
    if len(header) > MAX_COLUMNS:
        raise PassusError(f"{path} has {len(header):,} columns", expected=f"at most {MAX_COLUMNS:,}")
    return CsvFile(path, tuple(name.strip() for name in header), delimiter)


def _parsed(path: Path, delimiter: str, remarks: list[str]) -> Iterator[list[str]]:
    try:
        yield from csv.reader((_decode(line) for _, line in read_lines(path, remarks)), delimiter=delimiter)
    except csv.Error as error:
        raise PassusError(f"{path} cannot be read as CSV: {error}", expected="rows of cells, with quotes that end") from None


def _decode(line: bytes) -> str:
    return line.decode("utf-8-sig", "replace").replace("\0", "")
