"""`passus bench`: the keys of its result and the amount of work, never how fast it was."""

import json

import pytest

from helpers.command import passus
from passus.bench.measure import format_result, measure
from passus.bench.workloads import WORKLOADS, Workload, prepare_run
from passus.errors import UsageError
from passus.training.step import take_step

SMALL = {"model": "nano/qwen3", "prompts": 2, "samples": 2, "tokens": 5, "repeats": 2, "device": "cpu", "threads": 1}


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_result_has_the_keys_of_the_contract(name):
    result = measure(Workload(name, **SMALL, prompt_tokens=0 if name == "step" else 3), None)
    assert {"workload", "model", "device", "seconds", "tokens_per_second"} <= result.keys()
    tokens = 20 if name != "train" else 20 + 4 * 3
    assert result["tokens_per_second"] == pytest.approx(tokens / result["seconds"])
    assert json.loads(json.dumps(result)) == result and "2 prompts x 2 samples of 5 tokens" in format_result(result)


def test_lengths_are_forced(tmp_path):
    run = prepare_run(Workload("step", **SMALL), "nano/qwen3", tmp_path)
    take_step(run)
    rows = run.folder.read_rows("samples", 1)
    assert {len(row["completion_ids"]) for row in rows} == {5}
    assert {row["reward"] for row in rows} <= {0.0, 1.0}


@pytest.mark.slow
def test_the_peer_does_the_same_work(tmp_path):
    size = ["--prompts", "2", "--samples", "2", "--tokens", "4", "--repeats", "2"]
    done = passus("bench", "step", *size, "--peer", "trl", "--json", "--out", "b.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads((tmp_path / "b.json").read_text())
    assert result["peer"]["name"].endswith("HF generate")
    assert result["ratio"] == pytest.approx(result["peer"]["seconds"] / result["seconds"])


def test_impossible_workloads_are_refused():
    with pytest.raises(UsageError, match="trl"):
        measure(Workload("step", **SMALL), "verl")
    with pytest.raises(UsageError, match="step"):
        measure(Workload("rollout", **SMALL), "trl")
    with pytest.raises(UsageError, match="shape:qwen3-1"):
        measure(Workload("step", **SMALL | {"model": "shape:qwen3-0.5b"}), None)
