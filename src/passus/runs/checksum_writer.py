"""Writes checksums.jsonl and manifest.json while a run is recorded."""

import hashlib
import os
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from passus import bounded_json
from passus.atomic_io import append_bytes, fault, read_lines, write_text
from passus.runs.checksums import CHECKSUMS, Checksum, by_file, checksum_lines, read_checksums
from passus.runs.manifest import LINE_FILES, MANIFEST, FileEntry, Manifest, read_manifest, recorded_files, step_of

BLOCK = 1 << 20
"""Bytes that are read at once."""


class FileHash:
    """CRC-32 and SHA-256 of a file that grows."""

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
        while left and (block := file.read(min(BLOCK, left))):
            done.update(block)
            left -= len(block)
    return done


class ChecksumWriter:
    """Records what one process writes into a run folder. Two threads may write rows.

    A folder from before manifests stays without one until `begin` is called, when a run starts or is resumed in it.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._mutex = threading.Lock()
        self._last: dict[str, Checksum] = {}
        """The newest checksum of every file."""
        self._growing: dict[str, FileHash] = {}
        self._sha256: dict[str, tuple[int, str]] = {}
        """Size and hash of the files that are written as a whole."""
        self._own, self._chain = FileHash(), 0
        self._unverified_before = 0
        self._is_on: bool | None = None
        """None until the first write, which looks whether the folder has a manifest."""
        self._is_final, self._step = False, 0
        """What the manifest says."""
        self._replaced: set[str] = set()
        """Whole files that were written again since the last manifest."""

    @property
    def is_on(self) -> bool:
        if self._is_on is None:
            self._is_on = False
            if (self.folder / MANIFEST).exists():
                self.begin()
        return self._is_on

    def begin(self, *, is_own: bool = False) -> None:
        """Continues what is recorded. A folder without a manifest gets one, with its files as they are.

        `is_own` says that this process has just written them, so that they count as verified.
        """
        if self._is_on:
            return
        manifest = read_manifest(self.folder)
        if manifest is None:
            self._adopt(is_own)
        else:
            self._continue(manifest)
        self._is_on = True

    def _continue(self, manifest: Manifest) -> None:
        path = self.folder / CHECKSUMS
        content = path.read_bytes() if path.exists() else b""
        if not content.endswith(b"\n"):  # a kill cut the last line short, and the next must not be appended to it
            os.truncate(path, content.rfind(b"\n") + 1)
        checksums, self._chain = read_checksums(path)
        self._last, self._own = {name: of[-1] for name, of in by_file(checksums).items()}, hash_file(path)
        self._sha256 = {name: (entry.bytes, entry.sha256) for name, entry in manifest.files.items()}
        self._unverified_before = manifest.unverified_before
        self._is_final, self._step = manifest.is_final, manifest.step
        sealed = manifest.files[CHECKSUMS].rows or 0 if CHECKSUMS in manifest.files else 0
        self._replaced = {checksum.file for checksum in checksums if checksum.line > sealed} - set(LINE_FILES)
        self._withdraw_unwritten({name: of for name, of in by_file(checksums).items() if name in self._replaced})

    def _withdraw_unwritten(self, recorded: Mapping[str, Sequence[Checksum]]) -> None:
        """Records the content of files again whose newest checksum is of a content that never replaced theirs.

        A kill, or a full disk, may have come between the checksum and the content.
        """
        for name, of in recorded.items():
            if len(of) > 1 and (self.folder / name).exists():
                done = hash_file(self.folder / name)
                there = [checksum for checksum in of if (checksum.bytes, checksum.crc32) == (done.bytes, done.crc32)]
                if there and there[-1] is not of[-1]:
                    self._sha256[name] = (done.bytes, done.sha256.hexdigest())
                    self._write(there[-1])

    def reopen(self) -> None:
        """Says that the record goes on after it was ended. Called before anything is written into the folder."""
        if self.is_on and self._is_final:
            self.seal(self._step)

    def _adopt(self, is_own: bool) -> None:
        """Writes checksums of all files, then the manifest, which makes them count."""
        checksums: list[Checksum] = []
        for name in recorded_files(self.folder):
            if name in LINE_FILES:
                checksums += self._adopted_rows(name)
            else:
                done = hash_file(self.folder / name)
                self._sha256[name] = (done.bytes, done.sha256.hexdigest())
                checksums.append(Checksum(name, step_of(name), None, done.bytes, done.crc32))
        last_step = max((c.step for c in checksums if c.step is not None), default=-1)
        self._unverified_before = 0 if is_own else last_step + 1
        self._last = {name: of[-1] for name, of in by_file(checksums).items()}
        self._rewrite(checksums)
        self._manifest(max(0, last_step), is_final=False).write(self.folder)

    def _adopted_rows(self, name: str) -> Iterator[Checksum]:
        path, growing = self.folder / name, FileHash()
        self._growing[name] = growing
        for (_, line), row in zip(bounded_json.read_lines(path), read_lines(path), strict=False):
            growing.update(line)
            yield Checksum(name, row["step"], growing.rows, growing.bytes, growing.crc32)

    def _rewrite(self, checksums: Sequence[Checksum]) -> None:
        text, self._chain = checksum_lines(checksums, 0)
        self._own = FileHash()
        self._own.update(text.encode())
        write_text(self.folder / CHECKSUMS, text)

    def appended(self, name: str, start: int, data: bytes, step: int) -> None:
        """Continues the chain of a file of lines by what was appended to its first `start` bytes."""
        if not self.is_on:
            return
        fault(f"append:{name}")
        growing = self._growing.get(name)
        if growing is None or growing.bytes != start:  # the first append of this process
            growing = self._growing[name] = hash_file(self.folder / name, start)
        growing.update(data)
        self._write(Checksum(name, step, growing.rows, growing.bytes, growing.crc32))

    def wrote(self, name: str, content: FileHash, rows: int | None = None) -> None:
        """Records a file that is written as a whole: before it replaces another of its name, else after it appeared."""
        if self.is_on:
            self.reopen()
            if name in self._last:
                self._replaced.add(name)
            self._sha256[name] = (content.bytes, content.sha256.hexdigest())
            self._write(Checksum(name, step_of(name), rows, content.bytes, content.crc32))

    def _write(self, checksum: Checksum) -> None:
        with self._mutex:
            text, chain = checksum_lines([checksum], self._chain)
            append_bytes(self.folder / CHECKSUMS, text.encode())
            self._own.update(text.encode())
            self._chain = chain
            self._last[checksum.file] = checksum

    def cut(self, kept: Sequence[Checksum], step: int) -> None:
        """Forgets all checksums but those that are kept, before the files themselves are cut. `seal` ends the cut."""
        self._last = {name: of[-1] for name, of in by_file(kept).items()}
        self._growing.clear()
        self._is_final = False
        self._unverified_before = min(self._unverified_before, step + 1)
        self._manifest(step, is_final=False, is_cut=True).write(self.folder)
        self._rewrite(kept)

    def seal(self, step: int, *, is_final: bool = False) -> None:
        """Renews the manifest."""
        if self.is_on:
            if self._replaced:
                of = by_file(read_checksums(self.folder / CHECKSUMS)[0])
                self._withdraw_unwritten({name: of[name] for name in self._replaced if name in of})
            self._manifest(step, is_final=is_final).write(self.folder)
            self._replaced.clear()
            self._is_final, self._step = is_final, step

    def _manifest(self, step: int, *, is_final: bool, is_cut: bool = False) -> Manifest:
        with self._mutex:
            files = {name: FileEntry(last.rows, last.bytes, self._digest(last)) for name, last in sorted(self._last.items())}
            if not is_cut:
                files[CHECKSUMS] = FileEntry(self._own.rows, self._own.bytes, self._own.sha256.hexdigest())
        return Manifest(step, is_final, self._unverified_before, files)

    def _digest(self, last: Checksum) -> str:
        """Returns the hash of a file's first bytes: the rolling one, the recorded one, or else computed now."""
        growing, (size, sha256) = self._growing.get(last.file), self._sha256.get(last.file, (-1, ""))
        if growing is not None and growing.bytes == last.bytes:
            return growing.sha256.hexdigest()
        if size == last.bytes:
            return sha256
        path = self.folder / last.file
        return hash_file(path, last.bytes).sha256.hexdigest() if path.exists() else ""
