"""The sample files, against values that other readers found in them (`expected/make_expected.py`)."""

import json
import os
from pathlib import Path

import pytest

from helpers.source_bytes import rows_at, values_of
from passus.interop.importers.detect import find_sources
from passus.interop.importers.import_options import ImportOptions
from passus.interop.importers.import_sources import import_runs, plan_import
from passus.interop.importers.source_run import SourceRun
from passus.runs.run_folder import RunFolder, find_runs

EXPECTED = Path(__file__).parent / "expected"
SHARED = Path(__file__).parents[4] / "shared"


@pytest.fixture(scope="module")
def samples() -> Path:
    """The folder `formats/samples`, beside the benchmark data or in `shared` beside the repository."""
    data = os.environ.get("PASSUS_DATA")
    folder = (Path(data).parent if data else SHARED) / "formats" / "samples"
    if not folder.is_dir():
        pytest.skip(f"no sample files at {folder}: set PASSUS_DATA to a folder beside formats/samples")
    return folder


def expected(name: str) -> dict:
    return json.loads((EXPECTED / f"{name}.json").read_text())


def runs_of(path: Path) -> list[SourceRun]:
    return [run for found in find_sources(path) for run in found.read()]


def same(number: float, other: float | None) -> bool:
    """Returns whether two values are equal, where null stands for a gap."""
    return number != number if other is None else number == other


def test_all_sample_files_are_recognised(samples):
    kinds = {found.kind for found in find_sources(samples)}
    assert kinds == {
        "trainer_state.json", "Inspect log", "lm-eval", "MLflow database", "TensorBoard", "trackio database", "TRL completions",
        "verl console log", "verl file log", "verl validation dump", "W&B log", "W&B chart CSV", "W&B history",
    }  # fmt: skip


def test_tensorboard(samples):
    for folder, tags in expected("tensorboard")["runs"].items():
        (run,) = runs_of(samples / folder)
        assert {point.name for point in run.points} == set(tags) and run.name == Path(folder).name
        for tag, events in tags.items():
            assert [[p.step, p.value, p.wall_time] for p in run.points if p.name == tag] == events


def test_wandb_logs(samples):
    for name, recorded in expected("wandb")["runs"].items():
        (run,) = runs_of(samples / name)
        assert run.name == (recorded.get("name") or recorded["run_id"]) and run.is_finished == (recorded["exit_code"] == 0)
        assert {key: value for key, value in run.settings.items() if not key.startswith("wandb.")} == flat(recorded["config"])
        points = [
            (row["_step"], key, value)
            for row in recorded["rows"]
            for key, value in row.items()
            if not key.startswith(("_", "tbl.")) and not isinstance(value, dict)
        ]
        assert len(points) == len(run.points)
        for (step, key, value), point in zip(
            sorted(points, key=str), sorted(run.points, key=lambda p: str(p[:2])), strict=True
        ):
            assert (point.step, point.name) == (step, key) and same(point.value, value)


def flat(config: dict, prefix: str = "") -> dict:
    pairs = {}
    for key, value in config.items():
        pairs |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return pairs


def test_wandb_tables(samples):
    recorded = expected("wandb_tables")
    (run,) = runs_of(samples / "wandb/history.parquet")
    for name, numbers in recorded["columns"].items():
        if name != "_step":
            values = [value for _, value in values_of(run, name)]
            assert len(values) == numbers["count"] and (min(values), max(values)) == (numbers["min"], numbers["max"])
            assert sum(values) == pytest.approx(numbers["sum"], rel=1e-12)
    chart = {
        f"{run.name} - {point.name}": run
        for run in runs_of(samples / "wandb/chart_export_first10rows.csv")
        for point in run.points
    }
    assert set(chart) == set(recorded["chart"])
    for name, points in recorded["chart"].items():
        assert [[point.step, point.value] for point in chart[name].points] == points


def test_databases(samples):
    recorded = expected("databases")
    runs = {run.name: run for run in runs_of(samples / "made/trackio/demo.db")}
    points = [(name, *point[:3]) for name, run in runs.items() for point in run.points]
    assert len(points) == len(recorded["trackio"]["points"])
    for (name, step, key, value), row in zip(
        points, sorted(recorded["trackio"]["points"], key=lambda row: row[0]), strict=True
    ):
        assert [name, step, key] == row[:3] and same(value, row[3])
    assert {name: run.settings for name, run in runs.items()} == recorded["trackio"]["configs"]
    runs = {run.name: run for run in runs_of(samples / "made/mlflow/mlflow.db")}
    points = [(name, *point) for name, run in runs.items() for point in run.points]
    assert len(points) == len(recorded["mlflow"]["points"])
    for (name, step, key, value, time), row in zip(points, recorded["mlflow"]["points"], strict=True):
        assert [name, step, key] == row[:3] and same(value, row[3]) and time == row[4] / 1000
    params = [[name, key, value] for name, run in runs.items() for key, value in run.settings.items()]
    assert sorted(params) == sorted([name, key.replace("/", "."), value] for name, key, value in recorded["mlflow"]["params"])
    assert [path.name for path in (samples / "made/trackio").iterdir()] == ["demo.db"], "a reader has left files beside it"


