"""Bundles: the record of one run or several in one zip file, with a hash of every member, for the artefact of a paper.

    bundle.json                     versions, commits, and size and SHA-256 of every other member
    runs/<arm>/...                  config.toml meta.json metrics.jsonl evals.jsonl items/ ... manifest.json checksums.jsonl
    figures/...                     the figures that stood beside the runs

Training samples are left out, because they are the largest part and no number of a report comes from them. A bundle may come
from anywhere: sizes and names are checked before a member is unpacked, and nothing is unpacked that bundle.json does not name.
"""

import hashlib
import json
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import passus
from passus import bounded_json
from passus.atomic_io import write_atomic
from passus.errors import PassusError, UsageError
from passus.interop.importers.zip_members import ZipMembers
from passus.runs.checksums import CHECKSUMS
from passus.runs.damage import CHANGED, MISSING, Damage, DamagedRecordError, quoted
from passus.runs.file_hash import BLOCK
from passus.runs.hold import held
from passus.runs.manifest import IN_META, LINE_FILES, MANIFEST, SINGLE_FILES, read_manifest
from passus.runs.run_folder import RunFolder, find_runs, saved_checkpoints
from passus.runs.saved_checkpoint import CHECKPOINT_MANIFEST, digest
from passus.runs.verify_run import verify_run

INDEX, FORMAT = "bundle.json", 1
FIGURES = (".svg", ".png", ".pdf")
LEFT_OUT = ("samples",)
"""Folders of rows that are not in a bundle."""
MOMENTS = "optimizer.safetensors"
"""File of a checkpoint that is not in a bundle."""
MAX_BYTES, MAX_MEMBERS = 1 << 33, 100_000
"""Bytes of all members but weights, and members."""
MAX_RATIO, FREE_SIZE = 2000, 1 << 22
"""Largest ratio of compression of a member that is larger than some megabytes."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""Time of every member, so that the same runs give the same bytes."""
BAD_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, RuntimeError, EOFError, KeyError)


def write_bundle(folder: Path, out: Path, *, weights: bool = False) -> int:
    """Writes the runs under a folder into a bundle, after they were verified. Returns the number of runs."""
    if out.suffix != ".zip":
        raise UsageError(f"--out {out}", expected="a file that ends in .zip", write=f"--out {quoted(out.with_suffix('.zip'))}")
    paths = find_runs(folder) if folder.is_dir() else []
    if not paths:
        raise UsageError(f"no runs under {folder}", expected="a run folder, or a folder of runs", write="passus ls")
    with tempfile.TemporaryDirectory(prefix="passus-bundle-") as temporary:
        staged = Path(temporary)
        about = {}
        for path in paths:
            name = path.relative_to(folder).as_posix() if path != folder else folder.resolve().name
            _stage_run(path, staged / "runs" / name, weights)
            about[name] = _about(RunFolder(path))
        for figure in sorted(file for file in folder.iterdir() if file.suffix in FIGURES):
            (staged / "figures").mkdir(exist_ok=True)
            shutil.copyfile(figure, staged / "figures" / figure.name)
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(out, lambda target: _write_zip(staged, about, target))
    return len(paths)


