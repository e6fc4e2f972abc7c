"""Writes checksums.jsonl and manifest.json while a run is recorded."""

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from passus import bounded_json
from passus.atomic_io import append_bytes, fault, read_lines, write_atomic
from passus.errors import UsageError
from passus.runs.checksums import CHECKSUMS, Checksum, Position, by_file, chained, content_of, read_checksums, read_on
from passus.runs.damage import CHANGED, ENDS_EARLY, Damage, DamagedRecordError
from passus.runs.file_hash import FileHash, hash_file
from passus.runs.manifest import LINE_FILES, MANIFEST, PER_FILE, FileEntry, Manifest, read_manifest, recorded_files, step_of
from passus.runs.row_files import count_rows
from passus.runs.totals import Totals


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
        """Hashes of the files of lines, up to their last checksum."""
        self._totals, self._chain = Totals(), 0
        self._unverified_before = 0
        self._is_on: bool | None = None
        """None until the first write, which looks whether the folder has a manifest."""
        self._is_final, self._step = False, 0
        """What the manifest says."""
        self._replaced: dict[str, list[Checksum]] = {}
        """Files that were written again since the last manifest: their checksums from the one in the manifest on."""

    @property
    def is_on(self) -> bool:
        if self._is_on is None:
            self._is_on = False
            if (self.folder / MANIFEST).exists():
                self.begin()
        return self._is_on

    def has(self, name: str) -> bool:
        """Whether a file has a checksum."""
        return self.is_on and name in self._last

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

    def recover(self) -> None:
        """Writes a lost manifest again from the checksums, which are a chain of their own. All steps count as unverified."""
        self._continue(Manifest(0, False, 0, {}, {}))
        last_step = max((last.step for last in self._last.values() if last.step is not None), default=-1)
        self._is_on, self._unverified_before = True, last_step + 1
        self.seal(max(0, last_step))

    def _continue(self, manifest: Manifest) -> None:
        path, position = self.folder / CHECKSUMS, Position()
        _end_torn_line(path)
        for checksum, line in read_on(path, position):
            self._take(checksum, line, manifest.sealed_lines)
        if position.lines < manifest.sealed_lines:
            raise DamagedRecordError(self.folder, Damage(CHECKSUMS, None, ENDS_EARLY))
        self._chain = position.chain
        self._unverified_before = manifest.unverified_before
        self._is_final, self._step = manifest.is_final, manifest.step
        self._withdraw_unwritten()
        if manifest.format == PER_FILE:
            self._write_hashes_of(manifest)

    def _take(self, checksum: Checksum, line: bytes, sealed: int) -> None:
        """Adds a checksum that was written before; the manifest covers the first `sealed` lines."""
        before = self._last.get(checksum.file)
        self._totals.add(checksum, before, line)
        if before is not None and checksum.line > sealed and checksum.file not in LINE_FILES:
            self._replaced.setdefault(checksum.file, [before]).append(checksum)
        self._last[checksum.file] = checksum

    def _write_hashes_of(self, manifest: Manifest) -> None:
        """Moves the SHA-256 of files from a manifest of the format before, which names each of them, to the checksums.

        After a kill it begins again: until the end, the manifest keeps the hashes.
        """
        files = {name: entry for name, entry in manifest.files.items() if name != CHECKSUMS}
        replace(manifest, files=files).write(self.folder)
        recorded = by_file(read_checksums(self.folder / CHECKSUMS)[0])
        for name, of in recorded.items():
            if name not in LINE_FILES:
                of[-1] = replace(of[-1], sha256=self._sha256_of(of, files.get(name)))
        self._rewrite(sorted((checksum for of in recorded.values() for checksum in of), key=attrgetter("line")))
        self._manifest(manifest.step, is_final=manifest.is_final).write(self.folder)

    def _sha256_of(self, of: Sequence[Checksum], entry: FileEntry | None) -> str:
        """Returns the SHA-256 of a file that is written as a whole; empty where its content is not the newest recorded one."""
        if entry is not None and len(of) == 1 and entry.bytes == of[-1].bytes:
            return entry.sha256
        path = self.folder / of[-1].file
        content = hash_file(path) if path.exists() else FileHash()
        return content.sha256.hexdigest() if (content.bytes, content.crc32) == (of[-1].bytes, of[-1].crc32) else ""

    def _withdraw_unwritten(self) -> None:
        """Records the content of files again whose newest checksum is of a content that never replaced theirs.

        A kill, or a full disk, may have come between the checksum and the content.
        """
        for name, of in list(self._replaced.items()):
            if (self.folder / name).exists():
                done = hash_file(self.folder / name)
                there = [checksum for checksum in of if (checksum.bytes, checksum.crc32) == (done.bytes, done.crc32)]
                if there and there[-1] is not of[-1]:
                    of.append(there[-1])
                    self._write(there[-1])

    def reopen(self) -> None:
        """Says that the record goes on after it was ended. Called before anything is written into the folder."""
        if self.is_on and self._is_final:
            self.seal(self._step)

    def _adopt(self, is_own: bool) -> None:
        """Writes checksums of all files, then the manifest, which makes them count."""
        checksums: list[Checksum] = []
        for name in recorded_files(self.folder):
            checksums += self._adopted_rows(name) if name in LINE_FILES else [self._adopted_file(name)]
        last_step = max((c.step for c in checksums if c.step is not None), default=-1)
        self._unverified_before = 0 if is_own else last_step + 1
        self._rewrite(checksums)
        self._manifest(max(0, last_step), is_final=False).write(self.folder)

    def _adopted_rows(self, name: str) -> Iterator[Checksum]:
        path, growing = self.folder / name, FileHash()
        self._growing[name] = growing
        for (_, line), row in zip(bounded_json.read_lines(path), read_lines(path), strict=False):
            growing.update(line)
            yield Checksum(name, row["step"], growing.rows, growing.bytes, growing.crc32)

    def _adopted_file(self, name: str) -> Checksum:
        content = hash_file(self.folder / name)
        rows = count_rows(self.folder / name) if "/" in name else None
        return Checksum(name, step_of(name), rows, content.bytes, content.crc32, content.sha256.hexdigest())

    def _rewrite(self, checksums: Iterable[Checksum]) -> None:
        self._last, self._totals, self._chain = {}, Totals(), 0

        def write(target: Path) -> None:
            with open(target, "wb") as file:
                for checksum in checksums:
                    file.write(self._add(checksum))

        write_atomic(self.folder / CHECKSUMS, write)

    def _add(self, checksum: Checksum) -> bytes:
        """Adds a checksum to the totals. Returns its line."""
        line, self._chain = chained(content_of(checksum), self._chain)
        self._totals.add(checksum, self._last.get(checksum.file), line)
        self._last[checksum.file] = checksum
        return line

    def appended(self, name: str, start: int, data: bytes, step: int) -> None:
        """Continues the chain of a file of lines by what was appended to its first `start` bytes."""
        if not self.is_on:
            return
        fault(f"append:{name}")
        growing = self._hash_of(name, start)
        growing.update(data)
        self._write(Checksum(name, step, growing.rows, growing.bytes, growing.crc32))

    def wrote(self, name: str, content: FileHash, rows: int | None = None) -> None:
        """Records a file that is written as a whole: before it replaces one that has a checksum, else after it appeared."""
        if self.is_on:
            fault(f"record:{name.rpartition('/')[2]}")
            self.reopen()
            checksum = Checksum(name, step_of(name), rows, content.bytes, content.crc32, content.sha256.hexdigest())
            if name in self._last:
                self._replaced.setdefault(name, [self._last[name]]).append(checksum)
            self._write(checksum)

    def _write(self, checksum: Checksum) -> None:
        with self._mutex:
            line, _ = chained(content_of(checksum), self._chain)
            append_bytes(self.folder / CHECKSUMS, line)
            self._add(checksum)

    def cut(self, kept: Sequence[Checksum], step: int) -> None:
        """Forgets all checksums but those that are kept, before the files themselves are cut. `seal` ends the cut."""
        self._growing.clear()
        self._is_final = False
        self._unverified_before = min(self._unverified_before, step + 1)
        Manifest(step, False, self._unverified_before, {}, {}).write(self.folder)
        self._rewrite(kept)
        self._replaced = {name: of for name, of in self._replaced.items() if name in self._last}

    def seal(self, step: int, *, is_final: bool = False) -> None:
        """Renews the manifest."""
        if self.is_on:
            self._withdraw_unwritten()
            self._manifest(step, is_final=is_final).write(self.folder)
            self._replaced.clear()
            self._is_final, self._step = is_final, step

    def _manifest(self, step: int, *, is_final: bool) -> Manifest:
        with self._mutex:
            own = self._totals.checksums
            files = {name: FileEntry(last.rows, last.bytes, self._sha256(last)) for name, last in self._totals.newest.items()}
            files[CHECKSUMS] = FileEntry(own.rows, own.bytes, own.sha256.hexdigest())
        return Manifest(step, is_final, self._unverified_before, dict(sorted(files.items())), self._totals.folders())

    def _sha256(self, last: Checksum) -> str:
        """Returns the SHA-256 of a file at its newest checksum; empty where it is lost or damaged, as the checksum tells."""
        if last.sha256 or not (self.folder / last.file).exists():
            return last.sha256
        try:
            return self._hash_of(last.file, last.bytes).sha256.hexdigest()
        except (DamagedRecordError, UsageError, IsADirectoryError):
            return ""

    def _hash_of(self, name: str, size: int) -> FileHash:
        """Returns the hash of the first bytes of a file of lines, which is read once per process.

        Refuses a file that is not as it was recorded, so that no checksum continues one of a damaged row.
        """
        growing, last = self._growing.get(name), self._last.get(name)
        if growing is None or growing.bytes != size:
            growing = hash_file(self.folder / name, size)
            if last is not None and last.bytes == size and last.crc32 != growing.crc32:
                raise DamagedRecordError(self.folder, Damage(name, None, CHANGED))
            self._growing[name] = growing
        return growing


def _end_torn_line(path: Path) -> None:
    """Removes a last line that a kill cut short, because the next one must not be appended to it."""
    bounded_json.refuse_pipe(path)
    content = path.read_bytes() if path.exists() else b""
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)
