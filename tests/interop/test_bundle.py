"""Bundles of runs: what they hold, that they are verified anywhere, and that nothing damaged or hostile is unpacked."""

import hashlib
import json
import math
import random
import shutil
import zipfile

import pytest
from safetensors.torch import load_file, save_file

from helpers.command import passus_in_process
from helpers.synthetic_runs import make_run
from passus.errors import PassusError
from passus.interop import bundle
from passus.runs import hold
from passus.runs.record_check import find_damage
from passus.runs.run_folder import RunFolder, find_runs
from passus.runs.saved_checkpoint import CHECKPOINT_MANIFEST, digest, file_fingerprint


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    for name, shift in (("a", 0.0), ("b", 0.15)):
        run = make_run(folder / "runs" / name, {"abacus/sub": shift}, items=12, label=name)
        run.append_metrics({"step": 1, "train/reward": 0.5})
        run.write_status(state="finished", error=None)
        run.seal(50, is_final=True)
    (folder / "runs/figure.svg").write_text("<svg/>")
    done = passus_in_process("bundle", "runs", "--out", "paper.zip", cwd=folder)
    assert done.returncode == 0 and "bundle of 2 runs" in done.stdout, done.stderr
    return folder


def test_a_bundle_holds_the_record_and_names_what_is_needed_to_repeat_it(made):
    index = bundle.read_index(made / "paper.zip")
    assert {"runs/a/metrics.jsonl", "runs/b/items/step-000050.parquet", "figures/figure.svg"} <= index["files"].keys()
    assert set(index["runs"]) == {"a", "b"} and index["runs"]["a"]["versions"]["numpy"]