def test_trainer_states(samples):
    for name, recorded in expected("json")["trainer_states"].items():
        (run,) = [run for run in runs_of(samples / name) if run.tool == "trainer_state.json"]
        for key, points in recorded["last"].items():
            assert sorted(dict(values_of(run, key)).items()) == [tuple(point) for point in points]
        assert len(run.points) == recorded["values"] - recorded["rows"]  # all but the epoch of each row


def test_verl_logs(samples):
    for name, rows in expected("json")["verl_logs"].items():
        (log,) = runs_of(samples / f"made/verl/{name}.jsonl")
        (console,) = runs_of(samples / f"made/verl/console-{name[-2:]}.log")
        for run in (log, console):
            assert len(run.points) == sum(len(data) for _, data in rows)
            values = iter(run.points)
            for step, data in rows:
                for key in data:
                    point = next(values)
                    assert (point.step, point.name) == (step, key) and same(point.value, data[key])


def test_verl_dumps(samples):
    for name, steps in expected("json")["verl_dumps"].items():
        (run,) = runs_of(samples / "made/verl" / name)
        assert sorted(run.samples) == [int(step) for step in steps]
        for step, items in steps.items():
            found: dict[str, list] = {}
            for row in rows_at(run, int(step)):
                found.setdefault(f"{row.prompt}|{row.gold}", []).append(row.value)
            assert found == items and len({row.item for row in rows_at(run, int(step))}) == len(items)


def test_the_dumps_have_the_means_that_verl_logged(samples):
    """verl's mean@4 over the prompts of each data source, which the questions of these files name."""
    for seed in (0, 1):
        (dump,), (log,) = runs_of(samples / f"made/verl/val-s{seed}"), runs_of(samples / f"made/verl/grpo-s{seed}.jsonl")
        for source in ("openai/gsm8k", "aime24"):
            logged = dict(values_of(log, f"val-core/{source}/acc/mean@4"))
            for step in dump.samples:
                values = [row.value for row in rows_at(dump, step) if f" of {source}?" in row.prompt]
                assert values and sum(values) / len(values) == pytest.approx(logged[step], abs=1e-12)


def test_lm_eval(samples):
    recorded = expected("json")["lm_eval"]
    (run,) = runs_of(samples / "made/lm-eval")
    rows = rows_at(run, 1)
    for key, target, texts, score in recorded["samples"]:
        own = [row for row in rows if row.item == key]
        assert [row.output for row in own] == texts and {row.gold for row in own} == {target} and own[0].value == score
    assert {f"{task}/{name}": value for task, scores in recorded["results"].items() for name, value in scores.items()
            if "," in name and "stderr" not in name} == {point.name: point.value for point in run.points}  # fmt: skip


def test_inspect(samples):
    for name, recorded in expected("inspect")["logs"].items():
        (run,) = runs_of(samples / name)
        (step,) = run.samples
        assert step == (recorded["metadata"] or {}).get("step", 1)
        rows = rows_at(run, step)
        assert {row.benchmark for row in rows} == {recorded["task"]}
        found = [[row.sample + 1, row.prompt, row.gold, row.value, row.output] for row in rows]
        assert sorted(found, key=str) == sorted((row[1:] for row in recorded["samples"]), key=str)
        scores = {name: value for name, value in recorded["metrics"].items() if "stderr" not in name}
        assert {point.name.partition("/")[2]: point.value for point in run.points} == scores


def test_trl_completions(samples):
    (run,) = [run for run in runs_of(samples / "made/trl") if run.tool == "TRL completions"]
    assert "2 files of completions were not read" in run.remarks[0]


# The same values once more, from the run folders that an import writes.


def folders(source: Path, out: Path, **options) -> dict[str, RunFolder]:
    import_runs(plan_import([source], out, ImportOptions(**options)), ImportOptions(**options))
    return {path.name: RunFolder(path) for path in find_runs(out)}


def accuracies(run: RunFolder) -> list[tuple[int, float]]:
    return [(point.step, point.acc) for point in run.evals()]


def metric(run: RunFolder, name: str) -> list[tuple[int, float | None]]:
    return [(row["step"], row[name]) for row in run.metrics() if name in row]


