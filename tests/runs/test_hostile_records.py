"""Manifests and checksums that agree with each other, and hold what passus never writes: a folder may come from anywhere."""

import hashlib
import json
import zlib

import pytest

from helpers.command import passus_in_process
from helpers.run_folders import ended_folder
from passus.errors import PassusError
from passus.runs.checksums import CHECKSUMS, chained
from passus.runs.damage import DamagedRecordError
from passus.runs.manifest import MANIFEST
from passus.runs.record_check import find_damage
from passus.runs.run_folder import RunFolder


@pytest.fixture
def run(tmp_path):
    (tmp_path / "runs").mkdir()
    return ended_folder(tmp_path / "runs")


def reseal(run, change):
    """Changes the manifest, and its hash with it."""
    manifest = json.loads((run.path / MANIFEST).read_text())
    del manifest["sha256"]
    change(manifest)
    sha256 = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    (run.path / MANIFEST).write_text(json.dumps(manifest | {"sha256": sha256}))


def rewrite(run, change):
    """Changes the rows of checksums.jsonl, their chain and the manifest with them."""
    rows = [json.loads(line) for line in (run.path / CHECKSUMS).read_text().splitlines()]
    change(rows)
    chain, content = 0, b""
    for row in rows:
        row.pop("chain", None)
        line, chain = chained(json.dumps(row).encode(), chain)
        content += line
    (run.path / CHECKSUMS).write_bytes(content)
    entry = {"rows": len(rows), "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    reseal(run, lambda manifest: manifest["files"].update({CHECKSUMS: entry}))


NAMES = ["../victim/step-000099.parquet", "/etc/passwd", "items/../../victim/step-000099.parquet", "..", "items/a/b.parquet",
         "a\\b", "x" * 300, "", "checkpoints/x", "items/\0"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_the_folder(run, name):
    """A resume moves the files of later steps away."""
    victim = run.path.parent / "victim/step-000099.parquet"
    victim.parent.mkdir()
    victim.write_text("mine")
    run.seal(6)
    content = (run.path / CHECKSUMS).read_bytes()
    row = {"file": name, "step": 99, "rows": 1, "bytes": 4, "crc32": f"{zlib.crc32(b'mine'):08x}"}
    line, _ = chained(json.dumps(row).encode(), int(json.loads(content.splitlines()[-1])["chain"], 16))
    (run.path / CHECKSUMS).write_bytes(content + line)
    with pytest.raises(DamagedRecordError, match=r"checksums\.jsonl"):
        RunFolder(run.path).set_aside_after(4, 2)
    done = passus_in_process("verify", str(run.path), "--set-aside", cwd=run.path.parent)
    assert done.returncode == 0 and victim.read_text() == "mine" and not list(run.path.rglob("step-000099*"))


VALUES = [{"bytes": -3}, {"bytes": "3"}, {"bytes": 2.0}, {"bytes": True}, {"step": "4"}, {"step": 10**200}, {"rows": []},
          {"crc32": 5}, {"crc32": "xy"}, {"sha256": 7}, {"file": 3}, {"file": None}]  # fmt: skip


@pytest.mark.parametrize("change", VALUES)
def test_values_of_other_types_are_refused(run, change):
    rewrite(run, lambda rows: rows[-1].update(change))
    assert [damage.file for damage in find_damage(run.path)] == [CHECKSUMS]


@pytest.mark.parametrize("key", ["file", "step", "rows", "bytes", "crc32"])
def test_missing_keys_are_refused(run, key):
    rewrite(run, lambda rows: rows[0].pop(key))
    assert [damage.file for damage in find_damage(run.path)] == [CHECKSUMS]


MANIFESTS = {
    "step": lambda m: m.update(step="x"), "unverified_before": lambda m: m.update(unverified_before=None),
    "is_final": lambda m: m.update(is_final=1), "files": lambda m: m.update(files=[]), "no files": lambda m: m.pop("files"),
    "bytes": lambda m: m["files"]["metrics.jsonl"].update(bytes="9"), "rows": lambda m: m["files"][CHECKSUMS].update(rows=-1),
    "sha256": lambda m: m["files"]["metrics.jsonl"].update(sha256=None), "folders": lambda m: m.update(folders=7),
    "a folder": lambda m: m["folders"].update(items=[]), "a count": lambda m: m["folders"]["items"].update(files=1),
    "a folder's hash": lambda m: m["folders"]["items"].update(sha256="0" * 64), "a key": lambda m: m.update(more=1),
    "one more folder": lambda m: m["folders"].update(more=m["folders"]["items"]), "no folder": lambda m: m["folders"].clear(),
    "left_out": lambda m: m.update(left_out=5), "format": lambda m: m.update(format="2"),
}  # fmt: skip


@pytest.mark.parametrize("change", MANIFESTS.values(), ids=MANIFESTS)
def test_manifests_that_passus_does_not_write_are_refused(run, change):
    reseal(run, change)
    with pytest.raises(PassusError, match=r"manifest\.json"):
        RunFolder(run.path).metrics()
    done = passus_in_process("verify", str(run.path), cwd=run.path.parent)
    assert done.returncode in (1, 4) and "manifest.json" in done.stdout + done.stderr and "Traceback" not in done.stderr


def test_a_newer_format_is_no_damage(run):
    """Setting it aside would lose what the newer version recorded."""
    reseal(run, lambda manifest: manifest.update(format=3))
    for more in ((), ("--set-aside",)):
        done = passus_in_process("verify", str(run.path), *more, cwd=run.path.parent)
        assert done.returncode == 1 and "has the format 3" in done.stderr and "with the version of passus" in done.stderr
    assert json.loads((run.path / MANIFEST).read_text())["format"] == 3
