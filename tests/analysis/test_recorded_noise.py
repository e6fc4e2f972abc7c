"""Variances from run folders: recovered where runs were made with known ones, and clear errors where they cannot be."""

import shutil

import numpy as np
import pytest

from helpers.small_run import small_config
from helpers.synthetic_runs import SAMPLES, columns, point
from passus.analysis.recorded_noise import recorded_noise
from passus.errors import UsageError
from passus.runs.run_folder import RunFolder
from passus.stats.accuracy_noise import ASSUMED, EvalSize

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
            run = RunFolder(folder / f"{arm}-{seed}")
            run.path.mkdir(parents=True)
            config = small_config(seed=seed, train={"learning_rate": 1e-4 * (arm + 1)})
            run.start(config, {"label": "m", "tuning": "live"}, None)
            for step in steps:
                chance_Q = np.clip(run_Q + rng.normal(0, WIGGLE), 0, 1)
                correct_QK = rng.random((items, SAMPLES)) < chance_Q[:, None]
                run.append_evals([point(step, "abacus/add2", correct_QK)])
                run.write_rows("items", step, columns("abacus/add2", correct_QK))


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


def test_runs_predict_their_own_spread(runs):
    from passus.analysis.compared_line import comparable_lines
    from passus.analysis.measured_curve import measure_curve
    from passus.runs.read_curves import load_curves
    from passus.stats.run_spread import run_spread

    noise = recorded_noise([runs])["abacus/add2"].noise
    ((*lines,),) = comparable_lines([measure_curve(curve, curve.name) for curve in load_curves([runs]).series])
    assert noise.of_run(EvalSize(ITEMS, SAMPLES, 3)) == pytest.approx(run_spread([line.ends for line in lines]).pooled[0])


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
    shutil.rmtree(run / "items")
    with pytest.raises(UsageError, match="no item rows"):
        recorded_noise([run])
    (run / "evals.jsonl").unlink()
    with pytest.raises(UsageError, match="no eval points"):
        recorded_noise([run])
