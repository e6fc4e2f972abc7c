"""Generation of candidates: generators are arms that run before the reward models."""

import pytest

from passus.config.experiment import load_experiment
from passus.config.resolve import resolve
from passus.errors import UsageError


def test_generators_are_arms_that_run_first():
    experiment = load_experiment("reward-model")
    generators = [arm for arm in experiment.arms if not arm.needs]
    reward_models = [arm for arm in experiment.arms if arm.needs]
    assert experiment.arms == [*generators, *reward_models] and len(generators) == 12 and len(reward_models) == 6
    assert all(arm.needs == tuple(generator.name for generator in generators) for arm in reward_models)
    assert {"from-qwen3", "from-runs-generators-qwen3-step-40"} <= {arm.name for arm in generators}
    assert all(arm.config.kind == "candidates" for arm in generators)
    swept = load_experiment("reward-model", ["sweep.train.learning_rate=[1e-3, 3e-4]"])
    assert sum(not arm.needs for arm in swept.arms) == 12 and sum(bool(arm.needs) for arm in swept.arms) == 12


def test_generators_of_a_policy_are_refused():
    with pytest.raises(UsageError, match="learns from its own answers"):
        load_experiment("reward-model", ["method.name=grpo"])


def test_a_reward_model_without_candidates_is_refused():
    with pytest.raises(UsageError, match="learns from candidates"):
        resolve({"model": {"base": "nano/qwen3"}, "method": {"name": "reward_model"}}, "test")
