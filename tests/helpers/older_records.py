"""Rewrites a record as the version before wrote it: manifest.json names every file, and checksums.jsonl has no SHA-256."""

from dataclasses import replace
from pathlib import Path

from passus.runs.checksums import CHECKSUMS, chained, content_of, read_checksums
from passus.runs.file_hash import hash_file
from passus.runs.manifest import PER_FILE, FileEntry, read_manifest


def write_format_1(folder: Path) -> None:
    """Takes a record that was just sealed."""
    manifest = read_manifest(folder)
    checksums, chain, lines = read_checksums(folder / CHECKSUMS)[0], 0, b""
    files = {}
    for checksum in checksums:
        line, chain = chained(content_of(replace(checksum, sha256="")), chain)
        lines += line
        sha256 = hash_file(folder / checksum.file, checksum.bytes).sha256.hexdigest()
        files[checksum.file] = FileEntry(checksum.rows, checksum.bytes, sha256)
    (folder / CHECKSUMS).write_bytes(lines)
    own = hash_file(folder / CHECKSUMS)
    files[CHECKSUMS] = FileEntry(own.rows, own.bytes, own.sha256.hexdigest())
    replace(manifest, format=PER_FILE, files=files).write(folder)
