"""Mutated bundles, and mutated files of run folders with a manifest, for passus to refuse or to read."""

import json
import random
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from unittest.mock import patch

from helpers.hostile_files import TEXTS, mutate_bytes, mutate_json, run_command, temporary_folder
from helpers.small_run import small_config
from helpers.synthetic_runs import make_run
from passus.interop import bundle

READ = (("report", "--out", "out/r.md"), ("analyse",), ("verify",))


@cache
def recorded() -> Path:
    """Returns a folder with a run that has a manifest, and its bundle. It is made once per process."""
    folder = Path(tempfile.mkdtemp(prefix="passus-recorded-"))
    config = small_config(eval={"every": 10}, train={"steps": 20})
    run = make_run(folder / "runs/arm", {"abacus/add2": 0.0}, items=12, steps=(0, 10, 20), config=config)
    for step in range(1, 21):
        run.append_metrics({"step": step, "train/reward": 0.5, "train/num_tokens": 10.0 * step})
    run.write_status(state="finished", pid=1, exit_code=0, error=None)
    run.seal(20, is_final=True)
    bundle.write_bundle(folder / "runs", folder / "runs.zip")
    return folder


def try_bundle(seed: int) -> str:
    """Mutates the bytes of a bundle, a member, or the index (with the hash that belongs to it), and reads or verifies it."""
    rng = random.Random(f"bundle/{seed}")
    with temporary_folder() as folder:
        path = folder / "runs.zip"
        if rng.randrange(3) == 0:
            path.write_bytes(mutate_bytes((recorded() / "runs.zip").read_bytes(), rng))
        else:
            _write_mutated(path, rng)
        command, *more = rng.choice(READ)
        (folder / "out").mkdir()
        with patch.object(tempfile, "tempdir", str(folder / "out")):
            return run_command(folder, command, "runs.zip", *more, out=folder / "out", codes=(0, 1, 2, 4))


def _write_mutated(path: Path, rng: random.Random) -> None:
    with zipfile.ZipFile(recorded() / "runs.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    if rng.randrange(2):
        index = mutate_json(json.loads(members["bundle.json"]), rng)
        if isinstance(index, dict):
            index.pop("sha256", None)
            index["sha256"] = bundle._digest(index)
        members["bundle.json"] = json.dumps(index).encode("utf-8", "replace")
    else:
        members[name] = mutate_bytes(members[name], rng)
    if rng.randrange(4) == 0:
        members[rng.choice((*TEXTS, "../../x", "/x", "runs/../../x")) or "x"] = b"x"
    with zipfile.ZipFile(path, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for member, content in members.items():
            archive.writestr(member.encode("utf-8", "replace").decode().replace("\x00", "0"), content)


def try_manifest(seed: int) -> str:
    """Mutates the manifest or the checksums of a run folder, and reads or verifies the run."""
    rng = random.Random(f"manifest/{seed}")
    with temporary_folder() as folder:
        shutil.copytree(recorded() / "runs", folder / "runs")
        path = folder / "runs/arm" / rng.choice(("manifest.json", "checksums.jsonl"))
        content = path.read_bytes()
        if path.suffix == ".json" and rng.randrange(2):
            mutated = json.dumps(mutate_json(json.loads(content), rng)).encode("utf-8", "replace")
        else:
            mutated = mutate_bytes(content, rng)
        path.write_bytes(mutated)
        command, *more = rng.choice((*READ, ("ls",), ("plot", "--out", "out/f.csv")))
        return run_command(folder, command, "runs", *more, out=folder / "out", codes=(0, 1, 2, 4))


KINDS: list[tuple[str, Callable[[int], str]]] = [("bundles", try_bundle), ("manifests", try_manifest)]
"""Kinds of files that this module mutates, as in hostile_files.py."""
