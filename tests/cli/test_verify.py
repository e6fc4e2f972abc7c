"""`passus verify`: what it finds, its exit code, and how the damage is set aside so that the run can be resumed."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from helpers.command import passus_in_process
from helpers.small_run import EXPERIMENT, assert_same, write_experiment
from passus.runs.row_files import ROWS, write_row_file
from passus.runs.run_folder import RunFolder
from passus.training import checkpoint


@pytest.fixture
def run(small_run, tmp_path):
    shutil.copytree(small_run.path, tmp_path / "out/qwen3")
    return RunFolder(tmp_path / "out/qwen3")


def verify(run, *more):
    return passus_in_process("verify", "out", *more, cwd=run.path.parent.parent)


def test_an_intact_run(run):
    done = verify(run, "--deep")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == "out/qwen3: as it was written\n"
    assert json.loads(verify(run, "--json").stdout) == {"run": "out/qwen3", "ok": True, "damage": [], "notes": []}


def test_damage_is_listed_with_exit_code_4(run):
    path = run.path / "metrics.jsonl"
    path.write_text(path.read_text().replace('"step": 5', '"step": 6'))
    (run.path / "items/step-000003.parquet").unlink()
    done = verify(run)
    assert done.returncode == 4 and done.stdout.splitlines() == [
        "out/qwen3: 2 damaged",
        "  items/step-000003.parquet, step 3: the file is missing",
        "  metrics.jsonl, step 5: its content has changed since it was written",
    ]
    found = json.loads(verify(run, "--json").stdout)
    assert not found["ok"] and [damage["step"] for damage in found["damage"]] == [3, 5]


def test_a_number_that_contradicts_its_items(run):
    """In a folder from before manifests, where nothing else tells."""
    run.forget_checksums()
    path = run.path / "evals.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[2]["acc"] = rows[2]["acc"] + 0.25
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = verify(run)
    assert done.returncode == 4 and "evals.jsonl, step 3: accuracy" in done.stdout and "contradicts its items" in done.stdout
    for command in (("analyse", "out"), ("report", "out", "--out", "r.md"), ("compare", "out/qwen3", "out/qwen3")):
        done = passus_in_process(*command, cwd=run.path.parent.parent)
        assert done.returncode in (1, 2) and "Traceback" not in done.stderr, done.stderr
    assert "contradicts its items" in passus_in_process("analyse", "out", cwd=run.path.parent.parent).stderr


def test_lost_item_rows_are_told(run):
    """In a folder from before manifests, also where the accuracy cannot be computed again."""
    run.forget_checksums()
    rows = run.read_rows("items", 3)
    write_row_file(run.path / "items/step-000003.parquet", {name: [row[name] for row in rows[1:]] for name in ROWS["items"]})
    done = verify(run)
    assert done.returncode == 4 and "items/step-000003.parquet, step 3: rows of abacus/add2 are missing" in done.stdout


@pytest.mark.parametrize("key", ["ci_low", "pass", "tokens_p95", "maj"])
def test_deep_recomputes_every_number_of_an_eval_point(run, key):
    run.forget_checksums()
    path = run.path / "evals.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1][key] = {"1": 0.123} if key in ("pass", "maj") else 0.123
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert verify(run).returncode == 0
    done = verify(run, "--deep")
    assert done.returncode == 4 and f"evals.jsonl, step 0: {key} of abacus/sub" in done.stdout


@pytest.mark.parametrize(("column", "words"), [("reward", "rewards do not follow"), ("advantage", "advantages do not follow")])
def test_deep_recomputes_rewards_and_advantages(run, column, words):
    run.forget_checksums()
    rows = run.read_rows("samples", 4)
    rows[3][column] += 0.5
    path = run.path / "samples/step-000004.parquet"
    write_row_file(path, {name: [row[name] for row in rows] for name in ROWS["samples"]})
    done = verify(run, "--deep")
    assert done.returncode == 4 and f"samples/step-000004.parquet, step 4: {words}" in done.stdout


EMPTY = [("items", 3, name) for name in ("item", "sample", "verdict", "tokens")]
EMPTY += [("samples", 4, name) for name in ("verdict", "completion_ids", "advantage", "used", "reward")]


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize(("kind", "step", "column"), EMPTY)
def test_deep_tells_of_rows_without_a_value(run, kind, step, column, every):
    run.forget_checksums()
    rows = run.read_rows(kind, step)
    for row in rows if every else rows[:1]:
        row[column] = None
    write_row_file(run.path / f"{kind}/step-{step:06d}.parquet", {name: [row[name] for row in rows] for name in ROWS[kind]})
    done = verify(run, "--deep")
    assert done.returncode == 4 and f"step {step}: " in done.stdout and "Traceback" not in done.stderr


@pytest.mark.parametrize("rows_of", [slice(1, 2), slice(None)], ids=["one row", "all rows"])
@pytest.mark.parametrize("add", [1, -1, 7, 2**62])
def test_deep_tells_of_samples_that_do_not_fit_together(run, add, rows_of):
    run.forget_checksums()
    rows = run.read_rows("items", 3)
    for row in rows[rows_of]:
        row["sample"] += add
    path = run.path / "items/step-000003.parquet"
    write_row_file(path, {name: [row[name] for row in rows] for name in ROWS["items"]})
    done = verify(run, "--deep")
    assert done.returncode == 4 and "items/step-000003.parquet, step 3: " in done.stdout and "Traceback" not in done.stderr


@pytest.mark.parametrize(("kind", "step", "words"), [("items", 3, "and its items give"), ("samples", 4, "do not follow")])
def test_deep_finds_a_changed_verdict(run, kind, step, words):
    run.forget_checksums()
    rows = run.read_rows(kind, step)
    rows[3]["verdict"] = "wrong" if rows[3]["verdict"] == "correct" else "correct"
    path = run.path / f"{kind}/step-{step:06d}.parquet"
    write_row_file(path, {name: [row[name] for row in rows] for name in ROWS[kind]})
    done = verify(run, "--deep")
    assert done.returncode == 4 and f"step {step}: " in done.stdout and words in done.stdout


def test_deep_reads_the_weights(run):
    folder = run.checkpoints / "step-000008"
    weights = load_file(folder / "model.safetensors")
    name = next(iter(weights))
    weights[name].view(-1)[0] = torch.nan
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    done = verify(run)
    assert done.returncode == 4 and "checkpoints/step-000008/model.safetensors, step 8: has changed" in done.stdout
    files = {path.name: checkpoint.file_fingerprint(path) for path in folder.iterdir() if path.name != "passus.json"}
    body = json.loads((folder / "passus.json").read_text()) | {"files": files}
    body["sha256"] = checkpoint.digest({key: body[key] for key in ("progress", "files")})
    (folder / "passus.json").write_text(json.dumps(body))
    done = verify(run, "--deep")
    assert done.returncode == 4 and f"model.safetensors, step 8: {name} is not finite" in done.stdout


def test_a_folder_from_before_manifests_says_so(run):
    run.forget_checksums()
    done = verify(run)
    assert done.returncode == 0 and "note: it was recorded before manifests" in done.stdout


DAMAGE = {
    "a changed digit": lambda run: change(run / "metrics.jsonl", b'"step": 5', b'"step": 6'),
    "a lost folder": lambda run: shutil.rmtree(run / "items"),
    "a lost row": lambda run: change(run / "evals.jsonl", (run / "evals.jsonl").read_bytes().splitlines(keepends=True)[3], b""),
    "a lost file": lambda run: (run / "samples/step-000007.parquet").unlink(),
    "no manifest": lambda run: (run / "manifest.json").unlink(),
    "no checksums": lambda run: (run / "checksums.jsonl").unlink(),
    "an empty checkpoint": lambda run: [path.unlink() for path in (run / "checkpoints/step-000008").iterdir()],
    "a torn checkpoint": lambda run: change(run / "checkpoints/step-000008/model.safetensors", b"\n", b" "),
    "a changed config": lambda run: change(run / "config.toml", b"samples = 4", b"samples = 5"),
}


def change(path, old, new):
    content = path.read_bytes()
    place = content.index(old)
    path.write_bytes(content[:place] + new + content[place + len(old) :])


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_finished_run_is_refused_and_the_command_of_the_message_recovers_it(run, small_run, tmp_path, damage):
    damage(run.path)
    arguments = ("run", write_experiment(tmp_path, EXPERIMENT), "--arm", "qwen3", "--out", "out")
    done = passus_in_process(*arguments, cwd=tmp_path)
    assert done.returncode in (1, 2) and "already finished" not in done.stdout and "write: " in done.stderr, done
    done = verify(run, "--set-aside")
    if done.returncode:  # a run cannot be resumed without its config
        assert "mv out/qwen3 out/qwen3-damaged" in done.stderr
        return
    assert verify(run).returncode == 0
    done = passus_in_process(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same(run.path, small_run.path)
    assert verify(run, "--deep").returncode == 0