def test_imported_trainer_states(samples, tmp_path):
    for n, (name, recorded) in enumerate(expected("json")["trainer_states"].items()):
        (run,) = folders(samples / name, tmp_path / str(n)).values()
        for key, points in recorded["last"].items():
            renamed = {"reward": "train/reward", "loss": "train/loss"}.get(key)
            if renamed:
                assert metric(run, renamed) == [tuple(point) for point in points]


def test_imported_tensorboard(samples, tmp_path):
    recorded = expected("tensorboard")["runs"]["made/tensorboard/grpo-s0"]
    run = folders(samples / "made/tensorboard", tmp_path, items={"gsm8k": 100})["grpo-s0"]
    assert metric(run, "train/reward") == sorted({step: value for step, value, _ in recorded["train/reward"]}.items())
    (name,) = [name for name in recorded if "gsm8k" in name]
    assert accuracies(run) == [(step, pytest.approx(value, abs=1e-7)) for step, value, _ in recorded[name]]


def test_imported_wandb_logs(samples, tmp_path):
    runs = folders(samples / "made/wandb", tmp_path)
    for recorded in expected("wandb")["runs"].values():
        for key in {key for row in recorded["rows"] for key in row if "gsm8k" in key}:
            values = [(row["_step"], row[key]) for row in recorded["rows"] if row.get(key) is not None]
            assert accuracies(runs[recorded["name"]]) == values


def test_imported_verl_dumps(samples, tmp_path):
    for name, steps in expected("json")["verl_dumps"].items():
        (run,) = folders(samples / "made/verl" / name, tmp_path / name, benchmark="mine").values()
        means = {}
        for step, items in steps.items():
            values = [value for own in items.values() for value in own]
            means[int(step)] = sum(values) / len(values)
            assert len(run.read_rows("items", int(step))) == len(values)
        assert accuracies(run) == [(step, pytest.approx(means[step])) for step in sorted(means)]
        assert all((point.q, point.k) == (13, 4) for point in run.evals())


def test_imported_evaluations(samples, tmp_path):
    logs = expected("inspect")["logs"]
    (run,) = folders(samples / "made/inspect", tmp_path / "inspect").values()
    steps = {log["metadata"]["step"]: log["metrics"]["match/accuracy"] for log in logs.values() if log["metadata"]}
    assert accuracies(run) == [(step, pytest.approx(steps[step])) for step in sorted(steps)]
    runs = folders(samples / "inspect", tmp_path / "old")
    assert [accuracies(run) for run in runs.values()] == [[], [(1, 0.0)]], "a log that was not scored has no eval point"
    (run,) = folders(samples / "made/lm-eval", tmp_path / "lm-eval").values()
    assert accuracies(run) == [(1, expected("json")["lm_eval"]["results"]["sums_local"]["exact_match,first"])]
    assert (run.evals()[0].q, run.evals()[0].k) == (6, 4)


def test_imported_databases(samples, tmp_path):
    recorded = expected("databases")
    runs = folders(samples / "made/trackio/demo.db", tmp_path / "trackio")
    for name, run in runs.items():
        rows = [row for row in recorded["trackio"]["points"] if row[0] == name and "gsm8k" in row[2] and row[3] is not None]
        assert accuracies(run) == [(step, value) for _, step, _, value in rows] and rows
    runs = folders(samples / "made/mlflow", tmp_path / "mlflow")
    for name, run in runs.items():
        last = {row[1]: row[3] for row in recorded["mlflow"]["points"] if row[0] == name and "aime24" in row[2]}
        assert accuracies(run) == [(step, value) for step, value in last.items() if value is not None] and last
        assert all((point.q, point.k) == (30, 16) for point in run.evals())


def test_imported_console_lines(samples, tmp_path):
    """The two lines of verl's documentation, read by eye."""
    (run,) = folders(samples / "verl", tmp_path).values()
    assert metric(run, "train/entropy") == [(0, 0.433), (1, 0.44)]
    assert metric(run, "critic/grad_norm") == [(0, 1023.278), (1, 942.924)]
    assert metric(run, "critic/vpred_mean") == [(0, -2.056), (1, 1.038)]
    assert metric(run, "actor/reward_kl_penalty") == [(0, 0.0), (1, 0.001)], "written twice at step 1: the last one counts"


def test_imported_charts(samples, tmp_path):
    runs = folders(samples / "wandb/chart_export_first10rows.csv", tmp_path / "chart")
    for name, points in expected("wandb_tables")["chart"].items():
        assert accuracies(runs[name.partition(" - ")[0]]) == [tuple(point) for point in points]
    (run,) = folders(samples / "wandb/history.parquet", tmp_path / "history").values()
    for name, numbers in expected("wandb_tables")["columns"].items():
        if name != "_step":
            assert sum(value for _, value in metric(run, name)) == pytest.approx(numbers["sum"], rel=1e-12)
