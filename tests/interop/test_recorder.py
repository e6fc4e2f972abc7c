"""The recorder: a run folder from any loop, whole after every kill, that looks like passus's own runs to every command."""

import json
import signal
import subprocess
import sys
import time

import pytest

import passus
from passus.errors import PassusError, UsageError
from passus.runs.lock import state_of
from passus.runs.run_folder import RunFolder

QUESTIONS = [(f"What is {n} + {n}?", str(2 * n)) for n in range(6)]


def samples(right, count=2):
    """Returns samples of all questions, of which the first `right` are answered."""
    return [
        {"question": question, "gold": gold, "completion": f"So \\boxed{{{gold if n < right else 99}}}", "tokens": 7}
        for n, (question, gold) in enumerate(QUESTIONS)
        for _ in range(count)
    ]


def record(path, steps=6, seed=0, rights=(1, 3, 5)):
    with passus.Recorder(path) as run:
        run.settings(model="Qwen/Qwen3-0.6B", seed=seed, method="grpo", learning_rate=1e-6)
        for step in range(steps + 1):
            if step:
                run.metrics(step, {"reward": step / 10, "actor/entropy": 0.5, "own/number": float("nan")})
            if step % 3 == 0:
                run.samples(step, "sums", samples(rights[step // 3]))
    return RunFolder(path)


def test_what_was_recorded_is_what_is_read(tmp_path):
    run = record(tmp_path / "seed-0")
    assert [(p.step, p.q, p.k, round(p.acc, 6), p.tokens_mean) for p in run.evals()] == [
        (0, 6, 2, 0.166667, 7.0), (3, 6, 2, 0.5, 7.0), (6, 6, 2, 0.833333, 7.0),
    ]  # fmt: skip
    assert run.metrics()[1] == {"step": 2, "train/reward": 0.2, "train/entropy": 0.5, "own/number": None}
    rows = run.read_rows("items", 6)
    assert len(rows) == 12 and {row["verdict"] for row in rows} == {"correct", "wrong"} and rows[0]["extracted"] == "0"
    config, state = run.config(), state_of(run.path)
    assert (config.seed, config.train.steps, config.imported.method, config.model.base) == (0, 6, "grpo", "Qwen/Qwen3-0.6B")
    assert state["state"] == "finished" and run.meta()["model"]["label"] == "Qwen3-0.6B"


def test_seeds_are_one_line_and_runs_are_paired_by_question(tmp_path):
    record(tmp_path / "a", seed=0)
    record(tmp_path / "b", seed=1, rights=(1, 3, 6))
    runs = passus.load(tmp_path)
    assert {run.line for run in runs} == {"Qwen3-0.6B"} and [run.seed for run in runs] == [0, 1]
    (compared,) = runs[:1].compare(runs[1:])
    assert compared.difference == pytest.approx(-1 / 6)
    assert compared.gained == [] and len(compared.lost) == 1


def test_what_correct_may_be_and_what_is_graded_without_it(tmp_path):
    rows = [
        {"item": "a", "correct": True}, {"item": "b", "correct": 0.25}, {"item": "c", "correct": 0},
        {"question": "1+1", "gold": "2", "completion": "\\boxed{2}"}, {"item": "d", "verdict": "error"},
        {"item": "e", "verdict": "correct"}, {"item": "f", "verdict": "unparseable"},
    ]  # fmt: skip
    with passus.Recorder(tmp_path / "run") as run:
        run.samples(0, "sums", rows)
    kept = RunFolder(tmp_path / "run").read_rows("items", 0)
    assert [row["value"] for row in kept] == [1.0, 0.25, 0.0, 1.0, None, 1.0, 0.0]
    assert [row["verdict"] for row in kept] == ["correct", "wrong", "wrong", "correct", "error", "correct", "unparseable"]
    assert RunFolder(tmp_path / "run").evals()[0].acc == pytest.approx(3.25 / 7)


@pytest.mark.parametrize("rows, words", [
    ([], "no samples of sums"), ([{"question": "q", "answer": "2"}], "the key 'answer'"),
    ([{"correct": True}], "neither question"), ([{"item": "a", "correct": 1.5}], r"correct = 1\.5"),
    ([{"question": "q", "completion": "2"}], "without `correct`"), ([{"item": "a", "verdict": "good"}], "verdict = 'good'"),
])  # fmt: skip
def test_samples_that_cannot_be_recorded(tmp_path, rows, words):
    with passus.Recorder(tmp_path / "run") as run, pytest.raises(UsageError, match=words):
        run.samples(0, "sums", rows)


def test_steps_and_folders_that_cannot_be_recorded(tmp_path, small_run):
    with passus.Recorder(tmp_path / "run") as run:
        with pytest.raises(UsageError, match="step = -1"):
            run.metrics(-1, {"reward": 1.0})
        with pytest.raises(UsageError, match="kind = 'test'"):
            run.samples(0, "sums", samples(1), kind="test")
        run.metrics(2, {"reward": 1.0})
        with pytest.raises(UsageError, match="metrics of step 2 after those of step 2"):
            run.metrics(2, {"grad_norm": 1.0})
        run.samples(0, "sums", samples(1))
        with pytest.raises(UsageError, match="samples of sums at step 0 were recorded already"):
            run.samples(0, "sums", samples(2))
        with pytest.raises(PassusError, match="is being recorded by process"):
            passus.Recorder(tmp_path / "run")
    with pytest.raises(UsageError, match=r"not recorded by passus\.Recorder"):
        passus.Recorder(small_run.path)


def test_an_exception_ends_the_run_as_failed(tmp_path):
    with pytest.raises(ValueError), passus.Recorder(tmp_path / "run") as run:
        run.metrics(1, {"reward": 1.0})
        raise ValueError("out of memory")
    status = state_of(tmp_path / "run")
    assert status["state"] == "failed" and "out of memory" in status["error"]


def test_a_run_that_is_opened_again_goes_on_and_keeps_what_it_was_told(tmp_path):
    run = record(tmp_path / "run")
    with passus.Recorder(tmp_path / "run") as again:
        for step in range(5, 10):
            again.metrics(step, {"reward": 1.0})
    assert [row["step"] for row in run.metrics()] == list(range(1, 10)) and [p.step for p in run.evals()] == [0, 3]
    assert [row["train/reward"] for row in run.metrics()][3:5] == [0.4, 1.0]
    (aside,) = (run.path / "set-aside").iterdir()
    assert len((aside / "metrics.jsonl").read_text().splitlines()) == 2 and (aside / "items/step-000006.parquet").exists()
    config = run.config()
    assert (config.model.base, config.imported.method, config.train.steps) == ("Qwen/Qwen3-0.6B", "grpo", 9)
    assert run.settings()["learning_rate"] == 1e-6


def test_training_completions(tmp_path):
    with passus.Recorder(tmp_path / "run") as run:
        run.samples(1, "sums", [row | {"reward": 0.5, "advantage": -1.0} for row in samples(6)], kind="train")
    table = passus.load(tmp_path / "run").samples
    assert table["reward"].to_pylist() == [0.5] * 12 and set(table["verdict"].to_pylist()) == {"correct"}
    assert table["sample"].to_pylist() == [0, 1] * 6


def test_training_completions_of_several_batches_and_tasks(tmp_path):
    with passus.Recorder(tmp_path / "run") as run:
        for task, rights in (("sums", (6, 0)), ("others", (6,))):
            for right in rights:
                run.samples(1, task, samples(right, count=1), kind="train")
    rows = RunFolder(tmp_path / "run").read_rows("samples", 1)
    assert [(row["task"], row["sample"], row["verdict"]) for row in rows] == [
        (task, sample, verdict)
        for task, sample, verdict in (("sums", 0, "correct"), ("sums", 1, "wrong"), ("others", 0, "correct"))
        for _ in range(6)
    ]


def test_an_evaluation_at_two_temperatures(tmp_path):
    with passus.Recorder(tmp_path / "run") as run:
        for temperature, right in ((0.0, 6), (1.0, 3)):
            run.samples(1, "sums", samples(right, count=1), temperature=temperature)
    run = RunFolder(tmp_path / "run")
    assert [(point.temperature, point.acc) for point in run.evals()] == [(0.0, 1.0), (1.0, 0.5)]
    assert [row["temperature"] for row in run.read_rows("items", 1)] == [0.0] * 6 + [1.0] * 6


LOOP = """
import sys
import passus

questions = [(f"What is {n} + {n}?", str(2 * n)) for n in range(20)]
with passus.Recorder(sys.argv[1]) as run:
    run.settings(model="m", seed=0, steps=100000)
    for step in range(100000):
        run.metrics(step, {"reward": step / 10})
        run.samples(step, "sums", [{"question": q, "gold": a, "completion": a, "correct": True} for q, a in questions])
        print(step, flush=True)
"""


@pytest.mark.parametrize("after", [3, 17])
def test_a_killed_recording_is_whole(tmp_path, after):
    """Killed with SIGKILL after some steps, at whatever it does then."""
    path = tmp_path / "run"
    with subprocess.Popen([sys.executable, "-c", LOOP, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= after:
                time.sleep(0.003 * after)  # somewhere within the next step
                process.send_signal(signal.SIGKILL)
                break
    run = RunFolder(path)
    assert state_of(path)["state"] == "killed"
    steps = [point.step for point in run.evals()]
    assert steps[: after + 1] == list(range(after + 1)) and steps == list(range(len(steps)))
    assert all(len(run.read_rows("items", step)) == 20 for step in steps)
    assert [row["step"] for row in run.metrics()][: len(steps)] == steps
    assert passus.load(path).findings()
    with passus.Recorder(path) as again:
        again.metrics(steps[-1] + 1, {"reward": 1.0})
    assert [row["step"] for row in run.metrics()][-1] == steps[-1] + 1


def test_every_file_but_the_log_is_json_that_strict_readers_take(tmp_path):
    run = record(tmp_path / "run")
    for line in (run.path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
