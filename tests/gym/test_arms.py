"""The arms of the collection: enough faults and seeds, valid settings, and seeds that are set aside."""

import tomllib
from collections import Counter

import pytest

from passus.config.experiment import load_experiment
from passus.diagnosis.causes import CAUSES
from passus.gym.arms import TEST_SEEDS, cause_of, gym_experiment, seed_of
from passus.gym.calibration import training_runs
from passus.gym.catalogue import FAULTS, HEALTHY, SAME_FIX, UNSEEN, faulty_settings
from passus.gym.healthy import healthy_settings


@pytest.fixture(scope="module")
def arms() -> list[dict]:
    return tomllib.loads(gym_experiment())["arm"]


def test_there_are_enough_faults_seeds_and_healthy_runs(arms):
    counts = Counter(cause_of(arm["name"]) for arm in arms)
    assert counts.pop(HEALTHY) >= 100
    assert len(counts) >= 20 and min(counts.values()) >= 10
    assert len(UNSEEN) == 4 and set(SAME_FIX) == set(UNSEEN)
    assert len({arm["name"] for arm in arms}) == len(arms)


def test_healthy_runs_are_of_several_methods_families_and_sizes():
    settings = [healthy_settings(seed) for seed in range(100)]
    assert len({s["method.name"] for s in settings}) >= 6 and len({s["model.base"] for s in settings}) >= 8
    assert {s["model.tuning"] for s in settings} == {"live", "frozen"} and len({s["task.name"] for s in settings}) >= 5


def test_every_arm_is_a_valid_run(tmp_path):
    path = tmp_path / "gym.toml"
    path.write_text(gym_experiment(faulty_seeds=[0, 1], healthy_seeds=[0, 1, 2]))
    arms = load_experiment(str(path)).arms
    assert len(arms) == 2 * len(FAULTS) + 3
    for arm in arms:
        assert arm.config.fault.name in ("none", cause_of(arm.name))


def test_a_fault_changes_the_healthy_run_of_its_seed_and_nothing_else():
    healthy = healthy_settings(3)
    for fault in FAULTS:
        faulty = faulty_settings(fault, healthy)
        assert faulty != healthy and healthy == healthy_settings(3) and faulty["seed"] == 3
        assert faulty == faulty_settings(fault, healthy_settings(3))


def test_known_faults_are_causes_and_unseen_ones_are_not():
    for fault in FAULTS:
        assert (fault.cause in CAUSES) is not fault.is_unseen
    assert all(cause in CAUSES for causes in SAME_FIX.values() for cause in causes)


def test_rules_are_made_from_neither_test_seeds_nor_unseen_faults(arms):
    names = [arm["name"] for arm in arms]
    training = training_runs(names)
    assert not {seed_of(name) for name in training} & set(TEST_SEEDS)
    assert not {cause_of(name) for name in training} & set(UNSEEN)
    assert 0.3 < sum(seed_of(name) in TEST_SEEDS for name in names) / len(names) < 0.4
