"""The calculations of the study, on numbers with a known truth, and its table of runs."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import study
import study_runs

from helpers.small_run import run_small


def drawn(methods=(0.0, 0.0, 0.05), families=(0.5, 0.6), interaction=0.0, sd=0.02, seeds=20, seed=0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mixed_MF = interaction * rng.standard_normal((len(methods), len(families)))
    mean_MF = np.add.outer(np.array(methods), np.array(families)) + mixed_MF
    return mean_MF[:, :, None] + sd * rng.standard_normal((len(methods), len(families), seeds))


def test_the_ranking_finds_the_better_method():
    rows = study.ranking(["a", "b", "c"], drawn())
    assert rows[0]["method"] == "c" and rows[0]["effect"] - rows[0]["half"] > 0
    assert abs(rows[0]["effect"] - 0.05 * 2 / 3) < rows[0]["half"]


def test_intervals_of_the_ranking_cover_all_methods_together():
    """Without any effect, all three intervals hold zero in about 95 % of studies."""
    zero = [study.ranking(["a", "b", "c"], drawn(methods=(0, 0, 0), seeds=8, seed=seed)) for seed in range(400)]
    held = np.mean([all(abs(row["effect"]) <= row["half"] for row in rows) for rows in zero])
    assert 0.92 <= held <= 0.99


def test_variance_components_are_those_that_were_drawn():
    found = [study.variance_components(drawn((-0.04, 0, 0.04), (0.4, 0.5, 0.6), 0.03, seed=seed)) for seed in range(200)]
    means = {name: np.mean([row["variance"][name] for row in found]) for name in found[0]["variance"]}
    assert means["run"] == pytest.approx(0.02**2, rel=0.05)
    assert means["interaction"] == pytest.approx(0.03**2, rel=0.15)
    # The effect of three methods that are 4 points apart, and what the interaction adds to the means of three families.
    assert means["method"] == pytest.approx(0.04**2 + 0.03**2 / 3, rel=0.15)


def test_the_interaction_is_tested_at_its_level():
    p = [study.variance_components(drawn(seed=seed))["interaction_p"] for seed in range(400)]
    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.09


def test_few_seeds_of_methods_that_differ_a_lot_are_never_false():
    counts = study.few_seeds(drawn((0.0, 0.3), sd=0.01), 3, np.random.default_rng(0))
    assert counts["comparisons"] == 2 * study.DRAWS and counts["claims"] == counts["comparisons"]
    assert counts["winner_false"] == counts["winner_unfounded"] == counts["claim_false"] == 0


def test_one_seed_of_methods_that_do_not_differ_always_has_a_winner():
    y_MFS = drawn((0.0, 0.0), (0.5,))
    y_MFS -= y_MFS.mean(2, keepdims=True) - 0.5
    counts = study.few_seeds(y_MFS, 1, np.random.default_rng(0))
    assert counts["winner_unfounded"] == counts["comparisons"] and counts["claims"] == 0


@pytest.mark.parametrize("sd, seeds", [(0.02, 17), (0.04, 64), (0.01, 6)])
def test_seeds_for_two_points_are_those_of_power_tables(sd, seeds):
    """Two-sided t-test at 5 %, power of 80 %, effects of 1, 0.5 and 2 standard deviations: 17, 64 and 6 per group."""
    assert study.seeds_for(0.02, sd) == seeds


def test_runs_come_back_from_the_table(tmp_path):
    run = study_runs.read_run(run_small(tmp_path / "run", eval={"suite": ["abacus/add2"]}).path)
    study_runs.write_runs([run], tmp_path / "study.parquet")
    (back,) = study_runs.read_runs(tmp_path / "study.parquet")
    assert back.configuration == run.configuration and back.seed == run.seed and back.accuracy == run.accuracy
    np.testing.assert_array_equal(back.correct_TQK, run.correct_TQK)
    assert run.correct_TQK.ndim == 3 and run.correct_TQK.shape[0] > 1
