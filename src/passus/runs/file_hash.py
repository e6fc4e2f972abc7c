"""CRC-32 and SHA-256 of files, also of files that grow."""

import hashlib
import os
import zlib
from pathlib import Path
from typing import BinaryIO

from passus import bounded_json

BLOCK = 1 << 20
"""Bytes that are read at once."""


class FileHash:
    """Bytes, lines, CRC-32 and SHA-256 of a file that grows."""

    def __init__(self) -> None:
        self.bytes = self.rows = self.crc32 = 0
        self.sha256 = hashlib.sha256()

    def update(self, data: bytes) -> None:
        self.bytes += len(data)
        self.rows += data.count(b"\n")
        self.crc32 = zlib.crc32(data, self.crc32)
        self.sha256.update(data)


def hash_file(path: Path, size: int | None = None) -> FileHash:
    """Hashes the first `size` bytes of a file, or all of it."""
    done = FileHash()
    with bounded_json.open_plain(path) as file:
        left = os.fstat(file.fileno()).st_size if size is None else size
        while left > 0 and (block := file.read(min(BLOCK, left))):
            done.update(block)
            left -= len(block)
    return done


def crc_of(file: BinaryIO, size: int, crc: int = 0) -> tuple[int, int]:
    """Continues a CRC-32 by the next `size` bytes of a file. Returns it, and how many bytes there were."""
    left = size
    while left > 0 and (block := file.read(min(BLOCK, left))):
        crc = zlib.crc32(block, crc)
        left -= len(block)
    return crc, size - left
