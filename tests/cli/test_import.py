"""`passus import` and `passus export-curves` as a user runs them: what is told, what is refused, and what to write instead."""

import json
import sqlite3

import pytest

from helpers.command import passus_in_process
from helpers.source_bytes import trackio_database, write_json, write_lines
from passus.interop.importers import write_folder
from passus.runs import hold
from passus.runs.run_folder import RunFolder, find_runs


@pytest.fixture
def call(tmp_path):
    return lambda *arguments: passus_in_process(*arguments, cwd=tmp_path)


def verl_log(path, values, k=4, source="openai/gsm8k", **more):
    name = f"val-core/{source}/acc/mean@{k}"
    return write_lines(path, [{"step": step, "data": {name: value} | more} for step, value in values.items()])


def verl_dump(folder, steps=(0, 10), items=6, right=3):
    for step in steps:
        rows = [
            {"input": f"question {n}", "output": str(n), "gts": str(n), "score": float(n < right + step // 10), "step": step}
            for n in range(items)
            for _ in range(2)
        ]
        write_lines(folder / f"{step}.jsonl", rows)


def only_run(tmp_path, out="out"):
    (path,) = find_runs(tmp_path / out)
    return RunFolder(path)


def test_a_dry_run_says_what_is_there_and_what_is_missing(tmp_path, call):
    verl_log(tmp_path / "logs/grpo-s3.jsonl", {0: 0.25, 10: 0.5}, source="mine", **{"critic/score/mean": 0.5})
    done = call("import", "logs", "--dry-run")
    assert done.returncode == 0 and not (tmp_path / "runs").exists()
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines == [
        "runs/logs/grpo-s3: verl file log, 10 steps, seed 3, model unknown (--model)", "metrics: train/reward",
        "accuracy: mine (points only: no intervals); 2 eval points",
        "note: mine: the number of items is unknown, so its points have no interval; write --items mine=N",
        "dry run: nothing was written",
    ]  # fmt: skip
    (row,) = map(json.loads, call("import", "logs", "--dry-run", "--json").stdout.splitlines())
    assert (row["level"], row["seed"], row["steps"], row["benchmarks"]) == ("L0", 3, 10, ["mine"])


def test_options_supply_what_is_missing(tmp_path, call):
    verl_log(tmp_path / "a.jsonl", {0: 25.0, 10: 50.0}, source="mine")
    options = ["--percent", "--items", "bench=40", "--samples", "2", "--seed", "7", "--model", "Qwen3-0.6B"]
    done = call("import", "a.jsonl", "--out", "out", *options, "--rename", "mine=bench", "--rename", "a=grpo")
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    point = run.evals()[-1]
    assert (point.benchmark, point.q, point.k, point.acc) == ("bench", 40, 2, 0.5) and point.has_interval
    assert run.config().seed == 7 and run.meta()["model"]["label"] == "Qwen3-0.6B" and run.path.name == "grpo"


def test_importing_again_adds_what_is_new_and_changes_nothing_else(tmp_path, call):
    verl_dump(tmp_path / "dump-s0", steps=(0, 10))
    assert call("import", "dump-s0", "--out", "out").returncode == 0
    run = only_run(tmp_path)
    dated = ("meta.json", "checksums.jsonl", "manifest.json")  # meta.json says when, and the other two hold its checksum
    before = {path.name: path.read_bytes() for path in run.path.rglob("*") if path.is_file() and path.name not in dated}
    assert call("import", "dump-s0", "--out", "out").returncode == 0
    assert {path.name: path.read_bytes() for path in run.path.rglob("*") if path.name in before} == before
    verl_dump(tmp_path / "dump-s0", steps=(20,))
    (tmp_path / "dump-s0/0.jsonl").unlink()
    assert call("import", "dump-s0", "--out", "out").returncode == 0
    assert [point.step for point in run.evals()] == [0, 10, 20] and len(find_runs(tmp_path / "out")) == 1
    assert call("verify", "out").returncode == 0


def test_importing_again_under_another_benchmark_leaves_none_of_the_old_name(tmp_path, call):
    verl_dump(tmp_path / "dump-s0", steps=(0, 10))
    assert call("import", "dump-s0", "--out", "out").returncode == 0
    (tmp_path / "dump-s0/0.jsonl").unlink()
    assert call("import", "dump-s0", "--out", "out", "--benchmark", "gsm8k").returncode == 0
    run = only_run(tmp_path)
    assert [(point.step, point.benchmark) for point in run.evals()] == [(0, "val"), (10, "gsm8k")]
    assert {row["benchmark"] for row in run.read_rows("items", 10)} == {"gsm8k"}


def _imported_items(tmp_path, call):
    verl_dump(tmp_path / "dump-s0", steps=(0, 10))
    assert call("import", "dump-s0", "--out", "out").returncode == 0
    return only_run(tmp_path)


def test_importing_again_over_damage_is_refused(tmp_path, call):
    """Else the damaged rows, which the source no longer has, would get new checksums."""
    run = _imported_items(tmp_path, call)
    intact = (run.path / "evals.jsonl").read_bytes()
    (tmp_path / "dump-s0/0.jsonl").unlink()
    for damaged, words in ((intact.replace(b"0.5", b"0.7", 1), "its content has changed"), (intact[:40], "it ends after")):
        (run.path / "evals.jsonl").write_bytes(damaged)
        before = {path.name: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
        done = call("import", "dump-s0", "--out", "out")
        assert done.returncode == 1 and words in done.stderr and f"rm -r {run.path.relative_to(tmp_path)}" in done.stderr, done
        assert {path.name: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


def test_a_lost_config_is_not_taken_for_a_new_folder(tmp_path, call):
    run = _imported_items(tmp_path, call)
    run.config_path.unlink()
    done = call("import", "dump-s0", "--out", "out")
    assert done.returncode == 2 and "has no config.toml" in done.stderr and "rm -r out/" in done.stderr, done


def test_an_import_that_was_killed_leaves_no_run_and_is_set_aside(tmp_path, call, monkeypatch):
    run = _imported_items(tmp_path, call)
    verl_dump(tmp_path / "dump-s0", steps=(20,))

    def killed(*arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(write_folder, "point_of_samples", killed)
        assert call("import", "dump-s0", "--out", "out").returncode != 0
    assert find_runs(tmp_path / "out") == []
    done = call("import", "dump-s0", "--out", "out")
    assert done.returncode == 0 and "an earlier import of it was not finished" in done.stdout, done
    assert [point.step for point in run.evals()] == [0, 10, 20] and call("verify", "out").returncode == 0
    (aside,) = (run.path / "set-aside").glob("*-unfinished-import")
    assert (aside / "evals.jsonl").exists() and (aside / "items/step-000010.parquet").exists()


def test_a_run_that_is_being_recorded_is_not_imported_over(tmp_path, call, monkeypatch):
    run = _imported_items(tmp_path, call)
    monkeypatch.setattr(hold, "SECONDS", 0.01)
    with hold.held(run.path):
        done = call("import", "dump-s0", "--out", "out")
    assert done.returncode == 1 and "is being recorded" in done.stderr


def test_a_folder_of_another_run_is_not_overwritten(tmp_path, call):
    verl_dump(tmp_path / "grpo")
    verl_log(tmp_path / "other/grpo.jsonl", {0: 0.5})
    assert call("import", "grpo", "--out", "out").returncode == 0
    done = call("import", "other", "--out", "out")
    assert done.returncode == 2 and "holds a run imported from verl validation dump" in done.stderr and "--out" in done.stderr


def test_provenance_is_recorded(tmp_path, call):
    verl_dump(tmp_path / "grpo")
    call("import", "grpo", "--out", "out")
    data = only_run(tmp_path).meta()["launches"][-1]["data"]
    assert data["source"] == "verl validation dump: grpo (2 files)" and "do not say the benchmark" in data["remarks"][0]
    assert [file["bytes"] for file in data["files"]] == [(tmp_path / f"grpo/{step}.jsonl").stat().st_size for step in (0, 10)]


def test_regrading_keeps_the_score_of_the_source_beside(tmp_path, call):
    rows = [{"input": f"q{n}", "output": f"\\boxed{{{n}}}", "gts": "1", "score": 0.0, "step": 0} for n in range(3)]
    write_lines(tmp_path / "dump/0.jsonl", rows)
    assert call("import", "dump", "--out", "out", "--regrade").returncode == 0
    run = only_run(tmp_path)
    assert [(row["value"], row["source_score"], row["verdict"]) for row in run.read_rows("items", 0)] == [
        (0.0, 0.0, "wrong"), (1.0, 0.0, "correct"), (0.0, 0.0, "wrong"),
    ]  # fmt: skip
    assert run.evals()[0].extract == "any"


@pytest.mark.parametrize("options", [[], ["--one-run"]])
def test_what_is_found_while_samples_are_read_is_told_and_recorded(tmp_path, call, options):
    verl_log(tmp_path / "run-s1/log.jsonl", {0: 0.5})
    for step in (0, 10):
        rows = [{"input": f"q{n}", "output": "1", "gts": "1", "score": 2.0 * n - 1} for n in range(2)]
        write_lines(tmp_path / f"run-s1/val/{step}.jsonl", rows)
    done = call("import", "run-s1", "--out", "out", *options)
    words = "the values of score are -1 and 1: they were read as wrong and right"
    assert done.stdout.count(f"note: {words}") == 1
    recorded = [RunFolder(path).meta()["launches"][-1]["data"]["remarks"] for path in find_runs(tmp_path / "out")]
    assert sum(remarks.count(words) for remarks in recorded) == 1


def test_many_notes_are_cut(tmp_path, call):
    for step in range(20):
        write_lines(tmp_path / f"val-s0/{step}.jsonl", [{"input": "q", "output": "1", "gts": "1", "score": "none"}])
    done = call("import", "val-s0", "--out", "out")
    assert done.stdout.count("  note: ") == 12 and "  and 9 more notes (--json)" in done.stdout
    assert "accuracy: none found\n" in done.stdout and only_run(tmp_path).evals() == []


def test_the_evidence_is_told_per_benchmark(tmp_path, call):
    verl_log(tmp_path / "a-s0.jsonl", {0: 0.5}, source="mine", **{"val-core/aime24/acc/mean@4": 0.5})
    assert "accuracy: aime24 (counts), mine (points only: no intervals); 2 eval points\n" in call("import", "a-s0.jsonl").stdout
    verl_dump(tmp_path / "val-s0", steps=(10,))
    assert "accuracy: 1 step with items + samples\n" in call("import", "val-s0", "--dry-run").stdout
    assert "accuracy: val (items + samples); 1 eval point\n" in call("import", "val-s0").stdout


def test_parts_of_one_run(tmp_path, call):
    verl_dump(tmp_path / "run-s1/val")
    verl_log(tmp_path / "run-s1/log.jsonl", {}, k=2)
    write_lines(tmp_path / "run-s1/log.jsonl", [{"step": s, "data": {"critic/score/mean": s / 10}} for s in range(1, 11)])
    assert call("import", "run-s1", "--out", "out", "--one-run").returncode == 0
    run = only_run(tmp_path)
    assert len(run.metrics()) == 10 and [point.step for point in run.evals()] == [0, 10]
    assert run.config().imported.tool == "verl file log and verl validation dump"


# What is refused or told, with what to write.


def test_an_empty_folder(tmp_path, call):
    (tmp_path / "empty").mkdir()
    done = call("import", "empty")
    assert done.returncode == 2 and "no files" in done.stderr and "step,benchmark,item,sample,correct" in done.stderr
    assert "passus import outputs/" in call("import").stderr
    assert "does not exist" in call("import", "absent").stderr


def test_a_folder_of_two_tools(tmp_path, call):
    verl_dump(tmp_path / "both/val-s0")
    verl_log(tmp_path / "both/grpo-s0.jsonl", {0: 0.5})
    done = call("import", "both", "--dry-run")
    assert done.returncode == 0 and "files of 2 kinds: verl file log, verl validation dump" in done.stdout
    assert "--one-run" in done.stdout and len([line for line in done.stdout.splitlines() if line.startswith("runs/both/")]) == 2


def test_a_torn_database(tmp_path, call):
    path = trackio_database(tmp_path / "demo.db", [("a", "a", s, {"reward": 0.5}) for s in range(500)], {})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    done = call("import", "demo.db")
    assert done.returncode in (1, 2) and "demo.db cannot be read" in done.stderr and "a whole SQLite database" in done.stderr
    assert not (tmp_path / "runs").exists() and "Traceback" not in done.stderr


def test_a_database_is_opened_for_reading_only(tmp_path, call):
    path = trackio_database(tmp_path / "demo.db", [("a", "a", s, {"eval/gsm8k/acc": 0.5}) for s in range(3)], {})
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("UPDATE metrics SET step = step")
    writer.commit()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    path.chmod(0o400)
    assert call("import", "demo.db", "--out", "out").returncode == 0
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()} == before
    writer.close()


@pytest.mark.parametrize("value, write", [(50.0, "--percent"), (250.0, "another metric with --accuracy"), (-1.0, "--accuracy")])
def test_an_accuracy_that_is_no_share(tmp_path, call, value, write):
    verl_log(tmp_path / "a.jsonl", {0: 0.25, 10: value})
    done = call("import", "a.jsonl")
    assert done.returncode == 2 and "which is no share" in done.stderr and write in done.stderr
    assert not (tmp_path / "runs").exists()


def test_an_accuracy_that_no_run_has(tmp_path, call):
    verl_log(tmp_path / "a.jsonl", {0: 0.25})
    done = call("import", "a.jsonl", "--accuracy", "acc")
    assert done.returncode == 2 and "val-core/openai/gsm8k/acc/mean@4" in done.stderr


def test_a_metric_that_may_be_an_accuracy_is_named(tmp_path, call):
    rows = [{"step": s, "eval_rewards/exact/mean": s / 10, "eval_rewards/exact/std": 0.5} for s in range(3)]
    write_json(tmp_path / "trl/trainer_state.json", {"global_step": 2, "log_history": rows})
    assert "--accuracy takes one of: eval_rewards/exact/mean\n" in call("import", "trl", "--dry-run").stdout
    assert call("import", "trl", "--out", "out", "--accuracy", "eval_rewards/exact/mean", "--benchmark", "sums").returncode == 0
    assert [(p.benchmark, p.acc) for p in only_run(tmp_path).evals()] == [("sums", 0.0), ("sums", 0.1), ("sums", 0.2)]


def test_completions_of_trl_are_told_and_make_no_run(tmp_path, call):
    import pyarrow
    import pyarrow.parquet

    write_json(tmp_path / "trl/trainer_state.json", {"global_step": 1, "log_history": [{"step": 1, "reward": 0.5}]})
    (tmp_path / "trl/completions").mkdir()
    columns = {"step": [1], "prompt": ["q"], "completion": ["a"], "exact": [1.0], "advantage": [0.0]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "trl/completions/completions_00001.parquet")
    done = call("import", "trl", "--out", "out")
    assert done.returncode == 0 and "not imported" in done.stdout and "only the last batch of a step" in done.stdout
    assert only_run(tmp_path).evals() == []


def test_seeds_that_repeat(tmp_path, call):
    for name in ("a-s1", "a_seed1"):
        verl_log(tmp_path / f"logs/{name}.jsonl", {0: 0.25})
    done = call("import", "logs", "--dry-run", "--model", "m")
    assert "another run with the same settings has seed 1 too" in done.stdout and "--one-run" in done.stdout


def test_runs_without_a_seed_are_numbered(tmp_path, call):
    rows = [(name, name, step, {"eval/gsm8k/acc": 0.5}) for name in ("first", "second") for step in range(2)]
    trackio_database(tmp_path / "demo.db", rows, {name: {"learning_rate": 1e-6, "model": "m"} for name in ("first", "second")})
    assert call("import", "demo.db", "--out", "out").returncode == 0
    runs = [RunFolder(path) for path in find_runs(tmp_path / "out")]
    assert [(run.config().seed, run.config().imported.seed_known) for run in runs] == [(0, False), (1, False)]
    assert "run 0" in call("analyse", "out").stdout and "seed 0" not in call("analyse", "out").stdout


def test_a_benchmark_that_was_evaluated_in_part(tmp_path, call):
    """1/3 of 1319 x 4 answers is no whole number, so it was not the whole of gsm8k, in no run of the import."""
    verl_log(tmp_path / "logs/a-s0.jsonl", {0: 0.5, 10: 1 / 3})
    verl_log(tmp_path / "logs/a-s1.jsonl", {0: 0.5, 10: 0.25})
    done = call("import", "logs", "--out", "out")
    assert done.stdout.count("no counts of right answers among the 1319 items") == 2
    assert not any(point.has_interval for path in find_runs(tmp_path / "out") for point in RunFolder(path).evals())
    assert call("import", "logs", "--out", "told", "--items", "gsm8k=3").returncode == 0
    assert all(point.q == 3 for path in find_runs(tmp_path / "told") for point in RunFolder(path).evals())


def test_items_of_the_benchmark_of_this_name_are_a_guess_that_is_told(tmp_path, call):
    verl_log(tmp_path / "a.jsonl", {0: 0.5}, source="aime24")
    done = call("import", "a.jsonl", "--out", "out")
    assert "30 items, as many as the benchmark of this name has" in done.stdout and "--items aime24=N" in done.stdout
    assert only_run(tmp_path).evals()[0].q == 30


@pytest.mark.parametrize("options, words", [
    (["--items", "gsm8k"], "NAME=VALUE"), (["--items", "gsm8k=many"], "a number of items"), (["--rename", "=x"], "NAME=VALUE"),
    (["--samples", "0"], "1 or more"), (["--seeds", "3"], "--seed"),
])  # fmt: skip
def test_options_that_are_wrong(tmp_path, call, options, words):
    verl_log(tmp_path / "a.jsonl", {0: 0.5})
    done = call("import", "a.jsonl", *options)
    assert done.returncode == 2 and words in done.stderr


def test_exporting_curves(tmp_path, call):
    verl_dump(tmp_path / "dump-s0")
    call("import", "dump-s0", "--out", "out")
    done = call("export-curves", "out", "--to", "csv", "--out", "curves.csv")
    assert done.returncode == 0 and "numbers of 1 run: curves.csv" in done.stdout
    lines = (tmp_path / "curves.csv").read_text().splitlines()
    assert lines[0] == "run,seed,step,metric,value" and "dump-s0,0,0,eval/val/acc,0.5" in lines
    assert call("export-curves", "absent", "--to", "csv", "--out", "x.csv").returncode == 2


def test_two_benchmarks_are_compared_by_counts_where_there_are_no_items(tmp_path, call):
    for name, last in (("a-s0", 0.5), ("b-s0", 0.9)):
        verl_log(tmp_path / f"logs/{name}.jsonl", {0: 0.1, 10: last}, source="aime24")
    call("import", "logs", "--out", "out")
    done = call("compare", "out/a-s0", "out/b-s0")
    assert done.returncode == 0 and "by counts: 30 items; the items themselves are not recorded" in " ".join(
        done.stdout.split()
    )
