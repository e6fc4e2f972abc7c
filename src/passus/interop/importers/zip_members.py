"""Members of zip files, bounded before they are decompressed, and also those that zstd has compressed.

Python's zipfile reads zstd (method 93) from 3.14 on. Here it only reads the directory of the file, and the members are
decompressed with zlib and pyarrow.
"""

import struct
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import Self

from passus.bounded_json import open_plain
from passus.errors import PassusError
from passus.interop.importers.source_files import MAX_FILE, unreadable

MAX_RATIO, FREE_SIZE = 2000, 1 << 22
"""Largest ratio of compression, for members that are larger than some megabytes. Text of models compresses a hundredfold."""
MAX_DIRECTORY, MAX_MEMBERS = 1 << 28, 1_000_000
END = struct.Struct("<4s4H2LH")
END_64 = struct.Struct("<4sQ2H2L4Q")
LOCAL_HEADER = struct.Struct("<4s5H3L2H")
ENCRYPTED = 1


class ZipMembers:
    """An open zip file and its directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.file = open_plain(path)
        except OSError as error:
            raise unreadable(path, error) from None
        try:
            self._check_directory()
            with zipfile.ZipFile(self.file) as archive:
                self.infos = {info.filename: info for info in archive.infolist()}
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error, OverflowError, IndexError) as error:
            self.file.close()
            raise PassusError(f"{path} is not a whole zip file: {str(error)[:200]}", expected="a log that was closed") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.file.close()

    def read(self, name: str) -> bytes:
        """Returns the content of a member."""
        info = self.infos[name]
        try:
            data = self._decompress(info)
        except (OSError, ValueError, zlib.error, struct.error, OverflowError) as error:
            raise PassusError(f"{self.path}: {name} cannot be read: {str(error)[:200]}", expected="a whole file") from None
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise PassusError(f"{self.path}: {name} is damaged", expected="the content that the file's directory announces")
        return data

    def _decompress(self, info: zipfile.ZipInfo) -> bytes:
        size = info.file_size
        if size > MAX_FILE or (size > FREE_SIZE and size > MAX_RATIO * info.compress_size) or info.flag_bits & ENCRYPTED:
            raise ValueError(f"it has {size:,} bytes, {info.compress_size:,} compressed, or is encrypted")
        raw = self._raw(info)
        match info.compress_type:
            case zipfile.ZIP_STORED:
                return raw
            case zipfile.ZIP_DEFLATED:
                return zlib.decompressobj(-zlib.MAX_WBITS).decompress(raw, size + 1)
            case 93:  # zstd, which zipfile has no name for before Python 3.14
                return _decompress_zstd(raw, size)
        raise ValueError(f"its compression has the number {info.compress_type}")

    def _raw(self, info: zipfile.ZipInfo) -> bytes:
        self.file.seek(info.header_offset)
        *_, name_length, extra_length = LOCAL_HEADER.unpack(self.file.read(LOCAL_HEADER.size))
        self.file.seek(name_length + extra_length, 1)
        raw = self.file.read(min(info.compress_size, MAX_FILE))
        if len(raw) < info.compress_size:
            raise ValueError("it is cut off")
        return raw

    def _check_directory(self) -> None:
        """Raises ValueError for a directory that would be too large in memory."""
        size = self.file.seek(0, 2)
        start = self.file.seek(max(0, size - (1 << 16) - END.size))
        tail = self.file.read()
        at = tail.rfind(b"PK\5\6")
        if at < 0 or at + END.size > len(tail):
            raise ValueError("it has no directory at its end, as if it were still being written")
        members, directory = END.unpack_from(tail, at)[4:6]
        at_64 = tail.rfind(b"PK\6\6", 0, at)
        if at_64 >= 0 and at_64 + END_64.size <= len(tail):
            members, directory = END_64.unpack_from(tail, at_64)[7:9]
        if members > MAX_MEMBERS or directory > min(MAX_DIRECTORY, start + len(tail)):
            raise ValueError(f"its directory has {members:,} members in {directory:,} bytes")
        self.file.seek(0)


def _decompress_zstd(raw: bytes, size: int) -> bytes:
    import pyarrow

    if not size:
        return b""
    content: bytes = pyarrow.decompress(raw, decompressed_size=size, codec="zstd", asbytes=True)
    return content
