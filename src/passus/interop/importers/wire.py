"""Wire formats: protobuf fields, and the two framings that hold them, the log of .wandb files and TensorFlow's records.

Lengths are checked against what is there before anything is read. Nothing is known here of what the fields mean.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from passus.interop.importers.source_files import tell

MAX_RECORD = 1 << 26
"""Bytes of a record. Images and audio that were logged are larger than any number, and have no meaning here."""
MAX_VARINT = 10
"""Bytes of a varint of 64 bits."""
WANDB_MAGIC = b":W&B"
WANDB_HEADER = struct.Struct("<4sHB")
BLOCK = 1 << 15
CHUNK_HEADER = struct.Struct("<IHB")
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
DAMAGED, TORN = -1, -2
"""Kinds of chunks: those of the format, and what was found in place of one."""
RECORD_HEADER, FOOTER = struct.Struct("<QI"), 4

Field = int | bytes


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns a varint and the position after it. Raises ValueError where it does not end."""
    value = shift = 0
    for n in range(at, min(at + MAX_VARINT, len(data))):
        byte = data[n]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, n + 1
        shift += 7
    raise ValueError("a varint does not end")


def read_fields(data: bytes) -> Iterator[tuple[int, Field]]:
    """Yields the number and the value of every field of a message. Raises ValueError for what is no message."""
    at, end = 0, len(data)
    while at < end:
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            number, at = read_varint(data, at)
            yield key >> 3, number
            continue
        if kind == 2:
            length, at = read_varint(data, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field has the wire type {kind}")
        if at + length > end:
            raise ValueError(f"a field of {length} bytes does not fit into its message")
        yield key >> 3, data[at : at + length]
        at += length


def wandb_records(file: BinaryIO, name: str, remarks: list[str]) -> Iterator[bytes]:
    """Yields the records of a .wandb file whose checksums are right. Damaged and torn ones are left out and told."""
    file.seek(0)
    record, is_open, damaged = bytearray(), False, 0
    for kind, data in _chunks(file):
        if kind == DAMAGED:
            damaged, is_open = damaged + 1, False
        elif kind in (FULL, FIRST):
            record, is_open = bytearray(data), True
        elif is_open:
            record += data
            is_open = len(record) <= MAX_RECORD
        if kind in (FULL, LAST) and is_open:
            yield bytes(record)
            is_open = False
        if kind == TORN:
            is_open = True
            break
    if damaged:
        tell(remarks, f"{name}: {damaged:,} blocks are damaged, and the records in them were left out")
    if is_open:
        tell(remarks, f"{name}: the last record is cut off and was dropped")


def _chunks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields the kind and the data of every chunk. The rest of a damaged block is left out."""
    at = WANDB_HEADER.size  # which is part of the first block
    while block := file.read(BLOCK):
        while at + CHUNK_HEADER.size <= len(block):
            checksum, length, kind = CHUNK_HEADER.unpack_from(block, at)
            if not kind and not length:
                break  # the rest of the block was never written
            data = block[at + CHUNK_HEADER.size : at + CHUNK_HEADER.size + length]
            if len(data) < length:
                yield (DAMAGED if len(block) == BLOCK else TORN), b""
                break
            if zlib.crc32(data, zlib.crc32(bytes((kind,)))) != checksum:
                yield DAMAGED, b""
                break
            yield kind, data
            at += CHUNK_HEADER.size + length
        at = 0


def tensorflow_records(file: BinaryIO, size: int, name: str, remarks: list[str]) -> Iterator[bytes]:
    """Yields the records of an event file of `size` bytes. Only lengths are checked: no library here has its checksum."""
    at = 0
    while len(header := file.read(RECORD_HEADER.size)) == RECORD_HEADER.size:
        length = RECORD_HEADER.unpack(header)[0]
        at += RECORD_HEADER.size + length + FOOTER
        if at > size:
            break
        if length > MAX_RECORD:
            file.seek(at)
            continue
        yield file.read(length + FOOTER)[:length]
    if at != size or header:
        tell(remarks, f"{name}: the last record is cut off and was dropped")
