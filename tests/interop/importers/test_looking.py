"""Every source, imported and looked at: each command takes the runs, and no sentence is about passus's own runs."""

import json

import pytest

from helpers.command import passus_in_process
from helpers.mutated_sources import WRITERS
from passus.interop.importers.import_options import ImportOptions
from passus.interop.importers.import_sources import import_runs, plan_import
from passus.runs.run_folder import find_runs

UNTRUE = (
    "same noise", "nan ", "nan)", "Claims are made", "not final", "cannot be read", " yet", "x 1 samples", "Made with", "grpo",
    "passus run", " 0 tokens",
)  # fmt: skip
"""What a report may not say of a run that passus did not make: it knows no method, no noise and no machine of it."""
WITHOUT_ACCURACY = {"Trainer states", "W&B logs", "Parquet histories", "trackio", "MLflow", "W&B tables", "event files"}
"""Small sources of the helper that have metrics only."""


@pytest.fixture(scope="module", params=list(WRITERS))
def imported(request, tmp_path_factory):
    """The folder of the runs of one kind of source."""
    folder = tmp_path_factory.mktemp(request.param.replace(" ", "-").replace("&", ""))
    (folder / "source").mkdir()
    WRITERS[request.param](folder / "source", lambda value: value)
    (folder / "source" / "runs.csv").unlink(missing_ok=True)  # the table of runs has no curve, and is refused
    planned = plan_import([folder / "source"], folder / "runs", ImportOptions())
    import_runs(planned, ImportOptions())
    return folder, request.param


def test_every_command_takes_the_runs(imported):
    folder, kind = imported
    paths = [str(path) for path in find_runs(folder / "runs")]
    has_accuracy = kind not in WITHOUT_ACCURACY
    listed = passus_in_process("ls", "runs", "--json", cwd=folder)
    rows = [json.loads(line) for line in listed.stdout.splitlines()]
    assert listed.returncode == 0 and all(row["state"] == "imported" for row in rows) and len(rows) == len(paths)
    assert any(row["benchmarks"] for row in rows) is has_accuracy
    for command in (["analyse", "runs"], ["plot", "runs", "--out", "a.svg"]):
        done = passus_in_process(*command, cwd=folder)
        assert done.returncode == (0 if has_accuracy else 2), done.stderr
        assert has_accuracy or "write:" in done.stderr
    done = passus_in_process("compare", paths[0], paths[-1], cwd=folder)
    assert done.returncode in (0, 2), done.stderr
    assert passus_in_process("diagnose", "runs", cwd=folder).returncode == 0


def test_the_report_says_nothing_untrue(imported):
    folder, kind = imported
    done = passus_in_process("report", "runs", "--out", "report.md", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = (folder / "report.md").read_text()
    assert [words for words in UNTRUE if words in text] == []
    assert "Imported from" in text
    assert ("without accuracy" in text) is (kind in WITHOUT_ACCURACY)
    assert kind != "verl logs" or "clustered by item" not in text, "its items are not recorded"


def test_an_imported_run_is_not_resumed(imported):
    folder, _ = imported
    run = find_runs(folder / "runs")[0]
    done = passus_in_process("run", str(run / "config.toml"), cwd=folder)
    assert done.returncode == 2 and "[imported]" in done.stderr
