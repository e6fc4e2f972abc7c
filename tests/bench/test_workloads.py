"""`passus bench`: what it measures and what it says, never how fast it was."""

import json

import pytest

from helpers.command import passus
from passus.bench import workloads
from passus.errors import UsageError

SMALL = {"model": "nano/qwen3", "prompts": 2, "samples": 2, "tokens": 5, "repeats": 2, "device": "cpu", "threads": 1}


@pytest.mark.parametrize("workload", workloads.WORKLOADS)
def test_the_result_has_the_keys_of_the_contract(workload):
    result = workloads.run(workloads.Work(workload, **SMALL, prompt_tokens=0 if workload == "step" else 3), None)
    assert {"workload", "model", "device", "seconds", "tokens_per_second"} <= result.keys()
    tokens = 20 if workload != "train" else 20 + 4 * 3
    assert result["tokens_per_second"] == pytest.approx(tokens / result["seconds"])
    assert json.loads(json.dumps(result)) == result and "2 prompts x 2 samples of 5 tokens" in workloads.describe(result)


def test_lengths_are_forced(tmp_path):
    prepared = workloads._prepare(workloads.Work("step", **SMALL), "nano/qwen3", tmp_path)
    from passus.training import loop

    loop.take_step(prepared)
    rows = prepared.folder.read_rows("samples", 1)
    assert {len(row["completion_ids"]) for row in rows} == {5}
    assert {row["reward"] for row in rows} <= {0.0, 1.0}


@pytest.mark.slow
def test_the_peer_does_the_same_work(tmp_path):
    arguments = [
        "--prompts",
        "2",
        "--samples",
        "2",
        "--tokens",
        "4",
        "--repeats",
        "2",
        "--peer",
        "trl",
        "--json",
        "--out",
        "b.json",
    ]
    done = passus("bench", "step", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads((tmp_path / "b.json").read_text())
    assert result["peer"]["name"].endswith("HF generate")
    assert result["ratio"] == pytest.approx(result["peer"]["seconds"] / result["seconds"])


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(UsageError, match="trl"):
        workloads.run(workloads.Work("step", **SMALL), "verl")
    with pytest.raises(UsageError, match="step"):
        workloads.run(workloads.Work("rollout", **SMALL), "trl")
    with pytest.raises(UsageError, match="shape:qwen3-1"):
        workloads.run(workloads.Work("step", **SMALL | {"model": "shape:qwen3-0.5b"}), None)