def _stage_run(path: Path, target: Path, weights: bool) -> None:
    """Copies what a bundle holds of a run, with a manifest of what is there."""
    with held(path, create=False):
        found = verify_run(RunFolder(path))
        if found.damage:
            raise PassusError(f"{path}: {found.damage[0]}", expected="an intact record", write=f"passus verify {quoted(path)}")
        rows = [file for kind in ("items", "readings", "candidates") for file in sorted((path / kind).glob("*.parquet"))]
        names = (*SINGLE_FILES, *LINE_FILES, "status.json", MANIFEST, CHECKSUMS)
        files = [path / name for name in names if (path / name).exists()] + rows
        saved = list(saved_checkpoints(path / "checkpoints").values())[-1:] if weights else []
        files += [file for folder in saved for file in sorted(folder.rglob("*")) if file.is_file() and file.name != MOMENTS]
        for file in files:
            copy = target / file.relative_to(path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    for folder in saved:
        _leave_moments_out(target / folder.relative_to(path) / CHECKPOINT_MANIFEST)
    _leave_rows_out(target)


def _leave_moments_out(path: Path) -> None:
    """Writes passus.json of a staged checkpoint anew, so that it names what is there."""
    manifest = json.loads(path.read_text(encoding="utf-8"))
    files = {name: entry for name, entry in manifest["files"].items() if name.rpartition("/")[2] != MOMENTS}
    body = {"progress": manifest["progress"], "files": files}
    path.write_text(json.dumps(body | {"sha256": digest(body)}, indent=2) + "\n", encoding="utf-8")


def _leave_rows_out(target: Path) -> None:
    """Makes the record of a staged run whole without its samples. A run from before manifests gets one, as unverified."""
    staged = RunFolder(target)
    if not (target / MANIFEST).exists():
        staged.write_single("meta.json", json.dumps(staged.meta() | {IN_META: True}, indent=2) + "\n")
        staged.begin_record()
    staged.leave_out(LEFT_OUT)
    manifest = read_manifest(target)
    assert manifest is not None
    replace(manifest, left_out=LEFT_OUT).write(target)


def _about(run: RunFolder) -> dict[str, Any]:
    """Returns what somebody needs to know to repeat a run."""
    meta = run.meta()
    launch = meta["launches"][-1]
    data = launch.get("data") or {}
    return {
        "id": meta.get("id"), "model": meta["model"], "git_commit": meta.get("git_commit"), "versions": launch.get("versions"),
        "python": launch.get("python"), "threads": launch.get("threads"), "command": launch.get("argv"),
        "base": run.config().model.base, "datasets": data.get("sha256"), "commits": data.get("commits"),
    }  # fmt: skip


def _write_zip(staged: Path, about: dict[str, Any], target: Path) -> None:
    files = sorted(path for path in staged.rglob("*") if path.is_file())
    entries = {path.relative_to(staged).as_posix(): _entry(path) for path in files}
    body = {"format": FORMAT, "passus": passus.__version__, "runs": about, "files": entries}
    index = json.dumps(body | {"sha256": _digest(body)}, indent=1).encode()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(_info(INDEX), index)
        for path in files:
            with (
                archive.open(_info(path.relative_to(staged).as_posix()), "w", force_zip64=True) as member,
                open(path, "rb") as file,
            ):
                shutil.copyfileobj(file, member, BLOCK)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EARLIEST)
    info.compress_type = zipfile.ZIP_STORED if name.endswith((".parquet", ".safetensors", ".png")) else zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _entry(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def is_bundle(path: Path) -> bool:
    return path.suffix == ".zip" and path.is_file()


def read_index(path: Path) -> dict[str, Any]:
    """Reads and checks bundle.json."""
    try:
        with ZipMembers(path) as members:
            index: dict[str, Any] = bounded_json.parse_json(members.read(INDEX).decode())
        body = {key: value for key, value in index.items() if key != "sha256"}
        if index["format"] != FORMAT or not isinstance(index["runs"], dict):
            raise ValueError("its format is not one that passus writes")
        if any(type(entry["bytes"]) is not int or not isinstance(entry["sha256"], str) for entry in index["files"].values()):
            raise ValueError("a member has no size or no SHA-256")
        sizes = {name: entry["bytes"] for name, entry in index["files"].items()}
        _check_names(sizes)
        _check_sizes(sizes, path.stat().st_size)
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise PassusError(f"{path}: {INDEX} cannot be read: {str(error)[:200]}", expected="a bundle of passus bundle") from None
    if index["sha256"] != _digest(body):
        raise PassusError(f"{path}: {INDEX}: {CHANGED}", expected="the bundle as passus wrote it")
    return index


def _check_names(names: Iterable[str]) -> None:
    """Raises ValueError for names that passus does not write."""
    known = set(names)
    if len(known) > MAX_MEMBERS:
        raise ValueError(f"it has {len(known):,} members")
    for name in known:
        if not _is_safe(name):
            raise ValueError("the name of a member is not one that passus writes")
        if folder := next((str(above) for above in PurePosixPath(name).parents if str(above) in known), None):
            raise ValueError(f"{folder} is a member, and a folder of {name}")


def _check_sizes(sizes: Mapping[str, int], size: int) -> None:
    """Raises ValueError for members that would be too large together. Weights are not compressed, and may be larger."""
    if min(sizes.values(), default=0) < 0:
        raise ValueError("the size of a member is negative")
    weights = sum(of for name, of in sizes.items() if _is_weights(name) and name.endswith(".safetensors"))
    rest = sum(sizes.values()) - weights
    if weights > size:
        raise ValueError(f"it has {weights:,} bytes of weights, and the file {size:,} bytes in all")
    if rest > MAX_BYTES or rest > max(FREE_SIZE, MAX_RATIO * size):
        raise ValueError(f"its members have {rest:,} bytes together, and the file {size:,}")


def _is_weights(name: str) -> bool:
    return "/checkpoints/" in name


def _is_safe(name: str) -> bool:
    parts = PurePosixPath(name).parts
    is_inside = bool(parts) and parts[0] in ("runs", "figures") and name == "/".join(parts) and ".." not in parts
    return is_inside and name.isprintable() and "\\" not in name and len(name) < 1000 and all(len(part) < 200 for part in parts)


def find_bundle_damage(path: Path) -> list[Damage]:
    """Checks every member against bundle.json. Returns what is wrong."""
    index = read_index(path)
    found = []
    with _open_zip(path) as archive:
        listed = archive.namelist()
        names = set(listed)
        extra = [name for name in listed if name not in index["files"] and name != INDEX]
        found += [Damage(name, None, f"{INDEX} does not name it") for name in extra[:10]]
        for name, entry in index["files"].items():
            problem = _member_problem(archive, name, entry) if name in names else MISSING
            found += [Damage(name, None, problem)] if problem else []
        if len(names) < len(listed):
            found.append(Damage(INDEX, None, "a member is there twice"))
    return found


def _member_problem(archive: zipfile.ZipFile, name: str, entry: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    try:
        _copy_member(archive, name, int(entry["bytes"]), digest.update)
    except BAD_ZIP_ERRORS as error:
        return f"it cannot be read: {str(error)[:100]}"
    return "" if digest.hexdigest() == entry["sha256"] else CHANGED


def _copy_member(archive: zipfile.ZipFile, name: str, size: int, take: Callable[[bytes], object]) -> None:
    """Passes a member on in blocks. Raises ValueError where it is larger than it should be."""
    info = archive.getinfo(name)
    if info.file_size != size or (size > FREE_SIZE and size > MAX_RATIO * max(1, info.compress_size)):
        raise ValueError(f"it has {info.file_size:,} bytes, {info.compress_size:,} compressed, and should have {size:,}")
    left = size
    with archive.open(info) as member:
        while block := _read(member, left):
            take(block)
            left -= len(block)
    if left:
        raise ValueError(f"{left:,} bytes are missing")


def _read(member: Any, left: int) -> bytes:
    block: bytes = member.read(min(BLOCK, left + 1))
    if len(block) > left:
        raise ValueError("it is longer than its header says")
    return block


@contextmanager
def opened(sources: Sequence[Path], *, weights: bool = False) -> Iterator[list[Path]]:
    """Yields the sources with bundles unpacked to temporary folders. Their members are checked.

    Errors name the bundle in place of the temporary folder, in which nothing can be set aside.
    """
    with ExitStack() as stack:
        paths, unpacked = [], {}
        for source in sources:
            if is_bundle(source):
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="passus-bundle-"))) / source.stem
                unpack(source, folder, weights=weights)
                unpacked[str(folder)] = str(source)
                paths.append(folder)
            else:
                paths.append(source)
        try:
            yield paths
        except PassusError as error:
            for folder_name, name in unpacked.items():
                if isinstance(error, DamagedRecordError) and folder_name in str(error):
                    raise _damaged_bundle(str(error).splitlines()[0].replace(folder_name, name), name) from None
                error.args = (str(error).replace(folder_name, name),)
            raise


