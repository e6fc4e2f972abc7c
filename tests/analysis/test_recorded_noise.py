"""Variances from run folders: recovered where runs were made with known ones, and clear errors where they cannot be."""

import shutil

import numpy as np
import pytest

from helpers.small_run import small_config
from helpers.synthetic_runs import SAMPLES, columns, point, with_clusters
from passus.analysis.compared_line import comparable_lines
from passus.analysis.measured_curve import measure_curve
from passus.analysis.recorded_noise import recorded_noise
from passus.analysis.run_comparison import compare
from passus.analysis.run_groups import compared_runs
from passus.errors import UsageError
from passus.runs.read_curves import load_curves
from passus.runs.run_folder import RunFolder
from passus.stats.accuracy_noise import ASSUMED, EvalSize
from passus.stats.run_power import detectable_by_items
from passus.stats.run_spread import run_spread

ITEMS, STEPS = 150, range(0, 120, 10)
RUN, WIGGLE, BY_ARM, BY_RUN, SPREAD = 0.04, 0.03, 0.1, 0.1, 0.1


def write_runs(folder, arms: int, seeds: int, steps=STEPS, items: int = ITEMS) -> None:
    """Writes runs whose parts of noise are known. `columns` writes four samples per item."""
    rng = np.random.default_rng(5)
    difficulty_Q = rng.normal(0.5, SPREAD, items)
    for arm in range(arms):
        arm_Q = difficulty_Q + rng.normal(0, BY_ARM, items)
        for seed in range(seeds):
            run_Q = arm_Q + rng.normal(0, BY_RUN, items) + rng.normal(0, RUN)
            write_run(folder / f"{arm}-{seed}", arm, seed, run_Q, WIGGLE, rng, steps)


def write_run(path, arm: int, seed: int, run_Q, wiggle: float, rng, steps) -> RunFolder:
    """Writes a run with these chances on its items, which move together between checkpoints."""
    run = RunFolder(path)
    run.path.mkdir(parents=True)
    config = small_config(seed=seed, train={"learning_rate": 1e-4 * (arm + 1)})
    run.start(config, {"label": "m", "tuning": "live"}, None)
    for step in steps:
        chance_Q = np.clip(run_Q + rng.normal(0, wiggle), 0, 1)
        correct_QK = rng.random((len(run_Q), SAMPLES)) < chance_Q[:, None]
        run.append_evals([point(step, "abacus/add2", correct_QK)])
        run.write_rows("items", step, columns("abacus/add2", correct_QK))
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    write_runs(folder, arms=6, seeds=4)
    return folder


def test_the_parts_are_recovered(runs):
    measured = recorded_noise([runs])["abacus/add2"]
    noise = measured.noise
    sds = np.sqrt([noise.run, noise.wiggle, noise.item_by_arm, noise.item_by_run])
    np.testing.assert_allclose(sds, [RUN, WIGGLE, BY_ARM, BY_RUN], rtol=0.25)  # 18 degrees of freedom for the first
    assert noise.sampling == pytest.approx(0.25 - SPREAD**2 - BY_ARM**2 - BY_RUN**2 - RUN**2, abs=0.01)
    assert (
        "24 runs of 6 arms" in measured.basis and "18 degrees of freedom" in measured.basis and "ssumed" not in measured.basis
    )


def run_variance(folder) -> float:
    ((*lines,),) = comparable_lines([measure_curve(curve, curve.name) for curve in load_curves([folder]).series])
    return run_spread([line.ends for line in lines]).pooled[0]


def test_runs_predict_their_own_spread(runs):
    noise = recorded_noise([runs])["abacus/add2"].noise
    assert noise.of_run(EvalSize(ITEMS, SAMPLES, 3)) == pytest.approx(run_variance(runs))


@pytest.fixture(scope="module")
def clustered(tmp_path_factory):
    """100 items in 10 clusters, which arms and runs are better or worse on as a whole."""
    folder, rng = tmp_path_factory.mktemp("clustered"), np.random.default_rng(3)
    base_Q, names = rng.uniform(0.3, 0.7, 100), [f"p{q // 10}" for q in range(100)]
    for arm in range(2):
        arm_Q = base_Q + np.repeat(rng.normal(0, 0.1, 10), 10)
        for seed in range(3):
            run_Q = np.clip(arm_Q + np.repeat(rng.normal(0, 0.08, 10), 10) + rng.normal(0, 0.1), 0, 1)
            with_clusters(write_run(folder / f"{arm}" / f"{seed}", arm, seed, run_Q, 0.0, rng, range(0, 60, 10)), names)
    return folder


def test_runs_on_clusters_predict_their_own_spread(clustered):
    """A planned number of items is one of items, so that variances of clusters would be divided by too many."""
    measured = recorded_noise([clustered])["abacus/add2"]
    assert measured.noise.run > 0 and "100 items have 10 clusters" in measured.basis
    assert measured.noise.of_run(EvalSize(100, SAMPLES, 3)) == pytest.approx(run_variance(clustered))
    assert np.sqrt(measured.noise.item_by_run) == pytest.approx(0.08 * np.sqrt(10), rel=0.4)  # ten items move together


def test_the_prediction_for_runs_on_clusters_is_that_of_their_comparison(clustered):
    noise = recorded_noise([clustered])["abacus/add2"].noise
    pairs = [(clustered / "0" / str(i), clustered / "1" / str(j)) for i in range(3) for j in range(3)]
    needed = [compare(compared_runs(pair))[0].detectable for pair in pairs]
    # The prediction takes the quantiles of 99 degrees of freedom and the test those of 9, which are larger by a ninth.
    assert 0.8 * np.mean(needed) < detectable_by_items(noise, EvalSize(100, SAMPLES, 3)) < np.mean(needed)


def test_one_seed_says_what_is_assumed(tmp_path):
    write_runs(tmp_path, arms=2, seeds=1, steps=(0, 10), items=20)
    measured = recorded_noise([tmp_path])["abacus/add2"]
    assert measured.noise.run == ASSUMED.noise.run and not measured.is_assumed
    assert "no arm has two" in measured.basis and "five eval points" in measured.basis


def test_sources_that_say_nothing(tmp_path):
    write_runs(tmp_path / "runs", arms=1, seeds=1, steps=(0,), items=5)
    run = tmp_path / "runs/0-0"
    with pytest.raises(UsageError, match="kimi"):
        recorded_noise([tmp_path / "kimi"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="run folders"):
        recorded_noise([tmp_path / "empty"])
    shutil.copytree(run, tmp_path / "runs/copy")
    with pytest.raises(UsageError, match="same settings and the same seed, 0"):
        recorded_noise([tmp_path / "runs"])
    RunFolder(run).forget_checksums()
    shutil.rmtree(run / "items")
    with pytest.raises(UsageError, match="no item rows"):
        recorded_noise([run])
    (run / "evals.jsonl").unlink()
    with pytest.raises(UsageError, match="no eval points"):
        recorded_noise([run])