def test_the_same_runs_give_the_same_bytes(made, tmp_path):
    bundle.write_bundle(made / "runs", tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (made / "paper.zip").read_bytes()


def test_report_compare_and_analyse_say_the_same_of_a_bundle(made, tmp_path):
    shutil.copy(made / "paper.zip", tmp_path / "runs.zip")  # the name of a bundle is that of the folder in titles
    shutil.copytree(made / "runs", tmp_path / "folder/runs")
    for arguments in (("analyse",), ("report", "--out", "r.md", "--title", "t")):
        said = []
        for source, cwd in (("runs.zip", tmp_path), ("runs", tmp_path / "folder")):
            done = passus_in_process(arguments[0], source, *arguments[1:], cwd=cwd)
            assert done.returncode == 0, done.stderr
            text = (cwd / "r.md").read_text() if "report" in arguments else done.stdout
            said.append([line for line in text.splitlines() if "passus" not in line])
        assert said[0] == said[1]
    for name in ("a", "b"):
        bundle.write_bundle(made / "runs" / name, tmp_path / f"{name}.zip")
    one = passus_in_process("compare", "a.zip", "b.zip", "--json", cwd=tmp_path)
    other = passus_in_process("compare", "a", "b", "--json", cwd=made / "runs")
    assert one.returncode == 0 and one.stdout == other.stdout, one.stderr


def test_verify(made):
    done = passus_in_process("verify", "paper.zip", cwd=made)
    assert done.returncode == 0 and done.stdout.splitlines() == [f"paper.zip/{n}: as it was written" for n in "ab"], done


def test_samples_are_left_out_and_the_manifest_says_so(small_run, tmp_path):
    shutil.copytree(small_run.path, tmp_path / "run")
    bundle.write_bundle(tmp_path / "run", tmp_path / "run.zip", weights=True)
    names = bundle.read_index(tmp_path / "run.zip")["files"]
    assert not [name for name in names if "/samples/" in name] and "runs/run/checkpoints/step-000008/model.safetensors" in names
    with bundle.opened([tmp_path / "run.zip"]) as (folder,):
        (path,) = find_runs(folder)
        assert find_damage(path) == [] and not (path / "checkpoints").exists()
        assert RunFolder(path).metrics() == RunFolder(small_run.path).metrics()
    assert not folder.exists()
    done = passus_in_process("verify", "run.zip", "--deep", cwd=tmp_path)
    assert done.returncode == 0 and "without samples" in done.stdout and "weights" not in done.stdout
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        archive.extractall(tmp_path / "unzipped")
    done = passus_in_process("verify", "unzipped/runs", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    bundle.write_bundle(tmp_path / "run", tmp_path / "light.zip")
    assert "without weights: none were read" in passus_in_process("verify", "light.zip", "--deep", cwd=tmp_path).stdout


def test_weights_of_a_bundle_are_read(small_run, tmp_path):
    shutil.copytree(small_run.path, tmp_path / "run")
    path = tmp_path / "run/checkpoints/step-000008/model.safetensors"
    weights = load_file(path)
    next(iter(weights.values()))[0] = math.nan
    save_file(weights, path)
    manifest = json.loads((path.parent / CHECKPOINT_MANIFEST).read_text())
    body = {"progress": manifest["progress"], "files": manifest["files"] | {path.name: file_fingerprint(path)}}
    (path.parent / CHECKPOINT_MANIFEST).write_text(json.dumps(body | {"sha256": digest(body)}))
    bundle.write_bundle(tmp_path / "run", tmp_path / "run.zip", weights=True)
    assert passus_in_process("verify", "run.zip", cwd=tmp_path).returncode == 0
    done = passus_in_process("verify", "run.zip", "--deep", cwd=tmp_path)
    assert done.returncode == 4 and "is not finite" in done.stdout


def test_runs_from_before_manifests_and_runs_that_were_adopted(small_run, tmp_path):
    """Their samples are left out too, and only the manifest of the bundle can say so."""
    for name in ("before", "adopted"):
        shutil.copytree(small_run.path, tmp_path / "runs" / name)
        RunFolder(tmp_path / "runs" / name).forget_checksums()
    RunFolder(tmp_path / "runs/adopted").begin_record()
    bundle.write_bundle(tmp_path / "runs", tmp_path / "runs.zip")
    done = passus_in_process("verify", "runs.zip", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.count("were recorded before manifests") == 2, done.stdout
    with bundle.opened([tmp_path / "runs.zip"]) as (folder,):
        (folder / "before/items/step-000003.parquet").unlink()
        assert passus_in_process("verify", str(folder), cwd=tmp_path).returncode == 4


def test_a_run_that_is_being_recorded_is_not_bundled(made, tmp_path, monkeypatch):
    monkeypatch.setattr(hold, "SECONDS", 0.01)
    shutil.copytree(made / "runs/a", tmp_path / "a")
    with hold.held(tmp_path / "a", alone=True), pytest.raises(PassusError, match="is being recorded"):
        bundle.write_bundle(tmp_path / "a", tmp_path / "a.zip")


def test_errors_name_the_bundle(made):
    with pytest.raises(PassusError, match=r"paper\.zip/x is odd") as caught, bundle.opened([made / "paper.zip"]) as (folder,):
        raise PassusError(f"{folder}/x is odd")
    assert "passus-bundle-" not in str(caught.value)


def rewritten(source, target, change):
    """Copies a bundle with changed members."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


CHANGES = {
    "a digit": lambda m: m.update({"runs/a/evals.jsonl": m["runs/a/evals.jsonl"].replace(b"0.5", b"0.6", 1)}),
    "a lost member": lambda m: m.pop("runs/a/items/step-000010.parquet"),
    "one more member": lambda m: m.update({"runs/a/events.jsonl": b"{}\n"}),
    "a path outside": lambda m: m.update({"../../outside": b"x"}),
    "a digit of the index": lambda m: m.update({"bundle.json": m["bundle.json"].replace(b"1", b"2", 1)}),
    "no index": lambda m: m.pop("bundle.json"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_damage_is_found(made, tmp_path, change):
    rewritten(made / "paper.zip", tmp_path / "x.zip", change)
    done = passus_in_process("verify", "x.zip", cwd=tmp_path)
    assert done.returncode in (1, 4) and "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.zip"]


def with_members(source, target, files):
    """Copies a bundle whose index names more files."""

    def change(members):
        index = json.loads(members["bundle.json"])
        index["files"] |= files
        body = {key: value for key, value in index.items() if key != "sha256"}
        members["bundle.json"] = json.dumps(body | {"sha256": bundle._digest(body)}).encode()

    rewritten(source, target, change)


def test_damage_inside_a_run_of_a_bundle_is_told_of_the_bundle(made, tmp_path):
    """The index agrees with what is there; only the run tells. In a bundle nothing can be set aside."""
    with zipfile.ZipFile(made / "paper.zip") as archive:
        rows = archive.read("runs/a/evals.jsonl").replace(b"0.5", b"0.6", 1)

    def change(members):
        index = json.loads(members["bundle.json"])
        index["files"]["runs/a/evals.jsonl"] = {"bytes": len(rows), "sha256": hashlib.sha256(rows).hexdigest()}
        body = {key: value for key, value in index.items() if key != "sha256"}
        members |= {"runs/a/evals.jsonl": rows, "bundle.json": json.dumps(body | {"sha256": bundle._digest(body)}).encode()}

    rewritten(made / "paper.zip", tmp_path / "my x.zip", change)
    done = passus_in_process("analyse", "my x.zip", cwd=tmp_path)
    assert done.returncode == 1 and "my x.zip/a/evals.jsonl, step 0: its content has changed" in done.stderr
    assert "write: passus verify 'my x.zip'   which" in done.stderr and "set-aside" not in done.stderr
    done = passus_in_process("verify", "my x.zip", cwd=tmp_path)
    assert done.returncode == 4 and "my x.zip/a: 1 damaged" in done.stdout


NAMES = ["/etc/x", "runs/../../x", "runs/a/\x1b[31m", "x", "runs\\a", "runs//a", "runs/" + "a" * 300]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_an_index_may_not_have(made, tmp_path, name):
    with_members(made / "paper.zip", tmp_path / "x.zip", {name: {"bytes": 1, "sha256": ""}})
    with pytest.raises(PassusError, match="the name of a member"):
        bundle.unpack(tmp_path / "x.zip", tmp_path / "out")


def entry(size):
    return {"bytes": size, "sha256": ""}


MEMBERS = {
    "negative": ({"runs/x": entry(-1)}, "is negative"),
    "negative beside a large one": ({"runs/x": entry(1 << 60), "runs/y": entry(-(1 << 60))}, "is negative"),
    "many": ({f"runs/{n}": entry(1 << 22) for n in range(3000)}, "bytes together"),
    "more weights than file": ({"runs/a/checkpoints/s/m.safetensors": entry(1 << 30)}, "bytes of weights"),
    "a folder of another": ({"runs/a/metrics.jsonl/x": entry(1)}, "is a member, and a folder of"),
    "a text": ({"runs/x": entry("1")}, "no size"), "a truth value": ({"runs/x": entry(True)}, "no size"),
    "no number": ({"runs/x": entry(None)}, "no size"), "a real number": ({"runs/x": entry(1e300)}, "no size"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "words"), MEMBERS.values(), ids=MEMBERS)
def test_sizes_and_folders_that_an_index_may_not_have(made, tmp_path, files, words):
    with_members(made / "paper.zip", tmp_path / "x.zip", files)
    for command in ("verify", "analyse"):
        done = passus_in_process(command, "x.zip", cwd=tmp_path)
        assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr, done
        assert "passus-bundle-" not in done.stderr


def test_a_bomb_is_not_unpacked(made, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MAX_RATIO", 100)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("runs/a/metrics.jsonl", b"\0" * (1 << 24))
        body = {"format": 1, "runs": {}, "files": {"runs/a/metrics.jsonl": {"bytes": 1 << 24, "sha256": "x"}}}
        archive.writestr("bundle.json", json.dumps(body | {"sha256": bundle._digest(body)}))
    with pytest.raises(PassusError, match="bytes together"):
        bundle.find_bundle_damage(tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip", "a") as archive:
        archive.writestr("runs/a/other", random.Random(0).randbytes(1 << 18))
    (damage,) = [found for found in bundle.find_bundle_damage(tmp_path / "x.zip") if found.file.endswith("metrics.jsonl")]
    assert "compressed, and should have" in damage.problem


def test_a_damaged_run_is_not_bundled(made, tmp_path):
    shutil.copytree(made / "runs/a", tmp_path / "a")
    (tmp_path / "a/evals.jsonl").write_text("")
    with pytest.raises(PassusError, match=r"evals\.jsonl"):
        bundle.write_bundle(tmp_path / "a", tmp_path / "a.zip")