def _damaged_bundle(problem: str, name: str) -> PassusError:
    write = f"passus verify {quoted(name)}   which lists all damage; only another copy of the bundle, or of its runs, helps"
    return PassusError(problem, expected="the record as passus wrote it", write=write)


def unpack(path: Path, folder: Path, *, weights: bool = False) -> None:
    """Unpacks the runs of a bundle. Refuses a member that is not as it was written."""
    index = read_index(path)
    names = [name for name in index["files"] if name.startswith("runs/") and (weights or not _is_weights(name))]
    folder.mkdir(parents=True)
    with _open_zip(path) as archive:
        for name in names:
            target = folder.joinpath(*PurePosixPath(name).parts[1:])
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "wb") as file:
                problem = _unpack_member(archive, name, index["files"][name], file)
            if problem:
                raise PassusError(
                    f"{path}: {name}: {problem}",
                    expected="the bundle as passus wrote it",
                    write=f"passus verify {quoted(path)}",
                )


@contextmanager
def _open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
    except BAD_ZIP_ERRORS as error:
        raise PassusError(f"{path} is not a whole zip file: {str(error)[:200]}", expected="a bundle of passus bundle") from None
    with archive:
        yield archive


def _unpack_member(archive: zipfile.ZipFile, name: str, entry: dict[str, Any], file: BinaryIO) -> str:
    digest = hashlib.sha256()

    def take(block: bytes) -> None:
        digest.update(block)
        file.write(block)

    try:
        _copy_member(archive, name, int(entry["bytes"]), take)
    except BAD_ZIP_ERRORS as error:
        return f"it cannot be read: {str(error)[:100]}"
    return "" if digest.hexdigest() == entry["sha256"] else CHANGED
