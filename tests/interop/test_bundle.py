"""Bundles of runs: what they hold, that they are verified anywhere, and that nothing damaged or hostile is unpacked."""

import json
import shutil
import zipfile

import pytest

from helpers.command import passus_in_process
from helpers.synthetic_runs import make_run
from passus.errors import PassusError
from passus.interop import bundle
from passus.runs.record_check import find_damage
from passus.runs.run_folder import RunFolder, find_runs


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
    assert passus_in_process("verify", "run.zip", "--deep", cwd=tmp_path).returncode == 0


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


@pytest.mark.parametrize("name", ["/etc/x", "runs/../../x", "runs/a/\x1b[31m", "x", "runs\\a", "runs//a", "runs/" + "a" * 300])
def test_names_that_an_index_may_not_have(made, tmp_path, name):
    def change(members):
        index = json.loads(members["bundle.json"])
        index["files"][name] = {"bytes": 1, "sha256": ""}
        body = {key: value for key, value in index.items() if key != "sha256"}
        members["bundle.json"] = json.dumps(body | {"sha256": bundle._digest(body)}).encode()

    rewritten(made / "paper.zip", tmp_path / "x.zip", change)
    with pytest.raises(PassusError, match="the name of a member"):
        bundle.unpack(tmp_path / "x.zip", tmp_path / "out")


def test_a_bomb_is_not_unpacked(made, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MAX_RATIO", 100)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("runs/a/metrics.jsonl", b"\0" * (1 << 24))
        body = {"format": 1, "runs": {}, "files": {"runs/a/metrics.jsonl": {"bytes": 1 << 24, "sha256": "x"}}}
        archive.writestr("bundle.json", json.dumps(body | {"sha256": bundle._digest(body)}))
    (damage,) = bundle.find_bundle_damage(tmp_path / "x.zip")
    assert "compressed, and should have" in damage.problem


def test_a_damaged_run_is_not_bundled(made, tmp_path):
    shutil.copytree(made / "runs/a", tmp_path / "a")
    (tmp_path / "a/evals.jsonl").write_text("")
    with pytest.raises(PassusError, match=r"evals\.jsonl"):
        bundle.write_bundle(tmp_path / "a", tmp_path / "a.zip")
