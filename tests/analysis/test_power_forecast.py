"""Planning: what an experiment will have, what it can show, and answers that agree with each other."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.small_run import EXPERIMENT, write_experiment
from helpers.synthetic_curves import RISE_T, curve
from passus.analysis import analyse, power_forecast
from passus.analysis.finding import Scope
from passus.analysis.planned_experiment import UNBLOCKED, PlannedExperiment, plan_experiment
from passus.analysis.power_forecast import check_difference, forecast, planned_tests, summary, to_json
from passus.config.experiment import load_experiment
from passus.errors import UsageError
from passus.runs.curve import Curves
from passus.runs.origin import Origin
from passus.stats.accuracy_noise import ASSUMED, EvalSize, MeasuredNoise
from passus.tasks.lookup import benchmark_size


def planned(name: str, *overrides: str) -> PlannedExperiment:
    return plan_experiment(load_experiment(name, overrides), benchmark_size)


def test_arms_seeds_and_sizes_are_counted():
    plan = planned("families-seeds")
    assert (plan.arms, plan.seeds, plan.eval_points, plan.tests) == (5, 3, 13, 11) and not plan.notes
    assert [(b.name, b.size) for b in plan.benchmarks] == [("abacus/add2", EvalSize(200, 4, 3))]
    few = planned("families-seeds", "eval.every=40", "eval.limit=50", "eval.samples=1")
    assert few.eval_points == 4 and few.benchmarks[0].size == EvalSize(50, 1, 1)


def test_temperatures_and_benchmarks():
    """Four benchmarks at two temperatures, and their mean at each; greedy decoding has one sample."""
    plan = planned("grpo-mel")
    assert plan.tests == 6 * (8 + 2) + 8 and len(plan.benchmarks) == 8
    assert plan.benchmarks[0].name == "abacus/hard, temperature 0" and plan.benchmarks[0].size.samples == 1


def test_blocks_are_noted():
    assert planned("families-seeds", "eval.block_by_seed=true").notes == [UNBLOCKED]


@pytest.mark.parametrize(("benchmarks", "arms"), [(1, 2), (2, 3), (2, 22)])
def test_a_report_makes_as_many_tests_as_are_planned(benchmarks, arms):
    rng, series = np.random.default_rng(0), []
    for n in range(benchmarks):
        for arm in range(arms):
            for seed in range(2):
                made = curve(rng, RISE_T[-4:], items=20, samples=2, name=f"arm {arm}")
                made.benchmark = f"benchmark {n}"
                made.origin = Origin(Path(f"{arm}-{seed}"), "m", "live", "grpo", seed, (("arm", str(arm)),))
                series.append(made)
    findings = analyse.analyse(Curves("", "step", "accuracy", series))
    tested = [f for f in findings if f.scope is Scope.CONFIGURATION and f.p is not None]
    suite, rates = ["abacus/add2", "abacus/sub"][:benchmarks], [round(1e-5 * (arm + 1), 6) for arm in range(arms)]
    one_base = 'sweep.model.base=["nano/qwen3"]'
    plan = planned("families-seeds", f"eval.suite={suite}", one_base, f"sweep.train.learning_rate={rates}")
    sensitivity = benchmarks * (arms > 2)  # made only where arms have like spreads
    assert plan.arms == arms and plan.tests - sensitivity <= len(tested) <= plan.tests
    assert plan.tests == {2: 1, 3: 3 * 3 + 2, 22: 21 * 3 + 2}[arms]  # of 22 arms, each is compared with the first
    assert any("compared with the first" in note for note in plan.notes) is (arms == 22)


def test_the_level_is_that_of_the_analysis():
    assert power_forecast.LEVEL == analyse.MAX_Q


def test_answers_agree_with_each_other():
    """As many seeds as are suggested show the difference, and one fewer do not."""
    plan = planned("families-seeds", "eval.samples=16")
    result = forecast(plan, difference=0.03)[0]
    assert result.report is not None and result.report.needed_seeds is not None and result.pair.needed_seeds is not None
    for n, seeds in enumerate((result.pair.needed_seeds, result.report.needed_seeds)):
        for fewer in (0, 1):
            test = planned_tests(replace(plan, seeds=seeds - fewer), plan.benchmarks[0], ASSUMED.noise)[n]
            assert test is not None and (test.detectable() <= 0.03 + 1e-9) is (fewer == 0)
    assert result.pair.needed_items is None and result.pair.limit_of_items > 0.03
    assert result.pair.smallest < result.report.smallest and result.measured.is_assumed


def test_one_seed_says_what_two_would_show():
    one, two = forecast(planned("methods"))[0], forecast(planned("methods", "sweep.seed=[0, 1]"))[0]
    assert one.pair == two.pair and one.pair.seeds == 2
    assert "no difference of configurations" in summary(planned("methods"))
    assert summary(planned("methods", "sweep.seed=[0, 1]")).startswith("2 seeds show")


def test_one_arm_is_compared_with_another_like_it(tmp_path):
    plan = planned(write_experiment(tmp_path), "sweep.seed=[0, 1, 2]")
    assert plan.arms == 1 and plan.tests == 0 and forecast(plan)[0].report is None and "report" not in summary(plan)


def test_a_benchmark_that_was_not_recorded_takes_the_mean_of_those_that_were(tmp_path):
    plan = planned(write_experiment(tmp_path), "sweep.seed=[0, 1]")
    calm = MeasuredNoise(replace(ASSUMED.noise, run=0.01**2), "calm")
    wild = MeasuredNoise(replace(ASSUMED.noise, run=0.03**2), "wild")
    add2, sub = forecast(plan, {"abacus/add2": calm, "other": wild})
    assert add2.measured is calm and sub.measured.noise.run == pytest.approx((0.01**2 + 0.03**2) / 2)
    assert "abacus/add2, other" in sub.measured.basis and add2.pair.smallest < sub.pair.smallest


def test_json_has_no_number_that_is_none():
    plan = planned("families", "eval.limit=4", "eval.samples=1", "eval.every=60")
    row = to_json(plan, forecast(plan), 0.02)["benchmarks"][0]
    assert row["configuration"]["report"]["smallest"] is None  # more than 100 points
    assert row["configuration"]["pair"]["needed_items"] is None and row["checkpoint"]["needed_items"] > 4 and row["assumed"]
    assert row["sd"]["run"] == 2.0


def test_experiments_that_cannot_be_planned(tmp_path):
    with pytest.raises(UsageError, match="trains no policy"):
        planned("reward-model")
    unknown = load_experiment("families")
    with pytest.raises(UsageError, match="unknown number"):
        plan_experiment(unknown, lambda name, limit: 0)
    twice = EXPERIMENT + '\n[[arm]]\nname = "a"\n[[arm]]\nname = "b"\n'
    with pytest.raises(UsageError, match=r"a and b have the same settings and the same seed, 0"):
        planned(write_experiment(tmp_path, twice))
    apart = EXPERIMENT + '\n[[arm]]\n"eval.suite" = ["abacus/add2"]\n[[arm]]\n"eval.suite" = ["abacus/sub"]\n'
    with pytest.raises(UsageError, match="in common"):
        planned(write_experiment(tmp_path, apart))


def test_unequal_arms_count_by_the_smallest(tmp_path):
    text = EXPERIMENT + '\n[[arm]]\nname = "a"\n[[arm]]\nname = "b"\nseed = 1\n[[arm]]\nname = "c"\n"eval.samples" = 1\n'
    plan = planned(write_experiment(tmp_path, text))
    assert (plan.arms, plan.seeds) == (2, 1) and plan.benchmarks[0].size.samples == 1 and len(plan.notes) == 2
    sizes = {"abacus/add2": 8, "abacus/sub": 0}
    left = plan_experiment(load_experiment(write_experiment(tmp_path)), lambda name, limit: sizes[name])
    assert len(left.benchmarks) == 1 and "abacus/sub" in left.notes[0]


@pytest.mark.parametrize("points", [0, -1, float("nan"), 101, float("inf")])
def test_differences_that_are_none(points):
    with pytest.raises(UsageError, match="--difference"):
        check_difference(points)
