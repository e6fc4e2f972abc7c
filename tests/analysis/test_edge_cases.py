"""Little or odd data, through the commands: a clear sentence, no crash and no warning of numpy."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.command import passus_in_process
from helpers.small_run import small_config
from helpers.synthetic_runs import make_run, point
from passus.analysis.compared_line import MAX_ALL_PAIRS
from passus.runs.run_folder import RunFolder

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")  # of numpy


def run_with(
    path: Path, correct_TQK: np.ndarray, seed: int = 0, first_item: int = 0, steps=None, rate: float = 1e-4
) -> RunFolder:
    """Writes a run with these outcomes; runs of another learning rate are another arm."""
    path.mkdir(parents=True)
    run = RunFolder(path)
    run.start(small_config(seed=seed, train={"learning_rate": rate}), {"label": "model", "tuning": "live"}, None)
    for step, correct_QK in zip(steps or range(0, 10 * len(correct_TQK), 10), correct_TQK, strict=True):
        items, samples = correct_QK.shape
        run.append_evals([point(step, "x", correct_QK)])
        run.write_rows("items", step, {
            "benchmark": ["x"] * correct_QK.size, "temperature": [1.0] * correct_QK.size,
            "item": np.repeat(first_item + np.arange(items), samples).tolist(), "sample": list(range(samples)) * items,
            "verdict": ["correct" if c else "wrong" for c in correct_QK.flat], "extracted": [None] * correct_QK.size,
            "tokens": [5] * correct_QK.size, "logp": [0.0] * correct_QK.size, "completion": ["5"] * correct_QK.size,
            "value": [None] * correct_QK.size,
        })  # fmt: skip
    return run


def outcomes(points=8, items=20, samples=2, chance=0.5, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).random((points, items, samples)) < chance


def analyse(folder: Path) -> list[dict]:
    """Runs analyse and report, and returns the findings."""
    for arguments in (("analyse", "."), ("report", ".", "--out", "report.html")):
        result = passus_in_process(*arguments, cwd=folder)
        assert result.returncode == 0 and not result.stderr, result.stderr
        assert " nan" not in result.stdout
    assert " nan" not in (folder / "report.html").read_text()
    result = passus_in_process("analyse", ".", "--json", cwd=folder)
    return [json.loads(line) for line in result.stdout.splitlines()]


def texts(findings: list[dict], id: str) -> list[str]:
    return [f["text"] for f in findings if f["id"] == id]


def compare(folder: Path, *paths: str):
    return passus_in_process("compare", *paths, cwd=folder)


def supported(findings: list[dict]) -> set[str]:
    return {f["id"] for f in findings if f["verdict"] == "supported"}


def test_one_seed_gives_no_claim_about_configurations(tmp_path):
    for n in range(2):
        run_with(tmp_path / f"arm-{n}", outcomes(items=200, chance=0.2 + 0.6 * n, seed=n), rate=1e-4 * (n + 1))
    findings = analyse(tmp_path)
    assert {f["scope"] for f in findings} == {"checkpoint"}
    (pair,), (tiers,) = texts(findings, "A6"), texts(findings, "A7")
    assert "One run each: this compares two checkpoints" in pair and "A ranking needs two or more runs" in tiers
    assert "checkpoints" in compare(tmp_path, "arm-0", "arm-1").stdout


def test_one_eval_point(tmp_path):
    for n in range(2):
        run_with(tmp_path / f"arm-{n}", outcomes(points=1, seed=n), rate=1e-4 * (n + 1))
    findings = analyse(tmp_path)
    assert all(text.endswith("a curve needs two.") for text in texts(findings, "A1")) and not texts(findings, "A2")
    assert "step 0)" in texts(findings, "A6")[0] and not supported(findings)
    assert compare(tmp_path, "arm-0", "arm-1").returncode == 0


@pytest.mark.parametrize("samples", [1, 2])
def test_one_item(tmp_path, samples):
    for n in range(2):
        for seed in range(2):
            correct_TQK = outcomes(items=1, samples=samples, chance=n, seed=seed)
            run_with(tmp_path / f"arm-{n}-{seed}", correct_TQK, seed, rate=1e-4 * (n + 1))
    findings = analyse(tmp_path)
    assert not supported(findings)
    assert all("no interval" in text for text in texts(findings, "A1"))
    result = compare(tmp_path, "arm-0-0", "arm-1-0")
    assert result.returncode == 0 and "no interval" in " ".join(result.stdout.split())


@pytest.mark.parametrize("chance", [0.0, 1.0])
@pytest.mark.parametrize("seeds", [1, 2])
def test_all_right_and_all_wrong(tmp_path, chance, seeds):
    for n in range(2):
        for seed in range(seeds):
            run_with(tmp_path / f"arm-{n}-{seed}", outcomes(chance=chance), seed, rate=1e-4 * (n + 1))
    findings = analyse(tmp_path)
    assert not supported(findings) - {"A2"}
    assert all("+0.0 points" in text for text in texts(findings, "A1"))
    if seeds == 2:
        assert "Runs that all end alike leave no spread to test." in texts(findings, "A6")[0]
    assert compare(tmp_path, "arm-0-0", "arm-1-0").returncode == 0


def test_all_right_against_all_wrong(tmp_path):
    for n in range(3):
        for seed in range(2):
            chance = 0.5 if n == 2 else n  # the third arm has a spread, the others have none
            run_with(tmp_path / f"arm-{n}-{seed}", outcomes(chance=chance, seed=seed), seed, rate=1e-4 * (n + 1))
    findings = analyse(tmp_path)
    assert all("spread pooled over 1 arm " in text for text in texts(findings, "A6"))  # the third arm's, for all


def test_missing_eval_points(tmp_path):
    correct_TQK = outcomes(points=10)
    run_with(tmp_path / "whole", correct_TQK)
    run_with(tmp_path / "gaps", correct_TQK[:4], rate=2e-4, steps=[0, 30, 40, 70])
    run_with(tmp_path / "late", correct_TQK[:2], rate=3e-4, steps=[5, 15])
    findings = analyse(tmp_path)
    assert texts(findings, "A6") == ["The lines have no eval point in common."]
    result = compare(tmp_path, "whole", "late")
    assert result.returncode == 2 and "no eval point in common" in result.stderr
    result = compare(tmp_path, "whole", "gaps")
    assert result.returncode == 0 and "step 70" in " ".join(result.stdout.split())


def test_runs_of_other_items(tmp_path):
    run_with(tmp_path / "here", outcomes(items=100, chance=0.3))
    run_with(tmp_path / "there", outcomes(items=80, chance=0.8), first_item=500, rate=2e-4)
    findings = analyse(tmp_path)
    assert "unpaired, 100 and 80 items" in texts(findings, "A6")[0]
    result = compare(tmp_path, "here", "there")
    assert result.returncode == 2 and "not evaluated on the same items" in result.stderr


def test_seeds_of_other_items(tmp_path):
    for seed in range(2):
        for n in range(2):
            run_with(tmp_path / f"arm-{n}-{seed}", outcomes(seed=seed), seed, first_item=50 * seed, rate=1e-4 * (n + 1))
    assert "2 and 2 runs" in texts(analyse(tmp_path), "A6")[0]


def many_arms(tmp_path: Path, count: int) -> list[dict]:
    for n in range(count):
        make_run(tmp_path / f"arm-{n:03d}", {"x": 0.0}, n, items=10, steps=(0, 10))
    return analyse(tmp_path)


def check_many_arms(findings: list[dict], count: int) -> None:
    pairs = [f["series"] for f in findings if f["id"] == "A6"]
    assert pairs == [f"arm-000 and arm-{n:03d}" for n in range(1, count)]
    (tiers,), (start,) = texts(findings, "A7"), texts(findings, "A9")
    assert f"each is compared with the first only (arm-000), and a ranking needs all {count * (count - 1) // 2:,}" in tiers
    assert f"of {count - 1} pairs with arm-000 differ" in start


def test_of_many_arms_each_is_compared_with_the_first(tmp_path):
    check_many_arms(many_arms(tmp_path, MAX_ALL_PAIRS + 1), MAX_ALL_PAIRS + 1)


@pytest.mark.slow
def test_two_hundred_arms(tmp_path):
    check_many_arms(many_arms(tmp_path, 200), 200)
