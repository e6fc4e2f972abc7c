"""TensorBoard's event files, written by hand: a TFRecord per event, with its checksum. TensorBoard itself is not needed."""

import os
import socket
import struct
import time
from functools import cache
from pathlib import Path
from typing import BinaryIO

CASTAGNOLI = 0x82F63B78


@cache
def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (CASTAGNOLI if value & 1 else 0)
        table.append(value)
    return table


def masked_crc(data: bytes) -> int:
    """Returns the CRC-32C of the data, masked as TFRecord wants it."""
    crc, table = 0xFFFFFFFF, _crc_table()
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append((value & 0x7F) | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def scalar_event(step: int, numbers: dict[str, float], wall_time: float) -> bytes:
    """Returns an Event with a Summary that has one simple_value per number."""
    values = b"".join(
        _field(1, _field(1, name.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", value)) for name, value in numbers.items()
    )
    return _varint(1 << 3 | 1) + struct.pack("<d", wall_time) + _varint(2 << 3) + _varint(step) + _field(5, values)


class EventFile:
    """Appends events to one file in a folder."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}.0"
        self.path = folder / name
        self._file: BinaryIO = open(self.path, "ab")  # noqa: SIM115 (open until close)
        self._append(_varint(1 << 3 | 1) + struct.pack("<d", time.time()) + _field(3, b"brain.Event:2"))

    def write(self, step: int, numbers: dict[str, float], wall_time: float | None = None) -> None:
        self._append(scalar_event(step, numbers, time.time() if wall_time is None else wall_time))

    def _append(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        record = length + struct.pack("<I", masked_crc(length)) + event + struct.pack("<I", masked_crc(event))
        self._file.write(record)
        self._file.flush()

    def close(self) -> None:
        self._file.close()
