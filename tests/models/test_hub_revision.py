"""Hub models by revision: the commit that a name stands for is recorded, and a resumed run loads that commit."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import datasets
import pytest

from helpers.command import passus
from helpers.small_run import EXPERIMENT, assert_same, write_experiment
from passus.config.hub_revision import adopt_commit, named_with_commit, split_revision
from passus.models.hub_commit import with_commit
from passus.models.locate import locate_model
from passus.runs.run_folder import RunFolder
from passus.tasks import benchmarks, dataset

FIRST, SECOND = "a" * 40, "b" * 40
NANO = Path(__file__).parents[2] / "src/passus/nano/qwen3-26k"


def test_names_with_revisions(tmp_path, monkeypatch):
    assert split_revision("owner/name@v1.0") == ("owner/name", "v1.0")
    for name in ("owner/name", "runs/families@120", "../runs/x@main", "runs/a/b@main", "x.jsonl"):
        assert split_revision(name) == (name, None)
    assert locate_model("owner/name@main") == "owner/name@main"
    recorded = named_with_commit("owner/name@v1", FIRST)
    assert recorded == f"owner/name@v1:{FIRST}" and split_revision(recorded) == ("owner/name", FIRST)
    assert adopt_commit("owner/name@v1", recorded) == recorded == adopt_commit(f"owner/name@{FIRST}", recorded)
    for other in ("owner/name@v2", "owner/name", f"owner/name@{SECOND}", "other/name@v1"):
        assert adopt_commit(other, recorded) == other
    assert adopt_commit("owner/name", f"owner/name@{FIRST}") == f"owner/name@{FIRST}"
    assert adopt_commit("owner/name@main", f"owner/name@{FIRST}") == "owner/name@main"
    assert adopt_commit(f"owner/name@{SECOND}", f"owner/name@{FIRST}") == f"owner/name@{SECOND}"
    assert adopt_commit("other/name", f"owner/name@{FIRST}") == "other/name"


@pytest.fixture
def hub(tmp_path):
    """The cache of a hub model with two commits, as huggingface_hub lays it out. `main` is the first."""
    model = tmp_path / "cache/models--owner--tiny"
    for commit in (FIRST, SECOND):
        shutil.copytree(NANO, model / "snapshots" / commit)
    (model / "refs").mkdir()
    (model / "refs/main").write_text(FIRST)
    return model


def test_the_commit_is_recorded_with_the_revision_that_was_asked(hub, monkeypatch):
    (hub / "refs/v2").write_text(SECOND)

    def local_folder(name, located):
        return hub / "snapshots" / (hub / "refs" / (split_revision(located)[1] or "main")).read_text()

    monkeypatch.setattr("passus.models.hub_commit.local_folder", local_folder)
    assert with_commit("model.base", "owner/tiny@v2") == f"owner/tiny@v2:{SECOND}"
    assert with_commit("model.base", "owner/tiny") == f"owner/tiny@{FIRST}"
    assert with_commit("model.base", f"owner/tiny@v2:{FIRST}") == f"owner/tiny@v2:{FIRST}"


def test_a_run_records_the_commit_and_resumes_with_it(hub, tmp_path):
    environment = {"HF_HUB_CACHE": str(hub.parent), "HF_HUB_OFFLINE": "1"}
    text = (
        EXPERIMENT.replace("nano/qwen3", "owner/tiny").replace("samples = 4", "samples = 2").replace("steps = 8", "steps = 4")
    )
    arguments = ("run", write_experiment(tmp_path, text + "[method]\nkl_coef = 0.01\n"), "--arm", "tiny")
    assert passus(*arguments, "--out", "whole", cwd=tmp_path, env=environment).returncode == 0
    fault = {"PASSUS_FAULT": "kill@save:renamed:1"}
    assert passus(*arguments, "--out", "cut", cwd=tmp_path, env=environment | fault).returncode < 0
    run = RunFolder(tmp_path / "cut/tiny")
    assert run.config().model.base == f"owner/tiny@{FIRST}" and run.meta()["model"]["label"] == "tiny"
    # The branch moves on to a commit that cannot be loaded.
    (hub / "refs/main").write_text(SECOND)
    (hub / "snapshots" / SECOND / "config.json").write_text("{}")
    done = passus(*arguments, "--out", "cut", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert_same(run.path, tmp_path / "whole/tiny")
    done = passus(*arguments, "--out", "new", cwd=tmp_path, env=environment)
    assert done.returncode == 2 and SECOND in done.stderr


def test_a_dataset_is_loaded_by_revision_and_then_by_its_recorded_commit(monkeypatch):
    class Rows(list):
        info = SimpleNamespace(download_checksums={f"hf://datasets/owner/set@{FIRST}/data.parquet": None})

    asked = []

    def load_dataset(name, config, *, split, revision, streaming):
        asked.append(revision)
        return Rows([{"problem": "1 + 1?", "answer": "2"}])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(dataset, "commits", {})
    dataset._load_items.cache_clear()
    for name in ("hub:owner/set", "hub:owner/set@v2", "hub:owner/set?revision=v3"):
        dataset.load_items(benchmarks.find_benchmark(name))
    assert asked == [None, "v2", "v3"] and dataset.commits == {"owner/set": FIRST}
    dataset.pin_commits({"owner/set": FIRST})
    dataset.load_items(benchmarks.find_benchmark("hub:owner/set"))
    dataset.pin_commits({})
    assert asked[-1] == FIRST
